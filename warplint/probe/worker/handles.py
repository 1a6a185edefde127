"""Small real objects behind the ``uint64`` ids that kernels take: meshes, hierarchies, grids, volumes."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import warp as wp


class Unsupported(Exception):
    """An argument that no input can be made for; the message says which and why."""


def make_handle(kind: str, rng: np.random.Generator, device: str, grouped: bool = False) -> Any:
    """An object whose ``id`` a kernel can use as a ``kind`` (``mesh``, ``bvh``, ``hash_grid``, ``volume``).

    ``grouped`` divides what is in a mesh or BVH into the groups 0 and 1.
    """
    if kind == "mesh":
        return _mesh(rng, device, grouped)
    if kind == "bvh":
        # boxes around the values that are drawn, so that queries and rays meet some
        lowers = rng.uniform(-2.5, 0.0, (8, 3)).astype(np.float32)
        uppers = rng.uniform(0.8, 2.5, (8, 3)).astype(np.float32)
        boxes = [wp.array(ends, dtype=wp.vec3, device=device) for ends in (lowers, uppers)]
        return wp.Bvh(*boxes, groups=_halves(8, device)) if grouped else wp.Bvh(*boxes)
    if kind == "hash_grid":
        grid = wp.HashGrid(8, 8, 8, device=device)
        points = wp.array(rng.uniform(-1.0, 1.0, (8, 3)).astype(np.float32), dtype=wp.vec3, device=device)
        grid.build(points, 1.0)
        return grid
    if kind == "volume":
        values = rng.uniform(0.3, 1.5, (8, 8, 8)).astype(np.float32)
        return wp.Volume.load_from_numpy(values, (-2.0, -2.0, -2.0), 0.5, 0.0, device=device)
    raise Unsupported(f"no small object stands in for a {kind}")


@wp.kernel  # type: ignore[untyped-decorator]
def _bvh_roots(bvh: wp.uint64, roots: wp.array(dtype=int)):  # type: ignore[no-untyped-def, valid-type]
    roots[0] = wp.bvh_get_group_root(bvh, 0)
    roots[1] = wp.bvh_get_group_root(bvh, 1)


@wp.kernel  # type: ignore[untyped-decorator]
def _mesh_roots(mesh: wp.uint64, roots: wp.array(dtype=int)):  # type: ignore[no-untyped-def, valid-type]
    roots[0] = wp.mesh_get_group_root(mesh, 0)
    roots[1] = wp.mesh_get_group_root(mesh, 1)


@functools.cache
def group_roots(kind: str, device: str) -> tuple[int, int]:
    """Where the trees of the two groups begin: the same in every object that ``make_handle`` makes."""
    item = make_handle(kind, np.random.default_rng(0), device, grouped=True)
    found = wp.zeros(2, dtype=int, device=device)
    wp.launch({"bvh": _bvh_roots, "mesh": _mesh_roots}[kind], 1, inputs=[item.id, found], device=device)
    first, second = found.numpy().tolist()
    return first, second


def _halves(count: int, device: str) -> Any:
    return wp.array(np.repeat([0, 1], count // 2), dtype=int, device=device)


def _mesh(rng: np.random.Generator, device: str, grouped: bool = False) -> Any:
    """A slightly irregular octahedron around the origin, closed and outward facing; a second group is inside it."""
    corners = np.array(
        [[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], dtype=np.float32
    ) * rng.uniform(1.6, 3.2, (6, 1)).astype(np.float32)
    faces = [0, 2, 4, 2, 1, 4, 1, 3, 4, 3, 0, 4, 2, 0, 5, 1, 2, 5, 3, 1, 5, 0, 3, 5]
    velocities = rng.uniform(-0.5, 0.5, (6, 3)).astype(np.float32)
    if grouped:
        corners = 0.5 * corners  # so that rays begin outside, and can meet both
        corners = np.concatenate([corners, corners * rng.uniform(0.4, 0.8, (6, 1)).astype(np.float32)])
        faces += [corner + 6 for corner in faces]
        velocities = np.tile(velocities, (2, 1))
    made = (
        wp.array(corners, dtype=wp.vec3, device=device),
        wp.array(np.array(faces, dtype=np.int32), dtype=int, device=device),
        wp.array(velocities, dtype=wp.vec3, device=device),
    )
    return wp.Mesh(*made, groups=_halves(16, device)) if grouped else wp.Mesh(*made)


def texture_rank(kind: Any) -> int:
    """1, 2 or 3 for the texture types of Warp, 0 for anything else."""
    for rank in (1, 2, 3):
        if kind is getattr(wp, f"Texture{rank}D", object):
            return rank
    return 0


def make_texture(kind: Any, rng: np.random.Generator, device: str) -> Any:
    """A small float texture of the given type."""
    data = rng.uniform(0.3, 1.5, (6,) * texture_rank(kind)).astype(np.float32)
    return kind(data, device=device)
