"""What is marked in the fixtures, and is no refusal of the compiler (``test_verdicts.py``), is asked of Warp itself."""

from __future__ import annotations

import ast
import re
from collections import Counter

import pytest
import warp as wp

from tests.contracts.verdicts import SOURCES, imported
from warplint.analysis import analyse_files
from warplint.catalogue.loading import load_catalogue
from warplint.catalogue.matching import Matcher
from warplint.frontend import open_project
from warplint.ir.facts import Evidence, Finding
from warplint.probe import ProbeOptions, probe

wp.config.quiet = True
#: The rules whose findings a launch answers.
ASKED = ("WP702", "WP703", "WP707", "WP708", "WP709", "WP710")
#: What no launch on this device answers, and why.
UNANSWERED = {
    'wp.launch(repeat, dim=8, inputs=[x, 1], device="cpu")': "there is no second device to have the array on",
    "def add(x: wp.array(dtype=float)):": "a kernel that is made in every round does what it should; it costs time",
}
Asked = list[tuple[Finding, Evidence]]


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Asked:
    rules = load_catalogue()[0].rules
    project = open_project((SOURCES,))
    analyses = analyse_files(sorted(SOURCES.glob("*.py")), project, {}, jobs=1)
    facts = [fact for analysis in analyses for fact in analysis.facts]
    findings = Matcher(rules, "1.19.0").findings(facts, frozenset(ASKED), frozenset(ASKED))
    options = ProbeOptions(device="cpu", cache_dir=tmp_path_factory.mktemp("cache"))
    return list(zip(findings, probe(findings, project, options), strict=True))


def test_what_the_data_decides_and_what_costs_time_is_told_on_request() -> None:
    facts = [
        fact
        for name in ("races.py", "launches.py")
        for analysis in analyse_files([SOURCES / name], open_project((SOURCES,)), {}, jobs=1)
        for fact in analysis.facts
        if fact.attributes.get("what") in ("shared", "kernel-in-loop")
    ]
    matcher = Matcher(load_catalogue()[0].rules, "1.19.0")
    assert matcher.findings(facts, frozenset(ASKED)) == []
    assert {finding.rule for finding in matcher.findings(facts, frozenset(ASKED), frozenset(ASKED))} == {
        "WP708",
        "WP709",
    }


def test_every_rule_is_asked_about(asked: Asked) -> None:
    counts = Counter(finding.rule for finding, _ in asked)
    assert {rule: counts[rule] for rule in ASKED if counts[rule] < 3} == {}


def test_warp_does_what_is_said(asked: Asked) -> None:
    left = set()
    for finding, evidence in asked:
        if evidence.verdict != "confirmed":
            line = finding.location.path.read_text().split("\n")[finding.location.span.line - 1]
            left.add(line.partition("  #")[0].strip())
    assert left == set(UNANSWERED)


def test_checkers_are_content_with_what_they_do_not_see() -> None:
    """All that the file has them check is wrong."""
    path = SOURCES / "checkers.py"
    module, marked = imported(path), set()
    for function in ast.parse(path.read_text()).body:
        if isinstance(function, ast.FunctionDef) and not function.decorator_list:
            lines = path.read_text().split("\n")[function.lineno : function.end_lineno]
            mark = re.search(r"# (expect|ok): WP704", "\n".join(lines))
            assert mark is not None
            marked.add(mark[1])
            assert getattr(module, function.name)([0.7, 1.3]) is (mark[1] == "expect"), function.name
    assert marked == {"expect", "ok"}
