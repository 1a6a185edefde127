"""Facts move with the lines that they stand on."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from warplint.ir.spans import Location, Span

Value = TypeVar("Value")

#: The place that a place has become.
Place = Callable[[Location], Location]


def moved(value: Value, path: Path, by: Mapping[int, int]) -> Value:
    """``value`` with the lines of its locations in ``path`` changed as ``by`` says, which names every such line."""

    def place(location: Location) -> Location:
        if location.path != path:
            return location
        span = location.span
        return Location(path, Span(by[span.line], span.column, by[span.end_line], span.end_column))

    return relocated(value, place)


def relocated(value: Value, place: Place) -> Value:
    """``value`` with every location in it replaced by what ``place`` makes of it. What ``place`` raises passes."""
    return _relocated(value, place)  # type: ignore[no-any-return]


def _relocated(value: Any, place: Place) -> Any:
    if isinstance(value, Location):
        return place(value)
    if isinstance(value, (str, int, float, Path)) or value is None:
        return value
    if isinstance(value, tuple):
        return tuple(_relocated(item, place) for item in value)
    if isinstance(value, (list, frozenset, set)):
        return type(value)(_relocated(item, place) for item in value)
    if isinstance(value, Mapping):
        return {key: _relocated(item, place) for key, item in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        changes = {}
        for field in dataclasses.fields(value):
            old = getattr(value, field.name)
            new = _relocated(old, place)
            if new is not old:
                changes[field.name] = new
        return dataclasses.replace(value, **changes)
    return value
