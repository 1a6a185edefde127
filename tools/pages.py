"""The generated pages and tables of the documentation, from the catalogue, the configuration's keys and what
``tools/measure.py`` measured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from warplint.catalogue.rule import FAMILIES, HARMLESS_SYMPTOMS, SYMPTOMS, Example, Rule
from warplint.ir.kinds import KINDS
from warplint.report.explain import PROBES, related
from warplint.report.measured import said
from warplint.settings.keys import KEYS

#: What the rules of each family have in common.
FAMILY_MEANINGS = {
    "suppression": "comments that suppress nothing, or do not say what and why",
    "lost-value": "the reverse sweep needs a value of the kernel that is not there any more",
    "overwritten-array": "an array that an adjoint reads is overwritten between the launch and the sweep",
    "severed-chain": "no gradient gets from the loss to the input",
    "miscounted-adjoint": "a gradient is counted twice, for half of the time, or not at all",
    "non-finite-adjoint": "the gradient is NaN or infinite where the function is not",
    "custom-adjoint": "an adjoint or a replay that somebody wrote does not fit its function",
    "contract": "code that Warp refuses, or takes for something else than it says",
}
_FIX_SAFETIES = {
    "safe": "does not change what the program computes",
    "unsafe": "may change what the program does besides its gradients: read before you take it over",
    "display": "takes a decision that is yours",
}
NOTE = "<!-- Written by tools/docs.py; change the rule files, not this. -->"


class Stale(Exception):
    """An example is not the one that was measured; the message says which."""


def generated(rules: Iterable[Rule], measured: Mapping[str, Any]) -> dict[str, str]:
    """The pages that are generated as a whole: their texts by their paths in the folder of the documentation.

    Raises:
        Stale: an example was changed since it was measured.
    """
    rules = tuple(rules)
    pages = {f"rules/{rule.id}.md": _text(_rule_page(rule, rules, measured)) for rule in rules}
    pages["rules/index.md"] = _text(_index(rules))
    pages["symptoms.md"] = _text(_symptoms(rules))
    return pages


def tables(rules: Iterable[Rule]) -> dict[str, str]:
    """The tables that are generated into pages that people write, by name."""
    rules = tuple(rules)
    return {
        "rules": _text(_counted(rules)),
        "keys": _text(_keys()),
        "facts": _text(_facts(rules)),
    }


def _text(lines: Iterable[str]) -> str:
    return "\n".join(lines) + "\n"


def link(rule: Rule, folder: str = "") -> str:
    """A link to the page of a rule from a page beside it, or from one above it."""
    return f"[{rule.id} `{rule.name}`]({folder}{rule.id}.md)"


def _rule_page(rule: Rule, rules: tuple[Rule, ...], measured: Mapping[str, Any]) -> Iterator[str]:
    yield NOTE
    yield ""
    yield f"# {rule.id} {rule.name}"
    yield ""
    yield "| severity | confidence | family | Warp | on by default |"
    yield "|---|---|---|---|---|"
    default = "yes" if rule.enabled else "no"
    if rule.enabled and not all(case.enabled for case in rule.cases):
        default = "but for its uncertain cases"
    family = f"[{rule.family}](index.md#{rule.family})"
    yield f"| {rule.severity} | {rule.confidence} | {family} | `{rule.warp}` | {default} |"
    if default != "yes":
        yield ""
        yield f"`--extend-select {rule.id}` turns on what is off."
    if rule.only_confirmed:
        yield ""
        yield "A finding only where the probe confirms it: without a probe this rule says nothing."
    yield from _section("What it says", rule.message[0].upper() + rule.message[1:] + ".")
    if "{" in rule.message:
        yield ""
        yield "What stands in braces is taken from your code."
    yield from _section("Why", rule.why)
    for bad, title in ((True, "Wrong"), (False, "Right")):
        examples = [example for example in rule.examples if example.bad == bad]
        for number, example in enumerate(examples):
            yield from _section(title if number == 0 else f"{title} as well", "")
            yield "```python"
            yield from example.code.strip("\n").splitlines()
            yield "```"
            yield ""
            yield from _said(rule, example, measured)
    yield from _section("Fix", rule.fix.help)
    yield ""
    yield f"This {_FIX_SAFETIES[rule.fix.safety]}."
    yield from _section("Probe", f"Not probed: {rule.probe.reason}" if rule.probe.reason else PROBES[rule.probe.kind])
    yield from _section("Versions", f"Warp {_versions(rule.warp)}. See [what was seen under which](../versions.md).")
    yield from _section("Related rules", "")
    others = related(rule, rules)
    yield from (f"- {link(other)}" for other in others) if others else ["None."]
    if rule.symptoms:
        yield ""
        yield "By symptom: " + ", ".join(f"[{name}](../symptoms.md#{name})" for name in rule.symptoms) + "."
    yield from _section("See", "")
    for reference in rule.references:
        yield f"- {reference}"


def _section(title: str, text: str) -> Iterator[str]:
    yield ""
    yield f"## {title}"
    yield ""
    paragraphs = [paragraph for paragraph in text.split("\n") if paragraph.strip()]
    for number, paragraph in enumerate(paragraphs):
        if number:
            yield ""
        yield paragraph


def _versions(warp: str) -> str:
    words = {">=": "{} and later", "<=": "{} and earlier", ">": "later than {}", "<": "before {}", "==": "{}"}
    clauses = []
    for clause in warp.split(","):
        operator = clause.strip().rstrip("0123456789. ")
        version = clause.strip()[len(operator) :].strip()
        clauses.append(words.get(operator, operator + " {}").format(version))
    return ", ".join(clauses)


def _said(rule: Rule, example: Example, measured: Mapping[str, Any]) -> Iterator[str]:
    paragraphs = list(said(rule, example, measured))
    if not paragraphs:
        raise Stale(f"an example of {rule.id} is not the one that was measured; run python tools/docs.py --measure")
    yield from "\n\n".join(paragraphs).split("\n")


def _index(rules: tuple[Rule, ...]) -> Iterator[str]:
    yield NOTE
    yield ""
    yield "# Rules"
    yield ""
    yield "`warplint explain CODE` prints what is on these pages. [By symptom](../symptoms.md) leads from"
    yield "what you see to a rule."
    for family in FAMILIES.values():
        members = [rule for rule in rules if rule.family == family]
        if not members:
            continue
        yield from _section(family, FAMILY_MEANINGS[family][0].upper() + FAMILY_MEANINGS[family][1:] + ".")
        yield ""
        yield "| rule | severity | confidence | Warp | symptoms |"
        yield "|---|---|---|---|---|"
        for rule in members:
            symptoms = ", ".join(f"[{name}](../symptoms.md#{name})" for name in rule.symptoms)
            off = "" if rule.enabled else " (off by default)"
            yield f"| {link(rule)}{off} | {rule.severity} | {rule.confidence} | `{rule.warp}` | {symptoms} |"


def _symptoms(rules: tuple[Rule, ...]) -> Iterator[str]:
    yield NOTE
    yield ""
    yield "# By symptom"
    yield ""
    yield "Compare the gradient with finite differences, find what you see below, and look at the rules that can be"
    yield "behind it. `warplint explain --symptom NAME` prints the same."
    for name, meaning in SYMPTOMS.items():
        yield from _section(name, meaning)
        yield ""
        for rule in rules:
            if name in rule.symptoms:
                yield f"- {link(rule, 'rules/')}: {rule.why.split(chr(10))[0].split('. ')[0].rstrip('.:')}."
    for name, meaning in HARMLESS_SYMPTOMS.items():
        yield from _section(name, meaning)


def _counted(rules: tuple[Rule, ...]) -> Iterator[str]:
    yield f"{len(rules)} rules:"
    yield ""
    yield "| family | what goes wrong | rules |"
    yield "|---|---|---|"
    for family in FAMILIES.values():
        members = [f"[{rule.id}](docs/rules/{rule.id}.md)" for rule in rules if rule.family == family]
        if members:
            yield f"| {family} | {FAMILY_MEANINGS[family]} | {' '.join(members)} |"


def _keys() -> Iterator[str]:
    yield "| key | value | default | |"
    yield "|---|---|---|---|"
    for name, key in KEYS.items():
        default = f"`{key.default}`" if key.default[0] in "[{" or " " not in key.default else key.default
        yield f"| `{name}` | {key.form.words} | {default} | {key.purpose} |"


def _facts(rules: tuple[Rule, ...]) -> Iterator[str]:
    yield "| fact | its attributes | rules that come with warplint |"
    yield "|---|---|---|"
    for kind, attributes in sorted(KINDS.items()):
        users = " ".join(f"[{rule.id}](rules/{rule.id}.md)" for rule in rules if rule.select.fact == kind)
        yield f"| `{kind}` | {' '.join(f'`{name}`' for name in sorted(attributes))} | {users} |"
