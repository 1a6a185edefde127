"""Evaluates values of a trace for chosen numbers: what a condition and an operand are at one point.

Nothing of the project is executed; this is arithmetic over the operations of the record. What is not arithmetic (an
array element, a parameter, a built-in that is not modelled) is an *atom*, which the caller gives a number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Union

from warplint.kernels.knowledge import Knowledge
from warplint.kernels.trace import Insert, Operation, Trace
from warplint.source.project import Definition

#: A value: a number or the components of a composite. None: cannot be computed.
Number = Union[float, int, bool, tuple[float, ...], None]

#: An atom: the place where it is evaluated and the number of its operation there.
Atom = tuple[int, int]

_LARGEST = 3.4e38


class Place:
    """A trace, and for a called func the call and the values of its parameters: where operations are evaluated.

    ``caller`` is the place of the call and its operation there. ``arguments`` leaves out parameters whose values are
    anything that the caller may pass.
    """

    def __init__(
        self,
        trace: Trace,
        arguments: dict[str, tuple[Place, int]] | None = None,
        caller: tuple[Place, int] | None = None,
        depth: int = 0,
    ) -> None:
        self.trace = trace
        self.arguments = arguments or {}
        self.caller = caller
        self.depth = depth
        self.calls: dict[int, Place | None] = {}


class Evaluator:
    """Evaluates operations with given numbers for atoms."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge

    def called(self, place: Place, operation: Operation) -> Place | None:
        """The inside of the func that ``operation`` calls, None where it is not followed."""
        if operation.index in place.calls:
            return place.calls[operation.index]
        result: Place | None = None
        assert isinstance(operation.detail, Definition)
        summary = self._knowledge.summarise(operation.detail)
        if summary is not None and summary.trace is not None and place.depth < 4:
            names = [name for name, _, _ in summary.trace.parameters]
            arguments = {name: (place, operand) for name, operand in zip(names, operation.operands, strict=False)}
            result = Place(summary.trace, arguments, (place, operation.index), place.depth + 1)
        place.calls[operation.index] = result
        return result

    def origin(self, place: Place, index: int) -> tuple[Place, int]:
        """Follows parameters to the caller's arguments, and copies."""
        while True:
            operation = place.trace.operations[index]
            if operation.name == "parameter" and str(operation.detail) in place.arguments:
                place, index = place.arguments[str(operation.detail)]
            elif operation.name == "copy":
                index = operation.operands[0]
            else:
                return place, index

    def operands(self, place: Place, index: int) -> tuple[tuple[Place, int], ...] | None:
        """What the value is computed from, None for an atom."""
        operation = place.trace.operations[index]
        if operation.name == "call":
            inside = self.called(place, operation)
            if inside is None or len(inside.trace.returns) != 1:
                return None
            returned = inside.trace.operations[inside.trace.returns[0]]
            return ((inside, returned.operands[0]),) if len(returned.operands) == 1 else None
        if operation.name == "constant" and isinstance(operation.detail, (int, float)):
            return ()
        if operation.name in _FUNCTIONS or operation.name in ("compare", "logic", "phi", "where", "select", "pos"):
            return tuple((place, operand) for operand in operation.operands)
        if operation.name == "extract" and self._constructed(place, operation) is not None:
            return (self._constructed(place, operation) or (place, index),)
        if operation.name == "construct" and operation.type.is_composite:
            return tuple((place, operand) for operand in operation.operands)
        return None

    def _constructed(self, place: Place, operation: Operation) -> tuple[Place, int] | None:
        owner, index = self.origin(place, operation.operands[0])
        source = owner.trace.operations[index]
        component = operation.detail
        while source.name == "insert" and isinstance(source.detail, Insert):
            stored = source.detail.component
            if stored == component:
                return (owner, source.operands[-1])
            if not _constant(stored) or not _constant(component):
                return None
            owner, index = self.origin(owner, source.operands[0])
            source = owner.trace.operations[index]
        if source.name == "construct" and isinstance(component, tuple) and len(component) == 1:
            at, size = component[0], len(source.operands)
            # An index that is out of range is an error of the file's, which Warp reports.
            if isinstance(at, int) and source.type.shape == (size,) and -size <= at < size:
                return (owner, source.operands[at])
        return None

    def atoms(self, place: Place, index: int, limit: int = 400) -> dict[Atom, tuple[Place, int]]:
        """The atoms that a value depends on."""
        found: dict[Atom, tuple[Place, int]] = {}
        seen: set[tuple[int, int]] = set()
        stack = [(place, index)]
        while stack and len(seen) < limit:
            here, at = self.origin(*stack.pop())
            key = self.key(here, at)
            if key in seen:
                continue
            seen.add(key)
            parts = self.operands(here, at)
            if parts is None:
                found[key] = (here, at)
            else:
                stack.extend(parts)
        return found

    def key(self, place: Place, index: int) -> Atom:
        """Equal for values that are certainly equal."""
        return (id(place), place.trace.operations[index].number)

    def value(self, place: Place, index: int, given: dict[Atom, Number], memory: dict[Atom, Number]) -> Number:
        """The number that the value has for the ``given`` atoms."""
        place, index = self.origin(place, index)
        key = self.key(place, index)
        if key in given:
            return given[key]
        if key in memory:
            return memory[key]
        memory[key] = None
        operation = place.trace.operations[index]
        parts = self.operands(place, index)
        if parts is None:
            return None
        if operation.name == "constant":
            assert isinstance(operation.detail, (bool, int, float))
            result: Number = operation.detail
        else:
            result = self._apply(operation, [self.value(*part, given, memory) for part in parts])
        memory[key] = result
        return result

    def _apply(self, operation: Operation, values: list[Number]) -> Number:
        name = operation.name
        if name in ("call", "extract", "pos"):
            return values[0]
        if name in ("phi", "where"):
            return None if values[0] is None else values[1] if values[0] else values[2]
        if name == "select":
            return None if values[0] is None else values[2] if values[0] else values[1]
        if any(value is None for value in values):
            return None
        if name == "construct":
            parts = [value for value in values if isinstance(value, (int, float))]
            if len(parts) != len(values):
                return None
            size = operation.type.shape[0] if len(operation.type.shape) == 1 else 0
            return tuple(parts) if len(parts) == size else tuple(parts * size) if len(parts) == 1 else None
        if name == "compare":
            return _compare(str(operation.detail), values[0], values[1])
        if name == "logic":
            if operation.detail == "not":
                return not values[0]
            return all(values) if operation.detail == "and" else any(values)
        try:
            result = _FUNCTIONS[name](*values)
        except (ArithmeticError, ValueError, TypeError):
            return math.nan
        if isinstance(result, float) and abs(result) > _LARGEST:
            return math.copysign(math.inf, result)
        return result if isinstance(result, (bool, int, float, tuple)) else None


def _constant(component: object) -> bool:
    """Whether a component is given by numbers, not ranges or values."""
    return isinstance(component, tuple) and all(isinstance(part, int) for part in component)


def _compare(operator: str, left: Any, right: Any) -> bool | None:
    try:
        return {
            "<": left < right,
            "<=": left <= right,
            ">": left > right,
            ">=": left >= right,
            "==": left == right,
            "!=": left != right,
        }.get(operator)
    except TypeError:
        return None


def _each(function: Callable[[float, float], float]) -> Callable[[Any, Any], Any]:
    def apply(left: Any, right: Any) -> Any:
        if isinstance(left, tuple) and isinstance(right, tuple):
            return tuple(function(a, b) for a, b in zip(left, right, strict=True))
        if isinstance(left, tuple):
            return tuple(function(a, right) for a in left)
        if isinstance(right, tuple):
            return tuple(function(left, b) for b in right)
        return function(left, right)

    return apply


def _divide(a: float, b: float) -> float:
    if b == 0:
        return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a)
    return a / b


def _power(a: float, b: float) -> float:
    try:
        return math.pow(a, b)
    except OverflowError:
        return math.inf
    except ValueError:
        return math.inf if a == 0 else math.nan


def _exponential(a: float) -> float:
    return math.exp(a) if a < 88.7 else math.inf


def _dot(a: Any, b: Any) -> float:
    return float(sum(x * y for x, y in zip(a, b, strict=True)))


def _logarithm(a: float) -> float:
    return math.log(a) if a > 0 else -math.inf if a == 0 else math.nan


def _root(a: float) -> float:
    return math.sqrt(a) if a >= 0 else math.nan


def _normalize(a: tuple[float, ...]) -> tuple[float, ...]:
    size = math.sqrt(_dot(a, a))
    return tuple(x / size for x in a) if size > 0 else tuple(0.0 for _ in a)


def _negate(a: Any) -> Any:
    return tuple(-x for x in a) if isinstance(a, tuple) else -a


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": _each(lambda a, b: a + b),
    "sub": _each(lambda a, b: a - b),
    "mul": _each(lambda a, b: a * b),
    "div": _each(_divide),
    "mod": math.fmod,
    "floordiv": lambda a, b: a // b,
    "pow": _power,
    "neg": _negate,
    "abs": abs,
    "min": min,
    "max": max,
    "clamp": lambda x, low, high: min(max(low, x), high),
    "sqrt": _root,
    "cbrt": lambda a: math.copysign(abs(a) ** (1 / 3), a),
    "exp": _exponential,
    "log": _logarithm,
    "log2": lambda a: _logarithm(a) / math.log(2),
    "log10": lambda a: _logarithm(a) / math.log(10),
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "tanh": math.tanh,
    "atan": math.atan,
    "acos": lambda a: math.acos(min(max(a, -1.0), 1.0)),
    "asin": lambda a: math.asin(min(max(a, -1.0), 1.0)),
    "sign": lambda a: -1.0 if a < 0 else 1.0,
    "step": lambda a: 1.0 if a < 0 else 0.0,
    "nonzero": lambda a: float(a != 0),
    "float": float,
    "int": int,
    "floor": math.floor,
    "ceil": math.ceil,
    "round": round,
    "dot": _dot,
    "ddot": _dot,
    "length": lambda a: math.sqrt(_dot(a, a)),
    "length_sq": lambda a: _dot(a, a),
    "normalize": _normalize,
}
