"""Plain values to rules: every mistake in a rule file as a sentence that names the key."""

from __future__ import annotations

import difflib
import re
import string
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import cast

from warplint.catalogue.rule import (
    CONFIDENCES,
    FAMILIES,
    FIX_KINDS,
    FIX_SAFETIES,
    PROBES,
    SEVERITIES,
    SYMPTOMS,
    Case,
    Condition,
    Example,
    Fix,
    Probe,
    ProbeKind,
    Rule,
    Scalar,
    Selection,
)
from warplint.catalogue.versions import VersionRange
from warplint.ir.facts import Confidence, Severity
from warplint.ir.kinds import KINDS
from warplint.records import dataclass

ID = re.compile(r"[A-Z]{2,12}[0-9]{3}")
KEBAB = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
ATTRIBUTE = re.compile(r"[a-z][a-z0-9_]*")

REQUIRED = (
    "id",
    "name",
    "family",
    "severity",
    "confidence",
    "warp",
    "select",
    "message",
    "why",
    "fix",
    "probe",
    "references",
    "examples",
)
OPTIONAL = ("enabled", "cases", "symptoms", "only-confirmed")
# What a case may say otherwise than its rule.
_DIFFERENT = ("severity", "confidence", "enabled")


@dataclass(frozen=True, slots=True)
class Mistake:
    """Something wrong in a rule file: the keys that lead to it, and a sentence."""

    keys: tuple[str, ...]
    message: str


class _Checker:
    """Reads values out of nested mappings and collects what is wrong with them."""

    def __init__(self) -> None:
        self.mistakes: list[Mistake] = []

    def complain(self, keys: tuple[str, ...], message: str) -> None:
        self.mistakes.append(Mistake(keys, f"`{'.'.join(keys)}` {message}" if keys else message))

    def mapping(
        self, value: object, keys: tuple[str, ...], required: Iterable[str], optional: Iterable[str] = ()
    ) -> Mapping[str, object]:
        """``value`` as a mapping with just these keys; what is missing is complained about, and missing."""
        if not isinstance(value, dict):
            self.complain(keys, f"must be a mapping with the keys {_listed(required)}")
            return {}
        required = tuple(required)
        known = (*required, *optional)
        for key in value:
            if key not in known:
                close = difflib.get_close_matches(str(key), known, n=1)
                hint = f"did you mean `{close[0]}`?" if close else f"known are {_listed(known)}"
                self.complain((*keys, str(key)), f"is not a key of a rule file; {hint}")
        for key in required:
            if key not in value:
                where = f" in `{'.'.join(keys)}`" if keys else ""
                self.mistakes.append(Mistake(keys, f"the key `{key}` is missing{where}; add it"))
        return {key: value[key] for key in known if key in value}

    def text(self, values: Mapping[str, object], key: str, outer: tuple[str, ...] = ()) -> str:
        """A string that is not empty; empty if it is missing or wrong."""
        if key not in values:
            return ""
        value = values[key]
        if not isinstance(value, str) or not value.strip():
            self.complain((*outer, key), "must be a text that is not empty")
            return ""
        return value.strip()

    def choice(
        self, values: Mapping[str, object], key: str, choices: Iterable[str], outer: tuple[str, ...] = ()
    ) -> str:
        """One of ``choices``; empty if it is missing or wrong."""
        if key not in values:
            return ""
        value, choices = values[key], tuple(choices)
        if value not in choices:
            self.complain((*outer, key), f"must be one of {_listed(choices)}, not {value!r}")
            return ""
        return str(value)

    def matching(
        self, values: Mapping[str, object], key: str, pattern: re.Pattern[str], form: str, outer: tuple[str, ...] = ()
    ) -> str:
        """A string of a certain form; empty if it is missing or wrong."""
        value = self.text(values, key, outer)
        if value and not pattern.fullmatch(value):
            self.complain((*outer, key), f"must be {form}, not {value!r}")
            return ""
        return value


def build_rule(document: object, path: Path, kinds: Mapping[str, frozenset[str]] = KINDS) -> Rule | tuple[Mistake, ...]:
    """The rule that the contents of a rule file describe, or everything that is wrong with them.

    ``kinds`` are the kinds of facts that there are, and their attributes.
    """
    check = _Checker()
    values = check.mapping(document, (), REQUIRED, OPTIONAL)
    if not isinstance(document, dict):
        return (Mistake((), f"a rule file is a mapping with the keys {_listed(REQUIRED)}"),)
    rule = Rule(
        id=check.matching(values, "id", ID, "capital letters and three digits, as `WP101`"),
        name=check.matching(values, "name", KEBAB, "words in lower case joined by `-`"),
        family=_family(check, values),
        severity=cast(Severity, check.choice(values, "severity", SEVERITIES)),
        confidence=cast(Confidence, check.choice(values, "confidence", CONFIDENCES)),
        warp=_versions(check, values),
        select=_selection(check, values),
        message=_message(check, values),
        why=check.text(values, "why"),
        fix=_fix(check, values),
        probe=_probe(check, values),
        references=_references(check, values),
        examples=_examples(check, values),
        path=path,
        enabled=_enabled(check, values),
        cases=_cases(check, values),
        symptoms=_symptoms(check, values),
        only_confirmed=_only_confirmed(check, values),
    )
    _known(check, rule, kinds)
    return tuple(check.mistakes) or rule


def _known(check: _Checker, rule: Rule, kinds: Mapping[str, frozenset[str]]) -> None:
    """Complains about kinds and attributes that no fact has: such a rule would never say anything."""
    kind = rule.select.fact
    if not kind:
        return
    if kind not in kinds:
        check.complain(("select", "fact"), f"says `{kind}`, which is no kind of fact; {_meant(kind, kinds)}")
        return
    attributes = kinds[kind]
    used = {("select", "where", name): name for name in rule.select.where}
    used |= {("cases", "where", name): name for case in rule.cases for name in case.where}
    for keys, name in used.items():
        if name not in attributes:
            check.complain(keys, f"is no attribute of `{kind}`; {_meant(name, attributes)}")
    for name in sorted({name for _, name, _, _ in _placeholders(rule.message) if name} - attributes):
        check.complain(("message",), f"quotes `{{{name}}}`, which `{kind}` does not have; {_meant(name, attributes)}")


def _meant(word: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(word, list(known), n=1)
    return f"did you mean `{close[0]}`?" if close else f"known are {_listed(sorted(known))}"


def _placeholders(message: str) -> list[tuple[str, str | None, str | None, str | None]]:
    try:
        return list(string.Formatter().parse(message))
    except ValueError:
        return []  # complained about already


def _family(check: _Checker, values: Mapping[str, object]) -> str:
    family = check.choice(values, "family", FAMILIES.values())
    code = values.get("id")
    if family and isinstance(code, str) and re.fullmatch(r"WP\d{3}", code) and FAMILIES.get(code[2]) != family:
        check.complain(("family",), f"does not go with the id: codes WP{code[2]}xx are {FAMILIES.get(code[2])!r}")
    return family


def _versions(check: _Checker, values: Mapping[str, object], outer: tuple[str, ...] = ()) -> str:
    text = check.text(values, "warp", outer)
    try:
        VersionRange.parse(text)
    except ValueError as error:
        check.complain((*outer, "warp"), str(error))
        return ""
    return text


def _selection(check: _Checker, values: Mapping[str, object]) -> Selection:
    if "select" not in values:
        return Selection("")
    select = check.mapping(values["select"], ("select",), ("fact",), ("where",))
    fact = check.matching(select, "fact", KEBAB, "words in lower case joined by `-`", ("select",))
    return Selection(fact, _where(check, select.get("where", {}), ("select", "where")))


def _where(check: _Checker, where: object, outer: tuple[str, ...]) -> Mapping[str, Condition]:
    if not isinstance(where, dict):
        check.complain(outer, "must be a mapping from attributes to conditions")
        return {}
    conditions = {}
    for name, condition in where.items():
        keys = (*outer, str(name))
        if not isinstance(name, str) or not ATTRIBUTE.fullmatch(name):
            check.complain(keys, "is not the name of an attribute: lower case, digits and `_`")
            continue
        conditions[name] = _condition(check, condition, keys)
    return conditions


def _cases(check: _Checker, values: Mapping[str, object]) -> tuple[Case, ...]:
    given = values.get("cases", [])
    if not isinstance(given, list):
        check.complain(("cases",), "must be a list of mappings with `where` and what is different then")
        return ()
    cases = []
    for item in given:
        outer = ("cases",)
        parts = check.mapping(item, outer, ("where",), ("warp", *_DIFFERENT))
        enabled = parts.get("enabled", True)
        if not isinstance(enabled, bool):
            check.complain((*outer, "enabled"), "must be true or false")
        if parts.keys().isdisjoint(_DIFFERENT):
            check.complain(outer, "must say what is different: `severity`, `confidence` or `enabled`")
        cases.append(
            Case(
                _where(check, parts.get("where", {}), (*outer, "where")),
                cast("Severity | None", check.choice(parts, "severity", SEVERITIES, outer) or None),
                cast("Confidence | None", check.choice(parts, "confidence", CONFIDENCES, outer) or None),
                enabled is not False,
                _versions(check, parts, outer) if "warp" in parts else "",
            )
        )
    return tuple(cases)


def _condition(check: _Checker, value: object, keys: tuple[str, ...]) -> Condition:
    if not isinstance(value, dict):
        return Condition(among=_scalars(check, value, keys))
    parts = check.mapping(value, keys, (), ("is", "not", "min", "max"))
    if not parts:
        check.complain(keys, "must hold a value, a list of values, or a mapping of `is`, `not`, `min`, `max`")
    limits: dict[str, float | None] = {"min": None, "max": None}
    for key in limits:
        if key in parts:
            limit = parts[key]
            if isinstance(limit, bool) or not isinstance(limit, (int, float)):
                check.complain((*keys, key), "must be a number")
            else:
                limits[key] = limit
    return Condition(
        among=_scalars(check, parts["is"], (*keys, "is")) if "is" in parts else None,
        without=_scalars(check, parts["not"], (*keys, "not")) if "not" in parts else (),
        low=limits["min"],
        high=limits["max"],
    )


def _scalars(check: _Checker, value: object, keys: tuple[str, ...]) -> tuple[Scalar, ...]:
    found: list[Scalar] = []
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, (str, int, float)):  # bool is an int
            found.append(item)
        else:
            check.complain(keys, f"must be a text, a number, true, false or a list of these, not {item!r}")
    return tuple(found)


def _message(check: _Checker, values: Mapping[str, object]) -> str:
    message = check.text(values, "message")
    try:
        fields = list(string.Formatter().parse(message))
    except ValueError as error:
        check.complain(("message",), f"has a broken placeholder: {error}; write literal braces twice")
        return message
    for _, name, format_spec, conversion in fields:
        # Nothing but plain names: `{x.__class__}` would reach into the fact's values.
        if name is not None and (not ATTRIBUTE.fullmatch(name) or format_spec or conversion):
            written = name + (f"!{conversion}" if conversion else "") + (f":{format_spec}" if format_spec else "")
            check.complain(("message",), f"has the placeholder `{{{written}}}`; use the bare name of an attribute")
    return message


def _fix(check: _Checker, values: Mapping[str, object]) -> Fix:
    if "fix" not in values:
        return Fix("", "", "", "")
    outer = ("fix",)
    fix = check.mapping(values["fix"], outer, ("kind", "safety", "recipe", "help"))
    return Fix(
        kind=check.choice(fix, "kind", FIX_KINDS, outer),
        safety=check.choice(fix, "safety", FIX_SAFETIES, outer),
        recipe=check.matching(fix, "recipe", KEBAB, "words in lower case joined by `-`", outer),
        help=check.text(fix, "help", outer),
    )


def _probe(check: _Checker, values: Mapping[str, object]) -> Probe:
    value = values.get("probe")
    if isinstance(value, dict):
        reason = check.text(check.mapping(value, ("probe",), ("none",)), "none", ("probe",))
        return Probe("none", reason)
    if value == "none":
        check.complain(("probe",), "`none` needs a reason: write `probe: {none: why nothing can be run}`")
    return Probe(cast(ProbeKind, check.choice(values, "probe", PROBES)))


def _references(check: _Checker, values: Mapping[str, object]) -> tuple[str, ...]:
    value = values.get("references", [""])
    if not isinstance(value, list) or not value or not all(isinstance(item, str) for item in value):
        check.complain(("references",), "must be a list of texts, with at least one")
        return ()
    return tuple(value)


def _examples(check: _Checker, values: Mapping[str, object]) -> tuple[Example, ...]:
    if "examples" not in values:
        return ()
    value = values["examples"]
    examples = []
    for item in value if isinstance(value, list) else [None]:
        if not isinstance(item, dict) or len(item) != 1 or next(iter(item)) not in ("bad", "good"):
            check.complain(("examples",), "must be a list of `bad: code` and `good: code`")
            return ()
        kind, code = next(iter(item.items()))
        if not isinstance(code, str) or not code.strip():
            check.complain(("examples",), f"has a `{kind}` without code")
            return ()
        examples.append(Example(kind == "bad", textwrap.dedent(code)))
    for bad, kind in ((True, "bad"), (False, "good")):
        if not any(example.bad == bad for example in examples):
            check.complain(("examples",), f"must have at least one `{kind}` example")
    return tuple(examples)


def _symptoms(check: _Checker, values: Mapping[str, object]) -> tuple[str, ...]:
    value = values.get("symptoms", [])
    if not isinstance(value, list) or any(item not in SYMPTOMS for item in value):
        check.complain(("symptoms",), f"must be a list of {_listed(SYMPTOMS)}, not {value!r}")
        return ()
    return tuple(value)


def _only_confirmed(check: _Checker, values: Mapping[str, object]) -> bool:
    value = values.get("only-confirmed", False)
    if not isinstance(value, bool):
        check.complain(("only-confirmed",), f"must be true or false, not {value!r}")
    elif value and isinstance(values.get("probe"), dict):
        check.complain(("only-confirmed",), "goes with a probe: without one nothing is ever confirmed")
    return value is True


def _enabled(check: _Checker, values: Mapping[str, object]) -> bool:
    value = values.get("enabled", True)
    if not isinstance(value, bool):
        check.complain(("enabled",), "must be true or false")
    return value is not False


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
