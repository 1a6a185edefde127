"""Probing: every finding's program is cut out of the source, run in a worker process, and judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from warplint.ir.facts import Evidence, Finding
from warplint.probe.cuts import Cuts, Known
from warplint.probe.emit import NoScript, Script, emit, scripts
from warplint.probe.options import ProbeOptions
from warplint.probe.running import NoDevice, Numbered, answers, gpu_to_use, prepare
from warplint.probe.stored import Answer, open_store
from warplint.source.project import Project

__all__ = ["NoDevice", "NoScript", "ProbeOptions", "Script", "emit", "probe", "probe_each", "scripts"]


def probe(
    findings: Sequence[Finding],
    project: Project,
    options: ProbeOptions,
    progress: Callable[[int, int], None] | None = None,
    kept: bool = False,
) -> list[Evidence]:
    """What a probe of each finding saw, in the order of ``findings``. Never raises for what a file contains.

    ``kept``: the project is that of the files, so that what its programs are may be remembered for the next run.

    Raises:
        NoDevice: a GPU is asked for by its number and cannot be used.
    """
    store = open_store(options, gpu_to_use(options.device)) if kept and options.reuse and not options.resume else None
    if store is None:
        return probe_each([(findings, project)], options, progress)
    cuts = Cuts(findings, project, options, store)
    known = cuts.recall()
    if known is None:
        jobs, refused = prepare(findings, project, options)
        if not any(job.imports for job, _ in jobs):
            cuts.remember([(store.key(job), numbers) for job, numbers in jobs], refused, project)
        found = answers(jobs, options, progress)
        known = Known(
            tuple((answer, tuple(numbers)) for (_, numbers), answer in zip(jobs, found, strict=True)), refused
        )
    evidence = [Evidence("inconclusive", known.refused.get(number, "not run")) for number in range(len(findings))]
    for answer, numbers in known.answers:
        _tell(answer, numbers, evidence)
    return evidence


def _tell(answer: Answer, numbers: Sequence[int], evidence: list[Evidence]) -> None:
    """Puts what ``answer`` says of each of its findings into ``evidence``."""
    for number, one in zip(numbers, answer.verdicts, strict=True):
        evidence[number] = Evidence(one["verdict"], one["detail"], answer.device, answer.warp_version, one["numbers"])


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
        _tell(answer, numbers, evidence)
    return evidence
