"""``wp.where`` computes and differentiates both operands.

One whose adjoint is not finite where it is not selected makes the gradient NaN: a zero gradient times an infinite
derivative.

A finding needs a guard that was meant as one and does not work: numbers for what the condition reads at which the
operand is not selected and holds an operation with a non-finite adjoint, while wherever it *is* selected that
operation is regular, or at least right beside that point (``where(r < 1, f(1 / (1 - r * r)), 0)`` guards 1 and
forgets -1). Conditions that have nothing to do with the singular point, and singular points that nothing shows to be
reachable, are no findings; nor are those behind a ``max``, ``min``, ``clamp`` or branch that passes no gradient there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from warplint.ir.spans import Location
from warplint.kernels import activity
from warplint.kernels.activity import Activity
from warplint.kernels.knowledge import Knowledge
from warplint.kernels.numeric import Atom, Evaluator, Number, Place
from warplint.kernels.text import source
from warplint.kernels.trace import Trace
from warplint.kernels.types import Type

#: The operations with singular adjoints, and which operand is the singular one.
_SINGULAR = {
    "sqrt": 0,
    "cbrt": 0,
    "log": 0,
    "log2": 0,
    "log10": 0,
    "div": 1,
    "pow": 0,
    "exp": 0,
}

#: Numbers that conditions are tried with, besides the constants that they compare with.
_TRIED = (1.0, -1.0, 1000.0, -1000.0, 0.37, -0.61, 2.3)

#: How many numbers are tried for each atom of a condition that reads one, two or three.
_CHOICES = {1: 80, 2: 18, 3: 7}

#: How far beside a singular point the operand is looked at, relative to the point.
_BESIDE = (1.0e-3, 3.0e-3)

#: What atoms that the condition does not read are: nothing in particular.
_ELSEWHERE = 0.7123


@dataclass(frozen=True, slots=True)
class Unselected:
    """A ``where`` whose operand has a non-finite adjoint where it is not selected."""

    where: int
    condition: int
    operand: str
    operation: str
    description: str
    place: Location


def unselected(knowledge: Knowledge, trace: Trace, active: Activity) -> Iterator[Unselected]:
    """The ``where`` calls of a trace whose gradient becomes NaN."""
    seen: set[object] = set()
    for operation in trace.operations:
        if operation.name not in ("where", "select") or len(operation.operands) != 3:
            continue
        if not active.useful[operation.index] or operation.span in seen:
            continue
        found = _Search(knowledge, trace, active, operation.index).run()
        if found is not None:
            seen.add(operation.span)
            yield found


@dataclass(frozen=True, slots=True)
class _Candidate:
    place: Place
    index: int


@dataclass(frozen=True, slots=True)
class _Point:
    """A candidate for certain numbers: whether it runs, is singular, and passes that on to an input."""

    condition: bool
    reached: bool
    singular: bool
    passes: bool


class _Search:
    def __init__(self, knowledge: Knowledge, trace: Trace, active: Activity, where: int) -> None:
        self._knowledge = knowledge
        self._trace = trace
        self._active = active
        self._where = trace.operations[where]
        self._evaluator = Evaluator(knowledge)
        self._top = Place(trace)

    def run(self) -> Unselected | None:
        operands = self._where.operands
        atoms = self._evaluator.atoms(self._top, operands[0])
        if not atoms or len(atoms) > 3:
            return None
        for position in (1, 2):
            selected_when = (position == 1) == (self._where.name == "where")
            if not self._active.varied[operands[position]]:
                continue
            for candidate in self._candidates(operands[position]):
                if self._guarded(candidate, atoms, selected_when):
                    return self._found(candidate, position)
        return None

    def _found(self, candidate: _Candidate, position: int) -> Unselected:
        operation = candidate.place.trace.operations[candidate.index]
        definition = candidate.place.trace.definition
        argument = candidate.place.trace.operations[operation.operands[_SINGULAR[operation.name]]]
        text = str(argument.detail) if argument.name == "parameter" else source(definition.module, argument.span)
        description = {
            "div": f"divides by `{text}`, which is zero",
            "exp": f"`exp({text})` overflows",
            "sqrt": f"`sqrt({text})` has an infinite or undefined derivative",
            "cbrt": f"`cbrt({text})` has an infinite derivative",
            "pow": f"the power of `{text}` has an infinite or undefined derivative",
        }.get(operation.name, f"`{operation.name}({text})` is not finite")
        operand = self._trace.operations[self._where.operands[position]]
        return Unselected(
            self._where.index,
            0,
            source(self._trace.definition.module, operand.span),
            operation.name,
            description,
            Location(definition.module.path, operation.span),
        )

    # --- candidates ---

    def _candidates(self, operand: int) -> Iterator[_Candidate]:
        """Operations with a singular adjoint that the gradient of the operand passes through."""
        seen: set[tuple[int, int]] = set()
        stack = [(self._top, operand)]
        while stack and len(seen) < 300:
            place, index = stack.pop()
            owner, at = self._evaluator.origin(place, index)
            key = (id(owner), at)
            if key in seen:
                continue
            seen.add(key)
            operation = owner.trace.operations[at]
            if not self._varied(owner, at):
                continue
            if operation.name in _SINGULAR and self._differentiated(owner, at):
                yield _Candidate(owner, at)
            if operation.name == "call":
                inside = self._evaluator.called(owner, operation)
                if inside is not None:
                    for returned in inside.trace.returns:
                        stack.extend((inside, part) for part in inside.trace.operations[returned].operands)
                continue
            if operation.name in ("loop", "exit"):
                continue
            for position in activity.receives(self._knowledge, operation):
                stack.append((owner, operation.operands[position]))

    def _varied(self, place: Place, index: int) -> bool:
        if place is self._top:
            return bool(self._active.varied[index])
        # inside a func, with the activity of its arguments: whatever depends on a varied argument
        return self._inner_varied(place, index, 0)

    def _inner_varied(self, place: Place, index: int, depth: int) -> bool:
        place, index = self._evaluator.origin(place, index)
        if place is self._top:
            return bool(self._active.varied[index])
        if depth > 30:
            return False
        operation = place.trace.operations[index]
        if operation.name == "load":
            return self._knowledge.types.differentiable(operation.type)
        if operation.name in ("loop", "exit"):
            return False
        return any(
            self._inner_varied(place, operation.operands[position], depth + 1)
            for position in activity.receives(self._knowledge, operation)
        )

    def _differentiated(self, place: Place, index: int) -> bool:
        operation = place.trace.operations[index]
        if operation.type.kind not in ("float", "generic") and not operation.type.is_composite:
            return False
        if operation.name == "div":
            return any(self._varied(place, operand) for operand in operation.operands)
        return self._varied(place, operation.operands[0])

    # --- guards ---

    def _guarded(self, candidate: _Candidate, atoms: dict[Atom, tuple[Place, int]], selected_when: bool) -> bool:
        """Whether the condition guards the candidate's singular point.

        It is hit only where the operand is not selected.
        """
        operation = candidate.place.trace.operations[candidate.index]
        argument = operation.operands[_SINGULAR[operation.name]]
        reads = self._evaluator.atoms(candidate.place, argument)
        if not set(reads) & set(atoms):
            return False
        given: dict[Atom, Number] = {}
        for key, (place, index) in {**reads, **self._path_atoms(candidate)}.items():
            given[key] = _elsewhere(place.trace.operations[index].type)
        count = _CHOICES[len(atoms)]
        choices = [self._tried(place, index)[:count] for place, index in atoms.values()]
        leaks = False
        hits: list[tuple[Number, ...]] = []
        for numbers in product(*choices):
            point = self._at(candidate, given, atoms, numbers)
            if point is None:
                return False
            if not point.reached or not point.singular:
                continue
            if point.condition == selected_when:
                leaks = True
            elif point.passes:
                hits.append(numbers)
        if not leaks:
            return bool(hits)
        # The guard forgets other singular points; it is one if these lie along its boundary. With several atoms one
        # point may do so by chance (``x < h`` and ``x / h`` at 0, 0).
        beside = [hit for hit in hits[:60] if self._guarded_beside(candidate, given, atoms, hit, selected_when)]
        if len(atoms) == 1:
            return bool(beside)
        return any(all(a != b for a, b in zip(beside[0], other, strict=True)) for other in beside[1:])

    def _guarded_beside(
        self,
        candidate: _Candidate,
        given: dict[Atom, Number],
        atoms: dict[Atom, tuple[Place, int]],
        numbers: tuple[Number, ...],
        selected_when: bool,
    ) -> bool:
        """Whether the operand is selected and regular right beside a singular point."""
        for position, number in enumerate(numbers):
            if not isinstance(number, float):
                continue
            for step in (*_BESIDE, *(-step for step in _BESIDE)):
                moved = number + step * max(1.0, abs(number))
                point = self._at(candidate, given, atoms, (*numbers[:position], moved, *numbers[position + 1 :]))
                if point is not None and point.reached and point.condition == selected_when and not point.singular:
                    return True
        return False

    def _at(
        self,
        candidate: _Candidate,
        given: dict[Atom, Number],
        atoms: dict[Atom, tuple[Place, int]],
        numbers: tuple[Number, ...],
    ) -> _Point | None:
        """What is there for these numbers, None if that cannot be computed."""
        given = {**given, **dict(zip(atoms, numbers, strict=True))}
        memory: dict[Atom, Number] = {}
        condition = self._evaluator.value(self._top, self._where.operands[0], given, memory)
        if condition is None:
            return None
        if not self._reached(candidate, given, memory):
            return _Point(bool(condition), False, False, False)
        singular = self._singular(candidate, given, memory)
        if singular is None:
            return None
        passes = singular and self._passes(candidate, given, memory)
        return _Point(bool(condition), True, singular, passes)

    def _passes(self, candidate: _Candidate, given: dict[Atom, Number], memory: dict[Atom, Number]) -> bool:
        """Whether the gradient of the singular argument gets from there to an input: not through a selection that
        has selected something else."""
        stack = [(candidate.place, operand) for operand in self._spoilt(candidate)]
        seen: set[Atom] = set()
        while stack:
            place, index = self._evaluator.origin(*stack.pop())
            key = self._evaluator.key(place, index)
            if key in seen or not self._varied(place, index):
                continue
            seen.add(key)
            parts = self._evaluator.operands(place, index)
            if not parts:
                return True
            operation = place.trace.operations[index]
            values = [self._evaluator.value(*part, given, memory) for part in parts]
            stack.extend(part for part, open_ in zip(parts, _open(operation.name, values), strict=True) if open_)
        return False

    def _spoilt(self, candidate: _Candidate) -> tuple[int, ...]:
        """The operands whose gradient is not finite."""
        operation = candidate.place.trace.operations[candidate.index]
        if operation.name in ("div", "pow"):
            return operation.operands
        return operation.operands[:1]

    def _path_atoms(self, candidate: _Candidate) -> dict[Atom, tuple[Place, int]]:
        found: dict[Atom, tuple[Place, int]] = {}
        operation = candidate.place.trace.operations[candidate.index]
        for operand in operation.operands:
            found.update(self._evaluator.atoms(candidate.place, operand))
        for frame in candidate.place.trace.around(operation.frame):
            if frame.condition is not None:
                found.update(self._evaluator.atoms(candidate.place, frame.condition))
        return found

    def _reached(self, candidate: _Candidate, given: dict[Atom, Number], memory: dict[Atom, Number]) -> bool:
        """Whether the candidate runs at all: the branches around it are real ones."""
        place = candidate.place
        for frame in place.trace.around(place.trace.operations[candidate.index].frame):
            if frame.condition is None:
                continue
            if place is self._top and place.trace.inside(self._where.frame, frame.index):
                continue  # the where itself stands in this branch
            value = self._evaluator.value(place, frame.condition, given, memory)
            if value is None or bool(value) != frame.arm:
                return False
        if place is self._top:
            for frame in place.trace.around(self._where.frame):
                if frame.condition is None:
                    continue
                value = self._evaluator.value(place, frame.condition, given, memory)
                if value is not None and bool(value) != frame.arm:
                    return False
        return True

    def _singular(self, candidate: _Candidate, given: dict[Atom, Number], memory: dict[Atom, Number]) -> bool | None:
        """Whether the candidate's adjoint is not finite at this point, None if that cannot be computed."""
        operation = candidate.place.trace.operations[candidate.index]
        values = [self._evaluator.value(candidate.place, operand, given, memory) for operand in operation.operands]
        argument = values[_SINGULAR[operation.name]]
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
            if self._varied(candidate.place, operation.operands[1]):
                return argument <= 0
            if argument == 0:
                return exponent < 1 and exponent != 0
            return argument < 0 and float(exponent) != int(exponent)
        if operation.name.startswith("log"):
            return argument == 0  # a negative argument gives no number, but its adjoint is finite: 0 / argument
        return argument <= 0

    def _tried(self, place: Place, index: int) -> list[Number]:
        type_ = place.trace.operations[index].type
        if type_.kind == "bool":
            return [True, False]
        if type_.is_composite:
            size = 1
            for length in type_.shape or (3,):
                size *= length
            return [
                tuple(0.0 for _ in range(size)),
                tuple(0.3 + 0.1 * at for at in range(size)),
                tuple(9.0 for _ in range(size)),
                *(tuple(value if at == 0 else 0.0 for at in range(size)) for value in self._compared()),
            ]
        compared = self._compared()
        beside = [
            number
            for value in compared
            for number in (
                -value,
                value * 0.5,
                value * 2.0,
                value + 1.0,
                value - 1.0,
                value + _BESIDE[0] * max(1.0, abs(value)),
                value - _BESIDE[0] * max(1.0, abs(value)),
            )
        ]
        numbers = [0.0, *compared, *_TRIED, *beside]
        if type_.kind == "int":
            return list(dict.fromkeys(int(value) for value in numbers))
        return list(dict.fromkeys(numbers))

    def _compared(self) -> list[float]:
        """The constants in the condition."""
        found: list[float] = []
        stack = [self._where.operands[0]]
        seen: set[int] = set()
        while stack and len(seen) < 60:
            index = stack.pop()
            if index in seen:
                continue
            seen.add(index)
            operation = self._trace.operations[index]
            if operation.name == "constant" and isinstance(operation.detail, (int, float)):
                value = float(operation.detail)
                if math.isfinite(value) and abs(value) < 1.0e30:
                    found.append(value)
            if operation.name != "load":
                stack.extend(operation.operands)
        return found[:8]


def _open(name: str, values: list[Number]) -> tuple[bool, ...]:
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


def _elsewhere(type_: Type) -> Number:
    if type_.is_composite:
        size = 1
        for length in type_.shape or (3,):
            size *= length
        return tuple(_ELSEWHERE + 0.1 * at for at in range(size))
    if type_.kind == "int":
        return 3
    return True if type_.kind == "bool" else _ELSEWHERE
