"""The checks that do not compare gradients with differences, and findings in funcs that are probed through callers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.probe.conftest import finding
from warplint.ir.facts import Evidence, Finding
from warplint.ir.programs import Check, DefinitionRef, KernelProgram
from warplint.ir.spans import Location, Span

Run = Callable[[list[Finding]], list[Evidence]]

SOURCE = """
import warp as wp

@wp.func
def add_to(a: wp.array(dtype=float), i: int, v: float):
    a[i] += v

@wp.func
def put(a: wp.array(dtype=float), i: int, v: float):
    a[i] = v

@wp.func
def root(x: float):
    return wp.where(x > 0.0, wp.sqrt(x), 0.0)

@wp.kernel
def rounded(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = 0.5 * wp.round(2.0 * x[i])

@wp.kernel
def fraction(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = x[i] - wp.floor(x[i])

@wp.kernel
def in_place(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = wp.floor(3.0 * x[i])

@wp.kernel
def accumulated(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    add_to(out, i, x[i])

@wp.kernel
def stored(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    put(out, i, x[i])

@wp.kernel
def clipped(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = root(wp.max(x[i], 0.0))

@wp.kernel
def unclipped(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = root(x[i])
"""


@pytest.fixture
def case(tmp_path: Path) -> Callable[..., Finding]:
    path = tmp_path / "checked.py"
    path.write_text(SOURCE)

    def make(name: str, check: Check, line: str, *callers: str) -> Finding:
        lines = SOURCE.split("\n")
        start = next(n for n, text in enumerate(lines) if text.startswith(f"def {name}("))
        number = next(n for n, text in enumerate(lines) if n > start and line in text)
        span = Span(number + 1, 5, number + 1, len(lines[number]) + 1)
        refs = tuple(DefinitionRef(path, caller) for caller in callers)
        return finding(path, KernelProgram(DefinitionRef(path, name), (Location(path, span),), refs), check, span)

    return make


def test_each_check_says_yes_and_no(case: Callable[..., Finding], run: Run) -> None:
    cases = {
        "rounded": ("zero-adjoint", "wp.round", "confirmed"),
        "fraction": ("zero-adjoint", "wp.floor", "refuted"),
        "in_place": ("zero-adjoint", "wp.floor", "confirmed"),
        "accumulated": ("replay", "add_to(", "confirmed"),
        "stored": ("replay", "put(", "refuted"),
        "clipped": ("compile", "root(", "refuted"),
    }
    evidence = run([case(name, check, line) for name, (check, line, _) in cases.items()])
    found = {name: one.verdict for name, one in zip(cases, evidence, strict=True)}
    assert found == {name: expected for name, (_, _, expected) in cases.items()}, evidence


def test_a_func_is_probed_through_its_callers(case: Callable[..., Finding], run: Run) -> None:
    line = "wp.where("
    alone, safe, both = run(
        [
            case("root", "finite-adjoint", line),
            case("root", "finite-adjoint", line, "clipped"),
            case("root", "finite-adjoint", line, "clipped", "unclipped"),
        ]
    )
    assert (alone.verdict, safe.verdict, both.verdict) == ("confirmed", "refuted", "confirmed"), safe
    assert "x[" in both.detail


REFUSED = """
import warp as wp

@wp.func
def square(x: float):
    return x * x

@wp.func_grad(square)
def adj_square(x: float):
    wp.adjoint[x] += 2.0 * x
"""


def test_what_warp_refuses_is_confirmed_in_its_own_words(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "refused.py"
    path.write_text(REFUSED)
    (found,) = run([finding(path, KernelProgram(DefinitionRef(path, "square"), ()), "compile")])
    assert found.verdict == "confirmed"
    assert "adj_square" in found.detail or "square" in found.detail


NEIGHBOURS = """
import warp as wp

@wp.kernel
def two(a: wp.array(dtype=float), b: wp.array(dtype=float), c: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    scaled = 3.0 * a[i]
    out[i] = wp.round(scaled) + 1000.0 * wp.round(b[i]) + wp.floor(c[i]) - c[i]
"""


@pytest.mark.parametrize("line", ["wp.round(scaled)", "wp.round(b[i])"])
def test_the_input_that_is_shown_flows_into_the_flagged_place(line: str, tmp_path: Path, run: Run) -> None:
    path = tmp_path / "neighbours.py"
    path.write_text(NEIGHBOURS)
    number, text = next((n, one) for n, one in enumerate(NEIGHBOURS.split("\n"), 1) if line in one)
    span = Span(number, text.index(line) + 1, number, text.index(line) + len(line) + 1)
    ref = DefinitionRef(path, "two")
    (found,) = run([finding(path, KernelProgram(ref, (Location(path, span),)), "zero-adjoint", span)])
    assert found.verdict == "confirmed"
    assert found.detail.startswith("d/d a[" if "scaled" in line else "d/d b["), found.detail
