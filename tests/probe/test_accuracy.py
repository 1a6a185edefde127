"""No kernel with a right adjoint is confirmed, none with a wrong one refuted, and nearly all are decided."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.probe.conftest import CORPUS, marked
from warplint.ir.facts import Evidence, Finding

Run = Callable[[list[Finding]], list[Evidence]]


@pytest.mark.parametrize(("name", "expected"), [("wrong", "confirmed"), ("right", "refuted")])
def test_verdicts(name: str, expected: str, run: Run) -> None:
    cases = list(marked(CORPUS / f"{name}.py"))
    evidence = run([case for _, case in cases])
    found = {f"{label}:{case.location.span.line}": one for (label, case), one in zip(cases, evidence, strict=False)}
    assert len(found) >= 25
    assert {label: one.detail for label, one in found.items() if one.verdict != expected} == {}
