#!/usr/bin/env python3
"""What people read tables of PostgreSQL with, for bench/lib/sources.py. The last
line printed is a JSON object: seconds, without the imports.

    python3 databases.py connectorx|pandas URI CONNECTIONS      table t, column y 0 to 9
"""
import json
import sys
import time


def main():
    name, uri, connections = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if name == "connectorx":
        import connectorx

        def work():
            connectorx.read_sql(
                uri, "select * from t", return_type="arrow", partition_on="y", partition_num=connections
            )

    else:
        import pandas
        import sqlalchemy

        engine = sqlalchemy.create_engine(uri.replace("postgresql://", "postgresql+psycopg2://", 1))

        def work():
            pandas.read_sql("select * from t", engine)

    start = time.monotonic()
    work()
    print(json.dumps({"s": time.monotonic() - start}))


if __name__ == "__main__":
    main()
