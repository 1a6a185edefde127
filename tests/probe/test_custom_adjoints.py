"""Hand-written adjoints are compared with differences without any further suspicion (WP602)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from warplint.frontend import open_project
from warplint.ir.facts import Fact
from warplint.kernels import analyse
from warplint.pipeline import run
from warplint.settings.options import Options, Selectors
from warplint.source.project import Module

FIXTURES = Path(__file__).parent.parent / "fixtures/kernels"
CORPUS = Path(__file__).parent / "corpus"
SELECTED = Selectors(select=("WP602",))


def _facts(path: Path) -> list[Fact]:
    project = open_project((path.parent,))
    module = project.load(path)
    assert isinstance(module, Module)
    return [fact for fact in analyse(project, module) if fact.kind == "custom-adjoint"]


def _marks(path: Path) -> tuple[set[int], set[int]]:
    lines = path.read_text().split("\n")
    marked = [(n, mark[1]) for n, line in enumerate(lines, 1) if (mark := re.search(r"# (expect|ok): .*WP602", line))]
    names = [number for number, kind in marked if "def " in lines[number - 1]]
    return {n for n, kind in marked if kind == "expect"}, {n for n, kind in marked if kind == "ok" and n in names}


def test_the_probe_finds_what_is_marked_and_nothing_else(kernel_cache: Path) -> None:
    path = FIXTURES / "WP602.py"
    expected, right = _marks(path)
    assert len(expected) == 5 and len(right) == 4
    options = Options((str(path),), selectors=SELECTED, isolated=True, device="cpu", cache_dir=str(kernel_cache))
    report = run(options).report
    assert {finding.location.span.line for finding in report.findings} == expected
    assert {finding.evidence.verdict for finding in report.findings} == {"confirmed"}
    assert not report.refuted and not report.problems
    # All were looked at: that nothing is said of the right ones is an answer.
    assert {fact.location.span.line for fact in _facts(path)} == expected | right


def test_nothing_is_said_without_a_probe() -> None:
    options = Options(
        (str(FIXTURES / "WP602.py"),), selectors=SELECTED, isolated=True, probe=False, min_severity="info"
    )
    outcome = run(options)
    report = outcome.report
    assert (report.findings, report.refuted, report.unlisted, report.baselined) == ((), (), 0, 0)
    assert not outcome.failed


def test_other_purposes_are_told_from_the_text() -> None:
    purposes = {fact.attributes["function"]: fact.attributes["purpose"] for fact in _facts(CORPUS / "on_purpose.py")}
    assert purposes == {
        "straight_through": "through",
        "surrogate": "through",
        "through_the_bounds": "through",
        "reversed_gradient": "unchanged",
        "clipped": "limited",
        "dropped_if_large": "limited",
        "nothing": "stopped",
    }


def test_what_another_rule_finds_is_found_once() -> None:
    assert {fact.attributes["function"] for fact in _facts(FIXTURES / "WP605.py")}.isdisjoint(
        {"adj_spring", "adj_blended"}
    )
    assert "adj_square" not in {fact.attributes["function"] for fact in _facts(FIXTURES / "WP601.py")}


@pytest.mark.parametrize("how", ["differs", "agrees"])
def test_both_sides_of_a_branch_are_looked_at(how: str, tmp_path: Path, kernel_cache: Path) -> None:
    slope = "2.0" if how == "agrees" else "1.0"
    path = tmp_path / "branches.py"
    path.write_text(
        f"""import warp as wp


@wp.func
def spring(x: float):
    if x < -0.5:
        return 2.0 * x
    return x * x - 1.25


@wp.func_grad(spring)
def adj_spring(x: float, adj_ret: float):
    if x < -0.5:
        wp.adjoint[x] += {slope} * adj_ret
    else:
        wp.adjoint[x] += 2.0 * x * adj_ret
"""
    )
    options = Options((str(path),), selectors=SELECTED, isolated=True, device="cpu", cache_dir=str(kernel_cache))
    assert [finding.rule for finding in run(options).report.findings] == (["WP602"] if how == "differs" else [])
