#!/usr/bin/env python3
"""What people use to find rows that are equal, or much alike, for
bench/operators.py. The last line printed is a JSON object.

  duplicates.py equal-rows FOLDER ROWS    equal.arrow: a whole number, a text and four
                                          numbers; about half of the rows are equal to
                                          one before them in all columns
  duplicates.py pandas|polars FOLDER      the first of each, from equal.arrow to
                                          peer.arrow; {"s", "rows"}
  duplicates.py near-rows FOLDER ROWS     near.parquet: texts of 100 words; every
                                          fifth is one before it with other words at
                                          its end, so that the runs of three words
                                          have a Jaccard similarity of 0.8 or just
                                          more; {"near"}: how many
  duplicates.py datasketch FOLDER         the texts that are near none before them,
                                          by MinHash and its LSH; {"s", "rows", "recall"}
  duplicates.py recall FOLDER FILE        which part of the near ones a file lacks

From file to file, as each documents for speed: Polars' streaming engine. For the
time of datasketch the texts and their runs of words are there already.
"""
import json
import os
import sys
import time

WORDS, RUN, SIMILAR = 100, 3, 0.8
RUNS = WORDS - RUN + 1
CHANGED = int(RUNS * (1 - SIMILAR) / (1 + SIMILAR))  # words at the end
PERMUTATIONS = 128


def equal_rows(folder, rows):
    import numpy as np
    import pyarrow as pa
    import pyarrow.feather

    rows = int(rows)
    draw = np.random.default_rng(1)
    key = draw.integers(0, rows * 5 // 8, rows)
    names = pa.array([f"name {i}" for i in range(1000)])
    columns = {
        "key": pa.array(key),
        "name": pa.DictionaryArray.from_arrays(pa.array((key % 1000).astype(np.int32)), names).cast(pa.string()),
    }
    for i in range(4):
        columns[f"x{i}"] = pa.array(draw.random(key.max() + 1)[key])
    path = os.path.join(folder, "equal.arrow")
    pyarrow.feather.write_feather(pa.table(columns), path, compression="uncompressed", chunksize=1 << 18)
    return {"rows": rows}


def timed(work):
    began = time.perf_counter()
    rows = work()
    return {"s": time.perf_counter() - began, "rows": rows}


def pandas(folder):
    import pandas as pd

    def work():
        rows = pd.read_feather(os.path.join(folder, "equal.arrow")).drop_duplicates()
        rows.reset_index(drop=True).to_feather(os.path.join(folder, "peer.arrow"), compression="uncompressed")
        return len(rows)

    return timed(work)


def polars(folder):
    import polars as pl

    path = os.path.join(folder, "peer.arrow")

    def work():
        rows = pl.scan_ipc(os.path.join(folder, "equal.arrow"))
        rows.unique(keep="first", maintain_order=True).sink_ipc(path, engine="streaming")

    found = timed(work)
    found["rows"] = pl.scan_ipc(path).select(pl.len()).collect().item()
    return found


def texts(rows):
    """Texts, and which of them are near one before."""
    import numpy as np

    draw = np.random.default_rng(2)
    words = draw.integers(0, 1 << 40, (rows, WORDS))
    near = np.arange(rows) % 5 == 4
    for row in np.flatnonzero(near):
        kept = row - 1 - draw.integers(0, 4) if row < 1000 else draw.integers(0, row // 5) * 5
        words[row, : WORDS - CHANGED] = words[kept, : WORDS - CHANGED]
    return [" ".join(f"{word:x}" for word in line) for line in words.tolist()], near


def near_rows(folder, rows):
    import pyarrow as pa
    import pyarrow.parquet

    all_texts, near = texts(int(rows))
    table = pa.table({"id": list(range(len(all_texts))), "text": all_texts, "near": near})
    pyarrow.parquet.write_table(table, os.path.join(folder, "near.parquet"))
    return {"near": int(near.sum()), "similarity": (RUNS - CHANGED) / (RUNS + CHANGED)}


def recall(folder, path):
    import pyarrow.parquet

    all_rows = pyarrow.parquet.read_table(os.path.join(folder, "near.parquet"), columns=["id", "near"]).to_pandas()
    kept = pyarrow.parquet.read_table(path, columns=["id"]).to_pandas()["id"]
    gone = ~all_rows["id"].isin(kept)
    return {
        "recall": float((gone & all_rows["near"]).sum() / all_rows["near"].sum()),
        "wrong": int((gone & ~all_rows["near"]).sum()),
        "rows": int(len(kept)),
    }


def datasketch(folder):
    import pyarrow.parquet
    from datasketch import MinHash, MinHashLSH

    rows = pyarrow.parquet.read_table(os.path.join(folder, "near.parquet")).to_pydict()
    runs = []
    for text in rows["text"]:
        words = text.encode().split()
        runs.append([b" ".join(words[i : i + RUN]) for i in range(RUNS)])
    gone = []

    def work():
        lsh = MinHashLSH(threshold=SIMILAR, num_perm=PERMUTATIONS)
        seed = MinHash(num_perm=PERMUTATIONS)
        for row, shingles in enumerate(runs):
            one = seed.copy()
            one.update_batch(shingles)
            if lsh.query(one):
                gone.append(row)
            else:
                lsh.insert(row, one)
        return len(runs) - len(gone)

    found = timed(work)
    found["recall"] = sum(rows["near"][row] for row in gone) / sum(rows["near"])
    return found


def main():
    what, *arguments = sys.argv[1:]
    print(json.dumps(globals()[what.replace("-", "_")](*arguments)))


if __name__ == "__main__":
    main()
