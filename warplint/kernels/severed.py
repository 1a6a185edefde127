"""Values that a gradient does not pass although what they are computed from is differentiated.

Four causes: a function that is piecewise constant (its zero is right), a built-in whose adjoint Warp lacks, a native
snippet without one, and a derivative that ``wp.grad`` computes, which is not differentiated again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from warplint.ir import syntax as ir
from warplint.kernels import activity, builtins
from warplint.kernels.activity import Activity
from warplint.kernels.knowledge import Knowledge
from warplint.kernels.trace import Opaque, Operation, Trace, Write
from warplint.records import dataclass
from warplint.source.project import Definition

Cause = Literal["piecewise", "built-in", "native", "grad"]

_SINKS = ("store", "accumulate", "atomic", "return")
_SPELLED = {"mod": "%", "floordiv": "//", "compare": "comparison"}


@dataclass(frozen=True, slots=True)
class Severed:
    """An operation that passes no gradient on to ``operand``, both by their index."""

    operation: int
    operand: int
    cause: Cause
    function: str
    #: ``value`` of an argument, ``result`` where it is what an atomic operation returns.
    part: str = "value"


class SeveredPaths:
    """Finds them in one trace."""

    def __init__(self, knowledge: Knowledge, trace: Trace, active: Activity) -> None:
        self._knowledge = knowledge
        self._trace = trace
        self._active = active
        self._flows: list[int] | None = None

    def find(self) -> Iterator[Severed]:
        """The severed paths, in the order of the record."""
        for operation in self._trace.operations:
            name = operation.name
            if name in ("store", "accumulate", "atomic"):
                yield from self._atomic(operation)
            elif name == "unknown":
                yield from self._opaque(operation)
            elif self._active.useful[operation.index]:
                if builtins.flat(name):
                    yield from self._piecewise(operation)
                else:
                    yield from self._lacking(operation)

    # --- piecewise constant ---

    def _piecewise(self, operation: Operation) -> Iterator[Severed]:
        operands = [operand for operand in operation.operands if self._active.varied[operand]]
        if not operands or (operation.name == "int" and operation.type.kind == "bool"):
            return
        flows = self._sources()
        lost = 0
        for operand in operands:
            lost |= flows[operand]
        if lost and self._last(operation.index, lost, flows):
            function = _SPELLED.get(operation.name, operation.name)
            yield Severed(operation.index, operands[0], "piecewise", function)

    def _sources(self) -> list[int]:
        """For each value, as bits, the elements and parameters whose gradient it passes on."""
        if self._flows is not None:
            return self._flows
        operations = self._trace.operations
        flows = self._flows = [0] * len(operations)
        bits: dict[object, int] = {}
        for _ in range(2):  # a loop's second operand comes after it
            for operation in operations:
                index = operation.index
                if not self._active.varied[index]:
                    continue
                if operation.name in ("load", "parameter") or not operation.operands:
                    flows[index] = 1 << bits.setdefault(self._element(operation), len(bits))
                    continue
                for position in activity.receives(self._knowledge, operation):
                    flows[index] |= flows[operation.operands[position]]
        return flows

    def _element(self, operation: Operation) -> object:
        """Equal for loads of one element, whenever they are made."""
        if operation.name != "load":
            return operation.number
        operations = self._trace.operations
        root, fields = self._trace.root(operation.operands[0])
        return (root, fields, tuple(operations[index].number for index in operation.operands[1:]))

    def _last(self, index: int, lost: int, flows: list[int]) -> bool:
        """Whether some result depends on a lost source through the operation and in no other way."""
        reached = {index}
        for operation in self._trace.following(index):
            hit = [position for position, operand in enumerate(operation.operands) if operand in reached]
            if not hit:
                continue
            if operation.name in _SINKS:
                values = operation.operands[-1:] if operation.name != "return" else operation.operands
                if any(
                    value in reached and lost & ~flows[value] and self._floating(operation, value) for value in values
                ):
                    return True
            elif operation.type.kind != "unknown" and any(
                position in activity.receives(self._knowledge, operation) for position in hit
            ):
                reached.add(operation.index)
        return False

    def _floating(self, sink: Operation, value: int) -> bool:
        if sink.name == "return":
            # an integer or a truth value that a func returns is an index or a condition until somebody shows otherwise
            return self._knowledge.types.differentiable(self._trace.operations[value].type)
        element = self._trace.operations[sink.operands[0]].type.element
        return element is not None and self._knowledge.types.differentiable(element)

    # --- adjoints that are missing ---

    def _lacking(self, operation: Operation) -> Iterator[Severed]:
        if self._in_place(operation):
            return  # ``a[i] %= b`` has a rule of its own
        types = tuple(self._trace.operations[operand].type for operand in operation.operands)
        for position in builtins.lacking(operation.name, types):
            if self._active.varied[operation.operands[position]]:
                function = _SPELLED.get(operation.name, operation.name)
                yield Severed(operation.index, operation.operands[position], "built-in", function)

    def _in_place(self, operation: Operation) -> bool:
        following = self._trace.operations[operation.index + 1 : operation.index + 2]
        return any(
            one.name == "store" and isinstance(one.detail, Write) and one.detail.old in operation.operands
            for one in following
        )

    def _atomic(self, operation: Operation) -> Iterator[Severed]:
        if (
            operation.name == "store"
            or not isinstance(operation.detail, Write)
            or not self._floating(operation, operation.operands[-1])
        ):
            return
        call = operation.detail.operator
        if call.startswith("atomic_") and not builtins.differentiable(call):
            for operand in operation.operands[-2:] if call == "atomic_cas" else operation.operands[-1:]:
                if self._active.varied[operand]:
                    yield Severed(operation.index, operand, "built-in", call)
                    return
        if self._active.useful[operation.index] and self._active.varied[operation.operands[0]]:
            function = {"+=": "atomic_add", "-=": "atomic_sub"}.get(call, call)
            yield Severed(operation.index, operation.operands[0], "built-in", function, "result")

    # --- what the analysis does not look into ---

    def _opaque(self, operation: Operation) -> Iterator[Severed]:
        detail = operation.detail
        if not isinstance(detail, Opaque):
            return
        varied = [operand for operand in operation.operands if self._active.varied[operand]]
        if detail.function == "grad":
            if varied and self._active.useful[operation.index]:
                yield Severed(operation.index, varied[0], "grad", detail.name)
        elif detail.definition is not None:
            snippets = native_snippets(self._knowledge, detail.definition)
            if snippets is None or snippets.adjoint:
                return
            written, read = self._native(operation, detail.definition, snippets.forward)
            returned = self._active.useful[operation.index] and self._knowledge.types.differentiable(operation.type)
            if read and (written or returned):
                yield Severed(operation.index, read[0], "native", detail.name)

    def _native(self, call: Operation, definition: Definition, text: str) -> tuple[list[int], list[int]]:
        """The operands that hold floats and that the snippet writes elements of, and the varied ones that it reads."""
        written: list[int] = []
        read: list[int] = []
        for parameter, operand in zip(getattr(definition.node, "parameters", ()), call.operands, strict=False):
            name = re.escape(parameter.name)
            stores = (
                rf"\b{name}\s*(?:\.\s*data\s*)?\[[^;=]*\]\s*[-+*/]?=(?!=)|\b(?:atomic_\w+|store)\s*\(\s*&?\s*{name}\b"
            )
            if self._trace.operations[operand].type.kind == "array" and re.search(stores, text):
                if self._knowledge.types.differentiable(self._trace.operations[operand].type):
                    written.append(operand)
            elif self._active.varied[operand] and re.search(rf"\b{name}\b", text):
                read.append(operand)
        return written, read


@dataclass(frozen=True, slots=True)
class Snippets:
    """The text of a native function, as far as it is known, and whether it comes with an adjoint."""

    forward: str
    adjoint: bool


def native_snippets(knowledge: Knowledge, definition: Definition) -> Snippets | None:
    """The snippets that ``@wp.func_native`` was given, None where they are not known."""
    for decorator in definition.node.decorators:
        if not isinstance(decorator, ir.Call):
            continue
        if knowledge.project.external(definition.module, decorator.func, definition.scope) != "warp.func_native":
            continue
        if any(keyword.name is None for keyword in decorator.keywords):
            return None
        forward = decorator.keyword("snippet") or (decorator.args[0] if decorator.args else None)
        adjoint = decorator.keyword("adj_snippet") or (decorator.args[1] if len(decorator.args) > 1 else None)
        text = knowledge.constants.evaluate(definition.module, forward, definition.scope)
        given = adjoint is not None and not (isinstance(adjoint, ir.Constant) and adjoint.value is None)
        return Snippets(text if isinstance(text, str) else "", given)
    return None
