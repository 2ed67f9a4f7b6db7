"""Goal: what is drawn for an image depends on seed, epoch, sample and place in
the list, and on nothing else: not on the number of workers, and not on one that
dies. Method: real runs of a logistic model on crops, mirrored or not and
normalised, are replayed from the files by the documented rule, in numpy; they
must come to the same weights.
"""
import os
import random
import signal
import unittest

import numpy

from harness.exactness import check_run, expand
from harness.run_files import read_json, read_lines
from harness.waiting import wait_until

from ballast_test import BallastTest
from images import png
from replay import read_safetensors

SIDE, PART, PADDING = 10, 8, 2
CLASSES, EACH = 3, 40
RATE, BATCH, SEED = 0.05, 50, 11
MEAN, DEVIATION = (0.4, 0.5, 0.6), (0.2, 0.3, 0.25)
AUGMENT = [{"op": "crop", "size": PART, "padding": PADDING},
           {"op": "flip", "probability": 0.3},
           {"op": "normalise", "mean": MEAN, "std": DEVIATION}]


def philox(counter, key):
    """Philox4x32-10 of many counters (uint64, four columns), two words of key."""
    low = numpy.uint64(0xFFFFFFFF)
    half = numpy.uint64(32)
    c = [column.astype(numpy.uint64) for column in counter]
    k = [word.astype(numpy.uint64) for word in key]
    for _ in range(10):
        a, b = c[0] * numpy.uint64(0xD2511F53), c[2] * numpy.uint64(0xCD9E8D57)
        c = [(b >> half) ^ c[1] ^ k[0], b & low, (a >> half) ^ c[3] ^ k[1],
             a & low]
        k = [(k[0] + numpy.uint64(0x9E3779B9)) & low,
             (k[1] + numpy.uint64(0xBB67AE85)) & low]
    return c[1] << half | c[0]


def words(values):
    values = numpy.atleast_1d(numpy.asarray(values, numpy.uint64))
    return values & numpy.uint64(0xFFFFFFFF), values >> numpy.uint64(32)


def mixed(a, b):
    one = numpy.zeros_like(words(b)[0])
    return philox([*words(b), one + numpy.uint64(0x42616C6C),
                   one + numpy.uint64(0x61737421)], words(a))


def drawn(epoch, samples, number):
    """Number `number` of each sample's stream: 64 bits."""
    stream = mixed(mixed(4, epoch), samples)
    one = numpy.zeros_like(stream)
    counter = [one + word for word in words(number)]
    return philox([*counter, *words(stream)], [w + one for w in words(SEED)])


def below(bound, bits):
    return numpy.array([int(b) * bound >> 64 for b in bits])


class Augmented(BallastTest):
    def setUp(self):
        super().setUp()
        chance = random.Random(5)
        self.images = []
        for kind in range(CLASSES):
            for i in range(EACH):
                pixels = [[[min(255, max(0, int(chance.gauss(
                    90 + 60 * (channel == kind) + 3 * x, 40))))
                    for channel in range(3)] for x in range(SIDE)]
                    for _ in range(SIDE)]
                self.images.append(pixels)
                self.write(f"pictures/{kind}/{i:03}.png",
                           png(SIDE, SIDE, lambda x, y, p=pixels: p[y][x]))
        # channel, row, column
        self.images = numpy.array(self.images, float).transpose(0, 3, 1, 2)
        self.labels = numpy.repeat(numpy.arange(CLASSES), EACH)

    def job(self, epochs, **elastic):
        return {
            "seed": SEED,
            "data": {"train": {"format": "images", "size": SIDE,
                               "uri": str(self.folder / "pictures")},
                     "test_fraction": 0, "chunk_rows": 7,
                     "pipeline": [{"op": "scale", "factor": 1 / 255}],
                     "augment": AUGMENT},
            "model": {"kind": "logistic", "init": "zeros"},
            "train": {"epochs": epochs, "global_batch": BATCH,
                      "optimizer": {"kind": "sgd", "lr": RATE}},
            "elastic": elastic, "trace_samples": True}

    @staticmethod
    def normalised(images):
        shape = (1, 3, 1, 1)
        return ((images - numpy.reshape(MEAN, shape)) /
                numpy.reshape(DEVIATION, shape)).reshape(len(images), -1)

    def seen(self, epoch, ids, rows):
        """What the model sees of these samples, which are those images."""
        ids = numpy.array(ids)
        places = SIDE + 2 * PADDING - PART + 1
        top = below(places, drawn(epoch, ids, 0))
        left = below(places, drawn(epoch, ids, 1))
        flipped = (drawn(epoch, ids, 64) >> numpy.uint64(11)).astype(
            float) * 2.0 ** -53 < 0.3
        around = numpy.pad(self.images[rows[ids]] / 255,
                           [(0, 0), (0, 0)] + [(PADDING, PADDING)] * 2)
        out = numpy.stack([one[:, t:t + PART, l:l + PART]
                           for one, t, l in zip(around, top, left)])
        out[flipped] = out[flipped, :, :, ::-1]
        return self.normalised(out)

    def evaluated(self, rows):
        """The middle of each image: nothing is drawn."""
        edge = (SIDE - PART) // 2
        return self.normalised(
            self.images[rows][:, :, edge:edge + PART, edge:edge + PART] / 255)

    @staticmethod
    def image_of(manifest, part):
        """By sample of the training or test set."""
        return numpy.array([row for chunk in manifest[part] for row in
                            expand(chunk.get("source_rows", chunk["samples"]))])

    def replayed(self, found, image_of):
        """Weights and biases after the steps of a run."""
        weights = numpy.zeros((CLASSES, 3 * PART * PART))
        bias = numpy.zeros(CLASSES)
        steps = -(-found.rows // BATCH)
        for step in range(1, found.steps + 1):
            ids = sorted(i for part in found.ids_of_step[step].values()
                         for i in part)
            rows = self.seen((step - 1) // steps + 1, ids, image_of)
            scores = rows @ weights.T + bias
            scores = numpy.exp(scores - scores.max(axis=1, keepdims=True))
            scores /= scores.sum(axis=1, keepdims=True)
            scores[numpy.arange(len(ids)), self.labels[image_of[ids]]] -= 1
            weights -= RATE * scores.T @ rows / len(ids)
            bias -= RATE * scores.mean(axis=0)
        return weights, bias

    def agrees(self, run, epochs):
        found = check_run(run, BATCH, epochs)
        self.assertEqual(found.problems, [], found)
        manifest = read_json(run / "manifest.json")
        weights, bias = self.replayed(found, self.image_of(manifest, "train"))
        model = read_safetensors(run / "model.safetensors")
        for got, expected in ((model["weight"], weights),
                              (model["bias"], bias)):
            numpy.testing.assert_allclose(got.reshape(expected.shape), expected,
                                          rtol=1e-4, atol=1e-4)
        # Something was learnt: this is no comparison of zeros.
        self.assertGreater(numpy.abs(weights).max(), 0.01)
        audit = self.audit(run)
        self.assertEqual((audit["lost"], audit["repeated"]), (0, 0))
        return weights, bias

    def test_images_are_those_of_the_rule_for_any_number_of_workers(self):
        content = set()
        for workers in (1, 2, 3):
            run = self.run_job(self.job(6, workers=workers))
            self.agrees(run, 6)
            content.add(read_json(run / "report.json")["samples"])
        self.assertEqual(content, {6 * CLASSES * EACH})

    def test_evaluation_sees_the_middle_of_each_image(self):
        job = self.job(4, workers=2)
        job["data"]["test_fraction"] = 0.25
        run = self.run_job(job)
        weights, bias = self.agrees(run, 4)
        kept = self.image_of(read_json(run / "manifest.json"), "test")
        self.assertEqual(len(kept), CLASSES * EACH // 4)
        scores = self.evaluated(kept) @ weights.T + bias
        losses = (numpy.log(numpy.exp(scores).sum(axis=1)) -
                  scores[numpy.arange(len(kept)), self.labels[kept]])
        self.assertAlmostEqual(read_json(run / "report.json")["test_loss"],
                               losses.mean(), places=3)

    def test_a_worker_that_is_killed_changes_no_image(self):
        one, run = self.new_run(self.job(1500, workers=2))
        steps = run / "steps.jsonl"
        wait_until(lambda: steps.exists() and len(read_lines(steps)) > 20,
                   "steps", 60)
        victim = read_json(run / "workers.json")["workers"][1]
        os.kill(victim["pid"], signal.SIGKILL)
        self.assertEqual(one.wait(180), 0, one)
        self.assertGreaterEqual(
            len(read_json(run / "report.json")["recoveries"]), 1)
        self.agrees(run, 1500)

    def test_other_steps_need_no_other_data(self):
        job = self.job(1, workers=2)
        found = []
        for augment in (AUGMENT, [], [{"op": "flip"}]):
            job["data"]["augment"] = augment
            manifest = read_json(self.run_job(job) / "manifest.json")
            found.append((manifest["content_id"], manifest["row"]["shape"]))
        self.assertEqual(found, [(found[0][0], [3, SIDE, SIDE])] * 3)

    def test_rows_that_are_no_images_are_refused(self):
        self.write("rows.csv", "a,b,c,y\n" + "1,2,3,0\n4,5,6,1\n" * 50)
        job = self.job(1)
        job["data"]["train"] = {"format": "csv", "label": "y",
                                "uri": str(self.folder / "rows.csv")}
        path = self.write("no-images.json", job)
        self.refused(2, ["/data/augment: a row of this data set has the shape "
                         "[3], which is no image"],
                     "run", path, "--run-dir", self.folder / "no",
                     "--no-progress")


if __name__ == "__main__":
    unittest.main()
