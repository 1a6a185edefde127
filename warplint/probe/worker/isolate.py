"""Running a function in a child process, so that a crash, a hang or a memory eater is only a result."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from warplint.probe.worker import clock, confine
from warplint.records import dataclass

PR_SET_PDEATHSIG = 1

#: Why there is no verdict where a limit by the clock on the wall was reached. Another time the machine may be
#: less busy.
STUCK = "it does not get on: the clock ran out, and not the time of the processor"


@dataclass(frozen=True)
class Outcome:
    """What became of a child: its result, or how it ended. ``stderr`` is what it wrote there (the tail), ``stage`` what
    it was doing, and ``note`` what it had to say by then."""

    result: Any
    ended: str  # "returned", "timeout", "stuck" (see ``clock.Limit``), "memory", "signal N", "exit N"
    stage: str
    stderr: str
    note: str = ""


def die_with_parent() -> None:
    """Makes the kernel kill this process when its parent ends (Linux only)."""
    if not sys.platform.startswith("linux"):
        return
    parent = os.getppid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


@contextlib.contextmanager
def ending_after(seconds: float) -> Iterator[None]:
    """Ends this process with the signal SIGPROF if what is inside takes more ``seconds`` of the processor."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)


def address_space() -> int:
    """The bytes of address space in use, 0 where that cannot be told."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmSize:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def limit(memory_mb: int, seconds: float) -> None:
    """Limits this process: memory beyond what it has now, processor time, file size, no core files."""
    used = address_space()
    if used:
        most = used + memory_mb * 1024 * 1024
        _lower(resource.RLIMIT_AS, most)
    _lower(resource.RLIMIT_CPU, int(seconds) + 2)
    _lower(resource.RLIMIT_FSIZE, 256 * 1024 * 1024)
    _lower(resource.RLIMIT_CORE, 0)


def _lower(which: int, value: int) -> None:
    _, hard = resource.getrlimit(which)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(which, (value, value))


class Stage:
    """What a child is doing, readable by its parent after the child died."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._pipe = self._file = -1
        #: What the parent is to know if the child does not return.
        self.note = ""

    def connect(self, pipe: int) -> None:
        """In the child: where answers go."""
        self._pipe = pipe

    def answer(self, value: Any) -> None:
        """In the child: tells the parent something before the work is done."""
        _write(self._pipe, json.dumps(value).encode() + b"\n")

    def set(self, name: str) -> None:
        if self._file < 0:
            self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        said = f"{name}\n{self.note}".encode()
        os.pwrite(self._file, said, 0)
        os.ftruncate(self._file, len(said))

    def get(self) -> tuple[str, str]:
        """The name of the stage, and the note."""
        try:
            name, _, note = self._path.read_text().partition("\n")
        except OSError:
            return "", ""
        return name, note


class Child:
    """A forked child that runs ``work(stage)`` within ``seconds`` of the processor and sends back its result as JSON.

    A ``leader`` has children of its own, which end with it.
    """

    def __init__(
        self,
        work: Callable[[Stage], Any],
        scratch: Path,
        seconds: float,
        memory_mb: int | None = None,
        leader: bool = False,
    ) -> None:
        self._leader = leader
        name = f"{os.getpid()}-{time.monotonic_ns()}"
        self._stage = Stage(scratch / f"stage-{name}")
        self._errors = scratch / f"stderr-{name}"
        reading, writing = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(reading)
            _child(work, self._stage, self._errors, writing, seconds, memory_mb, leader)
        os.close(writing)
        clock.started(self.pid)
        self.limit = clock.Limit(self.pid, seconds, leader)
        self._pipe = reading
        self._data = bytearray()

    def poll(self, wait: float) -> bool:
        """Reads what is there for up to ``wait`` seconds; True once the child has ended or must be ended."""
        if self.limit.check():
            return True
        ready, _, _ = select.select([self._pipe], [], [], wait)
        if not ready:
            return False
        chunk = os.read(self._pipe, 1 << 20)
        if chunk:
            self._data += chunk
            return len(self._data) > 64 * 1024 * 1024
        return True

    def line(self) -> bytes | None:
        """The first whole line of what the child wrote and nobody took."""
        whole, newline, rest = bytes(self._data).partition(b"\n")
        if not newline:
            return None
        self._data = bytearray(rest)
        return whole

    def finish(self) -> Outcome:
        """Ends the child if it still runs, with everything that it started, and says what became of it."""
        late = self.limit.reached
        if late:
            os.kill(self.pid, signal.SIGKILL)
        if self._leader:
            # children of the child; the group exists until the child is waited for
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if late or self._ended():
                    os.killpg(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        clock.ended(self.pid)
        os.close(self._pipe)
        stderr = _tail(self._errors)
        stage, note = self._stage.get()
        if late:
            return Outcome(None, late, stage, stderr, note)
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            ended = "timeout" if number == signal.SIGXCPU else f"signal {signal.Signals(number).name}"
            return Outcome(None, ended, stage, stderr, note)
        code = os.WEXITSTATUS(status)
        if code == MEMORY:
            return Outcome(None, "memory", stage, stderr)
        try:
            return Outcome(json.loads(self._data), "returned", stage, stderr)
        except ValueError:
            return Outcome(None, f"exit {code}", stage, stderr)

    def _ended(self) -> bool:
        """Waits until the child is a zombie, without reaping it."""
        os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        return True


def run(work: Callable[[Stage], Any], scratch: Path, seconds: float, memory_mb: int | None = None) -> Outcome:
    """Runs ``work`` in a child to its end."""
    child = Child(work, scratch, seconds, memory_mb)
    while not child.poll(0.05):
        pass
    return child.finish()


class Servant:
    """A child that answers ``work(stage, request)`` for one request after the other.

    A request that ends it has that as its outcome, and the next one is answered by a new child. A fork for every
    request would cost more than most of them.
    """

    def __init__(self, work: Callable[[Stage, Any], Any], scratch: Path) -> None:
        self._work = work
        self._scratch = scratch
        self._child: Child | None = None
        self._requests = -1

    def ask(self, request: Any, seconds: float) -> Outcome:
        """What became of ``request`` (anything that JSON can hold) within ``seconds`` of the processor."""
        if self._child is None:
            self._start()
        child = self._child
        assert child is not None
        child.limit.give(seconds)
        try:
            os.write(self._requests, json.dumps(request).encode() + b"\n")
        except OSError:
            return self._ended(child)
        while not child.poll(0.05):
            answer = child.line()
            if answer is not None:
                return Outcome(json.loads(answer), "returned", "", "")
        return self._ended(child)

    def _start(self) -> None:
        reading, writing = os.pipe()

        def serve(stage: Stage) -> None:
            os.close(writing)
            with os.fdopen(reading, "rb") as requests:
                for line in requests:
                    stage.answer(self._work(stage, json.loads(line)))

        self._child = Child(serve, self._scratch, 60.0)
        self._requests = writing
        os.close(reading)

    def _ended(self, child: Child) -> Outcome:
        self._child = None
        os.close(self._requests)
        return child.finish()

    def close(self) -> None:
        """Ends the child, which may be in the middle of something."""
        if self._child is not None:
            self._child.limit.take()
            self._ended(self._child)


#: Exit status of a child that ran out of memory in Python.
MEMORY = 77


def _child(
    work: Callable[[Stage], Any],
    stage: Stage,
    errors: Path,
    pipe: int,
    seconds: float,
    memory_mb: int | None,
    leader: bool,
) -> None:
    """The life of a child; never returns."""
    code = 1
    try:
        clock.afresh()
        if leader:
            os.setpgid(0, 0)
        die_with_parent()
        os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if memory_mb is not None:
            limit(memory_mb, seconds)
            confine.without_network()
        if not leader:
            confine.without_processes()
        stage.connect(pipe)
        _write(pipe, json.dumps(work(stage)).encode())
        code = 0
    except MemoryError:
        code = MEMORY
    except BaseException:
        import traceback

        traceback.print_exc()
        sys.stderr.flush()
    finally:
        # no clean-up of what the parent still uses (temporary folders, precompiled headers)
        os._exit(code)


def _write(pipe: int, data: bytes) -> None:
    while data:
        data = data[os.write(pipe, data) :]


def _tail(path: Path) -> str:
    try:
        data = path.read_bytes()
        path.unlink()
    except OSError:
        return ""
    return data[-4000:].decode("utf-8", "replace")
