"""A finding in a func is judged through the kernels that call it, where those say something else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.probe.conftest import finding
from warplint.ir.facts import Evidence
from warplint.ir.programs import DefinitionRef, KernelProgram

Run = Callable[..., list[Evidence]]

_TEXT = """
import warp as wp


@wp.func
def fading(x: float, n: int) -> float:
    total = float(1.0)
    for k in range(n):
        total = total * x
    return total


@wp.kernel
def once(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = x[i] + fading(0.5, 3)


@wp.kernel
def often(x: wp.array(dtype=float), n: int, out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = fading(x[i], n)


@wp.func
def moved(source: wp.array(dtype=float), target: wp.array(dtype=float), i: int):
    target[i] = source[i] * source[i]


@wp.kernel
def in_place(x: wp.array(dtype=float)):
    i = wp.tid()
    moved(x, x, i)
"""


def test_callers_decide(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "kernels.py"
    path.write_text(_TEXT)

    def about(func: str, *callers: str) -> KernelProgram:
        return KernelProgram(DefinitionRef(path, func), (), tuple(DefinitionRef(path, name) for name in callers))

    programs = [
        about("fading"),
        about("fading", "once"),  # nothing that is differentiated goes through it
        about("fading", "once", "often"),  # one of them is wrong
        about("moved"),
        about("moved", "in_place"),  # wrong only where both parameters are one array
    ]
    evidence = run([finding(path, program) for program in programs])
    assert [one.verdict for one in evidence] == ["confirmed", "refuted", "confirmed", "refuted", "confirmed"]
    assert evidence[1].detail.startswith("`fading` alone is wrong, but through the kernels that call it")
