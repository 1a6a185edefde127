"""Conditions that cannot be known: which way a run takes, and which ways other runs should take."""

from __future__ import annotations

from dataclasses import dataclass, field

from warplint.ir.spans import Location
from warplint.tapes.values import Unknown, Value

#: What stands for an unknown number of rounds, elements or steps.
ROUNDS = 3
_MAX_GUESS = 24


@dataclass(slots=True)
class Questions:
    """The answers of one run. ``flipped`` are the places where it answers against the default."""

    flipped: frozenset[Location] = frozenset()
    #: The places where a question was asked whose answer matters, in order.
    asked: dict[Location, bool] = field(default_factory=dict)
    _answers: dict[int, bool] = field(default_factory=dict)
    _equal: dict[int, object] = field(default_factory=dict)
    _numbers: dict[int, int] = field(default_factory=dict)
    # Unknown values are kept alive as long as their identities serve as keys.
    _alive: list[Unknown] = field(default_factory=list)

    def decided(self, unknown: Unknown) -> bool | None:
        """The answer that was already given for a value, None if it was never asked."""
        origin = unknown.origin
        if origin is not None and origin[0] == "not":
            assert isinstance(origin[1], Unknown)
            inner = self.decided(origin[1])
            return None if inner is None else not inner
        return self._answers.get(id(unknown))

    def truth(self, unknown: Unknown, site: Location, default: bool, matters: bool = True) -> bool:
        """Whether an unknown value is true in this run; ``matters``: the other answer may be worth a run."""
        origin = unknown.origin
        if origin is not None and origin[0] == "not":
            assert isinstance(origin[1], Unknown)
            return not self.truth(origin[1], site, not default, matters)
        known = self._answers.get(id(unknown))
        if known is not None:
            return known
        if origin is not None and origin[0] == "==" and id(origin[1]) in self._equal:
            return self._equal[id(origin[1])] == origin[2]
        answer = default != (site in self.flipped)
        if matters:
            self.asked.setdefault(site, answer)
        self._answers[id(unknown)] = answer
        self._alive.append(unknown)
        if answer and origin is not None and origin[0] == "==":
            self._equal[id(origin[1])] = origin[2]
        return answer

    def number(self, unknown: Unknown) -> int:
        """The whole number that stands for an unknown one, the same each time and consistent under arithmetic."""
        known = self._numbers.get(id(unknown))
        if known is not None:
            return known
        value = self._compute(unknown)
        self._numbers[id(unknown)] = value
        self._alive.append(unknown)
        return value

    def _compute(self, unknown: Unknown) -> int:
        origin = unknown.origin
        if origin is not None and len(origin) == 3 and origin[0] in ("+", "-", "*", "//", "%"):
            left, right = (self._operand(item) for item in origin[1:])
            if left is not None and right is not None:
                if origin[0] == "+":
                    result = left + right
                elif origin[0] == "-":
                    result = left - right
                elif origin[0] == "*":
                    result = left * right
                elif right == 0:
                    return ROUNDS
                else:
                    result = left // right if origin[0] == "//" else left % right
                return min(result, _MAX_GUESS)
        if origin is not None and origin[0] == "int" and isinstance(origin[1], Unknown):
            return self.number(origin[1])
        return ROUNDS

    def _operand(self, value: object) -> int | None:
        if isinstance(value, Unknown):
            return self.number(value)
        if isinstance(value, int):
            return int(value)
        return None


def derived(operator: str, *operands: Value) -> Unknown:
    """The unknown result of an operation on values of which one is unknown; the same for the same operands."""
    unknown = [item for item in operands if item.__class__ is Unknown]
    first = unknown[0]
    key = (operator, *[id(item) if item.__class__ is Unknown else _key(item) for item in operands])
    found = first.children.get(key)
    if found is None:
        sources = first.sources
        for other in unknown[1:]:
            sources |= other.sources
        found = first.children[key] = Unknown(first.hint, (operator, *operands), sources)
    assert isinstance(found, Unknown)
    return found


def _key(value: Value) -> object:
    if value.__class__ is not tuple and value.__class__ is not slice:
        return (value.__class__, value)  # numbers and texts, and what has identity
    try:
        hash(value)
    except TypeError:
        return id(value)
    return (value.__class__, value)
