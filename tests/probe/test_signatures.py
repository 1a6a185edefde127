"""Every kind of parameter that Warp knows gets inputs, and a kernel that has it gets a verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.probe.conftest import marked
from warplint.ir.facts import Evidence

Run = Callable[..., list[Evidence]]

_HEAD = """
from typing import Any
import warp as wp


@wp.struct
class Inner:
    k: wp.vec3
    table: wp.array(dtype=float)


@wp.struct
class Outer:
    inner: Inner
    scale: float
    index: wp.int32


@wp.struct
class Plain:
    a: float
    b: wp.vec3


@wp.struct
class Nested:
    parts: wp.array(dtype=Plain)


@wp.func
def distance(mesh: wp.uint64, p: wp.vec3):
    query = wp.mesh_query_point_no_sign(mesh, p, 1.0e6)
    if not query.result:
        return 0.0
    return wp.length_sq(p - wp.mesh_eval_position(mesh, query.face, query.u, query.v))


@wp.func
def overlaps(tree: wp.uint64):
    query = wp.bvh_query_aabb(tree, wp.vec3(-9.0), wp.vec3(9.0))
    found = int(0)
    index = int(0)
    while wp.bvh_query_next(query, index):
        found += 1
    return float(found)


@wp.func
def nearby(grid: wp.uint64, x: wp.array(dtype=float)):
    total = float(0.0)
    for index in wp.hash_grid_query(grid, wp.vec3(0.5), 2.0):
        if index < x.shape[0]:
            total += x[index] * x[index]
    return total


"""

# Parameters, and the expression that depends on them; `i` is the thread. In front of it stands `y[i] = `.
_RIGHT = {
    "scalars": (
        "x: wp.array(dtype=float), a: float, b: wp.float64, c: wp.float16, d: int, e: wp.int8, f: wp.uint8, "
        "g: wp.int16, h: wp.uint16, k: wp.uint32, m: wp.int64, n: wp.uint64, o: wp.bool",
        "x[i] * (a + float(b) + float(c) + float(d) + float(e) + float(f) + float(g) + float(h) + float(k) + float(m) "
        "+ float(n)) * wp.where(o, 2.0, 3.0)",
    ),
    "half_precision": ("x: wp.array(dtype=float), s: wp.array(dtype=wp.float16)", "x[i] * x[i] * float(s[i])"),
    "double_precision": ("x: wp.array(dtype=wp.float64)", "float(wp.sin(x[i]))"),
    "vectors": (
        "x: wp.array(dtype=wp.vec3), v: wp.vec2, w: wp.vec4d, s: wp.array(dtype=wp.spatial_vector)",
        "wp.dot(x[i], x[i]) * v[0] + float(w[3]) + wp.length(s[i])",
    ),
    "integer_vectors": (
        "x: wp.array(dtype=float), v: wp.array(dtype=wp.vec3i)",
        "x[v[i][0]] * x[v[i][1]] * float(v[i][2])",
    ),
    "long_vectors": (
        "x: wp.array(dtype=wp.types.vector(length=5, dtype=float))",
        "x[i][0] * x[i][4]",
    ),
    "matrices": (
        "x: wp.array(dtype=wp.mat33), m: wp.mat22, n: wp.array(dtype=wp.types.matrix(shape=(2, 3), dtype=float))",
        "wp.determinant(x[i]) * m[0, 1] + n[i][1, 2] * n[i][0, 0]",
    ),
    "quaternions": (
        "q: wp.array(dtype=wp.quat), p: wp.quat, v: wp.array(dtype=wp.vec3)",
        "wp.dot(wp.quat_rotate(q[i] * p, v[i]), wp.vec3(1.0, 2.0, 3.0))",
    ),
    "transforms": (
        "t: wp.array(dtype=wp.transform), s: wp.transform, v: wp.array(dtype=wp.vec3)",
        "wp.dot(wp.transform_point(t[i] * s, v[i]), wp.vec3(1.0, 2.0, 3.0))",
    ),
    "arrays_to_4d": (
        "a: wp.array(dtype=float), b: wp.array2d(dtype=float), c: wp.array3d(dtype=float), "
        "d: wp.array4d(dtype=wp.vec2)",
        "a[i] * b[i, 1] * c[i, 1, 0] * d[i, 0, 1, 2][1]",
    ),
    "structs": ("x: wp.array(dtype=float), s: Outer", "x[i] * s.scale + s.inner.k[1] * s.inner.table[i] * x[s.index]"),
    "arrays_of_structs": ("s: wp.array(dtype=Plain)", "s[i].a * s[i].a + wp.length(s[i].b)"),
    "arrays_of_structs_of_arrays": ("x: wp.array(dtype=float), s: wp.array(dtype=Outer)", "x[i] * s[i].inner.table[0]"),
    "generic_scalars": ("x: wp.array(dtype=Any), k: Any", "float(wp.exp(x[i]) * k)"),
    "generic_vectors": ("x: wp.array(dtype=Any), k: wp.array(dtype=Any)", "float(wp.dot(x[i], x[i]) * k[i])"),
    "generic_matrices": (
        "x: wp.array(dtype=Any), v: wp.array(dtype=Any)",
        "float(wp.length(x[i] * v[i]) + x[i][0, 1])",
    ),
    "generic_arrays": ("x: Any", "float(x[i] * x[i])"),
    "generic_lengths": ("x: wp.array(dtype=wp.types.vector(length=Any, dtype=wp.float32))", "wp.dot(x[i], x[i])"),
    "generic_floats": ("x: wp.array(dtype=wp.Float), k: wp.Int", "float(x[i] * x[i]) * float(k)"),
    "meshes": ("x: wp.array(dtype=float), mesh: wp.uint64", "x[i] * x[i] * wp.mesh_get_point(mesh, 0)[0]"),
    "volumes": (
        "p: wp.array(dtype=wp.vec3), volume: wp.uint64",
        "wp.volume_sample_f(volume, p[i] * 0.3, wp.Volume.LINEAR)",
    ),
    "volumes_of_vectors": (
        "p: wp.array(dtype=wp.vec3), volume: wp.uint64",
        "wp.dot(wp.volume_sample_v(volume, p[i] * 0.3, wp.Volume.LINEAR), wp.vec3(1.0, 2.0, 3.0))",
    ),
    "volumes_of_vectors_by_type": (
        "x: wp.array(dtype=float), volume: wp.uint64",
        "x[i] * x[i] * wp.length(wp.volume_lookup(volume, 3, 2, 1, dtype=wp.vec3))",
    ),
    "structs_in_arrays_in_structs": ("x: wp.array(dtype=float), s: Nested", "x[i] * s.parts[i].a * s.parts[i].b[2]"),
    "arrays_of_structs_2d": ("s: wp.array2d(dtype=Plain)", "s[i, 1].a * s[i, 0].a"),
    "hash_grids": ("x: wp.array(dtype=float), grid: wp.uint64", "x[i] * float(wp.hash_grid_point_id(grid, i))"),
    "bvhs": (
        "x: wp.array(dtype=float), tree: wp.uint64",
        "x[i] * float(wp.where(wp.bvh_get_group_root(tree, 0) >= -1, 2, 3))",
    ),
    "textures": (
        "x: wp.array(dtype=float), t: wp.Texture2D",
        "wp.texture_sample(t, wp.vec2(0.3, 0.4), dtype=float) * x[i] * x[i]",
    ),
    "flags": ("x: wp.array(dtype=float), on: wp.array(dtype=wp.bool)", "x[i] * x[i] * wp.where(on[i], 2.0, 3.0)"),
    "arrays_of_handles": (
        "x: wp.array(dtype=float), meshes: wp.array(dtype=wp.uint64)",
        "x[i] * x[i] * (2.0 + wp.mesh_get_point(meshes[i], 0)[0])",
    ),
    "queries_of_meshes": ("p: wp.array(dtype=wp.vec3), mesh: wp.uint64", "distance(mesh, p[i])"),
    "queries_of_bvhs": ("x: wp.array(dtype=float), tree: wp.uint64", "x[i] * x[i] * (1.0 + overlaps(tree))"),
    "queries_of_hash_grids": ("x: wp.array(dtype=float), grid: wp.uint64", "x[i] * x[i] + nearby(grid, x)"),
    "textures_of_other_ranks": (
        "x: wp.array(dtype=float), line: wp.Texture1D, block: wp.Texture3D",
        "x[i] * x[i] * (1.0 + wp.texture_sample(line, 0.3, dtype=float) "
        "+ wp.texture_sample(block, wp.vec3(0.3, 0.4, 0.5), dtype=float))",
    ),
    "segments": (
        "x: wp.array(dtype=float), first: wp.array(dtype=int), last: wp.array(dtype=int)",
        "x[first[i]] * x[wp.max(last[i] - 1, 0)]",
    ),
}

_TILES = """
@wp.kernel
def tiles(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
    i = wp.tid()
    row = wp.tile_load(x, shape=(1, 4), offset=(i, 0))
    wp.tile_store(y, row * 2.0, offset=(i, 0))  # flagged


@wp.kernel
def lanes(x: wp.array2d(dtype=float), y: wp.array(dtype=float)):
    i, lane = wp.tid()
    total = float(0.0)
    for start in range(0, x.shape[1], 4):
        if start + lane < x.shape[1]:
            total += x[i, start + lane] * x[i, start + lane]  # flagged
    found = wp.tile_sum(wp.tile(total))
    wp.tile_store(y, found, offset=i)


"""


def _kernel(name: str, parameters: str, expression: str) -> str:
    return f"""@wp.kernel
def {name}({parameters}, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = {expression}  # flagged


"""


def _wrong(name: str, parameters: str, expression: str) -> str:
    """The same, but what the sweep reads is overwritten: its gradient is not right."""
    return f"""@wp.kernel
def {name}_wrong({parameters}, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = {expression}
    y[i] = y[i] * y[i]  # flagged


"""


def test_every_signature_is_decided(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "kernels.py"
    kernels = [_kernel(name, *one) for name, one in _RIGHT.items()]
    kernels += [_wrong(name, *one) for name, one in _RIGHT.items()]
    path.write_text(_HEAD + _TILES + "".join(kernels))
    cases = list(marked(path))
    evidence = run([case for _, case in cases], timeout_s=240.0)  # tiles take long to compile on a busy machine
    found = {name: one for (name, _), one in zip(cases, evidence, strict=True)}
    assert len(found) == 2 * len(_RIGHT) + 2
    other = {
        name: (one.verdict, one.detail)
        for name, one in found.items()
        if one.verdict != ("confirmed" if name.endswith("_wrong") else "refuted")
    }
    assert other == {}


@pytest.mark.parametrize("kind", ["fabricarray", "fabricarrayarray", "indexedfabricarray"])
def test_fabric_arrays_are_nobodys_to_make(kind: str, run: Run, tmp_path: Path) -> None:
    """They are views of the memory of an Omniverse stage, and Warp keeps no gradients for them."""
    path = tmp_path / "kernels.py"
    expression = "x[i][0] * v[i]" if kind == "fabricarrayarray" else "x[i] * v[i]"
    path.write_text(_HEAD + _kernel("k", f"x: wp.{kind}(dtype=float), v: wp.array(dtype=float)", expression))
    (evidence,) = run([case for _, case in marked(path)])
    assert evidence.verdict == "inconclusive"
    assert "argument `x` is a" in evidence.detail and evidence.detail.endswith("for which no value can be made")


def test_indexed_arrays_have_no_gradient_in_warp(run: Run, tmp_path: Path) -> None:
    """``Tape.backward()`` looks for ``grad`` in every array of a launch, and an indexed one has none (Warp 1.19)."""
    path = tmp_path / "kernels.py"
    parameters = "x: wp.indexedarray(dtype=float), v: wp.array(dtype=float)"
    path.write_text(_HEAD + _kernel("k", parameters, "x[i] * v[i]"))
    (evidence,) = run([case for _, case in marked(path)])
    assert evidence.verdict == "inconclusive"
    assert "'indexedarray' object has no attribute 'grad'" in evidence.detail


# Index arithmetic beyond the arrays' usual sizes; each is right, and out of range unless the arrays fit.
_SIZES = {
    "shape of another array": """
    for j in range(table.shape[1]):
        total += cube[i, j, 0] * table[i, j]  # flagged""",
    "a constant": """
    total += flat[40] * table[i, 17]  # flagged""",
    "rows times columns": """
    total += flat[i * table.shape[1] + table.shape[1] - 1] * table[i, 0]  # flagged""",
    "begins and ends": """
    for j in range(first[i], last[i]):
        total += flat[j] * table[i, j]  # flagged""",
    "a constant loop": """
    for j in range(20):
        total += flat[j] * flat[j]  # flagged""",
}


@pytest.mark.parametrize("body", _SIZES.values(), ids=_SIZES.keys())
def test_arrays_hold_what_is_indexed(body: str, run: Run, tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(
        f"""
import warp as wp


@wp.kernel
def k(flat: wp.array(dtype=float), table: wp.array2d(dtype=float), cube: wp.array3d(dtype=float),
      first: wp.array(dtype=int), last: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    total = float(0.0)
{body.lstrip(chr(10))}
    y[i] = total
"""
    )
    (case,) = [case for _, case in marked(path)]
    (evidence,) = run([case])
    assert (evidence.verdict, evidence.detail.partition(" at ")[0]) == ("refuted", "tape and finite differences agree")


_HALVES = {
    "named": ("x: wp.array(dtype=wp.float16), y: wp.array(dtype=wp.float16)", "x[i]", "a * x[i] * wp.float16(1.5)"),
    "imported": ("x: wp.array(dtype=float16), y: wp.array(dtype=float16)", "x[i]", "a * x[i] + float16(1.0)"),
    "aliased": ("x: wp.array(dtype=real), y: wp.array(dtype=real)", "x[i]", "a * x[i] * x[i]"),
    "vector": ("x: wp.array(dtype=wp.vec3h), y: wp.array(dtype=wp.vec3h)", "x[i]", "a * wp.dot(a, x[i])"),
    "made": ("x: wp.array(dtype=five), y: wp.array(dtype=five)", "x[i]", "wp.cw_mul(a, x[i])"),
    "in_structs": ("x: wp.array(dtype=Reading), y: wp.array(dtype=wp.float16)", "x[i].size", "a * x[i].size"),
}
_HALF_HEAD = """
import warp as wp
from warp import float16

real = wp.float16
five = wp.types.vector(length=5, dtype=wp.float16)


@wp.struct
class Reading:
    size: wp.float16


"""


def _half(name: str, parameters: str, first: str, following: str, rounds: str) -> str:
    return f"""@wp.kernel
def {name}({parameters}, n: int):
    i = wp.tid()
    a = {first}
    for k in range({rounds}):
        a = {following}  # flagged
    y[i] = a


"""


def test_numbers_of_half_precision_are_tried_as_numbers_of_single_precision(run: Run, tmp_path: Path) -> None:
    """Differences of numbers with three digits decide nothing, and what is lost is lost in any precision."""
    path = tmp_path / "halves.py"
    kernels = [_half(f"{name}_{kind}", *one, n) for name, one in _HALVES.items() for kind, n in _ROUNDS]
    path.write_text(_HALF_HEAD + "".join(kernels))
    cases = list(marked(path))
    found = {name: one for (name, _), one in zip(cases, run([case for _, case in cases]), strict=True)}
    assert {name: one.verdict for name, one in found.items()} == {
        f"{name}_{kind}": "confirmed" if kind == "wrong" else "refuted" for name in _HALVES for kind, _ in _ROUNDS
    }
    assert found["named_wrong"].detail.endswith("(with `float16` = float32)")
    assert found["vector_right"].detail.endswith("(with `vec3h` = vec3f)")


# Warp unrolls the one loop, and not the other.
_ROUNDS = (("wrong", "n"), ("right", "2"))


def test_a_guard_of_single_precision_does_not_speak_for_half_precision(run: Run, tmp_path: Path) -> None:
    """1e-12 is zero in half precision, and the quotient singular."""
    path = tmp_path / "guard.py"
    path.write_text(_HALF_HEAD + _half("guarded", _HALVES["named"][0], "x[i]", "a / (a * a + wp.float16(1e-12))", "1"))
    ((_, case),) = marked(path)
    (evidence,) = run([replace(case, check="finite-adjoint")])
    assert evidence.verdict != "refuted"
