"""One line a finding: ``path:line:column: WP104 [confirmed] message``.

Its reach stands beside the verdict where no tape launches the code: ``[confirmed, library]``.
"""

from __future__ import annotations

from collections.abc import Iterator

from warplint.ir.spans import displayed
from warplint.report.model import Report
from warplint.report.style import PLAIN, Style
from warplint.report.summary import summary


def render(report: Report, style: Style = PLAIN, summed_up: bool = True) -> Iterator[str]:
    """The lines of the report, the summary last if it is to be ``summed_up``."""
    for finding in report.findings:
        path, span = finding.location.path, finding.location.span
        place = style.link(style.strong(displayed(path)), path)
        rule = style.severity(finding.severity, finding.rule)
        verdict = style.verdict(finding.evidence.verdict)
        if finding.fact.reach != "taped":
            verdict = f"{verdict}, {finding.fact.reach}"
        yield f"{place}:{span.line}:{span.column}: {rule} [{verdict}] {finding.message}"
    if summed_up:
        yield summary(report, style)
