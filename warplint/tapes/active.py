"""Which operations of a reverse sweep carry a gradient from an input to the loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Union

from warplint.records import dataclass
from warplint.tapes.dtypes import is_whole
from warplint.tapes.recorded import Operation, Sweep, carried, overwritten
from warplint.tapes.trace import Copied, GradientRead, Launched, Trace
from warplint.tapes.values import ArrayValue, Storage

#: Inputs with gradients, in the order in which the tape came upon them.
Origins = tuple[ArrayValue, ...]


@dataclass(frozen=True, slots=True)
class Edge:
    """One way of a gradient in the sweep: from ``target`` to ``source``, and on to ``origins``."""

    source: ArrayValue
    target: ArrayValue
    origins: Origins


@dataclass(frozen=True, slots=True)
class Activity:
    """``edges``: for the position of each recorded operation, the ways that carry a gradient which somebody reads.

    ``varied`` and ``useful``: for each of these positions, the memory that depends on an input after the operation, and
    the memory that the loss depends on after it. ``goals``: what the sweep starts from; ``wanted``: the memory whose
    gradient somebody reads, empty where that is not known.
    """

    edges: dict[int, tuple[Edge, ...]]
    varied: dict[int, dict[Storage, Origins]]
    useful: dict[int, frozenset[Storage]]
    goals: frozenset[Storage] = frozenset()
    wanted: frozenset[Storage] = frozenset()

    @property
    def inputs(self) -> Origins:
        """The inputs that the sweep brings a gradient to."""
        return tuple(dict.fromkeys(o for edges in self.edges.values() for edge in edges for o in edge.origins))


#: Pairs of arrays such that the second's gradient goes to the first's, for one operation.
Ways = Callable[[Union[Launched, Copied]], tuple[tuple[ArrayValue, ArrayValue], ...]]


def activity(
    trace: Trace, sweep: Sweep, ways: Ways = carried, since: int | None = None, all_inputs: bool = False
) -> Activity:
    """The activity of one sweep; empty where its goals may have no gradient.

    Gradients that are read after ``since``, a place in the trace, are wanted: after the sweep where none is given.
    With ``all_inputs`` those that nobody reads are, too.
    """
    flags = sweep.backward.flags
    goals = [*sweep.seeds, *([sweep.backward.loss] if sweep.backward.loss is not None else [])]
    sure = {goal.storage for goal in goals if flags.get(id(goal)) is True}
    wanted = {
        record.array.storage
        for record in trace.records[sweep.position if since is None else since :]
        if isinstance(record, GradientRead) and record.how != "escape"
    }
    edges: dict[int, tuple[Edge, ...]] = {}
    varied: dict[int, dict[Storage, Origins]] = {}
    useful: dict[int, frozenset[Storage]] = {}
    if not sure or (not wanted and not trace.finished):
        return Activity(edges, varied, useful)
    after = _after(sweep.operations, sure, ways)
    origins: dict[Storage, Origins] = {}
    written: set[Storage] = set()
    for position, record in sweep.operations:
        found: list[Edge] = []
        for source, target in ways(record):
            if is_whole(source.dtype) or is_whole(target.dtype) or target.storage.owner is not None:
                continue
            known = origins.get(source.storage, ())
            fresh = source.storage not in written and flags.get(id(source)) is True
            if fresh and (all_inputs or not wanted or source.storage in wanted):
                known = (source,)
            if known and flags.get(id(source)) is not False and flags.get(id(target)) is not False:
                found.append(Edge(source, target, known))
        for storage in overwritten(record):
            origins.pop(storage, None)
        for edge in found:
            before = origins.get(edge.target.storage, ())
            origins[edge.target.storage] = tuple(dict.fromkeys((*before, *edge.origins)))
        written |= {target.storage for _, target in ways(record)}
        edges[position] = tuple(edge for edge in found if edge.target.storage in after[position])
        varied[position] = dict(origins)
        useful[position] = after[position]
    return Activity(edges, varied, useful, frozenset(sure), frozenset(wanted))


def _after(operations: tuple[Operation, ...], goals: set[Storage], ways: Ways) -> dict[int, frozenset[Storage]]:
    """For each operation, the memory whose contents after it the goals depend on."""
    useful = set(goals)
    found: dict[int, frozenset[Storage]] = {}
    for position, record in reversed(operations):
        found[position] = frozenset(useful)
        sources = {source.storage for source, target in ways(record) if target.storage in useful}
        useful -= overwritten(record)
        useful |= sources
    return found
