"""What the rules for older versions of Warp find in code for each of them (``sources/old_versions.py``)."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.kernels.conftest import SOURCES
from warplint import kernels
from warplint.catalogue.loading import load_catalogue
from warplint.catalogue.matching import Matcher
from warplint.kernels.names import lacking, parsed
from warplint.source.project import Module, Project

KERNELS = Path(__file__).parent.parent / "fixtures" / "kernels"
RULES = ("WP312", "WP313", "WP314", "WP315", "WP413")
VERSIONS = ("1.5", "1.11", "1.12", "1.13", "1.14", "1.15", "1.16", "1.17", "1.18", "1.19")


@pytest.mark.parametrize("version", VERSIONS)
def test_findings_are_those_of_the_version(project: Project, version: str) -> None:
    project.warp_version = lambda path: parsed(version)  # type: ignore[misc]
    module = project.load(SOURCES / "old_versions.py")
    assert isinstance(module, Module)
    matcher = Matcher(load_catalogue()[0].rules, f"{version}.0")
    found = matcher.findings(list(kernels.analyse(project, module)), frozenset(RULES))
    marks = [
        (number, rule, parsed(since or "1.0"), parsed(until))
        for number, line in enumerate(module.lines, 1)
        for since, until, rule in re.findall(r"# (?:since (1\.\d+) )?before (1\.\d+): (WP\d+)", line)
    ]
    assert {rule for _, rule, _, _ in marks} == set(RULES)
    expected = {(number, rule) for number, rule, since, until in marks if since <= parsed(version) < until}
    assert {(finding.location.span.line, finding.rule) for finding in found} == expected
    assert all(re.search(r"before Warp 1\.|Warp 1\.11", finding.message) for finding in found)


@pytest.mark.parametrize("version", ["1.5", "1.11", "1.12", "1.13", "1.19"])
def test_marks_for_older_versions_in_other_kernels_are_found(project: Project, version: str) -> None:
    project.warp_version = lambda path: parsed(version)  # type: ignore[misc]
    matcher = Matcher(load_catalogue()[0].rules, f"{version}.0")
    seen = 0
    for path in sorted(KERNELS.glob("*.py")):
        marks = {
            (number, rule): parsed(until)
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
            for until, rule in re.findall(r"# before (1\.\d+): (WP\d+)", line)
        }
        if not marks:
            continue
        seen += 1
        module = project.load(path)
        assert isinstance(module, Module)
        rules = frozenset(rule for _, rule in marks)
        found = matcher.findings(list(kernels.analyse(project, module)), rules)
        places = {(finding.location.span.line, finding.rule) for finding in found}
        assert {mark: mark in places for mark in marks} == {
            mark: parsed(version) < until for mark, until in marks.items()
        }
    assert seen


@pytest.mark.parametrize(
    ("name", "version", "said"),
    [
        ("sin", "1.5", None),
        ("sine", "1.19", "Warp has no `wp.sine`"),
        ("sine", "1.20", None),  # nobody knows
        ("select", "1.8", None),
        ("select", "1.9", None),  # somewhere between those that were looked at
        ("select", "1.11", "Warp 1.11 has no `wp.select` any more"),
        ("where", "1.5", "Warp 1.5 has no `wp.where` yet"),
        ("where", "1.6", None),
        ("where", "1.19", None),
    ],
)
def test_names_of_a_version(name: str, version: str, said: str | None) -> None:
    assert lacking(name, parsed(version)) == said


@pytest.mark.parametrize(("version", "refused"), [("1.16", True), ("1.17", True), ("1.18", False), ("1.19", False)])
def test_gradients_of_volumes_of_four_components(project: Project, version: str, refused: bool) -> None:
    project.warp_version = lambda path: parsed(version)  # type: ignore[misc]
    module = project.load(SOURCES.parent.parent / "fixtures" / "contracts" / "volumes.py")
    assert isinstance(module, Module)
    found = {fact.definition for fact in kernels.analyse(project, module) if fact.kind == "volume-gradient-shape"}
    right = {"vec4_mat43", "vec4d_mat43d", "vec4_local_matrix", "type_of_grads", "index_vec4"}
    assert found & right == (right if refused else set())
    assert not found & {"vec3_mat33", "scalar_vec3", "without_gradient"}


TABLE = json.loads((Path(__file__).parents[2] / "docs" / "versions.json").read_text(encoding="utf-8"))
REFUSALS = {"unsupported-in-kernel", "constant-mutated-in-loop", "volume-gradient-shape"}


@pytest.mark.parametrize("version", TABLE["warp"])
def test_what_a_version_compiles_is_not_called_refused(project: Project, version: str) -> None:
    """``docs/versions.json`` has what is refused by the newest version and was taken by this one when it was run."""
    project.warp_version = lambda path: parsed(version)  # type: ignore[misc]
    for path in sorted((SOURCES.parent.parent / "fixtures" / "contracts").glob("*.py")):
        module = project.load(path)
        assert isinstance(module, Module)
        refused = {fact.definition for fact in kernels.analyse(project, module) if fact.kind in REFUSALS}
        taken = {name.partition(".")[2] for name in TABLE["taken"][version] if name.startswith(f"{path.stem}.")}
        assert refused & taken == set(), path.name
