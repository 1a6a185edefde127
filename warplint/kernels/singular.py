"""Operations whose adjoint is not finite at some point, and whether that point is reached and spoils a gradient.

What a func finds in its parameters depends on who calls it. So a body is looked at in a *place*: by itself where its
callers are not known, else once for each call, with the caller's values for the parameters.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from warplint.kernels import activity
from warplint.kernels.activity import Activity
from warplint.kernels.knowledge import Knowledge
from warplint.kernels.numeric import Atom, Evaluator, Number, Place
from warplint.kernels.trace import Frame
from warplint.kernels.types import Type
from warplint.records import dataclass

#: The operations with singular adjoints, and which operand is the singular one.
SINGULAR = {
    "sqrt": 0,
    "cbrt": 0,
    "log": 0,
    "log2": 0,
    "log10": 0,
    "div": 1,
    "pow": 0,
    "exp": 0,
}

#: What atoms that nothing speaks of are: nothing in particular.
_ELSEWHERE = 0.7123


@dataclass(frozen=True, slots=True)
class Candidate:
    """An operation with a singular adjoint."""

    place: Place
    index: int


class Points:
    """Answers questions about the singular operations of the body at ``top`` and of the funcs that it calls."""

    def __init__(self, knowledge: Knowledge, top: Place, active: Activity) -> None:
        self.knowledge = knowledge
        self.top = top
        self.active = active
        self.evaluator = Evaluator(knowledge)

    def candidates(self, operand: int) -> Iterator[Candidate]:
        """Operations with a singular adjoint that the gradient of the operand passes through."""
        seen: set[tuple[int, int]] = set()
        stack = [(self.top, operand)]
        while stack and len(seen) < 300:
            place, index = stack.pop()
            owner, at = self.evaluator.origin(place, index)
            key = (id(owner), at)
            if key in seen:
                continue
            seen.add(key)
            operation = owner.trace.operations[at]
            if not self.varied(owner, at):
                continue
            if operation.name in SINGULAR and self.differentiated(owner, at):
                yield Candidate(owner, at)
            if operation.name == "call":
                inside = self.evaluator.called(owner, operation)
                if inside is not None:
                    for returned in inside.trace.returns:
                        stack.extend((inside, part) for part in inside.trace.operations[returned].operands)
                continue
            if operation.name in ("loop", "exit"):
                continue
            for position in activity.receives(self.knowledge, operation):
                stack.append((owner, operation.operands[position]))

    def varied(self, place: Place, index: int) -> bool:
        if place is self.top:
            return bool(self.active.varied[index])
        # inside a func, with the activity of its arguments: whatever depends on a varied argument
        return self._inner_varied(place, index, 0)

    def _inner_varied(self, place: Place, index: int, depth: int) -> bool:
        place, index = self.evaluator.origin(place, index)
        if place is self.top:
            return bool(self.active.varied[index])
        if depth > 30:
            return False
        operation = place.trace.operations[index]
        if operation.name == "load":
            return self.knowledge.types.differentiable(operation.type)
        if operation.name == "parameter":
            # one that is anything that a caller may pass; a kernel's own are no inputs
            kernel = place.caller is None and self.knowledge.decorations.role(place.trace.definition) == "kernel"
            return not kernel and self.knowledge.types.differentiable(operation.type)
        if operation.name in ("loop", "exit"):
            return False
        return any(
            self._inner_varied(place, operation.operands[position], depth + 1)
            for position in activity.receives(self.knowledge, operation)
        )

    def differentiated(self, place: Place, index: int) -> bool:
        operation = place.trace.operations[index]
        if operation.type.kind not in ("float", "generic") and not operation.type.is_composite:
            return False
        if operation.name == "div":
            return any(self.varied(place, operand) for operand in operation.operands)
        return self.varied(place, operation.operands[0])

    def reached(self, candidate: Candidate, given: dict[Atom, Number], memory: dict[Atom, Number], start: int) -> bool:
        """Whether the candidate runs at all: the branches around it are real ones.

        ``start`` is the frame of the top body that is known to run, as far as its branches cannot be decided.
        """
        for place, frame, sure in self._branches(candidate, start):
            assert frame.condition is not None
            value = self.evaluator.value(place, frame.condition, given, memory)
            if (value is None and not sure) or (value is not None and bool(value) != frame.arm):
                return False
        return True

    def _branches(self, candidate: Candidate, start: int) -> Iterator[tuple[Place, Frame, bool]]:
        """The branches around the candidate, those around the calls that lead to it included, and whether they are
        known to be taken where nothing decides them."""
        place, frame = candidate.place, candidate.place.trace.operations[candidate.index].frame
        while True:
            for around in place.trace.around(frame):
                if place is self.top and place.trace.inside(start, around.index):
                    break
                if around.condition is not None:
                    yield place, around, False
            if place is self.top or place.caller is None:
                break
            place, index = place.caller
            frame = place.trace.operations[index].frame
        place, frame = self.top, start
        while True:
            for around in place.trace.around(frame):
                if around.condition is not None:
                    yield place, around, True
            if place.caller is None:
                return
            place, index = place.caller
            frame = place.trace.operations[index].frame

    def passes(self, candidate: Candidate, given: dict[Atom, Number], memory: dict[Atom, Number]) -> bool:
        """Whether the gradient of the singular argument gets from there to an input: not through a selection that
        has selected something else."""
        stack = [(candidate.place, operand) for operand in self.spoilt(candidate)]
        seen: set[Atom] = set()
        while stack:
            place, index = self.evaluator.origin(*stack.pop())
            key = self.evaluator.key(place, index)
            if key in seen or not self.varied(place, index):
                continue
            seen.add(key)
            parts = self.evaluator.operands(place, index)
            if not parts:
                return True
            operation = place.trace.operations[index]
            values = [self.evaluator.value(*part, given, memory) for part in parts]
            stack.extend(
                part for part, open_ in zip(parts, open_operands(operation.name, values), strict=True) if open_
            )
        return False

    def spoilt(self, candidate: Candidate) -> tuple[int, ...]:
        """The operands whose gradient is not finite."""
        operation = candidate.place.trace.operations[candidate.index]
        if operation.name in ("div", "pow"):
            return operation.operands
        return operation.operands[:1]

    def path_atoms(self, candidate: Candidate, start: int) -> dict[Atom, tuple[Place, int]]:
        """The atoms that decide whether the candidate runs and is singular."""
        found: dict[Atom, tuple[Place, int]] = {}
        operation = candidate.place.trace.operations[candidate.index]
        for operand in operation.operands:
            found.update(self.evaluator.atoms(candidate.place, operand))
        for place, frame, _ in self._branches(candidate, start):
            assert frame.condition is not None
            found.update(self.evaluator.atoms(place, frame.condition))
        return found

    def singular(self, candidate: Candidate, given: dict[Atom, Number], memory: dict[Atom, Number]) -> bool | None:
        """Whether the candidate's adjoint is not finite at this point, None if that cannot be computed."""
        operation = candidate.place.trace.operations[candidate.index]
        values = [self.evaluator.value(candidate.place, operand, given, memory) for operand in operation.operands]
        argument = values[SINGULAR[operation.name]]
        if not isinstance(argument, (int, float)):
            return None
        if math.isnan(argument) or math.isinf(argument):
            return False  # what made it so is a candidate itself
        if operation.name in ("div", "cbrt"):
            return argument == 0
        if operation.name == "exp":
            return argument > 88.7
        if operation.name == "pow":
            exponent = values[1]
            if not isinstance(exponent, (int, float)):
                return None
            if self.varied(candidate.place, operation.operands[1]):
                return argument <= 0
            if argument == 0:
                return exponent < 1 and exponent != 0
            return argument < 0 and float(exponent) != int(exponent)
        if operation.name.startswith("log"):
            return argument == 0  # a negative argument gives no number, but its adjoint is finite: 0 / argument
        return argument <= 0


def open_operands(name: str, values: list[Number]) -> tuple[bool, ...]:
    """For each operand whether the adjoint of the operation passes a gradient on to it, for these values."""
    unsure = tuple(True for _ in values)
    if any(value is None or isinstance(value, tuple) for value in values[:1]):
        return unsure
    first: Any = values[0]
    if name in ("where", "phi"):
        return (False, bool(first), not first)
    if name == "select":
        return (False, not first, bool(first))
    if name in ("min", "max", "clamp") and all(isinstance(value, (int, float)) for value in values):
        others: list[Any] = values[1:]
        if name == "clamp":
            return (others[0] <= first < others[1], first < others[0], first >= others[1])
        if len(others) == 1:
            # Warp gives the gradient of a tie to the second operand
            return (first < others[0], first >= others[0]) if name == "min" else (first > others[0], first <= others[0])
    return unsure


def elsewhere(type_: Type) -> Number:
    """A number that is nothing in particular, of this type."""
    if type_.is_composite:
        size = 1
        for length in type_.shape or (3,):
            size *= length
        return tuple(_ELSEWHERE + 0.1 * at for at in range(size))
    if type_.kind == "int":
        return 3
    return True if type_.kind == "bool" else _ELSEWHERE
