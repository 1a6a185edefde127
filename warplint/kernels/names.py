"""Which names the versions of Warp have in ``wp``, as far as that was seen (``names.json``, ``tools/versions.py``)."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

Version = tuple[int, int]


def parsed(version: str) -> Version:
    """``1.19`` or ``1.19.0`` as numbers."""
    major, minor = version.split(".")[:2]
    return int(major), int(minor)


def lacking(name: str, version: Version) -> str | None:
    """Why code for ``version`` finds no ``wp.<name>``; None where it does, or where that is not known.

    Between two versions that were looked at, and after the newest, nothing is known.
    """
    seen, names = _table()
    if version > seen[-1]:
        return None
    known = names.get(name)
    if known is None:
        return f"Warp has no `wp.{name}`"
    first, last = known
    if first != seen[0] and version <= seen[seen.index(first) - 1]:
        return f"Warp {version[0]}.{version[1]} has no `wp.{name}` yet"
    if last != seen[-1] and version >= seen[seen.index(last) + 1]:
        return f"Warp {version[0]}.{version[1]} has no `wp.{name}` any more"
    return None


@cache
def _table() -> tuple[list[Version], dict[str, tuple[Version, Version]]]:
    data = json.loads((Path(__file__).parent / "names.json").read_text(encoding="utf-8"))
    seen = [parsed(version) for version in data["seen"]]
    whole = (seen[0], seen[-1])
    names = dict.fromkeys(data["always"], whole)
    names |= {name: (parsed(first), parsed(last)) for name, (first, last) in data["sometimes"].items()}
    return seen, names
