"""Gradients that are set by hand, sweeps that have none to start from, and what is recorded after the loss."""

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
    return partial(
        judge, tmp_path, kinds={"seed-mismatch", "adjoint-dropped", "housekeeping-on-tape", "loss-not-on-tape"}
    )


ERROR = """
with tape:
    wp.launch(square, dim=n, inputs=[x, a])
"""
USED = """
print(x.grad.numpy())
"""


@pytest.mark.parametrize("seed", ["a.grad.fill_(1.0)", "a.grad = wp.ones_like(a)", "wp.copy(a.grad, wp.ones_like(a))"])
@pytest.mark.parametrize(
    "report", ["a.numpy().mean()", "np.mean(a.numpy())", "a.numpy().sum() / n", "0.5 * np.sum(a.numpy())"]
)
def test_ones_for_what_is_reported_as_a_mean(run: Run, seed: str, report: str) -> None:
    (fact,) = run(f"{ERROR}{seed}  # expect: WP407\ntape.backward()\nprint({report}){USED}", measured=True)
    assert fact.program is not None
    assert fact.attributes["array"] == "a" and fact.attributes["input"] == "x"


def test_a_report_that_is_scaled_in_place(run: Run) -> None:
    report = "size = a.numpy().sum()\nsize /= n\nprint(size)"
    run(f"{ERROR}a.grad.fill_(1.0)  # expect: WP407\ntape.backward()\n{report}{USED}", measured=True)


@pytest.mark.parametrize(
    "ones", ["wp.ones_like(a)", "wp.full(n, 1.0, dtype=float)", "wp.array(np.ones(n), dtype=float)"]
)
def test_ones_as_an_argument(run: Run, ones: str) -> None:
    run(f"{ERROR}tape.backward(grads={{a: {ones}}})  # expect: WP407\nprint(a.numpy().mean()){USED}", measured=True)


@pytest.mark.parametrize(
    "rest",
    [
        "a.grad.fill_(1.0 / n)\ntape.backward()\nprint(a.numpy().mean())\nprint(x.grad.numpy())",
        "a.grad.fill_(1.0)\ntape.backward()\nprint(a.numpy().sum())\nprint(x.grad.numpy())",
        "a.grad.fill_(1.0)\ntape.backward()\nprint(a.numpy().mean())\nprint(x.grad.numpy() / n)",
    ],
)
def test_seeds_that_match(run: Run, rest: str) -> None:
    run(ERROR + rest.replace("\n", "  # ok: WP407\n"), measured=True)


@pytest.mark.parametrize(
    "rest",
    [
        "a.grad.fill_(1.0)\ntape.backward()\nprint(a.numpy() * 255)\nprint(x.grad.numpy())",  # elements, to look at
        "a.grad.fill_(1.0)\ntape.backward()\nprint(x.numpy().mean())\nprint(x.grad.numpy())",  # of something else
        "a.grad.assign(np.random.rand(n))\ntape.backward()\nprint(a.numpy().mean())\nprint(x.grad.numpy())",
    ],
)
def test_reports_of_something_else(run: Run, rest: str) -> None:
    run(ERROR + rest.replace("\n", "  # ok: WP407\n"))


def test_one_number_has_its_own_mean(run: Run) -> None:
    run(
        f"""
with tape:
    wp.launch(square, dim=n, inputs=[x, a])
    wp.launch(total, dim=n, inputs=[a, loss])
loss.grad.fill_(1.0)
tape.backward()
print(loss.numpy().mean())
{USED}""",
        measured=True,
    )


def test_nothing_to_start_from(run: Run) -> None:
    (fact,) = run(f"{ERROR}tape.backward()  # expect: WP409{USED}")
    assert fact.attributes["cause"] == "it is given neither a loss nor seeds"


def test_several_elements_as_a_loss(run: Run) -> None:
    (fact,) = run(f"{ERROR}tape.backward(a)  # expect: WP409{USED}")
    assert "more than one element" in str(fact.attributes["cause"])


@pytest.mark.parametrize(
    "data",
    [
        "[0.0] * wp.types.type_size(kind), dtype=kind",
        "[0.0 for _ in range(wp.types.type_size(kind))], dtype=kind",
        "[0.0, 0.0, 0.0], dtype=wp.vec3",
        "np.zeros(3), dtype=wp.vec3",
        "[[0.0, 0.0, 0.0]], dtype=wp.vec3",
        "[wp.vec3(0.0, 0.0, 0.0)], dtype=wp.vec3",
        "[0.0, 0.0, 0.0, 1.0], dtype=wp.quat",
    ],
)
def test_what_may_be_one_element(run: Run, data: str) -> None:
    made = f"kind = wp.float32\nout = wp.array({data}, requires_grad=True)"
    run(f"{made}\n{ERROR}    wp.copy(out, a)\ntape.backward(out){USED}")


@pytest.mark.parametrize(
    "data", ["[0.0] * 6, dtype=wp.vec3", "[0.0] * 2, dtype=float", "[[0.0] * 3] * 2, dtype=wp.vec3"]
)
def test_what_is_several(run: Run, data: str) -> None:
    made = f"out = wp.array({data}, requires_grad=True)"
    run(f"{made}\n{ERROR}    wp.copy(out, a)\ntape.backward(out)  # expect: WP409{USED}")


@pytest.mark.parametrize(
    "rest",
    [
        "a.grad.fill_(1.0)\ntape.backward()",
        "tape.backward(grads={a: b})",
        "wp.copy(a.grad, b)\ntape.backward()",
        "wp.launch(halve, dim=n, inputs=[b, a.grad])\ntape.backward()",
        "import world\nworld.seed(a)\ntape.backward()",
        "tape.record_func(lambda: a.grad.fill_(1.0), [a])\ntape.backward()",
    ],
)
def test_seeded_some_other_way(run: Run, rest: str) -> None:
    run(f"{ERROR}{rest}{USED}")


def test_results_of_others_may_be_seeded_there(run: Run) -> None:
    run("""
        class Layer:
            def __init__(self, x, y):
                self.x, self.y = x, y
                self.tape = wp.Tape()
            def forward(self):
                with self.tape:
                    wp.launch(square, dim=self.x.shape, inputs=[self.x, self.y])
            def backward(self):
                self.tape.backward()
                return self.x.grad.numpy()
    """)


LOSS = """
with tape:
    wp.launch(square, dim=n, inputs=[x, a])
    wp.launch(total, dim=n, inputs=[a, loss])
"""


def test_a_loss_that_is_reset_on_its_tape(run: Run) -> None:
    (fact,) = run(f"{LOSS}    wp.launch(fill, dim=1, inputs=[loss])  # expect: WP404\ntape.backward(loss){USED}")
    assert fact.attributes["erases"] is True and fact.attributes["purpose"] == "reset"


def test_a_step_on_the_tape(run: Run) -> None:
    (fact,) = run(
        f"{LOSS}    tape.backward(loss)\n    wp.launch(descend, dim=n, inputs=[x, x.grad])  # expect: WP404{USED}"
    )
    assert fact.attributes["purpose"] == "step"


def test_a_metric_on_the_tape(run: Run) -> None:
    (fact,) = run(f"{LOSS}    wp.launch(distance, dim=n, inputs=[a, x, b])  # expect: WP404\ntape.backward(loss){USED}")
    assert fact.attributes["purpose"] == "metric"


@pytest.mark.parametrize(
    "rest",
    [
        "tape.backward(loss)\nwp.launch(descend, dim=n, inputs=[x, x.grad])  # ok: WP404\n"
        "wp.launch(fill, dim=1, inputs=[loss])",
        # another loss
        "    other = wp.zeros_like(loss)\n    wp.launch(total, dim=n, inputs=[x, other])\n"
        "tape.backward(loss)\nprint(x.grad.numpy())\ntape.zero()\ntape.backward(other)",
        # the next state
        "    wp.copy(b, a)\ntape.backward(loss)",
    ],
)
def test_what_is_no_housekeeping(run: Run, rest: str) -> None:
    run(f"{LOSS}{rest}{USED}")


def test_a_loss_zeroed_before_it_is_computed(run: Run) -> None:
    run(
        f"""
with tape:
    wp.launch(fill, dim=1, inputs=[loss])  # ok: WP404
    wp.launch(total, dim=n, inputs=[x, loss])
tape.backward(loss)
{USED}""",
        measured=True,
    )


SEGMENTS = """
@wp.kernel
def swing(q: wp.array(dtype=float), v: wp.array(dtype=float), p: wp.array(dtype=float),
          q1: wp.array(dtype=float), v1: wp.array(dtype=float)):
    i = wp.tid()
    q1[i] = q[i] + 0.1 * v[i]
    v1[i] = v[i] - 0.1 * p[i] * q[i]


def run(p, q0, v0):
    qs, vs = [q0], [v0]
    for k in range(4):
        qs.append(wp.zeros_like(q0))
        vs.append(wp.zeros_like(v0))
        wp.launch(swing, dim=n, inputs=[qs[k], vs[k], p, qs[k + 1], vs[k + 1]])
    gq, gv = wp.ones(n, dtype=float), wp.zeros(n, dtype=float)
    for k in reversed(range(4)):
        q = wp.clone(qs[k], requires_grad=True)
        v = wp.clone(vs[k], requires_grad=True)
        q1, v1 = wp.zeros_like(q), wp.zeros_like(v)
        tape = wp.Tape()
        with tape:
            wp.launch(swing, dim=n, inputs=[q, v, p, q1, v1])
        SEED
        gq, gv = wp.clone(q.grad), wp.clone(v.grad)
    return float(qs[-1].numpy().sum()), p.grad.numpy()


reached, slopes = run(x, wp.full(n, 0.5, dtype=float), wp.zeros(n, dtype=float))
print(reached)
print(slopes)
"""


@pytest.mark.parametrize(
    "seed",
    [
        "tape.backward(grads={q1: gq})  # expect: WP408",
        "wp.copy(q1.grad, gq)\n        tape.backward()  # expect: WP408",
        "q1.grad.assign(gq.numpy())\n        tape.backward()  # expect: WP408",
        "tape.backward(grads={q1: gq, v1: gv})  # ok: WP408",
        "wp.copy(q1.grad, gq)\n        wp.copy(v1.grad, gv)\n        tape.backward()",
    ],
)
def test_state_between_segments(run: Run, seed: str) -> None:
    found = run(SEGMENTS.replace("SEED", seed), measured=True)
    assert all(fact.program is not None for fact in found)


def test_controls_of_each_segment_are_no_state(run: Run) -> None:
    run(
        SEGMENTS.replace("SEED", "tape.backward(grads={q1: gq})  # ok: WP408").replace(
            "v = wp.clone(vs[k], requires_grad=True)", "v = wp.array(np.ones(n), dtype=float, requires_grad=True)"
        )
    )


HALVES = """
@wp.kernel
def swing(q: wp.array(dtype=float), v: wp.array(dtype=float), p: wp.array(dtype=float),
          q1: wp.array(dtype=float), v1: wp.array(dtype=float)):
    i = wp.tid()
    q1[i] = q[i] + 0.5 * v[i]
    v1[i] = v[i] - 0.5 * p[i] * q[i]


def fresh(values):
    return wp.array(values, dtype=float, requires_grad=True)


def half(q, v):
    for _ in range(2):
        q1, v1 = wp.zeros_like(q), wp.zeros_like(v)
        wp.launch(swing, dim=n, inputs=[q, v, x, q1, v1])
        q, v = q1, v1
    return q, v


q0, v0 = fresh([0.5] * n), fresh([0.0] * n)
q, v = half(q0, v0)
MIDDLE
with tape:
    q_end, _ = half(q_mid, v_mid)
    wp.launch(total, dim=n, inputs=[q_end, loss])
tape.backward(loss)
early = wp.Tape()
with early:
    q, v = half(q0, v0)
SEED
print(loss.numpy()[0])
print(x.grad.numpy())
"""
_KEPT = "q_mid, v_mid = fresh(q.numpy()), fresh(v.numpy())"


@pytest.mark.parametrize(
    "seed",
    [
        "q.grad.assign(q_mid.grad)\nearly.backward()  # expect: WP408",
        "early.backward(grads={q: q_mid.grad})  # expect: WP408",
        "early.backward(grads={q: q_mid.grad, v: v_mid.grad})  # ok: WP408",
        "q.grad.assign(q_mid.grad)\nv.grad.assign(v_mid.grad)\nearly.backward()  # ok: WP408",
    ],
)
def test_state_between_two_segments_in_a_row(run: Run, seed: str) -> None:
    run(HALVES.replace("MIDDLE", _KEPT).replace("SEED", seed), measured=True)


def test_state_that_the_segment_before_does_not_compute(run: Run) -> None:
    middle = "wp.launch(square, dim=n, inputs=[v, b])\nq_mid, v_mid = fresh(q.numpy()), fresh(b.numpy())"
    run(HALVES.replace("MIDDLE", middle).replace("SEED", "early.backward(grads={q: q_mid.grad})  # ok: WP408"))
