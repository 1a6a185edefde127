"""Adjoints that older versions of Warp get wrong and newer ones right (``docs/versions.md`` has the experiments).

- Before 1.13, the adjoint of a store into an element read the gradient of the element and left it there: what was in
  the element before, another stored value or one that was read, got it as well.
- Before 1.14, a store into a component or member of an element (``a[i][0] = x``) passed no gradient to what was stored;
  before 1.18, the same for ``+=`` and other operators.
- Before 1.15, a store into a member of a struct that is no element of an array (``s.a = x``) passed no gradient either:
  not for a local struct, nor one that a func was given, makes or returns.
- From 1.11 to 1.16, an element of an array that is one side of a conditional expression as it is (``a[i] if c else b``)
  got no gradient: ``Adjoint.emit_IfExp`` of Warp's ``codegen.py`` loaded it where newer versions copy it.

The newest versions refuse or differentiate all of that, so that nothing is looked for where a file is for one of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from warplint.ir.spans import Span
from warplint.kernels.activity import Activity
from warplint.kernels.elements import Elements
from warplint.kernels.invariance import Invariance
from warplint.kernels.knowledge import Knowledge
from warplint.kernels.losses import written
from warplint.kernels.trace import SCRATCH, Insert, Operation, Trace, Write
from warplint.records import dataclass

#: The first versions without these defects.
_CONSUMED, _COMPONENTS, _MEMBERS, _CONDITIONAL, _UPDATED = (1, 13), (1, 14), (1, 15), (1, 17), (1, 18)
#: The first version that loads before it chooses; 1.8 did not.
_LOADING = (1, 11)


@dataclass(frozen=True, slots=True)
class Old:
    """A place whose adjoint the version in use gets wrong: the kind of fact, the statement or expression, the element
    and the operator as they are written, and ``other`` places with what is said about them."""

    kind: str
    span: Span
    target: str
    operator: str
    other: tuple[tuple[Span, str], ...] = ()


class Versioned:
    """Finds them in one trace."""

    def __init__(self, knowledge: Knowledge, trace: Trace, active: Activity) -> None:
        self._knowledge = knowledge
        self._trace = trace
        self._active = active
        self._version = knowledge.warp_version(trace.definition.module.path)

    def find(self) -> Iterator[Old]:
        """One for each statement, in the order in which they stand."""
        if self._version >= _UPDATED:
            return
        seen: set[tuple[str, Span]] = set()
        for old in (*self._components(), *self._members(), *self._conditionals(), *self._stores()):
            if (old.kind, old.span) not in seen:
                seen.add((old.kind, old.span))
                yield old

    def _components(self) -> Iterator[Old]:
        for operation in self._trace.operations:
            write = written(operation)
            if write is None or not write.partial or write.value is None or not self._active.varied[write.value]:
                continue
            element = self._trace.operations[operation.operands[0]].type.element
            composite = element is not None and element.is_composite
            if write.operator != "=" and composite:
                yield Old("element-component-updated", write.statement, write.target, write.operator)
            elif write.operator == "=" and (composite or write.member) and self._version < _COMPONENTS:
                yield Old("element-component-stored", write.statement, write.target, write.operator)

    def _members(self) -> Iterator[Old]:
        """Stores into members of structs; stores into a component of one are wrong in newer versions too."""
        if self._version >= _MEMBERS:
            return
        operations = self._trace.operations
        for operation in operations:
            if operation.name != "setfield" or not self._active.useful[operation.index]:
                continue
            value = operation.operands[1]
            if self._active.varied[value] and not isinstance(operations[value].detail, Insert):
                yield Old(
                    "struct-member-stored", operation.span, f"{operation.variable or 'struct'}.{operation.detail}", "="
                )

    def _conditionals(self) -> Iterator[Old]:
        if not _LOADING <= self._version < _CONDITIONAL:
            return
        operations = self._trace.operations
        for operation in operations:
            if operation.name != "phi" or operation.variable or not self._active.useful[operation.index]:
                continue
            for side in operation.operands[1:]:
                load = operations[side]
                frame = self._trace.frames[load.frame]
                if load.name == "load" and frame.span == load.span and self._active.varied[side]:
                    yield Old("conditional-element", load.span, "", "")

    def _stores(self) -> Iterator[Old]:
        """Stores over a value that has a gradient."""
        if self._version >= _CONSUMED:
            return
        elements = Elements(self._knowledge, self._trace, Invariance(self._trace, self._knowledge))
        for first, second in elements.stored_twice():
            if self._active.varied[first.operands[-1]]:
                write = self._whole(second)
                if write is not None and self._whole(first) is not None:
                    yield self._over(write, first.span, "the value stored here gets the gradient too")
        for load, (store, _) in elements.overwritten().items():
            read = self._trace.operations[load]
            write = self._whole(self._trace.operations[store])
            if write is not None and read.name == "load" and self._active.varied[load]:
                yield self._over(write, read.span, "the value read here gets the gradient too")

    def _over(self, write: Write, other: Span, text: str) -> Old:
        places = () if other == write.statement else ((other, text),)
        return Old("element-stored-over", write.statement, write.target, write.operator, places)

    def _whole(self, operation: Operation) -> Write | None:
        """A plain store of a whole element into an array from outside."""
        write = written(operation)
        if operation.name != "store" or write is None or write.partial or write.operator != "=":
            return None
        root, _ = self._trace.root(operation.operands[0])
        element = self._trace.operations[operation.operands[0]].type.element
        known = element is not None and self._knowledge.types.differentiable(element)
        return write if known and self._trace.operations[root].detail != SCRATCH else None
