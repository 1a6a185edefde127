"""Which functions and classes lead to tapes, by name: these are worth a run."""

from __future__ import annotations

import re

from warplint.ir import syntax as ir
from warplint.source.project import Definition, Module, ModuleRef, Project

#: What a file that opens tapes contains.
TAPE = re.compile(r"\bTape\s*\(")
_OPENS = re.compile(r"Tape$|^backward$")

_CANDIDATES: dict[int, tuple[Module, list[Definition]]] = {}
_OPENERS: dict[int, tuple[Module, frozenset[str]]] = {}


def candidates(project: Project, module: Module) -> list[Definition]:
    """Functions and methods of ``module`` that open a tape or run one backward, themselves or through what they call by
    name; those that no other candidate calls come first."""
    known = _CANDIDATES.get(id(module))
    if known is not None and known[0] is module:
        return known[1]
    found: list[Definition] = []
    uses: dict[str, set[str]] = {}
    reaching = set(openers(project, module))
    for definition in module.functions():
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
    _CANDIDATES[id(module)] = (module, result)
    return result


def _called(call: ir.Call) -> str:
    if isinstance(call.func, ir.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ir.Name) else ""


def openers(project: Project, module: Module) -> frozenset[str]:
    """The names by which ``module`` calls functions and classes of other modules that open tapes.

    One step only: what such a name stands for must open tapes in its own module.
    """
    known = _OPENERS.get(id(module))
    if known is not None and known[0] is module:
        return known[1]
    _OPENERS[id(module)] = (module, frozenset())  # modules may import each other
    found: set[str] = set()
    for region in module.regions:
        if region.kind != "import":
            continue
        for statement in module.read(region):
            if isinstance(statement, ir.ImportFrom):
                for name, alias in statement.names:
                    bound = alias or name
                    if name != "*" and re.search(rf"\b{bound}\s*[.(]", module.text[region.end :]):
                        found |= _opened(project, module, bound)
            elif isinstance(statement, ir.Import):
                for name, alias in statement.names:
                    found |= _opened(project, module, alias or name.partition(".")[0])
    names = frozenset(found)
    _OPENERS[id(module)] = (module, names)
    return names


def _opened(project: Project, module: Module, bound: str) -> set[str]:
    target = project.member(module, bound)
    if isinstance(target, Definition) and target.module is not module:
        return {bound} if _is_opener(project, target) else set()
    if isinstance(target, ModuleRef) and TAPE.search(target.module.text):
        used = set(re.findall(rf"\b{bound}\.(\w+)\s*\(", module.text))
        return used & {_outer_name(definition) for definition in candidates(project, target.module)}
    return set()


def _is_opener(project: Project, target: Definition) -> bool:
    if not TAPE.search(target.module.text):
        return False
    name = target.node.name
    return any(_outer_name(definition) == name for definition in candidates(project, target.module))


def _outer_name(definition: Definition) -> str:
    return definition.scope[0].name if definition.scope else definition.node.name
