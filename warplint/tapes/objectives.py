"""What a number that host code computes is of the contents of the array that it comes from."""

from __future__ import annotations

from typing import Literal

from warplint.tapes.values import ArrayValue, Unknown, Value

#: Functions of host data whose result is not in proportion to it, and those that give a sum on.
_CURVED = frozenset({"linalg.norm", "sqrt", "square", "exp", "log", "log10", "log2", "tanh", "hypot", "std", "var"})
_HANDED_ON = frozenset({"float", "item", "copy", "astype", "array", "asarray", "float32", "float64"})
_STRAIGHT = _HANDED_ON | {"sum", "mean", "average", "flatten", "ravel"}


def multiple(value: Value, depth: int = 12) -> tuple[float, int] | None:
    """The factor, and the number of means, by which host data is a multiple of what one array holds, or of its sum.

    None where it is something else.
    """
    if not isinstance(value, Unknown) or not depth:
        return None
    if isinstance(value.children.get("contents"), ArrayValue):
        return (1.0, 0)
    if value.origin is None:
        return None
    head, parts = value.origin[0], value.origin[1:]
    name = head[1] if isinstance(head, tuple) and head[0] == "result" else head
    if name in ("*", "/") and len(parts) == 2:
        for one, other in ((parts[0], parts[1]), (parts[1], parts[0]) if name == "*" else (None, None)):
            known = multiple(one, depth - 1)  # type: ignore[arg-type]
            if known is not None and isinstance(other, (int, float)) and other:
                return (known[0] * other if name == "*" else known[0] / other, known[1])
        return None
    if head == ("item", 0) or name in ("sum", "mean", "average", "float", "item", "copy", "astype", "array", "asarray"):
        inner = [part for part in parts if isinstance(part, Unknown)]
        known = multiple(inner[0], depth - 1) if len(inner) == 1 else None
        return None if known is None else (known[0], known[1] + (name in ("mean", "average")))
    return None


def kind_of(data: Unknown) -> Literal["sum", "curved", ""]:
    """Whether a number is the sum of an array's elements, or a function of them that is not in proportion to them."""
    if len(data.sources) != 1:
        return ""
    if _is_sum(data):
        return "sum"
    return "curved" if _is_curved(data) else ""


def _head(data: Unknown) -> tuple[object, list[Unknown]]:
    """The function or operator that gave host data, and the operands that come from arrays."""
    assert data.origin is not None
    head, parts = data.origin[0], data.origin[1:]
    name = head[1] if isinstance(head, tuple) and head[0] == "result" else head
    if isinstance(name, str):
        name = name.removeprefix("math.")
    return name, [part for part in parts if isinstance(part, Unknown) and part.sources]


def _is_sum(data: Unknown, depth: int = 8) -> bool:
    if data.origin is None or not depth:
        return False
    name, inner = _head(data)
    if len(inner) != 1:
        return False
    if name == "sum":
        return multiple(inner[0]) == (1.0, 0)
    return name in _HANDED_ON and _is_sum(inner[0], depth - 1)


def _is_curved(data: Unknown, depth: int = 8) -> bool:
    if data.origin is None or not depth:
        return False
    name, inner = _head(data)
    if name in _CURVED:
        return any(multiple(part) is not None for part in inner)
    if name == "**":
        _, base, exponent = data.origin
        proportional = isinstance(base, Unknown) and multiple(base) is not None
        return proportional and isinstance(exponent, (int, float)) and exponent != 1
    if name in ("*", "dot") and len(inner) == 2:
        return all(multiple(part) is not None for part in inner)
    if name in ("*", "/", ("item", 0)) or name in _STRAIGHT:
        return len(inner) == 1 and _is_curved(inner[0], depth - 1)
    return False
