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
from warplint.records import dataclass
from warplint.source.project import UNKNOWN, Definition, Module, ModuleRef, Project, Resolved
from warplint.source.project import Value as Bound
from warplint.source.regions import Region
from warplint.tapes import members
from warplint.tapes.frames import HostError
from warplint.tapes.values import ClassValue, FunctionValue

if TYPE_CHECKING:
    from warplint.tapes.machine import Machine

_DERIVED = re.compile(r"class[ \t]+\w+[ \t]*\(([^()=]*)[,)]")
_META = re.compile(r"class[ \t]+\w+[ \t]*\([^()]*\bmetaclass[ \t]*=[ \t]*([\w.]+)")
_CALLED = re.compile(r"\b([^\W\d]\w*)\s*\(")
_FIELD = re.compile(r"^[ \t]+\w+[ \t]*=[ \t]*([^\W\d]\w*)\(", re.MULTILINE)
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
    if region.kind == "class" and any(
        _hook(project, project.member(module, name), ("__set_name__",)) is not None
        for name in module.of_text(region, _fields)
    ):
        return True
    return _telling(project, module, region) is not None


def _fields(text: str) -> tuple[str, ...]:
    """The functions that the fields of a class are made by."""
    return tuple(dict.fromkeys(_FIELD.findall(text)))


def _telling(project: Project, module: Module, region: Region) -> Definition | None:
    """What is told of the class in a region: an ``__init_subclass__``, or what its metaclass does."""
    given = _META.match(module.text, region.start)
    if given is not None:
        return _hook(project, _named(project, module, given[1]), _META_HOOKS)
    match = _DERIVED.match(module.text, region.start)
    names = match[1].split(",") if match is not None else []
    for _ in range(_DEEPEST):
        if not names:
            return None
        found, module = _named(project, module, names.pop(0).strip()), module
        if not isinstance(found, Definition) or not isinstance(found.node, ir.ClassDef):
            continue
        told = _hook(project, found, ("__init_subclass__",))
        meta = next((keyword.value for keyword in found.node.keywords if keyword.name == "metaclass"), None)
        if told is None and isinstance(meta, (ir.Name, ir.Attribute)):
            told = _hook(project, project.resolve(found.module, meta, ()), _META_HOOKS)
        if told is not None:
            return told
        if not names:
            module = found.module
            names = [base.id for base in found.node.bases if isinstance(base, ir.Name)]
    return None


_META_HOOKS = ("__new__", "__init__")


def _hook(project: Project, cls: Resolved, names: tuple[str, ...]) -> Definition | None:
    """The first of some methods in the body of a class of the project."""
    if not isinstance(cls, Definition) or not isinstance(cls.node, ir.ClassDef):
        return None
    for inner in cls.node.body:
        if isinstance(inner, ir.FunctionDef) and inner.name in names:
            return Definition(cls.module, inner, cls.inner_scope)
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
    word = re.compile(rf"\b{re.escape(name)}\b")
    if "__name__" not in frame.names:  # else its statements are run in order
        for region in module.regions:
            if region.kind == "other" or registers(machine.project, module, region):
                text = module.region_text(region)
                concerned = word.search(text) is not None
                if not concerned and region.kind == "other":
                    concerned = any(
                        _fills(machine.project, machine.project.member(module, called), name)
                        for called in dict.fromkeys(_CALLED.findall(text))
                    )
                if concerned or (
                    region.kind != "other" and _fills(machine.project, _maker(machine.project, module, region), name)
                ):
                    _execute(machine, module, region)
    makers = [definition for definition in module.functions(word) if not definition.scope]
    for other in _imported(machine, module) if makers else ():
        for region in other.regions:
            if registers(machine.project, other, region):
                found = _maker(machine.project, other, region)
                if isinstance(found, Definition) and found.module is module and _fills(machine.project, found, name):
                    _execute(machine, other, region)


def complete_object(machine: Machine, value: Bound) -> None:
    """Make the definitions whose decorator is a method of an object at the top level of a module: a registry."""
    for module in (value.module, *_imported(machine, value.module)):
        if "__name__" in machine.globals(module).names:
            continue
        for region in module.regions:
            if registers(machine.project, module, region) and _same(_maker(machine.project, module, region), value):
                _execute(machine, module, region)


def _same(found: Resolved, value: Bound) -> bool:
    return isinstance(found, Bound) and found.expr is value.expr


def subclasses(machine: Machine, cls: ClassValue) -> Iterator[ClassValue]:
    """The classes at the top level of the modules of a run that derive from ``cls`` directly."""
    own = cls.definition
    for module in (own.module, *_imported(machine, own.module)):
        for region in module.regions:
            match = _DERIVED.match(module.text, region.start) if region.kind == "class" else None
            names = match[1].split(",") if match is not None else []
            for name in names:
                found = _named(machine.project, module, name.strip())
                if isinstance(found, Definition) and found.node is own.node:
                    made = machine.global_name(module, match[0].split("(")[0].split()[1])  # type: ignore[index]
                    if isinstance(made, ClassValue):
                        yield made
                    break


def complete_class(machine: Machine, cls: ClassValue) -> None:
    """Make the classes of imported modules that a class is told of, before somebody looks into a table that it has."""
    if id(cls) in machine.completed:
        return
    machine.completed.add(id(cls))
    own: set[int] = set()
    for holder, names in ((cls, ("__init_subclass__", *_META_HOOKS)), (cls.meta, _META_HOOKS)):
        for name in names if holder is not None else ():
            told = members.class_member(machine, holder, name)  # type: ignore[arg-type]
            if told is not None and isinstance(told[1], FunctionValue):
                own.add(id(told[1].definition.node))
    if not own:
        return
    for module in (cls.definition.module, *_imported(machine, cls.definition.module)):
        for region in module.regions if "__name__" not in machine.globals(module).names else ():
            found = _telling(machine.project, module, region) if region.kind == "class" else None
            if found is not None and id(found.node) in own:
                _execute(machine, module, region)


def _fills(project: Project, maker: Resolved, name: str, depth: int = 3) -> bool:
    """Whether a function speaks of ``name``, or calls one of its module that does."""
    if not isinstance(maker, Definition):
        return False
    used = {inner.id for inner in ir.walk(maker.node) if isinstance(inner, ir.Name)}
    if name in used:
        return True
    called = {
        inner.func.id for inner in ir.walk(maker.node) if isinstance(inner, ir.Call) and isinstance(inner.func, ir.Name)
    }
    return depth > 0 and any(
        isinstance(found, Definition) and found.module is maker.module and _fills(project, found, name, depth - 1)
        for found in (project.member(maker.module, one) for one in called)
    )


def _execute(machine: Machine, module: Module, region: Region) -> None:
    with suppress(HostError):
        machine.execute(module.read(region), machine.globals(module))


def _imported(machine: Machine, module: Module) -> list[Module]:
    """The modules that the file whose code runs imports, directly or not, without itself and ``module``."""
    start = machine.started
    if start is None:
        return []
    project = machine.project
    key = (_reached, start)
    known = project.kept.get(key)
    if not isinstance(known, _Reached) or known.among is not project.modules():
        found = _reached(project, start)
        known = project.kept[key] = _Reached(project.modules(), found)
    return [one for one in known.found if one is not module]


@dataclass(frozen=True, slots=True)
class _Reached:
    """The modules that one imports, as long as the project has no others than those that it is ``among``."""

    among: tuple[Module, ...]
    found: tuple[Module, ...]


def _reached(project: Project, start: Module) -> tuple[Module, ...]:
    """The modules that a module imports, directly or not, without itself."""
    found = {start: None}
    waiting = [start]
    while waiting and len(found) < _MOST_MODULES:
        for imported in _imports(project, waiting.pop()):
            if imported not in found:
                found[imported] = None
                waiting.append(imported)
    return tuple(one for one in found if one is not start)


def _imports(project: Project, module: Module) -> Iterator[Module]:
    """The modules that a module's own import statements load, and the packages that these and it are in."""
    names = {(module.name, False): None}
    for region in module.regions:
        for statement in module.read(region) if region.kind == "import" else ():
            if isinstance(statement, ir.Import):
                names.update(((dotted, False), None) for dotted, _ in statement.names)
            elif isinstance(statement, ir.ImportFrom):
                source = project.absolute(statement, module)
                if source is not None:
                    inner = [f"{source}.{name}" if source else name for name, _ in statement.names if name != "*"]
                    names.update(((dotted, statement.level > 0), None) for dotted in (source, *inner) if dotted)
    packages: dict[tuple[str, bool], None] = {}
    for dotted, relative in names:
        parts = dotted.split(".")
        packages.update(((".".join(parts[:count]), relative), None) for count in range(1, len(parts) + 1))
    for dotted, relative in packages:
        found = project.find(dotted, module, relative)
        if found is not None:
            yield found
