"""Comments that suppress findings: what they mean, which findings they take away, and what is wrong with them."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from warplint.ir.facts import Fact, Finding, Label
from warplint.ir.spans import Location
from warplint.records import dataclass
from warplint.source.comments import HINT, HINT_ANY, KINDS, Comments, Directive, read_comments

if TYPE_CHECKING:
    from warplint.catalogue.rule import Rule

#: The kinds of fact that this module establishes.
UNUSED, MALFORMED = "unused-suppression", "malformed-suppression"

#: The rules that a file is linted with (all of them, and the ids of those that apply).
RulesOf = Callable[[Path], "tuple[tuple[Rule, ...], frozenset[str]]"]


@dataclass(slots=True)
class _Suppression:
    """A directive that means something: lines (both ends included) and rules, by the words that named them."""

    directive: Directive
    first: int
    last: int
    words: Mapping[str, frozenset[str]]
    used: set[str] = field(default_factory=set)

    def takes(self, finding: Finding, last: int) -> bool:
        """Whether it suppresses a finding whose span ends on the line ``last``, as far as comments are concerned."""
        if last < self.first or finding.location.span.line > self.last:
            return False
        words = [word for word, rules in self.words.items() if finding.rule in rules]
        self.used.update(words)
        return bool(words)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is left of the findings, what was suppressed, and facts about the suppressions themselves."""

    kept: tuple[Finding, ...]
    suppressed: tuple[Finding, ...]
    facts: tuple[Fact, ...]


def suppress(findings: Iterable[Finding], texts: Mapping[Path, str], rules_of: RulesOf) -> Outcome:
    """Apply the comments in ``texts``, the linted files that could be read, to ``findings``."""
    by_path: dict[Path, list[Finding]] = {path: [] for path in texts}
    kept: list[Finding] = []
    for finding in findings:
        by_path.setdefault(finding.location.path, []).append(finding)
    suppressed: list[Finding] = []
    facts: list[Fact] = []
    for path, own in by_path.items():
        # The codes of a user's own rules may look like anybody's.
        hint = HINT if all(finding.rule.startswith("WP") for finding in own) else HINT_ANY
        if not hint.search(texts.get(path, "")):
            kept += own
            continue
        comments = read_comments(texts[path])
        rules, applying = rules_of(path)
        suppressions, mistakes = _understood(path, comments, rules)
        for finding in own:
            last = comments.end_of(finding.location.span.end_line)
            # All that speak of it are used, not only the first.
            takers = [one for one in suppressions if one.takes(finding, last)]
            (suppressed if takers else kept).append(finding)
        facts += _settled([*mistakes, *_unused(path, suppressions, applying)], suppressions)
    return Outcome(tuple(kept), tuple(suppressed), tuple(facts))


def _settled(facts: Sequence[Fact], suppressions: Sequence[_Suppression]) -> list[Fact]:
    """``facts`` about suppressions without those that a suppression of the very rules about them takes away."""
    named = {UNUSED: "WP001", MALFORMED: "WP002"}
    return [
        fact
        for fact in facts
        if not any(
            one.first <= fact.location.span.line <= one.last
            and any(named[fact.kind] in rules for rules in one.words.values())
            for one in suppressions
        )
    ]


def _understood(path: Path, comments: Comments, rules: tuple[Rule, ...]) -> tuple[list[_Suppression], list[Fact]]:
    found: list[_Suppression] = []
    mistakes: list[Fact] = []
    blocks: dict[str, _Suppression] = {}  # open ones, by word

    def complain(directive: Directive, problem: str) -> None:
        mistakes.append(_fact(path, directive, MALFORMED, {"problem": problem}))

    for directive in comments.directives:
        words, problem = _words(directive, rules)
        if problem is not None:
            complain(directive, problem)
        if not words:
            continue
        line = directive.span.line
        if directive.word in ("ignore", "noqa"):
            found.append(_Suppression(directive, line, directive.last_line if directive.alone else line, words))
        elif directive.word == "ignore-file":
            found.append(_Suppression(directive, 1, 1 << 60, words))
        elif directive.word == "disable":
            for word in words:
                if word in blocks:
                    complain(directive, f"`{word}` is disabled already")
                else:
                    blocks[word] = _Suppression(directive, line, 1 << 60, {word: words[word]})
                    found.append(blocks[word])
        else:
            for word in words:
                block = blocks.pop(word, None)
                if block is None:
                    complain(directive, f"`{word}` is not disabled above")
                else:
                    block.last = line
    for word, block in blocks.items():
        complain(
            block.directive,
            f"`{word}` stays disabled; end it with `# warplint: enable[{word}]`, or write `ignore-file` for all of it",
        )
    return found, mistakes


def _words(directive: Directive, rules: tuple[Rule, ...]) -> tuple[dict[str, frozenset[str]], str | None]:
    """The words of a directive with the ids of the rules that they mean, and what is wrong with it."""
    from warplint.catalogue.selecting import meant, problem_with

    if directive.word == "noqa":
        ours = {word: frozenset(meant(word, rules)) for word in directive.rules or () if _is_ours(word, rules)}
        unknown = [word for word, ids in ours.items() if not ids]
        problem = problem_with(unknown[0], rules) if unknown else None
        return {word: ids for word, ids in ours.items() if ids}, problem
    if directive.word not in KINDS:
        close = difflib.get_close_matches(directive.word, KINDS, n=1)
        known = f"did you mean `{close[0]}`?" if close else "known are " + ", ".join(f"`{kind}`" for kind in KINDS)
        return {}, f"`{directive.word}` means nothing; {known}"
    if not directive.rules or not all(directive.rules):
        return {}, f"it names no rule; write `{directive.word}[WP104] reason`"
    if not directive.reason and directive.word != "enable":
        return {}, f"it gives no reason; write `{directive.word}[{', '.join(directive.rules)}] reason`"
    words: dict[str, frozenset[str]] = {}
    problem = None
    for word in directive.rules:
        if word.upper() == "ALL" or word.isalpha() and word.isupper():
            problem = f"`{word}` would ignore everything; name rules or families"
            continue
        unknown_because = problem_with(word, rules)
        problem = problem or unknown_because
        if unknown_because is None:
            words[word] = frozenset(meant(word, rules))
    return words, problem


def _is_ours(word: str, rules: tuple[Rule, ...]) -> bool:
    """Whether a code in a ``noqa``, which belongs to all linters together, is one of ours."""
    code = word.upper()
    return (code[:2] == "WP" and code[2:].isdigit()) or any(rule.id == code for rule in rules)


def _unused(path: Path, suppressions: Sequence[_Suppression], applying: frozenset[str]) -> list[Fact]:
    """Words that suppressed nothing although a rule that they mean was looked for."""
    facts = []
    by_directive: dict[int, list[str]] = {}
    for suppression in suppressions:
        # A word of a family of which only a part was looked for may have its use in the rest.
        idle = [word for word, rules in suppression.words.items() if word not in suppression.used and rules <= applying]
        idle = [word for word in idle if not suppression.words[word] <= {"WP001", "WP002"}]
        by_directive.setdefault(id(suppression.directive), []).extend(idle)
    for suppression in {id(one.directive): one for one in suppressions}.values():
        idle = by_directive[id(suppression.directive)]
        if idle:
            attributes = {"rules": ", ".join(idle), "form": suppression.directive.word}
            facts.append(_fact(path, suppression.directive, UNUSED, attributes))
    return facts


def _fact(path: Path, directive: Directive, kind: str, attributes: Mapping[str, object]) -> Fact:
    place = Location(path, directive.span)
    return Fact(kind, place, attributes, (Label(place, ""),), "")
