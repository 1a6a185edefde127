"""Emits operations: numbering of equal values, frames, symbols."""

from __future__ import annotations

from collections.abc import Iterator

from warplint.ir import syntax as ir
from warplint.ir.spans import Span
from warplint.kernels.constants import Closure
from warplint.kernels.knowledge import Knowledge
from warplint.kernels.options import Options
from warplint.kernels.text import source
from warplint.kernels.trace import Frame, FrameKind, Operation, Refusal, Trace
from warplint.kernels.types import BOOL, FLOAT, INT, UNKNOWN_TYPE, Type
from warplint.source.project import UNKNOWN, Definition

#: Bodies that unroll to more operations than this are left alone.
MAX_OPERATIONS = 30_000

# Operations that make a new value every time, or that do something.
_IMPURE = frozenset(
    {"unknown", "parameter", "store", "accumulate", "atomic", "call", "loop", "exit", "induction", "return", "jump"}
)


class TooLarge(Exception):
    """The body unrolls to more operations than the analysis takes on."""


class Builder:
    """Builds the trace of one definition."""

    def __init__(self, knowledge: Knowledge, definition: Definition, closure: Closure, options: Options) -> None:
        self.knowledge = knowledge
        self.project = knowledge.project
        self.definition = definition
        self.module = definition.module
        self.closure = closure
        self.options = options
        self.trace = Trace(definition, ())
        assert isinstance(definition.node, ir.FunctionDef)
        self.trace.frames.append(Frame(0, 0, "body", definition.node.span))
        self.symbols: dict[str, int] = {}
        self.frame = 0
        self._numbers: dict[object, int] = {}
        #: Whether loops hold a ``wp.static`` that reads a local, by their identity.
        self.statics: dict[int, bool] = {}
        #: Locals that only one arm of a branch has set: their values, and the frame around the branch.
        self.one_armed: dict[str, tuple[int, int]] = {}
        #: Grows with everything that may change an array: equal loads are equal only in between.
        self._epoch = 0
        self._epochs = 0

    # --- operations ---

    def emit(
        self,
        name: str,
        operands: tuple[int, ...],
        type_: Type,
        span: Span,
        detail: object = None,
        variable: str | None = None,
    ) -> int:
        """Appends an operation and returns its index."""
        operations = self.trace.operations
        index = len(operations)
        if index >= MAX_OPERATIONS:
            raise TooLarge
        number = index
        if name not in _IMPURE:
            numbers = tuple([operations[operand].number for operand in operands])
            try:
                key: object = (name, numbers, detail, self._epoch if name == "load" else 0)
                number = self._numbers.setdefault(key, index)
            except TypeError:  # a detail that cannot be hashed
                number = index
        if name == "copy":
            number = operations[operands[0]].number
        operations.append(Operation(index, name, operands, type_, span, self.frame, detail, number, variable))
        return index

    def type_of(self, index: int) -> Type:
        """The type of a value."""
        return self.trace.operations[index].type

    def constant(self, value: object, span: Span, type_: Type | None = None) -> int:
        """A value that is fixed before the kernel runs."""
        if type_ is None:
            if isinstance(value, bool):
                type_ = BOOL
            elif isinstance(value, int):
                type_ = INT
            elif isinstance(value, float):
                type_ = FLOAT
            else:
                type_ = UNKNOWN_TYPE
        detail = value if isinstance(value, (bool, int, float, str)) else UNKNOWN
        operations = self.trace.operations
        index = len(operations)
        if index >= MAX_OPERATIONS:
            raise TooLarge
        # 1, 1.0 and True are equal keys
        number = index if detail is UNKNOWN else self._numbers.setdefault(("constant", repr(detail)), index)
        operations.append(Operation(index, "constant", (), type_, span, self.frame, detail, number))
        return index

    def unknown(self, span: Span, operands: tuple[int, ...] = (), type_: Type = UNKNOWN_TYPE) -> int:
        """Something that the analysis does not follow."""
        return self.emit("unknown", operands, type_, span)

    def refuse(self, span: Span, what: str, reason: str | None) -> None:
        """Notes what the compiler refuses; a reason of None is no refusal. Where a condition that Warp decides when it
        compiles is not known, it may not compile this at all."""
        if reason is not None and not any(map(self._is_static, self._conditions())):
            self.trace.refusals.append(Refusal(span, what, reason))

    def _conditions(self) -> Iterator[int]:
        """The conditions of the branches around this place."""
        frame = self.trace.frames[self.frame]
        while frame.index > 0:
            if frame.condition is not None:
                yield frame.condition
            frame = self.trace.frames[frame.parent]

    def _is_static(self, condition: int) -> bool:
        """Whether a condition is made of what comes from outside of the kernel alone, not all of it known here."""
        seen: set[int] = set()
        waiting, unknown = [condition], False
        while waiting:
            operation = self.trace.operations[waiting.pop()]
            if operation.index in seen:
                continue
            seen.add(operation.index)
            if not operation.operands:
                if operation.name != "constant":
                    return False
                unknown |= operation.detail is UNKNOWN
            waiting += operation.operands
        return unknown

    def incomplete(self) -> None:
        """Notes that an effect may have been missed."""
        self.trace.complete = False

    def memory_changed(self) -> None:
        """Notes that array elements may have changed."""
        self._epochs += 1
        self._epoch = self._epochs

    def memory(self) -> int:
        """What array elements hold now: equal for places between which nothing may have changed them."""
        return self._epoch

    def memory_is(self, epoch: int) -> None:
        """Goes back to what array elements held at another place, for a path that comes from there."""
        self._epoch = epoch

    # --- frames ---

    def open_frame(self, kind: FrameKind, span: Span, condition: int | None = None, arm: bool = True) -> Frame:
        """Starts a frame inside the current one and enters it."""
        frame = Frame(len(self.trace.frames), self.frame, kind, span, condition, arm)
        self.trace.frames.append(frame)
        self.frame = frame.index
        return frame

    # --- text ---

    def text(self, node: ir.Node) -> str:
        """The source text of a node, on one line."""
        return source(self.module, node.span)
