"""Points where an adjoint is not finite, and what is none: there the forward pass is not finite either."""

from __future__ import annotations

import pytest

from tests.kernels.conftest import module_of
from warplint import kernels
from warplint.source.project import Project

KERNEL = """
import warp as wp

@wp.kernel
def run(x: wp.array[float], v: wp.array[wp.vec3], out: wp.array[float]):
    i = wp.tid()
    out[i] = {value}
"""


@pytest.mark.parametrize(
    ("value", "argument"),
    [
        ("wp.sqrt(x[i] * x[i])", "x[i] * x[i]"),
        ("wp.sqrt(wp.dot(v[i], v[i]))", "wp.dot(v[i], v[i])"),
        ("wp.sqrt(2.0 * wp.length_sq(v[i]))", "2.0 * wp.length_sq(v[i])"),
        ("1.0 / x[i]", None),
        ("x[i] / wp.length(v[i])", None),
        ("wp.log(x[i] * x[i])", None),
        ("wp.sqrt(1.0 / wp.dot(v[i], v[i]))", None),
        ("wp.pow(wp.dot(v[i], v[i]), -0.5)", None),
        ("wp.length(v[i])", None),
        ("wp.normalize(v[i])[0]", None),
        ("wp.acos(wp.clamp(x[i], -1.0, 1.0))", None),
    ],
)
def test_the_point_is_named_where_only_the_adjoint_is_not_finite(
    project: Project, value: str, argument: str | None
) -> None:
    found = [
        fact.attributes["argument"]
        for fact in kernels.analyse(project, module_of(project, KERNEL.format(value=value)))
        if fact.kind == "singular-adjoint" and fact.attributes["reachable"]
    ]
    assert found == ([] if argument is None else [argument])
