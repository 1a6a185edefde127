"""Output formats, one module each."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module

from warplint.report.model import Report
from warplint.report.style import PLAIN, Style

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


def render(
    report: Report,
    output_format: str,
    style: Style = PLAIN,
    width: int | None = None,
    summed_up: bool = True,
    statistics: bool = False,
) -> Iterable[str]:
    """The lines of a report in one of the formats of ``OUTPUT_FORMATS``.

    ``width`` is that of the terminal, in columns, if the report goes to one: ``full`` wraps its sentences. The formats
    for people end with a summary if it is to be ``summed_up``. ``statistics``: the findings are counted, not listed.
    """
    if statistics:
        from warplint.report.statistics import as_json, as_text

        return as_json(report) if output_format == "json" else as_text(report, style)
    # Late: one run needs one format, or few.
    if output_format in _MODULES:
        lines: Iterable[str] = import_module(f"warplint.report.{_MODULES[output_format]}").render(report)
        return lines
    if output_format == "concise":
        from warplint.report import concise

        return concise.render(report, style, summed_up)
    from warplint.report import full

    return full.render(report, style, width, summed_up)
