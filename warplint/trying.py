"""Tries rules on their own examples: what is wrong must be found and proved, and what is right must be left alone."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from warplint.catalogue.loading import load_catalogue
from warplint.catalogue.rule import Rule
from warplint.catalogue.versions import VersionRange
from warplint.ir.facts import Finding, Problem
from warplint.ir.spans import displayed
from warplint.pipeline import run
from warplint.records import dataclass
from warplint.report.model import evidence_line
from warplint.settings.options import Options
from warplint.settings.warp import installed_warp

_MARK = re.compile(r"# expect: ([A-Z]+\d+(?:, *[A-Z]+\d+)*)")


@dataclass(frozen=True, slots=True)
class Subject:
    """A program that a rule is tried on. ``wanted`` are the lines to be found, None for any (but some)."""

    rule: Rule
    name: str
    path: Path
    wanted: frozenset[int] | None


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of it. ``passed`` None: not tried."""

    subject: Subject
    passed: bool | None
    said: str


def try_rules(folder: Path, probe: bool = True, device: str | None = None) -> tuple[list[Trial], list[Problem]]:
    """Try the rules in ``folder`` on the examples in their files and on the Python files in the folders named by their
    codes, where comments ``# expect: CODE`` mark the lines that are to be found.

    Raises:
        DeviceUnusable: the probe is to run on a device that is not there.
    """
    catalogue, problems = load_catalogue((folder,))
    with tempfile.TemporaryDirectory(prefix="warplint-") as name:
        scratch = Path(name).resolve()
        subjects = [subject for rule in catalogue.rules for subject in _subjects(rule, scratch)]
        if not subjects:
            return [], list(problems)
        configuration = scratch / "warplint.toml"
        codes = sorted({rule.id for rule in catalogue.rules})
        configuration.write_text(
            f"extend-rules = [{json.dumps(str(folder.absolute()))}]\nselect = {json.dumps(codes)}\n", encoding="utf-8"
        )
        options = Options(
            tuple(str(subject.path) for subject in subjects),
            config=str(configuration),
            min_severity="info",
            show_refuted=True,
            probe=probe,
            device=device,
            # What is tried runs on this one.
            warp_version=installed_warp(),
        )
        report = run(options).report
    by_path = {str(subject.path): subject for subject in subjects}
    broken: dict[Path, Problem] = {}
    for problem in report.problems:
        if problem.path in by_path:
            broken.setdefault(by_path[problem.path].path, problem)
        elif problem not in problems:
            problems = (*problems, problem)
    trials = []
    for subject in subjects:
        found = [
            finding
            for finding in report.findings
            if finding.location.path == subject.path and finding.rule == subject.rule.id
        ]
        trials.append(_trial(subject, found, broken.get(subject.path), probe))
    return trials, list(problems)


def as_text(trials: Iterable[Trial]) -> Iterator[str]:
    """One line for each program under the rule that it is about, and a count."""
    trials = list(trials)
    rules = list(dict.fromkeys(trial.subject.rule.id for trial in trials))
    words = {True: "ok", False: "FAIL", None: "skip"}
    for code in rules:
        own = [trial for trial in trials if trial.subject.rule.id == code]
        yield f"{code} {own[0].subject.rule.name}"
        for trial in own:
            yield f"  {words[trial.passed]:<4}  {trial.subject.name}: {trial.said}"
    failed = sum(trial.passed is False for trial in trials)
    outcome = f"{failed} not as expected" if failed else "all as expected"
    yield f"{_count(len(rules), 'rule')}, {_count(len(trials), 'program')}: {outcome}"


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _subjects(rule: Rule, scratch: Path) -> Iterator[Subject]:
    for number, example in enumerate(rule.examples, 1):
        path = scratch / f"{rule.id.lower()}_{number}.py"
        path.write_text(example.code, encoding="utf-8")
        kind = "wrong" if example.bad else "right"
        yield Subject(rule, f"example {number} ({kind})", path, None if example.bad else frozenset())
    for path in sorted((rule.path.parent / rule.id).rglob("*.py")):
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
        marked = frozenset(
            number for number, line in enumerate(lines, 1) for codes in _MARK.findall(line) if rule.id in codes
        )
        yield Subject(rule, displayed(path.absolute()), path.absolute(), marked)


def _trial(subject: Subject, found: list[Finding], problem: Problem | None, probe: bool) -> Trial:
    rule, installed = subject.rule, installed_warp()
    if problem is not None:
        return Trial(subject, False, problem.message if problem.line is None else _at(problem.line, problem.message))
    if installed is not None and installed not in VersionRange.parse(rule.warp):
        return Trial(subject, None, f"the rule is for Warp {rule.warp}, and {installed} is installed")
    if rule.only_confirmed and not probe:
        return Trial(subject, None, "the rule says nothing without a probe")
    lines = {finding.location.span.line for finding in found}
    if subject.wanted is None and not found:
        return Trial(subject, False, "nothing is found")
    if subject.wanted is not None:
        for line in sorted(subject.wanted - lines):
            return Trial(subject, False, _at(line, "nothing is found"))
        for finding in found:
            if finding.location.span.line not in subject.wanted:
                return Trial(subject, False, _at(finding.location.span.line, f"found: {finding.message}"))
    proof = "confirmed" if probe and rule.probe.kind != "none" else "unprobed"
    for finding in found:
        if finding.evidence.verdict != proof:
            return Trial(subject, False, _at(finding.location.span.line, evidence_line(finding)))
    if not found:
        return Trial(subject, True, "nothing is found")
    where = ", ".join(str(line) for line in sorted(lines))
    return Trial(subject, True, f"line{'s' if len(lines) > 1 else ''} {where}, {evidence_line(found[0])}")


def _at(line: int, message: str) -> str:
    return f"line {line}: {message}"
