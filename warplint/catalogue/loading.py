"""From folders of rule files to a catalogue."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path

from warplint.catalogue.places import built_in_folder
from warplint.catalogue.reading import line_of, read_yaml
from warplint.catalogue.rule import Rule
from warplint.catalogue.validating import build_rule
from warplint.ir.facts import Problem
from warplint.ir.kinds import KINDS
from warplint.ir.spans import displayed
from warplint.records import dataclass
from warplint.stamps import Stamp, stamp_of


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The rules, in the order of their ids."""

    rules: tuple[Rule, ...]

    def find(self, word: str) -> Rule | None:
        """The rule with this id or name."""
        for rule in self.rules:
            if word.upper() == rule.id or word.lower() == rule.name:
                return rule
        return None


def _read(path: Path, kinds: Mapping[str, frozenset[str]] = KINDS) -> Rule | tuple[Problem, ...]:
    document = read_yaml(path)
    if isinstance(document, Problem):
        return (document,)
    rule = build_rule(document, path, kinds)
    if isinstance(rule, Rule):
        return rule
    return tuple(Problem(displayed(path), mistake.message, line_of(path, mistake.keys)) for mistake in rule)


@lru_cache(maxsize=500)
def _read_again(path: Path, _stamp: Stamp | None) -> Rule | tuple[Problem, ...]:
    """A server reads rules for each configuration anew, and few have changed."""
    return _read(path)


def load_catalogue(
    folders: Iterable[Path] | None = None, kinds: Mapping[str, frozenset[str]] = KINDS
) -> tuple[Catalogue, tuple[Problem, ...]]:
    """Read every ``*.yaml`` in ``folders`` (the built-in rules by default).

    A rule file with a mistake gives problems, and the catalogue goes without that rule. ``kinds`` are the kinds of
    facts that rules may select, and their attributes.
    """
    problems: list[Problem] = []
    rules: dict[str, Rule] = {}
    names: dict[str, Rule] = {}
    for folder in (built_in_folder(),) if folders is None else folders:
        paths = sorted(folder.glob("*.yaml"))
        if not paths:
            how = "install warplint again" if folders is None else "begin one with `warplint new-rule`"
            problems.append(Problem(displayed(folder), f"no rule files here; check the path, or {how}"))
        for path in paths:
            rule = _read_again(path, stamp_of(path)) if kinds is KINDS else _read(path, kinds)
            if not isinstance(rule, Rule):
                problems += rule
                continue
            twin = rules.get(rule.id) or names.get(rule.name)
            if twin is not None:
                key, value = ("id", rule.id) if twin.id == rule.id else ("name", rule.name)
                message = f"the {key} `{value}` is taken by {displayed(twin.path)}; choose another"
                problems.append(Problem(displayed(path), message, line_of(path, (key,))))
                continue
            rules[rule.id] = names[rule.name] = rule
    return Catalogue(tuple(rules[code] for code in sorted(rules))), tuple(problems)
