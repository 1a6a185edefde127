"""Which functions and classes lead to tapes, by name: these are worth a run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from weakref import WeakKeyDictionary

from warplint.ir import syntax as ir
from warplint.source.project import Definition, Module, ModuleRef, Project
from warplint.source.regions import Region
from warplint.tapes.memo import ModuleMemo

_TAPE = re.compile(r"\b(?:Tape|gradcheck)\s*\(")
_CALLED = re.compile(r"([^\W\d]\w*)\s*\(")
_BASES = re.compile(r"^class\s+\w+\s*\(([^()]*)\)", re.MULTILINE)
_WORD = re.compile(r"[^\W\d]\w*")
_DEFINED = re.compile(r"\bdef\s+(\w+)")
_OPENS = re.compile(r"Tape$|^backward$|^gradcheck$")


#: Of so few modules, those that are imported may not be loaded yet.
_FEW = 60


def _has_tape(module: Module) -> bool:
    return ("Tape" in module.text or "gradcheck" in module.text) and _TAPE.search(module.text) is not None


#: Whether a module opens tapes itself.
opens_tapes = ModuleMemo(_has_tape)


def candidates(module: Module) -> list[Definition]:
    """Functions and methods of ``module`` that open a tape or run one backward, themselves or through what they call by
    name; those that no other candidate calls come first."""
    return _candidates(module)


def _own(module: Module) -> list[Definition]:
    """The candidates of a module by what stands in it alone."""
    return _reaching(module, set()) if opens_tapes(module) else []


def _all(module: Module) -> list[Definition]:
    return _reaching(module, set(openers(module)) | _derived(module))


def _reaching(module: Module, reaching: set[str]) -> list[Definition]:
    found: list[Definition] = []
    uses: dict[str, set[str]] = {}
    for definition in _worth_reading(module, reaching):
        if any(isinstance(outer, ir.FunctionDef) for outer in definition.scope):
            continue
        names = {_called(inner) for inner in ir.walk(definition.node) if isinstance(inner, ir.Call)}
        found.append(definition)
        uses.setdefault(definition.node.name, set()).update(names)
        if any(_OPENS.search(name) for name in names):
            reaching.add(definition.node.name)
    while True:
        more = {name for name, names in uses.items() if names & reaching} - reaching
        if not more:
            break
        reaching |= more
    result = [definition for definition in found if definition.node.name in reaching]
    called = {name for definition in result for name in uses[definition.node.name] if name != definition.node.name}
    result.sort(key=lambda definition: definition.node.name in called)
    return result


def _worth_reading(module: Module, reaching: set[str]) -> Iterator[Definition]:
    """The functions of the regions in whose text something is called that may lead to a tape.

    That is more than enough, and the other regions need not be read.
    """
    names = set(reaching)
    left = [region for region in module.regions if region.kind not in ("import", "assign")]
    called = {region: module.of_text(region, _called_in) for region in left}
    chosen: set[Region] = set()
    while True:
        more = [region for region in left if called[region][1] or not names.isdisjoint(called[region][0])]
        if not more:
            return (definition for region in module.regions if region in chosen for definition in module.within(region))
        chosen.update(more)
        left = [region for region in left if region not in chosen]
        for region in more:
            names.update(_DEFINED.findall(module.text, region.start, region.end))


def _called_in(text: str) -> tuple[frozenset[str], bool]:
    """What is called in a text, and whether something of that opens a tape or runs one backward."""
    names = frozenset(_CALLED.findall(text))
    return names, any(_OPENS.search(name) for name in names)


def _called(call: ir.Call) -> str:
    if isinstance(call.func, ir.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ir.Name) else ""


_own_candidates = ModuleMemo(_own)
_candidates = ModuleMemo(_all)


def openers(module: Module) -> frozenset[str]:
    """The names by which ``module`` calls functions and classes of other modules that open tapes.

    One step only: what such a name stands for must open tapes in its own module.
    """
    return _openers(module)


def _imported_openers(module: Module) -> frozenset[str]:
    project = module.project
    found: set[str] = set()
    known = _outer_names(project)
    few = len(project.modules()) <= _FEW
    for region in module.regions:
        if region.kind != "import":
            continue
        if not few and known.isdisjoint(_WORD.findall(module.text, region.start, region.end)):
            continue  # most imports, which need not be read for this
        for statement in module.read(region):
            if isinstance(statement, ir.ImportFrom):
                source = project.absolute(statement, module)
                origin = project.find(source, module) if source else None
                opening = origin is not None and opens_tapes(origin)
                if origin is not None and not opening and few:
                    _load_bases(project, origin)
                    known = _outer_names(project)
                for name, alias in statement.names:
                    # resolving every name of every module would cost more than all the rest
                    if name != "*" and (opening or name in known):
                        found |= _opened(project, module, alias or name)
            elif isinstance(statement, ir.Import):
                for name, alias in statement.names:
                    origin = project.find(name, module)
                    if origin is not None and opens_tapes(origin):
                        found |= _opened(project, module, alias or name.partition(".")[0])
    return frozenset(found)


_openers = ModuleMemo(_imported_openers)


def _load_bases(project: Project, module: Module) -> None:
    """Have the modules loaded that the classes of ``module`` inherit from. Where all files of a project are linted they
    are loaded before any is analysed; an imported module that is not linted itself is loaded when it is asked for."""
    names = {name for bases in _BASES.findall(module.text) for name in _WORD.findall(bases)}
    for name in names:
        if module.binds(name):
            project.member(module, name)


def asked_for(module: Module) -> tuple[object, ...]:
    """What decides which code of ``module`` is run, besides the texts of the modules that it can import: names found
    all over the project, and whether imports are followed for them."""
    few = len(module.project.modules()) <= _FEW
    return few, sorted(openers(module)), sorted(_derived(module)), sorted(_outer_names(module.project)) if few else ()


def mentions(project: Project, texts: Iterable[str]) -> Iterator[bool]:
    """For each of these texts, whether it names a function, class or module of the project that leads to tapes."""
    names = _outer_names(project)
    pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(names)))})\b") if names else None
    for text in texts:
        yield pattern is not None and pattern.search(text) is not None


def _opened(project: Project, module: Module, bound: str) -> set[str]:
    target = project.member(module, bound)
    if isinstance(target, Definition) and target.module is not module:
        return {bound} if target.node.name in _opening_names(target.module) else set()
    if isinstance(target, ModuleRef):
        used = set(re.findall(rf"\b{bound}\.(\w+)\s*\(", module.text))
        return used & _opening_names(target.module)
    return set()


def _opening_names(module: Module) -> set[str]:
    """The top-level functions and classes of a module that open tapes, and the classes that inherit from such."""
    own = {
        definition.scope[0].name if definition.scope else definition.node.name for definition in _own_candidates(module)
    }
    return own | _derived(module)


def _derived(module: Module) -> set[str]:
    """The classes of a module that inherit from one that opens tapes, here or in another module."""
    return _heirs(module.project).get(module, set())


_HEIRS: WeakKeyDictionary[Project, tuple[int, dict[Module, set[str]]]] = WeakKeyDictionary()


def _heirs(project: Project) -> dict[Module, set[str]]:
    """The classes of each module that seem to inherit from one that opens tapes: by name, whatever the name stands
    for. More than are so do no harm, since each is looked at before it is run."""
    modules = project.modules()
    known = _HEIRS.get(project)
    if known is None or known[0] != len(modules):
        new = {
            definition.scope[0].name
            for module in modules
            if opens_tapes(module)
            for definition in _own_candidates(module)
            if definition.scope
        }
        opening: set[str] = set()
        found: dict[Module, set[str]] = {}
        while new:
            opening |= new
            mentions = re.compile(rf"^class\s+(\w+)\s*\([^()]*\b(?:{'|'.join(sorted(new))})\b[^()]*\)", re.MULTILINE)
            new = set()
            for module in modules:
                if "class" in module.text:
                    heirs = set(mentions.findall(module.text))
                    new |= heirs
                    if heirs:
                        found.setdefault(module, set()).update(heirs)
            new -= opening
        known = _HEIRS[project] = (len(modules), found)
    return known[1]


_PROJECTS: WeakKeyDictionary[Project, tuple[int, frozenset[str]]] = WeakKeyDictionary()


def _outer_names(project: Project) -> frozenset[str]:
    """The names that other modules may import to get at tapes: of definitions and of modules."""
    modules = project.modules()
    known = _PROJECTS.get(project)
    if known is None or known[0] != len(modules):
        found: set[str] = set()
        for module in modules:
            if opens_tapes(module):
                found |= _opening_names(module)
                found.add(module.name.rpartition(".")[2])
        found.update(*_heirs(project).values())
        known = _PROJECTS[project] = (len(modules), frozenset(found))
    return known[1]
