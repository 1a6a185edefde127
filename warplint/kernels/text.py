"""The source text of a place, on one line."""

from __future__ import annotations

from warplint.ir.spans import Span
from warplint.source.project import Module


def source(module: Module, span: Span) -> str:
    """The text that ``span`` covers in ``module``; line breaks become one space."""
    lines = module.lines[span.line - 1 : span.end_line]
    if not lines:
        return ""
    if len(lines) == 1:
        return lines[0][span.column - 1 : span.end_column - 1]
    parts = [lines[0][span.column - 1 :], *lines[1:-1], lines[-1][: span.end_column - 1]]
    return " ".join(part.strip() for part in parts)
