"""Which loops are unrolled, compared with what Warp's code generator does with the same source."""

from __future__ import annotations

import importlib
import sys
from collections import Counter

import pytest

from tests.kernels.conftest import SOURCES
from warplint import kernels
from warplint.kernels.execute import execute
from warplint.kernels.knowledge import Knowledge
from warplint.source.project import Module, Project

warp = pytest.importorskip("warp")


@pytest.fixture(scope="module")
def dynamic_loops_of_warp() -> Counter[str]:
    """How often Warp begins a dynamic ``for`` in each function of ``sources/loops.py``."""
    from warp._src import codegen, context

    counts: Counter[str] = Counter()
    begin = codegen.Adjoint.begin_for

    def counted(adjoint: object, *arguments: object, **options: object) -> object:
        counts[adjoint.fun_name] += 1  # type: ignore[attr-defined]
        return begin(adjoint, *arguments, **options)

    sys.path.insert(0, str(SOURCES))
    codegen.Adjoint.begin_for = counted
    try:
        source = importlib.import_module("loops")
        modules = {
            warp.get_module("loops"),
            *(value.module for value in vars(source).values() if hasattr(value, "adj")),
        }
        for module in modules:
            context.ModuleBuilder(module, module.options | {"output_arch": None})
    finally:
        codegen.Adjoint.begin_for = begin
        sys.path.remove(str(SOURCES))
        sys.modules.pop("loops", None)
    return counts


def test_dynamic_loops_are_those_of_warp(project: Project, dynamic_loops_of_warp: Counter[str]) -> None:
    module = project.load(SOURCES / "loops.py")
    assert isinstance(module, Module)
    knowledge: Knowledge = kernels.analysis(project).knowledge
    seen = 0
    for definition in module.functions():
        if knowledge.decorations.role(definition) is None:
            continue
        closure = knowledge.factories.closures(definition)[0]
        trace = execute(knowledge, definition, closure)
        assert trace is not None
        assert not [frame for frame in trace.frames if frame.kind == "undecided"]
        dynamic = sum(frame.kind == "for" for frame in trace.frames)
        assert dynamic == dynamic_loops_of_warp[definition.node.name], definition.qualname
        seen += 1
    assert seen >= 11


def test_continue_keeps_a_loop_dynamic_before_1_19() -> None:
    from warplint.frontend import fast

    for version, expected in (((1, 18), 1), ((1, 19), 0)):
        project = Project(fast.read)
        module = project.load(SOURCES / "loops.py")
        assert isinstance(module, Module)
        project.warp_version = lambda path, version=version: version  # type: ignore[misc]
        analysis = kernels.Analysis(project)
        definition = next(found for found in module.functions() if found.node.name == "jumps")
        trace = execute(analysis.knowledge, definition, {})
        assert trace is not None
        with_break = 1 + 4  # one alone, one in each iteration of the third loop
        assert sum(frame.kind == "for" for frame in trace.frames) == with_break + expected


def test_unknown_closures_are_left_alone(project: Project) -> None:
    from tests.kernels.conftest import module_of

    module = module_of(
        project,
        "import warp as wp\n"
        "def make(count):\n"
        "    @wp.kernel\n"
        "    def product(x: wp.array(dtype=float), o: wp.array(dtype=float)):\n"
        "        p = float(1.0)\n"
        "        for i in range(count):\n"
        "            p *= x[i]\n"
        "        o[0] = p\n"
        "    return product\n",
    )
    assert list(kernels.analyse(project, module)) == []
