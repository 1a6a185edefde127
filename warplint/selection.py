"""Which rules apply to which file, and what they make of its facts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from warplint.ir.facts import Fact, Finding, Problem
from warplint.ir.spans import displayed
from warplint.settings.configuration import DEFAULTS, Configuration, Configurations
from warplint.settings.options import Selectors

if TYPE_CHECKING:
    from warplint.catalogue.loading import Catalogue
    from warplint.catalogue.rule import Rule


class RuleSelection:
    """The rules for each file. The catalogue is read when it is first needed, which is never for a clean file."""

    def __init__(
        self, command_line: Selectors, configurations: Configurations, warp_version: Callable[[], str | None]
    ) -> None:
        self._command_line = command_line
        self._configurations = configurations
        self._warp_version = warp_version
        self._by_configuration: dict[Configuration, tuple[frozenset[str], frozenset[str]]] = {}
        self.problems: list[Problem] = []

    def check(self, files: Iterable[Path]) -> None:
        """See to it that every rule named on the command line, and in the configurations of ``files``, exists.

        Raises:
            UnknownSelector: one named on the command line does not. (In a configuration, that is a problem.)
        """
        if self._command_line:
            self._selected(DEFAULTS)
        for folder in {path.parent for path in files}:
            configuration = self._configurations.nearest(folder)
            if configuration.selectors:
                self._selected(configuration)

    def findings(self, facts: Iterable[Fact]) -> list[Finding]:
        """What the rules that apply make of ``facts``, by path, place and rule."""
        by_configuration: dict[Configuration, list[Fact]] = {}
        for fact in facts:
            configuration = self._configurations.nearest(fact.location.path.parent)
            by_configuration.setdefault(configuration, []).append(fact)
        if not by_configuration:
            return []
        from warplint.catalogue.matching import Matcher

        matcher = Matcher(self._catalogue.rules, self._warp_version())
        found: list[Finding] = []
        for configuration, some in by_configuration.items():
            found += matcher.findings(some, *self._selected(configuration))
        return sorted(found, key=lambda finding: (str(finding.location.path), finding.location.span, finding.rule))

    def wanted(self, facts: Iterable[Fact]) -> list[Fact]:
        """Those of ``facts`` that some rule makes a finding of."""
        return [finding.fact for finding in self.findings(facts)]

    def rules_of(self, findings: Iterable[Finding]) -> Mapping[str, Rule]:
        """The rules of ``findings`` by id."""
        wanted = {finding.rule for finding in findings}
        return {rule.id: rule for rule in self._catalogue.rules if rule.id in wanted} if wanted else {}

    @cached_property
    def _catalogue(self) -> Catalogue:
        from warplint.catalogue.loading import load_catalogue

        catalogue, problems = load_catalogue()
        self.problems += problems
        return catalogue

    def _selected(self, configuration: Configuration) -> tuple[frozenset[str], frozenset[str]]:
        """The ids of the rules that apply under ``configuration``, and of those that are selected one by one."""
        known = self._by_configuration.get(configuration)
        if known is None:
            known = self._by_configuration[configuration] = self._select(configuration)
        return known

    def _select(self, configuration: Configuration) -> tuple[frozenset[str], frozenset[str]]:
        from warplint.catalogue.selecting import Layer, apply_selectors, named

        file, line = self._known(configuration), self._command_line
        if line.select is not None:
            # A selection on the command line replaces the one in the file, not what the file ignores.
            file = Selectors(ignore=file.ignore)
        layers = [
            Layer((*(part.select or ()), *part.extend_select), part.ignore, only=part.select is not None)
            for part in (file, line)
        ]
        return apply_selectors(self._catalogue.rules, layers), named(self._catalogue.rules, layers)

    def _known(self, configuration: Configuration) -> Selectors:
        """The selectors of a configuration without the words that select nothing, which are complained about."""
        from warplint.catalogue.selecting import problem_with

        def known(words: tuple[str, ...], key: str) -> tuple[str, ...]:
            good = []
            for word in words:
                message = problem_with(word, self._catalogue.rules)
                if message is None:
                    good.append(word)
                else:
                    self.problems.append(Problem(displayed(configuration.path or Path()), f"`{key}`: {message}"))
            return tuple(good)

        written = configuration.selectors
        return Selectors(
            select=known(written.select, "select") if written.select is not None else None,
            extend_select=known(written.extend_select, "extend-select"),
            ignore=known(written.ignore, "ignore"),
        )
