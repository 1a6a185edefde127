"""The page of a rule, from its file."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Iterator

from warplint.catalogue.rule import HARMLESS_SYMPTOMS, SYMPTOMS, Rule
from warplint.report.measured import NOTHING, Measured, read, said

_WIDTH = 88


def overview(rules: Iterable[Rule]) -> Iterator[str]:
    """One line a rule."""
    rules = tuple(rules)
    width = max((len(rule.name) for rule in rules), default=0)
    for rule in rules:
        yield f"{rule.id}  {rule.name:<{width}}  {rule.severity:<7}  {rule.family}"


def as_json(rules: Iterable[Rule]) -> Iterator[str]:
    """All rules as a JSON array, without their examples."""
    rows = [
        {
            "id": rule.id,
            "name": rule.name,
            "family": rule.family,
            "severity": rule.severity,
            "confidence": rule.confidence,
            "warp": rule.warp,
            "enabled": rule.enabled,
            "symptoms": list(rule.symptoms),
            "message": rule.message,
            "why": rule.why,
            "fix": {"kind": rule.fix.kind, "safety": rule.fix.safety, "help": rule.fix.help},
            "probe": rule.probe.kind,
            "references": list(rule.references),
        }
        for rule in rules
    ]
    yield json.dumps(rows, indent=2)


def symptom_page(symptom: str, rules: Iterable[Rule]) -> Iterator[str]:
    """From what a person sees to the rules that can be behind it, in Markdown."""
    known = {**SYMPTOMS, **HARMLESS_SYMPTOMS}
    yield f"# {symptom}"
    yield ""
    yield from textwrap.wrap(known[symptom], _WIDTH)
    for rule in rules:
        if symptom in rule.symptoms:
            yield ""
            yield f"## {rule.id} {rule.name}"
            yield ""
            yield from textwrap.wrap(rule.why.split("\n")[0], _WIDTH)
            yield ""
            yield from textwrap.wrap(f"What to do: {rule.fix.help}", _WIDTH)


def related(rule: Rule, rules: Iterable[Rule]) -> list[Rule]:
    """The other rules of its family, and those about the same facts."""
    return [
        other
        for other in rules
        if other.id != rule.id and (rule.family == other.family or rule.select.fact == other.select.fact)
    ]


def pages(asked: Iterable[Rule], rules: Iterable[Rule]) -> Iterator[str]:
    """The pages of some of the ``rules``, one below the other, with what was measured."""
    rules, measured = tuple(rules), read()
    for number, rule in enumerate(asked):
        if number:
            yield ""
        yield from page(rule, rules, measured)


def page(rule: Rule, rules: Iterable[Rule] = (), measured: Measured = NOTHING) -> Iterator[str]:
    """Everything that a person reads about a rule, in Markdown: with those of ``rules`` that are related, and with what
    was ``measured`` on its examples."""
    yield f"# {rule.id} {rule.name}"
    yield ""
    yield f"{rule.severity}, confidence {rule.confidence}, family {rule.family}, Warp {rule.warp}"
    if not rule.enabled:
        yield f"Off by default: `--extend-select {rule.id}` turns it on."
    elif not all(case.enabled for case in rule.cases):
        yield f"Its uncertain cases are off by default: `--extend-select {rule.id}` turns them on."
    if rule.only_confirmed:
        yield "A finding only where the probe confirms it."
    yield from _section("Why", rule.why)
    yield from _section("What to do", rule.fix.help)
    for bad, title in ((True, "Wrong"), (False, "Right")):
        examples = [example for example in rule.examples if example.bad == bad]
        for number, example in enumerate(examples):
            yield ""
            yield f"## {title}" if number == 0 else f"## {title} as well"
            yield ""
            yield "```python"
            yield from example.code.strip("\n").splitlines()
            yield "```"
            for paragraph in said(rule, example, measured):
                yield ""
                yield from textwrap.wrap(paragraph, _WIDTH)
    yield from _section("Probe", _probe(rule))
    others = related(rule, rules)
    if others:
        yield from _section("Related rules", "")
        yield ""
        yield from (f"- {other.id} {other.name}" for other in others)
    yield ""
    yield "## See"
    yield ""
    for reference in rule.references:
        yield from textwrap.wrap(f"- {reference}", _WIDTH, subsequent_indent="  ")


def _section(title: str, text: str) -> Iterator[str]:
    yield ""
    yield f"## {title}"
    for paragraph in text.split("\n"):
        if paragraph.strip():
            yield ""
            yield from textwrap.wrap(paragraph, _WIDTH)


#: What each kind of probe compares.
PROBES = {
    "gradient": "The tape's gradient is compared with finite differences.",
    "finite-adjoint": "The gradient must be finite wherever the function is.",
    "zero-adjoint": "An input moves the result, and the tape's gradient says that it does not.",
    "replay": "Arrays are read before and after `backward()`.",
    "horizon": "The sum of the windows' gradients is compared with finite differences over the whole horizon.",
    "chain": "The gradient is taken with the program as it is and with the flagged arrays differentiable.",
    "recording": "The gradient is taken with the program as it is and without the flagged launch on the tape.",
    "contents": "The program is run with different contents in the memory that nothing has written to.",
    "compile": "Warp is asked to compile the code.",
    "answer": "A small launch on the CPU device shows what happens.",
    "order": "The threads of a launch are run in order, in reverse, and one at a time.",
}


def _probe(rule: Rule) -> str:
    return f"Not probed: {rule.probe.reason}" if rule.probe.kind == "none" else PROBES[rule.probe.kind]
