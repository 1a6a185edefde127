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
from collections.abc import Iterator, Sequence
from itertools import product

from warplint.ir.spans import Location
from warplint.kernels.activity import Activity
from warplint.kernels.knowledge import Knowledge
from warplint.kernels.numeric import Atom, Number, Place
from warplint.kernels.ranges import bounds
from warplint.kernels.singular import SINGULAR, Candidate, Points, elsewhere
from warplint.kernels.text import source
from warplint.kernels.trace import Trace
from warplint.records import dataclass

_TRIED = (1.0, -1.0, 1000.0, -1000.0, 0.37, -0.61, 2.3)

#: How many numbers are tried for each atom of a condition that reads one, two or three.
_CHOICES = {1: 80, 2: 18, 3: 7}

#: How far beside a singular point the operand is looked at, relative to the point.
_BESIDE = (1.0e-3, 3.0e-3)

#: What atoms that the condition does not read are: nothing in particular.


@dataclass(frozen=True, slots=True)
class Unselected:
    """A ``where`` whose operand has a non-finite adjoint where it is not selected."""

    where: int
    condition: int
    operand: str
    operation: str
    description: str
    place: Location


def unselected(knowledge: Knowledge, trace: Trace, active: Activity, places: Sequence[Place]) -> Iterator[Unselected]:
    """The ``where`` calls of a trace whose gradient becomes NaN in some of ``places``."""
    seen: set[object] = set()
    for operation in trace.operations:
        if operation.name not in ("where", "select") or len(operation.operands) != 3:
            continue
        if not active.useful[operation.index] or operation.span in seen:
            continue
        for place in places:
            found = _Search(Points(knowledge, place, active), operation.index).run()
            if found is not None:
                seen.add(operation.span)
                yield found
                break


def selects_given(trace: Trace) -> bool:
    """Whether a func selects between numbers that its callers computed, so that only these show what they are."""
    operations = trace.operations
    return any(
        operation.name in ("where", "select")
        and any(
            operations[operand].name == "parameter" and operations[operand].type.kind in ("float", "generic")
            for operand in operation.operands[1:]
        )
        for operation in operations
    )


@dataclass(frozen=True, slots=True)
class _Point:
    """A candidate for certain numbers: whether it runs, is singular, and passes that on to an input."""

    condition: bool
    reached: bool
    singular: bool
    passes: bool


class _Search:
    def __init__(self, points: Points, where: int) -> None:
        self._points = points
        self._evaluator = points.evaluator
        self._top = points.top
        self._trace = points.top.trace
        self._where = self._trace.operations[where]

    def run(self) -> Unselected | None:
        operands = self._where.operands
        atoms = self._evaluator.atoms(self._top, operands[0])
        if not atoms or len(atoms) > 3:
            return None
        for position in (1, 2):
            selected_when = (position == 1) == (self._where.name == "where")
            if not self._points.varied(self._top, operands[position]):
                continue
            for candidate in self._points.candidates(operands[position]):
                if self._guarded(candidate, atoms, selected_when):
                    return self._found(candidate, position)
        return None

    def _found(self, candidate: Candidate, position: int) -> Unselected:
        operation = candidate.place.trace.operations[candidate.index]
        definition = candidate.place.trace.definition
        argument = candidate.place.trace.operations[operation.operands[SINGULAR[operation.name]]]
        text = str(argument.detail) if argument.name == "parameter" else source(definition.module, argument.span)
        description = {
            "div": f"divides by `{text}`, which can be zero",
            "exp": f"`exp({text})` can overflow",
            "sqrt": f"`sqrt({text})` can have an infinite or undefined derivative",
            "cbrt": f"`cbrt({text})` can have an infinite derivative",
            "pow": f"the power of `{text}` can have an infinite or undefined derivative",
        }.get(operation.name, f"`{operation.name}({text})` can be infinite")
        operand = self._trace.operations[self._where.operands[position]]
        return Unselected(
            self._where.index,
            0,
            source(self._trace.definition.module, operand.span),
            operation.name,
            description,
            Location(definition.module.path, operation.span),
        )

    # --- guards ---

    def _guarded(self, candidate: Candidate, atoms: dict[Atom, tuple[Place, int]], selected_when: bool) -> bool:
        """Whether the condition guards the candidate's singular point.

        It is hit only where the operand is not selected.
        """
        operation = candidate.place.trace.operations[candidate.index]
        argument = operation.operands[SINGULAR[operation.name]]
        reads = self._evaluator.atoms(candidate.place, argument)
        if not set(reads) & set(atoms):
            return False
        given: dict[Atom, Number] = {}
        for key, (place, index) in {**reads, **self._points.path_atoms(candidate, self._where.frame)}.items():
            given[key] = elsewhere(place.trace.operations[index].type)
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
        candidate: Candidate,
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
        candidate: Candidate,
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
        if not self._points.reached(candidate, given, memory, self._where.frame):
            return _Point(bool(condition), False, False, False)
        singular = self._points.singular(candidate, given, memory)
        if singular is None:
            return None
        passes = singular and self._points.passes(candidate, given, memory)
        return _Point(bool(condition), True, singular, passes)

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
        low, high = bounds(self._evaluator, place, index)
        numbers = [number for number in (0.0, *compared, *_TRIED, *beside) if low <= number <= high]
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
