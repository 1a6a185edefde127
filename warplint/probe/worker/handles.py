"""Small real objects behind the ``uint64`` ids that kernels take: meshes, hierarchies, grids, volumes."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import warp as wp


class Unsupported(Exception):
    """An argument that no input can be made for; the message says which and why."""


def make_handle(kind: str, rng: np.random.Generator, device: str, grouped: bool = False) -> Any:
    """An object whose ``id`` a kernel can use as a ``kind`` (``mesh``, ``bvh``, ``hash_grid``, ``volume``, ``volume of
    vectors``).

    ``grouped`` divides what is in a mesh or BVH into the groups 0 and 1.
    """
    if kind == "mesh":
        return _mesh(rng, device, grouped)
    if kind == "bvh":
        # boxes around the values that are drawn, so that queries and rays meet some
        lowers = rng.uniform(-2.5, 0.0, (8, 3)).astype(np.float32)
        uppers = rng.uniform(0.8, 2.5, (8, 3)).astype(np.float32)
        data = {"lowers": lowers, "uppers": uppers} | _halves(8, grouped)
        return _keep(wp.Bvh(**_arrays(data, device)), kind, data)
    if kind == "hash_grid":
        grid = wp.HashGrid(8, 8, 8, device=device)
        data = {"points": rng.uniform(-1.0, 1.0, (8, 3)).astype(np.float32)}
        grid.build(_arrays(data, device)["points"], 1.0)
        return _keep(grid, kind, data)
    if kind in ("volume", "volume of vectors"):
        vectors = kind != "volume"
        values = rng.uniform(0.3, 1.5, (8, 8, 8, 3) if vectors else (8, 8, 8)).astype(np.float32)
        beyond = (0.0, 0.0, 0.0) if vectors else 0.0
        volume = wp.Volume.load_from_numpy(values, (-2.0, -2.0, -2.0), 0.5, beyond, device=device)
        return _keep(volume, "volume", {"values": values})
    raise Unsupported(f"no small object stands in for a {kind}")


# What objects were made from, by their ids.
_MADE: dict[int, tuple[str, dict[str, np.ndarray]]] = {}


def recipe(identity: int) -> tuple[str, dict[str, np.ndarray]] | None:
    """The kind of the object with this id, and the data that it was made from; None if there is no such object."""
    return _MADE.get(identity)


def _keep(item: Any, kind: str, data: dict[str, np.ndarray]) -> Any:
    _MADE[int(item.id)] = (kind, data)
    return item


def _arrays(data: dict[str, np.ndarray], device: str) -> dict[str, Any]:
    """Host data as Warp arrays: numbers, or points."""
    return {
        name: wp.array(part, dtype=int if part.ndim == 1 else wp.vec3, device=device) for name, part in data.items()
    }


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


def _halves(count: int, grouped: bool) -> dict[str, np.ndarray]:
    return {"groups": np.repeat([0, 1], count // 2).astype(np.int32)} if grouped else {}


def _mesh(rng: np.random.Generator, device: str, grouped: bool = False) -> Any:
    """A slightly irregular octahedron around the origin, closed and outward facing; a second group is inside it."""
    corners = np.array(
        [[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], dtype=np.float32
    ) * rng.uniform(1.6, 3.2, (6, 1)).astype(np.float32)
    faces = [0, 2, 4, 2, 1, 4, 1, 3, 4, 3, 0, 4, 2, 0, 5, 1, 2, 5, 3, 1, 5, 0, 3, 5]
    velocities = rng.uniform(-0.5, 0.5, (6, 3)).astype(np.float32)
    if grouped:
        corners = 0.5 * corners
        corners = np.concatenate([corners, corners * rng.uniform(0.4, 0.8, (6, 1)).astype(np.float32)])
        corners += np.float32(2.4)  # most rays begin outside, and go this way
        faces += [corner + 6 for corner in faces]
        velocities = np.tile(velocities, (2, 1))
    data = {"points": corners, "indices": np.array(faces, dtype=np.int32), "velocities": velocities}
    data |= _halves(16, grouped)
    return _keep(wp.Mesh(**_arrays(data, device)), "mesh", data)


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
