"""What several output formats need: rules, places and identities of findings as text."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from warplint.catalogue.rule import Rule
from warplint.ir.facts import Finding
from warplint.ir.spans import file_and_cell
from warplint.report.explain import page
from warplint.report.model import Report


def fingerprints(findings: Iterable[Finding], root: Path) -> list[str]:
    """Something that stays the same while a finding moves within its file, and differs between all findings."""
    seen: Counter[tuple[str, ...]] = Counter()
    found = []
    for finding in findings:
        key = (relative(finding.location.path, root), finding.rule, finding.fact.definition, finding.message)
        text = "\0".join([*key, str(seen[key])])
        seen[key] += 1
        found.append(hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:32])
    return found


def relative(path: Path, root: Path) -> str:
    """The file at ``path`` relative to ``root``, with slashes, where it lies inside."""
    path = file_and_cell(path)[0]
    try:
        return path.relative_to(root).as_posix()
    except ValueError:
        return path.as_posix()


def rules_in_use(report: Report) -> list[Rule]:
    """The rules of the findings that are shown, in the order of their ids."""
    ids = {finding.rule for finding in report.findings}
    return [report.rules[code] for code in sorted(ids) if code in report.rules]


def markdown_page(rule: Rule) -> str:
    """The page of a rule."""
    return "\n".join(page(rule)) + "\n"


def first_sentence(text: str) -> str:
    """Up to the first full stop that ends a sentence."""
    flat = " ".join(text.split())
    end = flat.find(". ")
    return flat if end < 0 else flat[: end + 1]


def excerpt(lines: Sequence[str], first: int, last: int, around: int = 2) -> list[tuple[int, str]]:
    """The lines from ``first`` to ``last`` (from 1) with some around them, each with its number."""
    start, end = max(1, first - around), min(len(lines), last + around)
    return [(number, lines[number - 1]) for number in range(start, end + 1)]
