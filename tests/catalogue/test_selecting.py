"""Which rules the words of a selection mean."""

from __future__ import annotations

from dataclasses import replace

import pytest

from warplint.catalogue.loading import load_catalogue
from warplint.catalogue.selecting import Layer, UnknownSelector, apply_selectors, named

RULES = load_catalogue()[0].rules
ALL = {"WP101", "WP102", "WP104", "WP301", "WP401", "WP501"}
RULES = tuple(rule for rule in RULES if rule.id in ALL)


def chosen(*layers: Layer) -> set[str]:
    return set(apply_selectors(RULES, layers))


def only(*words: str, ignored: tuple[str, ...] = ()) -> Layer:
    return Layer(words, ignored, only=True)


def test_without_words_the_rules_decide() -> None:
    assert chosen() == ALL
    off = tuple(replace(rule, enabled=rule.id != "WP101") for rule in RULES)
    assert apply_selectors(off, []) == ALL - {"WP101"}
    assert apply_selectors(off, [Layer(("WP101",), ())]) == ALL


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("WP104", {"WP104"}),
        ("wp104", {"WP104"}),
        ("loop-carried-value", {"WP104"}),
        ("WP1", {"WP101", "WP102", "WP104"}),
        ("WP10", {"WP101", "WP102", "WP104"}),
        ("WP", ALL),
        ("ALL", ALL),
        ("lost-value", {"WP101", "WP102", "WP104"}),
        ("non-finite-adjoint", {"WP501"}),
    ],
)
def test_a_word(word: str, expected: set[str]) -> None:
    assert chosen(only(word)) == expected
    assert chosen(Layer((), (word,))) == ALL - expected


@pytest.mark.parametrize("word", ["WP105x", "WP9", "WP999", "loop-carried", "", "104", "W.1", "WP1*"])
def test_an_unknown_word(word: str) -> None:
    with pytest.raises(UnknownSelector, match="unknown rule `"):
        chosen(only(word))


@pytest.mark.parametrize(
    ("word", "meant"),
    [("WP1O4", "WP104"), ("loop-carried-values", "loop-carried-value"), ("lost-values", "lost-value")],
)
def test_an_unknown_word_is_answered_with_a_known_one(word: str, meant: str) -> None:
    with pytest.raises(UnknownSelector, match=f"did you mean `{meant}`"):
        chosen(only(word))


class TestContradictions:
    def test_the_more_exact_word_wins_either_way(self) -> None:
        assert chosen(only("WP1", ignored=("WP104",))) == {"WP101", "WP102"}
        assert chosen(only("WP104", ignored=("WP1",))) == {"WP104"}
        assert chosen(only("ALL", ignored=("lost-value",))) == {"WP301", "WP401", "WP501"}

    def test_among_equals_ignore_wins(self) -> None:
        assert chosen(only("WP104", ignored=("WP104",))) == set()

    def test_a_later_layer_wins_among_equals(self) -> None:
        assert "WP104" in chosen(Layer((), ("WP104",)), Layer(("WP104",), ()))
        assert "WP104" not in chosen(Layer(("WP104",), ()), Layer((), ("WP104",)))

    def test_a_vaguer_word_of_a_later_layer_does_not(self) -> None:
        assert "WP104" not in chosen(Layer((), ("WP104",)), only("WP1"))


def test_rules_that_are_named_are_told_from_those_that_a_prefix_selects() -> None:
    rules = load_catalogue()[0].rules
    one, other = (rule for rule in rules if rule.id in ("WP501", "WP502"))
    assert named(rules, [Layer(("WP5",), ())]) == frozenset()
    assert named(rules, [Layer(("wp502", "WP1"), ()), Layer((one.name,), ())]) == {one.id, other.id}
