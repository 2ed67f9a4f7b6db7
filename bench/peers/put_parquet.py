#!/usr/bin/env python3
"""Puts Parquet files of random numbers into a moto server.

    python3 put_parquet.py HOST:PORT ROWS FILES      s3://bench/part-N.parquet

Without compression: what travels is as large as it looks. Prints the bytes of
all as JSON.
"""
import array
import http.client
import io
import json
import random
import sys

sys.modules["numpy"] = None  # Debian's is older than pyarrow accepts
import pyarrow
import pyarrow.parquet

SIGNED = {"Authorization": "AWS4-HMAC-SHA256 Credential=any/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=any"}


def put(endpoint, name, body=b""):
    there = http.client.HTTPConnection(endpoint)
    there.request("PUT", "/" + name, body, SIGNED)
    answer = there.getresponse()
    answer.read()
    there.close()
    if answer.status != 200:
        raise SystemExit(f"{name}: {answer.status}")


def main():
    endpoint, rows, files = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    put(endpoint, "bench")
    size = 0
    for number in range(files):
        dice = random.Random(number)
        each = rows // files
        columns = {
            f"x{i}": pyarrow.Array.from_buffers(
                pyarrow.float64(), each, [None, pyarrow.py_buffer(array.array("d", (dice.random() for _ in range(each))))]
            )
            for i in range(9)
        }
        columns["y"] = pyarrow.array([i % 10 for i in range(each)], pyarrow.int32())
        out = io.BytesIO()
        pyarrow.parquet.write_table(pyarrow.table(columns), out, compression="none", use_dictionary=False)
        size += out.tell()
        put(endpoint, f"bench/part-{number}.parquet", out.getvalue())
    print(json.dumps({"bytes": size}))


if __name__ == "__main__":
    main()
