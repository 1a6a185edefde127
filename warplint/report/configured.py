"""``warplint config``: every key with its value and where that comes from, and the rules that then apply."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from warplint.catalogue.rule import Rule
from warplint.records import dataclass


@dataclass(frozen=True, slots=True)
class Setting:
    """A key, its value (None if it is not configured: then ``default`` says what holds), and the files that say so."""

    key: str
    value: object
    default: str
    origins: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Configured:
    """What holds for a path: the ``files`` that govern it, the settings, and the rules with their severities."""

    path: str
    files: tuple[str, ...]
    settings: tuple[Setting, ...]
    rules: tuple[tuple[Rule, str], ...]


def as_text(found: Configured) -> Iterator[str]:
    """For people."""
    yield f"{found.path}: governed by " + (
        ", which extends ".join(reversed(found.files)) or "no file, so by the defaults"
    )
    yield ""
    rows = [
        (setting.key, toml(setting.value) if setting.origins else setting.default, ", ".join(setting.origins))
        for setting in found.settings
    ]
    yield from _table(rows)
    yield ""
    yield f"{len(found.rules)} rules apply:"
    yield from _table([(rule.id, rule.name, severity) for rule, severity in found.rules])


def _table(rows: Sequence[tuple[str, str, str]]) -> Iterator[str]:
    first = max((len(row[0]) for row in rows), default=0)
    second = max((len(row[1]) for row in rows if len(row[1]) <= 48), default=0)
    for one, two, three in rows:
        yield f"  {one:<{first}}  {two:<{second}}  {three or 'default'}".rstrip()


def toml(value: object) -> str:
    """A value as it is written in a configuration file."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, Iterable):
        return "[" + ", ".join(toml(item) for item in value) + "]"
    return str(value)


def as_json(found: Configured) -> Iterator[str]:
    """For programs."""
    document = {
        "path": found.path,
        "files": list(found.files),
        "settings": {
            setting.key: {"value": setting.value, "origins": list(setting.origins)} for setting in found.settings
        },
        "rules": {rule.id: severity for rule, severity in found.rules},
    }
    yield json.dumps(document, indent=2)
