"""A new rule file and its folder of fixtures, to begin from."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

from warplint.analysis import analyse_files
from warplint.catalogue.loading import Catalogue, load_catalogue
from warplint.catalogue.matching import Matcher
from warplint.catalogue.rule import Rule
from warplint.catalogue.validating import ID, KEBAB
from warplint.frontend import open_project
from warplint.ir.kinds import KINDS
from warplint.ir.spans import displayed
from warplint.settings.requirements import NEWEST

_TEMPLATE = """\
# A rule of your own: `warplint test-rules {folder}` tries it.
id: {code}
name: {name}
family: contract
severity: {severity}
confidence: {confidence}
warp: "{warp}"
# Which facts are findings, and what is said of them. The attributes of `{fact}`, for `where` and `message`:
# {attributes}.
{select}{message}why: >-
  What goes wrong, and why nobody sees it.
fix:
  kind: manual
  safety: display
  recipe: our-way
  help: What to do instead.
# What is compared when a finding is run, or `{{none: the reason why nothing can be run}}`.
{probe}references:
  - Where this was decided
# Whole programs. There are more in {code}/, where `# expect: {code}` marks the lines that are found.
{examples}"""


class Refused(Exception):
    """There is no such rule to be made; the message says why and what to do."""


def facts_to_choose_from(catalogue: Catalogue) -> dict[str, Rule]:
    """The kinds of facts that code has, each with the first rule that selects it."""
    found: dict[str, Rule] = {}
    for rule in catalogue.rules:
        if rule.family != "suppression":
            found.setdefault(rule.select.fact, rule)
    return found


def new_rule(name: str, folder: Path, fact: str, code: str | None = None) -> list[Path]:
    """Write a rule that selects ``fact``, with the examples of a rule that comes with warplint; returns the files.

    ``code`` None stands for the first of ``OWN001``, ``OWN002``, ... that is free in ``folder``.

    Raises:
        Refused: the name, the code or the fact cannot be used, or the files cannot be written.
    """
    built_in = load_catalogue()[0]
    taken = (*built_in.rules, *(load_catalogue((folder,))[0].rules if folder.is_dir() else ()))
    files = {path.stem for path in folder.glob("*")} if folder.is_dir() else set()
    _check_name(name, taken)
    model = facts_to_choose_from(built_in).get(fact)
    if model is None:
        known = sorted(facts_to_choose_from(built_in))
        close = difflib.get_close_matches(fact, known, 1)
        hint = f"did you mean `{close[0]}`?" if close else f"known are {', '.join(known)}"
        raise Refused(f"`{fact}` is no kind of fact; {hint}")
    if code is None:
        code = next(own for own in (f"OWN{number:03}" for number in range(1, 1000)) if own not in files)
    elif not ID.fullmatch(code) or code.startswith("WP"):
        raise Refused(f"the id `{code}` cannot be used; write two or more capital letters, not WP, and three digits")
    elif code in files or any(rule.id == code for rule in taken):
        raise Refused(f"the id `{code}` is taken in {displayed(folder)}; choose another")
    blocks = _blocks(model.path.read_text(encoding="utf-8"))
    text = _TEMPLATE.format(
        folder=displayed(folder), code=code, name=name, fact=fact, attributes=", ".join(sorted(KINDS[fact])),
        severity=model.severity, confidence=model.confidence, warp=model.warp,
        **{key: blocks[key] for key in ("select", "message", "probe", "examples")},
    )  # fmt: skip
    rule_file, fixtures = folder / f"{code}.yaml", folder / code
    written = [rule_file]
    try:
        fixtures.mkdir(parents=True)
        rule_file.write_text(text, encoding="utf-8")
        for bad in (True, False):
            path = fixtures / ("wrong.py" if bad else "right.py")
            path.write_text(next(example.code for example in model.examples if example.bad == bad), encoding="utf-8")
            written.append(path)
        _mark(fixtures / "wrong.py", rule_file)
    except OSError as error:
        raise Refused(
            f"{displayed(folder)}: cannot write the rule: {error.strerror or error}; check the path"
        ) from error
    return written


def _check_name(name: str, taken: tuple[Rule, ...]) -> None:
    if not KEBAB.fullmatch(name):
        raise Refused(f"the name `{name}` cannot be used; write words in lower case joined by `-`")
    for rule in taken:
        if rule.name == name:
            raise Refused(f"the name `{name}` is taken by {displayed(rule.path)}; choose another")


def _blocks(text: str) -> dict[str, str]:
    """The lines of each key of a rule file, the key included."""
    parts = re.split(r"^(?=[a-z]+:)", text, flags=re.MULTILINE)
    return {part.partition(":")[0]: part for part in parts if part.strip()}


def _mark(path: Path, rule_file: Path) -> None:
    """Mark the lines of ``path`` that the rule finds, under the newest version of Warp that it is for."""
    rules = [rule for rule in load_catalogue((rule_file.parent,))[0].rules if rule.path == rule_file]
    project = open_project((path.parent.absolute(),))
    major, newest = (int(number) for number in NEWEST.split(".")[:2])
    held = [minor for minor in range(newest, 0, -1) if any(rule.concerns(f"{major}.{minor}") for rule in rules)]
    project.warp_version = lambda _: (major, held[0] if held else newest)
    analyses = analyse_files([path.absolute()], project, {}, jobs=1)
    facts = [fact for analysis in analyses for fact in analysis.facts]
    ids = frozenset(rule.id for rule in rules)
    lines = path.read_text(encoding="utf-8").split("\n")
    for finding in Matcher(rules, None).findings(facts, ids, ids):
        lines[finding.location.span.line - 1] += f"  # expect: {finding.rule}"
    path.write_text("\n".join(lines), encoding="utf-8")
