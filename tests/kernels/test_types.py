"""Types that a tape cannot be given in a fixture, and calls whose effects are not known."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kernels.conftest import module_of
from warplint import kernels
from warplint.frontend import fast
from warplint.source.project import Module, Project

ELEMENT = """
import warp as wp

@wp.kernel
def scale(x: {kind}, b: wp.array[float]):
    i = wp.tid()
    {place} *= b[i]
"""


@pytest.mark.parametrize(
    ("kind", "place", "wrong"),
    [
        ("wp.indexedarray(dtype=float)", "x[i]", True),
        ("wp.indexedarray[float]", "x[i]", True),
        ("wp.indexedarray1d[float]", "x[i]", True),
        ("wp.indexedarray(dtype=float, ndim=2)", "x[i, 0]", True),
        ("wp.indexedarray2d(dtype=float)", "x[i, 0]", True),
        ("wp.indexedarray3d[float]", "x[i, 0, 1]", True),
        ("wp.indexedarray4d[wp.vec3]", "x[i, 0, 1, 2]", True),
        ("wp.indexedarray2d[int]", "x[i, 0]", False),
        ("wp.indexedarray(dtype=wp.vec2i)", "x[i]", False),
    ],
)
def test_elements_of_indexed_arrays(project: Project, kind: str, place: str, wrong: bool) -> None:
    """Warp records no launch with one (its ``.grad`` is missing), but the kernel has an adjoint."""
    module = module_of(project, ELEMENT.format(kind=kind, place=place))
    found = {fact.kind for fact in kernels.analyse(project, module)}
    assert ("array-augmented-assignment" in found) is wrong


TEXTURE = """
import warp as wp

@wp.kernel
def sampled(image: wp.Texture2D, uv: wp.array[wp.vec2], w: wp.array[float], n: int, out: wp.array[float]):
    i = wp.tid()
    {body}
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("out[i] = w[i] * wp.texture_sample(image, uv[i], dtype=float)", set()),
        (
            "s = w[i]\n    for k in range(n):\n        s *= wp.texture_sample(image, uv[k], dtype=float)\n"
            "    out[i] = s",
            {"loop-carried-value"},
        ),
        (
            "s = wp.texture_sample(image, uv[i], dtype=wp.vec3)\n    s[0] = w[i]\n    out[i] = s[0] + s[1]",
            {"component-overwrite"},
        ),
    ],
)
def test_what_a_texture_gives_has_the_gradient_of_its_coordinates(
    project: Project, body: str, expected: set[str]
) -> None:
    module = module_of(project, TEXTURE.format(body=body))
    assert {fact.kind for fact in kernels.analyse(project, module)} == expected


CALLS = """
import warp as wp
from elsewhere import step

@wp.func
def deeper(a: float, n: int):
    if n > 0:
        return a * deeper(a, n - 1)
    return a

@wp.kernel
def run(x: wp.array[float], n: int, out: wp.array[float]):
    s = float(1.0)
    for i in range(n):
        s = {step}
    out[0] = s
"""


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ("step(s, x[i])", set()),
        ("deeper(s, 3)", set()),
        ("s * step(x[i], 1.0)", set()),
        ("s * x[i]", {"loop-carried-value"}),
    ],
)
def test_recursion_and_unknown_callees_are_no_findings(project: Project, step: str, expected: set[str]) -> None:
    """Recursion is what the compiler refuses. What is multiplied with an unknown result may have any derivative."""
    module = module_of(project, CALLS.format(step=step))
    found = {fact.kind for fact in kernels.analyse(project, module)}
    assert found - {"unsupported-in-kernel"} == expected


FUNCS = """
import warp as wp

@wp.func
def clear(a: wp.array[float], i: int):
    a[i] = 0.0

@wp.func
def energy(a: wp.array[float], i: int):
    return a[i] * a[i]

@wp.func
def energy_by_hand(a: wp.array[float], i: int):
    return a[i] * a[i]

@wp.func_grad(energy_by_hand)
def adj_energy_by_hand(a: wp.array[float], i: int, adj_ret: float):
    wp.adjoint[a][i] += adj_ret
"""

USER = """
import warp as wp
import funcs
from funcs import energy as work

@wp.kernel
def run(x: wp.array[float], out: wp.array[float]):
    i = wp.tid()
    out[i] = {call}
    {clear}
"""


@pytest.mark.parametrize(
    ("call", "clear", "expected"),
    [
        ("funcs.energy(x, i)", "funcs.clear(x, i)", {"array-overwritten"}),
        ("work(x, i)", "funcs.clear(x, i)", {"array-overwritten"}),
        ("2.0 * x[i]", "funcs.clear(x, i)", set()),
        ("x[i] * x[i]", "funcs.clear(x, i)", {"array-overwritten"}),
        ("work(x, i)", "pass", set()),
        ("funcs.energy_by_hand(x, i)", "funcs.clear(x, i)", set()),
    ],
)
def test_effects_and_needs_come_through_modules(tmp_path: Path, call: str, clear: str, expected: set[str]) -> None:
    """What a hand-written adjoint needs is what it reads itself: here, nothing of the array."""
    (tmp_path / "funcs.py").write_text(FUNCS)
    path = tmp_path / "user.py"
    path.write_text(USER.format(call=call, clear=clear))
    module = Project(fast.read).load(path)
    assert isinstance(module, Module)
    assert {fact.kind for fact in kernels.analyse(module.project, module)} == expected
