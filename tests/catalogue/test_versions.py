"""The ranges in the rule files are what experiments under each version of Warp showed (``docs/versions.json``)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from versions_experiments import QUESTIONS
from versions_page import page
from versions_running import VERSIONS
from versions_table import Marks, answered, verdict

from warplint.catalogue.loading import load_catalogue
from warplint.catalogue.rule import Rule
from warplint.catalogue.versions import VersionRange

ROOT = Path(__file__).parent.parent.parent
TABLE: dict[str, Any] = json.loads((ROOT / "docs/versions.json").read_text(encoding="utf-8"))
RULES = load_catalogue()[0].rules
#: What a version in the range may show: the defect, or that it cannot be written there.
_INSIDE = ("wrong", "mixed", "refused", "missing", None)


def _verdicts(rule: Rule) -> dict[str, str | None]:
    """By version; None for what was not run."""
    return {version: entry["verdict"] for version, entry in TABLE["rules"].get(rule.id, {}).items()}


def contradictions(rule: Rule, verdicts: Mapping[str, str | None]) -> list[str]:
    """The versions whose verdict is not what the range of a rule says."""
    return [
        version
        for version, said in verdicts.items()
        if (said not in _INSIDE if rule.concerns(VERSIONS[version]) else said in ("wrong", "mixed"))
    ]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_range_holds_the_versions_that_have_the_defect_and_no_others(rule: Rule) -> None:
    assert contradictions(rule, _verdicts(rule)) == []


def test_a_range_that_the_table_contradicts_is_told() -> None:
    by_id = {rule.id: rule for rule in RULES}
    copies = replace(by_id["WP206"], warp=">=1.0")  # right from 1.17 on
    assert contradictions(copies, _verdicts(copies)) == ["1.17", "1.18", "1.19"]
    narrow = replace(by_id["WP206"], warp=">=1.8,<1.16")
    assert contradictions(narrow, _verdicts(narrow)) == ["1.5", "1.16"]
    assert contradictions(by_id["WP206"], {"1.8": "right"}) == ["1.8"]
    assert contradictions(by_id["WP206"], {"1.19": "mixed"}) == ["1.19"]


def test_a_wrong_gradient_is_charged_to_the_rules_that_concern_a_version() -> None:
    marks = Marks({"WP102", "WP104"}, set(), {"WP413"})
    assert marks.explained_without("WP102", frozenset({"WP104"}))
    assert marks.explained_without("WP102", frozenset({"WP413"}))
    assert not marks.explained_without("WP102", frozenset({"WP101"}))  # nothing else is the cause
    assert not marks.explained_without("WP104", frozenset({"WP104", "WP413"}))  # it may be the cause


def test_every_rule_has_a_verdict_for_every_version_or_a_reason() -> None:
    for rule in RULES:
        entries = TABLE["rules"][rule.id]
        assert list(entries) == list(VERSIONS), rule.id
        for version, entry in entries.items():
            if entry["verdict"] is None:
                assert rule.probe.kind == "none", f"{rule.id} was not run with Warp {version}: {entry['said']}"
                assert entry["said"][0] == f"no verdict: {rule.probe.reason}"
            elif entry["verdict"] in ("refused", "missing"):
                assert entry["said"], f"what Warp {version} says of {rule.id} is not kept"


def test_the_right_examples_of_every_rule_were_run_with_every_version() -> None:
    for rule in RULES:
        for version, entry in TABLE["rules"][rule.id].items():
            assert entry["near"] is not None, f"{rule.id}, Warp {version}"


@pytest.mark.parametrize(
    "rule", [rule for rule in RULES if VersionRange.parse(rule.warp).words()], ids=lambda rule: rule.id
)
def test_where_a_range_ends_both_sides_were_run(rule: Rule) -> None:
    verdicts, versions = _verdicts(rule), list(VERSIONS)
    inside = [rule.concerns(VERSIONS[version]) for version in versions]
    edges = [at for at in range(1, len(versions)) if inside[at] != inside[at - 1]]
    assert edges, f"{rule.id} has a range that no known version is outside of"
    for at in edges:
        within, without = (at, at - 1) if inside[at] else (at - 1, at)
        assert verdicts.get(versions[within]) in ("wrong", "mixed"), versions[within]
        assert verdicts.get(versions[without]) in ("right", "refused", "missing"), versions[without]


def test_the_newest_version_was_run_for_every_rule_that_can_be_run() -> None:
    for rule in RULES:
        if rule.probe.kind != "none" and rule.concerns(VERSIONS["1.19"]):
            assert _verdicts(rule).get("1.19") == "wrong", rule.id


def test_what_was_right_in_the_newest_version_is_right() -> None:
    """Near misses: a rule that finds something else is not measured by them."""
    for rule in RULES:
        near = TABLE["rules"].get(rule.id, {}).get("1.19", {}).get("near_misses", {})
        assert near.get("wrong", 0) == 0, rule.id


def test_the_experiments_are_those_that_the_tool_knows() -> None:
    assert {name: (entry["question"], tuple(entry["about"])) for name, entry in TABLE["experiments"].items()} == {
        name: (question.text, question.about) for name, question in QUESTIONS.items()
    }
    known = {rule.id for rule in RULES}
    assert {rule for question in QUESTIONS.values() for rule in question.about} <= known


def test_the_page_is_made_from_the_table() -> None:
    assert (ROOT / "docs/versions.md").read_text(encoding="utf-8") == page(RULES, TABLE)


def test_outcomes_of_answers() -> None:
    assert [answered(text) for text in ("right", "wrong: [1.0]", "refused: no", "compiles; not run")] == [
        "right",
        "wrong",
        "refused",
        "unclear",
    ]
    assert verdict({"wrong": 2, "refused": 1}) == "wrong"
    assert verdict({"wrong": 2, "right": 1}) == "mixed"
    assert verdict({"missing": 1, "refused": 1}) == "refused"
    assert verdict({"unclear": 3}) is None
