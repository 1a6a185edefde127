"""The linter's side of the worker: starts it, feeds it, restarts it, and leaves no process behind."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from warplint.probe.jobs import Building, Job, Repetition, Writing, built_together
from warplint.probe.options import ProbeOptions
from warplint.probe.scratch import Scratch
from warplint.source.files import default_cache

# Variables that a worker may see: where libraries and devices are. No secrets, no user paths.
_ENVIRONMENT = (
    "PATH",
    "LANG",
    "LC_ALL",
    "LD_LIBRARY_PATH",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_HOME",
    "CUDA_PATH",
    "CUDA_DEVICE_ORDER",
    "NVIDIA_VISIBLE_DEVICES",
    "SYSTEMROOT",
    "WINDIR",
)
# Time to import Warp and to compile a first kernel, on a slow and busy machine.
_START = 120.0
# The worker limits what its programs use of the processor, and sees to those that wait for ever. It is restarted if it
# has not answered after so many times the limit of a program by the clock on the wall, and so many seconds.
_TIMES, _GRACE = 70.0, 20.0
# A device runs one program after the other, and nobody else's use of the processor holds it up for long.
_TIMES_REPEATING = 3.0

_BOOT = "import sys; sys.path.extend({paths!r}); from warplint.probe.worker.__main__ import main; main()"


class WorkerUnusable(Exception):
    """Warp cannot be used at all; the message says why."""


class Pool:
    """A worker process with its scratch folder. Use it as a context manager.

    Without ``repeats_on`` it decides, on the CPU device; with it, it repeats verdicts on that device.

    Raises WorkerUnusable where there is no place for the scratch folder.
    """

    def __init__(self, options: ProbeOptions, repeats_on: str | None = None) -> None:
        self._options = options
        self._repeats_on = repeats_on
        self._parallel = 1 if repeats_on else options.parallel or max(1, min(4, os.cpu_count() or 1))
        try:
            self._own = Scratch()
        except OSError as error:
            raise WorkerUnusable(f"there is no place for temporary files: {error.strerror or error}") from error
        self._scratch = self._own.path
        self._process: subprocess.Popen[bytes] | None = None
        self._data = bytearray()
        self.device: str | None = None
        self.warp_version: str | None = None
        #: What came of compiling for several jobs together.
        self.built: list[dict[str, Any]] = []

    def __enter__(self) -> Pool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()
        self._own.remove()

    # --- jobs ---

    def run(
        self,
        jobs: Sequence[Job | Repetition | Writing],
        progress: Callable[[Sequence[int]], None] | None = None,
        arrived: Callable[[int, dict[str, Any]], None] | None = None,
    ) -> list[dict[str, Any]]:
        """The verdicts of the jobs, in order; each goes to ``arrived`` as soon as it is there.

        Raises WorkerUnusable where Warp cannot be imported.
        """
        answers: dict[int, dict[str, Any]] = {}
        asked, after, order = self._asked(jobs)
        waiting = deque(order)
        alone: deque[int] = deque()
        flying: dict[int, float] = {}
        while len(answers) < len(jobs):
            if self._process is None:
                self._start()
            # After the worker died, what was in flight is tried again, one job at a time.
            queue = alone if alone and not flying else waiting
            most = 1 if queue is alone or (alone and flying) else self._parallel
            while queue and len(flying) < most:
                number = next((number for number in queue if after.get(number) not in flying), -1)
                if number < 0:
                    break  # all that is left waits for what is being compiled
                queue.remove(number)
                flying[number] = time.monotonic()
                if not self._send(json.dumps(asked[number].message(number))):
                    break
            answer = self._receive(0.5)
            if isinstance(answer, dict):
                number = int(answer.pop("id"))
                flying.pop(number, None)
                if number >= len(jobs):
                    self.built.append(answer)
                    continue
                answers[number] = answer
                if arrived is not None:
                    arrived(number, answer)
                if progress is not None:
                    progress(list(answers))
                continue
            limit = (_TIMES_REPEATING if self._repeats_on else _TIMES) * self._options.timeout_s + _GRACE
            late = any(time.monotonic() - started > limit for started in flying.values())
            if answer == "ended" or late:
                self._stop()
                known = set(answers)
                for number in [number for number in flying if number >= len(jobs)]:
                    del flying[number]  # its jobs compile for themselves
                self._lost(flying, alone, answers, late)
                for number in answers.keys() - known:
                    if arrived is not None:
                        arrived(number, answers[number])
        return [answers[number] for number in range(len(jobs))]

    def _asked(
        self, jobs: Sequence[Job | Repetition | Writing]
    ) -> tuple[list[Job | Repetition | Writing | Building], dict[int, int], list[int]]:
        """All that the worker is asked for: the jobs, and behind them what is compiled for several together; which of
        that each job waits for; and the order."""
        asked: list[Job | Repetition | Writing | Building] = list(jobs)
        after: dict[int, int] = {}
        order: list[int] = []
        plain = [job for job in jobs if isinstance(job, Job)]
        if len(plain) == len(jobs):
            for group in built_together(plain, self._parallel):
                after |= dict.fromkeys(group, len(asked))
                order += [len(asked), *group]
                asked.append(Building(tuple(plain[number] for number in group)))
        return asked, after, [*order, *(number for number in range(len(jobs)) if number not in after)]

    def _lost(
        self, flying: dict[int, float], alone: deque[int], answers: dict[int, dict[str, Any]], late: bool
    ) -> None:
        single = len(flying) == 1
        for number in flying:
            if single:
                reason = "it does not finish within the time limit" if late else "it ends the probe's worker process"
                answers[number] = {"verdict": "inconclusive", "detail": reason, "numbers": {}}
            else:
                alone.append(number)
        flying.clear()

    # --- the process ---

    def start(self) -> None:
        """Start the worker now. Raises WorkerUnusable where Warp or the device cannot be used."""
        if self._process is None:
            self._start()

    def _start(self) -> None:
        options = self._options
        if options.python is None and not _installed("warp"):
            raise WorkerUnusable("Warp is not installed beside warplint; install it with `pip install warp-lang`")
        environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
        if self._repeats_on in (None, "cpu"):
            environment["CUDA_VISIBLE_DEVICES"] = ""
        home = str(self._scratch)
        environment |= {"HOME": home, "TMPDIR": home, "TEMP": home, "TMP": home}
        # One thread: the worker forks, and threads of a numeric library would not survive that.
        environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [
                str(options.python or sys.executable),
                "-I",
                "-B",
                "-c",
                _BOOT.format(paths=_paths(options.python is None)),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=self._scratch,
            env=environment,
            start_new_session=True,
        )
        self._data.clear()
        settings = {
            "scratch": str(self._scratch),
            "cache": str(self._kernel_cache()),
            "device": self._repeats_on or "cpu",
            "repeats": self._repeats_on is not None,
            "timeout": options.timeout_s,
            "memory_mb": options.memory_mb,
            "parallel": self._parallel,
        }
        self._send(json.dumps(settings))
        hello = self._receive(_START)
        if not isinstance(hello, dict):
            self._stop()
            raise WorkerUnusable("the probe's worker process does not start")
        if not hello["ready"]:
            self._stop()
            raise WorkerUnusable(str(hello["reason"]))
        self.device = hello["device"]
        self.warp_version = hello["warp_version"]

    def _kernel_cache(self) -> Path:
        """Where compiled kernels are kept: in the scratch folder, for this run only, if there is no better place."""
        try:
            folder = (self._options.cache_dir or default_cache()).absolute() / "kernels"
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                return folder
        except (OSError, RuntimeError):  # not to be written to; nobody knows where this user is at home
            return self._scratch / "kernels"

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        try:
            if process.poll() is None and process.stdin is not None:
                process.stdin.write(b"end\n")
                process.stdin.close()
                process.wait(0.5)
        except (OSError, ValueError, subprocess.TimeoutExpired):
            pass
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def _send(self, line: str) -> bool:
        assert self._process is not None and self._process.stdin is not None
        try:
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            return False
        return True

    def _receive(self, wait: float) -> dict[str, Any] | str | None:
        """The next answer; ``ended`` if the worker is gone, None if nothing came in time."""
        assert self._process is not None and self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        deadline = time.monotonic() + wait
        while True:
            line, found, rest = bytes(self._data).partition(b"\n")
            if found:
                self._data = bytearray(rest)
                answer = json.loads(line)
                assert isinstance(answer, dict)
                return answer
            left = deadline - time.monotonic()
            if left <= 0.0:
                return None
            ready, _, _ = select.select([descriptor], [], [], left)
            if not ready:
                return None
            chunk = os.read(descriptor, 1 << 20)
            if not chunk:
                return "ended"
            self._data += chunk


def _installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):
        return False


def _paths(own: bool) -> list[str]:
    """Where the worker, which starts without the user's paths, finds this package and what it imports.

    They go behind the interpreter's own, so that nothing in them can stand in for an installed package. An interpreter
    that is not our ``own`` has what this package imports, or it has nothing.
    """
    found = [str(Path(__file__).resolve().parents[2])]
    for name, distribution in (("warp", "warp_lang"), ("numpy", "numpy")) if own else ():
        try:
            spec = importlib.util.find_spec(name)
        except (ImportError, ValueError):
            continue
        if spec is not None and spec.origin is not None:
            folder = Path(spec.origin).resolve().parent.parent
            if folder.name in ("site-packages", "dist-packages") or _named(folder, distribution):
                found.append(str(folder))
    return list(dict.fromkeys(found))


def _named(folder: Path, distribution: str) -> bool:
    """Whether the user's ``PYTHONPATH`` leads to a folder that a package was installed into.

    A folder of that name in a linted project, which may be the current one, is not such a place.
    """
    named = {Path(entry).resolve() for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry}
    return folder in named and folder != Path.cwd() and any(folder.glob(f"{distribution}-*.dist-info"))
