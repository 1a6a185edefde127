"""Effect summaries: what a kernel does to its arguments."""

from __future__ import annotations

from tests.kernels.conftest import module_of
from warplint import kernels
from warplint.ir.effects import EffectSummary
from warplint.source.project import Project

SOURCE = """
import warp as wp

@wp.struct
class State:
    q: wp.array(dtype=wp.vec3)
    f: wp.array(dtype=wp.vec3)
    count: wp.array(dtype=int)

@wp.kernel
def square(x: wp.array(dtype=float), k: float, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = k * x[i] * x[i]

@wp.kernel
def scale(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(y, 0, 2.0 * x[i])

@wp.func
def push(s: State, i: int, by: wp.vec3):
    s.f[i] += by

@wp.kernel
def step(s: State, out: State, dt: float):
    i = wp.tid()
    push(s, i, s.q[i] * dt)
    out.q[i] = s.q[i] + s.f[i] * dt
    s.count[0] = i

@wp.kernel
def guarded(x: wp.array(dtype=float), n: int, y: wp.array(dtype=float)):
    i = wp.tid()
    if i >= n:
        return
    y[i] = x[i]

@wp.kernel
def sometimes(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    if x[i] > 0.0:
        y[i] = x[i]

@wp.kernel(enable_backward=False)
def forward(x: wp.array(dtype=float), f: float):
    x[0] = f

def plain(x):
    return x
"""


def summary(project: Project, name: str) -> EffectSummary | None:
    module = module_of(project, SOURCE)
    definition = next(found for found in module.functions() if found.node.name == name)
    return kernels.effects(project, definition)


def test_a_non_linear_read_is_needed_and_flows(project: Project) -> None:
    found = summary(project, "square")
    assert found is not None
    assert found.parameters == ("x", "k", "y")
    assert found.backward is True and found.complete
    read, written = found.effect(("x",)), found.effect(("y",))
    assert read is not None and read.reads and read.needed and not read.writes and read.differentiable
    assert written is not None and written.writes and written.covers and not written.reads
    assert (("x",), ("y",)) in found.flows
    assert (("k",), ("y",)) not in found.flows  # nobody reads the adjoint of a scalar argument of a kernel


def test_a_linear_read_is_not_needed(project: Project) -> None:
    found = summary(project, "scale")
    assert found is not None
    read, written = found.effect(("x",)), found.effect(("y",))
    assert read is not None and read.reads and not read.needed
    assert written is not None and written.accumulates and not written.writes and not written.covers


def test_whose_derivative_reads_which_values(project: Project) -> None:
    found = summary(project, "square")
    assert found is not None and (("x",), ("x",)) in found.needs
    linear = summary(project, "scale")
    assert linear is not None and not any(wanted == ("x",) for _, wanted in linear.needs)


PLACES = """\
import warp as wp

@wp.func
def put(y: wp.array(dtype=float), at: int, value: float):
    y[at] = value

@wp.kernel
def store(x: wp.array(dtype=float), index: wp.array(dtype=int), k: int, a: wp.array(dtype=float),
          b: wp.array(dtype=float), c: wp.array(dtype=float), d: wp.array(dtype=float)):
    i = wp.tid()
    a[i] = x[i]
    b[i + k] = x[i]
    c[index[i]] = x[i]
    put(d, i + k, x[i])
"""


def test_where_stores_go(project: Project) -> None:
    module = module_of(project, PLACES)
    definition = next(found for found in module.functions() if found.node.name == "store")
    found = kernels.effects(project, definition)
    assert found is not None
    placed = {effect.path: effect.placed for effect in found.effects if effect.writes}
    assert placed[("a",)] == frozenset()
    assert placed[("b",)] == {("k",)} and placed[("d",)] == {("k",)}
    assert ("index",) in placed[("c",)] and ("k",) not in placed[("c",)]


def test_effects_of_called_funcs_and_struct_fields(project: Project) -> None:
    found = summary(project, "step")
    assert found is not None
    force, position, moved = found.effect(("s", "f")), found.effect(("s", "q")), found.effect(("out", "q"))
    assert force is not None and force.accumulates and force.reads
    assert position is not None and position.reads and not position.writes
    assert moved is not None and moved.writes and moved.covers
    count = found.effect(("s", "count"))
    assert count is not None and count.writes and not count.differentiable
    assert {(("s", "q"), ("s", "f")), (("s", "q"), ("out", "q")), (("s", "f"), ("out", "q"))} <= found.flows


def test_covering_stores(project: Project) -> None:
    for name, covers in (("guarded", True), ("sometimes", False)):
        found = summary(project, name)
        assert found is not None
        written = found.effect(("y",))
        assert written is not None and written.writes
        assert written.covers is covers, name


def test_module_options_beat_the_global_setting(project: Project) -> None:
    module = module_of(
        project,
        "import warp as wp\n"
        "wp.config.enable_backward = False\n"
        'wp.set_module_options({"enable_backward": True})\n'
        "@wp.kernel\n"
        "def copied(x: wp.array(dtype=float), y: wp.array(dtype=float)):\n"
        "    y[0] = x[0]\n",
    )
    found = kernels.effects(project, next(iter(module.functions())))
    assert found is not None and found.backward is True


def test_backward_off_and_plain_functions(project: Project) -> None:
    found = summary(project, "forward")
    assert found is not None and found.backward is False
    assert summary(project, "plain") is None


def test_what_a_product_of_tiles_makes_flows_from_both(project: Project) -> None:
    source = """
import warp as wp

@wp.kernel
def layer(x: wp.array2d(dtype=float), w: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
    i = wp.tid()
    product = wp.tile_matmul(wp.tile_load(w, shape=(8, 8), offset=(i * 8, 0)), wp.tile_load(x, shape=(8, 1)))
    wp.tile_store(y, wp.tile_map(wp.tanh, product), offset=(i * 8, 0))
"""
    module = module_of(project, source)
    found = kernels.effects(project, next(found for found in module.functions() if found.node.name == "layer"))
    assert found is not None
    assert set(found.flows) == {(("x",), ("y",)), (("w",), ("y",))}
