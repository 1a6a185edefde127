"""Gradients that are counted more than once, and what looks like it and is right."""

from __future__ import annotations

import textwrap
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
    return partial(judge, tmp_path, kinds={"gradient-not-zeroed", "backward-twice", "tape-re-entered"})


ROUND = """
def record():
    cost = wp.zeros(1, dtype=float, requires_grad=True)
    inner = wp.Tape()
    with inner:
        wp.launch(square, dim=n, inputs=[x, a])
        wp.launch(total, dim=n, inputs=[a, cost])
    return inner, cost
"""


def test_optimizer_without_zeroing(run: Run) -> None:
    (fact,) = run(
        ROUND
        + """
import warp.optim
adam = warp.optim.Adam([x], lr=0.1)
for k in range(50):
    inner, cost = record()
    inner.backward(cost)  # expect: WP402
    adam.step([x.grad])
"""
    )
    assert fact.attributes["parameter"] == "x"
    assert fact.program is not None and fact.program.inputs == (0,)


@pytest.mark.parametrize("zero", ["inner.zero()", "inner.reset()", "x.grad.zero_()", "x.grad.fill_(0.0)"])
def test_zeroing_after_use(run: Run, zero: str) -> None:
    run(
        ROUND
        + f"""
for k in range(5):
    inner, cost = record()
    inner.backward(cost)
    wp.launch(descend, dim=n, inputs=[x, x.grad])
    {zero}
"""
    )


def test_zeroing_before_the_sweep_that_zeroes_nothing(run: Run) -> None:
    run(
        ROUND
        + """
for k in range(5):
    inner, cost = record()
    inner.zero()
    inner.backward(cost)  # expect: WP402
    wp.launch(descend, dim=n, inputs=[x, x.grad])
"""
    )


def test_zeroing_before_the_sweep_of_a_tape_that_lives_on(run: Run) -> None:
    run("""
        with tape:
            wp.launch(square, dim=n, inputs=[x, a])
            wp.launch(total, dim=n, inputs=[a, loss])
        for k in range(5):
            tape.zero()
            tape.backward(loss)
            wp.launch(descend, dim=n, inputs=[x, x.grad])
    """)


def test_gradients_of_batches_that_add_up(run: Run) -> None:
    # one step after all of them: the sum is what is wanted
    run(
        ROUND
        + """
for k in range(5):
    for batch in range(4):
        inner, cost = record()
        inner.backward(cost)
    wp.launch(descend, dim=n, inputs=[x, x.grad])
    x.grad.zero_()
"""
    )


def test_gradients_that_are_only_looked_at_while_they_add_up(run: Run) -> None:
    run(
        ROUND
        + """
for batch in range(4):
    inner, cost = record()
    inner.backward(cost)
    print(x.grad.numpy())
"""
    )


#: Loops of which only every fourth round has a sweep.
EVERY_FOURTH = {
    "a condition": """
        for k in range(40):
            if k % 4 == 1:
                sweep()
    """,
    "a jump": """
        for k in range(40):
            if k % 4 != 1:
                continue
            sweep()
    """,
    "a generator": """
        def due(rounds):
            for k in range(rounds):
                if k % 4 == 1:
                    yield k

        for k in due(40):
            sweep()
    """,
    "while": """
        k = 0
        while k < 40:
            k += 1
            if k % 4 == 1:
                sweep()
    """,
}


@pytest.mark.parametrize("zeroed", [False, True], ids=["wrong", "right"])
@pytest.mark.parametrize("loop", EVERY_FOURTH)
def test_rounds_without_a_sweep_among_others(run: Run, loop: str, zeroed: bool) -> None:
    """A loop is not left before three of its rounds had a sweep: only two of them show that a gradient adds up."""
    run(f"""{ROUND}
def sweep():
    inner, cost = record()
    inner.backward(cost){"" if zeroed else "  # expect: WP402"}
    optimizer.step([x.grad])
    {"inner.zero()" if zeroed else "pass"}

import warp.optim
optimizer = warp.optim.SGD([x], lr=0.1)
{textwrap.dedent(EVERY_FOURTH[loop])}""")


def test_fresh_parameter_in_every_round(run: Run) -> None:
    run(
        """
        def slope(values):
            x = wp.array(values, dtype=float, requires_grad=True)
            y = wp.zeros_like(x)
            cost = wp.zeros(1, dtype=float, requires_grad=True)
            with wp.Tape() as inner:
                wp.launch(square, dim=n, inputs=[x, y])
                wp.launch(total, dim=n, inputs=[y, cost])
            inner.backward(cost)
            return x.grad.numpy()

        values = np.ones(n)
        for k in range(5):
            values = values - slope(values)
    """
    )


def test_zeroing_by_code_that_is_not_known(run: Run) -> None:
    run(
        "from helpers import clear_gradients\n"
        + ROUND
        + """
for k in range(5):
    inner, cost = record()
    inner.backward(cost)
    wp.launch(descend, dim=n, inputs=[x, x.grad])
    clear_gradients([x])
"""
    )


def test_two_sweeps_over_one_recording(run: Run) -> None:
    run("""
        with tape:
            wp.launch(square, dim=n, inputs=[x, a])
            wp.launch(total, dim=n, inputs=[a, loss])
        tape.backward(loss)
        tape.backward(loss)  # expect: WP411
        print(x.grad.numpy())
    """)


def test_two_sweeps_of_which_nobody_uses_the_sum(run: Run) -> None:
    run("""
        with tape:
            wp.launch(square, dim=n, inputs=[x, a])
            wp.launch(total, dim=n, inputs=[a, loss])
        tape.backward(loss)
        print(x.grad.numpy())
        tape.zero()
        tape.backward(loss)
        print(x.grad.numpy())
    """)


def test_two_objectives_on_one_tape(run: Run) -> None:
    run("""
        more = wp.zeros(1, dtype=float, requires_grad=True)
        with tape:
            wp.launch(square, dim=n, inputs=[x, a])
            wp.launch(total, dim=n, inputs=[a, loss])
            wp.launch(total, dim=n, inputs=[x, more])
        tape.backward(loss)
        tape.backward(more)  # expect: WP411
        print(x.grad.numpy())
    """)


def test_two_objectives_of_which_the_first_is_stored(run: Run) -> None:
    # the adjoint of the store takes the one out of the gradient of the first loss
    run("""
        with tape:
            wp.launch(square, dim=1, inputs=[x, loss])
            wp.launch(total, dim=n, inputs=[x, b])
        tape.backward(loss)
        tape.backward(b)
        print(x.grad.numpy())
    """)


def test_tape_that_is_entered_again(run: Run) -> None:
    run("""
        for k in range(3):
            with tape:  # expect: WP412
                wp.launch(square, dim=n, inputs=[x, a])
                wp.launch(total, dim=n, inputs=[a, loss])
            tape.backward(loss)
            print(x.grad.numpy())
            tape.zero()
    """)


def test_tape_that_is_entered_twice_before_its_sweep(run: Run) -> None:
    run("""
        with tape:
            wp.launch(square, dim=n, inputs=[x, a])
        with tape:
            wp.launch(total, dim=n, inputs=[a, loss])
        tape.backward(loss)
        print(x.grad.numpy())
    """)


def test_tape_that_is_reset(run: Run) -> None:
    run("""
        for k in range(3):
            with tape:
                wp.launch(square, dim=n, inputs=[x, a])
                wp.launch(total, dim=n, inputs=[a, loss])
            tape.backward(loss)
            print(x.grad.numpy())
            tape.reset()
    """)


def test_tape_that_is_entered_again_for_another_loss(run: Run) -> None:
    # the old loss has no gradient left when the sweep goes over the old launches again
    run("""
        for k in range(3):
            cost = wp.zeros(1, dtype=float, requires_grad=True)
            with tape:
                wp.launch(square, dim=n, inputs=[x, a])
                wp.launch(total, dim=n, inputs=[a, cost])
            tape.backward(cost)
            print(x.grad.numpy())
            tape.zero()
    """)


SEEDED = """
with tape:
    wp.launch(square, dim=n, inputs=[x, a])
rows = []
for r in range(2):
    seed = np.zeros(n, dtype=np.float32)
    seed[r] = 1.0
    tape.backward(grads={a: wp.array(seed, dtype=float)})MARK
    rows.append(x.grad.numpy().copy())ZERO
print(float(a.numpy()[1]))
print(rows[1])
"""


def test_sweeps_with_seeds_of_their_own_add_up(run: Run) -> None:
    program = SEEDED.replace("MARK", "  # expect: WP411").replace("ZERO", "")
    (fact,) = run(program, measured=True)
    assert fact.program is not None


def test_sweeps_with_seeds_of_their_own_that_are_zeroed(run: Run) -> None:
    run(SEEDED.replace("MARK", "  # ok: WP411").replace("ZERO", "\n    tape.zero()"), measured=True)


def test_sweeps_with_seeds_whose_sum_is_wanted(run: Run) -> None:
    run(
        """
with tape:
    wp.launch(square, dim=n, inputs=[x, a])
for r in range(2):
    seed = np.zeros(n, dtype=np.float32)
    seed[r] = 1.0
    tape.backward(grads={a: wp.array(seed, dtype=float)})  # ok: WP411
print(float(a.numpy()[0] + a.numpy()[1]))
print(x.grad.numpy())
""",
        measured=True,
    )


TORCH = """
import torch

class Buffers:
    def __init__(self):
        self.x = wp.zeros(n, dtype=float, requires_grad=True)
        self.y = wp.zeros(n, dtype=float, requires_grad=True)

class Layer(torch.autograd.Function):
    @staticmethod
    def forward(ctx, given, buffers):
        ctx.buffers = buffers
        wp.copy(buffers.x, wp.from_torch(given.detach()))
        buffers.tape = wp.Tape()
        with buffers.tape:
            wp.launch(square, dim=n, inputs=[buffers.x, buffers.y])
        return wp.to_torch(buffers.y).clone()

    @staticmethod
    def backward(ctx, adj):
        buffers = ctx.buffers
        buffers.tape.backward(grads={buffers.y: wp.from_torch(adj)})MARK
        found = wp.to_torch(buffers.x.grad).clone()ZERO
        return found, None

buffers = Buffers()
weights = torch.nn.Parameter(torch.ones(n))
for _ in range(3):
    Layer.apply(weights, buffers).sum().backward()
"""


def test_buffers_that_a_torch_function_keeps(run: Run) -> None:
    (fact,) = run(TORCH.replace("MARK", "  # expect: WP402").replace("ZERO", ""))
    assert fact.program is not None


def test_buffers_that_a_torch_function_empties(run: Run) -> None:
    run(TORCH.replace("MARK", "  # ok: WP402").replace("ZERO", "\n        buffers.x.grad.zero_()"))


RE_ENTERED = """
def evaluate():
    cost = wp.zeros(1, dtype=float, requires_grad=True)
    ENTER
        wp.launch(square, dim=n, inputs=[x, a])
        wp.launch(total, dim=n, inputs=[a, cost])
    tape.backward(cost)
    slopes = x.grad.numpy().copy()
    ZERO
    return float(cost.numpy()[0]), slopes


evaluate()
value, slopes = evaluate()
print(value)
print(slopes)
"""


def test_tape_that_is_entered_again_while_the_first_loss_has_a_gradient(run: Run) -> None:
    text = RE_ENTERED.replace("ENTER", "with tape:  # expect: WP412").replace("ZERO", "x.grad.zero_()")
    run(text, measured=True)


@pytest.mark.parametrize("zero", ["x.grad.zero_()\n    tape.reset()", "tape.reset()\n    x.grad.zero_()"])
def test_tape_that_is_reset_for_another_loss(run: Run, zero: str) -> None:
    run(RE_ENTERED.replace("ENTER", "with tape:  # ok: WP412").replace("ZERO", zero), measured=True)


def test_tape_of_other_losses_whose_gradients_are_zeroed(run: Run) -> None:
    """The first recording is swept again, and brings nothing: the gradient of its loss is zero by then."""
    run(RE_ENTERED.replace("ENTER", "with tape:").replace("ZERO", "tape.zero()"), measured=True)


TURNS = """
@wp.kernel
def combine(q: wp.array(dtype=float), p: wp.array(dtype=float), later: wp.array(dtype=float)):
    i = wp.tid()
    later[i] = wp.sin(q[i]) * p[i]


@wp.kernel
def gather(q: wp.array(dtype=float), p: wp.array(dtype=float), later: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(later, i, wp.sin(q[i]) * p[i])


@wp.kernel
def squares(y: wp.array(dtype=float), loss: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(loss, 0, y[i] * y[i])


now = wp.full(n, 0.5, dtype=float, requires_grad=True)
later = wp.zeros_like(now)
for turn in range(2):
    now.fill_(0.5)
    later.zero_()
    cost = wp.zeros(1, dtype=float, requires_grad=True)
    BEFORE
    turned = wp.Tape()
    with turned:
        wp.launch(KERNEL, dim=n, inputs=[now, x, later])
        wp.launch(squares, dim=n, inputs=[later, cost])
    turned.backward(cost)  # MARK: WP402
    slopes = x.grad.numpy().copy()
    AFTER
print(float(cost.numpy()[0]))
print(slopes)
"""


def _turns(kernel: str, before: str, after: str, mark: str) -> str:
    return TURNS.replace("KERNEL", kernel).replace("BEFORE", before).replace("AFTER", after).replace("MARK", mark)


@pytest.mark.parametrize(
    ("kernel", "after"),
    [
        ("combine", "x.grad.zero_()\n    now, later = later, now"),  # what was read is written now
        ("gather", "x.grad.zero_()"),  # what is added to keeps its gradient
        ("gather", "x.grad.zero_()\n    now, later = later, now"),
    ],
)
def test_gradient_that_a_state_still_has(run: Run, kernel: str, after: str) -> None:
    (fact,) = run(_turns(kernel, "pass", after, "expect"), measured=True)
    assert fact.program is not None and fact.attributes["parameter"] != "x"


@pytest.mark.parametrize(
    ("kernel", "before", "after"),
    [
        ("combine", "pass", "turned.zero()\n    now, later = later, now"),
        ("combine", "later.grad.zero_()", "x.grad.zero_()\n    now, later = later, now"),
        ("combine", "pass", "x.grad.zero_()"),  # a launch that stores leaves no gradient behind
        ("gather", "later.grad.zero_()", "x.grad.zero_()"),
        ("gather", "later = wp.zeros_like(now)", "x.grad.zero_()"),
    ],
)
def test_states_that_begin_without_a_gradient(run: Run, kernel: str, before: str, after: str) -> None:
    run(_turns(kernel, before, after, "ok"), measured=True)


def test_states_in_reverse_order_whose_gradient_is_meant(run: Run) -> None:
    """Each step is recorded again, the last one first: what a sweep leaves in its first state is the next one's."""
    run(
        """
        @wp.kernel
        def combine(q: wp.array(dtype=float), p: wp.array(dtype=float), later: wp.array(dtype=float)):
            i = wp.tid()
            later[i] = wp.sin(q[i]) * p[i] + 0.5

        states = [wp.full(n, 0.5, dtype=float, requires_grad=True) for _ in range(4)]
        costs = [wp.zeros(1, dtype=float, requires_grad=True) for _ in range(3)]
        for k in range(3):
            wp.launch(combine, dim=n, inputs=[states[k], x, states[k + 1]])
        slopes = np.zeros(n)
        for k in reversed(range(3)):
            step = wp.Tape()
            with step:
                wp.launch(combine, dim=n, inputs=[states[k], x, states[k + 1]])
                wp.launch(total, dim=n, inputs=[states[k + 1], costs[k]])
            step.backward(costs[k])  # ok: WP402
            slopes = slopes + x.grad.numpy()
            x.grad.zero_()
        print(sum(float(cost.numpy()[0]) for cost in costs))
        print(slopes)
    """,
        measured=True,
    )


def test_rows_of_one_parameter_in_one_sweep(run: Run) -> None:
    run(
        """
table = wp.array(np.ones((2, n)), dtype=float, requires_grad=True)
for _ in range(3):
    cost = wp.zeros(1, dtype=float, requires_grad=True)
    table.grad.zero_()
    with wp.Tape() as inner:
        for one in range(2):
            part = wp.zeros(n, dtype=float, requires_grad=True)
            wp.launch(square, dim=n, inputs=[table[one], part])
            wp.launch(total, dim=n, inputs=[part, cost])
    inner.backward(cost)
    table.assign(table.numpy() - 0.1 * table.grad.numpy())
"""
    )
