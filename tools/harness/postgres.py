"""A real PostgreSQL of its own: a cluster in a temporary folder, gone when it
ends.

The user `ballast` may do everything without a password; `guarded`, with the
password of GUARDED, shows what a wrong one does. As a program it prints a line
of JSON ({"port": ..., "socket": ...}) once the server answers, and ends it when
its own input ends; exit code 77, with the reason, where PostgreSQL is not
installed.
"""
import glob
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

GUARDED = "open/sesame: 100%"
_OWNER = "postgres"  # PostgreSQL does not run as root


class NotInstalled(Exception):
    pass


def programs():
    """The folder of initdb and postgres, of the newest version there is."""
    def version(folder):
        name = pathlib.Path(folder).parent.name
        return float(name) if name.replace(".", "", 1).isdigit() else 0

    folders = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=version)
    folders = [f for f in folders if os.access(f"{f}/postgres", os.X_OK)]
    if folders:
        return pathlib.Path(folders[-1])
    found = shutil.which("postgres")
    if not found:
        raise NotInstalled("PostgreSQL is not installed (apt-get install postgresql)")
    return pathlib.Path(found).parent


def _free_port():
    """PostgreSQL takes no port 0."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Postgres:
    """Whoever starts it calls end()."""

    def __init__(self, *settings):
        self._bin = programs()
        self._as = {}
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ballast-pg-"))
        self._server = None
        try:
            if os.getuid() == 0:
                shutil.chown(self.folder, _OWNER, _OWNER)
                self._as = {"user": _OWNER, "group": _OWNER, "extra_groups": []}
            self._create()
            self._start(settings)
        except BaseException:
            self.end()
            raise

    def _create(self):
        self._run("initdb", "-D", self.folder / "data", "-U", "ballast",
                  "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C")
        rules = self.folder / "data" / "pg_hba.conf"
        rules.write_text("host all guarded all scram-sha-256\n" +
                         rules.read_text(encoding="utf-8"), encoding="utf-8")

    def _start(self, settings):
        # Somebody else may take the port first.
        for attempt in range(5):
            self.port = _free_port()
            options = ["fsync=off", "shared_buffers=64MB", "lc_messages=C",
                       "listen_addresses=127.0.0.1", f"port={self.port}",
                       f"unix_socket_directories={self.folder}", *settings]
            command = [self._bin / "postgres", "-D", self.folder / "data"]
            for one in options:
                command += ["-c", one]
            with open(self.folder / "log", "ab") as log:
                self._server = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                    cwd=self.folder, start_new_session=True, **self._as)
            if self._answers():
                break
            if attempt == 4:
                raise AssertionError((self.folder / "log").read_text())
        self.sql(f"create role guarded login password '{GUARDED}'")

    def _answers(self):
        """Its own line says when it is ready; False once it has ended."""
        status = self.folder / "data" / "postmaster.pid"
        while self._server.poll() is None:
            try:
                if status.read_text(encoding="utf-8").split()[-1] == "ready":
                    return True
            except (OSError, IndexError):
                pass
            try:
                self._server.wait(0.02)
            except subprocess.TimeoutExpired:
                pass
        return False

    def _run(self, program, *arguments):
        done = subprocess.run([self._bin / program, *arguments], cwd=self.folder,
                              stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False, **self._as)
        if done.returncode != 0:
            raise AssertionError(f"{program}: {done.stdout}{done.stderr}")
        return done.stdout

    def sql(self, text):
        """What psql prints for it."""
        return self._run("psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1",
                         "-h", self.folder, "-p", str(self.port), "-U",
                         "ballast", "-d", "postgres", "-c", text)

    def uri(self, user="ballast", database="postgres"):
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def end(self):
        if self._server and self._server.poll() is None:
            self._server.send_signal(signal.SIGINT)  # ends its sessions, too
            try:
                self._server.wait(20)
            except subprocess.TimeoutExpired:
                self._server.kill()
                self._server.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def main():
    try:
        server = Postgres(*sys.argv[1:])
    except NotInstalled as why:
        print(why, flush=True)
        return 77
    try:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        print(json.dumps({"port": server.port, "socket": str(server.folder)}),
              flush=True)
        sys.stdin.buffer.read()
    finally:
        server.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
