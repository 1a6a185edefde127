"""What is found in a func depends on who calls it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kernels.conftest import module_of
from warplint import kernels
from warplint.frontend import fast
from warplint.source.project import Module, Project

FUNC = """
import warp as wp

@wp.func
def surprise(share: float):
    return wp.where(share > 0.0, -share * wp.log(share), 0.0)

@wp.func
def norm(a: float, b: float):
    return wp.sqrt(a * a + b * b)

"""

KERNEL = """
@wp.kernel{options}
def run{number}(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    {body}
"""


def found(project: Project, *bodies: str, options: str = "") -> set[str]:
    kernels_ = [KERNEL.format(options=options, number=n, body=body) for n, body in enumerate(bodies)]
    return {fact.kind for fact in kernels.analyse(project, module_of(project, FUNC + "".join(kernels_)))}


SAFE = "out[i] = surprise(wp.max(x[i], 0.0))"
OPEN = "out[i] = surprise(x[i])"


def test_a_func_that_nobody_calls_is_judged_alone(project: Project) -> None:
    assert found(project) == {"unselected-branch", "singular-adjoint"}


@pytest.mark.parametrize(
    ("bodies", "expected"),
    [
        ((SAFE,), False),
        ((OPEN,), True),
        ((SAFE, OPEN), True),
        (("out[i] = surprise(0.5)",), False),
        (("if x[i] > 0.0:\n        out[i] = surprise(x[i])",), False),
        (("if x[i] > -1.0:\n        out[i] = surprise(x[i])",), True),
        (("out[i] = surprise(wp.clamp(x[i], 0.1, 1.0))",), False),
        (("out[i] = surprise(x[i] * x[i])",), True),
    ],
)
def test_a_selection_is_judged_by_the_arguments(project: Project, bodies: tuple[str, ...], expected: bool) -> None:
    assert ("unselected-branch" in found(project, *bodies)) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("out[i] = norm(x[i], x[i + 1])", True),
        ("out[i] = norm(x[i], 1.0)", False),
        ("if wp.abs(x[i]) > 0.1:\n        out[i] = norm(x[i], x[i + 1])", False),
        ("out[i] = norm(wp.max(x[i], 0.5), x[i + 1])", False),
    ],
)
def test_so_is_a_root(project: Project, body: str, expected: bool) -> None:
    assert ("singular-adjoint" in found(project, body)) == expected


def test_callers_without_an_adjoint_do_not_count(project: Project) -> None:
    assert found(project, OPEN, options="(enable_backward=False)") == {"singular-adjoint"}


SUBSTITUTION = """
import warp as wp

@wp.func
def substitute(n: int, L: wp.array(dtype=float), b: wp.array(dtype=float), x: wp.array(dtype=float)):
    for i in range(n):
        s = b[i]
        for j in range(i):
            s -= L[i * n + j] * x[j]
        x[i] = s / L[i * n + i]

@wp.func
def solve(n: int, L: wp.array(dtype=float), b: wp.array(dtype=float), t: wp.array(dtype=float),
          x: wp.array(dtype=float)):
    substitute(n, L, b, x)
{gradient}
@wp.kernel
def run(n: int, L: wp.array(dtype=float), b: wp.array(dtype=float), t: wp.array(dtype=float),
        x: wp.array(dtype=float)):
    solve(n, L, b, t, x)
"""

GRADIENT = """
@wp.func_grad(solve)
def adj_solve(n: int, L: wp.array(dtype=float), b: wp.array(dtype=float), t: wp.array(dtype=float),
              x: wp.array(dtype=float)):
    substitute(n, L, wp.adjoint[x], t)
    for i in range(n):
        wp.adjoint[b][i] += t[i]
"""


@pytest.mark.parametrize(("gradient", "expected"), [("", True), (GRADIENT, False)])
def test_nothing_runs_the_adjoint_of_what_a_func_with_one_of_its_own_calls(
    project: Project, gradient: str, expected: bool
) -> None:
    module = module_of(project, SUBSTITUTION.replace("{gradient}", gradient))
    kinds = {fact.kind for fact in kernels.analyse(project, module)}
    assert ("loop-result-used" in kinds) is expected


def test_a_setting_of_what_a_module_imports(project: Project, tmp_path: Path) -> None:
    """It is made before the kernels of the module are."""
    (tmp_path / "options.py").write_text("import warp as wp\n\nwp.config.enable_backward = False\n")
    (tmp_path / "between.py").write_text("import options\n")
    body = FUNC + KERNEL.format(options="", number=0, body=OPEN)
    for number, (imported, backward) in enumerate([("between", False), ("os", None)]):
        path = tmp_path / f"kernels{number}.py"
        path.write_text(f"import {imported}\n{body}")
        module = Project(fast.read).load(path)
        assert isinstance(module, Module)
        definition = next(one for region in module.regions for one in module.within(region) if one.node.name == "run0")
        summary = kernels.effects(module.project, definition)
        assert summary is not None and summary.backward is (True if backward is None else backward)


CHAIN = """
import warp as wp


def make_inner(shape):
    @wp.func
    def product(x: wp.array(dtype=float), n: int):
        p = float(1.0)
        for i in range(n):
            p = p * x[i]
        return p

    @wp.func
    def solve(x: wp.array(dtype=float), n: int):
        return product(x, n)

    solve.core = product
    return solve


def make_outer(shape):
    inner = make_inner(shape)

    @wp.func
    def twice(x: wp.array(dtype=float), n: int):
        return shape(2.0) * wp.static(inner.core)(x, n)

    return twice


def make_kernel(shape, step):
    @wp.kernel{options}
    def run(x: wp.array(dtype=float), n: int, out: wp.array(dtype=float)):
        out[0] = wp.static(make_outer(shape))(x, n)

    return run


@wp.func
def shape(x: float):
    return wp.where(x > 0.0, wp.sqrt(x), 0.0)


plain = make_kernel(shape, 1)
"""

METHODS = """
class Case:
    number = 1
    {own}

    def one(self):
        {method}

    def other(self):
        @wp.kernel
        def also(x: float):
            pass
"""


@pytest.mark.parametrize(
    ("options", "addition", "expected"),
    [
        ("(enable_backward=False)", "", set()),
        ("", "", {"loop-carried-value", "unselected-branch"}),
        (
            "(enable_backward=False)",
            "other = unknown(make_outer, shape)\n",
            {"loop-carried-value", "unselected-branch"},
        ),
        (
            "(enable_backward=False)",
            "def more():\n    again = make_outer\n    @wp.kernel\n    def also(x: float):\n        pass\n",
            {"loop-carried-value", "unselected-branch"},
        ),
        ("(enable_backward=False)", METHODS.format(own="", method="again = make_outer"), set()),
        (
            "(enable_backward=False)",
            METHODS.format(own="again = make_outer", method="pass"),
            {"loop-carried-value", "unselected-branch"},
        ),
    ],
)
def test_what_factories_hand_on_is_followed_by_name(
    project: Project, options: str, addition: str, expected: set[str]
) -> None:
    module = module_of(project, CHAIN.replace("{options}", options) + addition)
    assert {fact.kind for fact in kernels.analyse(project, module)} == expected
