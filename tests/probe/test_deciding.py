"""Kernels that ask for more than plain inputs are decided, and the evidence says what was chosen for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.probe.conftest import finding, marked
from warplint.ir.facts import Evidence, Finding
from warplint.ir.programs import DefinitionRef, KernelProgram
from warplint.ir.spans import Location, Span

Run = Callable[..., list[Evidence]]

_PACKED = """
import warp as wp


@wp.struct
class Shape:
    scale: float
    mesh: wp.vec3


@wp.func
def unpack(packed: wp.vec3) -> wp.uint64:
    low = wp.uint64(packed[0]) & wp.uint64(0x3FFFFF)
    middle = (wp.uint64(packed[1]) & wp.uint64(0x3FFFFF)) << wp.uint64(22)
    return low | middle | ((wp.uint64(packed[2]) & wp.uint64(0xFFFFF)) << wp.uint64(44))


@wp.func
def wrong(shape: Shape, d: wp.vec3) -> float:
    mesh = wp.mesh_get(unpack(shape.mesh))
    product = float(1.0)
    for k in range(mesh.points.shape[0]):
        product = product * (1.0 + 0.1 * shape.scale * wp.dot(mesh.points[k], d))  # flagged
    return product


@wp.func
def right(shape: Shape, d: wp.vec3) -> float:
    mesh = wp.mesh_get(unpack(shape.mesh))
    total = float(0.0)
    for k in range(mesh.points.shape[0]):
        total += shape.scale * wp.dot(mesh.points[k], d)  # flagged
    return total
"""

_ENDLESS = """
import warp as wp


@wp.kernel
def returns(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    value = x[i]
    count = float(0.0)
    while value > 0.0:
        count += 1.0
        if count > 3.0:
            out[i] = value
            return  # flagged


@wp.kernel
def does_not(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    value = float(0.0)
    for k in range(40):
        value += x[i] / float(k + 1)
    out[i] = value  # flagged
"""

_OWN = """
import warp as wp


@wp.kernel
def own_element(x: wp.array(dtype=float)):
    i = wp.tid()
    if i == 2:
        x[i] = x[i] * x[i]  # flagged


@wp.kernel
def next_element(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i + 1] * x[i + 1]
    if i > 0:
        x[i] = 2.0 * y[i]  # flagged


@wp.func
def the_same_element(index: int, value: float, out: wp.array(dtype=float)):
    out[index] = value * value  # flagged
"""

# The first thread alone is right in all of them; the order of the threads matters in the second only.
_SEVERAL = """
import warp as wp


@wp.kernel
def wrong_for_others(x: wp.array(dtype=float), y: wp.array(dtype=float), where: wp.array(dtype=int)):
    i = wp.tid()
    k = where[i]
    y[k] = x[i] * x[i]
    y[k] = y[k] + float(i) * y[k] * y[k]  # flagged


@wp.kernel
def hands_on(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i + 1] = x[i] * x[i]  # flagged
"""

_FACTORY = """
import warp as wp


def right(flag: bool):
    @wp.kernel
    def of_right(x: wp.array(dtype=float), out: wp.array(dtype=float)):
        i = wp.tid()
        if wp.static(flag):
            out[i] = x[i] * x[i]
        else:
            out[i] = wp.sin(x[i])

    return of_right


def wrong(flag: bool):
    @wp.kernel
    def of_wrong(x: wp.array(dtype=float), out: wp.array(dtype=float)):
        i = wp.tid()
        if not wp.static(flag):
            x[i] = x[i] * x[i]
        out[i] = 3.0 * x[i]

    return of_wrong
"""

_ELSEWHERE = """
import enum
import warp as wp
import elsewhere

MINIMUM = elsewhere.someMinimum


class Kind(enum.IntEnum):
    ONE = elsewhere.kinds.one
    TWO = elsewhere.kinds.two
    OWN = 999


@wp.kernel
def wrong(kind: wp.array(dtype=int), x: wp.array(dtype=float)):
    i = wp.tid()
    if kind[i] == int(Kind.TWO):
        x[i] = x[i] * x[i] + MINIMUM  # flagged


@wp.kernel
def right(kind: wp.array(dtype=int), x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    if kind[i] == int(Kind.TWO):
        out[i] = x[i] * x[i] + MINIMUM  # flagged
"""

_IN_A_TUPLE = """
from typing import Any
import warp as wp


@wp.struct
class Box:
    width: float


@wp.func
def measure(box: Box) -> float:
    return box.width * box.width


@wp.func
def one(box: Any, x: float) -> float:
    return measure(box) + x


@wp.func
def two(box: Any, x: float) -> float:
    return measure(box) * x + box.width


def make(funcs):
    first, second = funcs

    @wp.func
    def product(box: Any, x: wp.array(dtype=float), n: int) -> float:
        result = float(1.0)
        for k in range(n):
            result = result * second(box, x[k])
        return result

    return product


made = make((one, two))
"""


def _verdicts(folder: Path, text: str, run: Run) -> tuple[dict[str, str], dict[str, Evidence]]:
    path = folder / "kernels.py"
    path.write_text(text)
    cases = dict(marked(path))
    found = dict(zip(cases, run(list(cases.values())), strict=True))
    return {name: one.verdict for name, one in found.items()}, found


def _inside(path: Path, qualname: str, line: str) -> Finding:
    """A finding about a line of a definition inside of another."""
    number = path.read_text().split("\n").index(line) + 1
    span = Span(number, len(line) - len(line.lstrip()) + 1, number, len(line) + 1)
    return finding(path, KernelProgram(DefinitionRef(path, qualname), (Location(path, span),)), "gradient", span)


def test_ids_that_are_packed_in_floats(tmp_path: Path, run: Run) -> None:
    verdicts, found = _verdicts(tmp_path, _PACKED, run)
    assert verdicts == {"wrong": "confirmed", "right": "refuted"}, found
    assert ".mesh" not in found["wrong"].detail


def test_a_reverse_sweep_that_does_not_end(tmp_path: Path, run: Run) -> None:
    verdicts, found = _verdicts(tmp_path, _ENDLESS, run)
    assert verdicts == {"returns": "confirmed", "does_not": "refuted"}, found
    assert "does not end" in found["returns"].detail


def test_threads_race_only_where_they_share(tmp_path: Path, run: Run) -> None:
    verdicts, found = _verdicts(tmp_path, _OWN, run)
    assert verdicts["own_element"] == "confirmed", found
    assert verdicts["next_element"] != "confirmed", found
    assert verdicts["the_same_element"] != "confirmed", found


def test_one_thread_clears_others_only_of_a_race(tmp_path: Path, run: Run) -> None:
    verdicts, found = _verdicts(tmp_path, _SEVERAL, run)
    assert verdicts["wrong_for_others"] == "inconclusive", found
    assert verdicts["hands_on"] == "refuted", found
    assert "several threads race" in found["hands_on"].detail


def test_both_truth_values_are_tried_before_anything_is_refuted(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "factory.py"
    path.write_text(_FACTORY)
    right = _inside(path, "right.of_right", "        i = wp.tid()")
    wrong = _inside(path, "wrong.of_wrong", "        out[i] = 3.0 * x[i]")
    found = run([right, wrong])
    assert [one.verdict for one in found] == ["refuted", "confirmed"], found
    assert "either value of `flag`" in found[0].detail
    assert "`flag` = False" in found[1].detail


def test_numbers_of_another_package(tmp_path: Path, run: Run) -> None:
    verdicts, found = _verdicts(tmp_path, _ELSEWHERE, run)
    assert verdicts == {"wrong": "confirmed", "right": "inconclusive"}, found
    assert "`MINIMUM` = 1.0e-6" in found["wrong"].detail
    assert "`Kind` = numbers in order" in found["wrong"].detail


def test_funcs_in_a_tuple_and_structs_for_any(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "factory.py"
    path.write_text(_IN_A_TUPLE)
    (one,) = run([_inside(path, "make.product", "            result = result * second(box, x[k])")])
    assert one.verdict == "confirmed", one.detail


def test_calls_of_calls_are_followed_once(tmp_path: Path, run: Run) -> None:
    """Each func calls the next one twice: to follow each call, or to build each callee anew, would take for ever."""
    depth = 18
    lines = ["from typing import Any", "import warp as wp", ""]
    for level in range(depth, 0, -1):
        inner = f"call_{level + 1}(x) + 0.5 * call_{level + 1}(x)" if level < depth else "x * x"
        lines += ["@wp.func", f"def call_{level}(x: Any):", f"    return {inner}", ""]
    lines += ["@wp.func", "def first(x: Any):", "    return 0.001 * call_1(x)  # flagged", ""]
    verdicts, found = _verdicts(tmp_path, "\n".join(lines), run)
    assert verdicts == {"first": "refuted"}, found
