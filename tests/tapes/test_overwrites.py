"""Arrays that are changed before the reverse sweep reads them, and what looks like it and is right.

The effects of the kernels are those that kernel analysis finds: it is them that say which values an adjoint reads.
"""

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
    return partial(judge, tmp_path, kinds={"overwritten-before-sweep"})


def test_value_that_is_read_and_launched_over(run: Run) -> None:
    (fact,) = run("""
        with tape:
            wp.launch(halve, dim=n, inputs=[x, a])
            wp.launch(square, dim=n, inputs=[a, b])
            wp.launch(halve, dim=n, inputs=[b, a])  # expect: WP201
            wp.launch(total, dim=n, inputs=[a, loss])
        tape.backward(loss)
        print(x.grad.numpy())
    """)
    assert (fact.attributes["array"], fact.attributes["reader"], fact.attributes["writer"]) == ("a", "square", "halve")
    assert fact.program is not None and fact.program.inputs == (0,)
    assert [label.location.span.line for label in fact.labels][1] == fact.location.span.line


def test_accumulating_into_what_was_read_by_value(run: Run) -> None:
    run("""
        with tape:
            wp.launch(halve, dim=n, inputs=[x, a])
            wp.launch(square, dim=n, inputs=[a, b])
            wp.launch(add, dim=n, inputs=[b, a])  # expect: WP201
            wp.launch(total, dim=n, inputs=[a, loss])
        tape.backward(loss)
    """)


def test_linear_reads_need_no_value(run: Run) -> None:
    run("""
        with tape:
            for k in range(4):
                wp.launch(halve, dim=n, inputs=[x if k == 0 else a, b])
                a, b = b, a
            wp.launch(total, dim=n, inputs=[a, loss])
        tape.backward(loss)
    """)


def test_written_before_it_is_read(run: Run) -> None:
    run("""
        with tape:
            wp.launch(fill, dim=n, inputs=[a])
            wp.launch(halve, dim=n, inputs=[x, a])
            wp.launch(square, dim=n, inputs=[a, b])
            wp.launch(total, dim=n, inputs=[b, loss])
        tape.backward(loss)
    """)


def test_array_on_no_active_path(run: Run) -> None:
    # `b` goes nowhere, and what the adjoint of its launch reads does not matter
    run("""
        with tape:
            wp.launch(halve, dim=n, inputs=[x, a])
            wp.launch(square, dim=n, inputs=[a, b])
            wp.launch(total, dim=n, inputs=[a, loss])
            wp.launch(halve, dim=n, inputs=[x, a])
        tape.backward(loss)
    """)


def test_no_gradient_is_wanted_where_the_value_is_needed(run: Run) -> None:
    # the derivative by `x` reads `p`, which stays; that by `p`, which would read `a`, is not asked for
    run("""
        p = wp.array([2.0], dtype=float)
        with tape:
            wp.launch(halve, dim=n, inputs=[x, a])
            wp.launch(combine, dim=n, inputs=[a, p, b])
            wp.launch(halve, dim=n, inputs=[b, a])
            wp.launch(total, dim=n, inputs=[a, loss])
        tape.backward(loss)
    """)
    run("""
        p = wp.array([2.0], dtype=float, requires_grad=True)
        with tape:
            wp.launch(halve, dim=n, inputs=[x, a])
            wp.launch(combine, dim=n, inputs=[a, p, b])
            wp.launch(halve, dim=n, inputs=[b, a])  # expect: WP201
            wp.launch(total, dim=n, inputs=[a, loss])
        tape.backward(loss)
    """)


def test_coefficient_without_a_gradient_that_is_changed(run: Run) -> None:
    run("""
        p = wp.array([2.0], dtype=float)
        with tape:
            for k in range(2):
                p.fill_(float(k))  # expect: WP203
                wp.launch(combine, dim=n, inputs=[x, p, a])
                wp.launch(total, dim=n, inputs=[a, loss])
        tape.backward(loss)
    """)


def test_rows_of_one_array(run: Run) -> None:
    run("""
        path = wp.zeros((4, n), dtype=float, requires_grad=True)
        with tape:
            for t in range(3):
                wp.launch(row, dim=n, inputs=[path, t])
            wp.launch(last, dim=n, inputs=[path, 3, loss])
        tape.backward(loss)
    """)


def test_views_of_one_array(run: Run) -> None:
    run("""
        path = wp.zeros((4, n), dtype=float, requires_grad=True)
        with tape:
            for t in range(3):
                wp.launch(square, dim=n, inputs=[path[t], path[t + 1]])
            wp.launch(last, dim=n, inputs=[path, 3, loss])
        tape.backward(loss)
    """)


def test_elements_that_an_index_array_chooses(run: Run) -> None:
    # which elements are written is not known
    run("""
        odd = wp.array([1, 3], dtype=int)
        with tape:
            wp.launch(square, dim=n, inputs=[x, a])
            wp.launch(square, dim=n, inputs=[a, b])
            wp.launch(scatter, dim=2, inputs=[b, odd, a])
            wp.launch(total, dim=n, inputs=[a, loss])
        tape.backward(loss)
    """)


def test_fresh_array_for_every_step(run: Run) -> None:
    run("""
        state = x
        with tape:
            for t in range(3):
                after = wp.zeros_like(state)
                wp.launch(square, dim=n, inputs=[state, after])
                state = after
            wp.launch(total, dim=n, inputs=[state, loss])
        tape.backward(loss)
    """)


def test_buffer_that_is_cleared_and_added_to(run: Run) -> None:
    (fact,) = run("""
        with tape:
            for t in range(3):
                a.zero_()  # expect: WP203
                wp.launch(add, dim=n, inputs=[x, a])
                wp.launch(total, dim=n, inputs=[a, loss])
        tape.backward(loss)
    """)
    assert fact.attributes["loss"] == "leak"


def test_buffer_that_is_cleared_and_written_whole(run: Run) -> None:
    # the store takes the gradient of the new contents away before the sweep comes to the old ones
    run("""
        with tape:
            for t in range(3):
                a.zero_()
                wp.launch(halve, dim=n, inputs=[x, a])
                wp.launch(total, dim=n, inputs=[a, loss])
        tape.backward(loss)
    """)


def test_cleared_before_anything_used_it(run: Run) -> None:
    run("""
        a.zero_()
        with tape:
            loss.zero_()
            wp.launch(add, dim=n, inputs=[x, a])
            wp.launch(square, dim=n, inputs=[a, b])
            wp.launch(total, dim=n, inputs=[b, loss])
        tape.backward(loss)
        a.zero_()
    """)


def test_changed_after_recording(run: Run) -> None:
    run("""
        def step(move):
            with wp.Tape() as tape:
                wp.launch(square, dim=n, inputs=[x, a])
                wp.launch(total, dim=n, inputs=[a, loss])
            if move:
                wp.launch(fill, dim=n, inputs=[x])  # expect: WP205
            tape.backward(loss)

        step(True)
    """)


def test_changed_after_the_sweep(run: Run) -> None:
    run("""
        for step in range(3):
            with wp.Tape() as inner:
                wp.launch(square, dim=n, inputs=[x, a])
                wp.launch(total, dim=n, inputs=[a, loss])
            inner.backward(loss)
            wp.launch(descend, dim=n, inputs=[x, x.grad])
            inner.zero()
    """)


def test_changed_on_a_clone(run: Run) -> None:
    run("""
        with tape:
            wp.launch(square, dim=n, inputs=[x, a])
            wp.launch(total, dim=n, inputs=[a, loss])
        kept = wp.clone(x)
        kept.zero_()
        tape.backward(loss)
    """)


def test_two_tapes_before_both_sweeps(run: Run) -> None:
    run("""
        with tape:
            wp.launch(halve, dim=n, inputs=[x, a])
            wp.launch(square, dim=n, inputs=[a, b])
            wp.launch(total, dim=n, inputs=[b, loss])
        second = wp.Tape()
        more = wp.zeros(1, dtype=float, requires_grad=True)
        with second:
            wp.launch(square, dim=n, inputs=[x, a])  # expect: WP205
            wp.launch(total, dim=n, inputs=[a, more])
        tape.backward(loss)
        second.backward(more)
    """)


@pytest.mark.parametrize("launch", ["inputs=[a], outputs=[a]", "inputs=[a, a]"])
def test_one_array_as_input_and_output_of_a_launch(run: Run, launch: str) -> None:
    run(f"""
        with tape:
            wp.launch(halve, dim=n, inputs=[x, a])
            wp.launch(square, dim=n, {launch})  # expect: WP201
            wp.launch(halve, dim=n, {launch})
            wp.launch(total, dim=n, inputs=[a, loss])
        tape.backward(loss)
    """)


@pytest.mark.parametrize(
    "change",
    [
        "host += 1.0",
        "host[:] = 0.0",
        "x.numpy()[0] = 2.0",
        "host[1:] *= 3.0",
        "host.fill(0.0)",
        "np.add(host, 1.0, out=host)",
        "np.add(host, 1.0, host)",
        "np.copyto(host, 0.0)",
        "np.asarray(x)[:] = 3.0",
        "host.reshape(-1)[:] = 3.0",
    ],
)
def test_numpy_view_changed_before_the_sweep(run: Run, change: str) -> None:
    (fact,) = run(f"""
        with tape:
            wp.launch(square, dim=n, inputs=[x, a])
            wp.launch(total, dim=n, inputs=[a, loss])
        host = x.numpy()
        {change}  # expect: WP205
        tape.backward(loss)
        print(x.grad.numpy())
    """)
    assert (fact.attributes["array"], fact.attributes["by"]) == ("x", "view")


@pytest.mark.parametrize(
    "host",
    [
        "x.numpy().copy()",
        "np.array(x.numpy())",
        "x.numpy() - 1.0",
        "x.numpy().astype(np.float64)",
        "np.array(x)",
        "x.numpy()[[0, 1, 2]]",
        "x.numpy().flatten()",
        "a.numpy()",
        "y.numpy()",
    ],
)
def test_host_data_that_is_changed_and_no_adjoint_reads(run: Run, host: str) -> None:
    run(f"""
        y = wp.array(np.ones(n), dtype=float, requires_grad=True, device="cuda:0")
        with tape:
            wp.launch(square, dim=n, inputs=[x, a])
            wp.launch(add, dim=n, inputs=[a, b])
            wp.launch(distance, dim=n, inputs=[b, y, loss])
        host = {host}
        host += 1.0
        tape.backward(loss)
        later = x.numpy()
        later *= 2.0
        print(x.grad.numpy())
    """)


SLICES = """
whole = wp.full(2 * n, 1.0, dtype=float)
with tape:
    wp.launch(weigh, dim=n, inputs=[x, whole[:n], a])
    wp.launch(total, dim=n, inputs=[a, loss])
wp.launch(square, dim=2, inputs=[two, whole[SLICE]])
tape.backward(loss)
print(x.grad.numpy())
"""
WEIGH = """
@wp.kernel
def weigh(x: wp.array(dtype=float), w: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * w[i]

two = wp.full(2, 2.0, dtype=float)
"""


@pytest.mark.parametrize("part", ["1:3", "2:4", ":2", "0:2"])
def test_slices_that_overlap(run: Run, part: str) -> None:
    run(WEIGH + SLICES.replace("SLICE", part).replace("]])\ntape", "]])  # expect: WP205\ntape"), measured=True)


@pytest.mark.parametrize("part", ["3:5", "n:", "4:6"])
def test_slices_that_lie_apart(run: Run, part: str) -> None:
    run(WEIGH + SLICES.replace("SLICE", part).replace("]])\ntape", "]])  # ok: WP205\ntape"), measured=True)


def test_what_is_lost_is_told_once(run: Run) -> None:
    run(
        """
with tape:
    for _ in range(2):
        b.zero_()  # expect: WP203
        wp.launch(add, dim=n, inputs=[x, b])  # ok: WP201
        wp.launch(square, dim=n, inputs=[b, a])
        wp.launch(total, dim=n, inputs=[a, loss])
tape.backward(loss)
print(x.grad.numpy())
"""
    )


@pytest.mark.parametrize("fields", ["dataclasses.fields(self)", "dataclasses.fields(State)"])
def test_copy_of_every_field_of_a_dataclass(run: Run, fields: str) -> None:
    run(f"""
        import dataclasses

        @dataclasses.dataclass
        class State:
            q: wp.array
            v: wp.array

            def load(self, other):
                for field in {fields}:
                    wp.copy(getattr(self, field.name), getattr(other, field.name))  # expect: WP202

        now = State(x, wp.zeros_like(x))
        with tape:
            later = State(wp.zeros_like(x), wp.zeros_like(x))
            wp.launch(square, dim=n, inputs=[now.q, later.q])
            now.load(later)
            wp.launch(square, dim=n, inputs=[now.q, b])
            wp.launch(total, dim=n, inputs=[b, loss])
        tape.backward(loss)
    """)
