"""Who is hurt: whether an analysed tape launches the kernel that a fact is about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from warplint.ir.facts import Fact, Reach
from warplint.ir.programs import KernelProgram

#: Kernels, by path and qualified name, that analysed host code launches: on a tape, or only outside.
Launches = Mapping[tuple[Path, str], Reach]

# From the most to the least harm.
_ORDER: tuple[Reach, ...] = ("taped", "library", "untaped")


def merged(launches: Iterable[Launches]) -> dict[tuple[Path, str], Reach]:
    """All launches together: one tape anywhere is enough."""
    found: dict[tuple[Path, str], Reach] = {}
    for some in launches:
        for kernel, reach in some.items():
            if reach == "taped" or kernel not in found:
                found[kernel] = reach
    return found


def reaching(fact: Fact, launches: Launches) -> Fact:
    """``fact`` with its reach. A fact in a func has the reach of the kernel that carries it furthest."""
    program = fact.program
    if not isinstance(program, KernelProgram):
        return fact  # it comes from a tape
    kernels = program.callers or (program.kernel,)
    found = {launches.get((kernel.path, kernel.qualname), "library") for kernel in kernels}
    return replace(fact, reach=min(found, key=_ORDER.index))
