"""Output formats, one module each."""

from __future__ import annotations

from collections.abc import Iterable

from warplint.report.model import Report


def render(report: Report, output_format: str, colored: bool, width: int | None = None) -> Iterable[str]:
    """The lines of a report in one of the formats ``full``, ``concise``, ``json`` and ``lsp``.

    ``width`` is that of the terminal, in columns, if the report goes to one: ``full`` wraps its sentences.
    """
    # Late: one run needs one format.
    if output_format == "json":
        from warplint.report import as_json

        return as_json.render(report)
    if output_format == "lsp":
        from warplint.report import lsp

        return lsp.render(report)
    from warplint.report.style import Style

    if output_format == "concise":
        from warplint.report import concise

        return concise.render(report, Style(colored))
    from warplint.report import full

    return full.render(report, Style(colored), width)
