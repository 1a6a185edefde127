"""Kernels that read again what they have stored: the path goes on through the array, and through its gradient."""

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
    return partial(judge, tmp_path, kinds={"missing-requires-grad", "overwritten-before-sweep"})


KERNELS = """
@wp.kernel
def twice(x: wp.array(dtype=float), y: wp.array(dtype=float), z: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]
    z[i] = y[i] * 2.0

@wp.kernel
def apart(x: wp.array(dtype=float), y: wp.array(dtype=float), z: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]
    z[i] = y[i + 1] * 2.0

@wp.kernel
def pull(p: wp.array(dtype=float), f: wp.array(dtype=float)):
    f[wp.tid()] = -p[wp.tid()]

@wp.kernel
def move(p: wp.array(dtype=float), v: wp.array(dtype=float), f: wp.array(dtype=float), k: wp.array(dtype=float),
         p1: wp.array(dtype=float), v1: wp.array(dtype=float)):
    i = wp.tid()
    v1[i] = v[i] + k[0] * f[i]
    p1[i] = p[i] + v1[i]
"""


@pytest.mark.parametrize(
    ("y", "z"),
    [
        ("wp.zeros_like(x)", "wp.zeros_like(x)"),
        ("wp.zeros(n, dtype=float)  # expect: WP301", "wp.zeros_like(x)"),
        ("wp.zeros_like(x)", "wp.zeros(n, dtype=float)  # expect: WP301"),
    ],
)
def test_each_array_on_the_way_needs_a_gradient(run: Run, y: str, z: str) -> None:
    run(
        KERNELS
        + f"""
y = {y}
z = {z}
with tape:
    wp.launch(twice, dim=n, inputs=[x, y, z])
    wp.launch(total, dim=n, inputs=[z, loss])
tape.backward(loss)
"""
    )


def test_another_element_is_not_known_to_be_on_the_way(run: Run) -> None:
    run(
        KERNELS
        + """
y = wp.zeros(n + 1, dtype=float)
with tape:
    wp.launch(apart, dim=n, inputs=[x, y, a])
    wp.launch(total, dim=n, inputs=[a, loss])
tape.backward(loss)
"""
    )


@pytest.mark.parametrize(("force", "mark"), [("f", "  # expect: WP201"), ("wp.zeros_like(x)", "")])
def test_a_force_buffer_for_all_steps_of_a_semi_implicit_scheme(run: Run, force: str, mark: str) -> None:
    run(
        KERNELS
        + f"""
k = wp.array([0.5], dtype=float, requires_grad=True)
ps = [x] + [wp.zeros_like(x) for _ in range(4)]
vs = [wp.zeros_like(x) for _ in range(5)]
f = wp.zeros_like(x)
with tape:
    for t in range(4):
        force = {force}
        wp.launch(pull, dim=n, inputs=[ps[t], force]){mark}
        wp.launch(move, dim=n, inputs=[ps[t], vs[t], force, k, ps[t + 1], vs[t + 1]])
    wp.launch(total, dim=n, inputs=[ps[4], loss])
tape.backward(loss)
"""
    )
