"""Copies that are made for their memory, memory without contents, and checkers that look past what matters."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from judged import judge

from warplint.ir.facts import Fact

Run = Callable[..., list[Fact]]
KINDS = {
    "clone-as-allocator",
    "copy-before-reader",
    "uninitialised-read",
    "checker-blind-spot",
    "overwritten-before-sweep",
}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Analyse a program and hold what is found to its marks."""
    return partial(judge, tmp_path, kinds=KINDS)


def swept(*lines: str) -> str:
    return "\n".join(["with tape:", *(f"    {line}" for line in lines), "tape.backward(loss)", "print(x.grad.numpy())"])


SUM = "wp.launch(total, dim=n, inputs=[c, loss])"
ADD = "wp.launch(add, dim=n, inputs=[x, c])"


def test_a_clone_that_is_zeroed(run: Run) -> None:
    (fact,) = run(swept("c = wp.clone(x)  # expect: WP207", "c.zero_()", ADD, SUM))
    assert fact.attributes == {"array": "c", "source": "x", "by": "fill"}
    assert fact.program is not None


def test_a_clone_that_is_stored_to(run: Run) -> None:
    (fact,) = run(swept("c = wp.clone(x)  # expect: WP207", "wp.launch(square, dim=n, inputs=[x, c])", SUM))
    assert fact.attributes["by"] == "launch" and fact.program is None


@pytest.mark.parametrize(
    "lines",
    [
        ["c = wp.clone(x)  # ok: WP207", ADD, SUM],  # added to what was copied
        ["c = wp.clone(x)  # ok: WP207", "wp.launch(square, dim=n, inputs=[c, a])", SUM],
        ["c = wp.zeros_like(x)", ADD, SUM],
    ],
)
def test_clones_whose_contents_are_read(run: Run, lines: list[str]) -> None:
    run(swept(*lines))


def test_a_clone_off_the_tape(run: Run) -> None:
    run("c = wp.clone(x)\nc.zero_()\n" + swept(ADD, SUM))


COPIED = ["c = wp.clone(x)  # expect: WP206", ADD, SUM]


def test_a_copy_before_a_reader(run: Run) -> None:
    (fact,) = run(swept(*COPIED), warp="1.16.1")
    assert fact.attributes == {"source": "x", "target": "c", "reader": "add"}


def test_newer_versions_add_the_gradient_of_a_copy(run: Run) -> None:
    run(swept(*COPIED).replace("expect: WP206", "ok: WP206"), warp="1.17.0")


def test_a_copy_that_is_the_last_reader(run: Run) -> None:
    run(
        swept(
            "wp.launch(square, dim=n, inputs=[x, a])",
            "c = wp.clone(x)  # ok: WP206",
            SUM,
            "wp.launch(total, dim=n, inputs=[a, loss])",
        ),
        warp="1.16.1",
    )


@pytest.mark.parametrize("allocation", ["wp.empty(n, dtype=float)", "wp.empty_like(x)"])
@pytest.mark.parametrize("launch", ["add, dim=n, inputs=[x, c]", "square, dim=n, inputs=[c, a]"])
def test_memory_without_contents(run: Run, allocation: str, launch: str) -> None:
    run(f"c = {allocation}\n" + swept(f"wp.launch({launch})  # expect: WP710", SUM))


def test_memory_without_contents_in_the_first_round(run: Run) -> None:
    (fact,) = run("""
        c = wp.empty_like(x)
        with tape:
            for _ in range(3):
                d = wp.empty_like(x)
                wp.launch(square, dim=n, inputs=[c, d])  # expect: WP710
                c = d
            wp.launch(total, dim=n, inputs=[c, loss])
        tape.backward(loss)
        print(x.grad.numpy())
    """)
    assert fact.program is not None and fact.attributes["array"] == "c"


@pytest.mark.parametrize(
    "lines",
    [
        ["wp.launch(square, dim=n, inputs=[x, c])", SUM],
        ["wp.copy(c, x)", SUM],
        ["c.fill_(1.0)", SUM],
        ["c.zero_()", f"{ADD}  # ok: WP710", SUM],
        ["import world", "world.set_up(c)", SUM],
        ["wp.launch(square, dim=1, inputs=[x[0:1], c[0:1]])", SUM],  # part of it at least
        ["wp.launch(few, dim=n, inputs=[c, count, loss])"],  # as many as there are
    ],
)
def test_memory_that_is_written_first(run: Run, lines: list[str]) -> None:
    kernel = """
@wp.kernel
def few(c: wp.array(dtype=float), count: wp.array(dtype=int), loss: wp.array(dtype=float)):
    i = wp.tid()
    if i >= count[0]:
        return
    wp.atomic_add(loss, 0, c[i])


count = wp.zeros(1, dtype=int)
c = wp.empty(n, dtype=float, requires_grad=True)
"""
    run(kernel + swept(*lines))


CHECKS = """
import warp.autograd
@wp.kernel(enable_backward=False)
def silent(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]
state, after = State(), State()
state.q = state.v = x
after.q = after.v = a
with tape:
"""


@pytest.mark.parametrize(
    ("launch", "why"),
    [
        ("wp.launch(silent, dim=n, inputs=[x, a])", "without an adjoint"),
        ("wp.launch(move, dim=n, inputs=[state, b, after])", "struct"),
        ("tape.record_func(lambda: None, [x, a])", "by hand"),
    ],
)
def test_what_a_check_of_a_tape_skips(run: Run, launch: str, why: str) -> None:
    (fact,) = run(f"{CHECKS}    {launch}\nwp.autograd.gradcheck_tape(tape)  # expect: WP704\n")
    assert why in str(fact.attributes["why"])


def test_a_check_in_a_test_that_opens_no_tape(run: Run) -> None:
    run("""
        import unittest

        class TestMove(unittest.TestCase):
            def test_gradient(self):
                state, after = State(), State()
                state.q = wp.zeros(n, dtype=float, requires_grad=True)
                self.assertTrue(wp.autograd.gradcheck(move, n, [state, x], [after]))  # expect: WP704
    """)


def test_a_check_of_a_kernel_with_a_struct(run: Run) -> None:
    run(f"{CHECKS}    pass\nwp.autograd.gradcheck(move, n, [state, b], [after])  # expect: WP704\n")


def test_checks_that_see_all(run: Run) -> None:
    run(
        f"{CHECKS}    wp.launch(square, dim=n, inputs=[x, a])\n"
        "wp.autograd.gradcheck_tape(tape)  # ok: WP704\nwp.autograd.gradcheck(square, n, [x], [a])\n"
    )


FLAG = "wp.config.verify_autograd_array_access = True"


def test_a_tracker_that_is_turned_on_too_late(run: Run) -> None:
    run(
        "wp.launch(square, dim=n, inputs=[x, a])\n"
        + f"{FLAG}  # expect: WP704\n"
        + swept("wp.launch(total, dim=n, inputs=[a, loss])")
    )


def test_a_tracker_that_is_turned_on_first(run: Run) -> None:
    run(
        f"{FLAG}  # ok: WP704\n"
        + swept("wp.launch(square, dim=n, inputs=[x, a])", "wp.launch(total, dim=n, inputs=[a, loss])")
    )
