"""Goal: a set that is prepared by several processes is that of one, byte for
byte, whoever dies meanwhile or has other files; what was read before is not read
again. Method: real processes on one machine, which act as if they were on
several, with caches of their own or a common one.
"""
import json
import os
import re
import signal
import unittest

from harness.http_client import request
from harness.moto import Moto
from harness.program import LOOPBACK
from harness.run_files import read_json
from harness.waiting import wait_until

from ballast_test import BallastTest

FILES = 8
ROWS = 400


def csv_text(number):
    return "a,b,word,y\n" + "".join(
        f"{(i * 7 + number) % 101},{i / 8 if number == 6 else i % 90},"
        f"w{i % 5},{(i + number) % 3}\n" for i in range(ROWS))


def jsonl_text(number):
    return "".join(
        json.dumps({"a": (i * 3 + number) % 50, "b": i % 7,
                    "kind": "zyxwvuts"[(i + number) % (2 + number % 6)]}) + "\n"
        for i in range(ROWS))


class Preparing(BallastTest):
    def setUp(self):
        super().setUp()
        self.environment |= {"BALLAST_PREPARE_ON_THIS_MACHINE": "1",
                             "BALLAST_CACHE": str(self.folder / "cache")}
        for number in range(FILES):
            self.write(f"rows-{number}.csv", csv_text(number))
            self.write(f"rows-{number}.jsonl", jsonl_text(number))

    def job(self, form="csv", **more):
        return {"data": {"train": {"format": form,
                                   "uri": str(self.folder / f"rows-*.{form}"),
                                   "label": "y" if form == "csv" else "kind"},
                         "test_fraction": 0.2, "chunk_rows": 64,
                         **more},
                "model": {"kind": "logistic"},
                "train": {"epochs": 1, "global_batch": 64},
                "elastic": {"workers": 2}}

    def expected(self, form="csv"):
        """The checksums of a run whose files are read one after another."""
        self.environment.pop("BALLAST_PREPARE_ON_THIS_MACHINE")
        cache = self.environment["BALLAST_CACHE"]
        self.environment["BALLAST_CACHE"] = str(self.folder / "other")
        run = self.run_job(self.job(form))
        self.environment |= {"BALLAST_PREPARE_ON_THIS_MACHINE": "1",
                             "BALLAST_CACHE": cache}
        return self.checksums(run)

    @staticmethod
    def checksums(run):
        manifest = read_json(run / "manifest.json")
        return ([c["checksum"] for c in manifest["train"]],
                [c["checksum"] for c in manifest["test"]],
                manifest.get("class_names"))

    # -- a cluster put together by hand

    def coordinator(self, **environment):
        before = dict(self.environment)
        self.environment |= environment
        one = self.start("node", "--coordinator", "--listen", LOOPBACK,
                         "--http", LOOPBACK, "--state", self.folder / "state")
        self.environment = before
        self.address = one.said(r"coordinator (\S+)")[1]
        url = one.said(r"http (\S+)")[1]
        self.url = url if url.startswith("http://") else "http://" + url
        return one

    def node(self, name, **environment):
        before = dict(self.environment)
        self.environment |= {"BALLAST_CACHE": str(self.folder / name),
                             **environment}
        one = self.start("node", "--join", self.address, "--name", name)
        self.environment = before
        return one

    def members(self, *names):
        wait_until(lambda: set(names) <= {
            w["name"] for w in request(self.url + "/v1/status").json["workers"]
            if w["state"] != "lost"}, f"{names}")

    def submit(self, job, *arguments, code=0):
        path = self.write(f"job-{next(self.folders)}.json", job)
        one = self.ballast("submit", path, "--to", self.url, *arguments,
                           code=code, seconds=90)
        return one

    def trained(self, job):
        name = self.submit(job, "--wait").out.strip()
        return self.folder / "state" / "runs" / name

    @staticmethod
    def readers(one, pointer="/data/train"):
        """Who read how many files, as the coordinator's log says last; the log
        may be behind the files."""
        pattern = (re.escape(pointer) + r": of (\d+) files (\d+) were "
                   r"read here(.*)")
        line = wait_until(lambda: re.findall(pattern, one.err),
                          "who read the files")[-1]
        others = {name: int(count) for name, count in
                  re.findall(r"by (\S+) (\d+)", line[2])}
        return {"files": int(line[0]), "here": int(line[1]), **others}

    # -- tests

    def test_files_that_several_processes_read_give_the_set_of_one(self):
        for form in ("csv", "jsonl"):
            with self.subTest(form):
                expected = self.expected(form)
                # Slow where the set is put together, so that others are asked.
                slow = "fragment.read=delay:300@1-100"
                one = self.coordinator(BALLAST_FAULT_POINTS=slow)
                self.node(form + "-left")
                self.node(form + "-right")
                self.members(form + "-left", form + "-right")
                self.assertEqual(self.checksums(self.trained(self.job(form))),
                                 expected)
                who = self.readers(one)
                self.assertEqual(who["files"], FILES - 1)
                self.assertEqual(sum(who.values()), 2 * (FILES - 1), who)
                self.assertGreater(who.get(form + "-left", 0)
                                   + who.get(form + "-right", 0), 2, who)
                for name in ("cache", form + "-left"):
                    wait_until(lambda name=name: not (
                        self.folder / name / "fragments").exists(),
                               "the end of the fragments")
                one.end()

    def test_files_in_a_bucket_are_read_by_others_too(self):
        store = Moto()
        self.addCleanup(store.end)
        if store.missing:
            self.skipTest(store.missing)
        self.environment |= {"AWS_ACCESS_KEY_ID": "any",
                             "AWS_SECRET_ACCESS_KEY": "any",
                             "AWS_EC2_METADATA_DISABLED": "true"}
        expected = self.expected()
        store.put("shop")
        for number in range(FILES):
            store.put(f"shop/rows-{number}.csv", csv_text(number).encode())
        job = self.job()
        job["data"]["train"]["uri"] = store.uri("shop/rows-*.csv")
        one = self.coordinator(
            BALLAST_FAULT_POINTS="fragment.read=delay:300@1-100")
        self.node("left")
        self.node("right")
        self.members("left", "right")
        self.assertEqual(self.checksums(self.trained(job)), expected)
        who = self.readers(one)
        self.assertGreater(who.get("left", 0) + who.get("right", 0), 0, who)

    def test_a_worker_that_dies_meanwhile_costs_no_row(self):
        expected = self.expected()
        one = self.coordinator(
            BALLAST_FAULT_POINTS="fragment.read=delay:200@1-100")
        self.node("left")
        dies = self.node("right", BALLAST_FAULT_POINTS="fragment.read=kill@2")
        self.members("left", "right")
        name = self.submit(self.job()).out.strip()
        wait_until(lambda: not dies.running(), "the end of a worker")
        self.node("middle")
        wait_until(lambda: request(self.url + "/v1/status").json["state"]
                   == "done", "the end of the run")
        self.assertEqual(
            self.checksums(self.folder / "state" / "runs" / name), expected)
        self.assertEqual(self.readers(one)["files"], FILES - 1)

    def test_a_worker_that_stands_still_holds_up_nobody(self):
        expected = self.expected()
        one = self.coordinator(
            BALLAST_FAULT_POINTS="fragment.read=delay:200@1-100")
        self.node("left")
        stands = self.node("right", BALLAST_FAULT_POINTS="fragment.read=stop@1")
        self.members("left", "right")
        name = self.submit(self.job()).out.strip()
        run = self.folder / "state" / "runs" / name
        wait_until(lambda: (run / "manifest.json").exists(), "the set", 40)
        self.assertEqual(self.checksums(run), expected)
        self.assertEqual(self.readers(one).get("right", 0), 0)
        os.kill(stands.pid, signal.SIGCONT)

    def test_a_worker_with_other_files_is_left_out(self):
        expected = self.expected()
        one = self.coordinator(
            BALLAST_FAULT_POINTS="fragment.read=delay:100@1-100")
        self.node("left")
        self.node("right", BALLAST_FAULT_POINTS="fragment.find=eio@1-100")
        self.members("left", "right")
        self.assertEqual(self.checksums(self.trained(self.job())), expected)
        self.assertEqual(one.err.count("right reads none of them"), 1, one)
        self.assertNotIn("right", self.readers(one))

    def test_a_killed_coordinator_goes_on_with_the_files_that_were_read(self):
        expected = self.expected()
        dies = self.coordinator(BALLAST_FAULT_POINTS="fragment.read=kill@6")
        name = self.submit(self.job()).out.strip()
        wait_until(lambda: not dies.running(), "the end of the coordinator")
        kept = self.kept()
        self.assertGreaterEqual(kept, 3)
        one = self.coordinator()
        self.node("left")
        self.node("right")
        run = self.folder / "state" / "runs" / name
        wait_until(lambda: (run / "report.json").exists(), f"the end of {one}")
        self.assertEqual(self.checksums(run), expected)
        self.assertIn(f"{kept} of {FILES - 1} files were read before", one.err)
        who = self.readers(one)
        self.assertEqual(sum(who.values()) - who["files"], FILES - 1 - kept, who)
        self.assertEqual(self.kept(), 0)

    def kept(self):
        folder = self.folder / "cache" / "fragments"
        return len([n for n in os.listdir(folder) if len(n) == 16]) \
            if folder.exists() else 0

    def test_a_bad_cell_is_refused_with_the_same_words(self):
        path = self.folder / "rows-5.csv"
        path.write_text(path.read_text(encoding="utf-8") + "7,x1,w1,2\n",
                        encoding="utf-8")
        last = self.folder / "rows-7.csv"
        last.write_text("a,b\n1,2\n", encoding="utf-8")
        self.environment.pop("BALLAST_PREPARE_ON_THIS_MACHINE")
        one, _ = self.new_run(self.job())
        self.assertEqual(one.wait(60), 2, one)
        self.assertIn("rows-5.csv", one.last_line)
        self.environment["BALLAST_PREPARE_ON_THIS_MACHINE"] = "1"
        two, _ = self.new_run(self.job())
        self.assertEqual(two.wait(60), 2, two)
        self.assertEqual(two.last_line, one.last_line)
        listed = json.loads(self.ballast("cache", "list", "--json").out)
        self.assertIn("fragments", [e["state"] for e in listed["entries"]])
        self.ballast("cache", "clear")
        self.assertEqual(self.kept(), 0)


if __name__ == "__main__":
    unittest.main()
