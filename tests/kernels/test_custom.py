"""Custom adjoints: what Warp refuses is what is found, and nothing that it takes."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest
import warp as wp

from tests.kernels.conftest import module_of
from warplint import kernels
from warplint.ir.facts import Fact
from warplint.source.project import Project

FORWARD = """
from typing import Any
import warp as wp

@wp.func
def blend(a: float, b: float, t: float):
    return a + (b - a) * t

@wp.func
def both(a: float, b: float):
    return a * b, a + b

@wp.func
def turned(q: wp.quat, v: wp.vec3):
    return wp.quat_rotate(q, v)

@wp.func
def store(out: wp.array(dtype=float), i: int, value: float):
    out[i] = value * value

@wp.func
def applied(f: wp.Function, x: float):
    return f(x)

@wp.func
def anything(x: Any):
    return x * x

@wp.func
def through(x: float):
    return anything(x)

"""

REFUSED = {
    "an input is missing": "@wp.func_grad(blend)\ndef adj(a: float, b: float, adj_ret: float):",
    "the adjoint of the result is missing": "@wp.func_grad(blend)\ndef adj(a: float, b: float, t: float):",
    "one adjoint for two results": "@wp.func_grad(both)\ndef adj(a: float, b: float, adj_product: float):",
    "an adjoint of another type": "@wp.func_grad(turned)\ndef adj(q: wp.quat, v: wp.vec3, adj_ret: float):",
    "inputs in another order": "@wp.func_grad(turned)\ndef adj(v: wp.vec3, q: wp.quat, adj_ret: wp.vec3):",
    "an adjoint where nothing is returned": (
        "@wp.func_grad(store)\ndef adj(out: wp.array(dtype=float), i: int, value: float, adj_ret: float):"
    ),
    "an array of another rank": "@wp.func_grad(store)\ndef adj(out: wp.array2d(dtype=float), i: int, value: float):",
    "a func that takes a function": "@wp.func_grad(applied)\ndef adj(f: wp.Function, x: float, adj_ret: float):",
    "a generic func": "@wp.func_grad(anything)\ndef adj(x: float, adj_ret: float):",
    "a generic gradient": "@wp.func_grad(blend)\ndef adj(a: Any, b: float, t: float, adj_ret: float):",
    "a replay with too many": "@wp.func_replay(blend)\ndef replay(a: float, b: float, t: float, s: float):",
    "a replay of another type": "@wp.func_replay(blend)\ndef replay(a: float, b: float, t: wp.vec3):",
    "a replay of a generic func": "@wp.func_replay(anything)\ndef replay(x: float):",
}

TAKEN = {
    "all inputs and the adjoint": "@wp.func_grad(blend)\ndef adj(a: float, b: float, t: float, adj_ret: float):",
    "other names": "@wp.func_grad(blend)\ndef adj(x: float, y: float, z: wp.float32, g: float):",
    "an adjoint for each result": "@wp.func_grad(both)\ndef adj(a: float, b: float, adj_p: float, adj_s: float):",
    "vectors": "@wp.func_grad(turned)\ndef adj(q: wp.quat, v: wp.vec3, adj_ret: wp.vec3):",
    "no result": "@wp.func_grad(store)\ndef adj(out: wp.array(dtype=float), i: int, value: float):",
    "an array in the other spelling": "@wp.func_grad(store)\ndef adj(out: wp.array[float], i: int, value: wp.float32):",
    "what a generic func returns": "@wp.func_grad(through)\ndef adj(x: float, adj_ret: float):",
    "a replay of a func that takes a function": "@wp.func_replay(applied)\ndef replay(f: wp.Function, x: float):",
    "a replay": "@wp.func_replay(store)\ndef replay(out: wp.array(dtype=float), i: int, value: float):",
}


def text_of(declaration: str) -> str:
    return f"{FORWARD}{declaration}\n    pass\n"


def refusal(text: str, folder: Path, name: str) -> str:
    """What Warp raises when the text is imported, empty if nothing."""
    path = folder / f"{name}.py"
    path.write_text(text)
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module
    try:
        exec(compile(text, str(path), "exec"), module.__dict__)
    except Exception as error:  # RuntimeError mostly, or what the code generator raises
        return str(error)
    finally:
        del sys.modules[name]
    return ""


def facts(project: Project, text: str) -> list[Fact]:
    """All but the question whether a custom gradient fits its func, which only a probe answers."""
    return [fact for fact in kernels.analyse(project, module_of(project, text)) if fact.kind != "custom-adjoint"]


@pytest.mark.parametrize("what", REFUSED)
def test_what_warp_refuses_is_found(project: Project, tmp_path: Path, what: str) -> None:
    wp.config.quiet = True
    text = text_of(REFUSED[what])
    assert refusal(text, tmp_path, "refused_" + what.replace(" ", "_")) != ""
    (found,) = facts(project, text)
    assert found.kind == "custom-signature"
    assert found.location.span.line == text.splitlines().index(REFUSED[what].splitlines()[1]) + 1


@pytest.mark.parametrize("what", TAKEN)
def test_what_warp_takes_is_not(project: Project, tmp_path: Path, what: str) -> None:
    wp.config.quiet = True
    text = text_of(TAKEN[what])
    assert refusal(text, tmp_path, "taken_" + what.replace(" ", "_")) == ""
    assert facts(project, text) == []


ASSIGNED = """
import warp as wp

@wp.func
def square(x: float):
    return x * x

@wp.func_grad(square)
def adj_square(x: float, adj_ret: float):
    wp.adjoint[x] = 2.0 * x * adj_ret

@wp.kernel
def run(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    t = x[i]
    {use}
"""


@pytest.mark.parametrize(
    ("use", "shared"),
    [("y[i] = square(t) + t", True), ("y[i] = square(t)", False), ("y[i] = square(x[i]) + t", False)],
)
def test_an_assigned_adjoint_says_whether_the_argument_has_other_uses(project: Project, use: str, shared: bool) -> None:
    (found,) = facts(project, ASSIGNED.format(use=use))
    assert (found.kind, found.attributes["shared"], found.program is not None) == ("adjoint-assigned", shared, shared)


def test_an_assigned_adjoint_of_a_func_that_nobody_calls_may_be_shared(project: Project) -> None:
    (found,) = facts(project, ASSIGNED.partition("@wp.kernel")[0])
    assert found.attributes["shared"] is True


def test_a_gradient_that_adds_to_nothing_stops_all_on_purpose(project: Project) -> None:
    stopped = ASSIGNED.partition("@wp.kernel")[0].replace("wp.adjoint[x] = 2.0 * x * adj_ret", "pass")
    assert facts(project, stopped) == []


def test_grad_in_a_custom_gradient_is_differentiated_by_nobody(project: Project) -> None:
    text = ASSIGNED.format(use="y[i] = square(t)").replace("= 2.0 * x * adj_ret", "+= wp.grad(square)(x) * adj_ret")
    assert facts(project, text) == []


CUT = """
import warp as wp

@wp.func
def cube(x: float) -> wp.float32:
    return x * x * x

@wp.func
def rounded(x: float):
    return wp.round(8.0 * x) / 8.0

@wp.func
def doubled(x: float):
    return 2.0 * cube(x)
{gradient}
@wp.kernel
def run(x: wp.array[float], out: wp.array[float]):
    i = wp.tid()
    out[i] = {value}
"""


@pytest.mark.parametrize(
    ("value", "gradient", "kinds"),
    [
        ("rounded(x[i])", "", {"severed-path"}),
        ("rounded(x[i])", "@wp.func_grad(rounded)\ndef adj(x: float, r: float):\n    wp.adjoint[x] += r", set()),
        ("wp.grad(cube)(x[i])", "", {"severed-path"}),
        # Warp 1.19 does not build this one for the CPU: it writes `adj_cube` below its use.
        (
            "doubled(x[i])",
            "@wp.func_grad(doubled)\ndef adj(x: float, r: float):\n    wp.adjoint[x] += 2.0 * r * wp.grad(cube)(x)",
            set(),
        ),
    ],
)
def test_a_custom_gradient_may_do_what_cuts_a_path(
    project: Project, value: str, gradient: str, kinds: set[str]
) -> None:
    module = module_of(project, CUT.format(value=value, gradient=gradient and f"\n{gradient}\n"))
    called = ("run", "adj", value.partition("(")[0])
    found = {fact.kind for fact in kernels.analyse(project, module) if fact.definition in called}
    assert found - {"custom-adjoint"} == kinds, "that there is one is a question for the probe"
