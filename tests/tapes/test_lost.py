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
    return partial(
        judge, tmp_path, kinds={"backward-disabled", "launch-not-recorded", "loss-not-on-tape", "host-round-trip"}
    )


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


def test_adjoint_that_the_argument_of_a_factory_switches_off(run: Run) -> None:
    run("""
        def factory(backward):
            @wp.kernel(enable_backward=backward, module="unique")
            def cube(x: wp.array(dtype=float), y: wp.array(dtype=float)):
                i = wp.tid()
                y[i] = x[i] * x[i] * x[i]

            return cube

        without, within = factory(False), factory(True)
        with tape:
            wp.launch(without, dim=n, inputs=[x, a])  # expect: WP302
            wp.launch(within, dim=n, inputs=[a, b])
            wp.launch(total, dim=n, inputs=[b, loss])
        tape.backward(loss)
        print(x.grad.numpy())
    """)


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


def test_contents_that_go_over_the_host(run: Run) -> None:
    (fact,) = run("""
        with tape:
            wp.launch(square, dim=n, inputs=[x, a])
            b.assign(a.numpy())  # expect: WP307
            wp.launch(total, dim=n, inputs=[b, loss])
        tape.backward(loss)
    """)
    assert fact.program is not None
    (fact,) = run("""
        with tape:
            wp.launch(square, dim=n, inputs=[x, a])
            c = wp.array(np.clip(a.numpy(), 0.0, 1.0), dtype=float, requires_grad=True)  # expect: WP307
            wp.launch(total, dim=n, inputs=[c, loss])
        tape.backward(loss)
    """)
    assert fact.program is not None  # it is computed again
    (fact,) = run("""
        with tape:
            wp.launch(square, dim=n, inputs=[x, a])
            c = wp.array(np.sort(a.numpy()), dtype=float, requires_grad=True)  # expect: WP307
            wp.launch(total, dim=n, inputs=[c, loss])
        tape.backward(loss)
    """)
    assert fact.program is None  # a function that a probe does not call


def test_input_that_goes_over_the_host(run: Run) -> None:
    run("""
        with tape:
            y = wp.array(2.0 * x.numpy(), dtype=float, requires_grad=True)  # expect: WP307
            wp.launch(distance, dim=n, inputs=[x, y, loss])
        tape.backward(loss)
    """)


def test_contents_that_are_only_looked_at(run: Run) -> None:
    run("""
        seen = wp.zeros(n, dtype=float)
        with tape:
            wp.launch(square, dim=n, inputs=[x, a])
            print(a.numpy().mean())
            seen.assign(a.numpy())
            wp.launch(total, dim=n, inputs=[a, loss])
        tape.backward(loss)
    """)


def test_contents_that_go_over_the_host_outside_the_tape(run: Run) -> None:
    run("""
        wp.launch(square, dim=n, inputs=[x, a])
        start = wp.array(a.numpy(), dtype=float, requires_grad=True)
        with tape:
            wp.launch(total, dim=n, inputs=[start, loss])
        tape.backward(loss)
        b.assign(start.grad.numpy())
    """)


def test_constants_that_come_from_the_host_on_the_tape(run: Run) -> None:
    run("""
        fixed = wp.array(np.ones(n), dtype=float)
        with tape:
            wp.launch(square, dim=n, inputs=[x, a])
            target = wp.array(0.5 * fixed.numpy(), dtype=float)
            wp.launch(distance, dim=n, inputs=[a, target, loss])
        tape.backward(loss)
    """)


def test_contents_that_are_overwritten_before_they_are_used(run: Run) -> None:
    run("""
        with tape:
            wp.launch(square, dim=n, inputs=[x, a])
            b.assign(a.numpy())
            wp.launch(halve, dim=n, inputs=[a, b])
            wp.launch(total, dim=n, inputs=[b, loss])
        tape.backward(loss)
    """)


SCALED = """
@wp.kernel
def scaled(x: wp.array(dtype=float), factor: float, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = factor * x[i]


@wp.kernel
def above(x: wp.array(dtype=float), limit: float, y: wp.array(dtype=float)):
    i = wp.tid()
    if x[i] > limit:
        y[i] = x[i] * x[i]
"""


@pytest.mark.parametrize(
    "number",
    [
        "float(norm.numpy()[0])",
        "norm.list()[0]",
        "1.0 / np.sqrt(norm.numpy()[0])",
        "-2.0 * norm.numpy().item()",
        "float(x.numpy()[0])",
    ],
)
def test_number_from_the_host_that_a_launch_computes_with(run: Run, number: str) -> None:
    (fact,) = run(
        SCALED
        + f"""
norm = wp.zeros_like(loss)
with tape:
    wp.launch(total, dim=n, inputs=[x, norm])
    factor = {number}  # expect: WP307
    wp.launch(scaled, dim=n, inputs=[x, factor, a])
    wp.launch(total, dim=n, inputs=[a, loss])
tape.backward(loss)
print(x.grad.numpy())
"""
    )
    assert fact.attributes["array"] == "factor" and fact.attributes["input"] == "x"


@pytest.mark.parametrize(
    "launch",
    [
        "wp.launch(scaled, dim=n, inputs=[x, float(given.numpy()[0]), a])",  # no gradient comes from there
        "wp.launch(above, dim=n, inputs=[x, float(norm.numpy()[0]), a])",  # only compared with
        "wp.launch(scaled, dim=n, inputs=[x, float(np.argmax(norm.numpy())), a])",
        "wp.launch(scaled, dim=n, inputs=[x, float(norm.numpy()[0] > 0.0), a])",
        "wp.launch(scaled, dim=n, inputs=[x, float(norm.numpy()[0]), log])\n    wp.copy(a, x)",  # off the path
        "wp.launch(scaled, dim=n, inputs=[x, before, a])",  # a number from before the recording
    ],
)
def test_number_from_the_host_that_needs_no_gradient(run: Run, launch: str) -> None:
    run(
        SCALED
        + f"""
norm = wp.zeros_like(loss)
log = wp.zeros_like(x)
given = wp.ones(1, dtype=float)
before = float(norm.numpy()[0])
with tape:
    wp.launch(total, dim=n, inputs=[x, norm])
    {launch}
    wp.launch(total, dim=n, inputs=[a, loss])
tape.backward(loss)
print(x.grad.numpy())
"""
    )


class TestUtilities:
    @pytest.fixture
    def run(self, tmp_path: Path) -> Run:
        return partial(judge, tmp_path, kinds={"utility-not-recorded"})

    @pytest.mark.parametrize(
        "call",
        [
            "wp.utils.array_sum(a, out=loss)",
            "wp.utils.array_inner(a, b, loss)",
            "wp.utils.array_scan(a, b, True)  # expect: WP311\n    wp.launch(total, dim=n, inputs=[b, loss])",
            "sparse.bsr_mv(matrix, a, b)  # expect: WP311\n    wp.launch(total, dim=n, inputs=[b, loss])",
        ],
    )
    def test_between_an_input_and_the_loss(self, run: Run, call: str) -> None:
        mark = "" if "expect" in call else "  # expect: WP311"
        run(f"""
import warp.utils
import warp.sparse as sparse
matrix = sparse.bsr_zeros(3, 3, wp.float32)
with tape:
    wp.launch(square, dim=n, inputs=[x, a])
    {call}{mark}
tape.backward(loss)
print(x.grad.numpy())
""")

    @pytest.mark.parametrize(
        "call",
        [
            "print(wp.utils.array_sum(a))  # ok: WP311",  # a number, to look at
            "wp.utils.array_sum(a, out=b)  # ok: WP311",  # which nothing reads
            "wp.utils.array_sum(constant, out=b)\n    wp.launch(total, dim=n, inputs=[b, loss])",
            "wp.utils.array_sum(a, out=b)\n    tape.record_func(lambda: None, [a, b])"
            "\n    wp.launch(total, dim=n, inputs=[b, loss])",
        ],
    )
    def test_off_the_path(self, run: Run, call: str) -> None:
        run(f"""
import warp.utils
constant = wp.ones(n, dtype=float)
with tape:
    wp.launch(square, dim=n, inputs=[x, a])
    {call}
    wp.launch(total, dim=n, inputs=[a, loss])
tape.backward(loss)
print(x.grad.numpy())
""")


@pytest.mark.parametrize(
    "data", ["sorted(a.list())", "[2.0 * value for value in a.numpy()]", "[a.numpy()[0]] * n", "list(a.numpy())"]
)
def test_contents_that_go_over_a_list_of_the_host(run: Run, data: str) -> None:
    (fact,) = run(
        f"""
        with tape:
            wp.launch(square, dim=n, inputs=[x, a])
            c = wp.array({data}, dtype=float, requires_grad=True)  # expect: WP307
            wp.launch(square, dim=n, inputs=[c, b])
            wp.launch(total, dim=n, inputs=[b, loss])
        tape.backward(loss)
        print(x.grad.numpy())
    """
    )
    assert fact.attributes["source"] == "a"


def test_list_of_the_host_that_is_made_of_other_things(run: Run) -> None:
    run("""
        with tape:
            wp.launch(square, dim=n, inputs=[x, a])
            c = wp.array([float(k) for k in range(n)], dtype=float, requires_grad=True)  # ok: WP307
            d = wp.array([value for value in a.numpy()], dtype=float)  # ok: WP307
            wp.launch(add, dim=n, inputs=[c, a])
            wp.launch(total, dim=n, inputs=[a, loss])
        tape.backward(loss)
        print(x.grad.numpy(), d)
    """)


@pytest.mark.parametrize("number", ["a.numpy().var()", "np.std(a.numpy())", "0.5 * np.median(a.numpy()) + 1.0"])
def test_moments_of_what_an_array_holds(run: Run, number: str) -> None:
    (fact,) = run(
        SCALED
        + f"""
with tape:
    wp.launch(square, dim=n, inputs=[x, a])
    wp.launch(scaled, dim=n, inputs=[x, float({number}), b])  # expect: WP307
    wp.launch(total, dim=n, inputs=[b, loss])
tape.backward(loss)
print(x.grad.numpy())
"""
    )
    assert fact.program is not None, "a probe can compute that again"


def test_a_number_that_a_probe_cannot_compute_again(run: Run) -> None:
    (fact,) = run(
        SCALED
        + """
with tape:
    wp.launch(square, dim=n, inputs=[x, a])
    wp.launch(scaled, dim=n, inputs=[x, float(np.trace(np.outer(a.numpy(), a.numpy()))), b])  # expect: WP307
    wp.launch(total, dim=n, inputs=[b, loss])
tape.backward(loss)
print(x.grad.numpy())
"""
    )
    assert fact.program is None, "with a number of its own it would seem right"
