"""Which findings survive a refactoring."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import libcst as cst

from warplint.analysis import analyse_files
from warplint.catalogue.loading import load_catalogue
from warplint.catalogue.matching import Matcher
from warplint.frontend import open_project

from . import (  # noqa: F401
    constants,
    extraction,
    functions,
    holders,
    idioms,
    kernels,
    launches,
    loops,
    modules,
    recordings,
)
from .syntax import MOVED, REFACTORINGS, Program

_MARK = re.compile(r"# expect: (WP\d+(?:, *WP\d+)*)")
_RULES = load_catalogue()[0].rules
#: Marks of these rules are about launches and tapes; no tape reaching an adjoint is nothing wrong in a program.
_SELECTED = frozenset(rule.id for rule in _RULES if not rule.only_confirmed) - {"WP711"}
_MATCHER = Matcher(_RULES, "1.19.0")


@dataclass(frozen=True)
class Case:
    """A program with what is to be found in it: nothing, if it is right."""

    name: str
    program: Program

    @property
    def expected(self) -> list[tuple[str, int, str]]:
        """File, line and rule of each mark."""
        return [
            (path, number, rule)
            for path, text in sorted(self.program.items())
            for number, line in enumerate(text.split("\n"), 1)
            for found in _MARK.findall(line)
            for rule in re.findall(r"WP\d+", found)
            if rule in _SELECTED
        ]


@dataclass
class Outcome:
    """What a refactoring did to the findings of all the programs that it applies to."""

    programs: int = 0
    expected: int = 0
    kept: int = 0
    lost: list[str] = field(default_factory=list)
    false: list[str] = field(default_factory=list)


def read(root: Path) -> list[Case]:
    """The programs in a folder: single files, and folders of files. Texts that are no programs are left out."""
    cases = []
    for path in sorted(root.iterdir()):
        if path.suffix == ".py":
            cases.append(Case(path.stem, {path.name: path.read_text(encoding="utf-8")}))
        elif path.is_dir() and list(path.rglob("*.py")):
            files = {str(p.relative_to(root)): p.read_text(encoding="utf-8") for p in sorted(path.rglob("*.py"))}
            cases.append(Case(path.name, files))
    return cases


def findings(programs: Iterable[tuple[str, Program]], folder: Path) -> dict[str, set[tuple[str, int, str]]]:
    """The static findings in programs: file, line and rule, by the names that are given."""
    result: dict[str, set[tuple[str, int, str]]] = {}
    for name, program in programs:
        root = folder / name
        for path, text in program.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
        analyses = analyse_files([root / path for path in program], open_project((root,)), {}, jobs=1)
        problems = [str(problem) for analysis in analyses for problem in analysis.problems]
        assert problems == [], problems
        facts = [fact for analysis in analyses for fact in analysis.facts]
        result[name] = {
            (str(found.location.path.relative_to(root)), found.location.span.line, found.rule)
            for found in _MATCHER.findings(facts, _SELECTED, frozenset())
        }
    return result


def baseline(cases: list[Case], folder: Path) -> list[Case]:
    """The cases in which exactly what is marked is found."""
    found = findings([(case.name, case.program) for case in cases], folder)
    return [case for case in cases if found[case.name] == set(case.expected)]


def refactored(case: Case, names: Iterable[str], seed: int) -> Case | None:
    """A program with refactorings applied one after the other; None where one has nothing to do."""
    program = case.program
    for name in names:
        try:
            made = REFACTORINGS[name](program, Random(seed))
        except (cst.ParserSyntaxError, cst.CSTValidationError):
            return None  # a function without parameters, a name where syntax wants a name
        if made is None:
            return None
        program = made
    return Case(case.name, program)


def judge(before: Case, after: Case, found: set[tuple[str, int, str]], label: str, outcome: Outcome) -> None:
    """Count what was kept, lost and made up."""
    moved = {
        (path, number)
        for path, text in after.program.items()
        for number, line in enumerate(text.split("\n"), 1)
        if line.rstrip().endswith(MOVED)
    }
    marks = after.expected
    if sorted(rule for *_, rule in marks) != sorted(rule for *_, rule in before.expected):
        outcome.lost.append(f"{label}: the refactoring drops a mark")
    expected = {rule for *_, rule in marks}
    outcome.programs += 1
    outcome.expected += len(marks)
    there = {(path, line, rule) for path, line, rule in found}
    for path, line, rule in marks:
        if (path, line, rule) in there or any((p, n, rule) in there for p, n in moved):
            outcome.kept += 1
        else:
            outcome.lost.append(f"{label}: {rule} at {path}:{line}")
    for path, line, rule in sorted(there - set(marks)):
        if not (rule in expected and (path, line) in moved):
            outcome.false.append(f"{label}: {rule} at {path}:{line}")


def composed(cases: list[Case], seed: int, count: int) -> Iterator[tuple[Case, tuple[str, ...], Case]]:
    """Two or three refactorings at random for each of ``count`` programs."""
    random = Random(seed)
    names = sorted(REFACTORINGS)
    while count:
        case = random.choice(cases)
        chosen = tuple(random.sample(names, random.choice((2, 3))))
        made = refactored(case, chosen, zlib.crc32(repr((case.name, chosen)).encode()))
        if made is not None:
            count -= 1
            yield case, chosen, made
