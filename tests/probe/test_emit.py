"""Scripts that stand alone print the two gradients that decided a finding."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from tests.command import run_warplint
from tests.probe.conftest import finding
from tests.probe.test_tapes import Maker
from warplint.frontend.fast import read
from warplint.ir.facts import Evidence
from warplint.ir.programs import DefinitionRef, KernelProgram
from warplint.probe import NoScript, ProbeOptions, emit, probe, scripts
from warplint.probe.emit import write_scripts
from warplint.probe.worker.handles import Unsupported
from warplint.probe.worker.quotes import refuse_quotes
from warplint.source.project import Project

Run = Callable[..., list[Evidence]]

_TEXT = """
from typing import Any
import warp as wp

SCALE = wp.constant(3.0)


@wp.struct
class Pair:
    a: float
    v: wp.vec3


@wp.struct
class State:
    x: wp.array(dtype=float)
    n: int
    pair: Pair


@wp.func
def product(x: wp.array(dtype=float), s: float, n: int) -> float:
    total = float(1.0)
    for k in range(n):
        total = total * x[k] * s
    return total


@wp.kernel
def structs(state: State, pairs: wp.array(dtype=Pair), out: wp.array2d(dtype=wp.vec3)):
    i, j = wp.tid()
    total = float(1.0)
    for k in range(state.n):
        total = total * pairs[k].a * state.x[k]
    out[i, j] = total * SCALE * pairs[i].v * state.pair.a


@wp.kernel
def objects(mesh: wp.uint64, start: wp.array(dtype=wp.vec3), x: wp.array(dtype=float), index: wp.array(dtype=int)):
    i = wp.tid()
    hit = wp.mesh_query_ray(mesh, start[i], wp.vec3(0.0, 0.0, 1.0), 100.0)
    x[i] = x[i] * x[i] * (hit.t + start[index[i]][0])


@wp.kernel
def generic(x: wp.array(dtype=Any), v: Any, k: Any):
    i = wp.tid()
    x[i] = x[i] * wp.dot(x[i], v) * k


@wp.kernel
def right(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = x[i] * x[i]


@wp.kernel
def outside(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i + 100000] *= x[i]
"""


def _printed(script: str, folder: Path) -> tuple[float, float]:
    """What a script prints: the tape's gradient and finite differences."""
    modules = {
        name.partition(".")[0]
        for node in ast.walk(ast.parse(script))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert modules <= {"warp", "numpy", "typing"}
    path = folder / "script.py"
    path.write_text(script)
    ran = subprocess.run([sys.executable, "-I", str(path)], capture_output=True, text=True, check=False, cwd=folder)
    assert ran.returncode == 0, ran.stderr
    numbers = re.findall(r"(?:tape|finite differences):\s+(\S+)", ran.stdout)
    assert len(numbers) == 2, ran.stdout
    return float(numbers[0]), float(numbers[1])


def test_kernels(tmp_path: Path, run: Run, kernel_cache: Path) -> None:
    path = tmp_path / "kernels.py"
    path.write_text(_TEXT)
    names = ["structs", "product", "objects", "generic", "right", "outside"]
    findings = [finding(path, KernelProgram(DefinitionRef(path, name), ())) for name in names]
    evidence = run(findings)
    assert [one.verdict for one in evidence] == ["confirmed"] * 4 + ["refuted", "inconclusive"]
    made = scripts(findings, Project(read), ProbeOptions(device="cpu", cache_dir=kernel_cache))
    for name, script in zip(names[:5], made, strict=False):
        assert script.text is not None, f"{name}: {script.problem}"
        tape, difference = _printed(script.text, tmp_path)
        if name == "right":
            assert tape == pytest.approx(difference, rel=1e-3)
        else:
            assert abs(tape - difference) > 0.01 * max(abs(tape), abs(difference))
    assert made[5].text is None
    assert "outside an array" in made[5].problem
    with pytest.raises(NoScript, match="outside an array"):
        emit(findings[5], Project(read), ProbeOptions(device="cpu", cache_dir=kernel_cache))


_MISSING = """
import warp as wp


@wp.struct
class Pair:
    a: float
    b: wp.vec3


@wp.kernel
def rounded(pairs: wp.array(dtype=Pair), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.round(pairs[i].b[1] * 3.0)


@wp.kernel
def in_place(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = wp.floor(x[i] * 2.0)
"""


def test_missing_derivatives(tmp_path: Path, run: Run, kernel_cache: Path) -> None:
    path = tmp_path / "kernels.py"
    path.write_text(_MISSING)
    names = ["rounded", "in_place"]
    findings = [finding(path, KernelProgram(DefinitionRef(path, name), ()), "zero-adjoint") for name in names]
    assert [one.verdict for one in run(findings)] == ["confirmed"] * 2
    made = scripts(findings, Project(read), ProbeOptions(device="cpu", cache_dir=kernel_cache))
    for name, script in zip(names, made, strict=True):
        assert script.text is not None, f"{name}: {script.problem}"
        tape, difference = _printed(script.text, tmp_path)
        assert tape == 0.0
        assert abs(difference) > 0.1


def test_tape_programs(tmp_path: Path, run: Run, kernel_cache: Path) -> None:
    make = Maker(tmp_path)
    findings = [
        finding(make.path, make.chain(False), "chain"),
        finding(make.path, make.steps(True), "horizon"),
        finding(make.path, make.steps(True, reset=False), "horizon"),
        finding(make.path, make.steps(False), "horizon"),
    ]
    evidence = run(findings)
    made = scripts(findings, Project(read), ProbeOptions(device="cpu", cache_dir=kernel_cache))
    for script, seen in zip(made, evidence, strict=True):
        assert script.text is not None, script.problem
        tape, difference = _printed(script.text, tmp_path)
        assert tape == pytest.approx(seen.numbers["tape"], rel=1e-3)
        assert difference == pytest.approx(seen.numbers["finite_difference"], rel=2e-2)


def test_scripts_are_written_for_what_was_decided(tmp_path: Path, kernel_cache: Path) -> None:
    path = tmp_path / "kernels.py"
    path.write_text(_TEXT)
    options = ProbeOptions(device="cpu", cache_dir=kernel_cache)
    findings = [finding(path, KernelProgram(DefinitionRef(path, name), ())) for name in ("right", "outside")]
    seen = [
        replace(one, evidence=two) for one, two in zip(findings, probe(findings, Project(read), options), strict=True)
    ]
    right, outside = write_scripts(seen, Project(read), options, tmp_path / "scripts")
    assert outside.evidence.reproduce is None
    assert right.evidence.reproduce == str(tmp_path / "scripts" / "WP999_kernels_1.py")
    assert [one.name for one in (tmp_path / "scripts").iterdir()] == ["WP999_kernels_1.py"]


_QUOTING = """
import warp as wp


@wp.kernel
def in_a_string(x: wp.array(dtype=float)):
    i = wp.tid()
    wp.printf('"%f"', x[i])
    x[i] *= x[i]


@wp.kernel
def in_an_assertion(x: wp.array(dtype=float)):
    i = wp.tid()
    assert x[i] < 1.0e9, 'much "too" large'
    x[i] *= x[i]


@wp.kernel
def in_its_documentation(x: wp.array(dtype=float)):
    '''A "word".'''
    i = wp.tid()
    x[i] *= x[i]
"""


def test_no_script_hands_on_what_would_end_a_string_of_cpp(tmp_path: Path, kernel_cache: Path) -> None:
    path = tmp_path / "kernels.py"
    path.write_text(_QUOTING)
    names = re.findall(r"def (\w+)", _QUOTING)
    findings = [finding(path, KernelProgram(DefinitionRef(path, name), ())) for name in names]
    options = ProbeOptions(device="cpu", cache_dir=kernel_cache)
    seen = [
        replace(one, evidence=two) for one, two in zip(findings, probe(findings, Project(read), options), strict=True)
    ]
    for told in write_scripts(seen, Project(read), options, tmp_path / "scripts")[:-1]:
        assert told.evidence.reproduce is None
        assert "no script stands alone for it" in told.evidence.detail and "quotation mark" in told.evidence.detail
    made = scripts(findings, Project(read), options)
    for name, script in zip(names[:-1], made[:-1], strict=True):
        assert script.text is None, name
        assert "quotation mark" in script.problem, f"{name}: {script.problem}"
    assert made[-1].text is not None, made[-1].problem


@pytest.mark.parametrize(
    "text",
    [
        'SAID = str(["it\'s"])',
        'class Words:\n    SAID = (str(["it\'s"]), 1)',
        "import warp as wp\n\ndef f():\n    wp.printf(wp.static(str(SAID)))",
        "def f(x):\n    assert x, 'a\\x22'",
    ],
)
def test_computed_text_counts_as_well(text: str) -> None:
    """Warp 1.19 refuses some of these itself."""
    module = ModuleType("script")
    exec(text, module.__dict__)
    with pytest.raises(Unsupported, match="quotation mark"):
        refuse_quotes(text, module)


_COMMON_NAMES = """
import warp as wp


@wp.kernel
def step(x: wp.array(dtype=float), point: wp.array(dtype=float)):
    i = wp.tid()
    point[i] = x[i] * x[i]


@wp.kernel
def x_data(x: wp.array(dtype=float), loss: wp.array(dtype=float)):
    wp.atomic_add(loss, 0, x[wp.tid()])


@wp.kernel
def launch(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] *= x[i]


def run(start):
    x = wp.array(start, dtype=float, requires_grad=True)
    y = wp.zeros(4, dtype=float, requires_grad=True)
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(step, dim=4, inputs=[x], outputs=[y])
        wp.launch(x_data, dim=4, inputs=[y], outputs=[loss])
    tape.backward(loss)
    tape.backward(loss)
    return x.grad.numpy()
"""


def test_kernels_may_have_the_names_that_scripts_use(tmp_path: Path, kernel_cache: Path) -> None:
    (tmp_path / "names.py").write_text(_COMMON_NAMES)
    done = run_warplint(
        "check", "--device", "cpu", "--emit-probe", "out", "--cache-dir", kernel_cache, "names.py", cwd=tmp_path
    )
    made = {path.name.partition("_")[0]: path.read_text() for path in (tmp_path / "out").iterdir()}
    assert set(made) == {"WP101", "WP411"}, done.stdout
    for text in made.values():
        tape, difference = _printed(text, tmp_path)
        assert abs(tape - difference) > 0.01 * max(abs(tape), abs(difference))
