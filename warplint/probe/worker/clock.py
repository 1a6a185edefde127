"""Time of the processor: limits count what a program used, not how long it waited for a busy machine.

Where the system does not tell what another process used (anywhere but on Linux), the clock on the wall stands for it.
"""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path

#: How many modules this process built or loaded, how often the C++ compiler ran for that, and the seconds of the
#: processor that all of it took.
SPENT: dict[str, float] = {"modules": 0, "compilations": 0, "compiling": 0.0}

_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
# The children of this process that run.
_running: set[int] = set()


def now() -> float:
    """The seconds that this process and its children have used for anything but compiling."""
    waited = resource.getrusage(resource.RUSAGE_CHILDREN)
    children = waited.ru_utime + waited.ru_stime + sum(used(pid) or 0.0 for pid in _running)
    return time.process_time() + children - SPENT["compiling"]


def used(pid: int) -> float | None:
    """The seconds that a process and those of its children that have ended used; None where that cannot be told."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        # utime, stime, cutime and cstime of proc(5), which are fields 14 to 17; the second ends with the parenthesis
        return sum(map(int, fields[11:15])) / _TICKS
    except (OSError, ValueError, IndexError):
        return None


def started(pid: int) -> None:
    """Counts the child ``pid`` as one that runs."""
    _running.add(pid)


def ended(pid: int) -> None:
    """Counts the child ``pid``, which was waited for, no longer as one that runs."""
    _running.discard(pid)


def afresh() -> None:
    """In a new child: nothing was used yet, and the children of its parent are none of its own."""
    _running.clear()
    SPENT.update(modules=0, compilations=0, compiling=0.0)


class Limit:
    """How much longer a child may run: ``seconds`` of the processor from now on.

    Behind that stand two limits by the clock on the wall, for a child that sleeps or waits for ever: for all its time,
    and for the time in which it makes no use of the processor.
    """

    #: A limit by the clock on the wall is so many times that of the processor, and at least so many seconds.
    TIMES, LEAST = 20.0, 120.0
    # Whoever has not used a hundredth of a second in so many is not waiting for its turn. A leader looks after children
    # of its own meanwhile, which takes little.
    IDLE, IDLE_LEADER = 60.0, 300.0
    # How often the system is asked.
    _PERIOD = 0.2

    def __init__(self, pid: int, seconds: float, leader: bool = False) -> None:
        self._pid = pid
        self._idle = self.IDLE_LEADER if leader else self.IDLE
        self.give(seconds)

    def give(self, seconds: float) -> None:
        """Begins anew, with ``seconds`` from now on."""
        #: Which limit was reached: ``timeout`` for that of the processor, ``stuck`` for the others; else empty.
        self.reached = ""
        self._asked = self._moved = time.monotonic()
        self._seen = used(self._pid)
        known = self._seen is not None
        self._wall = self._asked + (max(self.LEAST, self.TIMES * seconds) if known else seconds)
        self._most = (self._seen or 0.0) + seconds

    def take(self) -> None:
        """The child may run no longer."""
        self.reached = self.reached or "timeout"

    def check(self) -> bool:
        """Whether the child has had its time; once it has, that does not change."""
        moment = time.monotonic()
        if self.reached:
            return True
        if moment >= self._wall:
            self.reached = "stuck"
        elif self._seen is not None and moment - self._asked >= self._PERIOD:
            self._asked = moment
            seen = used(self._pid)
            if seen is not None and seen != self._seen:
                self._seen, self._moved = seen, moment
            if self._seen >= self._most:
                self.reached = "timeout"
            elif moment - self._moved > self._idle:
                self.reached = "stuck"
        return bool(self.reached)
