"""Goal: tables in Google Cloud Storage and in HDFS train like those on a disk,
are known by their version without being read, and what is missing is one line.
Method: the real program; an emulator of the one, and of the other a library
with Hadoop's functions over a folder.
"""
import gzip
import os
import pathlib
import unittest

from harness.gcs import Gcs
from harness.program import BINARY

from table_test import TableTest

ROWS = 300
HDFS = pathlib.Path(os.environ.get(
    "BALLAST_TEST_HDFS_LIBRARY", BINARY.parent / "libfake_hdfs.so"))


def people():
    lines = ["age,score,kind"]
    lines += [f"{20 + i % 60},{i / 8},{('pear', 'apple')[i // 3 % 2]}"
              for i in range(ROWS)]
    return "\n".join(lines) + "\n"


class Stores(TableTest):
    def setUp(self):
        super().setUp()
        self.text = people()
        half = self.text.index("\n", len(self.text) // 2) + 1
        header = self.text[:self.text.index("\n") + 1]
        self.files = {
            "day=1/part-1.csv": self.text[:half].encode(),
            "day=2/part-2.csv.gz": gzip.compress(
                (header + self.text[half:]).encode())}
        self.here = self.write("people.csv", self.text)

    def job(self, name, uri):
        return self.table_job({"format": name, "uri": str(uri)})

    def read(self, job):
        """The checksums of its chunks, and its sources."""
        out, manifest = self.checksums(job, ROWS)
        return out, manifest["sources"]

    def parquet(self):
        """The rows as Parquet, by the program itself."""
        path = self.folder / "people.parquet"
        job = self.write("as-parquet.json", {
            "data": {"sources": {"in": {"format": "csv",
                                        "uri": str(self.here)}},
                     "train": {"from": "in", "label": "kind"}},
            "model": {"kind": "logistic"}})
        self.ballast("data", "write", job, "in", path)
        return path.read_bytes()

    def says(self, uri, code, *parts, name="csv"):
        self.told(self.job(name, uri), code, *parts)

    # -- Google Cloud Storage

    def google(self):
        one = Gcs()
        self.addCleanup(one.end)
        if one.missing:
            self.skipTest(one.missing)
        one.bucket("shop")
        for key, body in self.files.items():
            one.put(f"shop/{key}", body)
        one.put("shop/people.parquet", self.parquet())
        return one

    def test_tables_in_google_storage_train_like_those_on_a_disk(self):
        store = self.google()
        here, _ = self.read(self.job("csv", self.here))
        there, sources = self.read(self.job(
            "csv", store.uri("shop/day=*/part-*")))
        self.assertEqual(there, here)
        self.assertEqual(sources, ["gs://shop/day=1/part-1.csv",
                                   "gs://shop/day=2/part-2.csv.gz"])
        self.assertEqual(self.read(self.job(
            "parquet", store.uri("shop/people.parquet")))[0], here)

    def test_a_changed_object_of_google_is_another_version(self):
        store = self.google()
        cache = self.folder / "cache"
        self.environment["BALLAST_CACHE"] = str(cache)
        seen = []
        for body in (self.text, None, self.text.replace("pear", "fig")):
            if body:
                store.put("shop/people.csv", body.encode())
            self.read(self.job("csv", store.uri("shop/people.csv")))
            seen.append(len([path for path in cache.iterdir()
                             if (path / "manifest.json").exists()]))
        self.assertEqual(seen[1], seen[0])
        self.assertEqual(seen[2], seen[0] + 1)

    def test_what_google_does_not_have_is_one_line(self):
        store = self.google()
        self.says(store.uri("shop/none.csv"), 2,
                  "gs://shop/none.csv: there is no such file")
        self.says(store.uri("nobody/people.csv"), 2,
                  "gs://nobody/people.csv: there is no such bucket")
        self.says(store.uri("shop/*/none-*.csv"), 2, "no file matches")
        self.says("gs://me:secret@shop/people.csv", 2,
                  "holds no user and no password", "environment")
        self.says(store.uri("shop/people.csv") + "&access_token=abc", 2,
                  "'access_token' of its query is not allowed")
        uri = store.uri("shop/people.csv") + "&retry_limit_seconds=1"
        store.process.kill()
        store.process.wait()
        self.says(uri, 1, "gs://shop/people.csv: the store does not answer",
                  "endpoint_override")
        # Nobody's credentials are on this machine.
        self.environment |= {"GOOGLE_APPLICATION_CREDENTIALS": "",
                             "GCE_METADATA_ROOT": "127.0.0.1:1",
                             "HOME": str(self.folder)}
        self.says(uri.replace("anonymous@", ""), 2, "access is denied",
                  "GOOGLE_APPLICATION_CREDENTIALS")

    # -- HDFS

    def hadoop(self):
        if not HDFS.exists():
            self.skipTest(f"{HDFS} is not built")
        root = self.folder / "hdfs"
        for key, body in self.files.items():
            path = root / "shop" / key
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(body)
        (root / "shop" / "people.parquet").write_bytes(self.parquet())
        # Arrow opens Java's library first.
        for path in ("java/lib/server/libjvm.so", "hadoop/libhdfs.so"):
            link = self.folder / path
            link.parent.mkdir(parents=True)
            link.symlink_to(HDFS)
        self.environment |= {"BALLAST_TEST_HDFS_ROOT": str(root),
                             "JAVA_HOME": str(self.folder / "java"),
                             "ARROW_LIBHDFS_DIR": str(self.folder / "hadoop")}
        return "hdfs://played:9000/shop"

    def test_tables_in_hdfs_train_like_those_on_a_disk(self):
        shop = self.hadoop()
        here, _ = self.read(self.job("csv", self.here))
        there, sources = self.read(self.job("csv", f"{shop}/day=*/part-*"))
        self.assertEqual(there, here)
        self.assertEqual(sources, [f"{shop}/day=1/part-1.csv",
                                   f"{shop}/day=2/part-2.csv.gz"])
        self.assertEqual(self.read(self.job(
            "parquet", f"{shop}/people.parquet"))[0], here)

    def test_what_hdfs_does_not_have_is_one_line(self):
        shop = self.hadoop()
        self.says(f"{shop}/none.csv", 2, f"{shop}/none.csv",
                  "there is no such file")
        self.says(f"{shop}/none-*.csv", 2, "no file matches")
        self.says(f"{shop}/day=1", 2, "is a folder")
        self.says("hdfs://other:9000/shop/people.csv", 1,
                  "hdfs://other:9000/shop/people.csv", "name node")
        self.says("hdfs://me:secret@played:9000/shop/a.csv", 2,
                  "holds no user and no password")
        self.says("hdfs://me@played:9000/shop/none.csv", 2,
                  "hdfs://me@played:9000/shop/none.csv: there is no such file")

    def test_hdfs_without_its_library_is_one_line(self):
        self.environment |= {"JAVA_HOME": str(self.folder / "none"),
                             "ARROW_LIBHDFS_DIR": str(self.folder / "none")}
        self.says("hdfs://played:9000/shop/people.csv", 2,
                  "not in this build, or not on this machine")


if __name__ == "__main__":
    unittest.main()
