"""Operations that are finite at a point that values can reach, while their derivative there is not.

The root of a sum of squares is the case that happens: at zero it is zero, and the gradient is not a number. A bare
argument may never be zero; it is told apart. Where the forward value is not finite either (something is divided by
the root), the forward pass shows it, and there is no finding; where a ``where`` has selected something else, the
selection is the finding (``unselected``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from warplint.kernels.activity import Activity, receives
from warplint.kernels.knowledge import Knowledge
from warplint.kernels.numeric import Atom, Number, Place
from warplint.kernels.ranges import bounds
from warplint.kernels.singular import Candidate, Points, elsewhere, open_operands
from warplint.kernels.trace import Trace
from warplint.records import dataclass
from warplint.source.project import Definition

#: What conditions are tried with where they compare a singular point with something else.
_OTHERS = (0.7123, 40.0)


@dataclass(frozen=True, slots=True)
class Endless:
    """An operation with an infinite derivative at zero; ``reachable``: nothing keeps its argument from being zero.

    Otherwise the argument is a bare value, of which nothing is known.
    """

    operation: int
    argument: int
    reachable: bool


@dataclass(frozen=True, slots=True)
class _Zero:
    """The values whose being zero makes an argument zero, and whether they are bound to be zero at some time."""

    bases: tuple[tuple[Place, int], ...]
    reachable: bool


def endless(knowledge: Knowledge, trace: Trace, active: Activity, places: Sequence[Place]) -> Iterator[Endless]:
    """The operations of a trace with an infinite derivative that shows in some of ``places``."""
    for operation in trace.operations:
        # whether the result is used makes no difference: an adjoint of zero times infinity is no number either
        if operation.name not in ("sqrt", "cbrt", "pow"):
            continue
        argument = operation.operands[0]
        if not active.varied[argument] or (operation.name == "pow" and not _root(trace, operation.index)):
            continue
        found = [_Search(Points(knowledge, place, active), operation.index).run() for place in places]
        shown = [reachable for reachable in found if reachable is not None]
        if shown:
            yield Endless(operation.index, argument, any(shown))


def _root(trace: Trace, index: int) -> bool:
    exponent = trace.operations[trace.operations[index].operands[1]]
    return exponent.name == "constant" and isinstance(exponent.detail, (int, float)) and 0.0 < exponent.detail < 1.0


class _Search:
    def __init__(self, points: Points, index: int) -> None:
        self._points = points
        self._evaluator = points.evaluator
        self._top = points.top
        self._operation = points.top.trace.operations[index]
        self._candidate = Candidate(points.top, index)
        # Whether branches may be taken where the argument is zero: many operations stand behind the same ones.
        self._answers: dict[tuple[int, int, bool], bool] = {}
        self._below: set[Atom] | None = None
        self._indices: set[Atom] | None = None

    def run(self) -> bool | None:
        """Whether the argument is sure to be zero at some time; None where it never is, or nothing comes of it."""
        argument = self._operation.operands[0]
        low, high = bounds(self._evaluator, self._top, argument)
        if low > 0.0 or high < 0.0:
            return None
        zero = self._zero(self._top, argument, 0)
        if zero is None or not zero.bases:
            return None
        given: dict[Atom, Number] = {}
        for base in zero.bases:
            self._give(*base, given)
        if self._operation.name == "cbrt":
            zero = _Zero(zero.bases, True)
        if not self._runs(self._candidate.place, self._operation.frame, given):
            return None
        everything = self._filled(given, self._top, argument, _OTHERS[0])
        memory: dict[Atom, Number] = {}
        if self._evaluator.value(self._top, argument, everything, memory) != 0:
            return None
        if not self._points.passes(self._candidate, everything, memory):
            return None
        return zero.reachable if self._shows(given) else None

    # --- where the argument is zero ---

    def _zero(self, place: Place, index: int, depth: int) -> _Zero | None:
        place, index = self._evaluator.origin(place, index)
        operation = place.trace.operations[index]
        parts = self._evaluator.operands(place, index)
        bare = _Zero(((place, index),), False)
        if operation.name in ("dot", "ddot", "length_sq", "mul", "abs") and parts:
            square = operation.name in ("length_sq", "abs") or (
                len(parts) == 2 and self._evaluator.key(*parts[0]) == self._evaluator.key(*parts[1])
            )
            if square:
                return _Zero((self._bottom(*parts[0]),), True) if self._can_vanish(*parts[0]) else None
        if not parts or depth > 12:
            return bare
        if operation.name == "pow":
            exponent = place.trace.operations[parts[1][1]].detail
            squared = exponent in (2, 4) and self._can_vanish(*parts[0])
            return _Zero((self._bottom(*parts[0]),), True) if squared else bare
        if operation.name == "add":
            terms = [self._zero(*part, depth + 1) for part in parts]
            if any(term is None for term in terms):
                return None
            if any(not self._points.varied(*part) for part in parts):
                return None  # a number that is added so that the sum is never zero
            if all(term is not None and term.reachable for term in terms):
                return _Zero(tuple(base for term in terms if term is not None for base in term.bases), True)
            return bare
        if operation.name in ("mul", "div"):
            for part in parts if operation.name == "mul" else parts[:1]:
                factor = self._zero(*part, depth + 1)
                if factor is not None and factor.reachable:
                    return factor
            return bare
        if operation.name in ("max", "min", "clamp"):
            free = [part for part in parts if self._points.varied(*part)]
            return self._zero(*free[0], depth + 1) if len(free) == 1 else bare
        if operation.name in ("call", "pos", "float"):
            return self._zero(*parts[0], depth + 1)
        return bare

    def _bottom(self, place: Place, index: int) -> tuple[Place, int]:
        """The value that a value is zero with: behind selections of one number and a bound."""
        for _ in range(12):
            place, index = self._evaluator.origin(place, index)
            name = place.trace.operations[index].name
            parts = self._evaluator.operands(place, index) or ()
            if name in ("max", "min", "clamp"):
                parts = tuple(part for part in parts if self._points.varied(*part))
            elif name not in ("extract", "pos", "neg", "float", "call"):
                break
            if len(parts) != 1:
                break
            place, index = parts[0]
        return place, index

    def _can_vanish(self, place: Place, index: int) -> bool:
        place, index = self._evaluator.origin(place, index)
        operation = place.trace.operations[index]
        if operation.name == "normalize":
            return False
        if operation.name == "construct":
            parts = self._evaluator.operands(place, index) or ()
            return all(self._can_vanish(*part) for part in parts)
        if operation.type.is_composite:
            return True
        low, high = bounds(self._evaluator, place, index)
        return low <= 0.0 <= high

    def _give(self, place: Place, index: int, given: dict[Atom, Number]) -> None:
        """Sets a value to zero, and what is made of it or makes it up."""
        place, index = self._evaluator.origin(place, index)
        operation = place.trace.operations[index]
        given[self._evaluator.key(place, index)] = _zero_of(elsewhere(operation.type))
        if operation.name == "construct":
            for operand in operation.operands:
                self._give(place, operand, given)
        elif operation.name == "extract":
            owner, at = self._evaluator.origin(place, operation.operands[0])
            if owner.trace.operations[at].type.is_composite:
                given[self._evaluator.key(owner, at)] = _zero_of(elsewhere(owner.trace.operations[at].type))

    def _filled(self, given: dict[Atom, Number], place: Place, index: int, other: float) -> dict[Atom, Number]:
        filled: dict[Atom, Number] = {}
        for key, (here, at) in self._evaluator.atoms(place, index).items():
            value = elsewhere(here.trace.operations[at].type)
            filled[key] = other if isinstance(value, float) else value
        return {**filled, **given}

    # --- whether it runs, and what comes of it ---

    def _runs(self, place: Place, frame: int, given: dict[Atom, Number]) -> bool:
        """Whether the branches around a frame, and around the calls that lead there, may be taken."""
        while True:
            for around in place.trace.around(frame):
                if around.condition is not None and not self._may_be(place, around.condition, around.arm, given):
                    return False
            if place.caller is None:
                return True
            place, index = place.caller
            frame = place.trace.operations[index].frame

    def _may_be(self, place: Place, condition: int, arm: bool, given: dict[Atom, Number]) -> bool:
        key = (id(place), condition, arm)
        if key not in self._answers:
            self._answers[key] = self._can_be(place, condition, arm, given)
        return self._answers[key]

    def _can_be(self, place: Place, condition: int, arm: bool, given: dict[Atom, Number]) -> bool:
        concerned = self._concerns(place, condition, given)
        if not concerned:
            return not self._tells_elements_apart(place, condition)
        for other in _OTHERS:
            value = self._evaluator.value(place, condition, self._filled(given, place, condition, other), {})
            if value is not None and bool(value) == arm:
                return True
        return False

    def _concerns(self, place: Place, index: int, given: dict[Atom, Number]) -> bool:
        """Whether a value is computed from one of the given ones, or from what these are computed from."""
        if self._below is None:
            self._below = {key for base in self._bases() for key in self._evaluator.atoms(*base)}
        below = self._below
        seen: set[Atom] = set()
        stack = [(place, index)]
        while stack and len(seen) < 300:
            here, at = self._evaluator.origin(*stack.pop())
            key = self._evaluator.key(here, at)
            if key in given or key in below:
                return True
            if key in seen:
                continue
            seen.add(key)
            operation = here.trace.operations[at]
            if operation.name != "load":
                stack.extend((here, operand) for operand in operation.operands)
        return False

    def _bases(self) -> Iterator[tuple[Place, int]]:
        zero = self._zero(self._top, self._operation.operands[0], 0)
        return iter(zero.bases if zero is not None else ())

    def _tells_elements_apart(self, place: Place, condition: int) -> bool:
        """Whether a condition compares two indices of elements that the argument is computed from (``i != j``)."""
        if self._indices is None:
            self._indices = self._indices_of_elements()
        compared = set(self._evaluator.atoms(place, condition))
        return len(compared & self._indices) >= 2

    def _indices_of_elements(self) -> set[Atom]:
        """The indices of the elements that the argument is computed from."""
        indices: set[Atom] = set()
        seen: set[Atom] = set()
        stack = [(self._top, self._operation.operands[0])]
        while stack and len(seen) < 300:
            here, at = self._evaluator.origin(*stack.pop())
            key = self._evaluator.key(here, at)
            if key in seen:
                continue
            seen.add(key)
            operation = here.trace.operations[at]
            if operation.name == "load":
                indices |= {
                    self._evaluator.key(*self._evaluator.origin(here, operand)) for operand in operation.operands[1:]
                }
            else:
                stack.extend((here, operand) for operand in operation.operands)
        return indices

    def _shows(self, given: dict[Atom, Number]) -> bool:
        """Whether everything that is made of the value stays finite, and it does not all end at selections."""
        place: Place | None = self._top
        start = self._operation.index
        while place is not None:
            reached = {start}
            sink = returned = selected = False
            for operation in place.trace.following(start):
                hit = [position for position, operand in enumerate(operation.operands) if operand in reached]
                if not hit or not self._runs(place, operation.frame, given):
                    continue
                filled = self._filled(given, place, operation.index, _OTHERS[0])
                divides = operation.name in ("div", "log") and hit[-1] == len(operation.operands) - 1
                if divides and self._evaluator.value(place, operation.operands[-1], filled, {}) == 0:
                    return False
                if operation.name in ("store", "accumulate", "atomic"):
                    sink = sink or operation.operands[-1] in reached
                    continue
                if operation.name == "return":
                    returned = True
                    continue
                if operation.name == "call" and isinstance(operation.detail, Definition):
                    summary = self._points.knowledge.summarise(operation.detail)
                    sink = sink or (summary is not None and any(position in summary.stored for position in hit))
                values = [self._evaluator.value(place, operand, filled, {}) for operand in operation.operands]
                passing = tuple(True for _ in values)
                if operation.name in ("where", "select", "phi"):
                    passing = open_operands(operation.name, values)
                    selected = selected or not all(passing[position] for position in hit)
                through = receives(self._points.knowledge, operation)
                if any(passing[position] and position in through for position in hit):
                    reached.add(operation.index)
            if sink:
                return True
            if not returned:
                return not selected
            if place.caller is None:
                return True
            place, start = place.caller
        return False


def _zero_of(number: Number) -> Number:
    return tuple(0.0 for _ in number) if isinstance(number, tuple) else 0.0
