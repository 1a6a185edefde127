"""Effects that the reverse sweep repeats or misses.

Before it differentiates, the reverse sweep runs the kernel's own statements again except for what they write, and runs
the funcs that it calls again with all that they do. A slot that an atomic counter gave out is another one then, or
none; an array that a func adds to is added to twice.
"""

from __future__ import annotations

from collections.abc import Iterator

from warplint.ir.effects import Path
from warplint.kernels import activity
from warplint.kernels.activity import Activity
from warplint.kernels.knowledge import Knowledge
from warplint.kernels.summaries import summarise
from warplint.kernels.trace import Operation, Trace, Write
from warplint.records import dataclass
from warplint.source.project import Definition

#: Operations that an index may go through.
_ARITHMETIC = frozenset({"copy", "add", "sub", "mul", "floordiv", "mod", "min", "max", "int", "phi", "neg", "clamp"})


@dataclass(frozen=True, slots=True)
class Slot:
    """A slot that a counter gave out, and the first operation of an active path that it is an index of."""

    counter: int
    use: int


@dataclass(frozen=True, slots=True)
class Repeated:
    """A call of a func that adds to an array. ``needed``: the kernel's adjoint reads the array's elements."""

    call: int
    array: Path
    needed: bool


def slots(knowledge: Knowledge, trace: Trace, active: Activity) -> Iterator[Slot]:
    """The slots of a body that index active reads or writes."""
    for operation in trace.operations:
        if _gives_slot(knowledge, operation):
            use = _indexed(knowledge, trace, active, operation.index)
            if use is not None:
                yield Slot(operation.index, use)


def _gives_slot(knowledge: Knowledge, operation: Operation) -> bool:
    if operation.name == "accumulate":
        # an augmented assignment has no result
        return operation.type.kind == "int" and isinstance(operation.detail, Write)
    if operation.name != "call" or operation.type.kind != "int":
        return False
    assert isinstance(operation.detail, Definition)
    if knowledge.decorations.custom_replay(operation.detail) is not None:
        return False
    summary = knowledge.summarise(operation.detail)
    if summary is None or summary.trace is None:
        return False
    inner = summary.trace
    for counter in inner.operations:
        if counter.name in ("accumulate", "call") and _gives_slot(knowledge, counter):
            indices = _derived(inner, counter.index)
            if any(operand in indices for at in inner.returns for operand in inner.operations[at].operands):
                return True
    return False


def _derived(trace: Trace, index: int) -> set[int]:
    """The integers that are computed from a value."""
    found = {index}
    for operation in trace.operations[index + 1 :]:
        if operation.name in _ARITHMETIC and any(operand in found for operand in operation.operands):
            found.add(operation.index)
    return found


def _indexed(knowledge: Knowledge, trace: Trace, active: Activity, counter: int) -> int | None:
    indices = _derived(trace, counter)
    for operation in trace.operations[counter + 1 :]:
        operands = operation.operands
        if operation.name in ("store", "accumulate", "atomic"):
            if active.varied[operands[-1]] and any(operand in indices for operand in operands[1:-1]):
                return operation.index
        elif operation.name == "load":
            if active.active(operation.index) and any(operand in indices for operand in operands[1:]):
                return operation.index
        elif operation.name == "call":
            for position in activity.receives(knowledge, operation):
                read = activity.needs(knowledge, operation, position)
                if active.varied[operands[position]] and any(operands[at] in indices for at in read):
                    return operation.index
    return None


def repeated(knowledge: Knowledge, trace: Trace, active: Activity) -> Iterator[Repeated]:
    """The calls of a kernel whose effects the reverse sweep repeats."""
    own = None
    for operation in trace.operations:
        if operation.name != "call":
            continue
        assert isinstance(operation.detail, Definition)
        summary = knowledge.summarise(operation.detail)
        if summary is None or not summary.repeats or knowledge.decorations.custom_replay(operation.detail):
            continue
        if _gives_slot(knowledge, operation) and _indexed(knowledge, trace, active, operation.index) is not None:
            continue  # the slot is the worse of the two
        names = [parameter.name for parameter in getattr(operation.detail.node, "parameters", ())]
        places = dict(zip(names, operation.operands, strict=False))
        for path in sorted(summary.repeats):
            if path[0] not in places:
                continue
            root, fields = trace.root(places[path[0]])
            if trace.operations[root].name != "parameter":
                continue
            array = (str(trace.operations[root].detail), *fields, *path[1:])
            own = own or summarise(knowledge, trace, active)
            effect = next((effect for effect in own.effects if effect.path == array), None)
            if effect is not None and effect.differentiable:  # integers are counters, and their own matter
                yield Repeated(operation.index, array, effect.needed)
                break
