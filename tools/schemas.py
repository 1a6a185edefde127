"""Writes the JSON schemas that are shipped; ``--check`` says whether they are stale."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from warplint.catalogue.schema import rule_schema
from warplint.report.audit import schema as audit_schema
from warplint.settings.schema import configuration_schema

FOLDER = Path(__file__).resolve().parent.parent / "warplint" / "schemas"
SCHEMAS = {
    "audit.schema.json": audit_schema,
    "configuration.schema.json": configuration_schema,
    "rule.schema.json": rule_schema,
}


def main() -> int:
    """Write or check the files."""
    stale = []
    for name, make in SCHEMAS.items():
        path, text = FOLDER / name, json.dumps(make(), indent=2) + "\n"
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        if "--check" in sys.argv[1:]:
            stale.append(name)
        else:
            path.write_text(text, encoding="utf-8")
    if stale:
        print(f"{', '.join(stale)}: not what the source says; run python tools/schemas.py")
    return 1 if stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
