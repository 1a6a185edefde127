"""Inputs are found for lines that run only where several things come together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.probe.conftest import marked
from warplint.ir.facts import Evidence, Finding

Run = Callable[[list[Finding]], list[Evidence]]

_TEXT = """
import warp as wp


@wp.func
def clipped(poly: wp.array(dtype=float), poly_count: int, loop: wp.array(dtype=float), loop_count: int) -> float:
    # one count is 2 and the other is not
    if poly_count != 2 and loop_count != 2:
        return 0.0
    if poly_count == 2 and loop_count == 2:
        return 0.0
    low = float(1.0)
    for k in range(loop_count + poly_count):
        low = low * loop[k]  # flagged
    return low


@wp.kernel
def ranges(x: wp.array(dtype=float), first: int, last: int, out: wp.array(dtype=float)):
    i = wp.tid()
    total = float(1.0)
    for k in range(first, last):
        total = total * x[k]  # flagged
    out[i] = total


@wp.kernel
def pairs(edges: wp.array2d(dtype=int), x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    total = float(1.0)
    for k in range(edges.shape[0]):
        # the edges share no end
        if edges[i, 2] == edges[k, 2] or edges[i, 2] == edges[k, 3]:
            continue
        if edges[i, 3] == edges[k, 2] or edges[i, 3] == edges[k, 3]:
            continue
        total = total * x[edges[k, 2]]  # flagged
    out[i] = total


@wp.kernel
def without_a_filter(skipped: wp.array(dtype=int), x: wp.array(dtype=float), n: int, out: wp.array(dtype=float)):
    i = wp.tid()
    total = float(1.0)
    if not skipped:
        for k in range(n):
            total = total * x[k]  # flagged
    out[i] = total


@wp.kernel
def groups(
    mesh: wp.uint64, roots: wp.array(dtype=int), n: int, start: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)
):
    i = wp.tid()
    total = float(1.0)
    for k in range(n):
        if roots[k] < 0:
            continue
        query = wp.mesh_query_ray(mesh, start[i], wp.vec3(1.0, 1.0, 1.0), 99.0, roots[k])
        if query.result:
            total = total * (query.t + start[i][2])  # flagged
    out[i] = total


@wp.kernel
def narrow(x: wp.array(dtype=float), kind: wp.array(dtype=int), n: int, out: wp.array(dtype=float)):
    i = wp.tid()
    total = float(1.0)
    if kind[0] == 7:
        if kind[1] == 9:
            if x[0] > 0.9 and x[1] < 0.5:
                for k in range(n):
                    total = total * x[k]  # flagged
    out[i] = total
"""


def test_lines_that_are_hard_to_reach(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "kernels.py"
    path.write_text(_TEXT)
    cases = list(marked(path))
    assert len(cases) == 6
    evidence = {name: one for (name, _), one in zip(cases, run([case for _, case in cases]), strict=True)}
    assert {name: one.detail for name, one in evidence.items() if one.verdict != "confirmed"} == {}
