#!/usr/bin/env python3
"""Writes a Parquet file of wide rows for bench/lib/limited.py.

    python3 wide_parquet.py FILE ROWS KEYS COLUMNS PREFIX     key, PREFIXx0, ..., PREFIXy

Keys are below KEYS and come in no order; the other numbers repeat each 16,384
rows, without compression or dictionaries.
"""
import array
import random
import sys

sys.modules["numpy"] = None  # Debian's is older than pyarrow accepts
import pyarrow
import pyarrow.parquet

GROUP = 16_384
STEP = 2_654_435_761  # a prime: multiples of it run through all keys


def column(kind, numbers):
    values = array.array({"d": "d", "q": "q", "i": "i"}[kind], numbers)
    types = {"d": pyarrow.float64(), "q": pyarrow.int64(), "i": pyarrow.int32()}
    return pyarrow.Array.from_buffers(types[kind], len(values), [None, pyarrow.py_buffer(values)])


def main():
    path, rows, keys, columns = sys.argv[1], *(int(one) for one in sys.argv[2:5])
    prefix = sys.argv[5]
    dice = random.Random(3)
    block = {f"{prefix}x{i}": column("d", (dice.random() for _ in range(GROUP))) for i in range(columns)}
    writer = None
    for first in range(0, rows, GROUP):
        count = min(GROUP, rows - first)
        all_of = {
            "key": column("q", (i * STEP % keys for i in range(first, first + count))),
            **{name: values.slice(0, count) for name, values in block.items()},
            f"{prefix}y": column("i", (i % 10 for i in range(count))),
        }
        batch = pyarrow.table(all_of)
        if writer is None:
            writer = pyarrow.parquet.ParquetWriter(path, batch.schema, compression="none", use_dictionary=False)
        writer.write_table(batch)
    writer.close()


if __name__ == "__main__":
    main()
