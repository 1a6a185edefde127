"""What is shown where the cursor is, as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable

from warplint import kernels
from warplint.catalogue.rule import Rule
from warplint.catalogue.selecting import meant
from warplint.ir.effects import EffectSummary
from warplint.ir.facts import Finding
from warplint.report.model import evidence_line
from warplint.report.texts import first_sentence
from warplint.server.checking import Checked
from warplint.source.comments import HINT_ANY, read_comments
from warplint.source.project import Definition

_WORD = re.compile(r"[^\W\d]\w*")


def of_finding(finding: Finding, rule: Rule | None) -> str:
    """The rule in short, the evidence and the fix."""
    parts = [f"**{finding.rule}** {finding.name}", finding.message, f"*{evidence_line(finding)}*"]
    if rule is not None:
        parts += [first_sentence(rule.why), f"**What to do:** {' '.join(rule.fix.help.split())}"]
    return "\n\n".join(parts)


def of_comment(checked: Checked, rules: Iterable[Rule], line: int, column: int) -> str | None:
    """What the suppression comment at a place is about."""
    if not HINT_ANY.search(checked.text):
        return None
    rules = tuple(rules)
    for directive in read_comments(checked.text).directives:
        span = directive.span
        if span.line != line or not span.column <= column <= span.end_column:
            continue
        ids = {code for word in directive.rules or () for code in meant(word, rules)}
        known = [rule for rule in rules if rule.id in ids]
        if not known:
            return None
        told = [f"**{rule.id}** {rule.name}: {first_sentence(rule.why)}" for rule in known[:8]]
        reason = f"Suppressed because: {directive.reason}" if directive.reason else "Suppressed without a reason"
        return "\n\n".join([reason, *told])
    return None


def of_name(checked: Checked, line: int, column: int, proved: str | None) -> str | None:
    """What the kernel or func does whose name stands at a place; ``proved`` is what is known of its adjoint."""
    found = definition_at(checked, line, column)
    if found is None or checked.project is None:
        return None
    summary = kernels.effects(checked.project, found)
    return _effects(found.qualname, summary, proved) if summary is not None else None


def definition_at(checked: Checked, line: int, column: int) -> Definition | None:
    """The definition of the module that the name at a place stands for."""
    module, lines = checked.module, checked.text.split("\n")
    if module is None or checked.project is None or line > len(lines):
        return None
    for match in _WORD.finditer(lines[line - 1]):
        if match.start() < column <= match.end() + 1:
            found = checked.project.member(module, match[0])
            return found if isinstance(found, Definition) else None
    return None


def _effects(name: str, summary: EffectSummary, proved: str | None) -> str:
    def named(paths: Iterable[tuple[str, ...]]) -> str:
        texts = sorted({"`" + ".".join(path) + "`" for path in paths})
        return ", ".join(texts) if texts else "nothing"

    effects = summary.effects
    rows = [
        ("reads", named(effect.path for effect in effects if effect.reads)),
        ("writes", named(effect.path for effect in effects if effect.writes)),
        ("accumulates", named(effect.path for effect in effects if effect.accumulates)),
        ("active", named(source for source, _ in summary.flows)),
        ("needed by its adjoint", named(wanted for _, wanted in summary.needs)),
    ]
    lines = [f"**{name}**", "", "| | |", "|---|---|", *(f"| {what} | {names} |" for what, names in rows)]
    if summary.backward is False:
        lines += ["", "Compiled without an adjoint."]
    elif proved is not None:
        lines += ["", f"Adjoint: {proved}"]
    if not summary.complete:
        lines += ["", "Some of its body could not be followed; there may be more."]
    return "\n".join(lines)
