"""What every output format is given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from warplint.ir.facts import Finding, Problem
from warplint.ir.spans import displayed, file_and_cell
from warplint.records import dataclass

if TYPE_CHECKING:
    from warplint.catalogue.rule import Rule

#: The lines of a file that was linted, without newlines.
Lines = Callable[[Path], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of one run.

    ``findings`` are shown, in the order of their places; those that a probe refuted are among them only on request,
    and in ``refuted`` otherwise. ``rules`` are the rules of the findings by id. ``files`` are the linted files.
    ``warp_version`` is the Warp that the code is linted for and ``warp_version_source`` what says so, both None if that
    was not looked up; where configurations differ, they are those of the folder that holds everything linted.
    ``unlisted`` is how many findings are less severe than what was asked for, ``suppressed`` how many comments took
    away, and ``baselined`` how many are in the baseline.
    """

    version: str
    warp_version: str | None
    findings: tuple[Finding, ...]
    refuted: tuple[Finding, ...]
    problems: tuple[Problem, ...]
    files: tuple[Path, ...]
    rules: Mapping[str, Rule]
    lines: Lines
    unlisted: int = 0
    suppressed: int = 0
    baselined: int = 0
    warp_version_source: str | None = None

    @property
    def device(self) -> str | None:
        """Where the probe ran, None if it did not."""
        for finding in (*self.findings, *self.refuted):
            if finding.evidence.device is not None:
                return finding.evidence.device
        return None

    @property
    def standing(self) -> tuple[Finding, ...]:
        """The findings that count: all but the refuted ones."""
        return tuple(finding for finding in self.findings if finding.evidence.verdict != "refuted")

    def counts(self) -> dict[str, int]:
        """How many files, findings that count, findings of each verdict, and errors."""
        verdicts = Counter(finding.evidence.verdict for finding in (*self.findings, *self.refuted))
        return {
            "files": len(self.files),
            "findings": len(self.standing),
            "confirmed": verdicts["confirmed"],
            "inconclusive": verdicts["inconclusive"],
            "unprobed": verdicts["unprobed"],
            "refuted": verdicts["refuted"],
            "unlisted": self.unlisted,
            "suppressed": self.suppressed,
            "baselined": self.baselined,
            "errors": len(self.problems),
        }


def with_cell(path: Path | str, message: str) -> str:
    """What is said of a place in a file that knows lines only: the cell first, where it is one of a notebook."""
    cell = file_and_cell(Path(path))[1]
    return message if cell is None else f"cell {cell}: {message}"


def problem_line(problem: Problem) -> str:
    """``path:line:column: what; what to do``, as far as the place is known."""
    place = [displayed(Path(problem.path))] if problem.path else []
    if problem.line is not None:
        place.append(str(problem.line))
        if problem.column is not None:
            place.append(str(problem.column))
    return ": ".join([":".join(place), problem.message] if place else [problem.message])


def evidence_line(finding: Finding) -> str:
    """The verdict with where it was reached and what was seen, at how many inputs, and how exact that is."""
    evidence = finding.evidence
    where = f" on {evidence.device}" if evidence.device else ""
    where += f", Warp {evidence.warp_version}" if evidence.warp_version else ""
    return f"{evidence.verdict}{where}: {evidence.detail}{_exactness(finding)}"


def _exactness(finding: Finding) -> str:
    """How far finite differences may be off, and how many sets of inputs they were taken at, where they confirm."""
    numbers = finding.evidence.numbers
    error, inputs, wrong = (numbers.get(name) for name in ("estimated_error", "inputs", "wrong"))
    if finding.evidence.verdict != "confirmed" or not isinstance(error, float) or not isinstance(inputs, int):
        return ""
    count = f"{wrong} of {inputs}" if isinstance(wrong, int) and wrong != inputs else str(inputs)
    return f" (differences ± {error:.1g}, at {count} set{'s' if inputs != 1 else ''} of inputs)"


def evidence_and_reach(finding: Finding) -> str:
    """The verdict as in ``evidence_line``, and whose code it is about: ``taped``, ``library`` or ``untaped``."""
    return f"{evidence_line(finding)}; reach: {finding.fact.reach}"
