"""Probes of whole kernels and funcs, without a finding that asks for them: what an audit runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from warplint.ir.audits import Subject
from warplint.ir.facts import Evidence
from warplint.ir.programs import DefinitionRef
from warplint.ir.spans import Location
from warplint.probe.jobs import Job, admitted
from warplint.probe.options import ProbeOptions
from warplint.probe.running import Numbered, answers
from warplint.probe.slices import Refused, Slice, Slicer
from warplint.records import dataclass
from warplint.source.project import Project


@dataclass(frozen=True, slots=True)
class Asked:
    """A launch of ``target`` (a kernel, or a func with a kernel written around it), and the subjects whose bodies it is
    to run: ``target`` itself, and funcs that it calls.

    ``ordered``: at inputs whose indices let no plain store meet another one, nor a load that came before it.
    """

    target: DefinitionRef
    subjects: tuple[Subject, ...]
    ordered: bool = False


@dataclass(frozen=True, slots=True)
class Seen:
    """What a launch showed of one subject, and whether an earlier run had the answer.

    ``unreached`` are the lines of blocks that no input ran. ``scatters``: plain stores go where indices read from
    arrays say, so that they may meet others at inputs that nobody would use. ``idle``: the launch has no gradient,
    which is all that can be said of what it calls. ``forward_only``: Warp makes no adjoint of it. ``several``: only
    several threads together are wrong.
    """

    evidence: Evidence
    stored: bool = False
    unreached: tuple[int, ...] = ()
    scatters: bool = False
    idle: bool = False
    forward_only: bool = False
    several: bool = False


def probe_whole(
    asked: Sequence[Asked],
    project: Project,
    options: ProbeOptions,
    progress: Callable[[int, int], None] | None = None,
) -> list[tuple[Seen, ...]]:
    """What each launch showed, in the order of its subjects. Never raises for what a file contains.

    The verdict ``refuted`` means that tape and finite differences agree.

    Raises:
        NoDevice: a GPU is asked for by its number and cannot be used.
    """
    jobs: list[Numbered] = []
    places: list[tuple[int, int]] = []
    found = [[Seen(Evidence("inconclusive", "not run")) for _ in one.subjects] for one in asked]
    for number, one in enumerate(asked):
        try:
            job, marked = _job(one, project, options)
        except (Refused, RecursionError) as error:
            why = str(error) if isinstance(error, Refused) else "the source is nested too deeply"
            found[number] = [Seen(Evidence("inconclusive", f"not run: {why}"))] * len(one.subjects)
            continue
        for position in range(len(one.subjects)):
            if position not in marked:
                reason = f"not run: `{one.target.qualname}` calls another definition of that name"
                found[number][position] = Seen(Evidence("inconclusive", reason))
        jobs.append((job, list(range(len(places), len(places) + len(marked)))))
        places += [(number, position) for position in marked]
    for (_, numbers), answer in zip(jobs, answers(jobs, options, progress), strict=True):
        for place, said in zip(numbers, answer.verdicts, strict=True):
            number, position = places[place]
            evidence = Evidence(said["verdict"], said["detail"], answer.device, answer.warp_version, said["numbers"])
            unreached = tuple(said.get("unreached", ()))
            idle = said["verdict"] == "refuted" and not said["numbers"]
            scatters, without, several = (bool(said.get(key)) for key in ("scatters", "forward_only", "several"))
            seen = Seen(evidence, answer.stored, unreached, scatters, idle, without, several)
            found[number][position] = seen
    return [tuple(one) for one in found]


def _job(asked: Asked, project: Project, options: ProbeOptions) -> tuple[Job, list[int]]:
    """The job, and the positions of the subjects whose bodies are in its script. Raises Refused."""
    positions = list(range(len(asked.subjects)))
    name, made = _cut(asked, positions, project, options)
    if made.folders and not made.marks:
        # The target itself is imported, and what it runs cannot be watched.
        positions = positions[:1]
    elif len(made.marks) < len(positions):
        positions = [position for position in positions if position in made.marks]
        name, made = _cut(asked, positions, project, options)
    blind: dict[str, object] = {"counted": False, "blind": True, "in_loop": False, "way": []}
    marks = [
        {
            "counted": True,
            "in_loop": False,
            "way": [],
            "blocks": list(mark.blocks),
            "around": list(mark.around),
            "once": list(mark.once or ()),
        }
        for _, mark in sorted(made.marks.items())
    ] or [blind | {"blocks": [], "around": []}]
    plan = {
        "kind": "kernel",
        "check": "gradient",
        "targets": [name],
        "through": False,
        "all": True,
        "marks": marks,
        "callers": False,
        "whole": True,
    }
    if asked.ordered:
        plan["ordered"] = True
    return Job(made.text, made.twin, json.dumps(plan | admitted(made, options)), bool(made.folders)), positions


def _cut(asked: Asked, positions: Sequence[int], project: Project, options: ProbeOptions) -> tuple[str, Slice]:
    """The name of the target in its script, and the script, with a mark for each of the subjects at ``positions``."""
    flagged: list[tuple[Location, ...]] = [(asked.subjects[position].whole,) for position in positions]
    slicer = Slicer(project, options.allow_native, flagged, options.allow_import, widens=True)
    alone = all(asked.subjects[position].role == "func" for position in positions)
    slicer.options(asked.target.path, differentiated=alone)
    return slicer.add(asked.target), slicer.finish()
