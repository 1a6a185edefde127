"""SARIF 2.1.0, as GitHub code scanning reads it.

GitHub shows the rule's short and full description, its help in Markdown, and orders results by ``problem.severity`` and
``precision``. It follows ``codeFlows`` step by step, links ``[text](id)`` in a message to the related location of that
id, wants URIs relative to the root of the repository, and takes every result for a failure: refuted findings, which
have the kind ``pass``, are only written where they were asked for. It adds ``primaryLocationLineHash`` itself.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from warplint.catalogue.rule import Rule
from warplint.ir.facts import Finding, Label, Problem, Severity
from warplint.ir.fixes import Fix
from warplint.ir.spans import Location, Span, file_and_cell
from warplint.report.as_json import evidence, plain
from warplint.report.model import Report, evidence_line, with_cell
from warplint.report.texts import fingerprints, first_sentence, markdown_page, rules_in_use

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS: Mapping[Severity, str] = {"error": "error", "warning": "warning", "info": "note"}
_ROOT = "%SRCROOT%"


def render(report: Report) -> Iterator[str]:
    """The document, indented."""
    root = Path(os.getcwd())
    rules = rules_in_use(report)
    numbers = {rule.id: number for number, rule in enumerate(rules)}
    identities = fingerprints(report.findings, root)
    run = {
        "tool": {
            "driver": {
                "name": "warplint",
                "version": report.version,
                "semanticVersion": report.version,
                "rules": [_rule(rule) for rule in rules],
            }
        },
        "columnKind": "unicodeCodePoints",
        "properties": {"warpVersion": report.warp_version, "warpVersionSource": report.warp_version_source},
        "originalUriBaseIds": {_ROOT: {"uri": root.as_uri() + "/"}},
        "invocations": [
            {
                "executionSuccessful": not report.problems,
                "toolExecutionNotifications": [_notification(problem, root) for problem in report.problems],
            }
        ],
        "results": [
            _result(finding, numbers.get(finding.rule), identity, root)
            for finding, identity in zip(report.findings, identities, strict=True)
        ],
    }
    yield json.dumps(plain({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}), indent=2, allow_nan=False)


def _rule(rule: Rule) -> dict[str, object]:
    return {
        "id": rule.id,
        "name": "".join(part.capitalize() for part in rule.name.split("-")),
        "shortDescription": {"text": f"{rule.name}: {first_sentence(rule.why)}"},
        "fullDescription": {"text": " ".join(rule.why.split())},
        "help": {"text": f"{' '.join(rule.why.split())}\n\n{rule.fix.help}", "markdown": markdown_page(rule)},
        "defaultConfiguration": {"level": _LEVELS[rule.severity], "enabled": rule.enabled},
        "properties": {
            "precision": rule.confidence,
            "problem.severity": "recommendation" if rule.severity == "info" else rule.severity,
            "tags": ["correctness", "gradient", rule.family, *rule.symptoms],
        },
    }


def _result(finding: Finding, number: int | None, identity: str, root: Path) -> dict[str, object]:
    refuted = finding.evidence.verdict == "refuted"
    others = [label for label in finding.fact.labels if label.location != finding.location and label.text]
    links = "; ".join(f"[{_link(label.text)}]({count})" for count, label in enumerate(others, 1))
    # Brackets in the message itself, as in `a[i](x)`, must not be taken for a link.
    message = finding.message.replace("](", "] (")
    text = (
        f"{with_cell(finding.location.path, message)}."
        + (f" See: {links}." if links else "")
        + f" {_capital(evidence_line(finding))}."
    )
    result: dict[str, object] = {
        "ruleId": finding.rule,
        "kind": "pass" if refuted else "fail",
        "level": "none" if refuted else _LEVELS[finding.severity],
        "message": {"text": text},
        "locations": [_location(finding.location, root)],
        "relatedLocations": [
            {"id": count, **_location(label.location, root), "message": {"text": label.text}}
            for count, label in enumerate(others, 1)
        ],
        "partialFingerprints": {"warplint/v1": identity},
        "properties": {
            "confidence": finding.confidence,
            "reach": finding.fact.reach,
            "definition": finding.fact.definition,
            "evidence": evidence(finding.evidence),
        },
    }
    if number is not None:
        result["ruleIndex"] = number
    if finding.fix is not None:
        result["fixes"] = [_fix(finding.fix, root)]
    story = [label for label in finding.fact.labels if label.text]
    if len(story) > 1:
        result["codeFlows"] = [_flow(story, root)]
    return result


def _flow(story: Sequence[Label], root: Path) -> dict[str, object]:
    """The steps that lead to a wrong gradient, in the order in which the analysis tells them."""
    steps = [
        {
            "location": {**_location(label.location, root), "message": {"text": label.text}},
            "executionOrder": number,
        }
        for number, label in enumerate(story, 1)
    ]
    return {"threadFlows": [{"locations": steps}]}


def _fix(fix: Fix, root: Path) -> dict[str, object]:
    changes = []
    for path in dict.fromkeys(edit.location.path for edit in fix.edits):
        replacements = [
            {"deletedRegion": _region(edit.location.span), "insertedContent": {"text": edit.text}}
            for edit in fix.edits
            if edit.location.path == path
        ]
        changes.append({"artifactLocation": _artifact(path, root), "replacements": replacements})
    return {
        "description": {"text": fix.message},
        "artifactChanges": changes,
        "properties": {"applicability": fix.applicability},
    }


def _location(location: Location, root: Path) -> dict[str, object]:
    return {"physicalLocation": {"artifactLocation": _artifact(location.path, root), "region": _region(location.span)}}


def _region(span: Span) -> dict[str, object]:
    return {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }


def _artifact(path: Path, root: Path) -> dict[str, object]:
    path = file_and_cell(path)[0]
    try:
        relative = path.relative_to(root).as_posix()
    except ValueError:
        return {"uri": path.as_uri()}
    return {"uri": quote(relative.encode("utf-8", "surrogateescape")), "uriBaseId": _ROOT}


def _notification(problem: Problem, root: Path) -> dict[str, object]:
    found: dict[str, object] = {"level": "error", "message": {"text": with_cell(problem.path, problem.message)}}
    if problem.path:
        place: dict[str, object] = {"artifactLocation": _artifact(Path(os.path.abspath(problem.path)), root)}
        if problem.line is not None:
            place["region"] = {"startLine": problem.line, "startColumn": problem.column or 1}
        found["locations"] = [{"physicalLocation": place}]
    return found


def _link(text: str) -> str:
    return text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
