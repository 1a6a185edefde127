"""From results of experiments to the table of versions: as data, and as a page."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from versions_experiments import Question
from versions_running import VERSIONS, Kept, key

from warplint.catalogue.rule import Rule

_MARK = re.compile(r"# (todo-expect|expect|wrong|ok): (WP\d{3}(?:, WP\d{3})*)")
#: What counts: whether a gradient (or a compiler) was seen to be what the rule says.
_DECIDED = ("wrong", "right", "refused", "missing")
_WORDS = {"wrong": "wrong", "right": "right", "refused": "refused", "missing": "not available", "mixed": "partly wrong"}

#: Rules that say what the compiler refuses, and what its verdict on a kernel with such a mark is to them.
COMPILED = ("WP701", "WP705", "WP706")
_REFUSED = {"refused": "wrong", "accepted": "right", "crash": "crash"}

Results = Mapping[str, Mapping[str, Kept]]


def table(
    rules: Iterable[Rule], results: Results, questions: Mapping[str, Question], fixtures: Path, contracts: Path
) -> dict[str, Any]:
    """The data of ``docs/versions.json``.

    For every rule and version: the ``verdict``, how many ``defects`` (wrong examples, marked kernels and experiments
    about the rule) had which outcome, and how many ``near_misses`` (right examples, kernels with no mark but ``ok``).
    """
    rules = tuple(rules)
    marks = dict(_marked(fixtures))
    compiled = list(_compiled(contracts))
    measured = {version: parts["examples"].rows for version, parts in results.items()}
    found: dict[str, Any] = {}
    for rule in rules:
        found[rule.id] = {}
        for version in VERSIONS:
            defects: Counter[str] = Counter()
            near: Counter[str] = Counter()
            parts = results[version]
            for example in rule.examples:
                known = key(rule.id, example.code)
                row = parts["examples"].rows.get(known)
                # What a recording costs, a program does not show by itself: it is compared with one that lacks it.
                if example.bad and (row is None or rule.probe.kind == "recording" or not shown(measured, known)):
                    row = parts["probe"].rows.get(known)
                if row is not None:
                    (defects if example.bad else near)[row["outcome"]] += 1
            for question in questions.values():
                row = parts["experiments"].rows.get(key(question.program))
                if row is not None and rule.id in question.about:
                    defects[answered(row["answer"])] += 1
            for known, (expected, allowed) in marks.items():
                row = parts["fixtures"].rows.get(known)
                if row is None:
                    continue
                outcome = row.get("special", {}).get(rule.id, row["outcome"])
                if rule.id in expected:
                    defects[outcome] += 1
                elif not expected and rule.id in allowed:
                    near[outcome] += 1
            for known, expected, allowed in compiled:
                row = parts["contracts"].rows.get(known)
                if row is not None and rule.id in expected and rule.id in COMPILED:
                    defects[_REFUSED[row["outcome"]]] += 1
                elif row is not None and rule.id in allowed:
                    near["right" if row["outcome"] == "accepted" else row["outcome"]] += 1
            if defects or near:
                found[rule.id][version] = {
                    "verdict": verdict(defects),
                    "defects": _decided(defects),
                    "near_misses": _decided(near),
                }
    answers = {
        name: {
            "question": question.text,
            "about": list(question.about),
            "answers": {
                version: row["answer"]
                for version in VERSIONS
                if (row := results[version]["experiments"].rows.get(key(question.program))) is not None
            },
        }
        for name, question in questions.items()
    }
    return {"warp": VERSIONS, "rules": found, "experiments": answers}


def shown(measured: Mapping[str, Mapping[str, Mapping[str, Any]]], known: str) -> bool:
    """Whether a wrong example shows what is wrong with it where it is run as it is: some version got it wrong."""
    return any(rows.get(known, {}).get("outcome") == "wrong" for rows in measured.values())


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


def _compiled(folder: Path) -> Iterator[tuple[str, set[str], set[str]]]:
    """As ``_marked``, for the files of contracts."""
    for path in sorted(folder.glob("*.py")):
        text = path.read_text(encoding="utf-8")
        for name, (expected, allowed) in _marks(text):
            yield contract(text, name), expected, allowed


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
    return next((word for word in ("right", "wrong", "refused") if answer.startswith(word)), "unclear")


def verdict(defects: Mapping[str, int]) -> str | None:
    """What a version does with the defects of a rule: None where nothing was decided."""
    wrong, right = defects.get("wrong", 0), defects.get("right", 0)
    if wrong and right:
        return "mixed"
    return next((outcome for outcome in ("wrong", "right", "refused", "missing") if defects.get(outcome)), None)


def _decided(counts: Mapping[str, int]) -> dict[str, int]:
    return {outcome: counts[outcome] for outcome in _DECIDED if counts.get(outcome)}


def _marked(fixtures: Path) -> Iterator[tuple[str, tuple[set[str], set[str]]]]:
    """For every kernel of the fixtures, by its key: the rules that it is marked wrong for, and those it is right
    for."""
    for path in sorted(fixtures.glob("*.py")):
        text = path.read_text(encoding="utf-8")
        for name, marks in _marks(text):
            yield key(path.name, text, name), marks


def _marks(text: str) -> Iterator[tuple[str, tuple[set[str], set[str]]]]:
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
        expected = {rule for kind, rule in marks if kind != "ok"}
        yield name, (expected, {rule for kind, rule in marks if kind == "ok"})


# --- the page ---


def page(rules: Iterable[Rule], found: Mapping[str, Any]) -> str:
    """``docs/versions.md``."""
    versions = list(found["warp"])
    lines = [
        "# Versions of Warp",
        "",
        "What is wrong in one version of Warp may be right in another, or not compile there. warplint lints for one",
        "version, which it takes from the first of these that says one:",
        "",
        "1. `--warp-version` on the command line,",
        "2. `warp-version` in the configuration,",
        "3. the Warp that is installed in the environment that `--python` points at, or else in the active one",
        "   (what is beside warplint in an environment of its own, as pipx and uv make them, does not count),",
        "4. a lock file of the project (`uv.lock`, `poetry.lock`, `pdm.lock`, `pylock.toml`, `pixi.lock`), or what its",
        "   `pyproject.toml`, `requirements*.txt` or `setup.cfg` ask for: the newest version that they allow,",
        "5. the newest version that warplint knows.",
        "",
        "Nothing of an environment is run or imported for that. `--verbose` tells which version it is and what says",
        "so, and JSON output has both. A rule is applied only where the version is in its range, and its message says",
        "since or until when that is so. The probe always runs with the Warp beside warplint: where that is another",
        "version, the evidence says so.",
        "",
        "The tables below are results of `python tools/versions.py --write`, which runs the examples of the rules, the",
        "kernels of the tests and a number of experiments under each version on the CPU device. The tests hold the",
        "ranges in the rule files against them. Of every table cell the numbers are in `docs/versions.json`.",
        "",
        "Versions: " + ", ".join(found["warp"].values()) + ".",
        "",
        "## Rules",
        "",
        "*wrong*: the gradients of all that was run are what the rule says; *partly wrong*: of some of it;",
        "*right*: of none; *refused*: Warp does not compile any of it; *not available*: this version has not what it",
        "is about; an empty cell: not run. In brackets, how many examples, kernels and experiments were wrong, right.",
        "",
        "| rule | range | " + " | ".join(versions) + " |",
        "|---|---|" + "---|" * len(versions),
    ]
    for rule in rules:
        if not any(entry["verdict"] for entry in found["rules"][rule.id].values()):
            continue
        cells = [_cell(found["rules"][rule.id].get(version)) for version in versions]
        lines.append(f"| [{rule.id}](rules/{rule.id}.md) | `{rule.warp}` | " + " | ".join(cells) + " |")
    lines += ["", "## Experiments", "", "| what | " + " | ".join(versions) + " |", "|---|" + "---|" * len(versions)]
    refusals: list[str] = []
    for experiment in found["experiments"].values():
        cells = []
        for version in versions:
            answer = experiment["answers"].get(version, "")
            cells.append(_short(answer))
            if answer.startswith("refused"):
                refusals.append(
                    f"- {experiment['question']}, Warp {version}: {_code(answer.removeprefix('refused: '))}"
                )
        text = experiment["question"].replace("|", "\\|")
        lines.append(f"| {text} | " + " | ".join(cells) + " |")
    if refusals:
        lines += ["", "What Warp says where it refuses:", "", *refusals]
    near = list(_near_misses(found, versions))
    if near:
        lines += [
            "",
            "## Near misses that are wrong in old versions",
            "",
            "Kernels beside the defects that are right in the newest version, and were wrong in older ones. Up to",
            "Warp 1.11 (the next that was run is 1.13) a store does not consume the gradient of the element that it",
            "overwrites, so that whatever stores over a value that has a gradient counts it once more.",
            "",
            *near,
        ]
    return "\n".join(lines) + "\n"


def _cell(entry: Mapping[str, Any] | None) -> str:
    if entry is None or entry["verdict"] is None:
        return ""
    counts = [str(entry["defects"][word]) for word in ("wrong", "right") if entry["defects"].get(word)]
    return _WORDS[entry["verdict"]] + (f" ({':'.join(counts)})" if counts else "")


def _short(answer: str) -> str:
    return answer.partition(":")[0] if answered(answer) != "unclear" else answer


def _code(text: str) -> str:
    # Folders of the machine that it ran on are nobody's business.
    text = re.sub(r" at \S*\.py:\d+", "", re.sub(r"_x\d+n\d+", "", text))
    return f"`{text}`"


def _near_misses(found: Mapping[str, Any], versions: Iterable[str]) -> Iterator[str]:
    for version in versions:
        wrong = {
            rule: entries[version]["near_misses"]["wrong"]
            for rule, entries in found["rules"].items()
            if entries.get(version, {}).get("near_misses", {}).get("wrong")
        }
        if wrong:
            yield f"- Warp {version}: " + ", ".join(f"{count} of {rule}" for rule, count in wrong.items())
