"""What the end-to-end tests share: they start the real program, wait for what
it prints, writes or answers, and leave nothing behind.

$BALLAST_BINARY names the program. Every process that a test starts carries a
mark in its environment, and so do its children: `processes_of` finds them all
in /proc, whoever their parent is by then. Deadlines are those of the contract
on an idle machine; `patience` stretches them by the machine's load.
"""
import atexit
import contextlib
import http.client
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
BINARY = pathlib.Path(os.environ.get(
    "BALLAST_BINARY", ROOT / "build" / "release" / "ballast")).resolve()
LOOPBACK = "127.0.0.1:0"

_SESSION = tempfile.mkdtemp(prefix="ballast-e2e-")
atexit.register(shutil.rmtree, _SESSION, ignore_errors=True)
_MARK = "BALLAST_TEST_MARK"
_NUMBERS = itertools.count(1)


def patience(seconds):
    """A deadline of an idle machine, on this one: a processor that is shared
    by n is n times as slow. Sanitized programs set their factor themselves."""
    crowd = os.getloadavg()[0] / (os.cpu_count() or 1)
    slow = float(os.environ.get("BALLAST_TEST_SLOWNESS", "1"))
    return seconds * max(1.0, min(crowd, 10.0)) * slow


def wait_until(condition, what, seconds=20, pause_s=0.01):
    """Returns the first true value of condition(); fails when it stays away.
    Without a pause for what is over soon."""
    until = time.monotonic() + patience(seconds)
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > until:
            raise AssertionError(f"waited {seconds} s in vain for {what}")
        time.sleep(pause_s)


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


class Answer:
    """Of an HTTP request."""

    def __init__(self, status, headers, text):
        self.status = status
        self.headers = headers
        self.text = text

    @property
    def json(self):
        return json.loads(self.text)


def request(url, method="GET", body=None, headers=None, seconds=10):
    """One HTTP request; `url` is http://HOST:PORT/PATH. An OSError also where
    the answer breaks off: whoever gave it was killed meanwhile."""
    address, _, path = url.removeprefix("http://").partition("/")
    connection = http.client.HTTPConnection(address, timeout=patience(seconds))
    try:
        connection.request(method, "/" + path, body, headers or {})
        got = connection.getresponse()
        return Answer(got.status, got.headers, got.read().decode())
    except http.client.HTTPException as broken:
        raise ConnectionError(f"{url}: {broken!r}") from broken
    finally:
        connection.close()


def control(url, message, **headers):
    """Posts a control message; version and id are added."""
    body = message if isinstance(message, (str, bytes)) else json.dumps(
        {"version": 1, "id": "test", **message})
    return request(url + "/v1/control", "POST", body,
                   {"Content-Type": "application/json", **headers})


def read_lines(path):
    """The complete lines of a .jsonl file; none where there is no file."""
    try:
        text = pathlib.Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in text.split("\n")[:-1]]


def read_json(path):
    """A JSON file that is replaced atomically; None where there is none."""
    try:
        return json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None


def emulated_job(rows=10007, workers=2, batch=256, epochs=1, us_per_sample=0,
                 us_per_step=0, parameters=1000, **more):
    """A job that measures the runtime itself: quick, or as slow as asked."""
    return merged({
        "name": "emulated",
        "data": {"train": {"format": "synthetic", "rows": rows, "classes": 4,
                           "features": 4},
                 "test_fraction": 0},
        "model": {"kind": "emulated", "parameters": parameters,
                  "us_per_sample": us_per_sample, "us_per_step": us_per_step},
        "train": {"epochs": epochs, "global_batch": batch,
                  "optimizer": {"kind": "sgd", "lr": 0.1}},
        # A machine that is busy must not look like a worker that is silent.
        "elastic": {"workers": workers, "heartbeat_ms": 1000},
        "trace_samples": True}, more)


def endless_job(workers=2, **more):
    """Trains for hours in steps of 5 ms, unless somebody ends it."""
    return emulated_job(rows=2000, workers=workers, batch=20, epochs=100000,
                        us_per_step=5000, **more)


def merged(base, more):
    """`base` with the fields of `more`; objects merge, all else is replaced."""
    out = dict(base)
    for key, value in more.items():
        both = isinstance(value, dict) and isinstance(out.get(key), dict)
        out[key] = merged(out[key], value) if both else value
    return out


class BallastTest(unittest.TestCase):
    """A folder of its own, a cache of the session, no process left behind."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=_SESSION))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.environment = {**os.environ,
                            "BALLAST_CACHE": os.path.join(_SESSION, "cache")}
        self.folders = itertools.count(1)

    # -- processes

    def start(self, *arguments, wrapper=()):
        one = Started(arguments, self.environment, self.folder, wrapper)
        self.addCleanup(one.end)
        return one

    def ballast(self, *arguments, code=0, seconds=60, wrapper=()):
        """Runs a command to its end, which must be this exit code."""
        one = self.start(*arguments, wrapper=wrapper)
        self.assertEqual(one.wait(seconds), code, one)
        return one

    def refused(self, code, parts, *arguments, wrapper=()):
        """Ends with this code; the last line of stderr has all the parts."""
        one = self.ballast(*arguments, code=code, wrapper=wrapper)
        for part in [parts] if isinstance(parts, str) else parts:
            self.assertIn(part, one.last_line, one)
        return one

    def nobody_left(self, one, seconds):
        """Of all processes that `one` started, directly or not."""
        try:
            wait_until(lambda: not one.family(), "the end of all", seconds)
        except AssertionError:
            left = {pid: command_of(pid) for pid in one.family()}
            self.fail(f"after {seconds} s there are still {left}\n{one}")

    # -- jobs and runs

    def write(self, name, content):
        """A file in the test's folder: text, bytes, or JSON of anything."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str)
                            else json.dumps(content), encoding="utf-8")
        return path

    def new_run(self, job, *arguments, wrapper=()):
        """Starts `ballast run`; the process and its run directory."""
        number = next(self.folders)
        run = self.folder / f"run-{number}"
        if not isinstance(job, os.PathLike):
            job = self.write(f"job-{number}.json", job)
        one = self.start("run", job, "--run-dir", run, "--no-progress",
                         *arguments, wrapper=wrapper)
        return one, run

    def run_job(self, job, *arguments, code=0, seconds=90):
        """Trains to the end; the run directory."""
        one, run = self.new_run(job, *arguments)
        self.assertEqual(one.wait(seconds), code, one)
        return run

    def audit(self, run, code=0):
        """What `ballast audit` says of a run, as JSON."""
        return json.loads(self.ballast("audit", run, "--json", code=code).out)
