"""A GitLab Code Quality report: one JSON array."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from warplint.ir.facts import Severity
from warplint.report.model import Report, evidence_and_reach, with_cell
from warplint.report.texts import fingerprints, relative

_SEVERITIES: Mapping[Severity, str] = {"error": "major", "warning": "minor", "info": "info"}


def render(report: Report) -> Iterator[str]:
    """The array, indented. Paths are relative to the project's folder, as GitLab has it."""
    root = Path(os.environ.get("CI_PROJECT_DIR") or os.getcwd())
    entries: list[dict[str, object]] = []
    for finding, fingerprint in zip(report.findings, fingerprints(report.findings, root), strict=True):
        span = finding.location.span
        refuted = finding.evidence.verdict == "refuted"
        message = with_cell(finding.location.path, finding.message)
        entries.append(
            {
                "description": f"{finding.rule} {finding.name}: {message} ({evidence_and_reach(finding)})",
                "check_name": finding.rule,
                "fingerprint": fingerprint,
                "severity": "info" if refuted else _SEVERITIES[finding.severity],
                "location": {
                    "path": relative(finding.location.path, root),
                    "lines": {"begin": span.line, "end": span.end_line},
                },
            }
        )
    for number, problem in enumerate(report.problems):
        entries.append(
            {
                "description": f"warplint: {with_cell(problem.path, problem.message)}",
                "check_name": "warplint-error",
                "fingerprint": f"warplint-error-{number}-{problem.path}",
                "severity": "blocker",
                "location": {
                    "path": relative(Path(os.path.abspath(problem.path)), root),
                    "lines": {"begin": problem.line or 1},
                },
            }
        )
    yield json.dumps(entries, indent=2)
