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
- ``mutated``: a local as it was *before* a dynamic loop that sets it, a vector before one of its components is stored,
  a tile before it is updated: all change it in place, so that adjoints of earlier operations see the later value. What
  was computed from it is right.
- ``overwritten``: an array element that is written after it was read: arrays are read as they are at the end.
- ``scratch``: an array made in the kernel itself, which the replay does not fill.
- ``member``: a vector that is a member of a local struct, after a component of it was stored: the replay leaves the
  store out, and the reverse sweep drops the gradient of what was stored.

A value computed from a lost value is lost as well. A ``Lost`` is an adjoint that does something (its operand is
varied, its result useful) and reads a lost value: as a number, as an index, or through the condition of a branch.
Rules of the catalogue are classes of these.
"""

from __future__ import annotations

from collections.abc import Iterator

from warplint.ir.spans import Span
from warplint.kernels import activity, builtins, members
from warplint.kernels.activity import Activity
from warplint.kernels.components import Components
from warplint.kernels.deviations import balanced
from warplint.kernels.elements import Elements
from warplint.kernels.invariance import Invariance
from warplint.kernels.jumps import Jumps
from warplint.kernels.knowledge import Knowledge
from warplint.kernels.losing import Losses
from warplint.kernels.losses import EFFECTS, Loss, Lost, Via
from warplint.kernels.makeup import Makeup
from warplint.kernels.order import CHOICES, EXTREMA, Order
from warplint.kernels.paths import Paths
from warplint.kernels.trace import Frame, Insert, Operation, Trace
from warplint.source.project import Definition

#: Operations whose further operands are indices; the value that an ``insert`` stores is read by none of its adjoints.
_INDEXED = frozenset({"load", "view", "extract", "insert", "insert_add"})
_LOSING = EFFECTS | {"insert", "insert_add", "call"}


class LostValues:
    """Finds the lost values of one trace."""

    def __init__(
        self, knowledge: Knowledge, trace: Trace, active: Activity, overwrites_handled: bool | None = False
    ) -> None:
        self._knowledge = knowledge
        self._trace = trace
        self._active = active
        self._invariance = Invariance(trace, knowledge)
        self._makeup = Makeup(trace, self._invariance)
        self._forward = trace.forward()
        self._elements = Elements(knowledge, trace, self._invariance)
        self._order = Order(knowledge, trace, active, self._invariance, self._elements, self._makeup, self._forward)
        self._paths = Paths(trace, active, self._elements)
        self._losses = Losses(
            trace, self._elements, self._makeup, self._paths, self._forward, overwrites_handled, active.zeros
        )
        self._stale, self._direct = self._losses.stale, self._losses.direct
        #: Conditions of branches that do nothing but leave a loop early, which is a defect of its own.
        self._left: set[int | None] = set()
        self._settled: dict[int, frozenset[int]] = {}

    def find(self) -> Iterator[Lost]:
        """All lost values, in the order of the operations that read them."""
        trace = self._trace
        if not any(frame.is_loop for frame in trace.frames) and not self._possible():
            return
        self._losses.spread()
        cut = list(Jumps(self._knowledge, trace, self._active, self._forward).find())
        self._left = {trace.frames[trace.operations[item.loss.origin].frame].condition for item in cut}
        for operation in trace.operations:
            yield from self._of(operation)
        yield from self._bounds()
        yield from (item for item in self._order.find() if not self._losses.kept(trace.operations[item.loss.origin]))
        yield from self._order.arrays()
        yield from cut

    def _possible(self) -> bool:
        """Whether anything in a body without dynamic loops can lose a value."""
        return any(operation.name in _LOSING or operation.type.kind == "tile" for operation in self._trace.operations)

    # --- readers ---

    def _of(self, operation: Operation) -> Iterator[Lost]:
        index = operation.index
        operands = operation.operands
        active = self._active
        if operation.name in EFFECTS:
            if active.active(operands[-1]):
                for at in operands[1:-1]:
                    yield from self._lost(index, at, "index")
                yield from self._conditions(operation)
            elif operation.name == "store" and active.varied[operands[0]] and self._trace.loads_from(operands[0]):
                # what the element held before must get no gradient, if and only if the store runs
                yield from self._conditions(operation)
            return
        if operation.name == "call" and index in self._elements.needed and self._differentiates(operation):
            yield from self._lost(index, index, "value")
        if not active.useful[index]:
            return
        if operation.name == "exit":
            yield from self._first_set(operation)
        elif (
            members.stored(operation)
            and active.varied[operands[-1]]
            and members.used(self._trace, self._active, operation)
        ):
            yield Lost(Loss("member", index), index, index, "value", operation.span)
        for position in activity.receives(self._knowledge, operation):
            operand = operands[position]
            if not active.varied[operand]:
                continue
            for at in activity.needs(self._knowledge, operation, position):
                if operation.name == "dot" and operands[0] == operands[1] and self._constant_part(operands[0]):
                    continue
                if at > 0 and operation.name in _INDEXED:
                    via: Via = "index"
                elif operation.name in ("phi", "where", "select") and at == 0:
                    via = "condition"
                else:
                    via = "value"
                yield from self._lost(index, operands[at], via)
            if (
                self._direct[index]
                and builtins.needs_result(operation.name, position, len(operands))
                and not self._replaced(index)
            ):
                yield from self._lost(index, index, "value")

    def _replaced(self, index: int) -> bool:
        """Whether nothing but a loop reads a value, which keeps it or chooses another one.

        Where it has chosen another one, no gradient reaches the value, and its adjoint may find that other one in it.
        """
        readers = [operation for operation in self._trace.operations if index in operation.operands]
        return all(reader.name == "loop" and self._settled_by(reader.index) for reader in readers)

    def _constant_part(self, vector: int) -> bool:
        """Whether only components without a gradient are stored later: ``dot(v, v)`` goes component by component."""
        components = Components(self._trace, self._active)
        bits = self._direct[vector]
        for position, loss in enumerate(self._losses.all):
            if bits >> position & 1:
                store = self._trace.operations[loss.origin]
                if not isinstance(store.detail, Insert) or self._stale[vector]:
                    return False
                if components.previous(vector, store.detail.component, store) is not None:
                    return False
        return bits != 0

    def _differentiates(self, call: Operation) -> bool:
        """Whether the adjoint of a called func does anything."""
        assert isinstance(call.detail, Definition)
        summary = self._knowledge.summarise(call.detail)
        return bool(self._active.useful[call.index]) or (summary is not None and bool(summary.stored))

    def _first_set(self, leaving: Operation) -> Iterator[Lost]:
        """A local that has its first value in a loop: each iteration of the reverse sweep starts by clearing its
        gradient."""
        trace = self._trace
        value = trace.operations[leaving.operands[0]]
        if (value.name == "loop" and value.detail == leaving.detail) or self._losses.kind(leaving) == "undecided":
            return
        if not self._active.varied[value.index]:
            return
        for operation in trace.operations[leaving.index + 1 :]:
            if leaving.index in operation.operands:
                loss = Loss("result", leaving.index)
                yield Lost(loss, operation.index, leaving.index, "value", operation.span)
                return

    def _bounds(self) -> Iterator[Lost]:
        """Loops that run another number of iterations in the reverse sweep."""
        trace = self._trace
        for frame in trace.frames:
            if frame.kind not in ("for", "while"):
                continue
            values: tuple[int, ...] = ()
            if frame.kind == "while":
                test = trace.frames[frame.index + 1].condition
                values = () if test is None else (test,)
            else:
                for operation in trace.operations:
                    if operation.name == "induction" and operation.detail == frame.index:
                        values = operation.operands
            if not any(self._stale[value] for value in values):
                continue
            reader = next(
                (
                    operation.index
                    for operation in trace.operations
                    if trace.inside(operation.frame, frame.index) and self._passes(operation)
                ),
                None,
            )
            if reader is not None:
                for value in values:
                    yield from self._lost(reader, value, "bound", frame.span)

    def _passes(self, operation: Operation) -> bool:
        """Whether a gradient passes through the operation."""
        if operation.name in EFFECTS:
            return self._active.active(operation.operands[-1])
        return operation.name not in ("loop", "exit") and self._active.active(operation.index)

    def _conditions(self, operation: Operation) -> Iterator[Lost]:
        for frame in self._trace.around(operation.frame):
            if frame.condition is not None and frame.kind in ("branch", "rest"):
                # the test of a ``while`` is evaluated anew before each iteration of the reverse sweep
                if self._is_loop_test(frame) or (frame.kind == "rest" and frame.condition in self._left):
                    continue
                yield from self._lost(operation.index, frame.condition, "condition", frame.span)

    def _is_loop_test(self, frame: Frame) -> bool:
        return self._trace.frames[frame.parent].kind == "while" and frame.index == frame.parent + 1

    def _harmless(self, loss: Loss, reader: int) -> bool:
        """Whether a selection decides the same in spite of the loss."""
        if loss.kind != "carried" or self._trace.operations[reader].name not in (*EXTREMA, *CHOICES):
            return False
        return reader in self._settled_by(loss.origin)

    def _settled_by(self, origin: int) -> frozenset[int]:
        """The selections of a carried value that decide the same in spite of its loss."""
        if origin not in self._settled:
            self._settled[origin] = frozenset()
            head = self._trace.operations[origin]
            found = self._order.extremum(head) or self._order.choice(head)
            if not self._continues(head):
                bits = self._stale[head.operands[0]] | self._direct[head.operands[0]]
                for position, loss in enumerate(self._losses.all):
                    if bits >> position & 1 and loss.kind != "mutated":
                        # what the loop starts with is lost as well
                        found &= self._settled_by(loss.origin) if loss.kind == "carried" else frozenset()
            self._settled[origin] = found
        return self._settled[origin]

    def _continues(self, head: Operation) -> bool:
        """Whether a loop goes on with what another one has chosen, and chooses the same value or none.

        The reverse sweep starts it from what the first loop started from. Whatever it chooses then, in this loop or
        the one before, it is the same value.
        """
        before = self._trace.operations[head.operands[0]]
        if before.name != "exit" or len(before.operands) != 1:
            return False
        first = self._trace.operations[before.operands[0]]
        if first.name != "loop" or self._order.chosen(first) != self._order.chosen(head):
            return False
        return bool(self._order.choice(first)) and bool(self._settled_by(first.index))

    def _lost(self, reader: int, value: int, via: Via, place: Span | None = None) -> Iterator[Lost]:
        bits = self._stale[value] | self._direct[value]
        while bits:
            low = bits & -bits
            loss = self._losses.all[low.bit_length() - 1]
            bits ^= low
            if (loss.kind == "mutated" and reader >= loss.origin) or self._harmless(loss, reader):
                continue
            if loss.kind == "mutated" and (
                self._trace.exclusive(self._trace.operations[reader].frame, self._trace.operations[loss.origin].frame)
                or not self._paths.meets(reader, loss.origin)
            ):
                continue
            if loss.overwriter is not None and (
                self._trace.exclusive(
                    self._trace.operations[reader].frame, self._trace.operations[loss.overwriter].frame
                )
                or not any(self._paths.meets(reader, at) for at in self._elements.overwriters(loss.origin))
            ):
                continue
            if (
                loss.overwriter is not None
                and via == "value"
                and self._paths.selects_again(reader, loss.origin, self._elements.overwriters(loss.origin))
            ):
                continue
            if loss.kind == "result" and balanced(self._trace, self._active, self._invariance, reader, loss.origin):
                continue
            span = place or self._trace.operations[reader].span
            decided = self._decided(value, low) if via == "value" and loss.kind == "carried" else None
            if decided is not None:
                test = self._trace.operations[decided]
                yield Lost(loss, reader, decided, "condition", self._narrowed(decided, low, test.span))
                continue
            yield Lost(loss, reader, value, via, self._narrowed(value, low, span) if via == "condition" else span)

    def _decided(self, value: int, loss: int) -> int | None:
        """The condition of a branch through which alone a loss reaches a value; None if it is part of the value."""
        conditions: list[int] = []
        seen = {value}
        stack = [value]
        while stack:
            operation = self._trace.operations[stack.pop()]
            operands = self._losses.components(operation)
            lost = [at for at in operands if (self._stale[at] | self._direct[at]) & loss]
            if not lost or operation.name == "loop":
                return None
            if operation.name == "phi" and operation.operands[0] in lost:
                conditions.append(operation.operands[0])
                lost.remove(operation.operands[0])
            stack.extend(set(lost) - seen)
            seen.update(lost)
        return conditions[0] if conditions else None

    def _narrowed(self, condition: int, loss: int, place: Span) -> Span:
        """The part of a condition that reads a lost value."""
        operation = self._trace.operations[condition]
        while operation.name == "logic":
            parts = [self._trace.operations[at] for at in operation.operands]
            operation = next(
                (part for part in parts if (self._stale[part.index] | self._direct[part.index]) & loss), operation
            )
            if operation not in parts:
                break
        return operation.span if place.covers(operation.span) else place
