"""What services read: GitHub annotations, GitLab Code Quality, JUnit, lines of JSON, Markdown."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest
from rendering import Source, finding, report

from warplint.ir.facts import Evidence, Label, Problem
from warplint.report import github, gitlab, jsonl, junit, markdown

TEXT = "x = 1\np = p * x\nq = (p\n  + 1)\n"


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Source:
    monkeypatch.chdir(tmp_path)
    for name in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    return Source(tmp_path / "sub" / "a,b.py", TEXT)


class TestGitHub:
    def test_an_annotation(self, source: Source) -> None:
        found = finding(source.place("p = p * x"), evidence=Evidence("confirmed", "100% wrong\nreally"))
        (line,) = github.render(report(found, sources=[source]))
        assert line == (
            "::error title=warplint (WP104 loop-carried-value),file=sub/a%2Cb.py,line=2,endLine=2,col=1,endColumn=10"
            "::`p` is lost%0Aconfirmed: 100%25 wrong%0Areally; reach: taped"
        )

    def test_whose_code_it_is(self, source: Source) -> None:
        found = finding(source.place("p = p * x"))
        found = replace(found, fact=replace(found.fact, reach="library"))
        for format_ in (github, gitlab, junit, markdown):
            assert "reach: library" in "\n".join(format_.render(report(found, sources=[source])))

    def test_columns_are_for_one_line_only(self, source: Source) -> None:
        (line,) = github.render(report(finding(source.place("(p\n  + 1)")), sources=[source]))
        assert "line=3,endLine=4::" in line

    @pytest.mark.parametrize(("severity", "level"), [("error", "error"), ("warning", "warning"), ("info", "notice")])
    def test_levels(self, source: Source, severity: str, level: str) -> None:
        found = finding(source.place("p = p * x"), severity=severity)  # type: ignore[arg-type]
        (line,) = github.render(report(found, sources=[source]))
        assert line.startswith(f"::{level} ")

    def test_paths_are_relative_to_the_workspace(self, source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("GITHUB_WORKSPACE", str(source.path.parent))
        (line,) = github.render(report(finding(source.place("p = p * x")), sources=[source]))
        assert ",file=a%2Cb.py," in line

    def test_a_problem(self, source: Source) -> None:
        problems = [Problem("bad.py", "syntax error", 3), Problem("", "a path is empty")]
        assert list(github.render(report(sources=[source], problems=problems))) == [
            "::error title=warplint,file=bad.py,line=3::syntax error",
            "::error title=warplint::a path is empty",
        ]


class TestGitLab:
    def test_a_report(self, source: Source) -> None:
        places = ("p = p * x", "x = 1")
        findings = [finding(source.place(place), severity="warning") for place in places]
        problems = [Problem("bad.py", "syntax error", 3)]
        first, second, problem = json.loads(
            "".join(gitlab.render(report(*findings, sources=[source], problems=problems)))
        )
        assert first["location"] == {"path": "sub/a,b.py", "lines": {"begin": 2, "end": 2}}
        assert (first["check_name"], first["severity"]) == ("WP104", "minor")
        assert first["description"].startswith("WP104 loop-carried-value: `p` is lost (confirmed on cpu")
        assert first["fingerprint"] != second["fingerprint"]
        assert (problem["severity"], problem["location"]) == ("blocker", {"path": "bad.py", "lines": {"begin": 3}})

    def test_nothing_is_an_empty_list(self, source: Source) -> None:
        assert json.loads("".join(gitlab.render(report(sources=[source])))) == []


class TestJUnit:
    def test_a_report(self, source: Source, tmp_path: Path) -> None:
        clean = Source(tmp_path / "clean.py", "")
        found = finding(source.place("p = p * x"), evidence=Evidence("confirmed", "a < b & \x1b[0m \x00"))
        problems = [Problem("bad.py", 'no "x"', 3)]
        text = "\n".join(junit.render(report(found, sources=[source, clean], problems=problems)))
        root = ET.fromstring(text)
        assert root.attrib == {"name": "warplint", "tests": "3", "failures": "1", "errors": "1"}
        assert [suite.get("name") for suite in root] == ["bad.py", "clean.py", "sub/a,b.py"]
        (error,) = root.findall("testsuite/testcase/error")
        assert error.get("message") == 'no "x"'
        (failure,) = root.findall("testsuite/testcase/failure")
        assert failure.text is not None and "confirmed: a < b & \ufffd[0m \ufffd" in failure.text
        assert (failure.get("type"), failure.get("message")) == ("error", "`p` is lost")
        (passed,) = [case for case in root.findall("testsuite/testcase") if len(case) == 0]
        assert passed.get("classname") == "clean.py"

    def test_a_refuted_finding_is_no_failure(self, source: Source) -> None:
        found = finding(source.place("p = p * x"), evidence=Evidence("refuted", "agrees"))
        root = ET.fromstring("\n".join(junit.render(report(found, sources=[source]))))
        assert (root.get("tests"), root.get("failures")) == ("1", "0")


def test_lines_of_json(source: Source) -> None:
    found = finding(source.place("p = p * x"))
    lines = [
        json.loads(line) for line in jsonl.render(report(found, sources=[source], problems=[Problem("b.py", "no")]))
    ]
    assert [line["kind"] for line in lines] == ["finding", "error", "summary"]
    assert (lines[0]["rule"], lines[0]["line"], lines[1]["message"], lines[2]["findings"]) == ("WP104", 2, "no", 1)


class TestMarkdown:
    def test_a_document(self, source: Source) -> None:
        label = Label(source.place("x = 1"), "`x` | <b> is read here")
        found = finding(source.place("p = p * x"), [label])
        lines = list(markdown.render(report(found, sources=[source], problems=[Problem("b.py", "no")])))
        assert lines[:3] == ["# warplint", "", "Found 1 finding (1 confirmed); 1 file; 1 error."]
        assert "| sub/a,b.py:2 | WP104 loop-carried-value | error | confirmed | `p` is lost |" in lines
        assert "## WP104 loop-carried-value: sub/a,b.py:2" in lines
        start, end = [number for number, line in enumerate(lines) if line.startswith("```")]
        assert "2 | p = p * x" in lines[start:end]
        assert lines[-1] == "- b.py: no"

    def test_a_fence_holds_what_is_in_it(self, tmp_path: Path) -> None:
        source = Source(tmp_path / "a.py", 's = "````"\n')
        lines = list(markdown.render(report(finding(source.place('s = "````"')), sources=[source])))
        assert [line for line in lines if line.startswith("`")] == ["`p` is lost.", "`````text", "`````"]

    def test_nothing(self, source: Source) -> None:
        linted = "Linted for Warp 1.19.0 (installed beside warplint)."
        assert list(markdown.render(report(sources=[source]))) == ["# warplint", "", "No findings; 1 file.", "", linted]
