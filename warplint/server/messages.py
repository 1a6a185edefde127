"""Findings as the protocol has them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from lsprotocol import types

from warplint.ir.facts import Finding, Problem
from warplint.ir.spans import Location
from warplint.report.as_json import plain
from warplint.report.lsp import Encoding, diagnostic, position_range
from warplint.server.checking import Checked
from warplint.source.notebooks import in_cells

SOURCE = "warplint"
#: The code of the one diagnostic that a text gets which cannot be read.
UNREAD = "unread"

_END = re.compile(r"\r\n|\r|\n")
_WIDTHS = {"utf-8": 1, "utf-16": 2, "utf-32": 4}
_CODECS = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}


def of_finding(finding: Finding, checked: Checked, encoding: Encoding, page: str | None) -> types.Diagnostic:
    """A finding; ``page`` is the URI of its rule's page."""
    if checked.cells is not None:
        finding = in_cells(finding, {checked.path: checked.cells.book})
    return of_plain(plain(diagnostic(finding, checked.lines, encoding, checked.address)), page)


def of_plain(plainly: Any, page: str | None) -> types.Diagnostic:
    """A diagnostic of ``warplint.report.lsp``."""
    return types.Diagnostic(
        range=_range(plainly["range"]),
        message=plainly["message"],
        severity=types.DiagnosticSeverity(plainly["severity"]),
        code=plainly["code"],
        code_description=types.CodeDescription(page) if page is not None else None,
        source=SOURCE,
        related_information=[
            types.DiagnosticRelatedInformation(
                types.Location(related["location"]["uri"], _range(related["location"]["range"])), related["message"]
            )
            for related in plainly["relatedInformation"]
            if related["message"]
        ],
        data=plainly["data"],
    )


def of_problem(problem: Problem, checked: Checked, encoding: Encoding) -> tuple[str | None, types.Diagnostic]:
    """What kept us from reading a text, and in which cell. Other tools complain of it as well, so this is quiet."""
    cell, path, first = checked.part(problem.line or 1)
    lines = checked.lines(path)
    line = min(max(first - 1, 0), len(lines) - 1)
    end = units(lines[line], len(lines[line]), encoding)
    start = min(units(lines[line], (problem.column or 1) - 1, encoding), max(0, end - 1))
    found = types.Diagnostic(
        range=types.Range(types.Position(line, start), types.Position(line, end)),
        message=problem.message,
        severity=types.DiagnosticSeverity.Information,
        code=UNREAD,
        source=SOURCE,
    )
    return cell, found


def range_of(location: Location, checked: Checked, encoding: Encoding) -> types.Range:
    """The range of a location in a file or a cell."""
    return _range(position_range(location, checked.lines, encoding))


def units(line: str, columns: int, encoding: Encoding) -> int:
    """How many units of ``encoding`` the first characters of a line take."""
    return len(line[:columns].encode(_CODECS[encoding], "surrogatepass")) // _WIDTHS[encoding]


def column(lines: Sequence[str], position: types.Position, encoding: Encoding) -> int:
    """The column (from 1, in code points) of a position."""
    line = lines[position.line] if position.line < len(lines) else ""
    encoded = line.encode(_CODECS[encoding], "surrogatepass")[: position.character * _WIDTHS[encoding]]
    return len(encoded.decode(_CODECS[encoding], "ignore")) + 1


def changed(text: str, change: types.TextDocumentContentChangeEvent, encoding: Encoding) -> str:
    """``text`` after one change. Lines end as the protocol says, and nowhere else: not at a form feed."""
    if isinstance(change, types.TextDocumentContentChangeWholeDocument):
        return change.text
    starts = [0, *(match.end() for match in _END.finditer(text))]

    def offset(position: types.Position) -> int:
        if position.line >= len(starts):
            return len(text)
        start = starts[position.line]
        end = starts[position.line + 1] if position.line + 1 < len(starts) else len(text)
        line = text[start:end].rstrip("\r\n")
        return start + column([line], types.Position(0, position.character), encoding) - 1

    return text[: offset(change.range.start)] + change.text + text[offset(change.range.end) :]


def _range(plainly: Any) -> types.Range:
    start, end = plainly["start"], plainly["end"]
    return types.Range(types.Position(start["line"], start["character"]), types.Position(end["line"], end["character"]))
