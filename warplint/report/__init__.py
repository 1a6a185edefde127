"""Output formats, one module each."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module

from warplint.report.model import Report

#: The formats that look the same everywhere, and their modules.
_MODULES = {
    "json": "as_json",
    "jsonl": "jsonl",
    "sarif": "sarif",
    "github": "github",
    "gitlab": "gitlab",
    "junit": "junit",
    "lsp": "lsp",
    "markdown": "markdown",
    "html": "html",
}


def render(report: Report, output_format: str, colored: bool = False, width: int | None = None) -> Iterable[str]:
    """The lines of a report in one of the formats of ``OUTPUT_FORMATS``.

    ``width`` is that of the terminal, in columns, if the report goes to one: ``full`` wraps its sentences.
    """
    # Late: one run needs one format, or few.
    if output_format in _MODULES:
        lines: Iterable[str] = import_module(f"warplint.report.{_MODULES[output_format]}").render(report)
        return lines
    from warplint.report.style import Style

    if output_format == "concise":
        from warplint.report import concise

        return concise.render(report, Style(colored))
    from warplint.report import full

    return full.render(report, Style(colored), width)
