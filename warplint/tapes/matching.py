"""``match`` statements: which case a subject takes.

Of a case, the IR keeps the names that its pattern binds; the pattern itself is read from the text when it is first
asked about.
"""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warplint.ir import syntax as ir
from warplint.ir.spans import Location
from warplint.tapes import builtins, expressions, members, operators, sequences
from warplint.tapes.code import Step
from warplint.tapes.frames import Frame, Signal
from warplint.tapes.values import (
    ClassValue,
    DictValue,
    ExternalValue,
    Instance,
    ListValue,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from warplint.tapes.machine import Machine
    from warplint.tapes.statements import Block

# What `_fit` and its helpers give: the names that a pattern binds, with their values, where it fits; None where it does
# not; an unknown value where that cannot be known.


def make(node: ir.Match, path: Path, block: type[Block]) -> Step:
    """Code that runs the first case that fits; where that is not known, the question is asked."""
    subject = expressions.make(node.subject, path)
    cases = [
        (
            case.names,
            Location(path, case.span),
            None if case.guard is None else (expressions.make(case.guard, path), Location(path, case.guard.span)),
            block(case.body, path),
        )
        for case in node.cases
    ]
    patterns: list[list[Any]] = []  # what was read, once it was

    def run(machine: Machine, frame: Frame) -> Signal:
        value = subject(machine, frame)
        if not patterns:
            patterns.append(_read(node, frame))
        for number, (names, site, guard, body) in enumerate(cases, 1):
            pattern = patterns[0][number - 1] if patterns[0] else None
            fit = Unknown("case") if pattern is None else _fit(machine, pattern, value, frame, site)
            if fit is None:
                continue
            if isinstance(fit, Unknown):
                if number < len(cases) and not machine.questions.truth(fit, site, True):
                    continue
                fit = {name: Unknown(name) for name in names}
            for name, part in fit.items():
                machine.bind(name, part, frame)
            if guard is not None and not expressions.truth(machine, guard[0](machine, frame), guard[1]):
                continue
            return body.run(machine, frame)
        return None

    return run


def _read(node: ir.Match, frame: Frame) -> list[Any]:
    """The patterns of the cases, none where the text cannot be read alone."""
    span = node.span
    lines = list(frame.module.lines[span.line - 1 : span.end_line])
    lines[0] = " " * (span.column - 1) + lines[0][span.column - 1 :]
    try:
        (tree,) = ast.parse(textwrap.dedent("\n".join(lines))).body
    except (SyntaxError, ValueError):
        return []
    found = [case.pattern for case in tree.cases] if isinstance(tree, ast.Match) else []
    return found if len(found) == len(node.cases) else []


def _fit(machine: Machine, pattern: Any, value: Value, frame: Frame, site: Location) -> Any:
    if isinstance(pattern, ast.MatchAs):
        inner: Any = {} if pattern.pattern is None else _fit(machine, pattern.pattern, value, frame, site)
        return {**inner, pattern.name: value} if isinstance(inner, dict) and pattern.name is not None else inner
    if isinstance(pattern, ast.MatchOr):
        unsure = False
        for choice in pattern.patterns:
            fit = _fit(machine, choice, value, frame, site)
            if isinstance(fit, dict):
                return fit
            unsure = unsure or fit is not None
        return Unknown("case") if unsure else None
    if isinstance(pattern, (ast.MatchValue, ast.MatchSingleton)):
        known = _constant(machine, pattern.value, frame, site)
        same = Unknown("case") if known is _NOTHING else operators.compare(machine, "==", value, known)
        truth = operators.known_truth(same)
        return {} if truth else None if truth is False else same if isinstance(same, Unknown) else Unknown("case")
    if isinstance(value, Unknown):
        return Unknown("case")
    if isinstance(pattern, ast.MatchClass):
        return _fit_class(machine, pattern, value, frame, site)
    if isinstance(pattern, ast.MatchSequence):
        known = sequences.elements(machine, value) if isinstance(value, (ListValue, tuple)) else None
        if known is None:
            return Unknown("case") if isinstance(value, (ListValue, Instance)) else None
        return _fit_items(machine, pattern.patterns, known, frame, site)
    if isinstance(pattern, ast.MatchMapping) and isinstance(value, DictValue) and pattern.rest is None:
        found: dict[str, Value] = {}
        for key, inner in zip(pattern.keys, pattern.patterns, strict=True):
            name = _constant(machine, key, frame, site)
            if name is _NOTHING or (value.open and name not in value.entries):
                return Unknown("case")
            if name not in value.entries:
                return None
            fit = _fit(machine, inner, value.entries[name], frame, site)
            if not isinstance(fit, dict):
                return fit
            found.update(fit)
        return found
    return Unknown("case")


def _fit_class(machine: Machine, pattern: Any, value: Value, frame: Frame, site: Location) -> Any:
    from warplint.tapes.classes import fields_of

    kind = _constant(machine, pattern.cls, frame, site)
    if not isinstance(kind, (ClassValue, ExternalValue)):
        return Unknown("case")
    answer = builtins.is_instance(value, kind)
    if answer is not True:
        return None if answer is False else Unknown("case")
    if not isinstance(value, Instance):
        return {} if not pattern.patterns and not pattern.kwd_patterns else Unknown("case")
    names = fields_of(value.cls)[: len(pattern.patterns)]
    if len(names) < len(pattern.patterns):
        return Unknown("case")
    found: dict[str, Value] = {}
    for name, inner in zip((*names, *pattern.kwd_attrs), (*pattern.patterns, *pattern.kwd_patterns), strict=True):
        fit = _fit(machine, inner, members.get_attribute(machine, value, name, site), frame, site)
        if not isinstance(fit, dict):
            return fit
        found.update(fit)
    return found


def _fit_items(machine: Machine, patterns: list[Any], items: list[Value], frame: Frame, site: Location) -> Any:
    star = next((place for place, inner in enumerate(patterns) if isinstance(inner, ast.MatchStar)), None)
    found: dict[str, Value] = {}
    if star is None and len(items) != len(patterns):
        return None
    if star is not None:
        behind = len(patterns) - star - 1
        if len(items) < star + behind:
            return None
        name = patterns[star].name
        if name is not None:
            found[name] = ListValue(items[star : len(items) - behind])
        items = [*items[:star], *items[len(items) - behind :]]
        patterns = [*patterns[:star], *patterns[star + 1 :]]
    for inner, item in zip(patterns, items, strict=True):
        fit = _fit(machine, inner, item, frame, site)
        if not isinstance(fit, dict):
            return fit
        found.update(fit)
    return found


class _Nothing:
    pass


_NOTHING: Any = _Nothing()


def _constant(machine: Machine, node: Any, frame: Frame, site: Location) -> Any:
    """The value of a constant or a dotted name in a pattern."""
    if isinstance(node, ast.Constant):
        return node.value
    if not isinstance(node, ast.expr):
        return node  # True, False and None stand for themselves
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        value = node.operand.value
        return -value if isinstance(value, (int, float)) else _NOTHING
    if isinstance(node, ast.Name):
        return machine.lookup(node.id, frame)
    if isinstance(node, ast.Attribute):
        owner = _constant(machine, node.value, frame, site)
        return _NOTHING if owner is _NOTHING else members.get_attribute(machine, owner, node.attr, site)
    return _NOTHING
