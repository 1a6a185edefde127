"""Between which numbers a value lies, as far as its own expression says."""

from __future__ import annotations

import math

from warplint.kernels.numeric import Evaluator, Place

#: Lower and upper bound. What is certainly positive has a positive lower bound, however small.
Range = tuple[float, float]

ANY: Range = (-math.inf, math.inf)
_TINY = 1.0e-38
_BOUNDED: dict[str, Range] = {
    "sin": (-1.0, 1.0),
    "cos": (-1.0, 1.0),
    "tanh": (-1.0, 1.0),
    "exp": (_TINY, math.inf),
    "cosh": (1.0, math.inf),
    "sqrt": (0.0, math.inf),
    "length": (0.0, math.inf),
    "length_sq": (0.0, math.inf),
    "acos": (0.0, math.pi),
    "randf": (0.0, 1.0),
    "tid": (0.0, math.inf),
}


def bounds(evaluator: Evaluator, place: Place, index: int, depth: int = 0) -> Range:
    """The range of a value."""
    place, index = evaluator.origin(place, index)
    operation = place.trace.operations[index]
    name = operation.name
    if name == "constant":
        value = operation.detail
        return (float(value), float(value)) if isinstance(value, (int, float)) else ANY
    if name in _BOUNDED:
        return _BOUNDED[name]
    if name == "induction":
        return _counted(evaluator, place, index, depth)
    parts = evaluator.operands(place, index)
    if not parts or depth > 12:
        return ANY
    if name in ("mul", "dot", "ddot") and evaluator.key(*parts[0]) == evaluator.key(*parts[1]):
        if name != "mul":
            return (0.0, math.inf)
        low, high = bounds(evaluator, *parts[0], depth + 1)
        return (0.0 if low <= 0.0 <= high else min(low * low, high * high), max(low * low, high * high))
    if name in ("phi", "where", "select"):
        first, second = (bounds(evaluator, *part, depth + 1) for part in parts[1:3])
        return (min(first[0], second[0]), max(first[1], second[1]))
    if name == "pow":
        exponent = bounds(evaluator, *parts[1], depth + 1)
        low = bounds(evaluator, *parts[0], depth + 1)[0]
        even = exponent[0] == exponent[1] and exponent[0] % 2 == 0
        return (_TINY if low > 0.0 else 0.0, math.inf) if even or low >= 0.0 else ANY
    known = [bounds(evaluator, *part, depth + 1) for part in parts]
    return _combined(name, known)


def _counted(evaluator: Evaluator, place: Place, index: int, depth: int) -> Range:
    """The range of a loop variable or of one of a thread's indices."""
    operation = place.trace.operations[index]
    if not isinstance(operation.detail, int):
        return (0.0, math.inf)
    if place.trace.frames[operation.detail].kind != "for" or not operation.operands or depth > 12:
        return ANY
    known = [bounds(evaluator, place, operand, depth + 1) for operand in operation.operands]
    start = known[0] if len(known) > 1 else (0.0, 0.0)
    stop = known[min(len(known) - 1, 1)]
    step = known[2] if len(known) > 2 else (1.0, 1.0)
    if step[0] > 0.0:
        return (start[0], stop[1] - 1.0)
    return (stop[0] + 1.0, start[1]) if step[1] < 0.0 else ANY


def _combined(name: str, known: list[Range]) -> Range:
    first = known[0]
    if name in ("call", "pos", "float", "copy"):
        return first
    if name == "neg":
        return (-first[1], -first[0])
    if name == "abs":
        low, high = first
        return (0.0 if low <= 0.0 <= high else min(abs(low), abs(high)), max(abs(low), abs(high)))
    if name == "max":
        return (max(low for low, _ in known), max(high for _, high in known))
    if name == "min":
        return (min(low for low, _ in known), min(high for _, high in known))
    if name == "clamp" and len(known) == 3:
        return (max(min(first[0], known[2][0]), known[1][0]), min(first[1], known[2][1]))
    if len(known) != 2:
        return ANY
    second = known[1]
    if name == "add":
        return (first[0] + second[0], first[1] + second[1])
    if name == "sub":
        return (first[0] - second[1], first[1] - second[0])
    if name == "mul" and first[0] >= 0.0 and second[0] >= 0.0:
        return (first[0] * second[0], math.inf)
    if name == "div" and first[0] >= 0.0 and second[0] >= 0.0:
        return (_TINY if first[0] > 0.0 else 0.0, math.inf)
    return ANY
