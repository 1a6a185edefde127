"""What a component of a local composite is made of: through stores, branches and dynamic loops, back to where it began.

A dynamic loop that stores components leaves others alone. One that is known to is passed by: the component is what it
was before the loop, in the reverse sweep as well. At the loop's own variable, every iteration has a component of its
own, which no other iteration touches.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from warplint.kernels.invariance import Invariance
from warplint.kernels.layout import Limit, bounds, flat, head, integer, leaves_alone, member, overlap, ranged
from warplint.kernels.trace import Component, Insert, Operation, Trace


class Makeup:
    """Follows the components of one trace.

    Args:
        trace: the record of a body.
        invariance: what its loops do not change.
        through: go on through loops that store the component, to all that it can be in some iteration.
    """

    def __init__(self, trace: Trace, invariance: Invariance, through: bool = False) -> None:
        self._through = through
        self._trace = trace
        self._invariance = invariance
        self._known: dict[int, tuple[int, ...]] = {}
        invariance.parts = self.of

    def of(self, extract: Operation) -> tuple[int, ...]:
        """The values that an extracted component is made of, as far as that can be told; else the whole composite.

        With the indices, unless it certainly is what was stored at these.
        """
        if extract.index not in self._known:
            self._known[extract.index] = extract.operands  # while it is asked for by what it depends on
            found: dict[int, None] = {}
            component, whole = extract.detail, extract.operands[0]
            if not isinstance(component, tuple):
                found[whole] = None
            if not isinstance(component, tuple) or not self._follow(whole, component, found, set()):
                found.update(dict.fromkeys(extract.operands[1:]))
            self._known[extract.index] = tuple(found)
        return self._known[extract.index]

    def _follow(self, index: int, component: Component, found: dict[int, None], seen: set[int]) -> bool:
        """Adds what ``component`` of a composite is made of; whether no index matters for that."""
        while index not in seen:
            seen.add(index)
            operation = self._trace.operations[index]
            if operation.name in ("insert", "insert_add"):
                if self._stored(operation, component, found):
                    return True
                index = operation.operands[0]
            elif operation.name == "copy":
                index = operation.operands[0]
            elif operation.name == "phi":
                found[operation.operands[0]] = None
                settled = [self._follow(arm, component, found, seen) for arm in operation.operands[1:]]
                return all(settled)
            elif self._through and operation.name in ("loop", "exit"):
                settled = [self._follow(value, component, found, seen) for value in operation.operands]
                return all(settled)
            else:
                before = self._before(operation, component)
                if before is None:
                    given = _scalars(self._trace, operation, component) if operation.name == "construct" else None
                    found.update(dict.fromkeys((index,) if given is None else given))
                    return given is not None
                index = before
        return True

    def _before(self, operation: Operation, component: Component) -> int | None:
        """The composite that holds the same component as one that a loop leaves alone or that is a struct's member."""
        if operation.name == "field":
            held = member(self._trace, operation)
            return None if self._trace.operations[held].type.kind == "struct" else held
        first = head(self._trace, operation)
        if first is not None:
            loop = first.detail
            assert isinstance(loop, int)
            if leaves_alone(self._trace, first, operation, lambda store: not self._leaves(store, component, loop)):
                return first.operands[0]
        return None

    def _leaves(self, store: Operation, component: Component, loop: int) -> bool:
        """Whether what a store in a loop writes is certainly apart from the component."""
        return isinstance(store.detail, Insert) and self._apart(store.detail.component, component, loop)

    def _stored(self, operation: Operation, component: Component, found: dict[int, None]) -> bool:
        """Adds what a store puts into a component; whether there is nothing else in it."""
        insert = operation.detail
        assert isinstance(insert, Insert)
        relation = overlap(insert.component, component)
        if relation == "apart":
            return False
        found[operation.operands[-1]] = None
        if relation == "unknown":
            found.update(dict.fromkeys(operation.operands[1:-1]))
        covers = insert.component == component[: len(insert.component)]
        return relation == "same" and covers and operation.name == "insert"

    def _apart(self, stored: Component, asked: Component, loop: int) -> bool:
        """Whether a store in any other iteration of a loop is certainly apart from a component in this one."""
        for one, other in zip(stored, asked, strict=False):
            if one == other and self._each_its_own(one, loop):
                return True
            for low, high in self._between(one, loop):
                for least, most in self._between(other, loop):
                    if _reaches(least, high) or _reaches(low, most):
                        return True
        return False

    def _each_its_own(self, part: object, loop: int) -> bool:
        """Whether an index is another one in each iteration: the loop's variable, and a constant."""
        if not isinstance(part, tuple) or part[0] != "value":
            return False
        base = self._trace.operations[integer(self._trace, int(part[1]))[0]]
        return base.name == "induction" and base.detail == loop and self._trace.frames[loop].kind == "for"

    def _between(self, part: object, loop: int) -> Iterator[tuple[Limit, Limit]]:
        """The least position and the one after the greatest that an index takes in a loop, where that is known."""
        fixed = bounds(part)
        if fixed is not None:
            yield (-1, fixed[0]), (-1, fixed[1])
        elif isinstance(part, tuple) and part[0] == "value":
            index = int(part[1])
            base, offset = integer(self._trace, index)
            if self._invariance.holds(index, loop):
                yield (base, offset), (base, offset + 1)
            source = self._trace.operations[base]
            if base >= 0 and source.name == "induction" and isinstance(source.detail, int):
                yield from self._ranged(source, offset, loop)

    def _ranged(self, induction: Operation, offset: int, loop: int) -> Iterator[tuple[Limit, Limit]]:
        """The range of a loop's variable, moved by ``offset``; its ends must not change in ``loop``."""
        if all(self._invariance.holds(at, loop) for at in induction.operands):
            limits = ranged(self._trace, induction, offset)
            if limits is not None:
                yield limits


def _reaches(least: Limit, high: Limit) -> bool:
    """Whether one interval begins where another one has ended."""
    return least[0] == high[0] and least[1] >= high[1]


def _scalars(trace: Trace, construct: Operation, component: Component) -> tuple[int, ...] | None:
    """The operands of a constructor that make a component, None if that cannot be told."""
    sizes = construct.type.shape
    positions = flat(component, sizes) if sizes else None
    if positions is None or any(trace.operations[part].type.is_composite for part in construct.operands):
        return None
    if len(construct.operands) not in (0, prod(sizes)):
        return None
    return tuple(construct.operands[at] for at in positions if construct.operands)
