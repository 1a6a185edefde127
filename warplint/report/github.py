"""Workflow commands that GitHub turns into annotations of a pull request.

GitHub shows at most ten errors and ten warnings of a step, and columns only where a finding is on one line.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from warplint.ir.facts import Severity
from warplint.report.model import Report, evidence_and_reach, with_cell
from warplint.report.texts import relative

_LEVELS: Mapping[Severity, str] = {"error": "error", "warning": "warning", "info": "notice"}


def render(report: Report) -> Iterator[str]:
    """One command a finding, and one a problem."""
    root = Path(os.environ.get("GITHUB_WORKSPACE") or os.getcwd())
    for finding in report.findings:
        span = finding.location.span
        properties = {
            "title": f"warplint ({finding.rule} {finding.name})",
            "file": relative(finding.location.path, root),
            "line": span.line,
            "endLine": span.end_line,
        }
        if span.line == span.end_line:
            properties |= {"col": span.column, "endColumn": span.end_column}
        level = "notice" if finding.evidence.verdict == "refuted" else _LEVELS[finding.severity]
        message = with_cell(finding.location.path, finding.message)
        yield _command(level, properties, f"{message}\n{evidence_and_reach(finding)}")
    for problem in report.problems:
        properties = {"title": "warplint"}
        if problem.path:
            properties["file"] = relative(Path(os.path.abspath(problem.path)), root)
            properties |= {"line": problem.line} if problem.line is not None else {}
        yield _command("error", properties, with_cell(problem.path, problem.message))


def _command(level: str, properties: Mapping[str, object], message: str) -> str:
    listed = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items())
    return f"::{level} {listed}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
