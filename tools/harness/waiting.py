"""Waiting for a state, with deadlines that a busy machine stretches."""
import os
import time


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
