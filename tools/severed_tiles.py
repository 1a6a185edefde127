"""Which tile operations give no gradient to a tile that their result depends on, found by running them.

    python tools/severed_tiles.py

Each call stands in a kernel of its own, on the CPU device, between loads from arrays and a store. The tape's gradient
of a random projection of the result is compared with central differences. ``tools/builtins.py`` stores the outcome in
the table, under the types of the arguments that the call was made with.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import warp as wp
from severed import CLEAR, FLAT, POINTS, STEP, module_of

SIZE = 4

#: Calls with ``a``, a positive definite matrix, and ``b``, a vector; the shape of what comes out; the types of the
#: arguments.
CALLS = [
    ("tile_diag_add(a, b)", 2, ("tile", "tile")),
    ("tile_cholesky(a)", 2, ("tile",)),
    ("tile_cholesky_solve(a, b)", 1, ("tile", "tile")),
    ("tile_lower_solve(a, b)", 1, ("tile", "tile")),
    ("tile_upper_solve(a, b)", 1, ("tile", "tile")),
    ("tile_matmul(a, a)", 2, ("tile", "tile")),
    ("tile_transpose(a)", 2, ("tile",)),
    ("tile_sum(b)", 0, ("tile",)),
    ("tile_max(b)", 0, ("tile",)),
    ("tile_min(b)", 0, ("tile",)),
    ("tile_reduce(wp.add, b)", 0, ("any", "tile")),
    ("tile_reduce(wp.mul, b)", 0, ("any", "tile")),
    ("tile_scan_inclusive(b)", 1, ("tile",)),
    ("tile_scan_exclusive(b)", 1, ("tile",)),
    ("tile_scan_max_inclusive(b)", 1, ("tile",)),
    ("tile_scan_min_inclusive(b)", 1, ("tile",)),
    ("tile_view(b, offset=(1,), shape=(2,))", 1, ("tile", "any", "any")),
]


@dataclass(frozen=True, slots=True)
class SeveredTile:
    """A tile argument without a gradient, and the types of all arguments of the call."""

    name: str
    kinds: tuple[str, ...]
    position: int


def _kernel(number: int, call: str, rank: int, folder: Path) -> Any:
    array = f"wp.array{max(rank, 1)}d(dtype=float)"
    text = f"""import warp as wp
@wp.kernel
def tiled{number}(x: wp.array2d(dtype=float), y: wp.array(dtype=float), out: {array}):
    a = wp.tile_load(x, shape=({SIZE}, {SIZE}))
    b = wp.tile_load(y, shape={SIZE})
    wp.tile_store(out, wp.{call})
"""
    module = module_of(text, {}, folder, f"tiled{number}")
    return None if module is None else getattr(module, f"tiled{number}")


def _slopes(kernel: Any, rank: int, seed: int) -> list[tuple[float, float]]:
    """For the matrix and the vector, the largest tape derivative and the largest difference quotient."""
    random = np.random.default_rng(seed)
    matrix = 3.0 * np.eye(SIZE) + 0.3 * random.normal(size=(SIZE, SIZE))
    points = [0.5 * (matrix + matrix.T), random.uniform(0.5, 2.0, SIZE)]
    weights = random.uniform(0.5, 1.5, (SIZE,) * max(rank, 1))

    def launch(values: list[np.ndarray], gradient: bool) -> tuple[float, list[Any]]:
        given = [wp.array(value, dtype=float, requires_grad=gradient, device="cpu") for value in values]
        out = wp.zeros(weights.shape, dtype=float, requires_grad=gradient, device="cpu")
        tape = wp.Tape()
        with tape:
            wp.launch_tiled(kernel, dim=[1], inputs=[*given, out], block_dim=1, device="cpu")
        if gradient:
            tape.backward(grads={out: wp.array(weights, dtype=float, device="cpu")})
        return float(np.sum(out.numpy().astype(np.float64) * weights)), given

    _, given = launch(points, True)
    found = []
    for position, point in enumerate(points):
        quotients = []
        for index in np.ndindex(*point.shape):
            sides = []
            for step in (STEP, -STEP):
                moved = [one.copy() for one in points]
                moved[position][index] += step
                sides.append(launch(moved, False)[0])
            quotients.append(abs(sides[0] - sides[1]) / (2.0 * STEP))
        found.append((float(np.max(np.abs(given[position].grad.numpy()))), max(quotients)))
    return found


def severed_tiles() -> Iterator[SeveredTile]:
    """The tile arguments without a gradient."""
    with TemporaryDirectory() as name:
        for number, (call, rank, kinds) in enumerate(CALLS):
            kernel = _kernel(number, call, rank, Path(name))
            if kernel is None:
                continue
            with contextlib.suppress(Exception):
                points = [_slopes(kernel, rank, seed) for seed in range(POINTS)]
                given = [part.strip().split("=")[0] for part in call.partition("(")[2][:-1].split(",")]
                for position in range(len(kinds)):
                    if given[position] not in ("a", "b"):
                        continue
                    sides = [one["ab".index(given[position])] for one in points]
                    if all(tape == 0.0 for tape, _ in sides) and sum(slope > FLAT for _, slope in sides) >= CLEAR:
                        yield SeveredTile(call.partition("(")[0], kinds, position)


if __name__ == "__main__":
    wp.config.quiet = True
    for one in severed_tiles():
        print(f"{one.name}({', '.join(one.kinds)}), argument {one.position}", flush=True)
