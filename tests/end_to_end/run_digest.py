"""What is in a run directory, and what another life of the run may have done to
it: it adds files, appends lines, and replaces some files by name; nothing else
changes and nothing goes.
"""
import hashlib
import pathlib
import re

# Replaced as a whole, or written in place by SQLite.
REPLACED = re.compile(
    r"coordinator\.(json|lock)|workers\.json|run\.lock|ledger\.sqlite(-wal|"
    r"-shm)?|(last/)?model\.safetensors|report\.html|model/.*|tmp/.*|checkpoints/\.(unfinished|removed)-.*")
APPENDED = re.compile(r"events\.jsonl|undone\.jsonl|logs/.*|trace/.*")
CHECKPOINT = re.compile(r"checkpoints/step-(\d+)/(.*)")


def digest(run):
    """path in the run directory -> (size, sha256, content)."""
    out = {}
    # A run that goes on moves lines into files that were not there before;
    # reading large ones takes so long.
    for _ in range(2):
        for path in sorted(pathlib.Path(run).rglob("*")):
            name = str(path.relative_to(run))
            if name not in out and path.is_file():
                content = path.read_bytes()
                out[name] = (len(content), hashlib.sha256(content).hexdigest(),
                             content)
    return out


def moved_to(after, name, sha256):
    """Where a file with this content is now, under whatever name."""
    folder = pathlib.PurePath(name).parent
    return [other for other, (_, found, _) in after.items()
            if found == sha256 and (
                pathlib.PurePath(other).parent == folder or "aside-" in other)]


def steps_gone(before, after):
    """The lines that were in steps.jsonl and are neither there nor in
    undone.jsonl nor in a file of damaged lines."""
    lines = set()
    for name, (_, _, content) in after.items():
        if name in ("steps.jsonl", "undone.jsonl") or ".damaged-" in name:
            lines.update(content.split(b"\n"))
    return [line for line in before.split(b"\n")[:-1] if line not in lines]


def what_went(before, after, keep):
    """What a later life must not have done; empty where all is as promised.
    `keep`: how many checkpoints the job keeps."""
    newest = sorted((int(m.group(1)) for m in map(CHECKPOINT.fullmatch, after)
                     if m), reverse=True)
    replaced_after = sorted(set(newest), reverse=True)[:keep]
    problems = []
    for name, (size, sha256, content) in before.items():
        if REPLACED.fullmatch(name):
            continue
        found = after.get(name)
        if found and found[1] == sha256:
            continue
        if APPENDED.fullmatch(name) and found and found[2][:size] == content:
            continue
        if name == "steps.jsonl" and found:
            gone = steps_gone(content, after)
            problems += [f"steps.jsonl lacks {line}" for line in gone[:3]]
            continue
        if moved_to(after, name, sha256):
            continue
        checkpoint = CHECKPOINT.fullmatch(name)
        if (checkpoint and len(replaced_after) == keep and
                int(checkpoint.group(1)) < min(replaced_after)):
            continue  # newer ones have replaced it
        problems.append(f"{name} {'changed' if found else 'is gone'}")
    return problems


def checkpoints_of(run):
    """The steps, ascending."""
    return sorted(int(path.name.rpartition("-")[2]) for path in
                  (pathlib.Path(run) / "checkpoints").glob("step-*"))
