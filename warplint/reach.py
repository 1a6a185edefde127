"""Who is hurt: whether an analysed tape launches the kernel that a fact is about.

Where none does, a kernel that others can record is a library's. One that nobody is meant to record is as good as seen
outside of tapes only: launched by a script that has no tape, or private to a package that switches the adjoints of
kernels off in several of its other modules, and so writes its kernels to run forward.
"""

from __future__ import annotations

import re
from dataclasses import replace

from warplint.ir.effects import Uses
from warplint.ir.facts import Fact, Reach
from warplint.ir.programs import DefinitionRef, KernelProgram
from warplint.source.project import Module, Project

_MAIN = re.compile(r"^if __name__\s*==", re.MULTILINE)
_ADJOINT = re.compile(r"\badjoint\s*=\s*True\b")
_FORWARD_ONLY = re.compile(r"enable_backward[\"']?\s*[=:]\s*False\b")

#: So many other modules of a package must say that their kernels run forward only.
_SEVERAL = 2

# From the most to the least harm.
_ORDER: tuple[Reach, ...] = ("taped", "library", "untaped")


def reaching(fact: Fact, uses: Uses, project: Project) -> Fact:
    """``fact`` with its reach. A fact in a func has the reach of the kernel that carries it furthest."""
    program = fact.program
    if not isinstance(program, KernelProgram):
        return fact  # it comes from a tape
    kernels = program.callers or (program.kernel,)
    found = [(kernel, _reach(kernel, uses, project)) for kernel in kernels]
    reaches: list[Reach] = [
        "library" if reach == "taped" and any(_same(kernel, other) for other in fact.unrecorded) else reach
        for kernel, reach in found
    ]
    return replace(fact, reach=min(reaches, key=_ORDER.index))


def _same(one: DefinitionRef, other: DefinitionRef) -> bool:
    return (one.path, one.qualname) == (other.path, other.qualname)


def _reach(kernel: DefinitionRef, uses: Uses, project: Project) -> Reach:
    use = uses.get((kernel.path, kernel.qualname))
    if use is not None:
        return "taped" if use.taped else "untaped"
    key = (reaching, kernel.path, kernel.qualname)
    if key not in project.kept:
        project.kept[key] = _stays_in_script(kernel, project) or _is_private(kernel, project)
    return "untaped" if project.kept[key] else "library"


def _stays_in_script(kernel: DefinitionRef, project: Project) -> bool:
    """Whether a kernel is launched by a program or test without tapes, which nothing else takes it from."""
    module = project.module(kernel.path)
    name = kernel.qualname
    if module is None or "." in name or _runs_adjoints(module.text) or not _is_run(module):
        return False
    if not re.search(rf"\blaunch(?:_tiled)?\(\s*(?:kernel\s*=\s*)?{name}\b", module.text):
        return False
    return not any(name in other.text for other in _naming(module, project))


def _naming(module: Module, project: Project) -> tuple[Module, ...]:
    """The other modules whose text has the last part of the name of ``module`` in it: all that can import it."""
    key = (_naming, module.path)
    known = project.kept.get(key)
    if not isinstance(known, tuple):
        own = module.name.rpartition(".")[2]
        known = project.kept[key] = tuple(
            other for other in project.modules() if other is not module and own in other.text
        )
    return known


def _is_private(kernel: DefinitionRef, project: Project) -> bool:
    """Whether a kernel is private to a package that says of others that they run forward only, and records none."""
    module = project.module(kernel.path)
    name = kernel.qualname.rpartition(".")[2]
    if module is None or "." not in module.name:
        return False
    if not any(part.startswith("_") for part in kernel.qualname.split(".")):
        return False
    package = module.name.partition(".")[0]
    if sum(other is not module for other in _forward_only(package, project)) < _SEVERAL:
        return False
    return not any(name in other.text and _runs_adjoints(other.text) for other in project.modules())


def _forward_only(package: str, project: Project) -> tuple[Module, ...]:
    """The modules of a package that switch adjoints off, as far as they were read."""
    modules = [module for module in project.modules() if module.name.partition(".")[0] == package]
    key = (_forward_only, package, len(modules))
    if key not in project.kept:
        project.kept[key] = tuple(
            module
            for module in modules
            if "enable_backward" in module.text and _FORWARD_ONLY.search(module.text) is not None
        )
    found = project.kept[key]
    assert isinstance(found, tuple)
    return found


def _runs_adjoints(text: str) -> bool:
    """Whether something runs adjoints: a tape, or a launch that asks for the adjoint itself."""
    return "Tape" in text or ("adjoint" in text and _ADJOINT.search(text) is not None)


def _is_run(module: Module) -> bool:
    return module.path.name.startswith("test_") or _MAIN.search(module.text) is not None
