"""The project: modules, what their names are bound to, and imports between them. Nothing is executed."""

from __future__ import annotations

import builtins
import math
from collections.abc import Collection, Iterable
from pathlib import Path

from warplint.ir import syntax as ir
from warplint.ir.found import Inputs
from warplint.source.bindings import Binder, bound_names
from warplint.source.loading import Files, Outline, Reader
from warplint.source.modules import Definition, Module, Scope, blocks
from warplint.source.resolved import (
    ALWAYS_EXTERNAL,
    UNKNOWN,
    External,
    ModuleRef,
    ParameterRef,
    Resolved,
    Unknown,
    Value,
    canonical,
)

__all__ = [
    "ALWAYS_EXTERNAL",
    "UNKNOWN",
    "Definition",
    "External",
    "Inputs",
    "Module",
    "ModuleRef",
    "Outline",
    "ParameterRef",
    "Project",
    "Reader",
    "Resolved",
    "Scope",
    "Unknown",
    "Value",
    "blocks",
    "canonical",
]


class Project(Files):
    """The modules that are reachable from the linted files by imports.

    ``reader`` turns text into statements; ``precise_reader`` does so for the regions in ``precise`` (pairs of path and
    first line), and for whole files whose syntax is newer than the running Python's. ``roots`` are folders where
    absolute imports are looked for, besides the root of each file's own package.
    """

    def __init__(
        self,
        reader: Reader,
        roots: tuple[Path, ...] = (),
        precise_reader: Reader | None = None,
        precise: frozenset[tuple[Path, int]] = frozenset(),
    ) -> None:
        super().__init__(reader, roots, precise_reader, precise)
        self._members: dict[tuple[Module, str], Resolved] = {}
        # Those that are just being found.
        self._pending: set[tuple[Module, str]] = set()
        # What was found outside the project, by the module, the scope and the name.
        self._external: dict[object, External] = {}

    def precisely(self, places: Iterable[tuple[Path, int]]) -> Project:
        """The same modules in a new project, where the regions at ``places`` are read by the precise reader.

        ``places`` are pairs of path and line; any line of a region stands for all of it.
        """
        again: dict[Path, set[int]] = {}
        for path, line in places:
            module = self._modules.get(path)
            region = module.region_at(line) if isinstance(module, Module) else None
            if region is not None:
                again.setdefault(path, set()).add(region.line)
        precise = frozenset((path, line) for path, lines in again.items() for line in lines)
        project = Project(self._reader, self._roots, self._precise_reader, self._precise | precise)
        project._found = self._found
        project._package_roots = self._package_roots
        project.unsaved = self.unsaved
        project.warp_version = self.warp_version
        project.problems = list(self.problems)
        for path, module in self._modules.items():
            if isinstance(module, Module):
                module = module.into(project, frozenset(again.get(path, ())))
            project._modules[path] = module
        return project

    def after(self, changed: Collection[Path], imports_hold: bool = True) -> Project:
        """The same modules in a new project, but for those that ``changed``, which are to be loaded again.

        Nothing that an analysis kept comes along. Without ``imports_hold``, files may have come or gone since, so that
        imports are looked for again.
        """
        project = Project(self._reader, self._roots, self._precise_reader, self._precise)
        project.unsaved = self.unsaved
        project.warp_version = self.warp_version
        if imports_hold:
            project._found = self._found
            project._package_roots = self._package_roots
        for path, module in self._modules.items():
            if path not in changed:
                project._modules[path] = module.into(project) if isinstance(module, Module) else module
        return project

    # --- names ---

    def resolve(self, module: Module, expr: ir.Expr, scope: Scope = ()) -> Resolved:
        """What a name or a chain of attributes means at a place in ``module`` inside ``scope``.

        Aliases are followed (``wp = warp``). Anything assigned more than once, or in more than one way, is UNKNOWN.
        """
        return self._resolve(module, expr, scope, 0)

    def external(self, module: Module, expr: ir.Expr, scope: Scope = ()) -> str | None:
        """The full dotted name of an external thing (``warp.kernel``), None for anything else."""
        found = self._resolve(module, expr, scope, 0)
        return found.name if isinstance(found, External) else None

    def _resolve(self, module: Module, expr: ir.Expr, scope: Scope, depth: int) -> Resolved:
        if depth > _LONGEST_CHAIN:
            return UNKNOWN  # a cycle of aliases
        if isinstance(expr, ir.Name):
            return self._resolve_name(module, expr, scope, depth)
        if isinstance(expr, ir.Attribute):
            owner = expr.value
            if not isinstance(owner, ir.Name) or owner.id in _BUILTINS:
                return self._attribute(self._resolve(module, owner, scope, depth + 1), expr.attr, depth)
            # Where a name stands, or what else is being looked for, makes no difference to what is outside.
            key = (module, owner.id, expr.attr, *map(id, scope)) if scope else (module, owner.id, expr.attr)
            known = self._external.get(key)
            if known is not None:
                return known
            found = self._attribute(self._resolve_name(module, owner, scope, depth + 1), expr.attr, depth)
            if isinstance(found, External):
                self._external[key] = found
            return found
        return UNKNOWN

    def _attribute(self, owner: Resolved, name: str, depth: int) -> Resolved:
        if isinstance(owner, External):
            return External(canonical(f"{owner.name}.{name}"))
        if isinstance(owner, ModuleRef):
            return self.member(owner.module, name)
        if isinstance(owner, Definition) and isinstance(owner.node, ir.ClassDef):
            found = bound_names(owner.node).get(name, ())
            return self._bound(owner.module, found, owner.inner_scope, name, None, depth)
        return UNKNOWN

    def member(self, module: Module, name: str) -> Resolved:
        """What ``name`` means as an attribute of ``module``: something it binds, or a submodule."""
        key = (module, name)
        known = self._members.get(key)
        if known is None:
            self._members[key] = UNKNOWN  # what a cycle of imports comes back to
            self._pending.add(key)
            known = self._members[key] = self._member(module, name, None)
            self._pending.discard(key)
        return known

    def _member(self, module: Module, name: str, site: ir.Name | None) -> Resolved:
        if name in module.rebound or name in module.walrus:
            return UNKNOWN
        found = module.bindings(name)
        if found:
            return self._bound(module, found, (), name, site, 0)
        if module.binds(name):
            return UNKNOWN  # it stands in a region that cannot be read
        for star in reversed(module.bindings("*")):
            assert isinstance(star, ir.ImportFrom)
            source = self.absolute(star, module)
            target = self.find(source, module, star.level > 0) if source else None
            if target is None:
                if source == "math" and name not in _MATH:
                    continue
                if source in ("math", "warp", "numpy") and name not in _BUILTINS and not name.startswith("_"):
                    return External(f"{source}.{name}")
                return UNKNOWN
            exported = target.exports(name)
            if exported is None:
                return UNKNOWN
            if not exported or (target, name) in self._pending:
                continue  # a module that imports the name from here binds nothing else to it
            through = self.member(target, name)
            if through is not UNKNOWN or target.binds(name) or not target.complete:
                return through
        if module.is_package:
            submodule = self._submodule(module.name, name, module, relative=True)
            if submodule is not None:
                return ModuleRef(submodule)
        return UNKNOWN

    def _resolve_name(self, module: Module, expr: ir.Name, scope: Scope, depth: int) -> Resolved:
        name = expr.id
        if name in module.walrus:
            return UNKNOWN
        for index in range(len(scope) - 1, -1, -1):
            outer = scope[index]
            if isinstance(outer, ir.ClassDef) and index != len(scope) - 1:
                continue  # class bodies are not visible from the functions in them
            found = bound_names(outer).get(name, ())
            if not found:
                continue
            if isinstance(found[0], ir.Global):
                if found[0].kind == "global":
                    break
                continue  # nonlocal: a scope further out has it
            site = expr if index == len(scope) - 1 else None
            return self._bound(module, found, scope[: index + 1], name, site, depth)
        if not scope and len(module.bindings(name)) > 1:
            return self._member(module, name, expr)
        found_member = self.member(module, name)
        if found_member is UNKNOWN and name in _BUILTINS and module.complete and not module.binds(name):
            return External(name)
        return found_member

    def _bound(
        self, module: Module, found: tuple[Binder, ...], scope: Scope, name: str, site: ir.Name | None, depth: int
    ) -> Resolved:
        """What the statements ``found``, which bind ``name`` in ``scope``, make of it.

        ``site`` is the use of the name if it stands in ``scope`` itself, not in a function inside or another module.
        """
        if not found:
            return UNKNOWN
        if len(found) == 1:
            return self._bound_by(module, found[0], scope, name, depth + 1)
        if all(isinstance(binder, (ir.FunctionDef, ir.ClassDef)) for binder in found):
            return self._redefined(module, found, scope, site)
        # Alternatives of one import (`try: import x except ImportError: x = None`) mean the thing imported.
        imports = [binder for binder in found if isinstance(binder, (ir.Import, ir.ImportFrom))]
        others = [binder for binder in found if not isinstance(binder, (ir.Import, ir.ImportFrom))]
        if not imports or not all(_assigns_none(binder) for binder in others):
            return UNKNOWN
        results = [self._bound_by(module, binder, scope, name, depth + 1) for binder in imports]
        return results[0] if all(result == results[0] for result in results) else UNKNOWN

    def _redefined(self, module: Module, found: tuple[Binder, ...], scope: Scope, site: ir.Name | None) -> Resolved:
        """A later def replaces an earlier one, if neither is conditional and the use comes after both."""
        last = found[-1]
        for node in found:
            region = module.region_at(node.span.line)
            alone = region is not None and region.kind in ("def", "class")
            if not (any(node is statement for statement in scope[-1].body) if scope else alone):
                return UNKNOWN
        if site is not None and site.span < last.span:
            return UNKNOWN
        assert isinstance(last, (ir.FunctionDef, ir.ClassDef))
        return Definition(module, last, scope)

    def _bound_by(self, module: Module, binder: Binder, scope: Scope, name: str, depth: int) -> Resolved:
        if isinstance(binder, (ir.FunctionDef, ir.ClassDef)):
            return Definition(module, binder, scope)
        if isinstance(binder, ir.Parameter):
            function = scope[-1]
            assert isinstance(function, ir.FunctionDef)
            return ParameterRef(function, binder)
        if isinstance(binder, ir.Import):
            return self._imported(module, binder, name)
        if isinstance(binder, ir.ImportFrom):
            return self._imported_from(module, binder, name)
        if isinstance(binder, ir.Assign) and all(isinstance(target, ir.Name) for target in binder.targets):
            return self._aliased(module, binder.value, scope, depth)
        if isinstance(binder, ir.AnnAssign) and binder.value is not None and isinstance(binder.target, ir.Name):
            return self._aliased(module, binder.value, scope, depth)
        return UNKNOWN

    def _aliased(self, module: Module, value: ir.Expr, scope: Scope, depth: int) -> Resolved:
        if isinstance(value, (ir.Name, ir.Attribute)):
            target = self._resolve(module, value, scope, depth)
            if target is not UNKNOWN:
                return target
        return Value(module, value, scope)

    def _imported(self, module: Module, statement: ir.Import, name: str) -> Resolved:
        for dotted, alias in statement.names:
            if alias == name:
                found = self.find(dotted, module)
                return ModuleRef(found) if found else External(dotted)
            top = dotted.partition(".")[0]
            if alias is None and top == name:
                found = self.find(top, module)
                return ModuleRef(found) if found else External(top)
        return UNKNOWN

    def _imported_from(self, module: Module, statement: ir.ImportFrom, name: str) -> Resolved:
        source = self.absolute(statement, module)
        if source is None:
            return UNKNOWN
        for imported, alias in statement.names:
            if (alias or imported) != name:
                continue
            target = self.find(source, module, statement.level > 0)
            circular = target is not None and (target, imported) in self._pending
            if target is not None and target is not module and not circular:
                return self.member(target, imported)
            submodule = self._submodule(source, imported, module, statement.level > 0)  # perhaps without `__init__`
            if submodule is not None:
                return ModuleRef(submodule)
            if target is module or circular or not source:
                return UNKNOWN
            return External(canonical(f"{source}.{imported}"))
        return UNKNOWN


_BUILTINS = frozenset(dir(builtins))
_MATH = frozenset(name for name in dir(math) if not name.startswith("_"))

# No alias of an alias of an alias is as long as this, unless it goes in circles.
_LONGEST_CHAIN = 20


def _assigns_none(binder: Binder) -> bool:
    if not isinstance(binder, (ir.Assign, ir.AnnAssign)):
        return False
    return isinstance(binder.value, ir.Constant) and binder.value.value is None
