"""What was measured on the examples of the rules: the numbers in ``warplint explain`` and in the documentation."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from warplint.catalogue.places import measured_file
from warplint.catalogue.rule import Example, Rule

#: ``device``, ``warp`` (the version), and for each rule by its id what each of its examples showed.
Measured = Mapping[str, Any]

NOTHING: Measured = {"rules": {}}


def digest(example: Example) -> str:
    """What tells whether an example is still the one that was measured."""
    return hashlib.sha256(example.code.encode()).hexdigest()[:16]


def read(path: Path | None = None) -> Measured:
    """What was measured; nothing where an installation lacks it."""
    try:
        found = json.loads((path or measured_file()).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return NOTHING
    return found if isinstance(found, dict) and isinstance(found.get("rules"), dict) else NOTHING


def said(rule: Rule, example: Example, measured: Measured) -> Iterator[str]:
    """The paragraphs about an example: what warplint says of it, and what was measured; none where it was changed."""
    entry = next((one for one in measured["rules"].get(rule.id, ()) if one["example"] == digest(example)), None)
    if entry is None:
        return
    where = f"{measured['device']}, Warp {measured['warp']}"
    if not example.bad:
        told = "warplint finds nothing here."
        if entry.get("compared"):
            of = "of what `backward()` leaves" if entry["taped"] else "of one thread"
            told += (
                f"\nMeasured on {where}: {entry['compared']} derivatives {of}, and the worst is "
                f"{entry['worst']:.0e} away from the central difference."
            )
        yield told
    elif entry["line"] is None:
        yield f"{entry['detail'][0].upper()}{entry['detail'][1:]}; [versions](../versions.md) has those that do."
    else:
        yield f"Line {entry['line']}: {entry['message']}."
        if entry["verdict"] != "unprobed":
            yield f"Measured on {where}: {entry['detail']}."
