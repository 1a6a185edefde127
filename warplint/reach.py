"""Who is hurt: whether an analysed tape launches the kernel that a fact is about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from warplint.ir.effects import KernelUse
from warplint.ir.facts import Fact, Reach
from warplint.ir.programs import DefinitionRef, KernelProgram

#: How the analysed host code uses kernels, by their path and qualified name.
Uses = Mapping[tuple[Path, str], KernelUse]

# From the most to the least harm.
_ORDER: tuple[Reach, ...] = ("taped", "library", "untaped")


def merged(uses: Iterable[Uses]) -> dict[tuple[Path, str], KernelUse]:
    """All uses together."""
    found: dict[tuple[Path, str], KernelUse] = {}
    for some in uses:
        for kernel, use in some.items():
            found[kernel] = found[kernel].also(use) if kernel in found else use
    return found


def reaching(fact: Fact, uses: Uses) -> Fact:
    """``fact`` with its reach. A fact in a func has the reach of the kernel that carries it furthest."""
    program = fact.program
    if not isinstance(program, KernelProgram):
        return fact  # it comes from a tape
    kernels = program.callers or (program.kernel,)
    return replace(fact, reach=min((_reach(kernel, uses) for kernel in kernels), key=_ORDER.index))


def _reach(kernel: DefinitionRef, uses: Uses) -> Reach:
    use = uses.get((kernel.path, kernel.qualname))
    if use is None:
        return "library"
    return "taped" if use.taped else "untaped"
