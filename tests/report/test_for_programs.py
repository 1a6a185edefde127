"""What programs read: JSON, LSP diagnostics, one line a finding."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import unquote

import pytest
from rendering import Source, finding, report

from warplint.ir.facts import Evidence, Label, Problem
from warplint.ir.fixes import Edit, Fix
from warplint.ir.spans import Location, Span
from warplint.report import as_json, concise, lsp
from warplint.report.model import problem_line

TEXT = 'x = 1\ns = "😀日"; p = p * x\n'


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Source:
    monkeypatch.chdir(tmp_path)
    return Source(tmp_path / "a.py", TEXT)


def test_json_holds_everything_about_a_finding(source: Source) -> None:
    place = source.place("p = p * x")
    numbers = {"tape": float("nan"), "finite_difference": float("-inf"), "inputs": 3, "input": "x"}
    evidence = Evidence("confirmed", "differs", "cuda:0", "1.19.0", numbers)
    found = finding(place, [Label(source.place("p * x"), "read here")], evidence, reach="library")
    (text,) = as_json.render(report(found, sources=[source], problems=[Problem("b.py", "no such file", 3, 7)]))

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    document = json.loads(text, parse_constant=refuse)
    assert document == {
        "version": "0.1.0",
        "warp_version": "1.19.0",
        "warp_version_source": "installed beside warplint",
        "device": "cuda:0",
        "findings": [
            {
                "rule": "WP104",
                "name": "loop-carried-value",
                "path": "a.py",
                "line": 2,
                "column": 11,
                "end_line": 2,
                "end_column": 20,
                "message": "`p` is lost",
                "severity": "error",
                "confidence": "high",
                "reach": "library",
                "evidence": {
                    "verdict": "confirmed",
                    "device": "cuda:0",
                    "warp_version": "1.19.0",
                    "detail": "differs",
                    "reproduce": None,
                    "tape": "nan",
                    "finite_difference": "-inf",
                    "inputs": 3,
                    "input": "x",
                },
                "related": [
                    {"path": "a.py", "line": 2, "column": 15, "end_line": 2, "end_column": 20, "label": "read here"}
                ],
                "fix": None,
            }
        ],
        "errors": [{"path": "b.py", "line": 3, "column": 7, "message": "no such file"}],
        "summary": {
            "files": 1,
            "findings": 1,
            "confirmed": 1,
            "inconclusive": 0,
            "unprobed": 0,
            "refuted": 0,
            "unlisted": 0,
            "suppressed": 0,
            "baselined": 0,
            "errors": 1,
        },
    }


def test_json_without_findings(source: Source) -> None:
    document = json.loads("".join(as_json.render(report(sources=[source]))))
    assert (document["findings"], document["errors"], document["device"]) == ([], [], None)


def test_json_counts_refuted_findings_apart_shown_or_hidden(source: Source) -> None:
    refuted = finding(source.place("p = p * x"), evidence=Evidence("refuted", "agrees"))
    shown = json.loads("".join(as_json.render(report(refuted, sources=[source]))))
    hidden = json.loads("".join(as_json.render(report(sources=[source], refuted=[refuted]))))
    assert shown["summary"] == hidden["summary"]
    assert shown["summary"]["findings"] == 0
    assert shown["summary"]["refuted"] == 1
    assert [len(document["findings"]) for document in (shown, hidden)] == [1, 0]


def test_values_that_json_does_not_know() -> None:
    assert as_json.plain({1: (float("inf"), Path("a"), None, True)}) == {"1": ["inf", "a", None, True]}


def test_fixes(source: Source) -> None:
    place = source.place("p = p * x")
    fix = Fix("safe", "Write another name", (Edit(source.place("p * x"), "q"),))
    found = report(finding(place, fix=fix), sources=[source])
    (entry,) = json.loads("".join(as_json.render(found)))["findings"]
    assert entry["fix"] == {
        "applicability": "safe",
        "message": "Write another name",
        "edits": [{"path": "a.py", "line": 2, "column": 15, "end_line": 2, "end_column": 20, "text": "q"}],
    }
    (line,) = lsp.render(found)
    (diagnostic,) = json.loads(line)["diagnostics"]
    assert diagnostic["data"]["fix"] == {
        "applicability": "safe",
        "message": "Write another name",
        "edits": [
            {
                "uri": source.path.as_uri(),
                "range": {"start": {"line": 1, "character": 15}, "end": {"line": 1, "character": 20}},
                "newText": "q",
            }
        ],
    }


def test_lsp_columns_are_utf_16_units_from_zero(source: Source) -> None:
    (line,) = lsp.render(report(finding(source.place("p = p * x")), sources=[source]))
    (diagnostic,) = json.loads(line)["diagnostics"]
    # `s = "` is 5 units, the emoji 2, the ideograph 1, `"; ` 3.
    assert diagnostic["range"] == {"start": {"line": 1, "character": 11}, "end": {"line": 1, "character": 20}}


@pytest.mark.parametrize(("severity", "number"), [("error", 1), ("warning", 2), ("info", 3)])
def test_lsp_severity(source: Source, severity: str, number: int) -> None:
    (line,) = lsp.render(report(finding(source.place("x = 1"), severity=severity), sources=[source]))  # type: ignore[arg-type]
    (diagnostic,) = json.loads(line)["diagnostics"]
    assert diagnostic["severity"] == number
    assert (diagnostic["code"], diagnostic["source"]) == ("WP104", "warplint")
    assert diagnostic["message"].startswith("`p` is lost\nconfirmed on cpu, Warp 1.19.0: 1.093")


def test_lsp_has_a_line_for_every_file(tmp_path: Path, source: Source) -> None:
    clean = Source(tmp_path / "with space é.py", "")
    lines = [json.loads(line) for line in lsp.render(report(finding(source.place("x = 1")), sources=[source, clean]))]
    assert [len(line["diagnostics"]) for line in lines] == [1, 0]
    assert unquote(lines[1]["uri"]) == f"file://{clean.path}"
    assert " " not in lines[1]["uri"]


def test_lsp_related_places(tmp_path: Path, source: Source) -> None:
    other = Source(tmp_path / "b.py", "launch()")
    found = finding(source.place("x = 1"), [Label(other.place("launch()"), "launched here")])
    first, _ = lsp.render(report(found, sources=[source, other]))
    (related,) = json.loads(first)["diagnostics"][0]["relatedInformation"]
    assert related["message"] == "launched here"
    assert related["location"]["uri"] == other.path.as_uri()
    assert related["location"]["range"]["end"] == {"line": 0, "character": 8}


def test_lsp_places_outside_the_text_do_not_fail(source: Source) -> None:
    beyond = Location(source.path, Span(99, 5, 99, 9))
    assert lsp.position_range(beyond, lambda _: source.lines) == {
        "start": {"line": 98, "character": 4},
        "end": {"line": 98, "character": 8},
    }


def test_concise_is_one_line_a_finding(source: Source) -> None:
    found = finding(source.place("p = p * x"))
    assert list(concise.render(report(found, sources=[source]))) == [
        "a.py:2:11: WP104 [confirmed] `p` is lost",
        "Found 1 finding (1 confirmed); 1 file",
    ]


def test_problems_name_their_place_as_far_as_it_is_known(source: Source) -> None:
    assert problem_line(Problem(str(source.path), "broken")) == "a.py: broken"
    assert problem_line(Problem(str(source.path), "broken", 3)) == "a.py:3: broken"
    assert problem_line(Problem(str(source.path), "broken", 3, 7)) == "a.py:3:7: broken"
