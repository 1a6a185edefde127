"""From findings to answers: jobs are made, what is stored is looked up, and a worker runs the rest."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from warplint.ir.facts import Finding
from warplint.probe import compiled
from warplint.probe.jobs import Job, Repetition, group, make_job
from warplint.probe.options import ProbeOptions
from warplint.probe.pool import Pool, WorkerUnusable
from warplint.probe.slices import Refused
from warplint.probe.stored import Answer, open_store
from warplint.source.files import default_cache
from warplint.source.project import Project

#: A job, and the numbers of the findings that it is about.
Numbered = tuple[Job, list[int]]

# How many programs are decided before a GPU repeats what decided them.
_PART = 64

# Where a driver for NVIDIA GPUs shows itself, on Linux, under WSL and on Windows.
_DRIVERS = ("/dev/nvidiactl", "/dev/dxg", "C:/Windows/System32/nvcuda.dll")


class NoDevice(Exception):
    """The device that ``ProbeOptions`` name cannot be used; the message says why."""


def prepare(
    findings: Sequence[Finding], project: Project, options: ProbeOptions
) -> tuple[list[Numbered], dict[int, str]]:
    """The jobs for ``findings``, and why there is none, for the others."""
    jobs: list[Numbered] = []
    refused: dict[int, str] = {}
    for numbers in group(findings):
        together = [findings[number] for number in numbers]
        try:
            jobs.append((make_job(together, together[0].check, project, options), numbers))
        except Refused as error:
            refused |= dict.fromkeys(numbers, f"not run: {error}")
        except RecursionError:
            refused |= dict.fromkeys(numbers, "not run: the source is nested too deeply")
    return jobs, refused


def answers(
    jobs: Sequence[Numbered], options: ProbeOptions, progress: Callable[[int, int], None] | None = None
) -> list[Answer]:
    """What is known of the jobs from earlier runs, and what a worker says of the others.

    Raises:
        NoDevice: a GPU is asked for by its number and cannot be used.
    """
    total = sum(len(numbers) for _, numbers in jobs)
    gpu = gpu_to_use(options.device)
    store = open_store(options, gpu)
    found = [
        store.get(job, options.resume) if store is not None and options.reuse and not job.imports else None
        for job, _ in jobs
    ]
    waiting = [number for number, answer in enumerate(found) if answer is None]
    known = total - sum(len(jobs[number][1]) for number in waiting)

    def report(done: Sequence[int]) -> None:
        if progress is not None:
            progress(known + sum(len(jobs[waiting[number]][1]) for number in done), total)

    def keep(number: int, answer: Answer) -> None:
        # at once: the run may be interrupted
        job = jobs[waiting[number]][0]
        if store is not None and not job.imports:
            store.put(job, answer)

    if waiting:
        report([])  # the worker takes seconds to start
        try:
            said = _run([jobs[number] for number in waiting], options, gpu, report, keep)
        except WorkerUnusable as error:
            one = {"verdict": "inconclusive", "detail": str(error), "numbers": {}}
            said = [Answer((one,) * len(jobs[number][1]), None, None) for number in waiting]
        for number, answer in zip(waiting, said, strict=True):
            found[number] = answer
        if store is not None:
            store.trim()
        with contextlib.suppress(RuntimeError):  # nobody knows where this user is at home
            compiled.trim((options.cache_dir or default_cache()).absolute() / "kernels")
    return [answer for answer in found if answer is not None]


def _run(
    jobs: Sequence[Numbered],
    options: ProbeOptions,
    gpu: str | None,
    report: Callable[[Sequence[int]], None],
    keep: Callable[[int, Answer], None],
) -> list[Answer]:
    """What a worker says of the jobs; each answer goes to ``keep`` when it is final.

    Raises WorkerUnusable and NoDevice.
    """
    asked = options.device not in ("auto", "cpu")
    if asked:
        _require(options)
    done: list[Answer] = []
    # The answers of a part are final when the device has repeated them.
    size = len(jobs) if gpu is None else _PART
    for first in range(0, len(jobs), size):
        part = jobs[first : first + size]
        with Pool(options) as pool:

            def arrived(number: int, said: dict[str, Any], first: int = first) -> None:
                if gpu is None:
                    keep(first + number, Answer(_verdicts(said, jobs[first + number]), pool.device, pool.warp_version))

            def tell(numbers: Sequence[int], first: int = first) -> None:
                report([*range(first), *(first + number for number in numbers)])

            said = pool.run([job for job, _ in part], tell, arrived)
            device, version = pool.device, pool.warp_version
        verdicts = [list(_verdicts(answer, one)) for one, answer in zip(part, said, strict=True)]
        if gpu is not None:
            try:
                device, verdicts = repeat([job for job, _ in part], verdicts, options, gpu)
            except WorkerUnusable as error:
                if asked:
                    raise NoDevice(_because(error)) from error
                raise
        final = [Answer(tuple(found), device, version) for found in verdicts]
        if gpu is not None:
            for number, answer in enumerate(final, first):
                keep(number, answer)
        done += final
    return done


def _verdicts(said: Mapping[str, Any], job: Numbered) -> tuple[dict[str, Any], ...]:
    """One verdict for each finding of a group, from those or one for all of them."""
    return tuple(said.get("verdicts") or [said] * len(job[1]))


def _require(options: ProbeOptions) -> None:
    """See to it that the device is there before programs run elsewhere for its sake."""
    if any(Path(path).exists() for path in _DRIVERS):
        return  # probably: the repetition will show
    try:
        with Pool(options, options.device) as pool:
            pool.start()
    except WorkerUnusable as error:
        raise NoDevice(_because(error)) from error


def _because(error: WorkerUnusable) -> str:
    """Warp's own words name its inner parts where a device is missing."""
    return "Warp finds no such device here" if "device" in str(error).lower() else str(error)


def gpu_to_use(device: str) -> str | None:
    """The device that verdicts are repeated on, None where the CPU device has the last word.

    ``auto`` asks Warp only where a driver is installed, since that takes a second process.
    """
    if device == "cpu":
        return None
    if device != "auto":
        return device
    return "auto" if any(Path(path).exists() for path in _DRIVERS) else None


def repeat(
    jobs: Sequence[Job], verdicts: Sequence[list[dict[str, Any]]], options: ProbeOptions, device: str
) -> tuple[str | None, list[list[dict[str, Any]]]]:
    """``verdicts`` after what decided them was repeated on ``device``, and the name of the device that decided last.

    Raises WorkerUnusable where the device cannot be used.
    """
    with Pool(options, device) as pool:
        repetitions = [Repetition(job, tuple(found)) for job, found in zip(jobs, verdicts, strict=True)]
        decided = [
            number for number, found in enumerate(verdicts) if any(one["verdict"] != "inconclusive" for one in found)
        ]
        answers = pool.run([repetitions[number] for number in decided])
        result = list(verdicts)
        for number, answer in zip(decided, answers, strict=True):
            result[number] = list(answer.get("verdicts") or [answer] * len(verdicts[number]))
        return pool.device or "cpu", result
