"""How many findings of each rule there are, the most frequent first."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

from warplint.report.model import Report
from warplint.report.style import PLAIN, Style
from warplint.report.summary import summary

_VERDICTS = ("confirmed", "inconclusive", "unprobed", "refuted")


def as_text(report: Report, style: Style = PLAIN) -> Iterator[str]:
    """A table: count, rule, name, verdicts."""
    counts, verdicts, names = _counted(report)
    digits = max((len(str(number)) for number in counts.values()), default=1)
    longest = max((len(name) for name in names.values()), default=0)
    for code, number in _ranked(counts):
        seen = ", ".join(f"{verdicts[code, verdict]} {verdict}" for verdict in _VERDICTS if verdicts[code, verdict])
        yield f"{number:>{digits}}  {style.strong(code)}  {names[code]:<{longest}}  {seen}"
    yield summary(report, style)


def as_json(report: Report) -> Iterator[str]:
    """The same as an array."""
    counts, verdicts, names = _counted(report)
    rows = [
        {"rule": code, "name": names[code], "count": number}
        | {verdict: verdicts[code, verdict] for verdict in _VERDICTS}
        for code, number in _ranked(counts)
    ]
    yield json.dumps(rows, indent=2)


def _counted(report: Report) -> tuple[Counter[str], Counter[tuple[str, str]], dict[str, str]]:
    found = report.findings
    counts = Counter(finding.rule for finding in found)
    verdicts = Counter((finding.rule, str(finding.evidence.verdict)) for finding in found)
    return counts, verdicts, {finding.rule: finding.name for finding in found}


def _ranked(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))
