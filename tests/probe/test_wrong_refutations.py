"""Nothing is refuted at inputs which do not show it: what few inputs show is found, or the third answer given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.probe.conftest import finding, marked
from warplint.ir.facts import Evidence, Finding
from warplint.ir.programs import DefinitionRef, KernelProgram
from warplint.ir.spans import Location, Span

Run = Callable[..., list[Evidence]]

# All of these are wrong: `scale` is carried through a loop that is not unrolled, and the products read it.
_WRONG = """
import warp as wp

FAR = wp.constant(1 << 12)


@wp.kernel
def a_bit_that_is_rarely_set(
    flags: wp.array(dtype=int), x: wp.array(dtype=float), y: wp.array(dtype=float), n: int, out: wp.array(dtype=float)
):
    i = wp.tid()
    scale = float(1.0)
    for k in range(n):
        if flags[k] & FAR:
            scale = scale * x[k]
        out[i] += scale * y[k]  # flagged


@wp.kernel
def a_bit_that_is_shifted(
    flags: wp.array(dtype=int), x: wp.array(dtype=float), y: wp.array(dtype=float), n: int, out: wp.array(dtype=float)
):
    i = wp.tid()
    scale = float(1.0)
    for k in range(n):
        if (flags[k] >> 9) & 1 == 1:
            scale = scale * x[k]
        out[i] += scale * y[k]  # flagged


@wp.kernel
def both_of_two_bits(
    flags: wp.array(dtype=int), x: wp.array(dtype=float), y: wp.array(dtype=float), n: int, out: wp.array(dtype=float)
):
    i = wp.tid()
    scale = float(1.0)
    for k in range(n):
        if (flags[k] & 64) != 0 and (flags[k] & 256) != 0:
            scale = scale * x[k]
        out[i] += scale * y[k]  # flagged
"""

# Wrong for rotations that are not of unit length already, which is what they are normalized for.
_ROTATIONS = """
import warp as wp


@wp.kernel
def in_place(q: wp.array(dtype=wp.quat)):
    i = wp.tid()
    q[i] = wp.normalize(q[i])  # flagged
"""

# This one as well, but what shows it is out of reach: nobody draws such numbers.
_HIDDEN = """
import warp as wp


@wp.kernel
def a_number_that_is_never_drawn(
    keys: wp.array(dtype=int), x: wp.array(dtype=float), y: wp.array(dtype=float), n: int, out: wp.array(dtype=float)
):
    i = wp.tid()
    scale = float(1.0)
    for k in range(n):
        if keys[k] * keys[k] - 7 * keys[k] == 1000798:
            scale = scale * x[k]
        out[i] += scale * y[k]  # flagged

"""

_FACTORY = """
import warp as wp


def make(rounds):
    @wp.kernel
    def carried(x: wp.array(dtype=float), out: wp.array(dtype=float)):
        i = wp.tid()
        scale = float(1.0)
        for k in range(rounds):
            scale = scale * x[k]
        out[i] = scale

    return carried
"""

_ORDERS = """
import warp as wp


def make(order: str = "forward"):
    BACKWARD = order == "backward"

    @wp.kernel
    def scaled(x: wp.array(dtype=float), g: wp.array(dtype=float), n: int, out: wp.array(dtype=float)):
        s = float(0.0)
        for i in range(n):
            s += x[i]
        if BACKWARD:
            factor = g[0]
        else:
            factor = 1.0
        out[0] = factor * s  # here

    return scaled


def anything(order: str = "forward"):
    return make(order)


kernels = {"forward": anything(), "backward": anything("backward")}
"""

_NATIVE = """
import warp as wp


@wp.func_native("return 1.0f / sqrtf(x);")
def fast(x: float) -> float: ...


@wp.kernel
def wrong(x: wp.array(dtype=float), n: int, out: wp.array(dtype=float)):
    i = wp.tid()
    scale = fast(x[i])
    for k in range(n):
        scale = scale * x[k]  # flagged
    out[i] = scale


@wp.kernel
def right(x: wp.array(dtype=float), n: int, out: wp.array(dtype=float)):
    i = wp.tid()
    total = fast(x[i])
    for k in range(n):
        total = total + x[k]  # flagged
    out[i] = total


@wp.kernel
def in_question(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = fast(x[i])  # flagged
"""


def _cases(folder: Path, text: str) -> dict[str, Finding]:
    path = folder / "kernels.py"
    path.write_text(text)
    return dict(marked(path))


def test_bits_that_a_branch_asks_for_are_drawn(tmp_path: Path, run: Run) -> None:
    cases = _cases(tmp_path, _WRONG)
    found = dict(zip(cases, run(list(cases.values())), strict=True))
    assert len(found) == 3
    assert {name: one.detail for name, one in found.items() if one.verdict != "confirmed"} == {}


def test_rotations_that_are_normalized_need_it(tmp_path: Path, run: Run) -> None:
    cases = _cases(tmp_path, _ROTATIONS)
    found = dict(zip(cases, run(list(cases.values())), strict=True))
    assert {name: one.verdict for name, one in found.items()} == {"in_place": "confirmed"}


def test_what_is_out_of_reach_is_not_refuted(tmp_path: Path, run: Run) -> None:
    cases = _cases(tmp_path, _HIDDEN)
    found = dict(zip(cases, run(list(cases.values())), strict=True))
    assert len(found) == 1
    assert {name: one.verdict for name, one in found.items()} == dict.fromkeys(cases, "inconclusive")


@pytest.mark.parametrize(
    ("calls", "verdict", "said"),
    [
        ("", "confirmed", "`rounds` = 17"),  # a loop of three rounds is unrolled, and right
        ("first, second = make(2), make(40)\n", "confirmed", ""),  # of what is passed, the most
        ("only = make(4)\n", "refuted", ""),
    ],
)
def test_a_loop_that_a_factory_bounds(calls: str, verdict: str, said: str, tmp_path: Path, run: Run) -> None:
    path = tmp_path / "factory.py"
    path.write_text(_FACTORY + calls)
    lines = _FACTORY.split("\n")
    number = next(number for number, line in enumerate(lines, 1) if "scale * x[k]" in line)
    span = Span(number, 13, number, len(lines[number - 1]) + 1)
    program = KernelProgram(DefinitionRef(path, "make.carried"), (Location(path, span),))
    (one,) = run([finding(path, program, "gradient", span)])
    assert one.verdict == verdict, one.detail
    assert said in one.detail
    assert ("`rounds`" in one.detail) == bool(said)


def test_a_default_is_one_way_among_others(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "orders.py"
    path.write_text(_ORDERS)
    number = next(number for number, line in enumerate(_ORDERS.split("\n"), 1) if "# here" in line)
    span = Span(number, 18, number, 28)
    program = KernelProgram(DefinitionRef(path, "make.scaled"), (Location(path, span),))
    (evidence,) = run([finding(path, program, "gradient", span)])
    assert evidence.verdict == "inconclusive", evidence.detail
    assert "`order` = 'forward'" in evidence.detail


def test_with_something_else_in_place_of_a_snippet_nothing_is_refuted(tmp_path: Path, run: Run) -> None:
    cases = _cases(tmp_path, _NATIVE)
    found = dict(zip(cases, run(list(cases.values())), strict=True))
    assert {name: one.verdict for name, one in found.items()} == {
        "wrong": "confirmed",
        "right": "inconclusive",
        "in_question": "inconclusive",
    }
    assert "`x + x` for the native `fast`" in found["wrong"].detail
    assert found["in_question"].detail == "not run: `fast` is a native snippet"
