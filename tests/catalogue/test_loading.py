"""Rule files with mistakes: each is one sentence with its file and line, and costs that rule only."""

from __future__ import annotations

from pathlib import Path

import pytest

from warplint.catalogue.loading import load_catalogue
from warplint.catalogue.rule import Condition, Example, Rule
from warplint.ir.facts import Problem

GOOD = """\
id: WP199
name: forgotten-value
family: lost-value
severity: warning
confidence: medium
warp: ">=1.16,<2"
select:
  fact: value-forgotten
  where: { operator: ["*", "/"], active: true, depth: { min: 2 }, kind: { not: integer } }
message: "`{target}` is forgotten"
why: >-
  Because.
fix: { kind: manual, safety: display, recipe: remember-it, help: Remember it. }
probe: gradient
references: [A book]
examples:
  - bad: |
      x = 1
  - good: |
      y = 2
"""

KINDS = {"value-forgotten": frozenset({"operator", "active", "depth", "kind", "target"})}


def load(folder: Path, text: str) -> tuple[tuple[Rule, ...], tuple[Problem, ...]]:
    (folder / "WP199.yaml").write_text(text)
    catalogue, problems = load_catalogue([folder], KINDS)
    return catalogue.rules, problems


def test_a_whole_rule(tmp_path: Path) -> None:
    (rule,), problems = load(tmp_path, GOOD)
    assert problems == ()
    assert (rule.id, rule.name, rule.family, rule.severity, rule.confidence) == (
        "WP199",
        "forgotten-value",
        "lost-value",
        "warning",
        "medium",
    )
    assert rule.select.fact == "value-forgotten"
    assert rule.select.where == {
        "operator": Condition(among=("*", "/")),
        "active": Condition(among=(True,)),
        "depth": Condition(low=2),
        "kind": Condition(without=("integer",)),
    }
    assert rule.why == "Because."
    assert rule.fix.help == "Remember it."
    assert rule.references == ("A book",)
    assert rule.examples == (Example(True, "x = 1\n"), Example(False, "y = 2\n"))
    assert rule.enabled is True


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("id: WP199", "id: wp199", 1, "`id` must be capital letters and three digits, as `WP101`, not 'wp199'"),
        ("id: WP199\n", "", None, "the key `id` is missing; add it"),
        ("forgotten-value", "forgotten_value", 2, "`name` must be words in lower case joined by `-`, not 'forgot"),
        ("family: lost-value", "family: lost-love", 3, "`family` must be one of `suppression`, `lost-value`, "),
        ("lost-value", "contract", 3, "`family` does not go with the id: codes WP1xx are 'lost-value'"),
        ("severity: warning", "severity: bad", 4, "`severity` must be one of `error`, `warning`, `info`, not 'bad'"),
        (">=1.16,<2", "~1.16", 6, "`warp` must be comparisons like `>=1.16` or `>=1.0,<1.18`, not '~1.16'"),
        ("fact: value-forgotten", "facts: x", 8, "`select.facts` is not a key of a rule file; did you mean `fact`?"),
        ("where: {", "where: { 'A B': 1,", 9, "`select.where.A B` is not the name of an attribute"),
        ("{ min: 2 }", "{ mni: 2 }", 9, "`select.where.depth.mni` is not a key of a rule file; did you mean `min`?"),
        ("{ min: 2 }", "{ min: two }", 9, "`select.where.depth.min` must be a number"),
        ("{ min: 2 }", "{}", 9, "`select.where.depth` must hold a value, a list of values, or a mapping"),
        ("active: true", "active: null", 9, "`select.where.active` must be a text, a number, true, false or a list"),
        ("{target}", "{target", 10, "`message` has a broken placeholder: expected '}' before end of string"),
        ("{target}", "{target.__class__}", 10, "`message` has the placeholder `{target.__class__}`; use the bare name"),
        ("{target}", "{target!r:>9}", 10, "`message` has the placeholder `{target!r:>9}`; use the bare name"),
        ("{target}", "{}", 10, "`message` has the placeholder `{}`; use the bare name"),
        ("  Because.", "", 11, "`why` must be a text that is not empty"),
        ("safety: display", "safety: sure", 13, "`fix.safety` must be one of `safe`, `unsafe`, `display`, not 'sure'"),
        (", help: Remember it.", "", 13, "the key `help` is missing in `fix`; add it"),
        ("probe: gradient", "probe: none", 14, "`probe` `none` needs a reason"),
        ("probe: gradient", "probe: {none: ''}", 14, "`probe.none` must be a text that is not empty"),
        ("probe: gradient", "probe: hope", 14, "`probe` must be one of `gradient`, "),
        ("[A book]", "[]", 15, "`references` must be a list of texts, with at least one"),
        ("- good: |", "- bad: |", 16, "`examples` must have at least one `good` example"),
        ("- good: |", "- fair: |", 16, "`examples` must be a list of `bad: code` and `good: code`"),
        ("examples:", "enabled: maybe\nexamples:", 16, "`enabled` must be true or false"),
        ("probe:", "only-confirmed: 1\nprobe:", 14, "`only-confirmed` must be true or false, not 1"),
        (
            "probe: gradient",
            "only-confirmed: true\nprobe: {none: a matter of taste}",
            14,
            "`only-confirmed` goes with a probe: without one nothing is ever confirmed",
        ),
        ("probe:", "proof: 1\nprobe:", 14, "`proof` is not a key of a rule file; did you mean `probe`?"),
        ("name: ", "id: WP198\nname: ", 2, "broken YAML: the key `id` is given twice"),
        ("references: [", "references: [[", 16, "broken YAML: did not find expected ',' or ']'"),
    ],
)  # fmt: skip
def test_a_mistake(tmp_path: Path, old: str, new: str, line: int | None, message: str) -> None:
    assert GOOD.count(old) >= 1
    rules, problems = load(tmp_path, GOOD.replace(old, new, 1))
    assert rules == ()
    assert [problem.line for problem in problems if problem.message.startswith(message)] == [line], problems
    assert all(problem.path.endswith("WP199.yaml") for problem in problems)


def test_every_mistake_is_told_at_once(tmp_path: Path) -> None:
    text = GOOD.replace("severity: warning", "severity: bad").replace("probe: gradient", "probe: hope")
    assert len(load(tmp_path, text)[1]) == 2


@pytest.mark.parametrize("text", ["", "- a\n", "just text\n", "3\n"])
def test_a_file_that_is_no_mapping(tmp_path: Path, text: str) -> None:
    rules, problems = load(tmp_path, text)
    assert rules == ()
    assert [problem.message.split(" with")[0] for problem in problems] == ["a rule file is a mapping"]


def test_other_rules_survive_a_broken_one(tmp_path: Path) -> None:
    (tmp_path / "WP198.yaml").write_text("[")
    rules, problems = load(tmp_path, GOOD)
    assert [rule.id for rule in rules] == ["WP199"]
    assert len(problems) == 1


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("name: forgotten-value", "name: other", "the id `WP199` is taken by "),
        ("id: WP199", "id: WP198", "the name `forgotten-value` is taken by "),
    ],
)
def test_ids_and_names_are_unique(tmp_path: Path, old: str, new: str, message: str) -> None:
    (tmp_path / "second.yaml").write_text(GOOD.replace(old, new))
    rules, problems = load(tmp_path, GOOD)
    assert [rule.path.name for rule in rules] == ["WP199.yaml"]
    assert [problem.message.startswith(message) for problem in problems] == [True]


def test_a_folder_without_rules(tmp_path: Path) -> None:
    catalogue, problems = load_catalogue([tmp_path])
    assert catalogue.rules == ()
    assert "no rule files here" in problems[0].message


def test_a_file_that_is_not_utf_8(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"id: \xe9\n")
    assert "not UTF-8" in load_catalogue([tmp_path])[1][0].message


def test_cases_say_what_is_different_in_them(tmp_path: Path) -> None:
    text = GOOD + "cases:\n  - where: { depth: { max: 3 } }\n    severity: info\n    enabled: false\n"
    (rule,), problems = load(tmp_path, text)
    assert problems == ()
    (case,) = rule.cases
    assert (case.severity, case.confidence, case.enabled) == ("info", None, False)
    assert case.holds({"depth": 3}) and not case.holds({"depth": 4})


@pytest.mark.parametrize(
    ("case", "complaint"),
    [
        ("{ severity: info }", "the key `where` is missing in `cases`"),
        ("{ where: { depth: 1 } }", "`cases` must say what is different"),
        ("{ where: { depth: 1 }, severity: bad }", "`cases.severity` must be one of"),
        ("{ where: { depth: 1 }, enabled: never }", "`cases.enabled` must be true or false"),
        ("{ where: { Depth: 1 }, severity: info }", "`cases.where.Depth` is not the name of an attribute"),
    ],
)
def test_a_mistake_in_a_case_is_a_sentence(tmp_path: Path, case: str, complaint: str) -> None:
    rules, problems = load(tmp_path, GOOD + f"cases:\n  - {case}\n")
    assert rules == ()
    assert problems[0].message.startswith(complaint)


@pytest.mark.parametrize(
    ("good", "bad", "complaint"),
    [
        ("fact: value-forgotten", "fact: value-forgoten", "did you mean `value-forgotten`?"),
        ("fact: value-forgotten", "fact: something-else", "known are `value-forgotten`"),
        ("depth: { min: 2 }", "dept: { min: 2 }", "did you mean `depth`?"),
        ("`{target}` is", "`{traget}` is", "did you mean `target`?"),
    ],
)
def test_what_no_fact_has_is_a_mistake(tmp_path: Path, good: str, bad: str, complaint: str) -> None:
    assert good in GOOD
    rules, problems = load(tmp_path, GOOD.replace(good, bad))
    assert rules == ()
    (problem,) = problems
    assert problem.message.endswith(complaint)
    assert GOOD.replace(good, bad).splitlines()[(problem.line or 0) - 1].find(bad.split(":")[0].strip("`{}")) >= 0
