"""Goal: a folder of images trains a network, the same images in tar archives are
the same rows, and what is wrong with a file is said with its name. Method: the
real program; PNG files and archives that are written here, byte by byte.
"""
import gzip
import http.client
import io
import json
import random
import struct
import tarfile
import unittest
import zlib

from harness.moto import Moto
from harness.run_files import read_json

from ballast_test import BallastTest

CLASSES = {"blue": (40, 50, 220), "green": (40, 200, 60), "red": (210, 40, 50)}
EACH = 60
SIDE = 16


def png(width, height, pixel):
    """An image of eight bits; `pixel` gives the colour of column and row."""
    def chunk(kind, content):
        return (struct.pack(">I", len(content)) + kind + content +
                struct.pack(">I", zlib.crc32(kind + content)))
    rows = b"".join(b"\0" + b"".join(bytes(pixel(x, y)) for x in range(width))
                    for y in range(height))
    return (b"\x89PNG\r\n\x1a\n" +
            chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def squares():
    """Name and bytes of each image, by class and name: a square of the class's
    colour on grey, anywhere, in images of any size."""
    chance = random.Random(1)
    for colour in sorted(CLASSES):
        for i in range(EACH):
            width, height = chance.randint(16, 40), chance.randint(16, 40)
            side = min(width, height) // 2
            left = (width - side) // 2 + chance.randint(-3, 3)
            top = (height - side) // 2 + chance.randint(-3, 3)

            def pixel(x, y):
                inside = (left <= x < left + side and top <= y < top + side)
                return tuple(min(255, max(0, value + chance.randint(-20, 20)))
                             for value in
                             (CLASSES[colour] if inside else (128, 128, 128)))
            yield colour, f"{i:03}", png(width, height, pixel)


def tar_of(members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in members:
            one = tarfile.TarInfo(name)
            one.size = len(content)
            archive.addfile(one, io.BytesIO(content))
    return out.getvalue()


class Images(BallastTest):
    def job(self, name, source, **data):
        return self.write(f"job-{name}.json", {
            "data": {"train": {"format": name, "size": [SIDE, SIDE], **source},
                     "test_fraction": 0.2, "chunk_rows": 16,
                     "pipeline": [{"op": "scale", "factor": 1 / 255}], **data},
            "model": {"kind": "cnn", "channels": [8]},
            "train": {"epochs": 12, "global_batch": 24,
                      "optimizer": {"kind": "adamw", "lr": 0.01}},
            "elastic": {"workers": 2}, "trace_samples": True})

    def folder_of_images(self):
        for colour, name, content in squares():
            self.write(f"squares/{colour}/{name}.png", content)
        return self.job("images", {"uri": str(self.folder / "squares")})

    def test_a_folder_trains_a_network(self):
        job = self.folder_of_images()
        self.write("squares/red/notes.txt", "red ones")
        one, run = self.new_run(job)
        self.assertEqual(one.wait(120), 0, one)
        self.assertIn("1 file that is no .jpg, .jpeg or .png", one.err)
        self.assertIn("3 classes, numbered from 0: 'blue', 'green', 'red'",
                      one.err)
        report = read_json(run / "report.json")
        self.assertGreater(report["test_accuracy"], 0.9, report)
        self.assertEqual((report["audit"]["lost"],
                          report["audit"]["repeated"]), (0, 0))
        self.assertEqual(self.audit(run)["lost"], 0)
        manifest = read_json(run / "manifest.json")
        self.assertEqual(manifest["sources"], [str(self.folder / "squares")])
        self.assertEqual(manifest["class_names"], sorted(CLASSES))
        self.assertEqual(manifest["train_rows"] + manifest["test_rows"],
                         3 * EACH)

    def test_archives_give_the_same_chunks_as_a_folder(self):
        folder = self.folder_of_images()
        members = []
        for colour, name, content in squares():
            key = f"{colour}-{name}"
            number = str(sorted(CLASSES).index(colour))
            members += [(key + ".png", content), (key + ".cls", number.encode())]
        half = len(members) // 4 * 2
        self.write("shard-0.tar", tar_of(members[:half]))
        self.write("shard-1.tar", tar_of(members[half:]))
        shards = self.job("webdataset", {"uri": str(self.folder / "shard-*.tar")})
        found = []
        for job in (folder, shards):
            run = self.run_job(job, "--set", "/train/epochs=1")
            manifest = read_json(run / "manifest.json")
            found.append([chunk["checksum"]
                          for chunk in manifest["train"] + manifest["test"]])
        self.assertEqual(found[0], found[1])

    def test_archives_in_a_bucket_are_those_on_a_disk(self):
        store = Moto()
        self.addCleanup(store.end)
        if store.missing:
            self.skipTest(store.missing)
        self.environment |= {"AWS_ACCESS_KEY_ID": "any",
                             "AWS_SECRET_ACCESS_KEY": "any",
                             "AWS_EC2_METADATA_DISABLED": "true"}
        self.put(store, "photos")
        members = []
        for i, (colour, name, content) in enumerate(squares()):
            members += [(f"{i}.png", content),
                        (f"{i}.json", json.dumps({"label": i % 3}).encode())]
        self.write("shard.tar.gz", gzip.compress(tar_of(members)))
        self.put(store, "photos/shard.tar.gz",
                 (self.folder / "shard.tar.gz").read_bytes())
        found = []
        for uri in (str(self.folder / "shard.tar.gz"),
                    store.uri("photos/*.tar.gz")):
            run = self.run_job(self.job("webdataset", {"uri": uri}),
                               "--set", "/train/epochs=1")
            found.append([chunk["checksum"] for chunk in
                          read_json(run / "manifest.json")["train"]])
        self.assertEqual(found[0], found[1])

    @staticmethod
    def put(store, name, body=b""):
        """A plain request: moto does not look at signatures."""
        there = http.client.HTTPConnection(store.endpoint)
        there.request("PUT", "/" + name, body, {
            "Authorization": "AWS4-HMAC-SHA256 Credential=any/20260101/"
                             "us-east-1/s3/aws4_request, SignedHeaders=host, "
                             "Signature=any"})
        answer = there.getresponse()
        answer.read()
        there.close()
        if answer.status != 200:
            raise AssertionError(f"{name}: {answer.status}")

    def test_what_is_wrong_is_said_with_the_name_of_the_file(self):
        job = self.folder_of_images()
        whole = png(20, 20, lambda x, y: (x, y, x * y % 256))
        self.write("squares/red/torn.png", whole[:len(whole) // 2])
        run = ("run", job, "--run-dir", self.folder / "refused", "--no-progress")
        self.refused(2, ["squares/red/torn.png", "is torn or damaged"], *run)
        self.write("squares/red/torn.png", "<html>not found</html>")
        self.refused(2, ["squares/red/torn.png", "is text, no image"], *run)
        self.write("shard.tar", tar_of([("7.jpg", whole[:99]), ("7.cls", b"1")]))
        shards = self.job("webdataset", {"uri": str(self.folder / "shard.tar")})
        self.refused(2, ["shard.tar: member 7.jpg", "is torn or damaged"], "run",
                     shards, "--run-dir", self.folder / "no", "--no-progress")
        self.refused(2, ["/data/train/size"], "validate",
                     self.job("images", {"uri": "x", "size": [4, 4, 4]}))


if __name__ == "__main__":
    unittest.main()
