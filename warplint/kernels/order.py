"""The order of iterations: many loops are reversed in forward order (``Trace.forward``).

A carried value whose gradient changes from one iteration to the next then meets the wrong one, even where no primal
value is lost. What picks one of some values (a running maximum, a last hit) and what only adds up does not mind.
"""

from __future__ import annotations

from collections.abc import Iterator

from warplint.kernels import activity
from warplint.kernels.activity import Activity
from warplint.kernels.elements import Elements
from warplint.kernels.invariance import Invariance
from warplint.kernels.knowledge import Knowledge
from warplint.kernels.losses import EFFECTS, Loss, Lost, Via
from warplint.kernels.makeup import Makeup
from warplint.kernels.recurrences import alone, step
from warplint.kernels.trace import Operation, Trace

EXTREMA = ("max", "min")
CHOICES = ("phi", "where", "select")


class Order:
    """Finds the carried values of one trace for which the order of iterations matters."""

    def __init__(
        self,
        knowledge: Knowledge,
        trace: Trace,
        active: Activity,
        invariance: Invariance,
        elements: Elements,
        makeup: Makeup,
        forward: frozenset[int],
    ) -> None:
        self._knowledge = knowledge
        self._trace = trace
        self._active = active
        self._invariance = invariance
        self._elements = elements
        self._makeup = makeup
        self._forward = forward

    def find(self) -> Iterator[Lost]:
        """Carried values of ``while`` loops and query loops whose gradient changes from iteration to iteration.

        Only a sum (``a = a + f(x[i])``) gives the same gradient in any order. A sum of terms that carry something else
        is right if that is.
        """
        operations = self._trace.operations
        readers: dict[int, tuple[int, Via]] = {}
        for operation in operations:
            found = self._reader(operation) if operation.name == "loop" else None
            if found is not None:
                readers[operation.index] = found
        blamed = {head for head, (reader, _) in readers.items() if not self._terms(reader, head)}
        for head, (reader, via) in readers.items():
            if head in blamed or not self._terms(reader, head) & blamed:
                yield Lost(Loss("carried", head), reader, head, via, operations[reader].span)

    def _reader(self, head: Operation) -> tuple[int, Via] | None:
        """The operation that makes the gradient of a carried value change between iterations, if one does.

        It is part of the value's update (``order``), or reads the value in every iteration (``turn``).
        """
        frame = head.detail
        assert isinstance(frame, int)
        if frame not in self._forward:
            return None
        if not self._active.active(head.index) and not self._read_after(head):
            return None
        if len(head.operands) < 2 or not self._active.varied[head.operands[1]]:
            return None
        following = step(self._trace, self._invariance, head)
        asked = {head.operands[1]} if following != head.operands[1] else set()
        if not self._varies(following, frame, asked) and not self._stored_apart(head, frame, following):
            return None
        if self.extremum(head) or self.choice(head):
            return None
        if alone(self._knowledge, self._trace, self._active, head):
            return None
        return self._not_a_sum(head)

    def _terms(self, reader: int, head: int) -> set[int]:
        """The other carried values that the term of a sum carries; none if ``reader`` is no plain sum."""
        operation = self._trace.operations[reader]
        loop = self._trace.operations[head].detail
        assert isinstance(loop, int)
        if operation.name not in ("add", "sub"):
            return set()
        left, right = operation.operands
        sides = [self._carried(operand, loop, set()) for operand in (left, right)]
        if operation.name == "add" and head in sides[1]:
            sides.reverse()
        return set() if head in sides[1] or head not in sides[0] else sides[1]

    def arrays(self) -> Iterator[Lost]:
        """Array elements that such a loop stores in one iteration and loads in another."""
        operations = self._trace.operations
        for frame in sorted(self._forward):
            for load, store in self._elements.shared(frame):
                if self._works(store) and self._active.active(load) and self._differ(load, store, frame):
                    yield Lost(Loss("reordered", frame, store), load, load, "turn", operations[load].span)

    def _differ(self, load: int, store: int, loop: int) -> bool:
        """Whether iterations do different things to the array that they store and load."""
        operation = self._trace.operations[store]
        if not all(self._invariance.holds(at, loop) for at in operation.operands[1:-1]):
            return True
        array = self._trace.root(operation.operands[0])
        return self._varies(operation.operands[-1], loop, set(), array)

    def _works(self, store: int) -> bool:
        operation = self._trace.operations[store]
        return operation.name in EFFECTS and self._active.active(operation.operands[-1])

    def _varies(self, index: int, loop: int, seen: set[int], array: object = None) -> bool:
        """Whether iterations differ: in the array elements that a gradient flows to, or in the derivatives on the way.

        Where they do not, their order makes no difference. ``array`` is one that the iterations hand on themselves.
        """
        operation = self._trace.operations[index]
        if index in seen or not self._active.varied[index] or not self._trace.inside(operation.frame, loop):
            return False
        seen.add(index)
        if operation.name == "load" and self._trace.root(operation.operands[0]) == array:
            return not all(self._invariance.holds(at, loop) for at in operation.operands[1:])
        if operation.name == "load":
            return not self._invariance.holds(index, loop)
        if self._is_resolved(operation):
            return any(self._varies(part, loop, seen, array) for part in self._makeup.of(operation))
        if operation.name == "call":  # the func may load elements itself
            return not all(self._invariance.holds(at, loop) for at in operation.operands)
        for position in activity.receives(self._knowledge, operation):
            operand = operation.operands[position]
            if not self._active.varied[operand]:
                continue
            needed = activity.needs(self._knowledge, operation, position)
            if self._varies(operand, loop, seen, array) or not all(
                self._invariance.holds(operation.operands[at], loop) for at in needed
            ):
                return True
        return False

    def _stored_apart(self, head: Operation, loop: int, following: int) -> bool:
        """Whether what comes of the carried value goes elsewhere in each iteration, or is weighted otherwise.

        ``following``: what it becomes, as long as it does not stay.
        """
        stays = following != head.operands[1]
        reached = {head.index}
        for operation in self._trace.operations[head.index + 1 :]:
            if not self._trace.inside(operation.frame, loop) or (stays and operation.index == head.operands[1]):
                continue
            operands = operation.operands
            if operation.name in EFFECTS:
                if (
                    operands[-1] in reached
                    and self._active.active(operands[-1])
                    and not all(self._invariance.holds(at, loop) for at in operands[1:-1])
                ):
                    return True
                continue
            if self._is_resolved(operation):
                if reached.intersection(self._makeup.of(operation)):
                    reached.add(operation.index)
                continue
            for position in activity.receives(self._knowledge, operation):
                if operands[position] not in reached:
                    continue
                needed = activity.needs(self._knowledge, operation, position)
                if self._active.active(operation.index) and not all(
                    self._invariance.holds(operands[at], loop) for at in needed
                ):
                    return True
                reached.add(operation.index)
        return False

    def extremum(self, head: Operation) -> frozenset[int]:
        """The operations by which a carried value becomes the greatest (or least) of itself and unchanging values.

        Whatever the order, and with the final value in place of one that is gone, the same operand is selected. Where
        it is one value, some iterations may leave it out: once it has been met, more of it make no difference, so it
        does not matter what decides that, as long as one meets it.
        """
        names, chain, values = self._selections(head, EXTREMA)
        if any(self._trace.operations[index].name == "phi" for index in chain) and len(values) > 1:
            return frozenset()  # which of them an iteration meets, and in which order, makes a difference
        return chain if len(names) == 1 else frozenset()

    def choice(self, head: Operation) -> frozenset[int]:
        """The operations by which a carried value chooses between itself and one value that the loop does not change.

        However often and in which order it does, the same operand gets the gradient. Conditions may read the carried
        value: what they say once the other one has been chosen makes no difference.
        """
        _, chain, values = self._selections(head, CHOICES)
        return chain if len(values) <= 1 else frozenset()

    def chosen(self, head: Operation) -> frozenset[object]:
        """The values that a carried value chooses from; equal ones are equal, wherever they are computed."""
        _, _, values = self._selections(head, CHOICES)
        return frozenset(self._form(value) for value in values)

    def _form(self, index: int) -> object:
        """A value by how it is computed, as far as that does not depend on where."""
        operation = self._trace.operations[index]
        if operation.name == "load":
            array = operation.operands[0]
            if self._invariance.is_written(0, array):
                return operation.number
            return ("load", self._trace.root(array), *(self._form(at) for at in operation.operands[1:]))
        if not operation.operands or operation.name in ("loop", "exit", "call", "unknown", "induction"):
            return operation.number
        return (operation.name, operation.detail, *(self._form(operand) for operand in operation.operands))

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
            if self._invariance.holds(operation.index, loop):
                values.add(operation.number)
                continue
            if operation.name in names:
                used.add(operation.name)
                stack.extend(operation.operands[1:] if names is CHOICES else operation.operands)
                if names is EXTREMA and not self._invariance.holds(operation.operands[1], loop):
                    return set(), frozenset(), set()  # of equal values the second one gets the gradient
            elif operation.name in ("copy", "exit", "loop"):
                stack.extend(operation.operands)
            elif operation.name == "phi":
                stack.extend(operation.operands[1:])  # iterations that leave the value as it is
            else:
                return set(), frozenset(), set()
            chain.add(operation.index)
        return used, frozenset(chain), values

    def _read_after(self, head: Operation) -> bool:
        return any(
            operation.name == "exit" and operation.operands[0] == head.index and self._active.useful[operation.index]
            for operation in self._trace.operations
        )

    def _not_a_sum(self, head: Operation) -> tuple[int, Via] | None:
        """The operation that makes the gradient of a carried value change from one iteration to the next.

        None where the value is a sum of terms free of carried values, and nothing else in the loop reads it.
        """
        operations = self._trace.operations
        loop = head.detail
        assert isinstance(loop, int)
        chain = {head.index}
        pure, reader = self._sum(head.operands[1], head.index, loop, chain)
        if not pure:
            return reader, "order"
        for operation in operations[head.index + 1 :]:
            if operation.index in chain or not self._trace.inside(operation.frame, loop):
                continue
            if operation.name in EFFECTS:
                if operation.operands[-1] in chain and self._active.active(operation.operands[-1]):
                    return operation.index, "turn"
            elif self._active.useful[operation.index] and any(
                operation.operands[position] in chain for position in activity.receives(self._knowledge, operation)
            ):
                return operation.index, "turn"
        return None

    def _sum(self, index: int, head: int, loop: int, visited: set[int]) -> tuple[bool, int]:
        """Whether ``index`` is the carried value plus terms free of carried values, else which operation is not.

        ``visited`` gets the operations on the way.
        """
        operation = self._trace.operations[index]
        visited.add(index)
        if index == head:
            return True, index
        if operation.name == "copy":
            return self._sum(operation.operands[0], head, loop, visited)
        if self._is_resolved(operation) and len(self._makeup.of(operation)) == 1:
            return self._sum(self._makeup.of(operation)[0], head, loop, visited)
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

    def _carries(self, index: int, loop: int) -> bool:
        """Whether a gradient flows from ``index`` to a value that ``loop`` carries."""
        return bool(self._carried(index, loop, set()))

    def _carried(self, index: int, loop: int, seen: set[int]) -> set[int]:
        """The values that ``loop`` carries to which a gradient flows from ``index``."""
        if index in seen:
            return set()
        seen.add(index)
        operation = self._trace.operations[index]
        if not self._active.varied[index] or not self._trace.inside(operation.frame, loop):
            return set()
        if operation.name == "loop" and operation.detail == loop:
            return {index}
        if self._is_resolved(operation):
            sources = self._makeup.of(operation)
        else:
            sources = tuple(operation.operands[at] for at in activity.receives(self._knowledge, operation))
        return set().union(*(self._carried(source, loop, seen) for source in sources))

    def _is_resolved(self, operation: Operation) -> bool:
        """Whether the operation takes a component of which it is known what it is made of."""
        return operation.name == "extract" and operation.operands[0] not in self._makeup.of(operation)
