"""What processes hold, over time: memory, file descriptors, threads."""
import collections
import os
import statistics
import time

Reading = collections.namedtuple("Reading", "at rss_mb fds threads")


def reading(pid):
    """None where the process has ended."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            about = dict(line.split(":", 1) for line in file)
        return Reading(time.monotonic(), int(about["VmRSS"].split()[0]) / 1024,
                       len(os.listdir(f"/proc/{pid}/fd")),
                       int(about["Threads"]))
    except (OSError, KeyError):  # a zombie has no VmRSS
        return None


class Census:
    """Readings of each process, by its name."""

    def __init__(self, every_s=1.0):
        self.of = collections.defaultdict(list)
        self._every_s, self._next = every_s, 0.0

    def take(self, processes):
        """`processes()` gives name -> pid; read at most once a period."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + self._every_s
        for name, pid in processes().items():
            now = reading(pid)
            if now:
                self.of[name].append(now)

    def longest(self, besides):
        """The name that was seen most often, but for one."""
        names = [name for name in self.of if name != besides]
        return max(names, key=lambda name: len(self.of[name]), default=None)

    def tenths(self, name):
        """The second tenth and the last one: what was held when all had begun,
        and at the end. Medians of memory, the least of what is counted: while
        a generation opens both its sockets and the last one's are there, and
        what leaks is there always."""
        all_of_it = self.of[name]
        n = max(1, len(all_of_it) // 10)

        def middle(part):
            return Reading(part[0].at,
                           statistics.median(r.rss_mb for r in part),
                           min(r.fds for r in part),
                           min(r.threads for r in part))
        return middle(all_of_it[n:2 * n] or all_of_it), middle(all_of_it[-n:])


def growth_problems(name, before, after, share=0.1, fds=4, threads=2):
    """What is not flat, in words. Memory may breathe by a tenth."""
    out = []
    for what, grown, most in (
            ("MB of memory", after.rss_mb - before.rss_mb,
             share * before.rss_mb),
            ("file descriptors", after.fds - before.fds, fds),
            ("threads", after.threads - before.threads, threads)):
        if grown > most:
            out.append(f"{name} holds {grown:.0f} more {what} at the end than "
                       "after its beginning")
    return out
