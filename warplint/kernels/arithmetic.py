"""Python's binary operators for constants of files that nobody vouches for: no result takes long, or much memory."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

# Numbers in code have no more bits than this, as Warp's have none, and texts and tuples no more elements.
_BITS = 64
_ELEMENTS = 10_000


def _power(base: Any, exponent: Any) -> Any:
    if isinstance(base, int) and isinstance(exponent, int) and abs(base) > 1:
        _check(base.bit_length() <= _BITS and exponent <= _BITS)
    return base**exponent


def _shifted(number: Any, places: Any) -> Any:
    _check(places <= _BITS)
    return number << places


def _product(left: Any, right: Any) -> Any:
    for one, other in ((left, right), (right, left)):
        if isinstance(one, (str, bytes, tuple, list)) and isinstance(other, int):
            _check(len(one) * other <= _ELEMENTS)
    return left * right


def _remainder(left: Any, right: Any) -> Any:
    _check(not isinstance(left, (str, bytes)))  # a format may ask for any width
    return left % right


def _check(small: bool) -> None:
    if not small:
        raise OverflowError


#: By how they are written. Raise OverflowError where the result would be too large, and what Python raises.
BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": _product,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": _remainder,
    "**": _power,
    "<<": _shifted,
    ">>": operator.rshift,
    "|": operator.or_,
    "&": operator.and_,
    "^": operator.xor,
}
