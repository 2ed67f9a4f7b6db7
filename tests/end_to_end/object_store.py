"""Goal: a run whose machine is gone goes on elsewhere from the copies of its
checkpoints, and is exact; a store that is away, full of another run, or damaged
costs nothing but copies, and is named. Method: the real program and a real
server that is killed and started again; run directories are removed.
"""
import contextlib
import http.server
import json
import re
import shutil
import signal
import threading
import unittest

from harness.gcs import Gcs
from harness.moto import Moto
from harness.run_files import read_json, read_lines
from harness.waiting import wait_until

from recovery import job_of
from takeover import Takeover

OFTEN = {"every_steps": 10, "every_s": 0, "keep": 2}


class Copies(Takeover):
    def setUp(self):
        super().setUp()
        self.store = self.served(Moto())
        self.store.put("ours")
        self.environment |= {"AWS_ACCESS_KEY_ID": "any",
                             "AWS_SECRET_ACCESS_KEY": "any",
                             "AWS_EC2_METADATA_DISABLED": "true"}

    def served(self, server):
        if server.missing:
            server.end()
            self.skipTest(server.missing)
        self.addCleanup(self.ended, server)
        return server

    @staticmethod
    def ended(server):
        with contextlib.suppress(OSError, ValueError):
            server.kill()

    @property
    def place(self):
        return self.store.uri("ours/run")

    def job(self, epochs, place=None, **more):
        return job_of(2, epochs, checkpoint={
            **OFTEN, "copy_to": str(place or self.place)}, **more)

    def events(self, run, kind):
        with contextlib.suppress(OSError):
            return [e for e in read_lines(run / "events.jsonl")
                    if e["kind"] == kind]
        return []

    def copied(self, run):
        return [e["step"] for e in self.events(run, "checkpoint_copied")]

    def not_copied(self, run, code):
        """Why; others than those that a newer one overtook."""
        return wait_until(
            lambda: [e["message"]
                     for e in self.events(run, "checkpoint_not_copied")
                     if e["code"] == code], f"a copy to fail: {code}", 60)

    def begin_with(self, job, copies=3):
        one, run = self.begin(job)
        wait_until(lambda: len(self.copied(run)) >= copies, "copies")
        return one, run

    def lose(self, one, run):
        """The machine is gone."""
        self.kill_all(one)
        shutil.rmtree(run)

    def from_store(self, *arguments, place=None, name="again"):
        run = self.folder / name
        return self.start("run", "--resume-from", place or self.place,
                          "--run-dir", run, "--no-progress", *arguments), run

    def in_store(self):
        """The steps whose copies are complete."""
        return sorted(int(found[1]) for name in self.store.names("ours")
                      if (found := re.fullmatch(
                          r"run/step-(\d+)/manifest.json", name)))


class Lost(Copies):
    def test_a_run_whose_machine_is_gone_goes_on_elsewhere_and_is_exact(self):
        one, run = self.begin_with(self.job(40))
        self.lose(one, run)
        newest = self.in_store()[-1]
        again, run = self.from_store("--workers", "3")
        self.ended_well(again, run, 40)
        [fetched] = self.events(run, "checkpoint_fetched")
        self.assertEqual(fetched["step"], newest)
        self.assertEqual((run / "run.key").stat().st_mode & 0o777, 0o600)
        self.assertFalse((run / "fetched.json").exists())
        # It copies to the same place, and leaves its model there.
        self.assertLessEqual(len(self.in_store()), 2)
        self.assertEqual(self.store.get("ours/run/model/model.safetensors"),
                         (run / "model.safetensors").read_bytes())
        about = json.loads(self.store.get("ours/run/model/manifest.json"))
        self.assertEqual(about["state"], "done")
        self.refused(2, ["is done", "model/model.safetensors"], "run",
                     "--resume-from", self.place, "--run-dir",
                     self.folder / "third")

    def test_a_stopped_run_goes_on_from_its_last_step(self):
        one, run = self.begin_with(self.job(60), 1)
        one.signal(signal.SIGINT)
        self.assertEqual(one.wait(60), 130, one)
        last = read_json(run / "report.json")["steps"]
        self.assertEqual(self.in_store()[-1], last)
        shutil.rmtree(run)
        again, run = self.from_store()
        self.ended_well(again, run, 60)
        self.assertEqual(self.events(run, "undone"), [])

    def test_google_cloud_storage_and_a_folder_are_such_places(self):
        google = self.served(Gcs())
        google.bucket("ours")
        for name, place in (("gs", google.uri("ours/run")),
                            ("folder", str(self.folder / "other-disk"))):
            with self.subTest(name):
                one, run = self.begin_with(self.job(30, place), 2)
                self.lose(one, run)
                again, run = self.from_store(place=place, name=name)
                self.ended_well(again, run, 30)

    def test_a_damaged_copy_is_named_and_the_one_before_is_taken(self):
        one, run = self.begin_with(self.job(40))
        self.lose(one, run)
        older, newest = self.in_store()
        name = f"ours/run/step-{newest}/state.safetensors"
        state = bytearray(self.store.get(name))
        state[-1] ^= 1
        self.store.put(name, bytes(state))
        again, run = self.from_store()
        self.ended_well(again, run, 40)
        self.assertRegex(again.err, f"step-{newest}/state.safetensors has the "
                         "checksum .* it was changed after it was copied")
        [fetched] = self.events(run, "checkpoint_fetched")
        self.assertEqual(fetched["step"], older)

    def test_a_place_without_copies_is_refused(self):
        self.refused(2, ["ours/run", "no checkpoint was copied there"], "run",
                     "--resume-from", self.place)
        self.assertFalse((self.folder / "runs" / "run").exists())

    def test_a_folder_that_is_there_is_left_alone(self):
        one, run = self.begin_with(self.job(400), 1)
        self.kill_all(one)
        self.refused(2, ["is there already", "--resume"], "run",
                     "--resume-from", self.place, "--run-dir", run)
        self.assertTrue((run / "ledger.sqlite").exists())


class DiskDamaged(Copies):
    def damage(self, run):
        newest = max(int(p.name[5:]) for p in (run / "checkpoints").glob(
            "step-*"))
        (run / "checkpoints" / f"step-{newest}" / "manifest.json").write_bytes(
            b"{")
        return newest

    def test_what_the_disk_has_damaged_is_fetched(self):
        one, run = self.begin_with(self.job(40))
        self.kill_all(one)
        shutil.rmtree(run / "checkpoints")
        newest = self.in_store()[-1]
        again = self.resume(self.job(40), run)
        self.ended_well(again, run, 40)
        [fetched] = self.events(run, "checkpoint_fetched")
        self.assertEqual((fetched["step"], fetched["reason"]),
                         (newest, "checkpoints/ has none"))

    def test_without_the_store_the_run_goes_on_from_what_it_has(self):
        one, run = self.begin_with(self.job(40))
        self.kill_all(one)
        newest = self.damage(run)
        self.store.kill()
        again = self.resume(self.job(40), run)
        self.ended_well(again, run, 40)
        self.assertIn(f"step-{newest}: its manifest.json cannot be read",
                      again.err)
        self.assertIn("does not answer", again.err)


class CoordinatorKilled(Copies):
    def test_before_a_copy_is_complete_leaves_none(self):
        flag = self.write("armed", "")
        self.environment["BALLAST_FAULT_POINTS"] = \
            f"copies.complete=kill!{flag}"
        one, run = self.new_run(self.job(40))
        self.ended_well(one, run, 40)
        self.assertEqual(len(self.terms(run)), 2)
        names = set(self.store.names("ours"))
        steps = {name.split("/")[1] for name in names if "/step-" in name}
        for step in steps:
            for file in json.loads(self.store.get(
                    f"ours/run/{step}/manifest.json"))["files"]:
                self.assertIn(f"run/{step}/{file['name']}", names)


class StoreAway(Copies):
    def test_training_goes_on_and_the_next_one_is_tried_again(self):
        one, run = self.begin_with(self.job(400, elastic={"workers": 2}))
        self.store.kill()
        self.assertIn("does not answer", self.not_copied(run, "unreachable")[0])
        stood = self.committed(run)
        wait_until(lambda: self.committed(run) > stood + 20, "steps")
        seen = wait_until(lambda: "does not answer" in
                          (said := self.ballast("status", "--to", run).out) and
                          said, "the status", 60)
        self.assertRegex(seen, r"copies: step \d+ is in s3://ours/run; s3://")
        before = self.copied(run)[-1]
        self.store = self.served(Moto(self.store))
        self.store.put("ours")
        wait_until(lambda: self.copied(run)[-1] > before, "another copy", 60)
        one.signal(signal.SIGINT)
        self.assertEqual(one.wait(60), 130, one)
        self.assertEqual(self.in_store()[-1],
                         read_json(run / "report.json")["steps"])

    def test_at_the_end_the_model_stays_here_and_that_is_told(self):
        one, run = self.begin_with(self.job(20), 1)
        self.store.kill()
        self.ended_well(one, run, 20)
        [failed] = self.events(run, "model_not_copied")
        self.assertIn("does not answer", failed["message"])
        self.assertIn(f"it is in {run}", one.err)


class Denied(http.server.BaseHTTPRequestHandler):
    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        said = (b"<Error><Code>AccessDenied</Code><Message>no</Message>"
                b"</Error>")
        self.send_response(403)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(said)

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = answer

    def log_message(self, *_):
        pass


class Refused(Copies):
    def says(self, place, *parts):
        run = self.folder / "refused"
        self.refused(2, ["/checkpoint/copy_to", *parts], "run",
                     self.write("job.json", self.job(3, place)), "--run-dir",
                     run, "--no-progress")
        self.assertFalse(run.exists())

    def test_an_address_that_is_none(self):
        for place, part in (
                ("ftp://host/a", "s3://BUCKET/FOLDER"),
                ("s3://ours", "a bucket and a folder in it"),
                ("s3:///run", "a bucket and a folder in it"),
                ("s3://ours/run-*", "not a pattern"),
                ("s3://me:secret@ours/run", "no user and no password"),
                ("s3://ours/run?access_key=x", "is not allowed")):
            with self.subTest(place):
                self.says(place, part)

    def test_a_store_that_is_away(self):
        self.store.kill()
        self.says(self.place, "s3://ours/run", "does not answer",
                  "leave copy_to out")

    def test_a_bucket_that_is_not_there(self):
        self.says(self.store.uri("theirs/run"), "there is no such bucket")

    def test_a_place_that_may_not_be_written_to(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Denied)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.says(f"s3://ours/run?endpoint_override=127.0.0.1:"
                  f"{server.server_port}&scheme=http", "access is denied",
                  "write")

    def test_a_folder_that_cannot_be_made(self):
        self.says(str(self.write("file", "") / "run"), "file/run",
                  "may read and write")

    def test_the_place_of_another_run(self):
        one, run = self.begin_with(self.job(400), 1)
        self.says(self.place, "holds the copies of run run-1",
                  "name another folder")
        self.kill_all(one)
        # Also when it is resumed there; its own place it may use again.
        other, its_run = self.begin_with(self.job(
            400, self.store.uri("ours/other")), 1)
        self.kill_all(other)
        before = self.in_store()
        again = self.resume(self.job(400), its_run)
        self.assertIn("holds the copies of another run, run-1",
                      self.not_copied(its_run, "invalid_job")[0])
        again.said("holds the copies of another run, run-1", "err")
        again.signal(signal.SIGINT)
        self.assertEqual(again.wait(60), 130, again)
        self.assertEqual(self.in_store(), before)


if __name__ == "__main__":
    unittest.main()
