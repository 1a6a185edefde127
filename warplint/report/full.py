"""For people: the source with a label under each span, what the probe saw, and what to do."""

from __future__ import annotations

from collections.abc import Iterator

from warplint.ir.facts import Finding
from warplint.report.model import Report, evidence_line
from warplint.report.style import PLAIN, Style
from warplint.report.summary import BESIDE, linted_for, summary

# Columns of a wrapped sentence, at most and at least.
_MOST, _LEAST = 100, 30
_REACH = {
    "taped": None,
    "library": (
        "no tape in the linted code launches it; whoever differentiates through it is hurt. If nobody is meant to,"
        " `enable_backward=False` on the kernel or module says so, and silences this"
    ),
    "untaped": (
        "the linted code launches it outside tapes only; nothing is wrong until a tape does, and"
        " `enable_backward=False` says that none will"
    ),
}


def render(report: Report, style: Style = PLAIN, width: int | None = None, summed_up: bool = True) -> Iterator[str]:
    """The lines of the report: a block for each finding, then the summary if it is to be ``summed_up``.

    ``width`` is that of the terminal. Only sentences are wrapped: source text and what is under it would not be read.
    """
    for finding in report.findings:
        yield from _block(finding, report, style, width)
        yield ""
    if summed_up:
        yield summary(report, style)
        if report.warp_version_source not in (None, BESIDE):
            yield f"Linted {linted_for(report)}"


def _block(finding: Finding, report: Report, style: Style, width: int | None) -> Iterator[str]:
    import textwrap  # late, as the snippets: most runs find nothing

    from warplint.report.snippets import gutter_width, snippet

    head = style.severity(finding.severity, f"{finding.severity}[{finding.rule}]")
    yield f"{head} {style.strong(f'{finding.name}: {finding.message}')}"
    yield from snippet(finding.location, finding.severity, finding.fact.labels, report.lines, style)
    verdict = finding.evidence.verdict
    notes: list[tuple[str, str, str]] = [
        (verdict, style.verdict(verdict), evidence_line(finding).removeprefix(verdict))
    ]
    reach = _REACH[finding.fact.reach]
    if reach is not None:
        notes.append(("reach", style.strong("reach"), f": {reach}"))
    rule = report.rules.get(finding.rule)
    if rule is not None:
        notes.append(("help", style.strong("help"), f": {' '.join(rule.fix.help.split())}"))
    if finding.fix is not None:
        option = "--fix" if finding.fix.applicability == "safe" else "--fix --unsafe-fixes"
        notes.append(("fix", style.strong("fix"), f" ({option}): {finding.fix.message}"))
    gutter = " " * gutter_width(finding.location, finding.fact.labels)
    columns = _MOST if width is None else max(_LEAST, min(_MOST, width - len(gutter) - len(" = ")))
    for title, painted, text in notes:
        # The title is painted after wrapping, as colours have no width.
        for number, line in enumerate(textwrap.wrap(title + text, columns, break_long_words=False)):
            if number == 0:
                yield f"{gutter} {style.frame('=')} {painted}{line[len(title) :]}"
            else:
                yield f"{gutter}   {line}"
