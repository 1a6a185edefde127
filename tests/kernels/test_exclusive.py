"""Branches for one value that is another constant in each: what one reads, another does not overwrite.

A published kernel tells its materials apart in this way, and finite differences agree with the tape there. Where both
branches may run, the second overwrites what the adjoint of the square reads.
"""

from __future__ import annotations

import pytest

from tests.kernels.conftest import module_of
from warplint import kernels
from warplint.source.project import Project

TEXT = """
import warp as wp

SAND = wp.constant(0)
WATER = wp.constant(1)


@wp.struct
class Material:
    name: int
    mu: float


@wp.func
def squared(x: float):
    return x * x


@wp.kernel
def stress(
    materials: wp.array(dtype=Material),
    x: wp.array(dtype=float),
    f: wp.array(dtype=float),
    y: wp.array(dtype=float),
    n: int,
):
    i = wp.tid()
    material = materials[i]
    if FIRST:
        f[i] = x[i] * material.mu
        y[i] = squared(f[i])
    if SECOND:
        f[i] = 2.0 * material.mu
"""


@pytest.mark.parametrize(
    ("first", "second", "silent"),
    [
        ("material.name == SAND", "material.name == WATER", True),
        ("SAND == material.name and n > 0", "WATER == material.name", True),
        ("n == 3", "not n != 4", False),  # what `not` makes of it is not followed
        ("n == 3", "n == 3", False),
        ("material.name == SAND", "n == WATER", False),
        ("material.name == SAND or n > 0", "material.name == WATER", False),
        ("material.name != SAND", "material.name != WATER", False),
        ("n == 1", "n == True", False),
    ],
)
def test_branches_for_constants(project: Project, first: str, second: str, silent: bool) -> None:
    module = module_of(project, TEXT.replace("FIRST", first).replace("SECOND", second))
    kinds = [fact.kind for fact in kernels.analyse(project, module)]
    assert ("array-overwritten" not in kinds) == silent
    assert silent or kinds
