"""Notebooks, linted by the command."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from command import Command
from programs import CARRIED, CLEAN, IN_PLACE


def write(path: Path, *cells: str) -> None:
    head = {"cell_type": "markdown", "metadata": {}, "source": ["# Warp\n"]}
    code = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": cell.splitlines(True)} for cell in cells]
    path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [head, *code]}))


LATER = IN_PLACE.removeprefix("import warp as wp\n\n\n")


@pytest.fixture
def notebook(tmp_path: Path) -> Path:
    path = tmp_path / "study.ipynb"
    write(path, "%pip install warp-lang\nimport warp as wp", LATER, CARRIED)
    return path


def test_places_are_cells_and_lines(notebook: Path, lint: Command) -> None:
    done = lint(".")
    assert [line.split(" ")[:3] for line in done.stdout.splitlines()[:-1]] == [
        ["study.ipynb:cell", "3:4:5:", "WP101"],
        ["study.ipynb:cell", "4:8:18:", "WP104"],
    ]
    assert done.returncode == 1


def test_the_source_of_the_cell_is_shown(notebook: Path, warplint: Command) -> None:
    text = warplint("--no-probe", "--select", "WP101", ".").stdout
    assert " --> study.ipynb:cell 3:4:5\n  |\n4 |     light[i] *= passed[i]\n" in text


def test_for_programs_the_path_is_that_of_the_file(notebook: Path, warplint: Command) -> None:
    def run(output_format: str) -> str:
        return warplint("--no-probe", "--select", "WP101", "--output-format", output_format, ".").stdout

    (found,) = json.loads(run("json"))["findings"]
    assert (found["path"], found["cell"], found["line"]) == ("study.ipynb", 3, 4)
    (result,) = json.loads(run("sarif"))["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "study.ipynb"
    assert json.loads(run("gitlab"))[0]["location"]["path"] == "study.ipynb"
    (line,) = run("lsp").splitlines()
    assert json.loads(line)["uri"].endswith("/study.ipynb")
    assert ",file=study.ipynb,line=4," in run("github")
    suites = ElementTree.fromstring(run("junit")).findall("testsuite")
    assert [(suite.get("name"), suite.get("tests"), suite.get("failures")) for suite in suites] == [
        ("study.ipynb", "1", "1")
    ]


@pytest.mark.parametrize("output_format", ["sarif", "gitlab", "github", "lsp", "junit"])
def test_what_knows_files_and_lines_only_is_told_the_cell(
    notebook: Path, warplint: Command, output_format: str
) -> None:
    report = warplint("--no-probe", "--select", "WP101", "--output-format", output_format, ".").stdout
    assert re.search(r"cell 3:(4:5:)? `light\[i\] \*= passed\[i\]` overwrites a value", report)
    write(notebook, "import warp as wp\n", "x = 1\ndef f(:\n")
    if output_format != "lsp":  # it holds findings alone
        report = warplint("--no-probe", "--output-format", output_format, ".").stdout
        assert re.search(r"cell 3:(2:7:)? syntax error: ", report)


def test_a_finding_is_probed(notebook: Path, warplint: Command) -> None:
    done = warplint("--device", "cpu", "--output-format", "json", ".")
    assert [found["evidence"]["verdict"] for found in json.loads(done.stdout)["findings"]] == ["confirmed"] * 2


def test_comments_and_baselines_work(notebook: Path, lint: Command) -> None:
    write(notebook, "import warp as wp", LATER.rstrip() + "  # warplint: ignore[WP101] fine", CARRIED)
    assert lint(".").stdout.count("WP") == 1
    assert lint("--baseline", "known.json", "--write-baseline", ".").returncode == 0
    write(notebook, "import warp as wp", CLEAN, LATER.rstrip() + "  # warplint: ignore[WP101] fine", CARRIED)
    assert lint("--baseline", "known.json", ".").returncode == 0
    added = lint("--no-ignores", "--ignore", "WP104", ".")
    assert added.stdout.startswith("study.ipynb:cell 4:4:5: WP101")
    refused = lint("--add-ignore", "checked", ".")
    assert (refused.returncode, "not written into notebooks" in refused.stderr) == (2, True)


def test_mistakes(tmp_path: Path, notebook: Path, lint: Command) -> None:
    write(notebook, "import warp as wp\n", "x = 1\ndef f(:\n")
    (tmp_path / "broken.ipynb").write_text("{ warp")
    done = lint(".")
    assert done.returncode == 2
    first, second = done.stderr.splitlines()
    assert first.startswith("warplint: broken.ipynb: this is no notebook: ")
    assert second.startswith("warplint: study.ipynb:cell 3:2:7: syntax error: ")


def test_from_standard_input(notebook: Path, lint: Command) -> None:
    done = lint("-", "--stdin-filename", "other.ipynb", stdin=notebook.read_bytes())
    assert done.stdout.startswith("other.ipynb:cell 3:4:5: WP101")


def test_stubs_are_skipped(tmp_path: Path, lint: Command) -> None:
    (tmp_path / "a.pyi").write_text(IN_PLACE)
    done = lint("a.pyi", ".")
    assert (done.returncode, done.stderr) == (0, "warplint: no Python files found under the given paths\n")
