"""From results of experiments to the table of versions, as data; ``versions_page.py`` makes a page of it."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from versions_experiments import Question
from versions_running import VERSIONS, Kept, key
from versions_sources import own
from versions_together import MISSING

from warplint.catalogue.rule import Rule

_MARK = re.compile(r"# (todo-expect|expect|wrong|ok): (WP\d{3}(?:, WP\d{3})*)")
#: A rule that only older versions have a defect for, at a place in a kernel that is marked for another one.
_DATED = re.compile(r"# before (1\.\d+): (WP\d{3})")
#: What counts: whether a gradient (or a compiler) was seen to be what the rule says.
_DECIDED = ("wrong", "right", "accepted", "refused", "missing")
#: So many reasons are kept of a cell.
_REASONS = 2

#: Rules that say what the compiler refuses, and what its verdict on a kernel with such a mark is to them.
COMPILED = ("WP701", "WP705", "WP706")
_REFUSED = {"refused": "wrong", "accepted": "right", "crash": "crash"}


@dataclass(frozen=True)
class Marks:
    """The ids of the rules that a kernel is wrong for by its marks, those it is right for, and those that it is wrong
    for with older versions of Warp."""

    expected: set[str]
    allowed: set[str]
    dated: set[str]

    def explained_without(self, rule: str, concerned: frozenset[str]) -> bool:
        """Whether a wrong gradient says nothing of ``rule``: it is none of the rules that concern that version of Warp,
        and another mark is of one."""
        return rule not in concerned and bool((self.expected | self.dated) & concerned)


Results = Mapping[str, Mapping[str, Kept]]


@dataclass(frozen=True)
class Row:
    """The outcome of one thing that was run for a rule, ``bad`` or right, and what Warp said."""

    bad: bool
    outcome: str
    detail: str


def table(
    rules: Iterable[Rule], results: Results, questions: Mapping[str, Question], fixtures: Path, contracts: Path
) -> dict[str, Any]:
    """The data of ``docs/versions.json``.

    For every rule and version: the ``verdict`` and how many ``defects`` (wrong examples, marked kernels and experiments
    about the rule) had which outcome; the same for ``near_misses`` (right examples, kernels with no mark but ``ok``),
    whose verdict is ``near``; and ``said``: what Warp says where it refuses or does not know something, or why there
    is no verdict.
    """
    rules = tuple(rules)
    marks = dict(_marked(fixtures))
    compiled = list(_compiled(contracts))
    concerned = {
        version: frozenset(rule.id for rule in rules if rule.concerns(patch)) for version, patch in VERSIONS.items()
    }
    measured = {version: parts["examples"].rows for version, parts in results.items()}
    found: dict[str, Any] = {}
    for rule in rules:
        found[rule.id] = {}
        for version in VERSIONS:
            parts = results[version]
            rows = [
                *_of_examples(rule, parts, measured),
                *_of_experiments(rule, parts, questions),
                *_of_fixtures(rule, concerned[version], parts, marks),
                *_of_contracts(rule, parts, compiled),
            ]
            found[rule.id][version] = _cell_data(rule, rows)
    answers = {
        name: {
            "question": question.text,
            "about": list(question.about),
            "answers": {
                version: plain(row["answer"])
                for version in VERSIONS
                if (row := results[version]["experiments"].rows.get(key(question.program))) is not None
            },
        }
        for name, question in questions.items()
    }
    taken = {version: _taken(results[version]["contracts"].rows, contracts) for version in VERSIONS}
    return {"warp": VERSIONS, "rules": found, "experiments": answers, "taken": taken}


def _taken(rows: Mapping[str, Mapping[str, Any]], contracts: Path) -> list[str]:
    """The kernels of the files of contracts that the newest Warp refuses and the code generator of this one takes."""
    return [
        f"{path.stem}.{name}"
        for path in sorted(contracts.glob("*.py"))
        for text in [path.read_text(encoding="utf-8")]
        for name, marks in _marks(text)
        if marks.expected & set(COMPILED) and rows.get(contract(text, name), {}).get("outcome") == "accepted"
    ]


def _cell_data(rule: Rule, rows: Iterable[Row]) -> dict[str, Any]:
    """What one rule has for one version."""
    rows = list(rows)
    defects = Counter(row.outcome for row in rows if row.bad)
    near = Counter(row.outcome for row in rows if not row.bad)
    said = dict.fromkeys(
        plain(row.detail)
        for row in rows
        if row.detail and (row.outcome in ("refused", "missing") or (row.bad and rule.id in COMPILED))
    )
    if verdict(defects) is None:
        told = rule.probe.reason or "; ".join(dict.fromkeys(row.outcome for row in rows if row.bad))
        said = dict.fromkeys([f"no verdict: {told or 'not run'}", *said])
    return {
        "verdict": verdict(defects),
        "defects": _decided(defects),
        "near": verdict(near),
        "near_misses": _decided(near),
        "said": list(said)[:_REASONS],
    }


def plain(text: str) -> str:
    """What Warp says, without the names and places that the tool gave to what it ran."""
    return re.sub(r" at \S*\.py:\d+", "", re.sub(r"_x\d+n\d+", "", text)).strip().removeprefix(";")


def _of_examples(
    rule: Rule, parts: Mapping[str, Kept], measured: Mapping[str, Mapping[str, Mapping[str, Any]]]
) -> Iterator[Row]:
    for example in rule.examples:
        known = key(rule.id, example.code)
        row = parts["examples"].rows.get(known)
        if not example.bad:
            if row is not None:
                # It is compiled, and its own statements run; there is no gradient to compare.
                outcome = "accepted" if row["outcome"] == "unmeasured" else row["outcome"]
                yield Row(False, outcome, row.get("detail", ""))
            continue
        if rule.probe.kind == "compile":
            if row is not None:
                taken = row["outcome"] in ("right", "unmeasured", "wrong")
                outcome = "right" if taken else "wrong" if row["outcome"] == "refused" else row["outcome"]
                yield Row(True, outcome, row.get("detail", ""))
                continue
        # What a recording costs, a program does not show by itself: it is compared with one that lacks it.
        elif row is not None and rule.probe.kind != "recording" and shown(measured, known):
            yield Row(True, row["outcome"], row.get("detail", ""))
            continue
        row = parts["probe"].rows.get(known)
        if row is not None:
            yield Row(True, row["outcome"], row.get("detail", ""))


def _of_experiments(rule: Rule, parts: Mapping[str, Kept], questions: Mapping[str, Question]) -> Iterator[Row]:
    for question in questions.values():
        row = parts["experiments"].rows.get(key(question.program))
        if row is not None and rule.id in question.about:
            word, _, detail = row["answer"].partition(": ")
            outcome = answered(word)
            yield Row(True, "missing" if outcome == "refused" and MISSING.search(detail) else outcome, detail)


def _of_fixtures(
    rule: Rule, concerned: frozenset[str], parts: Mapping[str, Kept], marks: Mapping[str, Marks]
) -> Iterator[Row]:
    for known, marked in marks.items():
        row = parts["fixtures"].rows.get(known)
        if row is None:
            continue
        outcome = row.get("special", {}).get(rule.id, row["outcome"])
        if rule.id in marked.expected:
            if outcome == "wrong" and marked.explained_without(rule.id, concerned):
                continue
            yield Row(True, outcome, row.get("detail", ""))
        elif not marked.expected and rule.id in marked.allowed:
            yield Row(False, outcome, row.get("detail", ""))


def _of_contracts(rule: Rule, parts: Mapping[str, Kept], compiled: Iterable[tuple[str, Marks]]) -> Iterator[Row]:
    for known, marked in compiled:
        row = parts["contracts"].rows.get(known)
        if row is not None and rule.id in marked.expected and rule.id in COMPILED:
            yield Row(True, _REFUSED[row["outcome"]], row.get("detail", ""))
        elif row is not None and rule.id in marked.allowed:
            yield Row(False, "right" if row["outcome"] == "accepted" else row["outcome"], row.get("detail", ""))


def shown(measured: Mapping[str, Mapping[str, Mapping[str, Any]]], known: str) -> bool:
    """Whether a wrong example shows what is wrong with it where it is run as it is: some version got it wrong."""
    return any(rows.get(known, {}).get("outcome") == "wrong" for rows in measured.values())


def fixture(file: str, text: str, name: str) -> str:
    """The key of a kernel in a file of kernels: what is run for it."""
    return key("kernel", file, own(text, name))


def contract(text: str, name: str) -> str:
    """The key of a kernel in a file of contracts: its own source, with that of what is no kernel around it."""
    lines = text.split("\n")
    for node in reversed(ast.parse(text).body):
        if (
            isinstance(node, ast.FunctionDef)
            and node.decorator_list
            and node.name != name
            and "kernel" in ast.unparse(node.decorator_list[0])
        ):
            del lines[min(item.lineno for item in node.decorator_list) - 1 : node.end_lineno]
    return key("contract", "\n".join(line.partition("  #")[0] for line in lines if line.strip()), name)


def _compiled(folder: Path) -> Iterator[tuple[str, Marks]]:
    """As ``_marked``, for the files of contracts."""
    for path in sorted(folder.glob("*.py")):
        text = path.read_text(encoding="utf-8")
        for name, marks in _marks(text):
            yield contract(text, name), marks


def names(results: Results) -> dict[str, Any]:
    """The data of ``warplint/kernels/names.json``: what every version has in ``wp``, and the first and last that have
    what not all of them have."""
    by_version = {version: set(list(results[version]["names"].rows.values())[-1]["names"]) for version in VERSIONS}
    versions = list(VERSIONS)
    always = set.intersection(*by_version.values())
    sometimes = {}
    for name in sorted(set.union(*by_version.values()) - always):
        having = [version for version in versions if name in by_version[version]]
        # what comes and goes is not told
        if versions[versions.index(having[0]) : versions.index(having[-1]) + 1] == having:
            sometimes[name] = [having[0], having[-1]]
        else:
            always.add(name)
    return {"seen": versions, "always": sorted(always), "sometimes": sometimes}


def answered(answer: str) -> str:
    """The outcome that an experiment's answer stands for."""
    return next((word for word in ("right", "wrong", "refused", "missing") if answer.startswith(word)), "unclear")


def verdict(defects: Mapping[str, int]) -> str | None:
    """What a version does with the defects of a rule, or its near misses: None where nothing was decided."""
    if defects.get("wrong") and defects.get("right"):
        return "mixed"
    return next((outcome for outcome in _DECIDED if defects.get(outcome)), None)


def _decided(counts: Mapping[str, int]) -> dict[str, int]:
    return {outcome: counts[outcome] for outcome in _DECIDED if counts.get(outcome)}


def _marked(fixtures: Path) -> Iterator[tuple[str, Marks]]:
    """For every kernel of the fixtures, by its key: its marks."""
    for path in sorted(fixtures.glob("*.py")):
        text = path.read_text(encoding="utf-8")
        for name, marks in _marks(text):
            yield fixture(path.name, text, name), marks


def _marks(text: str) -> Iterator[tuple[str, Marks]]:
    """The same for one file, by name. As in ``tests/label_kernels.py``, the marks in the funcs that a kernel calls are
    its own."""
    lines = text.split("\n")
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    sources = {node.name: "\n".join(lines[node.lineno - 1 : node.end_lineno]) for node in functions}
    for name in sources:
        source, seen = sources[name], {name}
        while called := {f for f in sources if f not in seen and re.search(rf"\b{f}\(", source)}:
            seen |= called
            source += "".join(sources[f] for f in called)
        marks = [(kind, rule) for kind, rules in _MARK.findall(source) for rule in rules.split(", ")]
        yield (
            name,
            Marks(
                {rule for kind, rule in marks if kind != "ok"},
                {rule for kind, rule in marks if kind == "ok"},
                {rule for _, rule in _DATED.findall(source)},
            ),
        )
