"""Tables at the top level of modules that other top-level code fills: registries.

Definitions are made when somebody asks for them (``Machine.global_name``). Those whose decorator enters them into a
table have to be made before somebody looks into that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from warplint.ir import syntax as ir
from warplint.source.project import UNKNOWN, Definition, Module, ModuleRef, Project, Resolved
from warplint.source.project import Value as Bound
from warplint.source.regions import Region
from warplint.tapes import members
from warplint.tapes.frames import HostError
from warplint.tapes.values import ClassValue, FunctionValue

if TYPE_CHECKING:
    from warplint.tapes.machine import Machine

_DERIVED = re.compile(r"class[ \t]+\w+[ \t]*\(([^()=]*)[,)]")
_DECORATOR = re.compile(r"@\s*(\w+)(?:\s*\.\s*(\w+))?")

#: Classes that one derives from, which are looked at for one that is told of it.
_DEEPEST = 6
#: Imported modules that are looked through for what registers itself.
_MOST_MODULES = 400


def registers(project: Project, module: Module, region: Region) -> bool:
    """Whether making a definition may do more than bind its name: it is decorated by a function of the project, or a
    class of the project that it derives from is told of it."""
    if region.kind in ("import", "assign", "other"):
        return False
    if module.text.startswith("@", region.start):
        found = _maker(project, module, region)
        return isinstance(found, Definition) or (isinstance(found, Bound) and not found.scope)
    return _telling(project, module, region) is not None


def _telling(project: Project, module: Module, region: Region) -> Definition | None:
    """The ``__init_subclass__`` that is told of the class in a region."""
    match = _DERIVED.match(module.text, region.start)
    names = match[1].split(",") if match is not None else []
    for _ in range(_DEEPEST):
        if not names:
            return None
        found, module = _named(project, module, names.pop(0).strip()), module
        if not isinstance(found, Definition) or not isinstance(found.node, ir.ClassDef):
            continue
        for inner in found.node.body:
            if isinstance(inner, ir.FunctionDef) and inner.name == "__init_subclass__":
                return Definition(found.module, inner, found.inner_scope)
        if not names:
            module = found.module
            names = [base.id for base in found.node.bases if isinstance(base, ir.Name)]
    return None


def _named(project: Project, module: Module, name: str) -> Resolved:
    first, _, second = name.partition(".")
    found = project.member(module, first) if first.isidentifier() else UNKNOWN
    return project.member(found.module, second) if isinstance(found, ModuleRef) and second else found


def _maker(project: Project, module: Module, region: Region) -> Resolved:
    """What enters the definition in a region into a table: what the name in its first decorator means, or the
    ``__init_subclass__`` that is told of it."""
    if not module.text.startswith("@", region.start):
        return _telling(project, module, region) or UNKNOWN
    match = _DECORATOR.match(module.text, region.start)
    found = project.member(module, match[1]) if match is not None else UNKNOWN
    if isinstance(found, ModuleRef):
        found = project.member(found.module, match[2]) if match is not None and match[2] else UNKNOWN
    return found


def complete(machine: Machine, module: Module, name: str) -> None:
    """What code at the top level of an imported module, or of one that registers with it, puts into its ``name``."""
    frame = machine.globals(module)
    if "__name__" not in frame.names:  # else its statements are run in order
        word = re.compile(rf"\b{re.escape(name)}\b")
        for region in module.regions:
            if region.kind == "other" or registers(machine.project, module, region):
                concerned = word.search(module.region_text(region)) is not None
                if concerned or (region.kind != "other" and _fills(_maker(machine.project, module, region), name)):
                    _execute(machine, module, region)
    makers = [
        definition for definition in module.functions(re.compile(rf"\b{re.escape(name)}\b")) if not definition.scope
    ]
    for other in _imported(machine, module) if makers else ():
        for region in other.regions:
            if registers(machine.project, other, region):
                found = _maker(machine.project, other, region)
                if isinstance(found, Definition) and found.module is module and _fills(found, name):
                    _execute(machine, other, region)


def complete_class(machine: Machine, cls: ClassValue) -> None:
    """Make the classes of imported modules that a class is told of, before somebody looks into a table that it has."""
    if id(cls) in machine.completed:
        return
    machine.completed.add(id(cls))
    told = members.class_member(machine, cls, "__init_subclass__")
    if told is None or not isinstance(told[1], FunctionValue):
        return
    own = told[1].definition.node
    for module in (cls.definition.module, *_imported(machine, cls.definition.module)):
        for region in module.regions if "__name__" not in machine.globals(module).names else ():
            found = _telling(machine.project, module, region) if region.kind == "class" else None
            if found is not None and found.node is own:
                _execute(machine, module, region)


def _fills(maker: Resolved, name: str) -> bool:
    return isinstance(maker, Definition) and any(
        isinstance(inner, ir.Name) and inner.id == name for inner in ir.walk(maker.node)
    )


def _execute(machine: Machine, module: Module, region: Region) -> None:
    with suppress(HostError):
        machine.execute(module.read(region), machine.globals(module))


def _imported(machine: Machine, module: Module) -> list[Module]:
    """The modules that the file whose code runs imports, directly or not, without itself and ``module``."""
    start = machine.started
    if start is None:
        return []
    found = {start: None}
    waiting = [start]
    while waiting and len(found) < _MOST_MODULES:
        for imported in _imports(machine.project, waiting.pop()):
            if imported not in found:
                found[imported] = None
                waiting.append(imported)
    return [one for one in found if one is not module and one is not start]


def _imports(project: Project, module: Module) -> Iterator[Module]:
    """The modules that a module's own import statements load, and the packages that these and it are in."""
    wanted: list[tuple[str, bool]] = [(module.name, False)]
    for region in module.regions:
        for statement in module.read(region) if region.kind == "import" else ():
            if isinstance(statement, ir.Import):
                wanted += [(dotted, False) for dotted, _ in statement.names]
            elif isinstance(statement, ir.ImportFrom):
                source = project.absolute(statement, module)
                if source is not None:
                    inner = [f"{source}.{name}" if source else name for name, _ in statement.names if name != "*"]
                    wanted += [(dotted, statement.level > 0) for dotted in (source, *inner) if dotted]
    for dotted, relative in dict.fromkeys(wanted):
        parts = dotted.split(".")
        for count in range(1, len(parts) + 1):
            found = project.find(".".join(parts[:count]), module, relative)
            if found is not None:
                yield found
