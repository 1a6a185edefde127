"""From findings to jobs for the worker: a script cut out of the source, and a plan that says what to do with it."""

from __future__ import annotations

import json
from dataclasses import dataclass

from warplint.ir.facts import Finding
from warplint.ir.programs import Check, KernelProgram, TapeProgram
from warplint.probe.options import ProbeOptions
from warplint.probe.slices import Refused, Slice, Slicer
from warplint.source.project import Project

#: How many calling kernels are tried when a func alone could not be decided.
_CALLERS = 2


@dataclass(frozen=True, slots=True)
class Job:
    """What the worker gets: ``script`` imports only Warp and what computes, ``twin`` also counts, ``plan`` is JSON."""

    script: str
    twin: str | None
    #: JSON text, so that equal jobs compare equal.
    plan: str

    def message(self, number: int) -> dict[str, object]:
        """The job as one JSON object."""
        return {"id": number, "script": self.script, "twin": self.twin, "plan": json.loads(self.plan)}


def make_job(finding: Finding, check: Check, project: Project, options: ProbeOptions) -> Job:
    """The job for one finding. Raises Refused where the source cannot be cut without executing more of it."""
    program = finding.fact.program
    if isinstance(program, KernelProgram):
        return _kernel_job(program, check, project, options)
    if isinstance(program, TapeProgram):
        from warplint.probe.tape_jobs import tape_job

        return tape_job(program, check, project, options)
    raise Refused("no program could be cut for it")


def _kernel_job(program: KernelProgram, check: Check, project: Project, options: ProbeOptions) -> Job:
    slicer = Slicer(project, options.allow_native, program.flagged)
    slicer.options(program.kernel.path)
    targets = [{"name": slicer.add(program.kernel)}]
    made = slicer.finish()
    for caller in program.callers[:_CALLERS]:
        # A caller that cannot be cut out must not spoil the func: it gets a slicer that is only kept if it succeeds.
        wider = Slicer(project, options.allow_native, program.flagged)
        wider.options(program.kernel.path)
        try:
            names = [wider.add(program.kernel), *(str(target["name"]) for target in targets[1:])]
            added = wider.add(caller)
        except Refused:
            continue
        if names[0] != targets[0]["name"] or len(targets) > 1:
            continue
        targets.append({"name": added})
        made = wider.finish()
    return Job(made.text, made.twin, json.dumps(_plan(check, targets, made)))


def _plan(check: Check, targets: list[dict[str, str]], made: Slice) -> dict[str, object]:
    return {"kind": "kernel", "check": check, "targets": targets, "in_loop": made.in_loop}
