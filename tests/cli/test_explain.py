"""``warplint explain``: the page of a rule comes from its file."""

from __future__ import annotations

import pytest
from command import Command

from warplint.catalogue.loading import load_catalogue
from warplint.catalogue.rule import Rule

RULES = load_catalogue()[0].rules


def test_by_code_and_by_name(warplint: Command) -> None:
    by_code, by_name = warplint("explain", "wp104"), warplint("explain", "loop-carried-value")
    assert by_code.stdout == by_name.stdout
    assert by_code.stdout.startswith("# WP104 loop-carried-value\n\nerror, confidence high, family lost-value, Warp ")
    assert (by_code.returncode, by_code.stderr) == (0, "")


def test_without_a_rule_all_are_listed(warplint: Command) -> None:
    lines = warplint("explain").stdout.splitlines()
    assert [line.split()[:2] for line in lines] == [[rule.id, rule.name] for rule in RULES]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_page_holds_everything(rule: Rule) -> None:
    from warplint.report.explain import page

    lines = list(page(rule))
    text = " ".join(" ".join(lines).split())
    for part in (rule.why, rule.fix.help, *rule.references):
        assert " ".join(part.split()) in text
    for example in rule.examples:
        assert example.code.strip() in "\n".join(lines)
    assert max(len(line) for line in lines) <= 120


@pytest.mark.parametrize(
    ("word", "words"), [("WP1O4", "did you mean `WP104`?"), ("WP1", "not one rule"), ("lost-value", "not one rule")]
)
def test_what_is_no_rule(warplint: Command, word: str, words: str) -> None:
    done = warplint("explain", word)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
