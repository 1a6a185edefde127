"""JUnit XML: a suite for each file, a failed case for each finding, one passed case for a clean file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from warplint.ir.facts import Finding, Problem
from warplint.ir.spans import displayed, file_and_cell
from warplint.report.model import Report, evidence_and_reach, problem_line

# What XML 1.0 cannot hold, however it is escaped.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(report: Report) -> Iterator[str]:
    """The document."""
    findings: dict[str, list[Finding]] = {_file(path): [] for path in report.files}
    problems: dict[str, list[Problem]] = {}
    for finding in report.standing:
        findings.setdefault(_file(finding.location.path), []).append(finding)
    for problem in report.problems:
        name = _file(Path(problem.path)) if problem.path else "warplint"
        problems.setdefault(name, []).append(problem)
    names = sorted({*findings, *problems})
    failures, errors = len(report.standing), len(report.problems)
    tests = sum(_tests(findings.get(name, []), problems.get(name, [])) for name in names)
    yield '<?xml version="1.0" encoding="utf-8"?>'
    yield f'<testsuites name="warplint" tests="{tests}" failures="{failures}" errors="{errors}">'
    for name in names:
        yield from _suite(name, findings.get(name, []), problems.get(name, []))
    yield "</testsuites>"


def _file(path: Path) -> str:
    return displayed(file_and_cell(path)[0])


def _tests(findings: list[Finding], problems: list[Problem]) -> int:
    return max(1, len(findings) + len(problems))


def _suite(name: str, findings: list[Finding], problems: list[Problem]) -> Iterator[str]:
    tests = _tests(findings, problems)
    yield (
        f'  <testsuite name={_attribute(name)} tests="{tests}" failures="{len(findings)}" '
        f'errors="{len(problems)}" package="warplint">'
    )
    if not findings and not problems:
        yield f'    <testcase name="warplint" classname={_attribute(name)}/>'
    for finding in findings:
        span = finding.location.span
        yield (
            f"    <testcase name={_attribute(f'{finding.rule} {finding.name}')} classname={_attribute(name)} "
            f'file={_attribute(name)} line="{span.line}">'
        )
        place = f"{displayed(finding.location.path)}:{span.line}:{span.column}"
        text = f"{place}: {finding.message}\n{evidence_and_reach(finding)}"
        attributes = f"type={_attribute(finding.severity)} message={_attribute(finding.message)}"
        yield f"      <failure {attributes}>{_text(text)}</failure>"
        yield "    </testcase>"
    for problem in problems:
        yield f'    <testcase name="warplint" classname={_attribute(name)}>'
        yield f"      <error message={_attribute(problem.message)}>{_text(problem_line(problem))}</error>"
        yield "    </testcase>"
    yield "  </testsuite>"


def _text(text: str) -> str:
    return escape(_FORBIDDEN.sub("\ufffd", text))


def _attribute(text: str) -> str:
    return quoteattr(_FORBIDDEN.sub("\ufffd", text))
