"""The worker: reads jobs from its input, one JSON object a line, and answers each with one line.

Warp is imported and warmed up once; every job then runs on the CPU device in a forked child, so that a crash, a hang
or a memory eater ends only that job. A worker that repeats verdicts on a GPU cannot fork (CUDA does not survive it): it
runs them one after the other in its own process, and the linter restarts it if it dies.
"""

from __future__ import annotations

import collections
import json
import os
import resource
import select
import tempfile
from pathlib import Path
from typing import Any

from warplint.probe.worker import clock, isolate

#: Compiling has a limit of its own, so many times the one for all else: a cache that is empty must not decide.
COMPILING = 2.0


def main() -> None:
    """Serves until the input ends."""
    isolate.die_with_parent()
    answers = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    os.dup2(2, 1)  # what kernels and libraries print must not look like answers
    reader = _Lines(0)
    first: list[bytes] = []
    while not first and reader.open:
        first = reader.lines(1.0)
    if not first:
        return
    settings = json.loads(first[0])
    scratch = Path(settings["scratch"])
    os.environ["TMPDIR"] = str(scratch)
    tempfile.tempdir = str(scratch)
    try:
        hello = start(settings)
    except Exception as error:
        hello = {"ready": False, "reason": f"Warp cannot be used here: {type(error).__name__}: {error}"}
    print(json.dumps(hello), file=answers)
    if hello["ready"] and settings["repeats"]:
        repeat(settings, hello["device"], scratch, reader, first[1:], answers)
    elif hello["ready"]:
        serve(settings, hello["device"], scratch, reader, first[1:], answers)


def start(settings: dict[str, Any]) -> dict[str, Any]:
    """Imports Warp, chooses the device and compiles a first kernel, which makes Warp's precompiled header."""
    import warp as wp

    from warplint.probe.worker.guard import install

    wp.config.kernel_cache_dir = settings["cache"]
    wp.config.quiet = True
    if hasattr(wp.config, "log_level"):
        wp.config.log_level = 40
    wp.config.mode = "debug"
    wp.init()
    install()
    device = settings["device"]
    if device == "auto":
        device = "cuda:0" if wp.is_cuda_available() else "cpu"
    device = wp.get_device(device).alias
    if not settings["repeats"]:
        # Each child would read these anew.
        from warplint.probe.worker import batch  # noqa: F401
        from warplint.probe.worker.loading import watch_compiler

        watch_compiler()
        headers(Path(settings["scratch"]), Path(settings["cache"]) / "headers" / wp.config.version)
    return {"ready": True, "device": device, "warp_version": wp.config.version}


_WARM = """
import warp as wp


@wp.kernel
def warm(x: wp.array(dtype=float)):
    x[wp.tid()] = 1.0
"""


def headers(scratch: Path, kept: Path) -> None:
    """Sees to it that Warp's precompiled header exists before the first child is forked: it takes a second to make.

    It is kept beside the compiled kernels for the next run.
    """
    import warp as wp

    from warplint.probe.worker.compat import link_headers, use_headers
    from warplint.probe.worker.loading import compile_kernel, load_script

    folder = scratch / "headers"
    folder.mkdir(exist_ok=True)
    kept.mkdir(parents=True, exist_ok=True)
    if not use_headers(folder) or link_headers(kept, folder):
        return
    wp.config.cache_kernels = False
    compile_kernel(load_script(_WARM, scratch).warm, "cpu")
    wp.config.cache_kernels = True
    link_headers(folder, kept)


def repeat(
    settings: dict[str, Any], device: str, scratch: Path, reader: _Lines, early: list[bytes], answers: Any
) -> None:
    """The loop of a worker that repeats verdicts, one at a time."""
    from warplint.probe.worker.replay import replay

    waiting = list(early)
    while waiting or reader.open:
        if not waiting:
            waiting += reader.lines(0.5)
            continue
        job = json.loads(waiting.pop(0))
        answer = replay(job, device, scratch, 2.5 * float(settings["timeout"])) | {"id": job["id"]}
        print(json.dumps(answer), file=answers)


def perform(job: dict[str, Any], device: str, scratch: Path, seconds: float) -> dict[str, Any]:
    """Runs one job to its verdict, writes the script for a verdict, or compiles what several jobs will ask for."""
    from warplint.probe.worker.loading import admit

    if "build" in job:
        from warplint.probe.worker.batch import build

        answer: dict[str, Any] = dict(build(job["build"], scratch, scratch.parent / "headers"))
    else:
        admit(job["plan"])
        answer = _performed(job, device, scratch, seconds)
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    total = own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
    return answer | {"spent": clock.SPENT | {"total": total}}


def _performed(job: dict[str, Any], device: str, scratch: Path, seconds: float) -> dict[str, Any]:
    if "write" in job:
        from warplint.probe.worker.standalone import standalone

        return standalone(job, scratch)
    if job["plan"]["kind"] == "tape":
        from warplint.probe.worker.tape_job import TapeJob

        return TapeJob(job, scratch, device, seconds).run()
    from warplint.probe.worker.kernel_job import KernelJob

    return KernelJob(job, scratch, device, seconds).run()


def serve(
    settings: dict[str, Any], device: str, scratch: Path, reader: _Lines, early: list[bytes], answers: Any
) -> None:
    """The loop: takes jobs, keeps as many children as there are processors, answers as they end."""
    waiting = collections.deque(json.loads(line) for line in early)
    running: dict[int, tuple[dict[str, Any], isolate.Child]] = {}
    most = max(1, int(settings["parallel"]))
    while True:
        while waiting and len(running) < most:
            job = waiting.popleft()
            child = _spawn(job, settings, device, scratch)
            running[job["id"]] = (job, child)
        if reader.open:
            for line in reader.lines(0.0 if running else 0.5):
                waiting.append(json.loads(line))
        elif not waiting and not running:
            return
        if reader.closed_early:
            for _, child in running.values():
                child.limit.take()
                child.finish()
            return
        for number, (_, child) in list(running.items()):
            if child.poll(0.01):
                del running[number]
                answer = explain(child.finish(), settings["timeout"]) | {"id": number}
                print(json.dumps(answer), file=answers)


def _spawn(job: dict[str, Any], settings: dict[str, Any], device: str, scratch: Path) -> isolate.Child:
    seconds = float(settings["timeout"])
    folder = scratch / f"job-{job['id']}"
    folder.mkdir(exist_ok=True)

    import warp as wp

    from warplint.probe.worker.compat import link_headers, use_headers

    def work(stage: isolate.Stage) -> Any:
        os.chdir(folder)
        own = folder / "headers"
        own.mkdir(exist_ok=True)
        link_headers(scratch / "headers", own)
        use_headers(own)
        answer = perform(job, device, folder, 0.9 * seconds)
        # Without checks of indices Warp has another header, which takes seconds to make: the next job finds it.
        link_headers(own, scratch / "headers")
        link_headers(own, Path(settings["cache"]) / "headers" / wp.config.version)
        return answer

    return isolate.Child(work, folder, (1.0 + COMPILING) * seconds, settings["memory_mb"], leader=True)


def explain(outcome: isolate.Outcome, seconds: float) -> dict[str, Any]:
    """The verdict of a job from what became of its child, which could have used ``seconds`` beside compiling."""
    if outcome.ended == "returned":
        return dict(outcome.result)
    reason = {
        "timeout": f"it does not finish within the time limit of {seconds:g} seconds",
        "stuck": isolate.STUCK,
        "memory": "it needs more memory than the limit allows",
    }.get(outcome.ended)
    if reason is None and ("MemoryError" in outcome.stderr or "bad_alloc" in outcome.stderr):
        reason = "it needs more memory than the limit allows"
    if reason is None and outcome.ended.startswith("signal"):
        reason = f"it crashes ({outcome.ended.partition(' ')[2]})"
    if reason is None:
        lines = [line for line in outcome.stderr.splitlines() if line.strip()]
        reason = f"the probe fails: {lines[-1][:200] if lines else outcome.ended}"
    return {"verdict": "inconclusive", "detail": reason, "numbers": {}}


class _Lines:
    """Lines from a file descriptor, without blocking for longer than asked."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._data = bytearray()
        self.open = True
        self.ended = False

    @property
    def closed_early(self) -> bool:
        """Whether the input ended without the farewell line: the linter is gone."""
        return not self.open and not self.ended

    def lines(self, wait: float) -> list[bytes]:
        ready, _, _ = select.select([self._descriptor], [], [], wait)
        if not ready:
            return []
        chunk = os.read(self._descriptor, 1 << 20)
        if not chunk:
            self.open = False
        self._data += chunk
        *whole, rest = bytes(self._data).split(b"\n")
        self._data = bytearray(rest)
        if whole and whole[-1] == b"end":
            self.open, self.ended = False, True
            whole.pop()
        return [line for line in whole if line]


if __name__ == "__main__":
    main()
