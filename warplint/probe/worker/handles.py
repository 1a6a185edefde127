"""Small real objects behind the ``uint64`` ids that kernels take: meshes, hierarchies, grids, volumes."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp


class Unsupported(Exception):
    """An argument that no input can be made for; the message says which and why."""


def make_handle(kind: str, rng: np.random.Generator, device: str) -> Any:
    """An object whose ``id`` a kernel can use as a ``kind`` (``mesh``, ``bvh``, ``hash_grid``, ``volume``)."""
    if kind == "mesh":
        return _mesh(rng, device)
    if kind == "bvh":
        # boxes around the values that are drawn, so that queries and rays meet some
        lowers = rng.uniform(-2.5, 0.0, (8, 3)).astype(np.float32)
        uppers = rng.uniform(0.8, 2.5, (8, 3)).astype(np.float32)
        return wp.Bvh(wp.array(lowers, dtype=wp.vec3, device=device), wp.array(uppers, dtype=wp.vec3, device=device))
    if kind == "hash_grid":
        grid = wp.HashGrid(8, 8, 8, device=device)
        points = wp.array(rng.uniform(-1.0, 1.0, (8, 3)).astype(np.float32), dtype=wp.vec3, device=device)
        grid.build(points, 1.0)
        return grid
    if kind == "volume":
        values = rng.uniform(0.3, 1.5, (8, 8, 8)).astype(np.float32)
        return wp.Volume.load_from_numpy(values, (-2.0, -2.0, -2.0), 0.5, 0.0, device=device)
    raise Unsupported(f"no small object stands in for a {kind}")


def _mesh(rng: np.random.Generator, device: str) -> Any:
    """A slightly irregular octahedron around the origin, closed and outward facing."""
    corners = np.array(
        [[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], dtype=np.float32
    ) * rng.uniform(1.6, 3.2, (6, 1)).astype(np.float32)
    faces = [0, 2, 4, 2, 1, 4, 1, 3, 4, 3, 0, 4, 2, 0, 5, 1, 2, 5, 3, 1, 5, 0, 3, 5]
    velocities = rng.uniform(-0.5, 0.5, (6, 3)).astype(np.float32)
    return wp.Mesh(
        wp.array(corners, dtype=wp.vec3, device=device),
        wp.array(np.array(faces, dtype=np.int32), dtype=int, device=device),
        wp.array(velocities, dtype=wp.vec3, device=device),
    )


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
