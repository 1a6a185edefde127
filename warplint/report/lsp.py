"""``textDocument/publishDiagnostics`` parameters: one JSON object a linted file, on a line of its own.

A file without findings gets an empty list, so that an editor takes its old diagnostics away.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

from warplint.ir.facts import Finding, Severity
from warplint.ir.fixes import Fix
from warplint.ir.spans import Location, file_and_cell
from warplint.report.as_json import evidence, plain
from warplint.report.model import Lines, Report, evidence_line, with_cell

#: The units in which an editor may count columns.
Encoding = Literal["utf-8", "utf-16", "utf-32"]

# How to encode, what to do with surrogates that stand alone, and bytes a unit.
_UNITS: dict[Encoding, tuple[str, str, int]] = {
    "utf-8": ("utf-8", "surrogatepass", 1),
    "utf-16": ("utf-16-le", "surrogatepass", 2),
    "utf-32": ("utf-32-le", "surrogatepass", 4),
}

# LSP's DiagnosticSeverity.
_SEVERITIES: dict[Severity, int] = {"error": 1, "warning": 2, "info": 3}


def render(report: Report) -> Iterator[str]:
    """One line a file, in the order of the files."""
    by_path: dict[Path, list[Finding]] = {path: [] for path in report.files}
    for finding in report.findings:
        by_path.setdefault(file_and_cell(finding.location.path)[0], []).append(finding)
    for path, findings in by_path.items():
        diagnostics = [diagnostic(finding, report.lines) for finding in findings]
        for found, finding in zip(diagnostics, findings, strict=True):
            found["message"] = with_cell(finding.location.path, str(found["message"]))
        document = {"uri": uri(path), "diagnostics": diagnostics}
        yield json.dumps(plain(document), allow_nan=False)


def uri(path: Path) -> str:
    """The ``file:`` URI of a path."""
    return file_and_cell(path)[0].absolute().as_uri()


def diagnostic(
    finding: Finding, lines: Lines, encoding: Encoding = "utf-16", address: Callable[[Path], str] = uri
) -> dict[str, object]:
    """One LSP ``Diagnostic``, whose columns count units of ``encoding``; ``address`` has the URIs of files."""
    return {
        "range": position_range(finding.location, lines, encoding),
        "severity": _SEVERITIES[finding.severity],
        "code": finding.rule,
        "source": "warplint",
        "message": f"{finding.message}\n{evidence_line(finding)}",
        "relatedInformation": [
            {
                "location": {
                    "uri": address(label.location.path),
                    "range": position_range(label.location, lines, encoding),
                },
                "message": label.text,
            }
            for label in finding.fact.labels
        ],
        "data": {
            "name": finding.name,
            "confidence": finding.confidence,
            "reach": finding.fact.reach,
            "evidence": evidence(finding.evidence),
            "fix": None if finding.fix is None else text_edits(finding.fix, lines, encoding),
        },
    }


def text_edits(fix: Fix, lines: Lines, encoding: Encoding = "utf-16") -> dict[str, object]:
    """A fix with an LSP ``TextEdit`` and its document's URI for each edit."""
    edits = [
        {
            "uri": uri(edit.location.path),
            "range": position_range(edit.location, lines, encoding),
            "newText": edit.text,
        }
        for edit in fix.edits
    ]
    return {"applicability": fix.applicability, "message": fix.message, "edits": edits}


def position_range(location: Location, lines: Lines, encoding: Encoding = "utf-16") -> dict[str, object]:
    """A span as LSP counts: from 0, columns in units of ``encoding``."""
    text, span, unit = lines(location.path), location.span, _UNITS[encoding]

    def position(line: int, column: int) -> dict[str, int]:
        before = text[line - 1][: column - 1] if line <= len(text) else ""
        # What lies outside the text (a file that changed meanwhile) is counted as plain characters.
        beyond = column - 1 - len(before)
        return {"line": line - 1, "character": len(before.encode(*unit[:2])) // unit[2] + beyond}

    return {"start": position(span.line, span.column), "end": position(span.end_line, span.end_column)}
