"""Generic kernels get types that fit their code."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

_HEAD = """
from typing import Any
import warp as wp


@wp.func
def clamped(v: Any, most: Any):
    size = wp.length(v)
    if size > most:
        return v * (most / size)
    return v


"""

# Parameters and body of a kernel, and what its generic parameters should be.
_CASES = {
    "a step in time": (
        "x: wp.array(dtype=Any), v: wp.array(dtype=Any), m: wp.array(dtype=Any), dt: wp.array(dtype=Any)",
        "x[i] = x[i] + clamped(dt[0] * v[i] / m[i], dt[0])",
        ["vec3d", "vec3d", "float64", "float64"],
    ),
    "made by its own type": (
        "v: wp.array(dtype=Any), s: wp.array(dtype=Any)",
        "v[i] = type(v[i])(s[i], s[i], s[i], s[i])",
        ["vec4d", "float64"],
    ),
    "matrices and vectors": (
        "m: wp.array(dtype=Any), x: wp.array(dtype=Any)",
        "x[i] = wp.transpose(m[0]) * x[i] * m[1][0, 1]",
        ["mat33d", "vec3d"],
    ),
    "cast to double": (
        "q: wp.array(dtype=Any), t: wp.array2d(dtype=wp.float64), y: wp.array(dtype=wp.float64)",
        "y[i] = wp.float64(q[i][0, 0]) * t[i, 0] + wp.float64(q[i][2, 1])",
        ["mat33d"],
    ),
    "literals are single": ("x: wp.array(dtype=Any)", "x[i] = x[i] * 2.0", ["float32"]),
    "an index": ("k: wp.array(dtype=Any), x: wp.array(dtype=float)", "x[i] = x[k[i]]", ["int32"]),
    "not told by the text": (
        "q: wp.array(dtype=Any), y: wp.array(dtype=wp.vec3)",
        "y[i] = wp.quat_to_matrix(wp.quat_inverse(q[i])) * y[i]",
        ["quatf"],
    ),
}


@pytest.mark.parametrize(("parameters", "body", "expected"), _CASES.values(), ids=_CASES.keys())
def test_types_fit(parameters: str, body: str, expected: list[str], tmp_path: Path) -> None:
    from warplint.probe.worker.compat import types
    from warplint.probe.worker.generics import fitting
    from warplint.probe.worker.loading import load_script

    text = f"{_HEAD}@wp.kernel\ndef k({parameters}):\n    i = wp.tid()\n    {body}\n"
    module = load_script(text, tmp_path, "_types")
    try:
        found = fitting(module.k, double=True)
    finally:
        del sys.modules[module.__name__]
    assert found
    assert found[0].kinds is not None
    generic = [
        types.type_repr(kind.dtype)
        for kind, argument in zip(found[0].kinds, module.k.adj.args, strict=True)
        if types.type_is_generic(argument.type)
    ]
    assert generic == expected
