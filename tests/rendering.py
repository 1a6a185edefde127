"""Findings to render, as an analysis and a probe would leave them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from warplint.catalogue.loading import load_catalogue
from warplint.ir.facts import Evidence, Fact, Finding, Label, Problem, Reach, Severity
from warplint.ir.fixes import Fix
from warplint.ir.spans import Location, Span
from warplint.report.model import Report


class Source:
    """A file in memory, where places are found by their text."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.lines = text.split("\n")

    def place(self, text: str) -> Location:
        """The place of ``text``, which occurs once in the file, on one line or ending on a later one."""
        whole = "\n".join(self.lines)
        assert whole.count(text) == 1, text
        before = whole[: whole.index(text)]
        after = before + text
        return Location(
            self.path,
            Span(
                before.count("\n") + 1,
                len(before) - before.rfind("\n"),
                after.count("\n") + 1,
                len(after) - after.rfind("\n"),
            ),
        )


CONFIRMED = Evidence(
    "confirmed",
    "1.093, not 1.478",
    device="cpu",
    warp_version="1.19.0",
    numbers={"tape": 1.093, "finite_difference": 1.478, "estimated_error": 2e-4, "inputs": 3},
)


def finding(
    place: Location,
    labels: Sequence[Label] = (),
    evidence: Evidence = CONFIRMED,
    severity: Severity = "error",
    reach: Reach = "taped",
    rule: str = "WP104",
    fix: Fix | None = None,
) -> Finding:
    fact = Fact("loop-carried-value", place, {}, tuple(labels), "f", reach)
    return Finding(rule, "loop-carried-value", "`p` is lost", severity, "high", fact, evidence, fix=fix)


def report(
    *findings: Finding,
    sources: Sequence[Source] = (),
    refuted: Sequence[Finding] = (),
    problems: Sequence[Problem] = (),
) -> Report:
    by_path = {source.path: source.lines for source in sources}
    return Report(
        version="0.1.0",
        warp_version="1.19.0",
        findings=findings,
        refuted=tuple(refuted),
        problems=tuple(problems),
        files=tuple(by_path),
        rules={rule.id: rule for rule in load_catalogue()[0].rules},
        lines=lambda path: by_path.get(path, []),
        warp_version_source="installed beside warplint",
    )
