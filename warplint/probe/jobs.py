"""From findings to jobs for the worker: a script cut out of the source, and a plan that says what to do with it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from warplint.ir.facts import Finding
from warplint.ir.programs import Check, DefinitionRef, KernelProgram, TapeProgram
from warplint.ir.spans import Location
from warplint.probe.allowed import widened
from warplint.probe.options import ProbeOptions
from warplint.probe.slices import Refused, Slice, Slicer
from warplint.records import dataclass
from warplint.source.project import Project

#: Questions whose answer needs the kernel itself.
_ABOUT_KERNELS = ("launch", "jacobian")
#: The checks that finite differences decide.
_DIFFERENCES = ("gradient", "finite-adjoint", "zero-adjoint")
#: How many calling kernels are tried when a func alone could not be decided.
_CALLERS = 2
#: A func that was decided alone is also looked at through its callers where the script has at most so many lines: it
#: is compiled once more for that.
_LINES = 500
#: So many lines are compiled together, and fewer jobs than this for each processor are not: the gain is little.
_TOGETHER = 3000
_LEAST = 2


@dataclass(frozen=True, slots=True)
class Job:
    """What the worker gets: ``script`` imports only Warp and what computes, ``twin`` also counts, ``plan`` is JSON."""

    script: str
    twin: str | None
    #: JSON text, so that equal jobs compare equal.
    plan: str
    #: It runs code of the project that is not in the script, so that equal jobs need not have equal answers.
    imports: bool = False

    def message(self, number: int) -> dict[str, object]:
        """The job as one JSON object."""
        return {"id": number, "script": self.script, "twin": self.twin, "plan": json.loads(self.plan)}

    @property
    def size(self) -> int:
        """The lines that are compiled for it."""
        return self.script.count("\n") + (self.twin or "").count("\n")

    @property
    def shares(self) -> bool:
        """Whether it may be compiled together with others: it only computes, it is in Warp's own words, and it is
        certain to be launched."""
        if self.imports or "native" in self.script:
            return False
        return json.loads(self.plan)["check"] not in ("compile", "answer", "order")


@dataclass(frozen=True)
class Building:
    """Jobs whose modules are compiled together, before each of them runs."""

    jobs: tuple[Job, ...]

    def message(self, number: int) -> dict[str, object]:
        """The order as one JSON object."""
        return {"id": number, "build": [job.message(place) for place, job in enumerate(self.jobs)]}


def built_together(jobs: Sequence[Job], parallel: int) -> list[list[int]]:
    """The numbers of the jobs that are compiled together, in groups of about one size, the longest jobs first: at least
    as many groups as run in ``parallel``, so that none waits for the others."""
    numbers = [number for number, job in enumerate(jobs) if job.shares]
    if len(numbers) < _LEAST * parallel:
        return []
    lines = sum(jobs[number].size for number in numbers)
    count = max(parallel, -(-lines // _TOGETHER))
    groups: list[list[int]] = [[] for _ in range(count)]
    sizes = [0] * count
    for number in sorted(numbers, key=lambda number: -jobs[number].size):
        smallest = sizes.index(min(sizes))
        groups[smallest].append(number)
        sizes[smallest] += jobs[number].size
    return [group for group in groups if len(group) > 1]


@dataclass(frozen=True)
class Repetition:
    """A job whose verdicts another device repeats."""

    job: Job
    verdicts: tuple[dict[str, Any], ...]

    def message(self, number: int) -> dict[str, object]:
        """The repetition as one JSON object."""
        return self.job.message(number) | {"verdicts": list(self.verdicts)}


@dataclass(frozen=True)
class Writing:
    """A job with one of its verdicts, for which the worker writes a script that stands alone."""

    job: Job
    verdict: Mapping[str, Any]

    def message(self, number: int) -> dict[str, object]:
        """The order as one JSON object."""
        return self.job.message(number) | {"write": dict(self.verdict)}


def group(findings: Sequence[Finding]) -> list[list[int]]:
    """The numbers of the findings that one job can answer together: those about one kernel with one check."""
    groups: dict[object, list[int]] = {}
    for number, finding in enumerate(findings):
        program = finding.fact.program
        key: object = number
        if isinstance(program, KernelProgram):
            refs = (program.kernel, *program.callers)
            key = (finding.check, program.question, *((ref.path, ref.qualname, repr(ref.closure)) for ref in refs))
        groups.setdefault(key, []).append(number)
    return list(groups.values())


def make_job(findings: Sequence[Finding], check: Check, project: Project, options: ProbeOptions) -> Job:
    """The job for findings of one group. Raises Refused where the source cannot be cut without executing more of it."""
    programs = [finding.fact.program for finding in findings]
    first = programs[0]
    if isinstance(first, KernelProgram):
        flagged = [program.flagged for program in programs if isinstance(program, KernelProgram)]
        return _kernel_job(first, flagged, check, project, options)
    if isinstance(first, TapeProgram):
        from warplint.probe.tape_jobs import tape_job

        return tape_job(first, check, project, options)
    raise Refused("no program could be cut for it")


def _kernel_job(
    program: KernelProgram,
    flagged: Sequence[tuple[Location, ...]],
    check: Check,
    project: Project,
    options: ProbeOptions,
) -> Job:
    if check == "answer" and not program.question:
        raise Refused("nothing is asked that a launch could answer")
    asked = json.loads(program.question or "{}")
    if check == "answer" and asked["ask"] not in _ABOUT_KERNELS:
        alone: dict[str, object] = {"kind": "kernel", "check": check, "targets": [], "marks": [{}] * len(flagged)}
        return Job("", None, json.dumps(alone | {"question": program.question}))

    def cut(refs: Sequence[DefinitionRef]) -> tuple[list[str], Slice]:
        slicer = Slicer(project, options.allow_native, flagged, options.allow_import, check in _DIFFERENCES)
        slicer.options(program.kernel.path)
        names = [slicer.add(ref) for ref in refs]
        return names, slicer.finish()

    refs = [program.kernel]
    names, made = cut(refs)
    for caller in program.callers[:_CALLERS]:
        # A caller that cannot be cut out must not spoil the func alone.
        try:
            names, made = cut([*refs, caller])
        except Refused:
            continue
        refs.append(caller)
    marks: list[dict[str, object]] = []
    for number in range(len(flagged)):
        mark = made.marks.get(number)
        counted = mark is not None
        one: dict[str, object] = {} if counted or not (flagged[number] and made.folders) else {"blind": True}
        one |= {"counted": counted, "in_loop": False, "blocks": [], "around": [], "way": []}
        if mark is not None:
            one |= {"in_loop": mark.in_loop, "blocks": list(mark.blocks), "around": list(mark.around)}
            one["way"] = list(mark.way)
            one["entry"] = mark.entry
            if check == "zero-adjoint" and number in made.feeding:
                where, feeding = made.feeding[number]
                one["feeding"] = [where, list(feeding)]
            if mark.leaves:
                one["leaves"] = True
            if mark.once is not None:
                one["once"] = list(mark.once)
        marks.append(one)
    # Which numbers a func gets, and whether its gradient is used where they are singular, is up to its callers.
    through = check == "finite-adjoint" and len(names) > 1
    whole = len(refs) == len(program.callers) + 1
    if asked.get("kernel") is not None:
        asked["kernel"] = names[0]
    plan: dict[str, object] = {
        "question": json.dumps(asked),
        "kind": "kernel",
        "check": check,
        "targets": [*names[1:], names[0]] if through else names,
        "through": through,
        "all": whole,
        "marks": marks,
        # whether the targets behind the first are all the kernels that call it, and small enough to look at in any case
        "callers": whole and made.text.count("\n") <= _LINES,
    }
    says = admitted(made, options)
    if check == "finite-adjoint" and any(widened(f"warp.{name}") for name in made.assumed):
        # a guard that keeps a number of single precision from zero may be zero in half precision
        says["guessed"] = [*made.guessed, *(name for name in made.assumed if widened(f"warp.{name}"))]
    return Job(made.text, made.twin, json.dumps(plan | says), bool(made.folders))


def admitted(made: Slice, options: ProbeOptions) -> dict[str, object]:
    """The part of a plan that says what a script may do beyond computing, and what is in it that the source does not
    say; empty for one that only computes what the source says."""
    plan: dict[str, object] = {}
    if made.folders:
        plan |= {"folders": list(made.folders), "native": options.allow_native}
    if made.assumed or made.stand_ins:
        plan |= {"assumed": dict(made.assumed), "guessed": list(made.guessed), "stand_ins": dict(made.stand_ins)}
    return plan
