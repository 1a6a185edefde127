"""On small kernels, each written for one contract, warplint says what Warp's compiler says."""

from __future__ import annotations

import pytest
import warp as wp

from tests.contracts.verdicts import SOURCES, Verdict, verdicts

wp.config.quiet = True


@pytest.fixture(scope="module")
def found() -> list[Verdict]:
    return verdicts(SOURCES.glob("*.py"))


def test_there_are_many_of_both_kinds(found: list[Verdict]) -> None:
    refused = sum(bool(one.refused) for one in found)
    assert refused >= 100 and len(found) - refused >= 60


def test_nothing_that_compiles_is_called_refused(found: list[Verdict]) -> None:
    assert [one for one in found if one.found and not one.refused] == []


def test_agreement(found: list[Verdict]) -> None:
    assert sum(one.agree for one in found) >= 0.98 * len(found), [one for one in found if not one.agree]
