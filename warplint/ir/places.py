"""The places in facts, and in parts of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from warplint.ir.spans import Location


def locations(value: object) -> Iterator[Location]:
    """Every location in a fact or a part of one."""
    if isinstance(value, Location):
        yield value
    elif isinstance(value, (tuple, list, frozenset, set)):
        for item in value:
            yield from locations(item)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from locations(item)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from locations(getattr(value, field.name))
