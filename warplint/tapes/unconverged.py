"""Relaxation loops of a fixed, small number of rounds: the fact ``unconverged-solver``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from warplint.ir.facts import Fact, Label
from warplint.tapes import duplicates
from warplint.tapes.active import Activity
from warplint.tapes.recorded import Operation, Sweep, written
from warplint.tapes.stories import called_from, launch_name, plain_name
from warplint.tapes.trace import Launched, Trace
from warplint.tapes.values import ArrayValue

#: Three rounds may stand for a number that is not known, and with many it may well have converged.
_FEWEST, _MOST = 4, 50
#: A loop that steps in time has the same form: only the kernel's name says that it solves something.
_SOLVER = re.compile(
    r"relax|jacobi|gauss|seidel|solve|iterat|richardson|fixed_?point|converge|newton|(^|_)sor(_|$)", re.IGNORECASE
)
#: Parameters that say that a round is a step in time.
_TIME = re.compile(r"^(dt|dtime|delta_?t|time\w*|t|h|tau|step\w*|substep\w*)$|_dt$|^dt_", re.IGNORECASE)


def facts(trace: Trace, sweeps: list[Sweep], actives: list[Activity]) -> Iterator[Fact]:
    """The facts of one trace; ``actives`` are the activities of its sweeps."""
    if trace.shrunk:
        return  # how many rounds there are is not known
    for sweep, active in zip(sweeps, actives, strict=True):
        if sweep.custom:
            continue
        for rounds in _loops(sweep):
            last = rounds[-1]
            if active.edges.get(last[0]) and all(map(_follows, rounds, rounds[1:])):
                yield _fact(sweep, rounds)


def _loops(sweep: Sweep) -> Iterator[list[tuple[int, Launched]]]:
    """Runs of recorded launches from one place in the rounds of one loop, with no other launch between them."""
    found: list[tuple[int, Launched]] = []
    for position, record in (*sweep.operations, (-1, None)):
        same = isinstance(record, Launched) and bool(found) and _next_round(found[-1][1], record)
        if not same:
            if _FEWEST <= len(found) <= _MOST:
                yield found
            found = []
        if isinstance(record, Launched) and record.context.loops:
            found.append((position, record))


def _next_round(first: Launched, second: Launched) -> bool:
    before, after = first.context, second.context
    return (
        first.kernel == second.kernel
        and before.site == after.site
        and before.loops[:-1] == after.loops[:-1]
        and bool(after.loops)
        and before.loops[-1][0] == after.loops[-1][0]
    )


def _follows(first: Operation, second: Operation) -> bool:
    """Whether a launch differs from the one before only in what that one wrote, and reads some of it."""
    before, after = first[1], second[1]
    assert isinstance(before, Launched) and isinstance(after, Launched)
    if (
        after.summary is None
        or not _SOLVER.search(after.kernel.qualname)
        or any(_TIME.search(name) for name in after.summary.parameters)
    ):
        return False
    iterates = written(before) | written(after)
    for old, new in zip(before.arguments, after.arguments, strict=True):
        if isinstance(old, ArrayValue) and isinstance(new, ArrayValue) and {old.storage, new.storage} & iterates:
            continue
        if not duplicates.alike(old, new):
            return False
    return any(access.reads and access.array.storage in written(before) for access in after.accesses)


def _fact(sweep: Sweep, rounds: list[tuple[int, Launched]]) -> Fact:
    record = rounds[-1][1]
    place = record.context
    labels = (
        Label(place.site, f"{launch_name(record)} is recorded {len(rounds)} times, each time on what it made before"),
        *called_from(place.stack, "called from here"),
        Label(sweep.backward.context.site, "the gradient is that of these rounds, not of what they converge to"),
    )
    target = next(access.array for access in record.accesses if access.writes or access.accumulates)
    attributes = {"kernel": launch_name(record).strip("`"), "array": plain_name(target), "rounds": len(rounds)}
    return Fact("unconverged-solver", place.site, attributes, labels, place.definition, "taped")
