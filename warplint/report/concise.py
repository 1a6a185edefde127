"""One line a finding: ``path:line:column: WP104 [confirmed] message``."""

from __future__ import annotations

from collections.abc import Iterator

from warplint.ir.spans import displayed
from warplint.report.model import Report
from warplint.report.style import PLAIN, Style
from warplint.report.summary import summary


def render(report: Report, style: Style = PLAIN) -> Iterator[str]:
    """The lines of the report."""
    for finding in report.findings:
        path, span = displayed(finding.location.path), finding.location.span
        yield (
            f"{style.strong(path)}:{span.line}:{span.column}: {style.severity(finding.severity, finding.rule)} "
            f"[{style.verdict(finding.evidence.verdict)}] {finding.message}"
        )
    yield summary(report, style)
