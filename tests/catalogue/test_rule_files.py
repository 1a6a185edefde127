"""The form of the rule files that come with warplint."""

from __future__ import annotations

import ast
import re

import pytest

from warplint.catalogue.loading import load_catalogue
from warplint.catalogue.places import built_in_folder
from warplint.catalogue.rule import Rule

CATALOGUE, PROBLEMS = load_catalogue()


def test_every_rule_file_is_well_formed() -> None:
    assert PROBLEMS == ()
    assert len(CATALOGUE.rules) == len(list(built_in_folder().iterdir()))


def test_the_rules_that_people_suppress_by_name_keep_their_names() -> None:
    names = {rule.id: rule.name for rule in CATALOGUE.rules}
    assert {
        "WP101": "in-place-array-math",
        "WP102": "component-reassigned",
        "WP104": "loop-carried-value",
        "WP201": "array-overwritten-on-tape",
        "WP202": "copy-over-read-array",
        "WP203": "fill-of-read-array",
        "WP205": "written-before-backward",
        "WP301": "missing-requires-grad",
        "WP302": "backward-disabled-on-tape",
        "WP307": "host-round-trip-on-tape",
        "WP309": "launch-not-recorded",
        "WP401": "backward-inside-window",
        "WP402": "gradient-not-zeroed",
        "WP403": "stale-gradient-read",
        "WP409": "loss-not-on-tape",
        "WP411": "backward-twice",
        "WP412": "tape-re-entered",
        "WP501": "where-unselected-branch",
    }.items() <= names.items()


@pytest.mark.parametrize("rule", CATALOGUE.rules, ids=lambda rule: rule.id)
class TestForm:
    def test_the_file_is_named_by_the_id(self, rule: Rule) -> None:
        assert rule.path.name == f"{rule.id}.yaml"

    def test_texts_are_sentences(self, rule: Rule) -> None:
        for paragraph in rule.why.split("\n"):
            assert paragraph == "" or paragraph.endswith((".", ":"))
        assert rule.fix.help.endswith((".", "`."))
        assert not rule.message.endswith(".")

    def test_the_message_says_more_than_the_name(self, rule: Rule) -> None:
        assert len(re.sub(r"\{\w+\}", "", rule.message).split()) >= 4

    def test_examples_are_whole_programs(self, rule: Rule) -> None:
        for example in rule.examples:
            tree = ast.parse(example.code)
            imports = [node for node in tree.body if isinstance(node, ast.Import)]
            assert imports[0].names[0].name == "warp" and imports[0].names[0].asname == "wp"
            assert "@wp.kernel" in example.code
            if rule.id[2] in "24":  # what happens between kernels takes host code to show
                assert "wp.Tape()" in example.code

    def test_examples_are_formatted(self, rule: Rule) -> None:
        for example in rule.examples:
            assert max(len(line) for line in example.code.splitlines()) <= 120
            assert "\t" not in example.code
