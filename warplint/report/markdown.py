"""Markdown for people: a table of the findings, and each with its source. It fits a job summary or a comment."""

from __future__ import annotations

from collections.abc import Iterator

from warplint.ir.facts import Finding
from warplint.ir.spans import displayed
from warplint.report.model import Report, evidence_and_reach, problem_line
from warplint.report.snippets import snippet
from warplint.report.style import PLAIN
from warplint.report.summary import linted_for, summary


def render(report: Report) -> Iterator[str]:
    """The lines of the document."""
    yield "# warplint"
    yield ""
    yield f"{summary(report)}."
    if report.warp_version:
        yield ""
        yield f"Linted {_line(linted_for(report))}."
    if report.findings:
        yield ""
        yield "| place | rule | severity | verdict | what |"
        yield "|---|---|---|---|---|"
        for finding in report.findings:
            rule = f"{finding.rule} {finding.name}"
            cells = (_place(finding), rule, finding.severity, finding.evidence.verdict, finding.message)
            yield f"| {' | '.join(_cell(cell) for cell in cells)} |"
    for finding in report.findings:
        yield from _section(finding, report)
    if report.problems:
        yield ""
        yield "## Errors"
        yield ""
        for problem in report.problems:
            yield f"- {_line(problem_line(problem))}"


def _section(finding: Finding, report: Report) -> Iterator[str]:
    yield ""
    yield f"## {finding.rule} {finding.name}: {_line(_place(finding))}"
    yield ""
    yield f"{_line(finding.message)}."
    yield ""
    shown = [line.rstrip() for line in _shown(finding, report)]
    fence = "`" * max(3, *(_run(line) + 1 for line in shown))
    yield f"{fence}text"
    yield from shown
    yield fence
    yield ""
    yield f"- {_line(evidence_and_reach(finding))}"
    rule = report.rules.get(finding.rule)
    if rule is not None:
        yield f"- What to do: {' '.join(rule.fix.help.split())}"


def _shown(finding: Finding, report: Report) -> Iterator[str]:
    return snippet(finding.location, finding.severity, finding.fact.labels, report.lines, PLAIN)


def _place(finding: Finding) -> str:
    return f"{displayed(finding.location.path)}:{finding.location.span.line}"


def _line(text: str) -> str:
    """On one line, with what Markdown would take for HTML made harmless."""
    return " ".join(text.split()).replace("<", "\\<")


def _cell(text: str) -> str:
    return _line(text).replace("|", "\\|")


def _run(line: str) -> int:
    """The longest run of backticks, which must not end the block."""
    return max((len(part) for part in _backticks(line)), default=0)


def _backticks(line: str) -> list[str]:
    parts, current = [], ""
    for character in line + " ":
        if character == "`":
            current += character
        elif current:
            parts.append(current)
            current = ""
    return parts
