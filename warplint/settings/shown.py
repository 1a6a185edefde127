"""What is configured, key by key, with the files that say so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warplint.settings.configuration import Configuration, Table
from warplint.settings.keys import KEYS


def effective(configuration: Configuration, key: str) -> tuple[Any, tuple[Table, ...]]:
    """The value of a key after all ``extend``, and the tables that it comes from; no tables for the default."""
    tables = configuration.given(key)
    if key == "extend-select":
        # What a later `select` replaced does not count any more.
        last = max((number for number, table in enumerate(configuration.tables) if "select" in table.values), default=0)
        tables = tuple(table for table in tables if table in configuration.tables[last:])
    if not tables:
        return None, ()
    values = [table.values[key] for table in tables]
    if isinstance(values[-1], Mapping):
        merged: dict[str, Any] = {}
        for value in values:
            merged |= value  # type: ignore[arg-type]
        return merged, tables
    if KEYS[key].adds:
        return [item for value in values for item in value], tables  # type: ignore[union-attr]
    value = values[-1]
    return list(value) if isinstance(value, tuple) else value, tables
