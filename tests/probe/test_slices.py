"""Slices stand alone, mean what the source means, and hold no more than the program needs."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from warplint.frontend.fast import read
from warplint.ir.programs import DefinitionRef
from warplint.ir.spans import Location, Span
from warplint.probe.rewrite import REACHED
from warplint.probe.slices import Refused, Slicer
from warplint.source.project import Project


def _write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)


def _slice(
    folder: Path, name: str, file: str = "main", line: int | None = None, column: int = 5, **closure: object
) -> tuple[str, str | None]:
    path = folder / f"{file}.py"
    flagged = [[Location(path, Span(line, column, line, column + 5))]] if line else []
    slicer = Slicer(Project(read), flagged=flagged)
    slicer.options(path)
    slicer.add(DefinitionRef(path, name, closure))
    made = slicer.finish()
    ast.parse(made.text)
    return made.text, made.twin


def _defined(text: str) -> list[str]:
    return [node.name for node in ast.walk(ast.parse(text)) if isinstance(node, (ast.FunctionDef, ast.ClassDef))]


def test_only_what_is_needed_in_the_order_that_it_is_needed(tmp_path: Path) -> None:
    _write(
        tmp_path,
        main="""
import warp as wp
import torch
from enum import IntEnum

class Kind(IntEnum):
    FREE = 1
    FIXED = 2

    @property
    def label(self):
        return torch.load(self.name)

SCALE = wp.constant(2.0)
UNUSED = torch.zeros(3)

@wp.struct
class Body:
    mass: float
    kind: int

@wp.func
def unused(x: float) -> float:
    return x

@wp.func
def energy(b: Body) -> float:
    if b.kind == Kind.FIXED:
        return 0.0
    return SCALE * b.mass

@wp.kernel
def k(bodies: wp.array(dtype=Body), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = energy(bodies[i])
""",
    )
    text, twin = _slice(tmp_path, "k")
    assert twin is None
    assert "torch" not in text
    assert _defined(text) == ["Body", "Kind", "energy", "k"]
    assert text.index("SCALE =") < text.index("def energy")


def test_dotted_references_and_clashing_names(tmp_path: Path) -> None:
    _write(
        tmp_path,
        shared="import warp as wp\nGAIN = 3.0\n\n@wp.func\ndef helper(x: float) -> float:\n    return GAIN * x\n",
        main="""
import warp as wp
import shared as tools

GAIN = 0.5

@wp.kernel
def k(x: wp.array(dtype=float)):
    i = wp.tid()
    helper = x[i] * GAIN
    x[i] = tools.helper(helper) + tools.GAIN
""",
    )
    text, _ = _slice(tmp_path, "k")
    assert "tools" not in text
    # the local `helper` must not hide the func, nor one GAIN the other
    assert "helper_outer(helper) + GAIN_2" in text.replace("GAIN_2 * x", "") or "helper_outer(helper) + GAIN" in text
    values = {
        node.targets[0].id: node.value.value
        for node in ast.parse(text).body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
    }
    kernel = next(node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef) and node.name == "k")
    used = {node.id for node in ast.walk(kernel) if isinstance(node, ast.Name) and node.id in values}
    assert {values[name] for name in used} == {0.5, 3.0}


def test_closures_take_known_values(tmp_path: Path) -> None:
    _write(
        tmp_path,
        main="""
import warp as wp

def make(count, dtype=float):
    total = count * 2

    @wp.kernel
    def inner(x: wp.array(dtype=dtype)):
        i = wp.tid()
        for k in range(count):
            x[i] = x[i] + float(total)

    return inner
""",
    )
    text, _ = _slice(tmp_path, "make.inner", count=5)
    assert "count = 5" in text
    assert "total = count * 2" in text


def test_factories_that_return_several_functions(tmp_path: Path) -> None:
    _write(
        tmp_path,
        main="""
import warp as wp

def make(scale):
    @wp.func
    def up(x: float) -> float:
        return scale * x

    @wp.func
    def down(x: float) -> float:
        return x / scale

    return up, down

def solver():
    _, shrink = make(2.0)
    grow = make(3.0)[0]

    @wp.kernel
    def solve(x: wp.array(dtype=float)):
        x[wp.tid()] = grow(shrink(x[wp.tid()]))

    return solve
""",
    )
    text, _ = _slice(tmp_path, "solver.solve")
    assert _defined(text) == ["up", "down", "solve"]
    assert "x[wp.tid()] = up(down(x[wp.tid()]))" in text


def test_custom_adjoints_and_options_come_along(tmp_path: Path) -> None:
    _write(
        tmp_path,
        main="""
import warp as wp

wp.set_module_options({"max_unroll": 4})

@wp.func
def f(x: float) -> float:
    return x * x

@wp.func_grad(f)
def adjoint(x: float, adj_ret: float):
    wp.adjoint[x] += 2.0 * x * adj_ret

@wp.kernel(enable_backward=True)
def k(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    out[wp.tid()] = f(x[wp.tid()])
""",
    )
    text, _ = _slice(tmp_path, "k")
    assert "set_module_options({'max_unroll': 4})" in text
    assert ".func_grad(f)\ndef adjoint(" in text
    assert "kernel(enable_backward=True)" in text


def test_overloads_stay_together(tmp_path: Path) -> None:
    _write(
        tmp_path,
        main="""
import warp as wp

@wp.func
def size(x: float):
    return wp.abs(x)

@wp.func
def size(x: wp.vec3):
    return wp.length(x)

@wp.kernel
def k(x: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    out[wp.tid()] = size(x[wp.tid()])
""",
    )
    text, _ = _slice(tmp_path, "k")
    assert _defined(text) == ["size", "size", "k"]


@pytest.mark.parametrize(
    ("line", "before"),
    [
        (7, "    a = x[i]\n"),  # a plain statement
        (9, "        a = a + 1.0\n"),  # in a branch
        (10, "        a = a * a\n"),  # an `elif` has no place before it: its body stands for it
        (13, "        a = a + x[k]\n"),  # a loop's header counts its iterations
    ],
)
def test_the_twin_marks_the_flagged_statement(line: int, before: str, tmp_path: Path) -> None:
    _write(
        tmp_path,
        main="""
import warp as wp

@wp.kernel
def k(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    a = x[i]
    if a > 1.0:
        a = a + 1.0
    elif a > 0.5:
        a = a * a
    x[i] = a
    for k in range(n):
        a = a + x[k]
    x[i] = a
""",
    )
    text, twin = _slice(tmp_path, "k", line=line, column=len(before) - len(before.lstrip()) + 1 if line == 9 else 5)
    assert REACHED not in text
    assert twin is not None
    lines = twin.split("\n")
    (marked,) = [part for part in lines if f"{REACHED} 0~" in part]
    assert marked.rpartition("; ")[2] == before.strip()
    # in a loop, it is also counted how often that begins: once, before the loop
    others = [number for number, part in enumerate(lines) if REACHED in part and part != marked]
    assert [lines[number + 1].strip() for number in others] == (["for k in range(n):"] if line == 13 else [])


@pytest.mark.parametrize("base", ["object", "Described"])
def test_bases_that_do_nothing_are_left_out_of_structs(base: str, tmp_path: Path) -> None:
    _write(
        tmp_path,
        main=f"""
import warp as wp

class Described:
    unit: float

    def describe(self):
        return "x"

@wp.struct
class Pair({base}):
    x: float

@wp.kernel
def k(p: Pair, out: wp.array(dtype=float)):
    out[wp.tid()] = p.x
""",
    )
    text, _ = _slice(tmp_path, "k")
    assert "class Pair:\n    x: float\n" in text
    assert "unit" not in text


def test_bases_that_may_run_code_are_refused(tmp_path: Path) -> None:
    _write(
        tmp_path,
        main="""
import warp as wp

class Registered:
    def __init_subclass__(cls):
        print("made", cls)

@wp.struct
class Pair(Registered):
    x: float

@wp.kernel
def k(p: Pair, out: wp.array(dtype=float)):
    out[wp.tid()] = p.x
""",
    )
    with pytest.raises(Refused, match="base class"):
        _slice(tmp_path, "k")


def test_what_cannot_be_resolved_is_refused(tmp_path: Path) -> None:
    _write(
        tmp_path,
        main="""
import warp as wp
from elsewhere import helper

@wp.kernel
def k(x: wp.array(dtype=float)):
    x[wp.tid()] = helper(x[wp.tid()])
""",
    )
    with pytest.raises(Refused, match="imported from outside the project"):
        _slice(tmp_path, "k")


def test_what_was_refused_once_is_not_taken_to_be_there(tmp_path: Path) -> None:
    """The first call of the factory passes something that cannot be cut out; the kernel needs it all the same."""
    _write(
        tmp_path,
        main="""
import warp as wp

@wp.func_native("return x;")
def raw(x: int) -> float: ...

@wp.func
def support(x: float) -> float:
    return raw(int(x))

@wp.func
def plain(x: float) -> float:
    return x

def make(function):
    @wp.kernel
    def k(x: wp.array(dtype=float)):
        x[wp.tid()] = function(x[wp.tid()]) + support(1.0)
    return k

first = make(support)
second = make(plain)
""",
    )
    with pytest.raises(Refused, match="native snippet"):
        _slice(tmp_path, "make.k")
    _write(
        tmp_path,
        main="""
import warp as wp

@wp.func_native("return x;")
def raw(x: int) -> float: ...

@wp.func
def support(x: float) -> float:
    return raw(int(x))

@wp.func
def plain(x: float) -> float:
    return x

def make(function):
    @wp.kernel
    def k(x: wp.array(dtype=float)):
        x[wp.tid()] = function(x[wp.tid()])
    return k

first = make(support)
second = make(plain)
""",
    )
    text, _ = _slice(tmp_path, "make.k")
    assert "def plain(" in text
    assert "support" not in text


def test_a_matrix_type_with_a_name_makes_matrices(tmp_path: Path) -> None:
    _write(
        tmp_path,
        main="""
import warp as wp

_ROWS = {"two": (1.0, 2.0, 3.0, 4.0, 5.0, 6.0), "one": (1.0, 2.0, 3.0)}
COUNT = {"two": 2, "one": 1}["two"]
_table = wp.types.matrix(shape=(COUNT, 3), dtype=wp.float32)
TABLE = _table(*_ROWS["two"])
_evaluate = print(__file__)
OTHER = _evaluate(*_ROWS["two"])

@wp.func
def row(i: int) -> wp.vec3:
    return TABLE[i]

@wp.func
def other(i: int) -> wp.vec3:
    return OTHER[i]
""",
    )
    text, _ = _slice(tmp_path, "row")
    assert "TABLE = _table(*_ROWS['two'])" in text.replace('"', "'")
    with pytest.raises(Refused, match="_evaluate"):
        _slice(tmp_path, "other")
