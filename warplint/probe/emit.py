"""Scripts that stand alone, for findings whose probe decided something."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from warplint.ir.facts import Finding
from warplint.ir.spans import displayed
from warplint.probe.jobs import Writing
from warplint.probe.options import ProbeOptions
from warplint.probe.pool import Pool, WorkerUnusable
from warplint.probe.running import answers, prepare
from warplint.records import dataclass
from warplint.source.project import Project


class NoScript(Exception):
    """There is no script for a finding; the message says why, as a clause."""


@dataclass(frozen=True, slots=True)
class Script:
    """``text`` imports only Warp and numpy; None where there is none, for the reason ``problem``."""

    text: str | None
    problem: str = ""


def emit(finding: Finding, project: Project, options: ProbeOptions | None = None) -> str:
    """A script that runs the probe of ``finding`` at the inputs that decided it, on the CPU device, and prints the
    tape's gradient and finite differences. Raises NoScript."""
    (script,) = scripts([finding], project, options or ProbeOptions())
    if script.text is None:
        raise NoScript(script.problem)
    return script.text


def write_scripts(findings: Sequence[Finding], project: Project, options: ProbeOptions, folder: Path) -> list[Finding]:
    """Writes a script into ``folder`` for every finding that was decided; ``evidence.reproduce`` then is its path.
    Where there is none, the evidence says why.

    Raises OSError where ``folder`` cannot be written to.
    """
    decided = [k for k, finding in enumerate(findings) if finding.evidence.verdict in ("confirmed", "refuted")]
    result = list(findings)
    if not decided:
        return result
    folder.mkdir(parents=True, exist_ok=True)
    taken: set[str] = set()
    for number, script in zip(decided, scripts([findings[k] for k in decided], project, options), strict=True):
        finding = findings[number]
        if script.text is None:
            told = f"{finding.evidence.detail}; no script stands alone for it: {script.problem}"
            result[number] = replace(finding, evidence=replace(finding.evidence, detail=told))
            continue
        stem = f"{finding.rule}_{finding.location.path.stem}_{finding.location.span.line}"
        name, count = stem, 2
        while name in taken:
            name, count = f"{stem}_{count}", count + 1
        taken.add(name)
        path = folder / f"{name}.py"
        path.write_text(_header(finding) + script.text, encoding="utf-8")
        result[number] = replace(finding, evidence=replace(finding.evidence, reproduce=str(path)))
    return result


def _header(finding: Finding) -> str:
    """What the finding says, as comments."""
    place = f"{displayed(finding.location.path)}:{finding.location.span.line}"
    lines = [f"{finding.rule} at {place}: {finding.message}", f"Probe: {finding.evidence.detail}"]
    lines += ["", "This script needs Warp and numpy only."]
    return "".join(f"# {' '.join(line.split())}".rstrip() + "\n" for line in lines) + "\n"


def scripts(findings: Sequence[Finding], project: Project, options: ProbeOptions) -> list[Script]:
    """The scripts for ``findings``, in their order; ``options`` should be those that they were probed with."""
    jobs, refused = prepare(findings, project, options)
    found = [Script(None, refused.get(number, "it was not probed")) for number in range(len(findings))]
    orders: list[tuple[int, Writing]] = []
    try:
        for (job, numbers), answer in zip(jobs, answers(jobs, options), strict=True):
            for number, verdict in zip(numbers, answer.verdicts, strict=True):
                if job.imports:
                    found[number] = Script(None, "it imports from the project, so that no script could stand alone")
                elif verdict.get("profiles") or verdict.get("sets"):
                    orders.append((number, Writing(job, verdict)))
                elif verdict["verdict"] == "confirmed":
                    found[number] = Script(None, f"it compares no numbers: {verdict['detail']}")
                else:
                    found[number] = Script(None, f"its probe decided nothing: {verdict['detail']}")
        if orders:
            with Pool(options) as pool:
                written = pool.run([order for _, order in orders])
            for (number, _), one in zip(orders, written, strict=True):
                found[number] = Script(one.get("text"), str(one.get("problem") or one.get("detail") or ""))
    except WorkerUnusable as error:
        return [Script(None, str(error))] * len(findings)
    return found
