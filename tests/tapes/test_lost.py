"""Operations that the reverse sweep goes past, sweeps that start nowhere, and what looks like it and is right."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from judged import judge

from warplint.ir.facts import Fact

Run = Callable[[str], list[Fact]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Analyse a program and hold what is found to its marks."""
    return partial(judge, tmp_path, kinds={"backward-disabled", "launch-not-recorded", "loss-not-on-tape"})


DISABLED = """
@wp.kernel(enable_backward=False)
def fast(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]
"""


def test_kernel_without_adjoint_on_the_path(run: Run) -> None:
    (fact,) = run(
        DISABLED
        + """
with tape:
    wp.launch(halve, dim=n, inputs=[x, a])
    wp.launch(fast, dim=n, inputs=[a, b])  # expect: WP302
    wp.launch(total, dim=n, inputs=[b, loss])
tape.backward(loss)
"""
    )
    assert (fact.attributes["kernel"], fact.attributes["input"]) == ("fast", "x")


def test_kernel_without_adjoint_off_the_path(run: Run) -> None:
    run(
        DISABLED
        + """
constant = wp.zeros(n, dtype=float)
with tape:
    wp.launch(fast, dim=n, inputs=[constant, a])
    wp.launch(fast, dim=n, inputs=[x, b])
    wp.launch(distance, dim=n, inputs=[x, a, loss])
tape.backward(loss)
wp.launch(fast, dim=n, inputs=[x, a])
"""
    )


def test_adjoint_that_the_program_writes_itself(run: Run) -> None:
    run(
        DISABLED
        + """
with tape:
    wp.launch(fast, dim=n, inputs=[x, a])
    tape.record_func(lambda: None, [x, a])
    wp.launch(total, dim=n, inputs=[a, loss])
tape.backward(loss)
"""
    )


def test_launch_that_is_not_recorded(run: Run) -> None:
    run("""
        prepared = wp.launch(square, dim=n, inputs=[x, a], record_cmd=True)
        with tape:
            prepared.launch()  # expect: WP309
            wp.launch(halve, dim=n, inputs=[a, b], record_tape=False)  # expect: WP309
            wp.launch(total, dim=n, inputs=[b, loss])
        tape.backward(loss)
    """)


def test_launch_that_is_not_recorded_and_need_not_be(run: Run) -> None:
    run("""
        prepared = wp.launch(square, dim=n, inputs=[x, a], record_cmd=True)
        prepared.launch()
        with tape:
            wp.launch(square, dim=n, inputs=[x, b], record_tape=False)
            wp.launch(fill, dim=n, inputs=[a], record_tape=False)
            wp.launch(distance, dim=n, inputs=[x, a, loss])
        tape.backward(loss)
        prepared.launch()
    """)


def test_loss_that_is_computed_after_the_tape(run: Run) -> None:
    run("""
        with tape:
            wp.launch(square, dim=n, inputs=[x, a])
        wp.launch(total, dim=n, inputs=[a, loss])
        tape.backward(loss)  # expect: WP409
        print(x.grad.numpy())
    """)


def test_loss_on_the_tape_and_changed_after_it(run: Run) -> None:
    run("""
        with tape:
            wp.launch(square, dim=n, inputs=[x, a])
            wp.launch(total, dim=n, inputs=[a, loss])
        wp.launch(total, dim=n, inputs=[x, loss])
        tape.backward(loss)
        print(x.grad.numpy())
    """)


def test_sweep_that_starts_from_seeds(run: Run) -> None:
    run("""
        with tape:
            wp.launch(square, dim=n, inputs=[x, a])
        wp.launch(total, dim=n, inputs=[a, loss])
        a.grad.fill_(1.0)
        tape.backward(loss)
        tape.backward(grads={a: wp.ones_like(a)})
        print(x.grad.numpy())
    """)


def test_loss_that_code_of_others_computes(run: Run) -> None:
    run("""
        import solvers

        with tape:
            wp.launch(square, dim=n, inputs=[x, a])
            solvers.reduce(a, loss)
        tape.backward(loss)
        print(x.grad.numpy())
    """)
