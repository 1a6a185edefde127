"""One JSON object for programs to read."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path

from warplint.ir.facts import Evidence, Finding, Problem
from warplint.ir.fixes import Fix
from warplint.ir.spans import Location, displayed, file_and_cell
from warplint.report.model import Report


def render(report: Report) -> Iterator[str]:
    """The object, indented. Columns count from 1, in code points; end columns are exclusive."""
    document = {
        "version": report.version,
        "warp_version": report.warp_version,
        "warp_version_source": report.warp_version_source,
        "device": report.device,
        "findings": [finding(found) for found in report.findings],
        "errors": [error(problem) for problem in report.problems],
        "summary": report.counts(),
    }
    yield json.dumps(plain(document), indent=2, allow_nan=False)


def plain(value: object) -> object:
    """``value`` as JSON has it: what is neither a number, a text, nor made of such becomes a text, and so does NaN."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has no nan and no inf
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


def _place(location: Location) -> dict[str, object]:
    span = location.span
    path, cell = file_and_cell(location.path)
    return {
        "path": displayed(path),
        **({} if cell is None else {"cell": cell}),
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
    }


def finding(found: Finding) -> dict[str, object]:
    """Everything about a finding."""
    return {
        "rule": found.rule,
        "name": found.name,
        **_place(found.location),
        "message": found.message,
        "severity": found.severity,
        "confidence": found.confidence,
        "reach": found.fact.reach,
        "evidence": evidence(found.evidence),
        "related": [{**_place(label.location), "label": label.text} for label in found.fact.labels],
        "fix": fix(found.fix),
    }


def fix(found: Fix | None) -> dict[str, object] | None:
    """What would mend a finding. Lines in the texts end with LF."""
    if found is None:
        return None
    edits = [{**_place(edit.location), "text": edit.text} for edit in found.edits]
    return {"applicability": found.applicability, "message": found.message, "edits": edits}


def evidence(found: Evidence) -> dict[str, object]:
    """The verdict, where it was reached, and its numbers beside it."""
    return {
        **found.numbers,
        "verdict": found.verdict,
        "device": found.device,
        "warp_version": found.warp_version,
        "detail": found.detail,
        "reproduce": found.reproduce,
    }


def error(problem: Problem) -> dict[str, object]:
    """A problem and its place."""
    return {
        "path": displayed(Path(problem.path)) if problem.path else None,
        "line": problem.line,
        "column": problem.column,
        "message": problem.message,
    }
