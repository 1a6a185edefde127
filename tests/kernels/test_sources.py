"""Annotated sources: every ``# expect:`` is found where it stands, and nothing else is."""

from __future__ import annotations

import re

import pytest

from tests.kernels.conftest import SOURCES
from warplint import kernels
from warplint.source.project import Module, Project

#: The rule that selects each kind of fact.
RULES = {
    "array-augmented-assignment": "WP101",
    "component-overwrite": "WP102",
    "array-overwritten": "WP103",
    "loop-carried-value": "WP104",
    "loop-result-used": "WP105",
    "carried-index": "WP106",
    "early-exit": "WP107",
    "func-compiled-without-adjoint": "WP303",
    "unselected-branch": "WP501",
}
ANNOTATED = sorted(path.name for path in SOURCES.glob("*.py") if "loops" not in path.name)


@pytest.mark.parametrize("name", ANNOTATED)
def test_findings_are_those_expected(project: Project, name: str) -> None:
    module = project.load(SOURCES / name)
    assert isinstance(module, Module)
    found = {
        (fact.location.span.line, RULES[fact.kind]) for fact in kernels.analyse(project, module) if fact.kind in RULES
    }
    expected = set()
    for number, line in enumerate(module.lines, 1):
        for mark in re.findall(r"# expect: (WP\d+)", line):
            expected.add((number, mark))
    assert found == expected


@pytest.mark.parametrize("name", ANNOTATED)
def test_facts_say_where_and_what(project: Project, name: str) -> None:
    module = project.load(SOURCES / name)
    assert isinstance(module, Module)
    for fact in kernels.analyse(project, module):
        spans = [label.location.span for label in fact.labels]
        assert fact.location.span in spans, "the primary place is part of the story"
        assert fact.program is not None
        assert fact.program.kernel.qualname == fact.definition
        assert fact.program.flagged == (fact.location,)
        for span in spans:
            assert 1 <= span.line <= span.end_line <= len(module.lines)
