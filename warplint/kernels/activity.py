"""Which values carry a derivative, and which derivatives are ever used: activity analysis on a trace.

*Varied*: the value depends differentiably on something that can need a gradient (array elements; in a func also its
floating-point parameters). *Useful*: an output (an array element, a func's result) depends differentiably on the value.
An adjoint does something only for operands that are varied, in operations whose results are useful.
"""

from __future__ import annotations

from collections.abc import Collection

from warplint.ir.effects import Path
from warplint.kernels import builtins
from warplint.kernels.invariance import Invariance
from warplint.kernels.knowledge import Knowledge
from warplint.kernels.makeup import Makeup
from warplint.kernels.summary import RESULT
from warplint.kernels.trace import SCRATCH, Jump, Operation, Trace
from warplint.kernels.zeros import zeros
from warplint.records import dataclass
from warplint.source.project import Definition

_SINKS = frozenset({"store", "accumulate", "atomic"})
#: Built-ins that store into the arrays that they are given.
ARRAY_SINKS = ("tile_store", "tile_atomic_add", "volume_store", "tile_scatter_add")


@dataclass(frozen=True, slots=True)
class Activity:
    """One flag for each operation of a trace; and the operations that make nothing but zero."""

    varied: bytearray
    useful: bytearray
    zeros: frozenset[int] = frozenset()

    def active(self, index: int) -> bool:
        """Whether a gradient reaches the value and is passed on to an input."""
        return bool(self.varied[index] and self.useful[index])


def receives(knowledge: Knowledge, operation: Operation) -> tuple[int, ...]:
    """The positions of the operands that get a gradient from the operation's result."""
    if operation.name == "call":
        assert isinstance(operation.detail, Definition)
        summary = knowledge.summarise(operation.detail)
        if summary is None:
            return ()
        return tuple(position for position in summary.differentiated if position < len(operation.operands))
    return builtins.receives(operation.name, len(operation.operands))


def needs(knowledge: Knowledge, operation: Operation, position: int) -> tuple[int, ...]:
    """The positions of the operands whose values the adjoint of operand ``position`` reads."""
    if operation.name == "call":
        assert isinstance(operation.detail, Definition)
        summary = knowledge.summarise(operation.detail)
        if summary is None:
            return ()
        return tuple(index for index in summary.needs.get(position, ()) if index < len(operation.operands))
    if operation.name in ("load", "view"):
        return tuple(range(1, len(operation.operands)))
    return builtins.needs(operation.name, position, len(operation.operands))


def analyse(
    knowledge: Knowledge, trace: Trace, sources: Collection[int] | None, constant: Collection[int] = ()
) -> Activity:
    """The activity of a trace. ``sources`` are the operations of the parameters that are differentiable inputs;
    None: arrays, and in a func all parameters. ``constant`` are operations that hold no gradient all the same; arrays
    among them pass none to what is stored in them either."""
    operations = trace.operations
    nothing = zeros(trace)
    edges = [_passed(receives(knowledge, operation), operation, nothing) for operation in operations]
    varied = bytearray(len(operations))
    useful = bytearray(len(operations))
    _forward(knowledge, trace, edges, varied, sources, constant)
    _backward(knowledge, trace, edges, useful, constant)
    return Activity(varied, useful, nothing)


def _passed(received: tuple[int, ...], operation: Operation, nothing: frozenset[int]) -> tuple[int, ...]:
    """The positions of a product's or quotient's operands whose derivative is not zero because of a factor."""
    if operation.name not in ("mul", "div") or nothing.isdisjoint(operation.operands):
        return received
    left, right = (operand in nothing for operand in operation.operands)
    return tuple(at for at in received if not (left if at == 1 else right and operation.name == "mul"))


def _forward(
    knowledge: Knowledge,
    trace: Trace,
    edges: list[tuple[int, ...]],
    varied: bytearray,
    sources: Collection[int] | None,
    constant: Collection[int],
) -> None:
    differentiable = knowledge.types.differentiable
    operations = trace.operations
    scratch: set[int] = set()
    makeup = Makeup(trace, Invariance(trace), through=True)
    # What is made of nothing that has a gradient has none; the others are asked until they have one.
    left = [operation for operation in operations if operation.index not in constant and _may_vary(operation, edges)]
    changed = True
    while changed:
        changed = False
        for operation in left:
            index = operation.index
            name = operation.name
            if name == "parameter":
                if operation.type.kind == "array":
                    found = differentiable(operation.type)
                else:
                    found = differentiable(operation.type) and (sources is None or index in sources)
            elif name == "unknown":
                found = operation.detail == SCRATCH and index in scratch
            elif name in _SINKS:
                root, _ = trace.root(operation.operands[0])
                if operations[root].detail == SCRATCH and root not in scratch and varied[operation.operands[-1]]:
                    scratch.add(root)
                    changed = True
                continue
            elif operation.type.kind == "array":
                # an array in a struct is an input whatever the struct's other fields are
                if name == "field" or not operation.operands:
                    found = differentiable(operation.type)
                else:
                    found = bool(varied[operation.operands[0]])
            else:
                found = any(varied[operation.operands[position]] for position in edges[index])
                found = found or (name == "call" and _from_structs(knowledge, trace, operation, constant))
                found = found and differentiable(operation.type)
                if found and name == "extract":
                    found = any(varied[part] for part in makeup.of(operation))
            if found:
                varied[index] = 1
                changed = True
        changed = changed and (bool(scratch) or trace.has_loops)
        if changed:
            left = [operation for operation in left if not varied[operation.index]]


def _may_vary(operation: Operation, edges: list[tuple[int, ...]]) -> bool:
    """Whether an operation can hold a gradient, or give one to an array of the body's own."""
    name = operation.name
    if name == "unknown":
        return operation.detail == SCRATCH
    return bool(edges[operation.index]) or name == "parameter" or name in _SINKS or operation.type.kind == "array"


def _from_structs(knowledge: Knowledge, trace: Trace, operation: Operation, constant: Collection[int]) -> bool:
    """Whether what a func returns depends on elements of arrays that are in the structs which it is given.

    Such a struct is an input for that, even where its own numbers are none.
    """
    assert isinstance(operation.detail, Definition)
    if all(trace.operations[operand].type.kind != "struct" for operand in operation.operands):
        return False
    summary = knowledge.summarise(operation.detail)
    if summary is None:
        return False
    names = [parameter.name for parameter in getattr(operation.detail.node, "parameters", ())]
    places = dict(zip(names, operation.operands, strict=False))
    without = _constant_paths(knowledge, trace) if constant else frozenset()
    for source, target in summary.flows:
        if target == RESULT and len(source) > 1 and source[0] in places:
            root, fields = trace.root(places[source[0]])
            parameter = trace.operations[root]
            known = parameter.name == "parameter" and root not in constant
            if known and (str(parameter.detail), *fields, *source[1:]) not in without:
                return True
    return False


def _constant_paths(knowledge: Knowledge, trace: Trace) -> frozenset[Path]:
    """The arrays that no tape passes with a gradient, by their paths."""
    use = knowledge.uses.get((trace.definition.module.path, trace.definition.qualname))
    return frozenset() if use is None else frozenset(use.constant)


def without_gradient(knowledge: Knowledge, trace: Trace) -> frozenset[int]:
    """The operations that are arrays which no tape passes with a gradient: a kernel's parameters, or fields of them.

    This is for judging a kernel by its use. What a kernel does to its arguments does not depend on who launches it.
    """
    definition = trace.definition
    use = knowledge.uses.get((definition.module.path, definition.qualname))
    if use is None or not use.constant:
        return frozenset()
    paths: dict[int, tuple[str, ...]] = {index: (name,) for name, _, index in trace.parameters}
    for operation in trace.operations:
        if operation.name == "field" and operation.operands[0] in paths:
            paths[operation.index] = (*paths[operation.operands[0]], str(operation.detail))
    return frozenset(index for index, path in paths.items() if path in use.constant)


def _backward(
    knowledge: Knowledge,
    trace: Trace,
    edges: list[tuple[int, ...]],
    useful: bytearray,
    constant: Collection[int],
) -> None:
    operations = trace.operations
    has_loops = trace.has_loops
    cut = {operation.detail.loop for operation in operations if isinstance(operation.detail, Jump)}
    #: Carried values that get a gradient in their loop, and not only after it.
    inside: set[int] = set()
    changed = True
    while changed:
        changed = False
        for operation in reversed(operations):
            name = operation.name
            if name in _SINKS:
                if not _holds_floats(knowledge, trace, operation) or _owner(trace, operation.operands[0]) in constant:
                    continue
                targets: tuple[int, ...] = (operation.operands[-1],)
            elif name == "return" or name in ARRAY_SINKS:
                targets = operation.operands
            elif name == "call":
                targets = tuple(operation.operands[position] for position in edges[operation.index])
                if not useful[operation.index]:
                    assert isinstance(operation.detail, Definition)
                    summary = knowledge.summarise(operation.detail)
                    inner = summary.stored if summary is not None else ()
                    targets = tuple(operation.operands[p] for p in inner if p < len(operation.operands))
            elif name == "loop" and operation.index not in inside and operation.detail not in cut:
                if not useful[operation.index]:
                    continue
                # set in every iteration: what it was before is of no use, unless there is none at all
                targets = operation.operands[1:]
            elif useful[operation.index]:
                targets = tuple(operation.operands[position] for position in edges[operation.index])
            else:
                continue
            for target in targets:
                if not useful[target]:
                    useful[target] = 1
                    changed = has_loops
                if name != "exit" and operations[target].name == "loop" and target not in inside:
                    inside.add(target)
                    changed = True


def _owner(trace: Trace, array: int) -> int:
    """The array that a row, or another name, belongs to."""
    while trace.operations[array].name in ("view", "copy"):
        array = trace.operations[array].operands[0]
    return array


def _holds_floats(knowledge: Knowledge, trace: Trace, operation: Operation) -> bool:
    element = trace.operations[operation.operands[0]].type.element
    return element is not None and knowledge.types.differentiable(element)
