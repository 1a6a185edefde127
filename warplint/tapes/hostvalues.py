"""What host code computes from the contents of arrays, as programs can hold it.

An unknown value knows how it was computed. Where that is arithmetic, and a few functions of numpy, on what arrays hold,
a probe can compute it again from what they hold in its run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from warplint.ir import programs as ir
from warplint.records import dataclass
from warplint.tapes.recorded import written
from warplint.tapes.trace import Copied, Filled, Launched, Record
from warplint.tapes.values import ArrayValue, ListValue, Unknown

_OPERATORS = frozenset({"+", "-", "*", "/", "**", "unary -", "float", "min", "max", "abs"})
_FUNCTIONS = frozenset(
    {
        *("sum", "mean", "sqrt", "square", "exp", "log", "tanh", "sin", "cos", "dot", "linalg.norm", "convolve"),
        *("minimum", "maximum", "clip", "array", "asarray", "astype", "copy", "item", "tolist", "flatten", "ravel"),
        *("float32", "float64", "abs", "absolute", "max", "min", "var", "std", "prod", "median", "inner", "vdot"),
        *("log1p", "expm1", "log2", "log10", "tan", "arctan", "hypot", "add", "subtract", "multiply", "divide"),
    }
)
_DEEPEST = 12


@dataclass(frozen=True, slots=True)
class Hosted:
    """A value that a program computes, and the arrays whose contents it is computed from."""

    value: ir.HostValue
    arrays: tuple[ArrayValue, ...]


class _NotHeld(Exception):
    """A program cannot hold the value."""


def hosted(records: list[Record]) -> list[Record]:
    """The records, with what host code computed from arrays in place of unknown values, where that is possible."""
    found: list[Record] = []
    for position, record in enumerate(records):
        if isinstance(record, Filled) and record.sources:
            value = _held(record.value, records, position)
            record = record if value is None else replace(record, value=value)  # type: ignore[arg-type]
        elif isinstance(record, Launched) and record.numbers:
            arguments = tuple(_held(value, records, position) or value for value in record.arguments)
            record = replace(record, arguments=arguments)
        found.append(record)
    return found


def holds(records: list[Record], launch: Launched, parameter: str) -> bool:
    """Whether a program can compute the number that a launch gets for ``parameter``."""
    if launch.summary is None:
        return False
    values = dict(zip(launch.summary.parameters, launch.arguments, strict=False))
    position = next((at for at, record in enumerate(records) if record is launch), len(records))
    return _held(values.get(parameter), records, position) is not None


def holds_contents(records: list[Record], filled: Filled) -> bool:
    """Whether a program can compute what an array is filled with."""
    position = next((at for at, record in enumerate(records) if record is filled), len(records))
    return _held(filled.value, records, position) is not None


def _held(value: object, records: list[Record], position: int) -> Hosted | None:
    if not isinstance(value, Unknown):
        return None
    read: dict[int, tuple[ArrayValue, int]] = {}
    try:
        held = _expression(value, read, _DEEPEST)
    except _NotHeld:
        return None
    if not isinstance(held, ir.HostValue) or not read:
        return None
    if any(_changed(records[at:position], array) for array, at in read.values()):
        return None  # a program looks at the array where the value is used
    return Hosted(held, tuple(array for array, _ in read.values()))


def _changed(records: list[Record], array: ArrayValue) -> bool:
    return any(
        (isinstance(record, (Launched, Copied)) and array.storage in written(record))
        or (isinstance(record, Filled) and record.array.storage is array.storage)
        for record in records
    )


def _expression(value: object, read: dict[int, tuple[ArrayValue, int]], depth: int) -> ir.HostPart:
    if isinstance(value, (int, float)):
        return value
    if isinstance(value, (tuple, ListValue)):
        parts = value if isinstance(value, tuple) else tuple(value.items)
        return ir.HostValue("list", tuple(_expression(part, read, depth - 1) for part in parts))
    if not isinstance(value, Unknown) or not depth:
        raise _NotHeld
    contents, at = value.children.get("contents"), value.children.get("read")
    if isinstance(contents, ArrayValue) and isinstance(at, tuple):
        if contents.storage.owner is not None:
            raise _NotHeld
        read[id(contents)] = (contents, at[0])
        return ir.ArrayRef(contents.storage.number, contents.view)
    if value.origin is None:
        raise _NotHeld
    return ir.HostValue(*_call(value, read, depth))


def _call(value: Unknown, read: dict[int, tuple[ArrayValue, int]], depth: int) -> tuple[str, tuple[ir.HostPart, ...]]:
    assert value.origin is not None
    head, parts = value.origin[0], value.origin[1:]
    inner = tuple(_parts(parts, read, depth))
    if isinstance(head, tuple) and head[0] == "item" and len(inner) == 1 and isinstance(head[1], int):
        return "[]", (*inner, head[1])
    if isinstance(head, tuple) and head[0] == "result" and head[1] in _FUNCTIONS:
        return str(head[1]), inner
    if head in _OPERATORS:
        return str(head), inner
    if isinstance(head, str) and head.startswith("math.") and head.removeprefix("math.") in _FUNCTIONS:
        return head.removeprefix("math."), inner
    raise _NotHeld


def _parts(parts: tuple[object, ...], read: dict[int, tuple[ArrayValue, int]], depth: int) -> Iterator[ir.HostPart]:
    for part in parts:
        yield _expression(part, read, depth - 1)
