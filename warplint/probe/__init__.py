"""Probing: every finding's program is cut out of the source, run in a worker process, and judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from warplint.ir.facts import Evidence, Finding
from warplint.probe.jobs import Job, Repetition, group, make_job
from warplint.probe.options import ProbeOptions
from warplint.probe.pool import Pool, WorkerUnusable
from warplint.probe.slices import Refused
from warplint.source.project import Project

__all__ = ["NoDevice", "ProbeOptions", "probe"]

# Where a driver for NVIDIA GPUs shows itself, on Linux, under WSL and on Windows.
_DRIVERS = ("/dev/nvidiactl", "/dev/dxg", "C:/Windows/System32/nvcuda.dll")


class NoDevice(Exception):
    """The device that ``ProbeOptions`` name cannot be used; the message says why."""


def probe(
    findings: Sequence[Finding],
    project: Project,
    options: ProbeOptions,
    progress: Callable[[int, int], None] | None = None,
) -> list[Evidence]:
    """What a probe of each finding saw, in the order of ``findings``. Never raises for what a file contains.

    Raises:
        NoDevice: a GPU is asked for by its number and cannot be used.
    """
    evidence: list[Evidence | None] = [None] * len(findings)
    jobs: list[tuple[Job, list[int]]] = []
    for numbers in group(findings):
        together = [findings[number] for number in numbers]
        try:
            jobs.append((make_job(together, together[0].check, project, options), numbers))
        except Refused as error:
            reason = f"not run: {error}"
        except RecursionError:
            reason = "not run: the source is nested too deeply"
        else:
            continue
        for number in numbers:
            evidence[number] = Evidence("inconclusive", reason)
    if jobs:
        _run(jobs, evidence, options, progress)
    return [one if one is not None else Evidence("inconclusive", "not run") for one in evidence]


def _run(
    jobs: list[tuple[Job, list[int]]],
    evidence: list[Evidence | None],
    options: ProbeOptions,
    progress: Callable[[int, int], None] | None,
) -> None:
    """Runs the jobs and files their answers under the findings."""
    total = sum(len(numbers) for _, numbers in jobs)

    def report(done: Sequence[int]) -> None:
        if progress is not None:
            progress(sum(len(jobs[number][1]) for number in done), total)

    device: str | None = None
    report([])  # the worker takes seconds to start
    if options.device not in ("auto", "cpu"):
        _require(options)
    try:
        with Pool(options) as pool:
            answers = pool.run([job for job, _ in jobs], report)
            device, version = pool.device, pool.warp_version
        # one verdict for each finding of a group, or one for all of them
        verdicts = [
            list(answer.get("verdicts") or [answer] * len(numbers))
            for (_, numbers), answer in zip(jobs, answers, strict=True)
        ]
        gpu = gpu_to_use(options.device)
        if gpu is not None:
            device, verdicts = repeat([job for job, _ in jobs], verdicts, options, gpu)
    except WorkerUnusable as error:
        if options.device not in ("auto", "cpu") and device is not None:
            raise NoDevice(_because(error)) from error
        for _, numbers in jobs:
            for number in numbers:
                evidence[number] = Evidence("inconclusive", str(error))
        return
    for (_, numbers), found in zip(jobs, verdicts, strict=True):
        for number, one in zip(numbers, found, strict=True):
            evidence[number] = Evidence(one["verdict"], one["detail"], device, version, one["numbers"])


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
