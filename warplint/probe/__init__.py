"""Probing: every finding's program is cut out of the source, run in a worker process, and judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from warplint.ir.facts import Evidence, Finding
from warplint.probe.jobs import Job, make_job
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
    jobs: dict[Job, list[int]] = {}
    for number, finding in enumerate(findings):
        try:
            job = make_job(finding, finding.check, project, options)
        except Refused as error:
            evidence[number] = Evidence("inconclusive", f"not run: {error}")
        except RecursionError:
            evidence[number] = Evidence("inconclusive", "not run: the source is nested too deeply")
        else:
            jobs.setdefault(job, []).append(number)
    if jobs:
        _run(jobs, evidence, options, progress)
    return [one if one is not None else Evidence("inconclusive", "not run") for one in evidence]


def _run(
    jobs: dict[Job, list[int]],
    evidence: list[Evidence | None],
    options: ProbeOptions,
    progress: Callable[[int, int], None] | None,
) -> None:
    """Runs the jobs (equal ones once) and files their answers under the findings."""
    try:
        with Pool(options) as pool:
            answers = pool.run(list(jobs), progress)
            device, version = pool.device, pool.warp_version
    except WorkerUnusable as error:
        for numbers in jobs.values():
            for number in numbers:
                evidence[number] = Evidence("inconclusive", str(error))
        return
    for numbers, answer in zip(jobs.values(), answers):
        for number in numbers:
            evidence[number] = Evidence(answer["verdict"], answer["detail"], device, version, answer["numbers"])
