"""Probing: every finding's program is cut out of the source, run in a worker process, and judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from warplint.ir.facts import Evidence, Finding
from warplint.probe.emit import NoScript, Script, emit, scripts
from warplint.probe.options import ProbeOptions
from warplint.probe.running import NoDevice, Numbered, answers, prepare
from warplint.source.project import Project

__all__ = ["NoDevice", "NoScript", "ProbeOptions", "Script", "emit", "probe", "probe_each", "scripts"]


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
    return probe_each([(findings, project)], options, progress)


def probe_each(
    cases: Iterable[tuple[Sequence[Finding], Project]],
    options: ProbeOptions,
    progress: Callable[[int, int], None] | None = None,
) -> list[Evidence]:
    """As ``probe``, for findings from several versions of a project: the evidence of all, one after the other.

    Raises:
        NoDevice: a GPU is asked for by its number and cannot be used.
    """
    jobs: list[Numbered] = []
    evidence: list[Evidence] = []
    for findings, project in cases:
        first = len(evidence)
        own, refused = prepare(findings, project, options)
        jobs += [(job, [first + number for number in numbers]) for job, numbers in own]
        evidence += [Evidence("inconclusive", refused.get(number, "not run")) for number in range(len(findings))]
    for (_, numbers), answer in zip(jobs, answers(jobs, options, progress), strict=True):
        for number, one in zip(numbers, answer.verdicts, strict=True):
            evidence[number] = Evidence(
                one["verdict"], one["detail"], answer.device, answer.warp_version, one["numbers"]
            )
    return evidence
