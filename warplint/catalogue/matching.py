"""Facts to findings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from warplint.catalogue.reading import line_of
from warplint.catalogue.rule import Case, Rule
from warplint.catalogue.versions import VersionRange
from warplint.ir.facts import Evidence, Fact, Finding, Problem, Reach, Severity
from warplint.ir.spans import displayed

_WEAKER: dict[Severity, Severity] = {"error": "warning", "warning": "info", "info": "info"}
_STRENGTH: dict[Severity, int] = {"error": 2, "warning": 1, "info": 0}


class Matcher:
    """Rules by the kind of fact that they select. ``warp_version`` None stands for the newest."""

    def __init__(self, rules: Iterable[Rule], warp_version: str | None) -> None:
        self._rules: dict[str, list[Rule]] = {}
        self._warp_version = warp_version
        #: Mistakes in rule files that only show beside a fact.
        self.problems: list[Problem] = []
        for rule in rules:
            if warp_version is None or warp_version in VersionRange.parse(rule.warp):
                self._rules.setdefault(rule.select.fact, []).append(rule)

    def findings(
        self,
        facts: Iterable[Fact],
        selected: frozenset[str],
        named: frozenset[str] = frozenset(),
        severities: Mapping[str, Severity] = MappingProxyType({}),
    ) -> list[Finding]:
        """What the rules whose ids are ``selected`` make of ``facts``: one finding for a rule and a place, sorted.

        ``named`` are the rules that were selected by their own id or name: their cases that are off by default count.
        ``severities`` stand for those that the rules have, by their ids. A rule whose message quotes what a fact does
        not have makes nothing of it, and is complained about in ``problems``.
        """
        found: dict[tuple[str | int, ...], Finding] = {}
        for fact in facts:
            for rule in self._rules.get(fact.kind, ()):
                if rule.id not in selected or not rule.select.holds(fact.attributes):
                    continue
                case = next((case for case in rule.cases if case.holds(fact.attributes, self._warp_version)), None)
                if case is not None and not case.enabled and rule.id not in named:
                    continue
                finding = self._finding(rule, case, fact, severities.get(rule.id))
                if finding is None:
                    continue
                key = (str(fact.location.path), *fact.location.span, rule.id)
                known = found.get(key)
                # The same place may be reached more than once, by a tape and by none: the worst counts.
                if known is None or _STRENGTH[finding.severity] > _STRENGTH[known.severity]:
                    found[key] = finding
        return [found[key] for key in sorted(found)]

    def _finding(self, rule: Rule, case: Case | None, fact: Fact, asked: Severity | None) -> Finding | None:
        try:
            message = rule.message.format_map(fact.attributes)
        except KeyError as error:
            known = ", ".join(f"`{{{name}}}`" for name in sorted(fact.attributes)) or "nothing"
            what = f"facts of kind `{fact.kind}` have no `{error.args[0]}` for the message to quote; they have {known}"
            problem = Problem(
                displayed(rule.path), what, line_of(rule.path, ("message",)) if rule.path.is_file() else None
            )
            if problem not in self.problems:
                self.problems.append(problem)
            return None
        when = VersionRange.parse(rule.warp).words()
        if when:
            message = f"{message} ({when})"
        severity, confidence = rule.severity, rule.confidence
        if case is not None:
            severity, confidence = case.severity or severity, case.confidence or confidence
        finding = Finding(
            rule.id,
            rule.name,
            message,
            _severity(asked or severity, fact.reach),
            confidence,
            fact,
            only_confirmed=rule.only_confirmed,
        )
        if rule.probe.kind == "none":
            return replace(finding, evidence=Evidence("unprobed", f"not probed: {rule.probe.reason}"))
        return replace(finding, check=rule.probe.kind)


def _severity(severity: Severity, reach: Reach) -> Severity:
    """A wrong adjoint hurts nobody until a tape runs it: a step weaker where one may, info where none does."""
    if reach == "taped":
        return severity
    return _WEAKER[severity] if reach == "library" else "info"
