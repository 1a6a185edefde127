"""Relaxation loops that are cut off, and time stepping that looks like them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from judged import judge

from warplint.ir.facts import Fact

Run = Callable[[str], list[Fact]]
LOOP = """
@wp.kernel
def relax(source: wp.array(dtype=float), x: wp.array(dtype=float), EXTRA: float, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = source[i] - EXTRA * x[i]


xs = [wp.zeros_like(x) for _ in range(80)]
with tape:
    for k in range(ROUNDS):
        wp.launch(relax, dim=n, inputs=[x, xs[k], VALUE, xs[k + 1]])MARK
    wp.launch(total, dim=n, inputs=[xs[ROUNDS], loss])
tape.backward(loss)
print(x.grad.numpy())
"""


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Analyse a program and hold what is found to its marks."""
    return partial(judge, tmp_path, kinds={"unconverged-solver"})


@pytest.mark.parametrize(
    ("rounds", "extra", "value", "found"),
    [
        ("5", "weight", "0.5", True),
        ("70", "weight", "0.5", False),  # many
        ("3", "weight", "0.5", False),  # which may stand for any number
        ("5", "dt", "0.5", False),  # steps in time
        ("5", "weight", "0.1 * k", False),  # each round is another one
    ],
)
def test_rounds(run: Run, rounds: str, extra: str, value: str, found: bool) -> None:
    text = LOOP.replace("ROUNDS", rounds).replace("EXTRA", extra).replace("VALUE", value)
    facts = run(text.replace("MARK", "  # expect: WP410" if found else "  # ok: WP410"))
    assert [fact.attributes["rounds"] for fact in facts] == ([5] if found else [])
