"""What the servers of the tests have in common: each is a script that prints
where it serves, on a free port, and ends with its standard input, so that it
cannot outlive the test that holds the other end. Where its library is not
installed it prints the reason and exits with MISSING.
"""
import os
import pathlib
import subprocess
import sys
import threading

MISSING = 77


def folder_of(variable, name):
    """Where a library lies: in $VARIABLE, or .deps/NAME (`./dev setup`)."""
    root = pathlib.Path(__file__).resolve().parents[2]
    deps = pathlib.Path(os.environ.get("BALLAST_DEPS", root / ".deps"))
    return pathlib.Path(os.environ.get(variable, deps / name))


def serve_until_input_ends(serve, place):
    """`serve` returns never; `place` is printed for whoever started it."""
    print(place, flush=True)
    threading.Thread(target=serve, daemon=True).start()
    sys.stdin.read()
    return 0


class Served:
    """Such a script, running; whoever starts it calls end(). If it does not
    serve, `missing` says why, and `endpoint` is None."""

    def __init__(self, script, said="", is_endpoint=None, arguments=()):
        """`said`: to its standard input."""
        self.process = subprocess.Popen(
            [sys.executable, script, *arguments], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        if said:
            self.process.stdin.write(said + "\n")
            self.process.stdin.flush()
        line = self.process.stdout.readline().strip()
        serves = (is_endpoint or (lambda it: it.startswith("127.")))(line)
        self.endpoint = line if serves else None
        self.missing = None if serves else line or "it did not start"

    def kill(self):
        """At once, with all that it has in memory."""
        self.process.kill()
        self.end()

    def end(self):
        self.process.stdin.close()
        self.process.wait(timeout=30)
        self.process.stdout.close()
