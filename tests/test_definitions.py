"""After an edit, facts about kernels, funcs and launches are taken over where they hold, and nothing stale is told."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from edited import Edited
from edits import edited

from warplint import analysis, kernels, remembering
from warplint.ir.facts import Fact
from warplint.source.project import Module, Project
from warplint.source.regions import Region

FUNCS = """
import warp as wp
from sizes import *

SCALE = 2.0
Pair = wp.types.vector(2, float)


@wp.struct
class State:
    x: wp.array(dtype=float)
    v: wp.array(dtype=wp.vec3)
    count: int


@wp.func
def squared(v: float):
    return v * v * SCALE


@wp.func
def length_of(v: wp.vec3):
    return wp.length(v)


@wp.func
def steep(v: float):
    return wp.sqrt(v)


@wp.func_grad(steep)
def adj_steep(v: float, adj_ret: float):
    wp.adjoint[v] = adj_ret * squared(v)


@wp.func
def add_to(a: wp.array(dtype=float), i: int, v: float):
    a[i] = 0.5 * a[i] + steep(v)


def make_shade(factor: float):
    @wp.func
    def shade(v: float):
        s = float(0.0)
        for k in range(COUNT):
            s = s * v + factor
        return s

    return shade


shade = make_shade(2.0)
"""
SIZES = """
COUNT = 4
LIMIT = COUNT * 8
"""
KERNELS = """
import warp as wp

import funcs
from funcs import State, add_to, length_of, make_shade, squared
from funcs import steep as steeply

wp.set_module_options({"enable_backward": True})
shade = make_shade(3.0)
helper = squared


@wp.kernel
def forward(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = helper(x[i]) + funcs.shade(x[i]) + shade(x[i])


@wp.kernel
def in_place(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = squared(x[i]) * x[i]


@wp.kernel
def carried(x: wp.array(dtype=float), y: wp.array(dtype=float), n: int):
    i = wp.tid()
    s = float(1.0)
    for k in range(n):
        s = s * steeply(x[k])
    y[i] = s
    add_to(y, i, x[i] * x[i])


@wp.kernel(enable_backward=False)
def moved(state: State):
    i = wp.tid()
    state.x[i] = length_of(state.v[i]) / 3


@wp.kernel
def singular(state: State, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = length_of(state.v[i]) + length_of(state.v[i] - state.v[i + 1])


class Made:
    def build(self, scale: float, unrolled: bool):
        @wp.kernel
        def built(x: wp.array(dtype=float), y: wp.array(dtype=float)):
            i = wp.tid()
            s = float(1.0)
            for k in range(wp.int(scale)):
                s = s * x[i]
            y[i] = s * scale

        return built
"""
LAUNCHES = """
import numpy as np
import warp as wp
from kernels import Made, State, carried, forward, in_place, moved, singular
from sizes import LIMIT

DIM = LIMIT // 4
N = 16


def once(n: int):
    x = wp.zeros(n, dtype=float, requires_grad=True)
    y = wp.zeros(n, dtype=wp.vec3, requires_grad=True)
    wp.launch(forward, dim=(DIM, 2), inputs=[x, y])
    wp.launch(carried, dim=n, inputs=[x, y])


def twice():
    made = Made().build(4.0, True)
    x = wp.ones(N, dtype=float, requires_grad=True)
    y = wp.zeros(N, dtype=float, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(forward, dim=N, inputs=[x], outputs=[y])
        wp.launch(in_place, dim=N, outputs=[x])
        wp.launch(made, dim=N, inputs=[x], outputs=[y])
    tape.backward(grads={y: wp.ones(N, dtype=float)})
    return x.grad.numpy()


if __name__ == "__main__":
    once(8)
    twice()
"""
ALONE = """
import warp as wp

wp.config.max_unroll = 8
wp.set_module_options({"enable_backward": False})
SIZE = 4


@wp.func
def product(x: wp.array(dtype=float)):
    p = float(1.0)
    for k in range(SIZE):
        p = p * x[k]
    return p


@wp.func
def scaled(v: float):
    return wp.abs(v) / v


@wp.kernel(enable_backward=True)
def asked(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    y[wp.tid()] = product(x)


@wp.kernel
def derived(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.grad(scaled)(x[i])
"""
FILES = {
    "funcs.py": FUNCS,
    "sizes.py": SIZES,
    "kernels.py": KERNELS,
    "launches.py": LAUNCHES,
    "alone.py": ALONE,
}
# Edits that mean something: each turns one text of a file into another, and back.
MEANT = [
    ("sizes.py", "COUNT = 4", "COUNT = 400"),
    ("sizes.py", "COUNT = 4", "COUNT = int(4)"),
    ("sizes.py", "COUNT * 8", "COUNT"),
    ("funcs.py", "SCALE = 2.0", "SCALE = 0.0"),
    ("funcs.py", "from sizes import *", "from sizes import COUNT"),
    ("funcs.py", "return v * v * SCALE", "return v * SCALE"),
    ("funcs.py", "return wp.length(v)", "return wp.length_sq(v)"),
    ("funcs.py", "@wp.func_grad(steep)", "@wp.func_replay(steep)"),
    ("funcs.py", "adj_ret * squared(v)", "adj_ret"),
    ("funcs.py", "0.5 * a[i] + steep(v)", "steep(v)"),
    ("funcs.py", "wp.adjoint[v] =", "wp.adjoint[v] +="),
    ("funcs.py", "s = s * v + factor", "s = s + v * factor"),
    ("funcs.py", "dtype=wp.vec3)\n    count", "dtype=float)\n    count"),
    ("funcs.py", "def squared(v: float)", "def squared(v: wp.vec3)"),
    ("kernels.py", "make_shade(3.0)", "make_shade(float)"),
    ("kernels.py", "helper = squared", "helper = steeply"),
    ("kernels.py", "import steep as", "import shade as"),
    ("kernels.py", '"enable_backward": True', '"enable_backward": False'),
    ("kernels.py", "@wp.kernel(enable_backward=False)", "@wp.kernel"),
    ("kernels.py", "state.x[i] = length_of(state.v[i]) / 3", "state.x[i] = 3.0"),
    ("kernels.py", "length_of(state.v[i]) + length_of", "length_of"),
    ("kernels.py", "y: wp.array(dtype=float), n: int", "y: wp.array2d(dtype=float), n: int"),
    ("kernels.py", "class Made:", "import warp.config\nwarp.config.enable_backward = False\n\n\nclass Made:"),
    ("launches.py", "DIM = LIMIT // 4", "DIM = LIMIT"),
    ("launches.py", "build(4.0, True)", "build(40.0, True)"),
    ("launches.py", "    tape = wp.Tape()\n    with tape:", "    if N:"),
    ("alone.py", "wp.config.max_unroll = 8", "wp.config.max_unroll = 2"),
    ("alone.py", "@wp.kernel(enable_backward=True)", "@wp.kernel"),
    ("alone.py", "wp.grad(scaled)(x[i])", "scaled(x[i])"),
    ("alone.py", "SIZE = 4", "SIZE = 40"),
]


class Runs(Edited):
    """Which definitions were analysed since they were last asked for."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(folder, FILES)
        real = kernels.analyse

        def noted(
            project: Project, module: Module, uses: object, only: Region | None = None, kinds: object = None
        ) -> Iterator[Fact]:
            if only is not None:
                self.done += only.names
            return real(project, module, uses, only, kinds)  # type: ignore[arg-type,return-value]

        monkeypatch.setattr(kernels, "analyse", noted)


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runs:
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return Runs(folder, monkeypatch)


def test_the_files_have_something_to_tell(runs: Runs) -> None:
    findings, problems, *_ = runs.lint()
    assert not problems
    rules = {one.rule for one in findings}  # type: ignore[attr-defined]
    assert {"WP103", "WP104", "WP601", "WP706", "WP708"} <= rules


def test_only_the_kernel_that_was_edited_is_analysed_again(runs: Runs) -> None:
    runs.lint()
    assert {"forward", "in_place", "squared", "asked"} <= set(runs.done)
    runs.change("alone.py", "y[wp.tid()] = product(x)", "y[wp.tid()] = 2.0 * product(x)")
    found = runs.lint()
    # The func that it calls may be met in another way.
    assert set(runs.done) == {"asked", "product"}
    assert found == runs.fresh()


def test_a_remark_moves_facts_and_analyses_nothing(runs: Runs) -> None:
    before = runs.lint()
    runs.change("kernels.py", "helper = squared\n", "helper = squared\n\n# a remark\n# of two lines\n")
    after = runs.lint()
    assert not runs.done
    assert after == runs.fresh() != before


#: A kernel that names a class which names a func: in a method, or as a member.
HOSTED = """
import warp as wp
from funcs import squared


class Plan:
    COUNT = 3
    MEMBER

    def checked(self, value):
        return USED


@wp.kernel
def planned(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    s = float(1.0)
    for k in range(Plan.COUNT * i):
        s = s * CALLED
    y[i] = s
"""


@pytest.mark.parametrize(
    ("member", "used", "called", "again"),
    [("", "squared", "x[i]", False), ("shape = squared", "value", "Plan.shape(x[i])", True)],
)
def test_a_func_in_a_method_makes_no_class_another(
    runs: Runs, member: str, used: str, called: str, again: bool
) -> None:
    text = HOSTED.replace("    MEMBER\n", f"    {member}\n" if member else "").replace("USED", used)
    (runs.folder / "hosted.py").write_text(text.replace("CALLED", called))
    runs.lint()
    assert "planned" in runs.done
    runs.change("funcs.py", "return v * v * SCALE", "return v + SCALE")
    found = runs.lint()
    assert "squared" in runs.done
    assert ("planned" in runs.done) == again
    assert found == runs.fresh()


@pytest.mark.parametrize(("name", "old", "new"), MEANT)
def test_an_edit_that_means_something(runs: Runs, name: str, old: str, new: str) -> None:
    runs.lint()
    runs.change(name, old, new)
    assert runs.lint() == runs.fresh()
    runs.restore()
    assert runs.lint() == runs.fresh()


@pytest.mark.parametrize("seed", range(3))
def test_many_edits(runs: Runs, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setattr(analysis, "PARALLEL_FROM", 2)
    chance = random.Random(seed)
    parallel = seed == 2
    analysed = 0
    rounds = 8 if parallel else 50
    for number in range(rounds):
        name = chance.choice(sorted(FILES))
        path = runs.folder / name
        if number % 8 == 7:
            runs.restore()
        elif chance.random() < 0.4:
            name, old, new = chance.choice(MEANT)
            path = runs.folder / name
            path.write_text(path.read_text().replace(old, new, 1))
        else:
            path.write_text(edited(path.read_text(), chance))
        found = runs.lint(jobs=2 if parallel else 1)
        analysed += len(set(runs.done))
        assert found == runs.fresh(), (number, name)
    assert parallel or 0 < analysed < rounds * 10


@pytest.mark.parametrize("name", ["launches.py", "kernels.py"])
def test_what_is_imported_and_not_linted_counts(runs: Runs, name: str) -> None:
    chance = random.Random(5)
    for _ in range(25):
        other, old, new = chance.choice(MEANT)
        path = runs.folder / other
        path.write_text(path.read_text().replace(old, new, 1))
        assert runs.lint(name) == runs.fresh(name), (other, old)
        if chance.random() < 0.2:
            runs.restore()


def test_moved_definitions(runs: Runs) -> None:
    """Definitions change places, in a file and between files."""
    chance = random.Random(9)
    runs.lint()
    for number in range(20):
        name = chance.choice(["funcs.py", "kernels.py", "alone.py"])
        path = runs.folder / name
        parts = path.read_text().split("\n\n\n")
        at = chance.randrange(1, len(parts))
        taken = parts.pop(at)
        if number % 3 == 0:
            other = runs.folder / chance.choice(["funcs.py", "kernels.py"])
            path.write_text("\n\n\n".join(parts))
            other.write_text(other.read_text() + "\n\n\n" + taken)
        else:
            parts.insert(chance.randrange(1, len(parts) + 1), taken)
            path.write_text("\n\n\n".join(parts))
        assert runs.lint() == runs.fresh(), number
        if number % 6 == 5:
            runs.restore()


def test_what_is_kept_has_a_bound(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = runs.folder.parent / "kept" / "facts"
    runs.lint("launches.py")
    size = sum(path.stat().st_size for path in folder.iterdir())
    monkeypatch.setattr(remembering, "_MOST_TOGETHER", 2 * size)
    for name in ("alone.py", "sizes.py", "funcs.py", "kernels.py", "launches.py"):
        runs.lint(name)
    newest = sorted(folder.iterdir(), key=lambda path: -path.stat().st_mtime_ns)
    assert 0 < sum(path.stat().st_size for path in newest) <= 3 * size  # the newest of each kind stays, however large
    # The last run is among what is left.
    runs.lint("launches.py")
    assert not runs.done
