"""Goal: a job trains on what an operator of the user makes of its rows, each once
though a worker dies; another library prepares anew, and what is wrong with one is
a line that names it. Method: the example, built by g++ as its README says.
"""
import json
import os
import shutil
import signal
import subprocess
import unittest

from harness.jobs import merged
from harness.program import ROOT
from harness.run_files import read_json
from harness.waiting import wait_until

from recovery import Recovery

EXAMPLE = ROOT / "examples" / "custom_operator"


def build(source, library, *more):
    subprocess.run(["g++", "-O1", "-shared", "-fPIC", "-I", ROOT / "include",
                    source, "-o", library, *more], check=True)


class CustomOperator(Recovery):
    @classmethod
    def setUpClass(cls):
        if shutil.which("g++") is None:
            raise unittest.SkipTest("there is no g++")

    def setUp(self):
        super().setUp()
        for name in ("baskets.csv", "job.json", "split_items.cpp"):
            shutil.copy(EXAMPLE / name, self.folder)
        self.library = self.folder / "libsplit_items.so"
        build(self.folder / "split_items.cpp", self.library)

    def job(self, name="job.json", node=None, **more):
        out = json.loads((EXAMPLE / "job.json").read_text(encoding="utf-8"))
        for place in (1, 2):
            out["data"]["graph"][place].update(node or {})
        return self.write(name, merged(out, more))

    def items(self):
        """Of all baskets."""
        lines = (EXAMPLE / "baskets.csv").read_text().splitlines()[1:]
        return sum(len([i for i in line.split(",")[2].split(";") if i])
                   for line in lines)

    def exact(self, run, epochs):
        about = read_json(run / "manifest.json")
        self.assertEqual(about["train_rows"] + about["test_rows"], self.items())
        rows = epochs * about["train_rows"]
        self.assertEqual(read_json(run / "report.json")["audit"],
                         {"expected": rows, "once": rows, "lost": 0,
                          "repeated": 0})
        return [chunk["checksum"] for chunk in about["train"]]

    def test_it_trains_though_a_worker_is_killed(self):
        straight = self.exact(self.run_job(self.job()), 20)
        one, run = self.begin(self.job("long.json", train={"epochs": 60}))
        os.kill(self.workers(run)[0]["pid"], signal.SIGKILL)
        wait_until(lambda: len(self.generations(run)) >= 2, "a recovery")
        self.assertEqual(one.wait(90), 0, one)
        self.assertEqual(self.exact(run, 60), straight)
        self.ballast("audit", run)

    def test_a_row_is_known_by_the_basket_it_came_from(self):
        shown = self.ballast("data", "show", self.job(), "--node", "train",
                             "--rows", "1000000", "--json")
        rows = json.loads(shown.out)["rows"]
        baskets = {}
        for row in rows:
            baskets.setdefault(row["basket"], []).append(str(row["item"]))
        lines = (EXAMPLE / "baskets.csv").read_text().splitlines()[1:]
        said = {int(b): items for b, _, items, _ in
                (line.split(",") for line in lines)}
        for basket, items in baskets.items():
            self.assertEqual(";".join(items), said[basket])

    def test_another_library_prepares_anew_and_the_same_one_does_not(self):
        self.environment["BALLAST_CACHE"] = str(self.folder / "cache")
        prepared = lambda: len([p for p in (self.folder / "cache").iterdir()
                                if (p / "manifest.json").exists()])
        self.ballast("data", "prepare", self.job())
        self.ballast("data", "prepare", self.job())
        self.assertEqual(prepared(), 1)
        source = self.folder / "split_items.cpp"
        source.write_text(source.read_text().replace("return out;",
                                                     "return out + 1;"))
        build(source, self.library)
        self.ballast("data", "prepare", self.job())
        self.assertEqual(prepared(), 2)
        moved = self.folder / "elsewhere.so"
        self.library.rename(moved)
        self.ballast("data", "prepare",
                     self.job(node={"library": str(moved)}))
        self.assertEqual(prepared(), 2)

    def refused_run(self, job, *parts):
        for command in (("validate", job),
                        ("run", job, "--no-progress", "--run-dir",
                         self.folder / "never")):
            self.refused(2, parts, *command)

    def test_what_is_wrong_with_a_library_is_one_line(self):
        self.refused_run(self.job(node={"function": "split_item"}),
                         "/data/graph/1/function: ", "libsplit_items.so has no "
                         "operator 'split_item'; did you mean 'split_items'?")
        self.refused_run(self.job(node={"library": "libgone.so"}),
                         f"/data/graph/1/library: {self.folder}/libgone.so "
                         "cannot be read (No such file or directory)")
        self.refused_run(self.job(node={"options": {"separator": "::"}}),
                         "/data/graph/1: train (split_items of "
                         "libsplit_items.so): it failed", "one character")
        self.refused_run(self.job(node={"columns": ["visitors"]}),
                         "column 'items': it refuses this (there is no such "
                         "column)")
        self.refused_run(self.job(node={"options": ["separator"]}),
                         "/options: expected an object")
        other = self.write("other.cpp", "extern \"C\" int other() { return 0; }")
        build(other, self.folder / "libother.so")
        self.refused_run(self.job(node={"library": "libother.so"}),
                         "libother.so is no library of operators: it has no "
                         "'ballast_operators'")
        build(self.folder / "split_items.cpp", self.folder / "liblater.so",
              "-UBALLAST_OPERATOR_ABI", "-include",
              str(self.later_header()))
        self.refused_run(self.job(node={"library": "liblater.so"}),
                         "was built for version 9 of include/ballast/"
                         "operator.h, this program has version 1")

    def later_header(self):
        return self.write("later.h", '#include <ballast/operator.h>\n'
                          "#undef BALLAST_OPERATOR_ABI\n"
                          "#define BALLAST_OPERATOR_ABI 9\n")

    def test_a_row_that_it_refuses_is_named_with_its_file(self):
        baskets = self.folder / "baskets.csv"
        lines = baskets.read_text().splitlines()
        lines[42] = "41,1,12;seven;3,1"
        baskets.write_text("\n".join(lines) + "\n")
        job = self.job()
        self.refused(2, ["of libsplit_items.so): ", f"{baskets}: row 42, column "
                         "'items': it refuses this (expected whole numbers with "
                         "';' between them, found 'seven')"],
                     "run", job, "--no-progress", "--run-dir",
                     self.folder / "never")
        self.assertFalse(list(self.folder.glob("**/*.partial")))

    def test_a_crash_names_the_operator_and_ends_the_process(self):
        source = self.folder / "split_items.cpp"
        source.write_text(source.read_text().replace(
            "origins.push_back(row);", "std::abort();"))
        build(source, self.library)
        one = self.ballast("data", "prepare", self.job(),
                           code=-signal.SIGABRT)
        self.assertIn("ballast: /data/graph/1: train (split_items of "
                      "libsplit_items.so) crashed (signal 6)", one.err)

    def test_a_second_signal_ends_one_that_never_returns(self):
        source = self.folder / "split_items.cpp"
        source.write_text("#include <cstdio>\n" + source.read_text().replace(
            "origins.push_back(row);",
            'for (FILE* loops = std::fopen("loops", "w");;)'
            " std::fflush(loops);"))
        build(source, self.library)
        self.environment["BALLAST_CACHE"] = str(self.folder / "cache")
        job = self.job()
        for number in (signal.SIGTERM, signal.SIGINT):
            for command in (("prepare", job),
                            ("write", job, "train", "out.csv")):
                with self.subTest(number=number, command=command):
                    one = self.start("data", *command)
                    wait_until(lambda: (self.folder / "loops").exists(),
                               "the operator")
                    (self.folder / "loops").unlink()
                    one.process.send_signal(number)
                    # Asked to end; the next one does not wait for it.
                    one.process.send_signal(number)
                    while one.process.poll() is None:
                        one.process.send_signal(number)
                    self.assertEqual(one.wait(10), 128 + number, one)
                    left = [path for path in self.folder.rglob("*") if
                            path.name.endswith((".tmp", ".partial"))]
                    self.assertEqual(left, [])

    def test_a_call_of_exit_is_no_success(self):
        source = self.folder / "split_items.cpp"
        source.write_text(source.read_text().replace(
            "origins.push_back(row);", "std::exit(0);"))
        build(source, self.library)
        one = self.ballast("data", "prepare", self.job(), code=1)
        self.assertIn("ballast: /data/graph/1: train (split_items of "
                      "libsplit_items.so) ended the process", one.err)

    def test_a_pipe_is_no_library(self):
        os.mkfifo(self.folder / "libpipe.so")
        self.refused(2, ["libpipe.so is no file of at most 1 GiB"], "data",
                     "show", self.job(node={"library": "libpipe.so"}))

    def test_plain_c_is_enough(self):
        library = self.folder / "libones.so"
        subprocess.run(["gcc", "-std=c99", "-pedantic", "-Wall", "-Werror",
                        "-shared", "-fPIC", "-I", ROOT / "include",
                        ROOT / "tests" / "end_to_end" / "ones_operator.c",
                        "-o", library], check=True)
        shown = self.ballast(
            "data", "show", self.job(node={
                "library": str(library), "function": "ones", "options": {},
                "columns": ["basket"], "keep": False}),
            "--node", "train", "--rows", "2", code=0)
        self.assertTrue(shown.out.endswith('{"item":1}\n{"item":1}\n'), shown)

    def test_rows_that_cannot_be_are_refused(self):
        source = self.folder / "split_items.cpp"
        source.write_text(source.read_text().replace(
            "origins.push_back(row);", "origins.push_back(row + rows.length);"))
        build(source, self.library)
        self.refused(2, ["of libsplit_items.so): its `from` names row "],
                     "data", "prepare", self.job())


if __name__ == "__main__":
    unittest.main()
