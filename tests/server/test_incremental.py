"""After any edit, the findings are those that a fresh start would give."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from edits import edited

from warplint.server.checking import Asked, Checked, Checker

FIXTURES = Path(__file__).parent.parent / "fixtures"
FILES = sorted(path for path in FIXTURES.rglob("*.py") if path.name != "__init__.py")


def told(checked: Checked) -> list[object]:
    found: list[object] = [
        # What programs hold is left out: two runs of the same analysis give some hints in them other numbers.
        (one.rule, one.severity, one.message, one.location, one.fact.labels, one.fact.reach, type(one.fact.program))
        for one in checked.findings
    ]
    return [*found, *((problem.message, problem.line) for problem in checked.problems)]


def compared(path: Path, seed: int, steps: int) -> None:
    chance = random.Random(seed)
    original = path.read_text(encoding="utf-8")
    asked = Asked(min_severity="info")
    kept = Checker(path.parent, asked)
    text, broken = original, 0
    for step in range(steps):
        new = edited(text, chance)
        checked = kept.check(path, new, {})
        fresh = Checker(path.parent, asked).check(path, new, {})
        assert told(checked) == told(fresh), f"{path} after step {step} of seed {seed}:\n{new}"
        # A file that does not parse stays so for a while, and is then repaired.
        broken = broken + 1 if checked.problems else 0
        if broken > 2:
            broken = 0
        else:
            text = new if not checked.problems or chance.random() < 0.3 else text


@pytest.mark.parametrize("path", FILES[:: max(1, len(FILES) // 10)], ids=lambda path: path.stem)
def test_random_edits(path: Path) -> None:
    compared(path, seed=len(path.stem), steps=8)
