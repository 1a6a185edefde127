"""Facts move with the lines that they stand on."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from warplint.ir.spans import Location, Span

Value = TypeVar("Value")

#: The line that a line has become; None where that is not known.
Lines = Callable[[int], "int | None"]


def moved(value: Value, path: Path, by: Mapping[int, int]) -> Value:
    """``value`` with the lines of its locations in ``path`` changed as ``by`` says, which names every such line."""
    return _moved(value, path, by)  # type: ignore[no-any-return]


def _moved(value: Any, path: Path, by: Mapping[int, int]) -> Any:
    if isinstance(value, Location):
        if value.path != path:
            return value
        span = value.span
        return Location(path, Span(by[span.line], span.column, by[span.end_line], span.end_column))
    if isinstance(value, (str, int, float, Path)) or value is None:
        return value
    if isinstance(value, tuple):
        return tuple(_moved(item, path, by) for item in value)
    if isinstance(value, (list, frozenset, set)):
        return type(value)(_moved(item, path, by) for item in value)
    if isinstance(value, Mapping):
        return {key: _moved(item, path, by) for key, item in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        changes = {}
        for field in dataclasses.fields(value):
            old = getattr(value, field.name)
            new = _moved(old, path, by)
            if new is not old:
                changes[field.name] = new
        return dataclasses.replace(value, **changes)
    return value
