"""Scripts that stand alone, for findings whose probe decided something."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warplint.ir.facts import Finding
from warplint.probe.jobs import Writing
from warplint.probe.options import ProbeOptions
from warplint.probe.pool import Pool, WorkerUnusable
from warplint.probe.running import answers, prepare
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


def scripts(findings: Sequence[Finding], project: Project, options: ProbeOptions) -> list[Script]:
    """The scripts for ``findings``, in their order; ``options`` should be those that they were probed with."""
    jobs, refused = prepare(findings, project, options)
    found = [Script(None, refused.get(number, "it was not probed")) for number in range(len(findings))]
    orders: list[tuple[int, Writing]] = []
    try:
        for (job, numbers), answer in zip(jobs, answers(jobs, options), strict=True):
            for number, verdict in zip(numbers, answer.verdicts, strict=True):
                if verdict.get("profiles") or verdict.get("sets"):
                    orders.append((number, Writing(job, verdict)))
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
