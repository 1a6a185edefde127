"""The record of a body: a flat list of operations in the order in which Warp's code generator emits them.

Every operation is a value of its own (static single assignment), so a local that is assigned twice is two values.
Static loops are unrolled in the record, dynamic loops appear once with a ``loop`` operation for every value that they
carry.

Names of operations, beside those of Warp's built-ins (``add``, ``mul``, ``sqrt``, ``where``, ...):

=============  ==========================  ==========================================================================
name           operands                    meaning
=============  ==========================  ==========================================================================
parameter      --                          detail: its name
constant       --                          detail: the value, or UNKNOWN where only its constancy is known
unknown        whatever it was made from   something that the analysis does not follow; detail: an ``Opaque``
compare        left, right                 detail: the operator
logic          values                      detail: ``and``, ``or``, ``not``
copy           value                       another name for a value
construct      parts                       a vector, matrix, quaternion, transform, struct or tuple
phi            condition, then, else       what a local holds after a branch
loop           before, next                what a local holds at the head of a dynamic loop; detail: the loop's frame
exit           value, ...                  what a local holds after a dynamic loop; detail: the loop's frame
induction      range arguments             the variable of a dynamic loop; detail: the loop's frame
drawn          random state               the state after a draw; detail: the built-in that drew
view           array, indices              a row of an array
load           array, indices              an element of an array
store          array, indices, value       detail: a ``Write``
accumulate     array, indices, value       ``+=``, ``-=``, atomic add and subtract; detail: a ``Write``
atomic         array, indices, value       any other atomic; detail: a ``Write``
extract        composite, indices          detail: the component
insert         composite, indices, value   a composite with one component replaced; detail: an ``Insert``
insert_add     composite, indices, value   ``v[0] += ...``; detail: an ``Insert``
field          struct                      detail: the field's name
setfield       struct, value               a struct with one field replaced; detail: the field's name
call           arguments                   detail: the called ``Definition``
item           tuple                       detail: which part
return         values
jump           heads, values               ``break``, ``continue``, ``return`` in a dynamic loop: its ``loop``s
                                           and what their locals hold there; detail: a ``Jump``
=============  ==========================  ==========================================================================
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Literal, Union

from warplint.ir.spans import Span
from warplint.kernels.types import Type
from warplint.records import dataclass
from warplint.source.project import Definition

#: ``undecided``: a loop of which it cannot be told whether Warp unrolls it. ``rest``: what follows an early return in
#: a block.
FrameKind = Literal["body", "for", "while", "iterate", "undecided", "branch", "rest"]

#: A component: constant indices as numbers, a range of them as a pair, and ``("value", number)`` for anything else.
Component = tuple[Union[int, tuple[int, int], tuple[str, int]], ...]

#: Operations that do nothing but make a value.
_KEPT = frozenset(
    {"load", "view", "extract", "field", "construct", "copy", "add", "sub", "mul", "div", "neg", "float", "int"}
    | {"compare", "logic", "phi", "where", "loop", "exit"}
)


@dataclass(slots=True)
class Frame:
    """A part of the body that runs under one condition, or in one dynamic loop.

    ``condition`` is the operation that decides a branch, ``arm`` which way it must turn out.
    """

    index: int
    parent: int
    kind: FrameKind
    span: Span
    condition: int | None = None
    arm: bool = True

    @property
    def is_loop(self) -> bool:
        """Whether this is a dynamic loop."""
        return self.kind in ("for", "while", "iterate", "undecided")


@dataclass(frozen=True, slots=True)
class Write:
    """How an array element is written: the statement's target and operator (``=``, ``*=``, ``atomic_max``).

    ``partial``: only a component or field of the element; ``member``: the field, if it is one of a struct. ``old`` is
    the load of the element that an augmented assignment made, ``value`` the right side before the operator was applied.
    """

    target: str
    operator: str
    statement: Span
    partial: bool = False
    old: int | None = None
    value: int | None = None
    member: str | None = None


@dataclass(frozen=True, slots=True)
class Insert:
    """How a component is written. ``attribute``: spelled ``v.x``."""

    target: str
    operator: str
    component: Component
    variable: str
    attribute: bool
    statement: Span
    in_struct: bool = False


@dataclass(frozen=True, slots=True)
class Jump:
    """What a jump does, and the frame of the loop that it leaves or continues; ``return`` makes one for each loop."""

    kind: Literal["break", "continue", "return"]
    loop: int


@dataclass(frozen=True, slots=True)
class Opaque:
    """A call that the analysis does not look into: of ``wp.grad(name)``, or of a native function."""

    function: Literal["grad", "native"]
    name: str
    definition: Definition | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """Something that Warp's compiler refuses: ``what`` in a word or two with dashes, ``reason`` as words."""

    span: Span
    what: str
    reason: str


@dataclass(frozen=True, slots=True)
class Sampling:
    """A call that samples a volume, by operations. ``dtype`` is the type of the values, ``grad`` what the gradient is
    written to, None without one, and ``mode`` the name that ``sampling_mode`` has, empty where that is not known."""

    call: int
    name: str
    mode: str
    dtype: Type | None
    point: int
    grad: int | None


#: The ``detail`` of an array that is made in a kernel: nothing that a parameter could be called.
SCRATCH = "<made here>"


# Not frozen: the second operand of a ``loop`` is known only at the loop's end.
@dataclass(slots=True)
class Operation:
    """One operation and the value that it makes. ``number`` is equal for operations that make equal values.

    ``variable`` is the source name for values that belong to one.
    """

    index: int
    name: str
    operands: tuple[int, ...]
    type: Type
    span: Span
    frame: int
    detail: object = None
    number: int = -1
    variable: str | None = None


@dataclass(slots=True)
class Trace:
    """The record of one definition. ``complete`` is False when something in it could not be followed.

    ``refusals`` is what the compiler refuses about its types and names, as far as they are certain. ``one_armed`` are
    the places that read a local which only one arm of a branch before them has set. ``samplings`` are the calls that
    sample a volume.
    """

    definition: Definition
    parameters: tuple[tuple[str, Type, int], ...]
    operations: list[Operation] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    complete: bool = True
    returns: list[int] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    samplings: list[Sampling] = field(default_factory=list)
    one_armed: list[Span] = field(default_factory=list)
    _constants: dict[int, dict[int, object]] = field(default_factory=dict)

    def loops(self, frame: int) -> Iterator[int]:
        """The dynamic loops around a frame (itself included), innermost first."""
        while frame > 0:
            if self.frames[frame].is_loop:
                yield frame
            frame = self.frames[frame].parent

    def around(self, frame: int) -> Iterator[Frame]:
        """A frame and those around it, innermost first."""
        while True:
            yield self.frames[frame]
            if frame == 0:
                return
            frame = self.frames[frame].parent

    def inside(self, frame: int, outer: int) -> bool:
        """Whether ``frame`` is ``outer`` or lies in it."""
        while frame > outer:
            frame = self.frames[frame].parent
        return frame == outer

    @property
    def has_loops(self) -> bool:
        """Whether some value is carried through a dynamic loop. Everything else is made from what stands before it."""
        return any(frame.is_loop for frame in self.frames)

    def exclusive(self, one: int, other: int) -> bool:
        """Whether two frames are in opposite arms of one branch, or in branches for one value that is another constant
        in each."""
        arms = {frame.condition: frame.arm for frame in self.around(one) if frame.condition is not None}
        if any(frame.condition in arms and arms[frame.condition] != frame.arm for frame in self.around(other)):
            return True
        here, there = self._selected(one), self._selected(other)
        return any(number in there and there[number] != constant for number, constant in here.items())

    def _selected(self, frame: int) -> dict[int, object]:
        """The values (by their numbers) that are known constants in a frame, by the branches around it."""
        if frame not in self._constants:
            found: dict[int, object] = {}
            for part in self.around(frame):
                if part.condition is not None:
                    found.update(self._equal(part.condition, part.arm))
            self._constants[frame] = found
        return self._constants[frame]

    def _equal(self, condition: int, holds: bool) -> Iterator[tuple[int, object]]:
        """What a condition says to be equal to a constant, if it holds or does not."""
        operation = self.operations[condition]
        if operation.name == "logic" and operation.detail == "and" and holds:
            for operand in operation.operands:
                yield from self._equal(operand, True)
        elif operation.name == "compare" and operation.detail == ("==" if holds else "!="):
            one, other = (self.operations[operand] for operand in operation.operands)
            for value, constant in ((one, other), (other, one)):
                if constant.name == "constant" and isinstance(constant.detail, (bool, int, float)):
                    yield value.number, constant.detail

    def following(self, index: int) -> Iterator[Operation]:
        """The operations after one; those of a dynamic loop come round again."""
        yield from self.operations[index + 1 :]
        if next(self.loops(self.operations[index].frame), None) is not None:
            yield from self.operations

    def forward(self) -> frozenset[int]:
        """The dynamic loops whose iterations the reverse sweep runs in forward order.

        A ``for`` whose variable nothing reads is one of them: only that variable runs backward. What is computed from
        it and used by nothing does not count.
        """
        inductions = [operation for operation in self.operations if operation.name == "induction"]
        read = self._used() if inductions else set()
        backward = {operation.detail for operation in inductions if operation.index in read}
        return frozenset(
            frame.index
            for frame in self.frames
            if frame.kind in ("while", "iterate") or (frame.kind == "for" and frame.index not in backward)
        )

    def _used(self) -> set[int]:
        """The values from which something is computed that is not only kept in locals."""
        stack = [frame.condition for frame in self.frames if frame.condition is not None]
        for operation in self.operations:
            if operation.name not in _KEPT:
                stack.extend(operation.operands)
        used: set[int] = set()
        while stack:
            index = stack.pop()
            if index not in used:
                used.add(index)
                stack.extend(self.operations[index].operands)
        return used

    def loads_from(self, array: int) -> bool:
        """Whether the body itself reads elements of an array."""
        root = self.root(array)
        return any(
            operation.name == "load" and self.root(operation.operands[0]) == root for operation in self.operations
        )

    def root(self, index: int) -> tuple[int, tuple[str, ...]]:
        """The operation that an array value comes from, and the fields passed on the way from it."""
        path: list[str] = []
        while True:
            operation = self.operations[index]
            if operation.name in ("view", "copy", "exit", "loop"):
                index = operation.operands[0]
            elif operation.name == "field":
                path.append(str(operation.detail))
                index = operation.operands[0]
            elif operation.name == "setfield":
                if path and operation.detail == path[-1]:
                    path.pop()
                    index = operation.operands[1]
                else:
                    index = operation.operands[0]
            else:
                return index, tuple(reversed(path))
