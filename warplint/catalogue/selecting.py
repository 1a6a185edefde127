"""Which rules apply: codes, names, prefixes and families, as people write them."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable

from warplint.catalogue.rule import FAMILIES, Rule
from warplint.catalogue.unknown import UnknownSelector
from warplint.records import dataclass


@dataclass(frozen=True, slots=True)
class Layer:
    """What one source (a configuration file, the command line) says: words that select, and words that ignore.

    ``only``: nothing applies that no layer selects, whatever the rules' defaults.
    """

    selected: tuple[str, ...]
    ignored: tuple[str, ...]
    only: bool = False


# How exactly a word speaks of a rule: everything < its family < a prefix of its code (by length) < the rule itself.
_ALL, _FAMILY, _PREFIX, _EXACT = 0, 1, 2, 100


def apply_selectors(rules: Iterable[Rule], layers: Iterable[Layer]) -> frozenset[str]:
    """The ids of the rules that apply.

    Unless a layer says ``only``, the rules that are enabled by themselves, then what each layer adds and removes.
    Where words contradict each other, the more exact one wins, then the later layer, then ``ignore``:
    ``--select WP1 --ignore WP104`` leaves WP104 out, ``--select WP104 --ignore WP1`` keeps it.

    Raises:
        UnknownSelector: a word selects no rule.
    """
    rules = tuple(rules)
    chosen: dict[str, tuple[int, int, bool]] = {}  # rule id -> (exactness, layer, ignored)

    def speak(words: Iterable[str], layer: int, ignored: bool) -> None:
        for word in words:
            for code, exactness in _matches(word, rules).items():
                chosen[code] = max(chosen.get(code, (-1, -1, True)), (exactness, layer, ignored))

    by_default = True
    for number, layer in enumerate(layers):
        by_default = by_default and not layer.only
        speak(layer.selected, number, False)
        speak(layer.ignored, number, True)
    return frozenset(
        rule.id for rule in rules if (not chosen[rule.id][2] if rule.id in chosen else by_default and rule.enabled)
    )


def named(rules: Iterable[Rule], layers: Iterable[Layer]) -> frozenset[str]:
    """The ids of the rules that some layer selects by their own id or name."""
    words = {word.strip() for layer in layers for word in layer.selected}
    upper, lower = {word.upper() for word in words}, {word.lower() for word in words}
    return frozenset(rule.id for rule in rules if rule.id in upper or rule.name in lower)


def problem_with(word: str, rules: tuple[Rule, ...]) -> str | None:
    """Why ``word`` selects nothing, and what may have been meant; None if it selects a rule or is a family."""
    try:
        _matches(word, rules)
    except UnknownSelector as error:
        return str(error)
    return None


def meant(word: str, rules: tuple[Rule, ...]) -> dict[str, int]:
    """The ids of the rules that ``word`` speaks of, each with how exactly; none for a word that selects no rule."""
    try:
        return _matches(word, rules)
    except UnknownSelector:
        return {}


def _matches(word: str, rules: tuple[Rule, ...]) -> dict[str, int]:
    """The ids of the rules that ``word`` speaks of, each with how exactly."""
    name, code = word.strip().lower(), word.strip().upper()
    if code == "ALL":
        return {rule.id: _ALL for rule in rules}
    exact = {rule.id: _EXACT for rule in rules if code == rule.id or name == rule.name}
    if exact:
        return exact
    if name in FAMILIES.values():
        # A family that is all in other hands (no rule of it is loaded) is still a family.
        return {rule.id: _FAMILY for rule in rules if rule.family == name}
    if re.fullmatch(r"[A-Z]+\d{0,2}", code):
        found = {rule.id: _PREFIX + len(code) for rule in rules if rule.id.startswith(code)}
        if found:
            return found
    import difflib

    known = [*(rule.id for rule in rules), *(rule.name for rule in rules), *FAMILIES.values()]
    close = difflib.get_close_matches(code, known) or difflib.get_close_matches(name, known, n=1)
    # Of codes that are equally close, the one that differs in the fewest places.
    nearest = max(close, key=lambda one: sum(map(operator.eq, one, code)), default=None)
    hint = f"did you mean `{nearest}`?" if nearest else "`warplint rules` lists them"
    raise UnknownSelector(f"unknown rule `{word.strip()}`; {hint}")
