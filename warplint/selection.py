"""Which rules apply to which file, how severe they are there, and what they make of its facts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from warplint.ir.facts import Fact, Finding, Problem, Severity
from warplint.ir.spans import displayed
from warplint.records import dataclass
from warplint.settings.configuration import DEFAULTS, Configuration, Configurations, line_naming
from warplint.settings.options import Selectors
from warplint.settings.warp import WarpVersion, WarpVersions, series
from warplint.stamps import state_of

if TYPE_CHECKING:
    from warplint.catalogue.loading import Catalogue
    from warplint.catalogue.matching import Matcher
    from warplint.catalogue.rule import Rule

_RULE_KEYS = ("select", "extend-select", "ignore", "per-file-ignores", "severity", "extend-rules")


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """By path, place and rule."""
    return sorted(findings, key=lambda finding: (str(finding.location.path), finding.location.span, finding.rule))


@dataclass(frozen=True, slots=True)
class Applied:
    """What a configuration and the command line make of the rules: which apply, which of them were selected by their
    own id or name, and severities that differ."""

    rules: tuple[Rule, ...]
    selected: frozenset[str]
    named: frozenset[str]
    severities: Mapping[str, Severity]


class RuleSelection:
    """The rules for each file. A catalogue is read when it is first needed, which is never for a clean file."""

    def __init__(self, command_line: Selectors, configurations: Configurations, versions: WarpVersions) -> None:
        self._command_line = command_line
        self._configurations = configurations
        self._versions = versions
        self._by_configuration: dict[Configuration, Applied] = {}
        self._catalogues: dict[tuple[Path, ...], Catalogue] = {}
        self._matchers: dict[tuple[tuple[Path, ...], str], Matcher] = {}
        self._file_ignores: dict[tuple[Configuration, tuple[str, ...]], frozenset[str]] = {}
        self._problems: list[Problem] = []

    @property
    def problems(self) -> list[Problem]:
        """What is wrong with the rule files that were read, and with what configurations say about rules."""
        found = list(self._problems)
        for matcher in self._matchers.values():
            found += matcher.problems
        return found

    def check(self, files: Iterable[Path]) -> None:
        """See to it that every rule named on the command line, and in the configurations of ``files``, exists.

        Raises:
            UnknownSelector: one named on the command line does not. (In a configuration, that is a problem.)
        """
        folders = {path.parent for path in files}
        configurations = dict.fromkeys(self._configurations.nearest(folder) for folder in folders)
        if self._command_line:
            self._check_command_line(list(configurations) or [DEFAULTS])
        for configuration in configurations:
            if any(configuration.given(key) for key in _RULE_KEYS):
                self.applied(configuration)

    def findings(self, facts: Iterable[Fact]) -> list[Finding]:
        """What the rules that apply make of ``facts``, by path, place and rule."""
        together: dict[tuple[Configuration, str], list[Fact]] = {}
        for fact in facts:
            configuration = self._configurations.nearest(fact.location.path.parent)
            version = self.warp_version(fact.location.path).version
            together.setdefault((configuration, version), []).append(fact)
        found: list[Finding] = []
        for (configuration, version), some in together.items():
            applied, matcher = self.applied(configuration), self._matcher(configuration, version)
            matched = matcher.findings(some, applied.selected, applied.named, applied.severities)
            found += [finding for finding in matched if finding.rule not in self.ignored_in(finding.location.path)]
        return in_order(found)

    def asked(self, folders: Iterable[Path]) -> list[object]:
        """Whatever decides which facts of files in ``folders`` are wanted, to be compared with another run's."""
        from warplint.catalogue.places import built_in_folder

        found: list[object] = [self._command_line]
        configurations: dict[Configuration, int] = {}
        for folder in folders:
            configuration = self._configurations.nearest(folder)
            version = self._versions.of(configuration, folder).version
            found.append((str(folder), version, configurations.setdefault(configuration, len(configurations))))
        for configuration in configurations:
            found += [(str(table.path), sorted(table.values.items())) for table in configuration.tables]
            for place in (built_in_folder(), *configuration.folders("extend-rules")):
                found.append(state_of(place, (".yaml",)))
        return found

    def of_reach(self, findings: Iterable[Finding], asked: tuple[str, ...] | None) -> list[Finding]:
        """Those of ``findings`` whose reach is asked for, by the command line or the configuration of their file.

        What is wrong with comments has no reach and stays.
        """
        kept = []
        for finding in findings:
            wanted = asked or self._configurations.nearest(finding.location.path.parent).reach
            if wanted is None or finding.fact.reach in wanted or finding.fact.kind.endswith("-suppression"):
                kept.append(finding)
        return kept

    def warp_version(self, path: Path) -> WarpVersion:
        """The version of Warp that a file is for, and what says so."""
        return self._versions.of(self._configurations.nearest(path.parent), path.parent)

    def warp_series(self, path: Path) -> tuple[int, int]:
        """The first two numbers of that version."""
        return series(self.warp_version(path).version)

    def wanted(self, facts: Iterable[Fact]) -> list[Fact]:
        """Those of ``facts`` that some rule makes a finding of."""
        return [finding.fact for finding in self.findings(facts)]

    def kinds(self, folders: Iterable[Path]) -> frozenset[str] | None:
        """The kinds of facts that wanted facts of files in ``folders`` have; None where rules are not chosen, and may
        select any kind: that takes no catalogue."""
        configurations = {self._configurations.nearest(folder) for folder in folders}
        if self._command_line.select is None and not any(one.given("select") for one in configurations):
            return None
        applied = [self.applied(configuration) for configuration in configurations]
        return frozenset(rule.select.fact for one in applied for rule in one.rules if rule.id in one.selected)

    def rules_of(self, findings: Iterable[Finding]) -> Mapping[str, Rule]:
        """The rules of ``findings`` by id."""
        found: dict[str, Rule] = {}
        for finding in findings:
            if finding.rule not in found:
                configuration = self._configurations.nearest(finding.location.path.parent)
                found |= {rule.id: rule for rule in self.applied(configuration).rules if rule.id == finding.rule}
        return found

    def looked_for(self, path: Path) -> tuple[tuple[Rule, ...], frozenset[str]]:
        """All rules that are known for a file, and the ids of those that apply to it."""
        applied = self.applied(self._configurations.nearest(path.parent))
        return applied.rules, applied.selected - self.ignored_in(path)

    def known(self, configuration: Configuration) -> tuple[Rule, ...]:
        """All rules that are known under a configuration."""
        return self._catalogue(configuration).rules

    def applied(self, configuration: Configuration) -> Applied:
        """What applies under a configuration, leaving ``per-file-ignores`` aside."""
        known = self._by_configuration.get(configuration)
        if known is None:
            known = self._by_configuration[configuration] = self._apply(configuration)
        return known

    def ignored_in(self, path: Path) -> frozenset[str]:
        """The ids of the rules that ``per-file-ignores`` takes away from a file."""
        configuration = self._configurations.nearest(path.parent)
        words = configuration.ignored_in(path)
        if not words:
            return frozenset()
        key = (configuration, words)
        if key not in self._file_ignores:
            from warplint.catalogue.selecting import meant

            rules = self.applied(configuration).rules
            ids = {code for word in words for code in meant(word, rules)}
            self._file_ignores[key] = frozenset(ids)
        return self._file_ignores[key]

    def _check_command_line(self, configurations: list[Configuration]) -> None:
        """A rule of the user's own is known where ``extend-rules`` of some file leads to it."""
        from warplint.catalogue.selecting import problem_with
        from warplint.catalogue.unknown import UnknownSelector

        line = self._command_line
        for word in (*(line.select or ()), *line.extend_select, *line.ignore):
            problems = [problem_with(word, self._catalogue(some).rules) for some in configurations]
            if None not in problems:
                raise UnknownSelector(problems[0])

    def _catalogue(self, configuration: Configuration) -> Catalogue:
        folders = configuration.folders("extend-rules")
        if folders not in self._catalogues:
            from warplint.catalogue.loading import load_catalogue
            from warplint.catalogue.places import built_in_folder

            self._catalogues[folders], problems = load_catalogue((built_in_folder(), *folders))
            self._problems += problems
        return self._catalogues[folders]

    def _matcher(self, configuration: Configuration, version: str) -> Matcher:
        key = (configuration.folders("extend-rules"), version)
        if key not in self._matchers:
            from warplint.catalogue.matching import Matcher

            self._matchers[key] = Matcher(self._catalogue(configuration).rules, version)
        return self._matchers[key]

    def _apply(self, configuration: Configuration) -> Applied:
        from warplint.catalogue.selecting import Layer, apply_selectors, meant, named, problem_with

        rules = self._catalogue(configuration).rules
        self._complain_about_words(configuration, rules)
        line = self._command_line
        layers = list(configuration.selectors)
        if line.select is not None:
            # A selection on the command line replaces the one in the file, not what the file ignores.
            layers = [Selectors(ignore=layer.ignore) for layer in layers]

        def known(words: Iterable[str]) -> tuple[str, ...]:
            return tuple(word for word in words if problem_with(word, rules) is None)

        asked = [
            Layer(known((*(part.select or ()), *part.extend_select)), known(part.ignore), only=part.select is not None)
            for part in (*layers, line)
        ]
        severities: dict[str, tuple[int, int, str]] = {}  # rule id -> (exactness, number of the table, severity)
        for number, table in enumerate(configuration.severities):
            for word, severity in table.items():
                for code, exactness in meant(word, rules).items():
                    severities[code] = max(severities.get(code, (-1, -1, "")), (exactness, number, severity))
        chosen = {code: cast(Severity, found[2]) for code, found in severities.items()}
        return Applied(rules, apply_selectors(rules, asked), named(rules, asked), chosen)

    def _complain_about_words(self, configuration: Configuration, rules: tuple[Rule, ...]) -> None:
        from warplint.catalogue.selecting import problem_with

        for table in configuration.tables:
            for key in ("select", "extend-select", "ignore", "severity", "per-file-ignores"):
                value: Any = table.values.get(key, ())
                lists = value.values() if key == "per-file-ignores" and isinstance(value, Mapping) else [value]
                for word in (str(word) for words in lists for word in words):
                    message = problem_with(word, rules)
                    if message is not None:
                        line = line_naming(table.path, word)
                        self._problems.append(Problem(displayed(table.path), f"`{key}`: {message}", line))
