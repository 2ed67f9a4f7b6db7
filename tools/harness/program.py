"""A `ballast` process: started, read as it prints, ended with all that it
started.

$BALLAST_BINARY names the program. Every process that is started here carries a
mark in its environment, and so do its children: `processes_of` finds them all
in /proc, even after their parent has died.
"""
import contextlib
import itertools
import os
import pathlib
import re
import signal
import subprocess
import threading
import time

from harness.waiting import patience, wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
BINARY = pathlib.Path(os.environ.get(
    "BALLAST_BINARY", ROOT / "build" / "release" / "ballast")).resolve()
LOOPBACK = "127.0.0.1:0"

_MARK = "BALLAST_TEST_MARK"
_NUMBERS = itertools.count(1)


def alive(pid):
    """True while the process runs; a zombie does not."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def processes_of(mark):
    """The pids of all living processes that carry the mark."""
    wanted = f"{_MARK}={mark}".encode()
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        with contextlib.suppress(OSError):
            raw = pathlib.Path("/proc", entry, "environ").read_bytes()
            if wanted in raw.split(b"\0") and alive(int(entry)):
                found.append(int(entry))
    return found


def command_of(pid):
    with contextlib.suppress(OSError):
        raw = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
        return raw.replace(b"\0", b" ").decode(errors="replace").strip()
    return "(gone)"


class Started:
    """A running `ballast`, or a program that looks at it; its output is read
    as it comes."""

    def __init__(self, arguments, environment, folder, wrapper=(),
                 program=BINARY, pass_fds=()):
        self.program = pathlib.Path(program)
        self.arguments = [str(one) for one in arguments]
        self.mark = f"{os.getpid()}-{next(_NUMBERS)}"
        self.process = subprocess.Popen(
            [*wrapper, str(self.program), *self.arguments], cwd=folder,
            env={**environment, _MARK: self.mark}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True, pass_fds=pass_fds)
        self.begun = time.monotonic()
        self.pid = self.process.pid
        self._text = {"out": "", "err": ""}
        self._changed = threading.Condition()
        self._readers = [
            threading.Thread(target=self._read, args=pair, daemon=True)
            for pair in (("out", self.process.stdout),
                         ("err", self.process.stderr))]
        for reader in self._readers:
            reader.start()

    def _read(self, name, stream):
        with stream:
            while chunk := stream.read1(65536):
                with self._changed:
                    self._text[name] += chunk.decode(errors="replace")
                    self._changed.notify_all()

    @property
    def out(self):
        with self._changed:
            return self._text["out"]

    @property
    def err(self):
        with self._changed:
            return self._text["err"]

    @property
    def last_line(self):
        """Of stderr: by contract the reason of a failure."""
        lines = self.err.strip().splitlines()
        return lines[-1] if lines else ""

    def said(self, pattern, name="out", seconds=20):
        """Waits until the output holds the pattern; returns the match."""
        return wait_until(
            lambda: re.search(pattern, self._text[name]) or self._gone(pattern),
            f"{pattern!r} from {self}", seconds)

    def _gone(self, pattern):
        if self.process.poll() is not None and not self._reading():
            raise AssertionError(f"{self} ended without saying {pattern!r}")

    def _reading(self):
        return any(reader.is_alive() for reader in self._readers)

    def running(self):
        return self.process.poll() is None

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, seconds=60):
        """Waits for its end; the exit code, negative after a signal."""
        try:
            code = self.process.wait(patience(seconds))
        except subprocess.TimeoutExpired:
            raise AssertionError(
                f"{self} did not end within {seconds} s") from None
        for reader in self._readers:
            reader.join(patience(5))
        return code

    def family(self):
        """All living processes that descend from it, itself among them."""
        return processes_of(self.mark)

    def end(self):
        """Kills it and all that it started; waits until they are gone."""
        def kill():
            left = self.family()
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            return not left
        wait_until(kill, f"the end of {self}")
        self.process.wait()
        for reader in self._readers:
            reader.join(patience(5))

    def __str__(self):
        return (f"`{self.program.name} {' '.join(self.arguments)}` "
                f"(pid {self.pid})\n"
                f"--- stdout\n{self._text['out']}\n"
                f"--- stderr\n{self._text['err']}\n---")
