"""Steps of a run whose workers die again and again: for bench/goodput.py and
bench/ondemand.py."""
import os
import signal
import time


def processor_s(pids):
    """User and system time of the processes, and of their dead children."""
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        total += sum(int(fields[i]) for i in (11, 12, 13, 14))
    return total / os.sysconf("SC_CLK_TCK")


def killed_often(workers, every_s, seconds, dice):
    """`go(live)`: steps in `seconds` while a worker dies every `every_s`; 0: none dies."""

    def go(live):
        live.wait_full(workers, steps=20)
        begun, first = time.monotonic(), live.steps.lines[-1]["step"]
        cpu = processor_s(live.process.family())
        next_kill, killed = begun + (every_s or 1e9), 0
        # Observes the run only at the moment of a kill: observing takes time from a processor that trains.
        while (now := time.monotonic()) < begun + seconds:
            time.sleep(max(0.0, min(next_kill, begun + seconds) - now))
            if time.monotonic() < next_kill:
                continue
            next_kill += every_s
            live.poll()
            here = live.workers()
            members = [name for name in live.members[live.newest] if name in here]
            if members:
                try:
                    os.kill(here[dice.choice(members)], signal.SIGKILL)
                    killed += 1
                except ProcessLookupError:
                    pass
        spent = time.monotonic() - begun
        cpu = processor_s(live.process.family()) - cpu
        live.poll()
        steps = live.steps.lines[-1]["step"] - first
        return {"steps_per_s": steps / spent, "kills": killed, "processor_s": cpu, "seconds": spent}

    return go
