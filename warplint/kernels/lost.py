"""Lost values: primal values that an adjoint reads and that are not there any more when the reverse sweep runs.

Warp's backward kernel runs the body once more, then goes through it backwards. What this gives back is *not* what the
forward sweep had in these cases, the *losses*:

- ``carried``: a local that a dynamic loop carries from one iteration to the next. Locals are not recorded; in the
  reverse sweep of a ``for`` they advance forward from their first value while the loop variable runs backward, and
  every adjoint sees the value after the update. In a ``while`` and in loops over queries the iterations run forward
  once more, so that what was computed in an iteration is right, but the carried local itself holds the value after its
  update, and the adjoints of the iterations come in the wrong order.
- ``result``: a local that a dynamic loop sets, after the loop: the loop is not replayed, so it holds what it held
  before.
- ``mutated``: a local as it was *before* a dynamic loop that sets it, or before one of its components is stored: both
  change it in place, so that adjoints of earlier operations see the later value. What was computed from it is right.
- ``overwritten``: an array element that is written after it was read: arrays are read as they are at the end.
- ``scratch``: an array made in the kernel itself, which the replay does not fill.

A value computed from a lost value is lost as well. A ``Lost`` is an adjoint that does something (its operand is
varied, its result useful) and reads a lost value: as a number, as an index, or through the condition of a branch.
Rules of the catalogue are classes of these.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from warplint.ir.spans import Span
from warplint.kernels import activity, builtins, layout
from warplint.kernels.activity import Activity
from warplint.kernels.knowledge import Knowledge
from warplint.kernels.trace import Frame, Insert, Operation, Trace, Write

LossKind = Literal["carried", "result", "mutated", "overwritten", "scratch"]
Via = Literal["value", "index", "condition", "order"]

_EFFECTS = frozenset({"store", "accumulate", "atomic"})
_EXTREMA = ("max", "min")
_CHOICES = ("phi", "where", "select")


@dataclass(frozen=True, slots=True)
class Loss:
    """A value that is gone: the operation that held it, and for an array element the store that overwrote it."""

    kind: LossKind
    origin: int
    overwriter: int | None = None


@dataclass(frozen=True, slots=True)
class Lost:
    """``reader``'s adjoint reads ``value``, which a loss has changed."""

    loss: Loss
    reader: int
    value: int
    via: Via
    place: Span


class LostValues:
    """Finds the lost values of one trace."""

    def __init__(self, knowledge: Knowledge, trace: Trace, active: Activity) -> None:
        self._knowledge = knowledge
        self._trace = trace
        self._active = active
        self._losses: list[Loss] = []
        count = len(trace.operations)
        #: Bit sets of losses: of a value computed from lost ones, and of the carried variable itself.
        self._stale = [0] * count
        self._direct = [0] * count
        #: The arrays that each loop writes, as far as they were asked for.
        self._writes: dict[int, set[object]] = {}
        self._settled: dict[int, frozenset[int]] = {}

    def find(self) -> Iterator[Lost]:
        """All lost values, in the order of the operations that read them."""
        trace = self._trace
        if not any(frame.is_loop for frame in trace.frames) and not self._overwrites_possible():
            return
        self._spread()
        for operation in trace.operations:
            yield from self._of(operation)
        yield from self._wrong_order()

    def _overwrites_possible(self) -> bool:
        return any(operation.name in _EFFECTS or operation.detail == "scratch" for operation in self._trace.operations)

    # --- losses ---

    def _loss(self, loss: Loss) -> int:
        self._losses.append(loss)
        return 1 << (len(self._losses) - 1)

    def _spread(self) -> None:
        """Fills ``_stale`` and ``_direct``."""
        trace = self._trace
        own: dict[int, int] = {}
        overwritten = self._overwritten()
        for operation in trace.operations:
            if operation.name == "loop" and self._kind(operation) != "undecided":
                own[operation.index] = self._loss(Loss("carried", operation.index))
                self._direct[operation.operands[0]] |= self._loss(Loss("mutated", operation.index))
            elif operation.name in ("insert", "insert_add"):
                self._direct[operation.operands[0]] |= self._loss(Loss("mutated", operation.index))
            elif operation.name == "exit" and self._kind(operation) != "undecided":
                own[operation.index] = self._loss(Loss("result", operation.index))
            elif operation.index in overwritten:
                own[operation.index] = self._loss(Loss("overwritten", operation.index, overwritten[operation.index]))
            elif (
                operation.name == "load" and trace.operations[trace.root(operation.operands[0])[0]].detail == "scratch"
            ):
                own[operation.index] = self._loss(Loss("scratch", operation.index))
        changed = True
        while changed:
            changed = False
            for operation in trace.operations:
                index = operation.index
                bits = own.get(index, 0)
                if operation.name == "loop":
                    if self._kind(operation) != "for":
                        self._direct[index] |= bits
                        bits = 0
                elif operation.name == "exit":
                    if self._kind(operation) == "undecided":
                        bits |= self._stale[operation.operands[0]]
                else:
                    for operand in self._components(operation):
                        bits |= self._stale[operand]
                    for operand in operation.operands:
                        if self._direct[operand] and operation.frame:
                            bits |= self._replayed_late(operation, self._direct[operand])
                if bits | self._stale[index] != self._stale[index]:
                    self._stale[index] |= bits
                    changed = True

    def _components(self, operation: Operation) -> tuple[int, ...]:
        """The values that an operation is computed from: for an extracted component not the whole composite."""
        if operation.name != "extract":
            return operation.operands
        parts = layout.parts(self._trace, operation)
        source = self._trace.operations[parts[-1]] if parts else None
        if source is not None and source.name == "loop" and self._untouched(source, operation.detail):
            parts = (*parts[:-1], source.operands[0])
        return (*parts, *operation.operands[1:])

    def _untouched(self, head: Operation, component: object) -> bool:
        """Whether the loop stores only other components of the composite that it carries."""
        if len(head.operands) < 2 or not isinstance(component, tuple):
            return False
        operation = self._trace.operations[head.operands[1]]
        while operation.name in ("insert", "insert_add"):
            insert = operation.detail
            assert isinstance(insert, Insert)
            if layout.overlap(insert.component, component) != "apart":
                return False
            operation = self._trace.operations[operation.operands[0]]
        return operation.index == head.index

    def _replayed_late(self, operation: Operation, bits: int) -> int:
        """The losses among ``bits`` that have happened when the reverse sweep runs the operation's loop again."""
        found = 0
        for position, loss in enumerate(self._losses):
            if bits >> position & 1 and loss.kind == "mutated" and operation.index < loss.origin:
                origin = self._trace.operations[loss.origin].frame
                if any(not self._trace.inside(origin, loop) for loop in self._trace.loops(operation.frame)):
                    found |= 1 << position
        return found

    def _kind(self, operation: Operation) -> str:
        frame = operation.detail
        return self._trace.frames[frame].kind if isinstance(frame, int) else ""

    def _overwritten(self) -> dict[int, int]:
        """For each load of an element that is certainly written later: the first store that does it."""
        trace = self._trace
        operations = trace.operations
        loads: dict[object, list[Operation]] = {}
        found: dict[int, int] = {}
        stores = [operation for operation in operations if operation.name in _EFFECTS]
        if not stores:
            return found
        for operation in operations:
            if operation.name == "load":
                loads.setdefault(self._element(operation, operation.operands), []).append(operation)
        for store in stores:
            key = self._element(store, store.operands[:-1])
            for load in loads.get(key, ()):
                if load.index in found or self._exclusive(load, store):
                    continue
                if load.index < store.index or self._repeated(load, store):
                    found[load.index] = store.index
        return found

    def _element(self, operation: Operation, operands: tuple[int, ...]) -> object:
        operations = self._trace.operations
        root = self._trace.root(operands[0])
        views: list[int] = []
        index = operands[0]
        while operations[index].name in ("view", "copy"):
            if operations[index].name == "view":
                views = [operations[at].number for at in operations[index].operands[1:]] + views
            index = operations[index].operands[0]
        return (root, *views, *(operations[at].number for at in operands[1:]))

    def _repeated(self, load: Operation, store: Operation) -> bool:
        """Whether an earlier store hits the element again in a later iteration.

        The indices do not change in the loop.
        """
        trace = self._trace
        common = set(trace.loops(load.frame)) & set(trace.loops(store.frame))
        return any(
            all(
                not trace.inside(trace.operations[at].frame, loop) or self._invariant(at, loop)
                for at in load.operands[1:]
            )
            for loop in common
        )

    def _invariant(self, index: int, loop: int) -> bool:
        operation = self._trace.operations[index]
        if not self._trace.inside(operation.frame, loop):
            return True
        if operation.name in ("loop", "exit", "induction", "call", "unknown"):
            return False
        if operation.name == "load" and self._written_in(loop, operation.operands[0]):
            return False
        return all(self._invariant(operand, loop) for operand in operation.operands)

    def _written_in(self, loop: int, array: int) -> bool:
        """Whether a loop may write the array."""
        trace = self._trace
        if loop not in self._writes:
            roots: set[object] = set()
            for operation in trace.operations:
                if operation.name in _EFFECTS and trace.inside(operation.frame, loop):
                    roots.add(trace.root(operation.operands[0]))
                elif operation.name in ("call", "unknown") and trace.inside(operation.frame, loop):
                    roots.update(
                        trace.root(operand)
                        for operand in operation.operands
                        if trace.operations[operand].type.kind in ("array", "struct", "unknown")
                    )
            self._writes[loop] = roots
        root, fields = trace.root(array)
        return (root, fields) in self._writes[loop] or (root, ()) in self._writes[loop]

    def _exclusive(self, load: Operation, store: Operation) -> bool:
        """Whether the two stand in opposite arms of one branch."""
        arms = {frame.condition: frame.arm for frame in self._trace.around(load.frame) if frame.condition is not None}
        return any(
            frame.condition in arms and arms[frame.condition] != frame.arm for frame in self._trace.around(store.frame)
        )

    # --- readers ---

    def _of(self, operation: Operation) -> Iterator[Lost]:
        index = operation.index
        operands = operation.operands
        active = self._active
        if operation.name in _EFFECTS:
            if active.varied[operands[-1]] and active.useful[operands[-1]]:
                for at in operands[1:-1]:
                    yield from self._lost(index, at, "index")
                yield from self._conditions(operation)
            return
        if not active.useful[index]:
            return
        for position in activity.receives(self._knowledge, operation):
            operand = operands[position]
            if not active.varied[operand]:
                continue
            for at in activity.needs(self._knowledge, operation, position):
                if operation.name in ("load", "view") or (operation.name == "extract" and at > 0):
                    via: Via = "index"
                elif operation.name in ("phi", "where", "select") and at == 0:
                    via = "condition"
                else:
                    via = "value"
                yield from self._lost(index, operands[at], via)
            if self._direct[index] and builtins.needs_result(operation.name, position, len(operands)):
                yield from self._lost(index, index, "value")

    def _conditions(self, operation: Operation) -> Iterator[Lost]:
        for frame in self._trace.around(operation.frame):
            if frame.condition is not None and frame.kind in ("branch", "rest"):
                # the test of a ``while`` is evaluated anew before each iteration of the reverse sweep
                if self._is_loop_test(frame):
                    continue
                yield from self._lost(operation.index, frame.condition, "condition", frame.span)

    def _is_loop_test(self, frame: Frame) -> bool:
        return self._trace.frames[frame.parent].kind == "while" and frame.index == frame.parent + 1

    def _harmless(self, loss: Loss, reader: int) -> bool:
        """Whether a selection decides the same in spite of the loss."""
        if loss.kind != "carried" or self._trace.operations[reader].name not in (*_EXTREMA, *_CHOICES):
            return False
        return reader in self._settled_by(loss.origin)

    def _settled_by(self, origin: int) -> frozenset[int]:
        """The selections of a carried value that decide the same in spite of its loss."""
        if origin not in self._settled:
            self._settled[origin] = frozenset()
            head = self._trace.operations[origin]
            found = self._extremum(head) or self._choice(head, any_condition=False)
            bits = self._stale[head.operands[0]] | self._direct[head.operands[0]]
            for position, loss in enumerate(self._losses):
                if bits >> position & 1 and loss.kind != "mutated":
                    # what the loop starts with is lost as well
                    found &= self._settled_by(loss.origin) if loss.kind == "carried" else frozenset()
            self._settled[origin] = found
        return self._settled[origin]

    def _lost(self, reader: int, value: int, via: Via, place: Span | None = None) -> Iterator[Lost]:
        bits = self._stale[value] | self._direct[value]
        while bits:
            low = bits & -bits
            loss = self._losses[low.bit_length() - 1]
            bits ^= low
            if (loss.kind == "mutated" and reader >= loss.origin) or self._harmless(loss, reader):
                continue
            yield Lost(loss, reader, value, via, place or self._trace.operations[reader].span)

    # --- adjoints of iterations in the wrong order ---

    def _wrong_order(self) -> Iterator[Lost]:
        """Carried values of ``while`` loops and query loops whose gradient changes from iteration to iteration.

        Only a sum (``a = a + f(x[i])``) gives the same gradient in any order.
        """
        operations = self._trace.operations
        for operation in operations:
            if operation.name != "loop" or self._kind(operation) not in ("while", "iterate"):
                continue
            if not self._active.active(operation.index) and not self._read_after(operation):
                continue
            if len(operation.operands) < 2 or not self._active.varied[operation.operands[1]]:
                continue
            if not self._varies(operation.operands[1], operation, set()):
                continue
            if self._extremum(operation) or self._choice(operation, any_condition=True):
                continue
            reader = self._not_a_sum(operation)
            if reader is not None:
                place = operations[reader].span
                yield Lost(Loss("carried", operation.index), reader, operation.index, "order", place)

    def _varies(self, index: int, head: Operation, seen: set[int]) -> bool:
        """Whether iterations differ: in the array elements that a gradient flows to, or in the derivatives on the way.

        Where they do not, their order makes no difference.
        """
        operation = self._trace.operations[index]
        loop = head.detail
        assert isinstance(loop, int)
        if index in seen or not self._active.varied[index] or not self._trace.inside(operation.frame, loop):
            return False
        seen.add(index)
        if operation.name == "load":
            return not self._invariant(index, loop)
        if operation.name == "call":  # the func may load elements itself
            return not all(self._invariant(at, loop) for at in operation.operands)
        for position in activity.receives(self._knowledge, operation):
            operand = operation.operands[position]
            if not self._active.varied[operand]:
                continue
            needed = activity.needs(self._knowledge, operation, position)
            if self._varies(operand, head, seen) or not all(
                self._invariant(operation.operands[at], loop) for at in needed
            ):
                return True
        return False

    def _extremum(self, head: Operation) -> frozenset[int]:
        """The operations by which a carried value becomes the greatest (or least) of itself and unchanging values.

        Whatever the order, and with the final value in place of one that is gone, the same operand is selected.
        """
        names, chain, _ = self._selections(head, _EXTREMA)
        return chain if len(names) == 1 else frozenset()

    def _choice(self, head: Operation, any_condition: bool) -> frozenset[int]:
        """The operations by which a carried value chooses between itself and one unchanging value.

        However often and in which order it does, the same operand gets the gradient. Unless ``any_condition``, the
        conditions are functions of the carried value and of unchanging ones: the reverse sweep then takes the same
        decisions.
        """
        _, chain, values = self._selections(head, _CHOICES)
        if len(values) > 1:
            return frozenset()
        operations = self._trace.operations
        loop = head.detail
        assert isinstance(loop, int)
        for index in chain:
            if not any_condition and not self._follows(operations[index].operands[0], head.index, loop):
                return frozenset()
        return chain

    def _follows(self, index: int, head: int, loop: int) -> bool:
        """Whether a value changes in a loop only by what the loop carries in ``head``."""
        operation = self._trace.operations[index]
        if index == head or self._invariant(index, loop):
            return True
        if operation.name in ("loop", "exit", "induction", "call", "unknown", "load"):
            return False
        return all(self._follows(operand, head, loop) for operand in operation.operands)

    def _selections(self, head: Operation, names: tuple[str, ...]) -> tuple[set[str], frozenset[int], set[int]]:
        """The operations that make a carried value's next one, their names, and the unchanging values that they select.

        Nothing if there are others than ``names`` among them.
        """
        loop = head.detail
        if len(head.operands) < 2 or not isinstance(loop, int):
            return set(), frozenset(), set()
        operations = self._trace.operations
        used: set[str] = set()
        chain: set[int] = set()
        values: set[int] = set()
        stack = [head.operands[1]]
        while stack:
            operation = operations[stack.pop()]
            if operation.index == head.index or operation.index in chain:
                continue
            if self._invariant(operation.index, loop):
                values.add(operation.number)
                continue
            if operation.name in names:
                used.add(operation.name)
                stack.extend(operation.operands[1:] if names is _CHOICES else operation.operands)
            elif operation.name in ("copy", "exit", "loop"):
                stack.extend(operation.operands)
            else:
                return set(), frozenset(), set()
            chain.add(operation.index)
        return used, frozenset(chain), values

    def _read_after(self, head: Operation) -> bool:
        return any(
            operation.name == "exit" and operation.operands[0] == head.index and self._active.useful[operation.index]
            for operation in self._trace.operations
        )

    def _not_a_sum(self, head: Operation) -> int | None:
        """The operation that makes the gradient of a carried value change from one iteration to the next.

        None where the value is a sum of terms free of carried values, and nothing else in the loop reads it.
        """
        operations = self._trace.operations
        loop = head.detail
        assert isinstance(loop, int)
        chain = {head.index}
        pure, reader = self._sum(head.operands[1], head.index, loop, chain)
        if not pure:
            return reader
        for operation in operations[head.index + 1 :]:
            if operation.index in chain or not self._trace.inside(operation.frame, loop):
                continue
            if operation.name in _EFFECTS:
                if operation.operands[-1] in chain and self._active.active(operation.operands[-1]):
                    return operation.index
            elif self._active.useful[operation.index] and any(
                operation.operands[position] in chain for position in activity.receives(self._knowledge, operation)
            ):
                return operation.index
        return None

    def _sum(self, index: int, head: int, loop: int, visited: set[int]) -> tuple[bool, int]:
        """Whether ``index`` is the carried value plus terms free of carried values, else which operation is not.

        ``visited`` gets the operations on the way.
        """
        operation = self._trace.operations[index]
        visited.add(index)
        if index == head:
            return True, index
        if operation.name in ("copy",):
            return self._sum(operation.operands[0], head, loop, visited)
        if operation.name in ("phi", "where"):
            for operand in operation.operands[1:]:
                pure, reader = self._sum(operand, head, loop, visited)
                if not pure:
                    return False, index if reader == operand else reader
            return True, index
        if operation.name in ("add", "sub"):
            left, right = operation.operands
            if self._carries(right, loop) and operation.name == "add" and not self._carries(left, loop):
                left, right = right, left
            if self._carries(right, loop):
                return False, index
            return self._sum(left, head, loop, visited)
        if operation.name == "exit":
            inner = self._trace.operations[operation.operands[0]]
            if inner.name == "loop" and inner.index not in visited:
                visited.add(inner.index)
                pure, reader = self._sum(inner.operands[0], head, loop, visited)
                if not pure:
                    return False, reader
                frame = inner.detail
                assert isinstance(frame, int)
                return self._sum(inner.operands[1], inner.index, frame, visited)
        return False, index

    def _carries(self, index: int, loop: int, seen: set[int] | None = None) -> bool:
        """Whether a gradient flows from ``index`` to a value that ``loop`` carries."""
        seen = set() if seen is None else seen
        if index in seen:
            return False
        seen.add(index)
        operation = self._trace.operations[index]
        if not self._active.varied[index] or not self._trace.inside(operation.frame, loop):
            return False
        if operation.name == "loop" and operation.detail == loop:
            return True
        return any(
            self._carries(operation.operands[position], loop, seen)
            for position in activity.receives(self._knowledge, operation)
        )


def written(operation: Operation) -> Write | None:
    """The write that a store, accumulation or atomic makes."""
    return operation.detail if isinstance(operation.detail, Write) else None
