"""The table of versions as a page for people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from versions_table import plain

from warplint.catalogue.rule import Rule

_WORDS = {
    "wrong": "wrong",
    "right": "right",
    "accepted": "compiles",
    "refused": "refused",
    "missing": "not available",
    "mixed": "partly wrong",
}
_HEAD = """# Versions of Warp

What is wrong in one version of Warp may be right in another, or not compile there. warplint lints for one version,
which it takes from the first of these that says one:

1. `--warp-version` on the command line,
2. `warp-version` in the configuration,
3. the Warp that is installed in the environment that `--python` points at, or else in the active one (what is beside
   warplint in an environment of its own, as pipx and uv make them, does not count),
4. the project's own files. First a lock file (`uv.lock`, `poetry.lock`, `pdm.lock`, `pylock.toml`, `pixi.lock`,
   `Pipfile.lock`, `conda-lock.yml`), then a requirement that names one version, as pip-tools writes them, then any
   other, which stands for the newest version that it allows. Requirements are looked for in `pyproject.toml` (with
   its extras and groups, and what Poetry, PDM, hatch, uv and pixi have there), `pixi.toml`, `Pipfile`,
   `requirements*.txt` and `.in`, `constraints*.txt`, `setup.cfg`, `setup.py` and `environment.yml`, in the folder of
   the linted file and those above it up to the root of the repository,
5. the newest version that warplint knows.

Nothing of an environment or a project is run or imported for that. Which version it is and what says so is in JSON,
JSON Lines, SARIF, HTML and Markdown output; on a terminal it is told where it is not the Warp beside warplint, and
always with `--verbose`. A rule is applied only where the version is in its range, and its message says since or until
when that is so. The probe always runs with the Warp beside warplint: where that is another version, the evidence says
so.

The tables below are results of `python tools/versions.py --write`. It makes an environment for each version, and runs
there, on the CPU device, the examples of the rules, the kernels of the tests and a number of experiments. Each is a
small program whose gradient is compared with differences, or whose compilation or launch is watched. The tests hold
the ranges in the rule files against the tables. The numbers behind every cell, and what Warp said, are in
`docs/versions.json`.

Versions: {versions}.
"""

_RULES = """
## Which version has which defect

What the programs show that a rule is about: its wrong examples, kernels that are marked wrong, and experiments.

| a cell says | which means |
|---|---|
| wrong (6) | six were run, and all six have the defect: this version has it |
| partly wrong (10:3) | ten have the defect, three have not |
| right (4) | all four are right: this version does not have the defect |
| refused | Warp does not compile any of them: the defect cannot be written there |
| not available | this version does not have what the rule is about |
| · | there is no verdict, for the reason in the list below the table |
| in *italics* | the rule is not applied to this version: its range, in the second column, leaves it out |
"""

_NEAR = """
## What is right, in every version

The right examples of the rules and kernels beside the defects: code that looks like a defect and is none. *right (5)*:
the gradients of all five agree with differences; *wrong (2:3)*: two do not agree and three do, as an older version has
a defect there that the newest has not; *compiles*: it compiles and runs, and there is no gradient to compare.
"""

_WHY_WRONG = """
What is wrong above is another defect of an old version, with a rule of its own. Up to Warp 1.11 (the next that was run
is 1.13) a store does not consume the gradient of the element that it overwrites, so that whatever stores over a value
that has a gradient counts it once more (WP413). Up to Warp 1.14 what is stored in a member of a struct gets no gradient
(WP315).
"""


def page(rules: Iterable[Rule], found: Mapping[str, Any]) -> str:
    """``docs/versions.md``."""
    rules = tuple(rules)
    versions = list(found["warp"])
    lines = _HEAD.format(versions=", ".join(found["warp"].values())).splitlines()
    lines += [*_RULES.splitlines(), "", *_top("rule | range", versions)]
    for rule in rules:
        cells = []
        for version in versions:
            entry = found["rules"][rule.id][version]
            cell = _cell(entry["verdict"], entry["defects"])
            cells.append(cell if rule.concerns(found["warp"][version]) else f"*{cell}*")
        lines.append(f"| [{rule.id}](rules/{rule.id}.md) | `{rule.warp}` | " + " | ".join(cells) + " |")
    lines += _list("Why there is no verdict:", _said(found, lambda entry: entry["verdict"] is None))
    lines += _list(
        "What Warp says where it refuses, or does not have something:",
        _said(found, lambda entry: entry["verdict"] in ("refused", "missing")),
    )
    lines += [*_NEAR.splitlines(), "", *_top("rule", versions)]
    for rule in rules:
        entries = [found["rules"][rule.id][version] for version in versions]
        if any(entry["near"] for entry in entries):
            cells = [_cell(entry["near"], entry["near_misses"]) for entry in entries]
            lines.append(f"| [{rule.id}](rules/{rule.id}.md) | " + " | ".join(cells) + " |")
    lines += _WHY_WRONG.splitlines()
    lines += [
        "",
        "## Experiments",
        "",
        "Programs on what surrounds the rules, and on what changed between versions.",
        "",
    ]
    lines += _top("what", versions)
    for experiment in found["experiments"].values():
        text = experiment["question"].replace("|", "\\|")
        cells = [_short(experiment["answers"].get(version, "·")) for version in versions]
        lines.append(f"| {text} | " + " | ".join(cells) + " |")
    lines += _list("What Warp says there:", _answers(found))
    return "\n".join(lines) + "\n"


def _top(first: str, versions: Iterable[str]) -> list[str]:
    """The first two lines of a table."""
    cells = f"| {first} | {' | '.join(versions)} |"
    return [cells, "|" + "---|" * (cells.count("|") - 1)]


def _list(title: str, items: Mapping[tuple[str, str], list[str]]) -> list[str]:
    """A list of what is said of which versions, with nothing said twice."""
    if not items:
        return []
    told = [f"- {about}, Warp {', '.join(versions)}: {text}" for (about, text), versions in items.items()]
    return ["", title, "", *told]


def _said(found: Mapping[str, Any], of: Callable[[Mapping[str, Any]], bool]) -> dict[tuple[str, str], list[str]]:
    items: dict[tuple[str, str], list[str]] = {}
    for rule, entries in found["rules"].items():
        for version, entry in entries.items():
            if of(entry):
                text = entry["said"][0] if entry["said"] else "nothing"
                told = text.removeprefix("no verdict: ")
                items.setdefault((rule, told if text != told else f"`{text}`"), []).append(version)
    return items


def _answers(found: Mapping[str, Any]) -> dict[tuple[str, str], list[str]]:
    items: dict[tuple[str, str], list[str]] = {}
    for experiment in found["experiments"].values():
        for version, answer in experiment["answers"].items():
            word, _, text = answer.partition(": ")
            if word in ("refused", "missing"):
                items.setdefault((experiment["question"], f"`{plain(text)}`"), []).append(version)
    return items


def _cell(verdict: str | None, counts: Mapping[str, int]) -> str:
    if verdict is None:
        return "·"
    numbers = [str(counts[word]) for word in ("wrong", "right") if counts.get(word)]
    return _WORDS[verdict] + (f" ({':'.join(numbers)})" if numbers else "")


def _short(answer: str) -> str:
    word = answer.partition(":")[0]
    return _WORDS.get(word, answer)
