"""A seeded sample of the refactorings: what they do not change, and that findings survive them."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
import warp as wp
from program_labels import PROGRAMS, read_labels, repaired_copy

from .behaviour import differs
from .survival import REFACTORINGS, Case, Outcome, baseline, composed, findings, judge, read, refactored

wp.config.quiet = True
SEED = 20
#: What is known not to be followed: values that are sent into generators.
NOT_FOLLOWED = {"body_sent_to_coroutine"}
NAMES = sorted(REFACTORINGS.keys() - NOT_FOLLOWED)
#: Small programs of several kinds: functions, classes, swapped buffers, windows, a package with registries.
PROGRAMS_USED = ("kiln_accumulate", "tank_network", "pendulum_trainer", "rail_pingpong", "motor_fit", "ledger_rows")


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> list[Case]:
    folder = tmp_path_factory.mktemp("programs")
    found = baseline([case for case in read(PROGRAMS) if case.name in PROGRAMS_USED], folder / "as-they-are")
    assert len(found) == len(PROGRAMS_USED)
    for label in read_labels():
        if label.name in PROGRAMS_USED[:2]:
            for case in read(repaired_copy(label, folder / label.name)):
                texts = {path: text.replace("# expect:", "# was:") for path, text in case.program.items()}
                found.append(Case(f"{case.name}-repaired", texts))
    return found


def test_there_are_many_refactorings() -> None:
    assert len(NAMES) > 300


def test_findings_survive_single_refactorings(cases: list[Case], tmp_path: Path) -> None:
    outcome = Outcome()
    random = Random(SEED)
    for name in random.sample(NAMES, 50):
        for case in random.sample(cases, len(cases)):
            made = refactored(case, [name], SEED)
            if made is not None:
                found = findings([(f"{name}-{case.name}", made.program)], tmp_path)[f"{name}-{case.name}"]
                judge(case, made, found, f"{name} {case.name}", outcome)
                break
    assert outcome.programs > 35
    assert outcome.lost == []
    assert outcome.false == []


def test_findings_survive_composed_refactorings(cases: list[Case], tmp_path: Path) -> None:
    outcome = Outcome()
    for number, (case, names, made) in enumerate(composed(cases, SEED, 20)):
        found = findings([(f"{number}", made.program)], tmp_path)[f"{number}"]
        judge(case, made, found, f"{'+'.join(names)} {case.name}", outcome)
    assert outcome.expected > 10
    assert outcome.kept >= 0.95 * outcome.expected, outcome.lost
    assert outcome.false == []


def test_refactored_programs_do_what_they_did(cases: list[Case], tmp_path: Path) -> None:
    programs = [case for case in cases if case.name in PROGRAMS_USED[:4]]
    random = Random(SEED)
    seen = 0
    for name in random.sample(NAMES, 8):
        for case in random.sample(programs, len(programs)):
            made = refactored(case, [name], SEED)
            if made is not None:
                seen += 1
                assert differs(case, made, tmp_path / name) == "", name
                break
    assert seen > 4
