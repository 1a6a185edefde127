"""A lost value shows where it was read, where it was overwritten and which adjoint needs it."""

from __future__ import annotations

import pytest

from tests.kernels.conftest import module_of
from warplint import kernels
from warplint.source.project import Project

HEAD = """
import warp as wp

@wp.kernel
def run(x: wp.array[float], w: wp.array[float], n: int, out: wp.array[float]):
    i = wp.tid()
"""


@pytest.mark.parametrize(
    ("body", "kind", "places"),
    [
        ("v = x[i]|out[i] = v * w[i]|x[i] = 0.0", "array-overwritten", {"x[i]", "v * w[i]", "x[i] = 0.0"}),
        (
            "s = w[0]|for k in range(n):|    t = s * x[k]|    out[k] = t|    s = 0.5 * s",
            "loop-carried-value",
            {"for k in range(n)", "s * x[k]", "s = 0.5 * s"},
        ),
        (
            "s = float(0.0)|for k in range(n):|    s += x[k]|out[i] = s * w[i]",
            "loop-result-used",
            {"for k in range(n)", "s += x[k]", "s * w[i]"},
        ),
        (
            "k = int(0)|while k < n:|    out[i] += x[k]|    k += 1",
            "carried-index",
            {"while k < n", "x[k]", "k += 1"},
        ),
    ],
)
def test_three_places(project: Project, body: str, kind: str, places: set[str]) -> None:
    module = module_of(project, HEAD + "".join(f"    {line}\n" for line in body.split("|")))
    (fact,) = [fact for fact in kernels.analyse(project, module) if fact.kind == kind]
    shown = set()
    for label in fact.labels:
        span = label.location.span
        line = module.lines[span.line - 1]
        shown.add(line[span.column - 1 : span.end_column - 1] if span.end_line == span.line else line.strip())
    assert shown == places
