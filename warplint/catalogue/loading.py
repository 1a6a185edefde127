"""From folders of rule files to a catalogue."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from warplint.catalogue.places import built_in_folder
from warplint.catalogue.reading import line_of, read_yaml
from warplint.catalogue.rule import Rule
from warplint.catalogue.validating import build_rule
from warplint.ir.facts import Problem
from warplint.ir.kinds import KINDS
from warplint.ir.spans import displayed
from warplint.records import dataclass


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
            problems.append(Problem(displayed(folder), "no rule files here; check the path or install warplint again"))
        for path in paths:
            document = read_yaml(path)
            if isinstance(document, Problem):
                problems.append(document)
                continue
            rule = build_rule(document, path, kinds)
            if not isinstance(rule, Rule):
                problems += [Problem(displayed(path), m.message, line_of(path, m.keys)) for m in rule]
                continue
            twin = rules.get(rule.id) or names.get(rule.name)
            if twin is not None:
                key, value = ("id", rule.id) if twin.id == rule.id else ("name", rule.name)
                message = f"the {key} `{value}` is taken by {displayed(twin.path)}; choose another"
                problems.append(Problem(displayed(path), message, line_of(path, (key,))))
                continue
            rules[rule.id] = names[rule.name] = rule
    return Catalogue(tuple(rules[code] for code in sorted(rules))), tuple(problems)
