"""Inputs that fit how a kernel uses them: an audit decides what ordinary numbers leave open, and calls nothing right
that is wrong there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from command import run_warplint

SOURCE = """
import warp as wp

SIZE = 96


@wp.func
def around(index: int):
    inside = index % SIZE
    if inside < 0:
        inside += SIZE
    return inside


@wp.kernel
def difference(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
    # one thread's left neighbour is the last column
    i, j = wp.tid()
    y[i, j] = x[i, j] * x[i, j] - x[i, around(j - 1)]


@wp.kernel
def mean(x: wp.array(dtype=float), total: wp.array(dtype=float)):
    # what is added is lost beside a sum of ordinary size
    i = wp.tid()
    wp.atomic_add(total, 0, x[i] * x[i] / float(SIZE * SIZE * SIZE))


@wp.kernel
def coarse(x: wp.array(dtype=float), width: int, samples: int, out: wp.array(dtype=float)):
    # divides by zero where there are more samples than the image is wide
    i = wp.tid()
    narrow = width / samples
    first = (i // narrow) * samples * width + (i % narrow) * samples
    out[i] = x[first] * x[first]


@wp.kernel
def in_blocks(x: wp.array(dtype=float), count: int, out: wp.array(dtype=float)):
    i = wp.tid()
    total = float(0.0)
    for block in range(count // 32):
        total += x[block * 32] * x[block * 32]
    out[i] = total


@wp.kernel
def locked(lock: wp.array(dtype=int), count: wp.array(dtype=int)):
    # never ends where the lock is taken from the beginning
    while wp.atomic_cas(lock, 0, 0, 1) == 1:
        pass
    count[0] = count[0] + 1
    wp.atomic_exch(lock, 0, 0)


@wp.kernel
def walk(
    first: wp.array(dtype=int),
    parent: wp.array(dtype=int),
    child: wp.array(dtype=int),
    turn: wp.array(dtype=float),
    place: wp.array(dtype=float),
):
    # right where every joint comes after its parent, and no two have one child
    tree = wp.tid()
    for joint in range(first[tree], first[tree + 1]):
        above = parent[joint]
        start = float(1.0)
        if above >= 0:
            start = place[above]
        place[child[joint]] = start * wp.sin(turn[joint])


@wp.kernel
def twice(at: wp.array(dtype=int), x: wp.array(dtype=float), out: wp.array(dtype=float)):
    # wrong whatever the indices are
    i = wp.tid()
    out[at[i]] = x[i]
    out[at[i]] = out[at[i]] * out[at[i]]


@wp.kernel
def half_the_mean(x: wp.array(dtype=float), total: wp.array(dtype=float)):
    i = wp.tid()
    weight = x[i] * x[i]
    for _ in range(int(x[i] * 0.0) + 1):
        weight = weight * x[i]
    wp.atomic_add(total, 0, weight * weight / float(SIZE * SIZE * SIZE))
"""

# Where nothing but indices decides, an audit says so; the others are as sure as they ever are.
EXPECTED = {
    "around": "ok",
    "difference": "ok",
    "mean": "ok",
    "coarse": "ok",
    "in_blocks": "ok",
    "locked": "ok",
    "walk": "ok",
    "twice": "wrong",
    "half_the_mean": "wrong",
}


@pytest.fixture(scope="module")
def entries(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Mapping[str, Any]]:
    """What an audit says of the kernels above, by name."""
    folder: Path = tmp_path_factory.mktemp("fitting")
    (folder / "fitting.py").write_text(SOURCE)
    done = run_warplint("audit", "--device", "cpu", "--cache-dir", "kept", "--output-format", "json", ".", cwd=folder)
    document = json.loads(done.stdout)
    return {entry["name"]: entry for entry in document["entries"]}


@pytest.mark.parametrize("name", EXPECTED)
def test_it_is_decided(name: str, entries: Mapping[str, Mapping[str, Any]]) -> None:
    assert entries[name]["judgement"] == EXPECTED[name], entries[name]["detail"]


def test_all_are_listed(entries: Mapping[str, Mapping[str, Any]]) -> None:
    assert set(entries) == set(EXPECTED)
