"""What is found in a generic func depends on the types that its callers give it; ``fixtures/kernels/generic_values.py``
holds what Warp makes of such funcs."""

from __future__ import annotations

import pytest

from tests.kernels.conftest import module_of
from warplint import kernels
from warplint.source.project import Project

FUNC = """
from typing import Any
import warp as wp

@wp.func
def put(v: Any, s: Any):
    v[0] = s
    return v

"""
KERNEL = """
@wp.kernel
def run{number}(x: wp.array(dtype={element}), b: wp.array(dtype={scalar}), out: wp.array(dtype={scalar})):
    i = wp.tid()
    {body}
"""
VECTOR = ("wp.vec3", "float", "v = put(x[i], b[i])\n    out[i] = v[0] + v[1]")
ARRAY = ("float", "float", "put(x, b[i])\n    out[i] = x[i]")
WHOLE = ("wp.vec3i", "int", "v = put(x[i], b[i])\n    out[i] = v[0] + v[1]")


def found(project: Project, *used: tuple[str, str, str], func: str = FUNC) -> set[str]:
    text = "".join(
        KERNEL.format(number=number, element=element, scalar=scalar, body=body)
        for number, (element, scalar, body) in enumerate(used)
    )
    return {fact.kind for fact in kernels.analyse(project, module_of(project, func + text))}


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        ((), False),  # a vector or an array
        ((VECTOR,), True),
        ((ARRAY,), False),
        ((WHOLE,), False),
        ((ARRAY, VECTOR), True),
        ((WHOLE, ARRAY), False),
    ],
)
def test_a_store_into_a_parameter(project: Project, used: tuple[tuple[str, str, str], ...], expected: bool) -> None:
    assert ("component-overwrite" in found(project, *used)) == expected


def test_a_built_in_that_takes_vectors_alone_says_what_a_parameter_is(project: Project) -> None:
    measured = FUNC.replace("v[0] = s", "v[0] = s * wp.length(v)")
    assert "component-overwrite" in found(project, func=measured)


@pytest.mark.parametrize("line", ["if wp.static(True):\n        s = s * wp.length(v)", "s = s * v.dtype(2.0)"])
def test_what_may_not_be_compiled_or_takes_anything_says_nothing(project: Project, line: str) -> None:
    assert found(project, func=FUNC.replace("v[0] = s", f"{line}\n    v[0] = s")) == set()


def test_of_overloads_nobody_knows_which_one_is_called(project: Project) -> None:
    overloads = FUNC + "\n\n@wp.func\ndef put(v: wp.vec3, s: float):\n    return s * v\n\n"
    assert found(project, VECTOR, func=overloads) == set()


@pytest.mark.parametrize(("element", "scalar", "expected"), [("wp.vec3", "float", True), ("wp.vec3i", "int", False)])
def test_a_result_has_the_type_that_the_arguments_give_it(
    project: Project, element: str, scalar: str, expected: bool
) -> None:
    func = FUNC.replace("    v[0] = s\n    return v", "    return v + v")
    body = "w = put(x[i], b[i])\n    w.y = b[i]\n    out[i] = w[0] + w[1]"
    assert found(project, (element, scalar, body), func=func) == ({"component-overwrite"} if expected else set())


def test_a_func_that_calls_itself_is_left_alone(project: Project) -> None:
    func = FUNC.replace("    return v", "    return put(v, s)")
    assert "unsupported-in-kernel" in found(project, VECTOR, func=func)
