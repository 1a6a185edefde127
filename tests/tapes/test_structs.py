"""Structs that change after a launch was given them, and objects that get two names."""

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
    return partial(judge, tmp_path, kinds={"overwritten-before-sweep", "flag-set-after-struct", "state-alias"})


STRUCTS = """
@wp.struct
class Pair:
    a: wp.array(dtype=float)
    b: wp.array(dtype=float)
    k: float
    g: float


@wp.kernel
def step(pair: Pair):
    i = wp.tid()
    scale = pair.k * 2.0
    pair.b[i] = pair.a[i] * scale + pair.g


@wp.kernel
def finish(pair: Pair, loss: wp.array(dtype=float)):
    wp.atomic_add(loss, 0, pair.b[wp.tid()])


pair = Pair()
pair.a = x
pair.b = a
pair.k = 1.5
"""
END = """
tape.backward(loss)
print(x.grad.numpy())
"""


def test_a_field_that_gets_another_array(run: Run) -> None:
    (fact, _) = run(
        f"""{STRUCTS}
with tape:
    wp.launch(step, dim=n, inputs=[pair])
    pair.a = a  # expect: WP205
    pair.b = b  # expect: WP205
    wp.launch(step, dim=n, inputs=[pair])
    wp.launch(total, dim=n, inputs=[b, loss])
{END}""",
        measured=True,
    )
    assert fact.attributes["by"] == "binding" and fact.program is not None


def test_a_field_that_gets_another_array_after_the_recording(run: Run) -> None:
    run(
        f"""{STRUCTS}
with tape:
    wp.launch(step, dim=n, inputs=[pair])
    wp.launch(total, dim=n, inputs=[a, loss])
pair.b = b  # expect: WP205
{END}""",
        measured=True,
    )


@pytest.mark.parametrize("value", ["0.1 * float(t + 1)", "0.1 * (t + 1)", "[0.3, 0.2, 0.1][t]"])
def test_a_number_that_changes_with_every_step(run: Run, value: str) -> None:
    run(
        f"""{STRUCTS}
with tape:
    for t in range(3):
        pair.k = {value}  # expect: WP205
        wp.launch(step, dim=n, inputs=[pair])
    wp.launch(total, dim=n, inputs=[a, loss])
{END}""".replace("wp.launch(step, dim=n, inputs=[pair])", "wp.launch(scaled, dim=n, inputs=[pair, x, ys[t]])")
        .replace(
            "pair = Pair()",
            """@wp.kernel
def scaled(pair: Pair, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * pair.k + pair.g
ys = [wp.zeros_like(x) for _ in range(3)]
pair = Pair()""",
        )
        .replace("inputs=[a, loss]", "inputs=[ys[0], loss]"),
        measured=True,
    )


@pytest.mark.parametrize(
    "rest",
    [
        # what a number is added to has the same derivative
        "    wp.launch(step, dim=n, inputs=[pair])\n    wp.launch(total, dim=n, inputs=[a, loss])\npair.g = 3.0",
        # the same array again
        "    wp.launch(step, dim=n, inputs=[pair])\n    pair.b = a\n    wp.launch(finish, dim=n, inputs=[pair, loss])",
        # back in time
        "    wp.launch(step, dim=n, inputs=[pair])\n    wp.launch(total, dim=n, inputs=[a, loss])\n"
        "pair.b = b\npair.b = a",
        # another struct
        "    wp.launch(step, dim=n, inputs=[pair])\n    pair = Pair()\n    pair.a, pair.b, pair.k = a, b, 1.0\n"
        "    wp.launch(step, dim=n, inputs=[pair])\n    wp.launch(total, dim=n, inputs=[b, loss])",
    ],
)
def test_structs_that_stay_what_they_are(run: Run, rest: str) -> None:
    run(f"{STRUCTS}\npair.k = 1.0\npair.g = 1.0\nwith tape:\n{rest}\n{END}", measured=True)


def test_after_the_sweep_it_may_change(run: Run) -> None:
    run(
        f"""{STRUCTS}
with tape:
    wp.launch(step, dim=n, inputs=[pair])
    wp.launch(total, dim=n, inputs=[a, loss])
{END}
pair.b = b
""",
        measured=True,
    )


LATE = """
with tape:
    wp.launch(step, dim=n, inputs=[pair])
    wp.launch(finish, dim=n, inputs=[pair, loss])
"""


def test_a_flag_that_the_struct_does_not_know(run: Run) -> None:
    (fact,) = run(
        f"""{STRUCTS}
late = wp.zeros(n, dtype=float)
pair.b = late
late.requires_grad = True  # expect: WP308
{LATE}{END}""",
        measured=True,
    )
    assert fact.attributes == {"array": "late", "field": "b", "kernel": "step"}
    assert fact.program is not None


@pytest.mark.parametrize(
    "setup",
    [
        "late.requires_grad = True  # ok: WP308\npair.b = late",
        "pair.b = late\nlate.requires_grad = True  # ok: WP308\npair.b = late",
    ],
)
def test_a_flag_that_the_struct_knows(run: Run, setup: str) -> None:
    run(f"{STRUCTS}\nlate = wp.zeros(n, dtype=float)\n{setup}\n{LATE}{END}", measured=True)


ROUNDS = """
before = wp.full(n, 0.8, dtype=float, requires_grad=True)
states = [wp.full(n, 0.5, dtype=float, requires_grad=True) for _ in range(4)]
for k in range(2):
    p = x if k else before
    reached = wp.zeros(1, dtype=float, requires_grad=True)
    inner = wp.Tape()
    with inner:
        for t in range(3):
            wp.launch(combine, dim=n, inputs=[states[t], p, states[t + 1]])
        wp.launch(total, dim=n, inputs=[states[3], reached])
    inner.backward(reached)
    if k == 0:
        inner.zero()
        NEXT
print(float(reached.numpy()[0]))
print(x.grad.numpy())
"""


@pytest.mark.parametrize("rebinding", ["states[0] = states[-1]", "states[0] = states[3]"])
def test_the_first_state_becomes_the_last(run: Run, rebinding: str) -> None:
    (fact,) = run(ROUNDS.replace("NEXT", f"{rebinding}  # expect: WP204"), measured=True)
    assert fact.program is not None


@pytest.mark.parametrize(
    "rebinding",
    [
        "states[0] = wp.clone(states[-1])",
        "wp.copy(states[0], states[-1])",
        "states[0], states[-1] = states[-1], states[0]",
        "states = [wp.clone(states[-1]), *[wp.zeros_like(x) for _ in range(3)]]",
    ],
)
def test_the_first_state_is_another_array(run: Run, rebinding: str) -> None:
    run(ROUNDS.replace("NEXT", f"{rebinding}  # ok: WP204"), measured=True)


BODIES = """
class Body:
    def __init__(self):
        self.q = wp.full(n, 0.5, dtype=float, requires_grad=True)

before = wp.full(n, 0.8, dtype=float, requires_grad=True)
bodies = [Body() for _ in range(3)]
for k in range(2):
    p = x if k else before
    reached = wp.zeros(1, dtype=float, requires_grad=True)
    inner = wp.Tape()
    with inner:
        for a, b in zip(bodies, bodies[1:]):
            wp.launch(combine, dim=n, inputs=[a.q, p, b.q])
        wp.launch(total, dim=n, inputs=[bodies[-1].q, reached])
    inner.backward(reached)
    if k == 0:
        inner.zero()
        NEXT
print(float(reached.numpy()[0]))
print(x.grad.numpy())
"""


def test_an_array_that_two_objects_come_to_share(run: Run) -> None:
    (fact,) = run(BODIES.replace("NEXT", "bodies[0].q = bodies[-1].q  # expect: WP204"), measured=True)
    assert fact.program is not None


@pytest.mark.parametrize(
    "rebinding", ["bodies[0].q = wp.clone(bodies[-1].q)", "bodies[0].q, bodies[-1].q = bodies[-1].q, bodies[0].q"]
)
def test_objects_that_keep_arrays_of_their_own(run: Run, rebinding: str) -> None:
    run(BODIES.replace("NEXT", f"{rebinding}  # ok: WP204"), measured=True)


def test_two_attributes_of_one_object(run: Run) -> None:
    run(
        """
class Sim:
    def __init__(self):
        self.now = wp.zeros(n, dtype=float, requires_grad=True)
        self.later = wp.zeros(n, dtype=float, requires_grad=True)

    def week(self):
        tape = wp.Tape()
        with tape:
            wp.launch(combine, dim=n, inputs=[self.now, x, self.later])
            wp.launch(total, dim=n, inputs=[self.later, loss])
        tape.backward(loss)
        print(x.grad.numpy())
        tape.zero()
        self.now = self.later  # expect: WP204


sim = Sim()
for k in range(3):
    sim.week()
""".replace("wp.launch(combine", "wp.launch(combine")
    )


PAIR = """
class Sim:
    def __init__(self):
        self.states = [wp.full(n, 0.5, dtype=float, requires_grad=True) for _ in range(2)]

    def week(self, p):
        now, later = self.states
        reached = wp.zeros(1, dtype=float, requires_grad=True)
        inner = wp.Tape()
        with inner:
            wp.launch(combine, dim=n, inputs=[now, p, later])
            wp.launch(total, dim=n, inputs=[later, reached])
        inner.backward(reached)
        slopes = p.grad.numpy().copy()
        inner.zero()
        NEXT
        return float(reached.numpy()[0]), slopes


sim = Sim()
sim.week(wp.full(n, 0.8, dtype=float, requires_grad=True))
reached, slopes = sim.week(x)
print(reached)
print(slopes)
"""


def test_a_list_that_comes_to_hold_one_state_twice(run: Run) -> None:
    run(PAIR.replace("NEXT", "self.states = [later, later]  # expect: WP204"), measured=True)


@pytest.mark.parametrize(
    "states", ["[later, now]", "[later, wp.zeros_like(later)]", "[wp.clone(s) for s in (now, now)]"]
)
def test_a_list_of_states_that_takes_the_place_of_another(run: Run, states: str) -> None:
    run(PAIR.replace("NEXT", f"self.states = {states}  # ok: WP204"), measured=True)
