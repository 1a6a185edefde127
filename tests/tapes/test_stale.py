"""Gradients that are read when they are not there, and what looks like it and is right."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from judged import judge

from warplint.ir.facts import Fact

Run = Callable[..., list[Fact]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Analyse a program and hold what is found to its marks."""
    return partial(judge, tmp_path, kinds={"stale-gradient"})


SWEEP = """
with tape:
    wp.launch(square, dim=n, inputs=[x, a])
    wp.launch(total, dim=n, inputs=[a, loss])
tape.backward(loss)
"""


@pytest.mark.parametrize("zero", ["tape.zero()", "tape.reset()", "x.grad.zero_()"])
def test_read_after_zeroing(run: Run, zero: str) -> None:
    (fact,) = run(
        SWEEP
        + zero
        + """
wp.launch(descend, dim=n, inputs=[x, x.grad])  # expect: WP403
"""
    )
    assert fact.attributes["parameter"] == "x"
    assert fact.program is not None and fact.program.inputs == (0,)


@pytest.mark.parametrize("zero", ["tape.zero()", "x.grad.zero_()"])
def test_read_before_and_after_zeroing(run: Run, zero: str) -> None:
    run(
        SWEEP
        + f"""
wp.launch(descend, dim=n, inputs=[x, x.grad])
{zero}
assert not x.grad.numpy().any()
"""
    )


def test_zeroing_of_another_tape(run: Run) -> None:
    run(
        SWEEP
        + """
other = wp.Tape()
other.zero()
a.grad.zero_()
print(x.grad.numpy())
"""
    )


def test_zeroing_and_another_sweep(run: Run) -> None:
    run(
        SWEEP
        + """
tape.zero()
tape.backward(loss)
print(x.grad.numpy())
"""
    )


def test_gradient_set_by_hand_after_zeroing(run: Run) -> None:
    run(
        SWEEP
        + """
tape.zero()
x.grad.fill_(1.0)
print(x.grad.numpy())
"""
    )


def test_graph_that_is_run_again(run: Run) -> None:
    # the graph holds the sweep
    run(
        """
with wp.ScopedCapture() as capture:
    with tape:
        wp.launch(square, dim=n, inputs=[x, a])
        wp.launch(total, dim=n, inputs=[a, loss])
    tape.backward(loss)
x.grad.zero_()
wp.capture_launch(capture.graph)
print(x.grad.numpy())
"""
    )


def test_read_before_the_sweep_of_an_array_that_is_made_anew(run: Run) -> None:
    (fact,) = run("""
        for step in range(3):
            loss = wp.zeros(1, dtype=float, requires_grad=True)
            tape = wp.Tape()
            with tape:
                wp.launch(square, dim=n, inputs=[x, a])
                wp.launch(total, dim=n, inputs=[a, loss])
            g = x.grad.numpy().copy()  # expect: WP403
            tape.backward(loss)
            tape.zero()
            x = wp.array(x.numpy() - 0.1 * g, dtype=float, requires_grad=True)
        with wp.Tape() as other:
            wp.launch(square, dim=n, inputs=[x, a])
            wp.launch(total, dim=n, inputs=[a, loss])
        other.backward(loss)
        print(x.grad.numpy())
    """)
    assert fact.attributes["parameter"] == "x"


def test_read_after_the_sweep_of_an_array_that_is_made_anew(run: Run) -> None:
    run("""
        for step in range(3):
            before = wp.array(np.ones(n), dtype=float, requires_grad=True)
            print(before.grad.numpy())
            with wp.Tape() as tape:
                wp.launch(square, dim=n, inputs=[x, a])
                wp.launch(total, dim=n, inputs=[a, loss])
            tape.backward(loss)
            g = x.grad.numpy().copy()
            with wp.Tape() as tape:
                wp.launch(square, dim=n, inputs=[x, a])
                print(x.grad.numpy())
                wp.launch(total, dim=n, inputs=[a, loss])
            tape.backward(loss)
            print(x.grad.numpy())
            x = wp.array(x.numpy() - 0.1 * g, dtype=float, requires_grad=True)
    """)


@pytest.mark.parametrize(
    "view",
    [
        "x.grad[:n].numpy",
        "x.grad.flatten().numpy",
        "x.grad.reshape((n, 1)).flatten().numpy",
        "x.grad.view(dtype=wp.float32).numpy",
    ],
)
def test_view_of_a_gradient_read_after_zeroing(run: Run, view: str) -> None:
    (fact,) = run(f"{SWEEP}view = {view}\ntape.zero()\nprint(view())  # expect: WP403\n", measured=True)
    assert fact.attributes["parameter"] == "x" and fact.program is not None


@pytest.mark.parametrize("part", ["x.grad[:1].zero_()", "x.grad[1:].fill_(0.0)"])
def test_part_of_a_gradient_that_is_zeroed(run: Run, part: str) -> None:
    run(f"{SWEEP}{part}\nprint(x.grad.numpy())  # ok: WP403\n")


@pytest.mark.parametrize(
    "data",
    [
        "np.asarray(x.grad)",
        "x.grad.numpy()[:n]",
        "x.grad.numpy()[::1]",
        "x.grad.numpy().T",
        "x.grad.numpy().ravel()",
        "x.grad.numpy().view()",
        "np.squeeze(x.grad.numpy())",
        "np.reshape(x.grad.numpy(), n)",
        "x.grad.numpy()[::-1][::-1]",
    ],
)
def test_memory_of_a_gradient_used_after_zeroing(run: Run, data: str) -> None:
    run(f"{SWEEP}data = {data}  # expect: WP403\ntape.zero()\nprint(data)\n", measured=True)


@pytest.mark.parametrize(
    "data",
    [
        "np.array(x.grad)",
        "np.copy(x.grad.numpy())",
        "x.grad.numpy().flatten()",
        "x.grad.numpy()[[0, 1, 2]]",
        "x.grad.numpy()[::-1].ravel()[::-1]",
        "1.0 * x.grad.numpy()[:n]",
        "x.grad.numpy().astype(np.float64)[:n]",
    ],
)
def test_copy_of_a_gradient_used_after_zeroing(run: Run, data: str) -> None:
    run(f"{SWEEP}data = {data}  # ok: WP403\ntape.zero()\nprint(data)\n", measured=True)
