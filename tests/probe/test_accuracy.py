"""No kernel with a right adjoint is confirmed, none with a wrong one refuted, and nearly all are decided."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.probe.conftest import CORPUS, marked
from warplint.ir.facts import Evidence, Finding

Run = Callable[[list[Finding]], list[Evidence]]


@pytest.mark.parametrize(
    ("names", "expected"),
    [(("wrong", "wrong_by_little"), "confirmed"), (("right", "right_and_hard"), "refuted")],
)
def test_verdicts(names: tuple[str, ...], expected: str, run: Run) -> None:
    cases = [case for name in names for case in marked(CORPUS / f"{name}.py")]
    evidence = run([case for _, case in cases])
    found = {f"{label}:{case.location.span.line}": one for (label, case), one in zip(cases, evidence, strict=True)}
    assert len(found) >= 60
    other = {label: one.detail for label, one in found.items() if one.verdict != expected}
    assert {label for label in other if found[label].verdict != "inconclusive"} == set()
    assert len(other) <= 0.05 * len(found), other
