"""How fast rows come from other machines: the parts `postgres` and `s3` of bench/data.py.

PostgreSQL: a table of 10 columns to an Arrow file in memory, over 4 connections,
beside `psql`, which copies as many parts in binary form to /dev/null, ConnectorX
and pandas. S3: files of a moto server behind a cable of 200 Mbit/s and 50 ms
there and back (bench/lib/two_hosts.py), to a prepared set, beside curl, which
fetches all of them at once and drops them; and a run that trains from them: how
long its steps wait for rows.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import time

from lib.measure import ROOT, built, say, table
from lib.two_hosts import ADDRESSES, NotHere, command_on, two_hosts

sys.path.insert(0, os.path.join(ROOT, "tools"))
from harness.postgres import NotInstalled, Postgres  # noqa: E402

CONNECTIONS = 4
COPY_MIN = 0.9  # of what psql reaches without making anything of it
PEERS_MIN = {"connectorx": 1, "pandas": 8}
LINK_MBIT = 200
LINK_DELAY_US = 25_000
LINK_SHARE_MIN = 0.85
WAITING_MAX = 0.02
TRAINED_EPOCHS = 3
# For a range of a file, moto copies all of it first: many files, not large ones.
ROWS_OF_FILE = 375_000
FILES_MIN = 8
SIGNED = (
    "Authorization: AWS4-HMAC-SHA256 Credential=any/20260101/us-east-1/s3/aws4_request, "
    "SignedHeaders=host, Signature=any"
)


def timed(work):
    start = os.times()
    work()
    end = os.times()
    return {"s": end.elapsed - start.elapsed}


def middle_s(runs):
    return sorted(one["s"] for one in runs)[len(runs) // 2]


def writing(measured, source, out):
    """A job that writes the source's rows; the arguments of its command."""
    document = {
        "data": {"sources": {"in": source}, "train": {"from": "in", "label": "y"}},
        "model": {"kind": "logistic"},
    }
    return ["data", "write", measured.write(document), "in", out]


def copy_all(server, pages):
    """As many psql as there are connections, each with its pages."""
    step = pages // CONNECTIONS + 1
    running = [
        subprocess.Popen(
            [
                "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", server.uri(), "-c",
                f"\\copy (select * from t where ctid >= '({i * step},0)' and ctid < '({(i + 1) * step},0)') "
                "to '/dev/null' with (format binary)",
            ]
        )
        for i in range(CONNECTIONS)
    ]
    if any([one.wait() for one in running]):
        raise SystemExit("psql failed")


def peer(measured, name, uri):
    """Not in a network of its own: the server is on this machine's loopback."""
    script = os.path.join(ROOT, "bench", "peers", "databases.py")
    command = [measured.peer.python, script, name, uri, str(CONNECTIONS)]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise SystemExit(f"peer {name} failed with exit code {done.returncode}:\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def postgres(options, measured, verdicts):
    try:
        server = Postgres("shared_buffers=1GB")
    except NotInstalled as why:
        say(f"  no PostgreSQL: {why}")
        return {}
    try:
        columns = ", ".join(f"random() * {i + 1} as x{i}" for i in range(9))
        server.sql(
            f"create table t as select {columns}, (i % 10)::int4 as y from generate_series(1, {options.rows}) i;"
        )
        server.sql("vacuum analyze t")
        pages = int(server.sql("select pg_relation_size('t') / 8192"))
        say(f"PostgreSQL: {options.rows} rows of 10 columns, {pages * 8192 / 1e6:.0f} MB, {CONNECTIONS} connections")
        out = os.path.join(measured.folder, "rows.arrow")
        source = {"format": "sql", "uri": server.uri(), "table": "t", "connections": CONNECTIONS}
        command = writing(measured, source, out)

        def ours():
            if os.path.exists(out):
                os.remove(out)
            measured.ballast(*command)

        raw = {"ballast": [], "psql copy": []}
        there = measured.peer.there()
        for _ in range(options.repeats):
            raw["ballast"].append(timed(ours))
            raw["psql copy"].append(timed(lambda: copy_all(server, pages)))
            for name in PEERS_MIN if there else []:
                raw.setdefault(name, []).append(peer(measured, name, server.uri()))
        if os.path.exists(out):
            os.remove(out)
    finally:
        server.end()
    table([("", "s", "rows/s")] + [(n, f"{middle_s(r):.2f}", f"{options.rows / middle_s(r):.3g}") for n, r in raw.items()])
    ours_s = middle_s(raw["ballast"])
    verdicts.at_least("a table of PostgreSQL, over psql's copy", middle_s(raw["psql copy"]) / ours_s, COPY_MIN, "x")
    for name, least in PEERS_MIN.items():
        if name in raw:
            verdicts.at_least(f"a table of PostgreSQL, over {name}", middle_s(raw[name]) / ours_s, least, "x")
    return raw


def put_files(folder, endpoint, rows, files):
    """Parquet without compression, so that its bytes are what travels."""
    script = os.path.join(ROOT, "bench", "peers", "put_parquet.py")
    command = command_on(0, sys.executable, script, endpoint, str(rows), str(files))
    # The wheel that the program links with.
    deps = os.environ.get("BALLAST_DEPS", os.path.join(ROOT, ".deps"))
    env = {**os.environ, "PYTHONPATH": ":".join(glob.glob(os.path.join(deps, "pyarrow-*")))}
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=env)
    if done.returncode != 0:
        raise SystemExit(f"the files could not be made:\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout)["bytes"]


def s3(options, measured, verdicts):
    raw = {}
    rows = max(FILES_MIN, options.s3_rows)
    files = max(FILES_MIN, rows // ROWS_OF_FILE)
    try:
        with two_hosts(built(options, "wire"), LINK_MBIT, LINK_DELAY_US):
            moto = subprocess.Popen(
                command_on(0, sys.executable, os.path.join(ROOT, "tools", "harness", "moto.py"), ADDRESSES[0]),
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )
            try:
                endpoint = moto.stdout.readline().strip()
                if not endpoint.startswith(ADDRESSES[0]):
                    say(f"  no S3: {endpoint}")
                    return {}
                size = put_files(measured.folder, endpoint, rows, files)
                raw = read_files(options, measured, endpoint, size, files)
            finally:
                moto.stdin.close()
                moto.wait()
    except NotHere as why:
        say(f"  no link: {why}")
        return {}
    mbit = {name: raw["bytes"] * 8 / middle_s(raw[name]) / 1e6 for name in ("ballast", "curl")}
    table([("", "s", "Mbit/s")] + [(n, f"{middle_s(raw[n]):.2f}", f"{rate:.0f}") for n, rate in mbit.items()])
    share = mbit["ballast"] / LINK_MBIT
    link = f"S3 over {LINK_MBIT} Mbit/s and 50 ms"
    verdicts.at_least(f"{link}, share of the link", share, LINK_SHARE_MIN, "x")
    say(f"  and {mbit['ballast'] / mbit['curl']:.3g} of curl")
    verdicts.at_most(f"{link}, part of a step that waits for rows", raw["waiting"], WAITING_MAX, "")
    return raw


def fetch_all(endpoint, files):
    """What the link and the server give: curl, all files at once."""
    gets = " & ".join(
        f"curl -sf -o /dev/null -H '{SIGNED}' http://{endpoint}/bench/part-{number}.parquet" for number in range(files)
    )
    subprocess.run(command_on(1, "sh", "-c", f"{gets} & wait"), check=True)


def read_files(options, measured, endpoint, size, files):
    say(f"S3: {files} Parquet files, {size / 1e6:.0f} MB, behind {LINK_MBIT} Mbit/s and 50 ms")
    source = {
        "format": "parquet", "label": "y",
        "uri": f"s3://bench/part-*.parquet?endpoint_override={endpoint}&scheme=http&region=us-east-1",
    }
    document = {
        "data": {"train": source, "test_fraction": 0}, "model": {"kind": "mlp", "hidden": [256]},
        "train": {"epochs": TRAINED_EPOCHS, "global_batch": 256}, "elastic": {"workers": 1},
    }
    command = command_on(1, options.ballast, "data", "prepare", measured.write(document))
    env = {
        **os.environ, "BALLAST_CACHE": os.path.join(measured.folder, "cache"), "AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    runs, plain = [], []
    for _ in range(options.repeats):
        measured.fresh()
        start = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, env=env)
        runs.append({"s": time.monotonic() - start})
        if done.returncode != 0:
            raise SystemExit(f"ballast failed:\n{done.stdout}{done.stderr}")
        plain.append(timed(lambda: fetch_all(endpoint, files)))
    measured.fresh()
    waiting = training(options, measured, measured.write(document), env)
    return {"ballast": runs, "curl": plain, "bytes": size, "waiting": waiting}


def training(options, measured, job, env):
    """The part of its steps that a run from S3 waits for rows, after its first
    steps."""
    folder = os.path.join(measured.folder, "run")
    command = [options.ballast, "run", job, "--run-dir", folder, "--no-progress"]
    run = subprocess.Popen(command_on(1, *command), env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    seen = []
    while run.poll() is None:
        time.sleep(0.1)
        if (spent := phases(folder)) is not None:
            seen.append(spent)
    if run.returncode != 0:
        raise SystemExit(f"ballast run failed:\n{run.stderr.read()}")
    measured.fresh()
    shutil.rmtree(folder)
    if len(seen) < 2:
        raise SystemExit("the run trained too short a time to be looked at: more --rows")
    spent = {name: seen[-1][name] - seen[0][name] for name in seen[0]}
    return spent["data"] / sum(spent.values())


def phases(folder):
    """Seconds that the steps of the run's worker have spent, by phase; None
    before the first step."""
    try:
        with open(os.path.join(folder, "workers.json")) as f:
            worker = json.load(f)["workers"][0]
    except (OSError, ValueError, IndexError, KeyError):
        return None
    get = command_on(1, "curl", "-sf", worker["metrics"] + "/metrics")
    text = subprocess.run(get, capture_output=True, text=True).stdout
    found = re.findall(r'ballast_step_seconds_sum{.*phase="(\w+)".*} (\S+)', text)
    return {name: float(s) for name, s in found} if found else None
