"""Several reports of one run, and each format through the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import Command
from linting import LIGHT, PLAN, hits

from warplint.settings.options import OUTPUT_FORMATS


def test_several_in_one_run(project: Path, lint: Command) -> None:
    done = lint("--output", "sarif=out.sarif", "--output", "json=out.json", "--output", "html=out.html", ".")
    assert (hits(done), done.returncode, done.stderr) == ([LIGHT, PLAN], 1, "")
    results = json.loads((project / "out.sarif").read_text())["runs"][0]["results"]
    assert [result["ruleId"] for result in results] == ["WP101", "WP104"]
    assert len(json.loads((project / "out.json").read_text())["findings"]) == 2
    assert (project / "out.html").read_text().startswith("<!doctype html>")


@pytest.mark.parametrize("output_format", OUTPUT_FORMATS)
def test_every_format_knows_every_finding(project: Path, warplint: Command, output_format: str) -> None:
    (project / "bad.py").write_text("(\n")
    done = warplint("--no-probe", "--output-format", output_format, "--output", f"{output_format}=copy", ".")
    assert done.returncode == 2
    assert "WP101" in done.stdout and "WP104" in done.stdout
    if output_format != "full":
        assert (project / "copy").read_text() == done.stdout
    clean = warplint("--no-probe", "--output-format", output_format, "clean.py")
    assert clean.returncode == 0
    assert "WP1" not in clean.stdout


@pytest.mark.parametrize("option", ["-o", "--output-file"])
def test_into_a_file_instead(project: Path, lint: Command, option: str) -> None:
    printed = lint(".").stdout
    done = lint(option, "found.txt", ".", FORCE_COLOR="1")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
    assert (project / "found.txt").read_text() == printed
    done = lint(option, "nowhere/found.txt", ".")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("warplint: nowhere/found.txt: cannot write the report: No such file")


def test_a_report_that_cannot_be_written(project: Path, lint: Command) -> None:
    done = lint("--output", "sarif=nowhere/out.sarif", ".")
    assert (hits(done), done.returncode) == ([LIGHT, PLAN], 2)
    assert done.stderr.startswith("warplint: nowhere/out.sarif: cannot write the report: No such file")


@pytest.mark.parametrize("word", ["sarif", "xml=a", "sarif=", "=a"])
def test_a_wrong_output(lint: Command, word: str) -> None:
    done = lint("--output", word, ".")
    assert (done.returncode, "is no FORMAT=FILE" in done.stderr) == (2, True)
    assert ("; `--output-format sarif` prints it" in done.stderr) == (word == "sarif")
