"""Facts and rules to findings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from warplint.catalogue.matching import Matcher
from warplint.catalogue.rule import Case, Condition, Fix, Probe, Rule, Selection
from warplint.catalogue.versions import VersionRange
from warplint.ir.facts import Fact, Reach
from warplint.ir.spans import Location, Span

RULE = Rule(
    id="WP199",
    name="forgotten-value",
    family="lost-value",
    severity="error",
    confidence="high",
    warp=">=1.16,<1.20",
    select=Selection("value-forgotten", {"operator": Condition(among=("*", "/")), "active": Condition(among=(True,))}),
    message="`{target}` is forgotten",
    why="",
    fix=Fix("", "", "", ""),
    probe=Probe("gradient"),
    references=(),
    examples=(),
    path=Path("WP199.yaml"),
)


def fact(
    line: int = 1,
    path: str = "/a.py",
    kind: str = "value-forgotten",
    reach: Reach = "taped",
    **attributes: object,
) -> Fact:
    place = Location(Path(path), Span(line, 1, line, 5))
    values = {"operator": "*", "active": True, "target": "a[i]", **attributes}
    return Fact(kind, place, values, (), "f", reach)


def findings(*facts: Fact, rule: Rule = RULE, warp: str | None = "1.19.0"):  # type: ignore[no-untyped-def]
    return Matcher([rule], warp).findings(facts, frozenset({rule.id}))


def test_a_fact_that_a_rule_selects_is_a_finding() -> None:
    (found,) = findings(fact(target="x{y}"))
    assert (found.rule, found.name, found.confidence) == ("WP199", "forgotten-value", "high")
    assert found.message == "`x{y}` is forgotten (since Warp 1.16 and before 1.20)"
    assert found.evidence.verdict == "unprobed"
    assert found.check == "gradient"


def test_a_rule_says_what_its_probe_compares() -> None:
    (found,) = findings(fact(), rule=replace(RULE, probe=Probe("horizon")))
    assert found.check == "horizon"


def test_a_rule_without_a_probe_says_why() -> None:
    (found,) = findings(fact(), rule=replace(RULE, probe=Probe("none", "it is a matter of taste")))
    assert (found.evidence.verdict, found.evidence.detail) == ("unprobed", "not probed: it is a matter of taste")


@pytest.mark.parametrize(
    "attributes",
    [{"operator": "+"}, {"active": False}, {"active": 1}, {"active": None}, {"operator": None}],
)
def test_what_does_not_meet_the_conditions_is_none(attributes: dict[str, object]) -> None:
    assert findings(fact(**attributes)) == []


def test_another_kind_of_fact_is_none() -> None:
    assert findings(fact(kind="value-remembered")) == []


def test_a_rule_that_is_not_selected_finds_nothing() -> None:
    assert Matcher([RULE], None).findings([fact()], frozenset({"WP101"})) == []


@pytest.mark.parametrize(
    ("condition", "value", "holds"),
    [
        (Condition(without=("a",)), "b", True),
        (Condition(without=("a",)), "a", False),
        (Condition(without=("a",)), None, False),  # unknown is never a finding
        (Condition(low=2), 2, True),
        (Condition(low=2), 1.5, False),
        (Condition(low=1, high=3), 4, False),
        (Condition(high=3), True, False),
        (Condition(low=0), "5", False),
        (Condition(among=(1,)), True, False),
        (Condition(among=(1,)), 1.0, True),
        (Condition(among=()), "x", False),
    ],
)
def test_conditions(condition: Condition, value: object, holds: bool) -> None:
    assert condition.holds(value) is holds


@pytest.mark.parametrize(
    ("severity", "reach", "expected"),
    [
        ("error", "taped", "error"),
        ("error", "library", "warning"),
        ("error", "untaped", "info"),
        ("warning", "library", "info"),
        ("info", "library", "info"),
    ],
)
def test_reach_weakens_severity(severity: str, reach: Reach, expected: str) -> None:
    rule = replace(RULE, severity=severity)  # type: ignore[arg-type]
    assert [finding.severity for finding in findings(fact(reach=reach), rule=rule)] == [expected]


def test_one_place_is_one_finding_and_the_worst_reach_counts() -> None:
    found = findings(fact(reach="untaped"), fact(reach="taped"), fact(reach="library"))
    assert [finding.severity for finding in found] == ["error"]


def test_findings_are_sorted_by_place() -> None:
    found = findings(fact(10, "/b.py"), fact(2, "/b.py"), fact(7, "/a.py"))
    assert [(str(f.location.path), f.location.span.line) for f in found] == [("/a.py", 7), ("/b.py", 2), ("/b.py", 10)]


def test_a_message_that_quotes_what_facts_do_not_have() -> None:
    matcher = Matcher([RULE], None)
    bare = replace(fact(), attributes={"operator": "*", "active": True})
    assert matcher.findings([bare, bare], frozenset({RULE.id})) == []
    (problem,) = matcher.problems
    assert (problem.path, problem.message) == (
        "WP199.yaml",
        "facts of kind `value-forgotten` have no `target` for the message to quote; they have `{active}`, `{operator}`",
    )


@pytest.mark.parametrize(("reach", "expected"), [("taped", "warning"), ("library", "info"), ("untaped", "info")])
def test_a_severity_of_the_user_is_weakened_as_well(reach: Reach, expected: str) -> None:
    (found,) = Matcher([RULE], None).findings(
        [fact(reach=reach)], frozenset({RULE.id}), severities={RULE.id: "warning"}
    )
    assert found.severity == expected


@pytest.mark.parametrize(
    ("warp", "count"), [("1.15.2", 0), ("1.16.0", 1), ("1.19.0.dev3", 1), ("1.20.0", 0), (None, 1)]
)
def test_versions_of_warp(warp: str | None, count: int) -> None:
    assert len(findings(fact(), warp=warp)) == count


@pytest.mark.parametrize(
    ("text", "version", "inside"),
    [
        (">=1.18", "1.18", True),
        (">=1.18", "1.18.0", True),
        ("<1.18", "1.18.0", False),
        ("<1.18", "1.9.5", True),
        ("==1.18", "1.18.0", True),
        ("!=1.18.1", "1.18.1", False),
        (">1.18,<=1.20", "1.18.1", True),
        (">=1.0", "unknown", True),
    ],
)
def test_version_ranges(text: str, version: str, inside: bool) -> None:
    assert (version in VersionRange.parse(text)) is inside


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (">=1.0", ""),
        (">=1.16", "since Warp 1.16"),
        (">=1.0,<1.17", "before Warp 1.17"),
        (">=1.8,<=1.17.1", "since Warp 1.8 and up to 1.17.1"),
        (">=2.0", "since Warp 2.0"),
    ],
)
def test_since_and_until_when_in_words(text: str, words: str) -> None:
    assert VersionRange.parse(text).words() == words


class TestCases:
    """A case of a rule weighs differently."""

    RULE = replace(
        RULE,
        cases=(
            Case({"depth": Condition(among=(1,))}, severity="warning", confidence="medium"),
            Case({"depth": Condition(low=2)}, enabled=False),
        ),
    )

    def test_the_first_that_holds_says_how_much(self) -> None:
        (found,) = findings(fact(depth=1), rule=self.RULE)
        assert (found.severity, found.confidence) == ("warning", "medium")

    def test_a_case_may_be_for_some_versions(self) -> None:
        rule = replace(RULE, cases=(Case({}, severity="warning", warp="<1.17"),))
        for warp, severity in (("1.16.0", "warning"), ("1.17.0", "error"), (None, "error"), ("unknown", "error")):
            matcher = Matcher([replace(rule, warp=">=1.0")], warp)
            (found,) = matcher.findings([fact()], frozenset({rule.id}))
            assert found.severity == severity, warp

    def test_what_is_no_case_weighs_as_the_rule_says(self) -> None:
        (found,) = findings(fact(depth=0), rule=self.RULE)
        assert (found.severity, found.confidence) == ("error", "high")

    def test_one_that_is_off_is_no_finding_unless_the_rule_was_named(self) -> None:
        assert findings(fact(depth=3), rule=self.RULE) == []
        selected = frozenset({"WP199"})
        (found,) = Matcher([self.RULE], "1.19.0").findings([fact(depth=3)], selected, selected)
        assert (found.severity, found.confidence) == ("error", "high")
