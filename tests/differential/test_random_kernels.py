"""A fixed set of random kernels: the verdict of the rules against Warp's tape and finite differences."""

from __future__ import annotations

import pytest

from tests.differential.run import SELECTED, Outcome, outcomes

pytest.importorskip("warp")

SEED, COUNT = 9201, 150


def test_verdicts_agree_with_finite_differences() -> None:
    decided = [outcome for outcome in outcomes(SEED, COUNT) if outcome.wrong is not None]
    assert len(decided) >= 0.9 * COUNT

    def kinds(outcome: Outcome) -> set[str]:
        return {fact.split(":")[0] for fact in outcome.facts}

    # Kernels with facts of other kinds say nothing about the rules: those may be why they are wrong.
    judged = [outcome for outcome in decided if kinds(outcome) <= SELECTED]
    flagged = [outcome for outcome in judged if outcome.facts]
    wrong = [outcome for outcome in judged if outcome.wrong]
    assert len(flagged) >= 20 and len(wrong) >= 20
    both = sum(bool(outcome.facts) for outcome in wrong)
    # The two: a greatest value over nested loops, and a store that the next one undoes.
    assert both / len(flagged) >= 25 / 27
    assert both == len(wrong)
