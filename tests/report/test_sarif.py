"""SARIF: the official schema, and what GitHub code scanning reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from rendering import CONFIRMED, Source, finding, report

from warplint.ir.facts import Evidence, Finding, Label, Problem
from warplint.ir.fixes import Edit, Fix
from warplint.report import sarif
from warplint.report.model import Report

SCHEMA = json.loads((Path(__file__).parent / "data/sarif-2.1.0-rtm.5.json").read_text(encoding="utf-8"))
TEXT = 'x = 1\ns = "😀日"; p = p * x\nq = p[0](x)\n'


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Source:
    monkeypatch.chdir(tmp_path)
    return Source(tmp_path / "with space" / "ä.py", TEXT)


def run_of(found: Report) -> dict[str, Any]:
    document = json.loads("\n".join(sarif.render(found)))
    validator = jsonschema.Draft4Validator(SCHEMA)
    assert [error.message for error in validator.iter_errors(document)] == []
    assert document["version"] == "2.1.0"
    (run,) = document["runs"]
    return run  # type: ignore[no-any-return]


def story(source: Source) -> Finding:
    labels = [
        Label(source.place("p * x"), "read here, as `p[0]`"),
        Label(source.place("p = p * x"), "overwritten here"),
        Label(source.place("q = p[0](x)"), "read again by the reverse sweep"),
    ]
    return finding(source.place("p = p * x"), labels)


def test_an_empty_run_is_valid(source: Source) -> None:
    run = run_of(report(sources=[source]))
    assert (run["results"], run["tool"]["driver"]["rules"]) == ([], [])
    assert run["invocations"][0]["executionSuccessful"] is True


def test_a_rule_has_what_is_shown_of_it(source: Source) -> None:
    (rule,) = run_of(report(story(source), sources=[source]))["tool"]["driver"]["rules"]
    assert (rule["id"], rule["name"]) == ("WP104", "LoopCarriedValue")
    assert rule["shortDescription"]["text"].startswith("loop-carried-value: The reverse sweep runs")
    assert rule["help"]["markdown"].startswith("# WP104 loop-carried-value\n")
    assert "## Wrong" in rule["help"]["markdown"]
    assert rule["properties"]["precision"] == "high"
    assert rule["properties"]["problem.severity"] == "error"
    assert rule["defaultConfiguration"]["level"] == "error"


def test_places_are_relative_and_count_code_points(source: Source) -> None:
    run = run_of(report(story(source), sources=[source]))
    assert run["columnKind"] == "unicodeCodePoints"
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "with%20space/%C3%A4.py", "uriBaseId": "%SRCROOT%"}
    assert place["region"] == {"startLine": 2, "startColumn": 11, "endLine": 2, "endColumn": 20}
    assert run["originalUriBaseIds"]["%SRCROOT%"]["uri"].startswith("file:///")


def test_a_fix_replaces_regions_of_its_files(source: Source, tmp_path: Path) -> None:
    other = Source(tmp_path / "b.py", TEXT)
    edits = (Edit(source.place("p * x"), "q"), Edit(other.place("x = 1"), ""), Edit(source.place("q = p[0](x)"), "r"))
    found = finding(source.place("p = p * x"), fix=Fix("unsafe", "Write another name (not proved: no)", edits))
    (result,) = run_of(report(found, sources=[source, other]))["results"]
    (fix,) = result["fixes"]
    assert fix["description"]["text"] == "Write another name (not proved: no)"
    assert fix["properties"] == {"applicability": "unsafe"}
    first, second = fix["artifactChanges"]
    assert first["artifactLocation"]["uri"] == "with%20space/%C3%A4.py"
    assert [entry["insertedContent"]["text"] for entry in first["replacements"]] == ["q", "r"]
    assert second["replacements"][0]["deletedRegion"] == {
        "startLine": 1,
        "startColumn": 1,
        "endLine": 1,
        "endColumn": 6,
    }


def test_a_file_elsewhere_has_a_whole_uri(source: Source, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = Source(tmp_path_factory.mktemp("other") / "a.py", TEXT)
    run = run_of(report(finding(other.place("p = p * x")), sources=[other]))
    assert run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": other.path.as_uri()}


def test_the_message_links_to_the_related_places(source: Source) -> None:
    (result,) = run_of(report(story(source), sources=[source]))["results"]
    text = result["message"]["text"]
    assert "[read here, as `p\\[0\\]`](1); [read again by the reverse sweep](2)" in text
    assert text.endswith(
        " Confirmed on cpu, Warp 1.19.0: 1.093, not 1.478 (differences ± 0.0002, at 3 sets of inputs)."
    )
    assert [(place["id"], place["message"]["text"]) for place in result["relatedLocations"]] == [
        (1, "read here, as `p[0]`"),
        (2, "read again by the reverse sweep"),
    ]


def test_a_code_flow_tells_the_story_in_order(source: Source) -> None:
    (result,) = run_of(report(story(source), sources=[source]))["results"]
    ((flow,),) = [[thread["locations"] for thread in one["threadFlows"]] for one in result["codeFlows"]]
    assert [(step["executionOrder"], step["location"]["message"]["text"]) for step in flow] == [
        (1, "read here, as `p[0]`"),
        (2, "overwritten here"),
        (3, "read again by the reverse sweep"),
    ]


@pytest.mark.parametrize(
    ("severity", "verdict", "level", "kind"),
    [
        ("error", "confirmed", "error", "fail"),
        ("warning", "unprobed", "warning", "fail"),
        ("info", "inconclusive", "note", "fail"),
        ("error", "refuted", "none", "pass"),
    ],
)
def test_levels(source: Source, severity: Any, verdict: Any, level: str, kind: str) -> None:
    found = finding(source.place("p = p * x"), severity=severity, evidence=Evidence(verdict, "so"))
    (result,) = run_of(report(found, sources=[source]))["results"]
    assert (result["level"], result["kind"]) == (level, kind)
    assert result["properties"]["evidence"]["verdict"] == verdict


def test_fingerprints_survive_a_move_and_tell_findings_apart(source: Source) -> None:
    moved = Source(source.path, "\n\n# more\n" + TEXT)

    def prints(*findings: Finding, of: Source) -> list[str]:
        results = run_of(report(*findings, sources=[of]))["results"]
        return [result["partialFingerprints"]["warplint/v1"] for result in results]

    before = prints(story(source), finding(source.place("x = 1")), of=source)
    after = prints(story(moved), finding(moved.place("x = 1")), of=moved)
    assert before == after
    assert len(set(before)) == 2


def test_problems_are_notifications(source: Source) -> None:
    problems = [Problem("bad.py", "syntax error", 3, 7), Problem("", "a path is empty")]
    (invocation,) = run_of(report(sources=[source], problems=problems))["invocations"]
    assert invocation["executionSuccessful"] is False
    assert [one["message"]["text"] for one in invocation["toolExecutionNotifications"]] == [
        "syntax error",
        "a path is empty",
    ]


def test_numbers_that_json_does_not_know(source: Source) -> None:
    numbers = {"tape": float("nan"), "differences": [1.0, float("inf")]}
    found = finding(source.place("p = p * x"), evidence=Evidence("confirmed", "differs", numbers=numbers))
    (result,) = run_of(report(found, sources=[source]))["results"]
    assert result["properties"]["evidence"]["tape"] == "nan"
    assert CONFIRMED.numbers["tape"] == 1.093
