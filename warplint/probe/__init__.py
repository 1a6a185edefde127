"""Probing: every finding's program is cut out of the source, run in a worker process, and judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from warplint.ir.facts import Evidence, Finding
from warplint.probe.jobs import Job, group, make_job
from warplint.probe.options import ProbeOptions
from warplint.probe.pool import Pool, WorkerUnusable
from warplint.probe.slices import Refused
from warplint.source.project import Project

__all__ = ["ProbeOptions", "probe"]


def probe(
    findings: Sequence[Finding],
    project: Project,
    options: ProbeOptions,
    progress: Callable[[int, int], None] | None = None,
) -> list[Evidence]:
    """What a probe of each finding saw, in the order of ``findings``. Never raises for what a file contains."""
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

    report([])  # the worker takes seconds to start
    try:
        with Pool(options) as pool:
            answers = pool.run([job for job, _ in jobs], report)
            device, version = pool.device, pool.warp_version
    except WorkerUnusable as error:
        for _, numbers in jobs:
            for number in numbers:
                evidence[number] = Evidence("inconclusive", str(error))
        return
    for (_, numbers), answer in zip(jobs, answers, strict=False):
        # one verdict for each finding of the group, or one for all of them
        verdicts = answer.get("verdicts") or [answer] * len(numbers)
        for number, found in zip(numbers, verdicts, strict=False):
            evidence[number] = Evidence(found["verdict"], found["detail"], device, version, found["numbers"])
