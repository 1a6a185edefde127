"""What an audit found, as a table for people and as JSON for programs."""

from __future__ import annotations

import json
import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import get_args

from warplint.ir.audits import Audit, Entry, Judgement
from warplint.ir.facts import Finding
from warplint.ir.spans import displayed
from warplint.report.as_json import error, plain
from warplint.report.style import PLAIN, Style
from warplint.report.summary import count

JUDGEMENTS: tuple[Judgement, ...] = get_args(Judgement)
_COLUMNS = (*JUDGEMENTS, "forward only")
_MOST_REASONS = 12


def as_text(audit: Audit, style: Style = PLAIN) -> Iterator[str]:
    """The wrong ones first, what rules say that is not so, why the rest is not decided, a table of files, a count."""
    flagged = [entry for entry in audit.judged("wrong") if entry.findings]
    yield from _listed("Wrong, and no rule found it", audit.unflagged, style)
    yield from _listed("Wrong, and found", flagged, style)
    yield from _listed("Found, and right", audit.flagged_right, style)
    yield from _reasons(audit.judged("undecided"), style)
    yield from _table(audit, style)
    yield summary(audit, style)


def summary(audit: Audit, style: Style = PLAIN) -> str:
    """``12 kernels and 3 funcs with an adjoint: 11 ok, 1 wrong, 3 undecided (80 % decided); ...``."""
    counts = Counter(entry.judgement for entry in audit.entries)
    roles = Counter(entry.subject.role for entry in audit.entries)
    what = f"{count(roles['kernel'], 'kernel')} and {count(roles['func'], 'func')} with an adjoint"
    if not audit.entries:
        parts = [style.strong("Nothing is compiled with an adjoint")]
    else:
        share = 100.0 * (counts["ok"] + counts["wrong"]) / len(audit.entries)
        judged = ", ".join(f"{counts[judgement]} {judgement}" for judgement in JUDGEMENTS)
        parts = [style.strong(what) + f": {judged} ({share:.0f} % decided)"]
    partly = sum(bool(entry.unreached) for entry in audit.judged("ok"))
    if partly:
        parts.append(f"{partly} of the ok ones have lines that no input reached")
    if audit.forward_only:
        parts.append(f"{sum(audit.forward_only.values())} forward only")
    stored = sum(entry.stored for entry in audit.entries)
    if stored:
        parts.append(f"{stored} answered by an earlier run")
    parts.append(count(audit.files, "file"))
    return "; ".join(parts)


def _listed(title: str, entries: Sequence[Entry], style: Style) -> Iterator[str]:
    if not entries:
        return
    yield style.strong(f"{title} ({len(entries)})")
    for entry in entries:
        place = f"{displayed(entry.subject.location.path)}:{entry.subject.location.span.line}"
        codes = ", ".join(dict.fromkeys(finding.rule for finding in entry.findings))
        through = f" (through `{entry.through}`)" if entry.through else ""
        yield f"  {place} {entry.subject.role} `{entry.subject.ref.qualname}`{f' [{codes}]' if codes else ''}"
        yield f"      {style.faint(entry.detail + through)}"
    yield ""


def _reasons(entries: Sequence[Entry], style: Style) -> Iterator[str]:
    if not entries:
        return
    yield style.strong(f"Undecided ({len(entries)})")
    reasons: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        reasons[entry.detail].append(entry)
    ranked = sorted(reasons.items(), key=lambda item: (-len(item[1]), item[0]))
    for reason, some in ranked[:_MOST_REASONS]:
        names = ", ".join(f"`{entry.subject.ref.qualname}`" for entry in some[:3]) + (", ..." if len(some) > 3 else "")
        yield f"  {len(some):>4}  {reason}"
        yield f"        {style.faint(textwrap.shorten(names, 100))}"
    if len(ranked) > _MOST_REASONS:
        rest = sum(len(some) for _, some in ranked[_MOST_REASONS:])
        yield f"  {rest:>4}  {count(len(ranked) - _MOST_REASONS, 'other reason')} (all are in the JSON output)"
    yield ""


def _table(audit: Audit, style: Style) -> Iterator[str]:
    rows = _by_file(audit)
    if not rows:
        return
    longest = max(len(path) for path in rows)
    yield style.strong(f"{'file':<{longest}}") + "".join(f"  {title:>{max(len(title), 5)}}" for title in _COLUMNS)
    for path, counts in rows.items():
        cells = "".join(f"  {counts[title] or '-':>{max(len(title), 5)}}" for title in _COLUMNS)
        yield f"{path:<{longest}}{cells}"
    yield ""


def _by_file(audit: Audit) -> dict[str, Counter[str]]:
    """How many of each there are, by file."""
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    for entry in audit.entries:
        rows[displayed(entry.subject.location.path)][entry.judgement] += 1
    for path, number in audit.forward_only.items():
        rows[path]["forward only"] += number
    return dict(sorted(rows.items()))


def as_json(audit: Audit) -> Iterator[str]:
    """One object; ``audit.schema.json`` says what is in it."""
    counts = Counter(entry.judgement for entry in audit.entries)
    document = {
        "version": audit.version,
        "warp_version": audit.warp_version,
        "device": next((entry.device for entry in audit.entries if entry.device), None),
        "summary": {
            "files": audit.files,
            "audited": len(audit.entries),
            "ok": counts["ok"],
            "wrong": counts["wrong"],
            "undecided": counts["undecided"],
            "forward_only": sum(audit.forward_only.values()),
            "wrong_not_flagged": len(audit.unflagged),
            "flagged_right": len(audit.flagged_right),
            "stored": sum(entry.stored for entry in audit.entries),
            "errors": len(audit.problems),
        },
        "entries": [_entry(entry) for entry in audit.entries],
        "files": [
            {"path": path, **{title.replace(" ", "_"): counts[title] for title in _COLUMNS}}
            for path, counts in _by_file(audit).items()
        ],
        "errors": [error(problem) for problem in audit.problems],
    }
    yield json.dumps(plain(document), indent=2, allow_nan=False)


def _entry(entry: Entry) -> dict[str, object]:
    span = entry.subject.location.span
    return {
        "path": displayed(entry.subject.location.path),
        "line": span.line,
        "column": span.column,
        "role": entry.subject.role,
        "name": entry.subject.ref.qualname,
        "judgement": entry.judgement,
        "detail": entry.detail,
        "reach": entry.reach,
        "through": entry.through or None,
        "custom_adjoint": entry.subject.custom,
        "unreached": list(entry.unreached),
        "stored": entry.stored,
        "findings": _findings(entry.findings),
        "numbers": entry.numbers,
    }


def _findings(findings: Iterable[Finding]) -> list[dict[str, object]]:
    return [
        {
            "rule": finding.rule,
            "name": finding.name,
            "path": displayed(finding.location.path),
            "line": finding.location.span.line,
            "severity": finding.severity,
        }
        for finding in findings
    ]


def schema() -> dict[str, object]:
    """The JSON schema of ``as_json``."""
    number, text = {"type": "integer", "minimum": 0}, {"type": "string"}
    maybe = {"type": ["string", "null"]}

    def table(**properties: object) -> dict[str, object]:
        return {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }

    found = table(
        rule=text, name=text, path=text, line={"type": "integer"}, severity={"enum": ["error", "warning", "info"]}
    )
    entry = table(
        path=text,
        line={"type": "integer", "description": "Where its name stands, from 1."},
        column={"type": "integer", "description": "In code points, from 1."},
        role={"enum": ["kernel", "func"]},
        name={**text, "description": "The qualified name."},
        judgement={
            "enum": list(JUDGEMENTS),
            "description": "Whether the adjoint agrees with finite differences, does not, or that could not be told.",
        },
        detail={**text, "description": "What was seen, or why nothing was."},
        reach={"enum": ["taped", "library", "untaped"], "description": "Whether an analysed tape launches it."},
        through={**maybe, "description": "The kernel that a func was seen through; null where it was launched alone."},
        custom_adjoint={"type": "boolean", "description": "Whether a func_grad stands for the adjoint of the func."},
        unreached={
            "type": "array",
            "items": {"type": "integer"},
            "description": "Lines at which blocks begin that no input ran: the judgement does not speak of them.",
        },
        stored={"type": "boolean", "description": "Whether an earlier run had the answer."},
        findings={"type": "array", "items": found, "description": "What the rules find in it."},
        numbers={
            "type": "object",
            "description": "tape, finite_difference, estimated_error: the derivatives at the worst input; inputs: how "
            "many sets of inputs were compared; steps, differences: the central difference at each step.",
        },
    )
    totals = dict.fromkeys((*JUDGEMENTS, "forward_only"), number)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What `warplint audit --output-format json` prints",
        **table(
            version=text,
            warp_version=maybe,
            device={**maybe, "description": "Where the last word was spoken, null where nothing ran."},
            summary=table(
                files=number,
                audited=number,
                **totals,
                wrong_not_flagged=number,
                flagged_right=number,
                stored=number,
                errors=number,
            ),
            entries={"type": "array", "items": entry},
            files={"type": "array", "items": table(path=text, **totals)},
            errors={
                "type": "array",
                "items": table(
                    path=maybe, line={"type": ["integer", "null"]}, column={"type": ["integer", "null"]}, message=text
                ),
            },
        ),
    }
