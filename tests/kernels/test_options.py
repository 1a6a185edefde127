"""Which level switches an adjoint off: kernel before module before process, as Warp has it."""

from __future__ import annotations

import pytest

from tests.kernels.conftest import module_of
from warplint.kernels import analysis
from warplint.source.project import Project

TEXT = """
import warp as wp
{head}
@wp.kernel{options}
def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    y[0] = x[0] * x[0]
"""
MODULE_OFF = "wp.set_module_options({'enable_backward': False})"
NAMED_OFF = "wp.get_module('other').options['enable_backward'] = False"
CONFIG_OFF = "wp.config.enable_backward = False"


@pytest.mark.parametrize(
    ("head", "options", "backward", "level"),
    [
        ("", "", True, "default"),
        (MODULE_OFF, "", False, "module"),
        (
            "OTHERS = {'max_unroll': 4}\nwp.set_module_options({'enable_backward': False, **OTHERS})",
            "",
            False,
            "module",
        ),
        (
            "OFF = {'enable_backward': False}\nwp.set_module_options({'enable_backward': True, **OFF})",
            "",
            False,
            "module",
        ),
        ("wp.set_module_options({'enable_backward': False, **others()})", "", None, "module"),
        (CONFIG_OFF, "", False, "config"),
        ("wp.get_module(__name__).options['enable_backward'] = False", "", False, "module"),
        (NAMED_OFF, "", True, "default"),
        (NAMED_OFF, "(module='other')", False, "module"),
        (MODULE_OFF, "(module='unique')", True, "default"),
        (MODULE_OFF, "(module='other')", True, "default"),
        (CONFIG_OFF, "(module='unique')", False, "config"),
        ("", "(enable_backward=False)", False, "kernel"),
        (MODULE_OFF, "(enable_backward=True)", True, "kernel"),
        (CONFIG_OFF, "(enable_backward=True)", True, "kernel"),
        ("", "(module='unique', module_options={'enable_backward': False})", False, "kernel"),
    ],
)
def test_level(project: Project, head: str, options: str, backward: bool | None, level: str) -> None:
    module = module_of(project, TEXT.format(head=head, options=options))
    (kernel,) = [one for region in module.regions for one in module.within(region)]
    found = analysis(project).knowledge.decorations.options(kernel)
    assert (found.backward, found.level) == (backward, level)


FACTORY = """
import warp as wp

def make(n):
    made = wp.get_module("made")
    {before}
    @wp.kernel(module={module})
    def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        y[0] = x[0] * x[0]
    {after}
    return square
"""
OFF = "{'enable_backward': False}"


@pytest.mark.parametrize(
    ("before", "module", "after", "backward"),
    [
        ("", "made", "", True),
        (f"made.options.update({OFF})", "made", "", False),
        (f"made.options.update({OFF})", "'unique'", "", True),
        (f"wp.set_module_options({OFF}, module=made)", "made", "", False),
        ("", "'unique'", f"wp.set_module_options({OFF}, module=square.module)", False),
        ("", "'unique'", f"wp.set_module_options({OFF}, other.module)", True),
    ],
)
def test_a_factory_sets_options_of_the_module_of_its_kernel(
    project: Project, before: str, module: str, after: str, backward: bool
) -> None:
    found = module_of(project, FACTORY.format(before=before, module=module, after=after))
    (kernel,) = [one for region in found.regions for one in found.within(region) if one.node.name == "square"]
    assert analysis(project).knowledge.decorations.options(kernel).backward is backward


DERIVED = """
import warp as wp

wp.set_module_options({"enable_backward": False})

@wp.func
def power(x: float, n: int):
    a = float(1.0)
    for i in range(n):
        a = a * x
    return a

@wp.kernel
def run(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = CALL
"""


@pytest.mark.parametrize(
    ("call", "kinds"),
    [
        ("wp.grad(power)(x[i], 3)[0]", {"loop-carried-value"}),  # Warp gives 42 for the slope of x**3 at 2
        ("power(x[i], 3)", set()),
    ],
)
def test_grad_forces_an_adjoint(project: Project, call: str, kinds: set[str]) -> None:
    module = module_of(project, DERIVED.replace("CALL", call))
    assert {fact.kind for fact in analysis(project).module(module)} == kinds
