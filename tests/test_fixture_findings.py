"""What warplint finds in the fixtures is what their marks say: nothing is missing, and nothing else is there.

That the marks themselves are true is established by running Warp (``test_fixture_programs.py``,
``test_fixture_kernels.py``). ``# todo-expect:`` marks a known miss and ``# todo-ok:`` a known false alarm; a mark that
no longer holds fails too, so that it is taken away when the analysis gets better.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from program_labels import read_labels, repaired_copy

from warplint.analysis import analyse_files
from warplint.catalogue.loading import load_catalogue
from warplint.catalogue.matching import Matcher
from warplint.frontend import open_project
from warplint.ir.kinds import KINDS

FIXTURES = Path(__file__).parent / "fixtures"
#: What is only asked about is no finding without a probe: ``probe/test_custom_adjoints.py`` looks at its marks.
RULES = {rule.id for rule in load_catalogue()[0].rules if not rule.only_confirmed}
_MARK = re.compile(r"# (expect|ok|todo-expect|todo-ok): (WP\d+(?:, *WP\d+)*)")

Places = set[tuple[str, int, str]]


@pytest.fixture(scope="module", params=["kernels", "programs", "contracts"])
def folder(request: pytest.FixtureRequest) -> Path:
    return FIXTURES / str(request.param)


def marks(folder: Path) -> dict[str, Places]:
    """The places of each kind of mark for the rules that exist: file, line, rule."""
    found: dict[str, Places] = {"expect": set(), "ok": set(), "todo-expect": set(), "todo-ok": set()}
    for path in folder.rglob("*.py"):
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            for kind, rules in _MARK.findall(line):
                for rule in re.findall(r"WP\d+", rules):
                    if rule in RULES:
                        found[kind].add((str(path.relative_to(folder)), number, rule))
    return found


def findings(folder: Path) -> Places:
    """The static findings in a folder: file, line, rule."""
    files = sorted(folder.rglob("*.py"))
    analyses = analyse_files(files, open_project((folder,)), {}, jobs=1)
    assert [problem for analysis in analyses for problem in analysis.problems] == []
    matcher = Matcher(load_catalogue()[0].rules, "1.19.0")
    facts = [fact for analysis in analyses for fact in analysis.facts]
    for fact in facts:
        assert set(fact.attributes) == KINDS[fact.kind], fact.kind
    # Kernels that are written for one contract are not marked for what is wrong with their adjoints, nor the other way
    # round. Which adjoints no tape reaches is nothing wrong.
    contracts = {rule for rule in RULES if rule.startswith("WP7")}
    rules = {"contracts": contracts, "kernels": RULES - contracts}.get(folder.name, RULES - {"WP711"})
    # What only the data of a launch decides, or only costs time, is told where a contract is selected by itself.
    reported = matcher.findings(facts, frozenset(rules), frozenset(contracts if folder.name == "contracts" else ()))
    assert [finding.message for finding in reported if "``" in finding.message] == [], "quoted twice"
    return {
        (str(finding.location.path.relative_to(folder)), finding.location.span.line, finding.rule)
        for finding in reported
    }


def test_findings_are_what_the_marks_say(folder: Path) -> None:
    marked, found = marks(folder), findings(folder)
    assert len(marked["expect"]) >= 50 and len(marked["ok"]) >= 50, "the marks are not read"
    assert found - marked["expect"] - marked["todo-ok"] == set(), "unexpected"
    assert marked["expect"] - found == set(), "missing"
    assert marked["todo-expect"] & found == set(), "no longer missed: say expect"
    assert marked["todo-ok"] - found == set(), "no longer a false alarm: say ok"


def test_a_repaired_program_is_clean(tmp_path: Path) -> None:
    """Without its marked cause alone, as `labels.yaml` takes it away, a program has nothing to be told."""
    labels = [label for label in read_labels() if label.repair]
    assert len(labels) >= 100
    for label in labels:
        folder = tmp_path / label.name
        assert findings(repaired_copy(label, folder)) == set(), label.name
