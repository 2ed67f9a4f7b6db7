#!/usr/bin/env python3
"""Is a defect that is put in on purpose found again?

Each patch in mutations/ takes one mended behaviour out. It is applied to a copy
of the sources, built there, and what is to find it must fail. Without a word in
the patch that is the simulator, within a number of seeds; else its first line
names a test program and its filter, or a file of end_to_end/ and its cases:

    # found by: runtime_tests newcomers.*
    # found by: end_to_end/resume.py Untouched

The same must pass without the patch. Prints, for each: what failed.

usage: without_fixes.py BUILD [--count N] [--jobs N] [NAME ...]
       without_fixes.py --apply-only
BUILD is a configured build folder, whose cache and compiler are used. Without it
nothing is built: does every patch still apply?
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FOUND_BY = re.compile(r"# found by: (\S+) ?(.*)\n")
FAILURES = (r"^(seed \d+: .*|.*check failed.*)$",  # the simulator's
            r"^\[  FAILED  \] (\S+)", r"^(?:FAIL|ERROR): (\S+)")
ABOUT_AN_HOUR = 3600


def copy_of_the_sources(where):
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout
    for name in listed.splitlines():
        if (ROOT / name).is_file():
            (where / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, where / name)
    if (ROOT / ".deps").exists():
        (where / ".deps").symlink_to((ROOT / ".deps").resolve())


class Copy:
    """The sources elsewhere, with the choices of `build`. Its paths differ in
    their beginning only, so a compiler cache knows what is not changed."""

    def __init__(self, build, where, jobs):
        self.where, self.jobs = where, jobs
        self.build = where / "build" / "release"
        self.environment = dict(os.environ, CCACHE_BASEDIR=str(where),
                                CCACHE_NOHASHDIR="1")
        chosen = []
        for line in (build / "CMakeCache.txt").read_text().splitlines():
            if re.match(r"(CMAKE_BUILD_TYPE|CMAKE_CXX_COMPILER_LAUNCHER"
                        r"|BALLAST_\w+):\w+=", line):
                chosen.append("-D" + line.replace(str(ROOT), str(where)))
        copy_of_the_sources(where)
        self.run("cmake", "-G", "Ninja", "-S", where, "-B", self.build, *chosen)

    def run(self, *command):
        done = subprocess.run(command, env=self.environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, command))}:\n{done.stdout[-3000:]}")

    def make(self, target):
        self.run("ninja", "-C", self.build, f"-j{self.jobs}", target)

    def verdict(self, finder, count):
        """What the finder says of these sources; None: nothing is wrong."""
        program, rest = finder
        environment = dict(self.environment, BALLAST_SIM_COUNT=str(count))
        if program.startswith("end_to_end/"):
            self.make("ballast")
            deps = self.where / ".deps"
            environment.update(
                BALLAST_BINARY=str(self.build / "ballast"),
                PYTHONPATH=os.pathsep.join(map(str, [
                    self.where / "tools", deps / "python",
                    *sorted(deps.glob("pyarrow-*"))])))
            python = "/usr/bin/python3"  # Debian's, which has numpy
            command = [python if os.path.exists(python) else sys.executable,
                       self.where / "tests" / program, *rest.split()]
        else:
            self.make(program)
            command = [self.build / program, "--gtest_brief=1"]
            if rest:
                command.append("--gtest_filter=" + rest)
        run = subprocess.run(command, env=environment, text=True,
                             errors="replace", stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, timeout=ABOUT_AN_HOUR)
        if run.returncode == 0:
            return None
        for pattern in FAILURES:
            if found := re.search(pattern, run.stdout, re.MULTILINE):
                return found.group(1)
        return "it ended with %d" % run.returncode


def finder_of(patch):
    named = FOUND_BY.match(patch.read_text())
    return named.groups() if named else ("simulation_tests", "")


def outdated(patches):
    tries = ["patch", "-p1", "-s", "-f", "--dry-run", "-i"]
    return [one.name for one in patches
            if subprocess.run([*tries, one], cwd=ROOT).returncode != 0]


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("build", type=pathlib.Path, nargs="?")
    arguments.add_argument("--apply-only", action="store_true")
    arguments.add_argument("--count", type=int, default=2000)
    arguments.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments.add_argument("names", nargs="*")
    asked = arguments.parse_intermixed_args()
    patches = sorted((HERE / "mutations").glob("*.patch"))
    if asked.names:
        patches = [one for one in patches if one.stem in asked.names]
    if old := outdated(patches):
        print("these do not apply any more: " + ", ".join(old))
        return 1
    if asked.apply_only:
        return 0
    if not asked.build:
        arguments.error("BUILD is missing")
    missed = []
    with tempfile.TemporaryDirectory(prefix="without-fixes-") as folder:
        copy = Copy(asked.build, pathlib.Path(folder), asked.jobs)
        for finder in sorted({finder_of(patch) for patch in patches}):
            if said := copy.verdict(finder, asked.count):
                print("without any patch %s: %s" % (" ".join(finder), said))
                return 1
        for patch in patches:
            apply = ["patch", "-p1", "-s", "-i", patch]
            subprocess.run(apply, cwd=folder, check=True)
            said = copy.verdict(finder_of(patch), asked.count)
            subprocess.run([*apply, "-R"], cwd=folder, check=True)
            print("%-36s %s" % (patch.stem, said or "NOT FOUND"), flush=True)
            if not said:
                missed.append(patch.stem)
    print("%d of %d found" % (len(patches) - len(missed), len(patches)))
    return 1 if missed or not patches else 0


if __name__ == "__main__":
    sys.exit(main())
