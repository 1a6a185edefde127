"""The project: modules, what their names are bound to, and imports between them. Nothing is executed."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, Union

from warplint.ir import syntax as ir
from warplint.ir.facts import Problem
from warplint.source.bindings import Binder, binders, bound_names
from warplint.source.regions import Region, split
from warplint.source.text import check_syntax, decode, read_bytes

#: Turns the text of a region, whose first line has the given number, into statements.
Reader = Callable[[str, int], tuple[ir.Stmt, ...]]

#: The functions and classes around a place, outermost first.
Scope = tuple[Union[ir.FunctionDef, ir.ClassDef], ...]


@dataclass(frozen=True, slots=True)
class External:
    """Something outside the project, by its full dotted name (``warp.where``, ``numpy.zeros``, ``range``)."""

    name: str


@dataclass(frozen=True, slots=True)
class ModuleRef:
    """A module of the project."""

    module: Module


@dataclass(frozen=True, slots=True)
class Definition:
    """A function or class of the project and the scope that it is defined in (without itself)."""

    module: Module
    node: ir.FunctionDef | ir.ClassDef
    scope: Scope

    @property
    def qualname(self) -> str:
        """The dotted name inside the module: ``outer.inner``, ``Class.method``."""
        return ".".join([*(outer.name for outer in self.scope), self.node.name])

    @property
    def inner_scope(self) -> Scope:
        """The scope of the definition's own body."""
        return (*self.scope, self.node)


@dataclass(frozen=True, slots=True)
class Value:
    """A name that is assigned exactly once: the expression, and where it stands."""

    module: Module
    expr: ir.Expr
    scope: Scope


@dataclass(frozen=True, slots=True)
class ParameterRef:
    """A parameter of a function around the place."""

    function: ir.FunctionDef
    parameter: ir.Parameter


class _Unknown:
    def __repr__(self) -> str:
        return "UNKNOWN"


#: What cannot be known; never a finding.
UNKNOWN: Final = _Unknown()

Resolved = Union[External, ModuleRef, Definition, Value, ParameterRef, _Unknown]

# Packages that are never looked for in the project, even where it contains them: their names are the vocabulary.
_ALWAYS_EXTERNAL = frozenset(sys.stdlib_module_names) | {"warp", "numpy", "torch", "jax"}

# Warp defines its public names in inner modules, which older code imports directly.
_WARP_INNER = re.compile(r"^warp\.(?:_src(?:\.\w+)*|types|context|codegen|tape|constants|lang)\.(?=\w+(?:\.dtype)?$)")


def canonical(name: str) -> str:
    """The public name of an external thing: ``warp.types.float32`` is ``warp.float32``."""
    return _WARP_INNER.sub("warp.", name)


class Module:
    """One file: its text, its regions, and the statements in them, read when first asked for."""

    def __init__(self, project: Project, path: Path, name: str, text: str, regions: tuple[Region, ...]) -> None:
        self.project = project
        self.path = path
        #: The dotted name by which siblings import it.
        self.name = name
        self.text = text
        self.regions = regions
        self._read: dict[int, tuple[ir.Stmt, ...]] = {}

    def __repr__(self) -> str:
        return f"Module({self.name!r})"

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the text without their newlines."""
        return self.text.split("\n")

    @property
    def is_package(self) -> bool:
        """Whether this is the ``__init__`` of a package."""
        return self.path.stem == "__init__"

    def region_text(self, region: Region) -> str:
        """The lines of a region."""
        return self.text[region.start : region.end]

    def read(self, region: Region) -> tuple[ir.Stmt, ...]:
        """The statements of a region."""
        found = self._read.get(region.line)
        if found is None:
            reader = self.project.reader_for(self.path, region)
            found = self._read[region.line] = reader(self.region_text(region), region.line)
        return found

    def statements(self) -> Iterator[ir.Stmt]:
        """All top-level statements, in order."""
        for region in self.regions:
            yield from self.read(region)

    @cached_property
    def _bindings(self) -> dict[str, list[Region | Binder]]:
        found: dict[str, list[Region | Binder]] = {}
        for region in self.regions:
            if region.kind in ("def", "class"):
                found.setdefault(region.names[0], []).append(region)
                continue
            for name, binder in binders(self.read(region)):
                found.setdefault(name, []).append(binder)
        return found

    def bindings(self, name: str) -> tuple[Binder, ...]:
        """The statements at module level that bind ``name``, in order; ``*`` gives the star imports."""
        found: list[Binder] = []
        for entry in self._bindings.get(name, ()):
            if isinstance(entry, Region):
                found.extend(node for bound, node in binders(self.read(entry)) if bound == name)
            else:
                found.append(entry)
        return tuple(found)

    def names(self) -> tuple[str, ...]:
        """The names bound at module level."""
        return tuple(self._bindings)

    def functions(self, pattern: re.Pattern[str] | None = None) -> Iterator[Definition]:
        """Every function in the file, outer ones first. With ``pattern``, only regions whose text it matches are read."""
        for region in self.regions:
            if region.kind in ("import", "assign"):
                continue
            if pattern is not None and not pattern.search(self.text, region.start, region.end):
                continue
            yield from self._functions(self.read(region), ())

    def within(self, region: Region) -> Iterator[Definition]:
        """Every function in one region, outer ones first."""
        yield from self._functions(self.read(region), ())

    def _functions(self, body: tuple[ir.Stmt, ...], scope: Scope) -> Iterator[Definition]:
        for statement in body:
            if isinstance(statement, ir.FunctionDef):
                yield Definition(self, statement, scope)
                yield from self._functions(statement.body, (*scope, statement))
            elif isinstance(statement, ir.ClassDef):
                yield from self._functions(statement.body, (*scope, statement))
            else:
                for block in blocks(statement):
                    yield from self._functions(block, scope)


def blocks(statement: ir.Stmt) -> tuple[tuple[ir.Stmt, ...], ...]:
    """The bodies of a compound statement that is no definition."""
    if isinstance(statement, (ir.If, ir.For, ir.While)):
        return (statement.body, statement.orelse)
    if isinstance(statement, ir.With):
        return (statement.body,)
    if isinstance(statement, ir.Try):
        handlers = tuple(handler.body for handler in statement.handlers)
        return (statement.body, *handlers, statement.orelse, statement.final)
    if isinstance(statement, ir.Match):
        return tuple(case.body for case in statement.cases)
    return ()


class Project:
    """The modules that are reachable from the linted files by imports.

    ``reader`` turns text into statements; ``precise_reader`` does so for the regions in ``precise`` (pairs of
    path and first line). ``roots`` are folders where absolute imports are looked for, besides the root of each file's own package.
    """

    def __init__(
        self,
        reader: Reader,
        roots: tuple[Path, ...] = (),
        precise_reader: Reader | None = None,
        precise: frozenset[tuple[Path, int]] = frozenset(),
    ) -> None:
        self._reader = reader
        self._precise_reader = precise_reader
        self._precise = precise
        self._roots = roots
        self._modules: dict[Path, Module | Problem] = {}
        self._found: dict[tuple[str, Path], Path | None] = {}
        #: What analyses keep for as long as the project lives, by their own keys.
        self.kept: dict[object, object] = {}

    def reader_for(self, path: Path, region: Region) -> Reader:
        """The reader of one region."""
        if self._precise_reader is not None and (path, region.line) in self._precise:
            return self._precise_reader
        return self._reader

    # --- modules ---

    def load(self, path: Path, data: bytes | None = None) -> Module | Problem:
        """The module at ``path`` (``data`` instead of its contents, if given), or what is wrong with it."""
        known = self._modules.get(path)
        if known is None:
            known = self._modules[path] = self._load(path, data)
        return known

    def _load(self, path: Path, data: bytes | None) -> Module | Problem:
        contents = read_bytes(path) if data is None else data
        if isinstance(contents, Problem):
            return contents
        text = decode(path, contents)
        if isinstance(text, Problem):
            return text
        table = check_syntax(path, text)
        if isinstance(table, Problem):
            return table
        return Module(self, path, _module_name(path), text, split(text, table))

    def module(self, path: Path) -> Module | None:
        """The module at ``path``, None if it cannot be read."""
        found = self.load(path)
        return found if isinstance(found, Module) else None

    def modules(self) -> Iterator[Module]:
        """The modules read so far."""
        for module in list(self._modules.values()):
            if isinstance(module, Module):
                yield module

    def find(self, name: str, origin: Module) -> Module | None:
        """The project's module with the absolute dotted ``name``, as code in ``origin`` would import it."""
        if name.partition(".")[0] in _ALWAYS_EXTERNAL:
            return None
        for root in dict.fromkeys((_package_root(origin.path), origin.path.parent, *self._roots)):
            key = (name, root)
            if key not in self._found:
                self._found[key] = _module_file(root, name)
            path = self._found[key]
            if path is not None:
                return self.module(path)
        return None

    def absolute(self, statement: ir.ImportFrom, origin: Module) -> str | None:
        """The absolute dotted name that ``from ... import`` names in ``origin``; None if it leaves the package."""
        if statement.level == 0:
            return statement.module
        parts = origin.name.split(".")
        drop = statement.level - (1 if origin.is_package else 0)
        if drop > len(parts):
            return None
        parts = parts[: len(parts) - drop]
        return ".".join([*parts, statement.module]) if statement.module else ".".join(parts)

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
        if depth > 20:
            return UNKNOWN  # a cycle of aliases
        if isinstance(expr, ir.Name):
            return self._resolve_name(module, expr.id, scope, depth)
        if isinstance(expr, ir.Attribute):
            owner = self._resolve(module, expr.value, scope, depth + 1)
            return self._member(owner, expr.attr, depth)
        return UNKNOWN

    def _member(self, owner: Resolved, name: str, depth: int) -> Resolved:
        if isinstance(owner, External):
            return External(canonical(f"{owner.name}.{name}"))
        if isinstance(owner, ModuleRef):
            return self.member(owner.module, name, depth + 1)
        if isinstance(owner, Definition) and isinstance(owner.node, ir.ClassDef):
            found = [binder for bound, binder in binders(owner.node.body) if bound == name]
            return self._bound(owner.module, tuple(found), owner.inner_scope, name, depth)
        return UNKNOWN

    def member(self, module: Module, name: str, depth: int = 0) -> Resolved:
        """What ``name`` means as an attribute of ``module``: something it binds, or a submodule."""
        found = module.bindings(name)
        if found:
            return self._bound(module, found, (), name, depth)
        for star in module.bindings("*"):
            assert isinstance(star, ir.ImportFrom)
            source = self.absolute(star, module)
            target = self.find(source, module) if source else None
            if target is not None and depth < 20:
                through = self.member(target, name, depth + 1)
                if through is not UNKNOWN:
                    return through
            elif source in ("warp", "math", "numpy"):
                return External(f"{source}.{name}")
        if module.is_package:
            submodule = self.find(f"{module.name}.{name}", module)
            if submodule is not None:
                return ModuleRef(submodule)
        return UNKNOWN

    def _resolve_name(self, module: Module, name: str, scope: Scope, depth: int) -> Resolved:
        for index in range(len(scope) - 1, -1, -1):
            outer = scope[index]
            if isinstance(outer, ir.ClassDef):
                if index != len(scope) - 1:
                    continue  # class bodies are not visible from the functions in them
                found = tuple(binder for bound, binder in binders(outer.body) if bound == name)
            else:
                names = bound_names(outer)
                if name not in names:
                    continue
                found = names[name]
            if found:
                if isinstance(found[0], ir.Global) and found[0].kind == "global":
                    break
                return self._bound(module, found, scope[: index + 1], name, depth)
        found_member = self.member(module, name, depth)
        if found_member is UNKNOWN and not module.bindings(name) and name in _BUILTINS:
            return External(name)
        return found_member

    def _bound(self, module: Module, found: tuple[Binder, ...], scope: Scope, name: str, depth: int) -> Resolved:
        """What the statements ``found``, which bind ``name`` in ``scope``, make of it."""
        if not found:
            return UNKNOWN
        results: list[Resolved] = []
        for binder in found:
            result = self._bound_by(module, binder, scope, name, depth + 1)
            if result not in results:
                results.append(result)
        if len(results) == 1:
            return results[0]
        # Alternatives of one import (`try: import x except ImportError: x = None`) mean the thing imported.
        imported = [result for result in results if isinstance(result, (External, ModuleRef))]
        others = [result for result in results if not isinstance(result, (External, ModuleRef))]
        if len(imported) == 1 and all(
            isinstance(other, Value) and isinstance(other.expr, ir.Constant) and other.expr.value is None
            for other in others
        ):
            return imported[0]
        # A later def replaces an earlier one.
        if all(isinstance(result, Definition) for result in results):
            return results[-1]
        return UNKNOWN

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
            return self._imported_from(module, binder, name, depth)
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

    def _imported_from(self, module: Module, statement: ir.ImportFrom, name: str, depth: int) -> Resolved:
        source = self.absolute(statement, module)
        if source is None:
            return UNKNOWN
        for imported, alias in statement.names:
            if (alias or imported) != name:
                continue
            target = self.find(source, module)
            if target is None:
                submodule = self.find(f"{source}.{imported}", module)
                if submodule is not None:
                    return ModuleRef(submodule)  # a namespace package
                return External(canonical(f"{source}.{imported}"))
            if target is module:
                submodule = self.find(f"{source}.{imported}", module)
                return ModuleRef(submodule) if submodule else UNKNOWN
            return self.member(target, imported, depth + 1)
        return UNKNOWN


_BUILTINS = frozenset(dir(__builtins__) if not isinstance(__builtins__, dict) else __builtins__)


def _package_root(path: Path) -> Path:
    """The folder from which the package of ``path`` is imported."""
    folder = path.parent
    while (folder / "__init__.py").exists() and folder.parent != folder:
        folder = folder.parent
    return folder


def _module_name(path: Path) -> str:
    root = _package_root(path)
    parts = path.relative_to(root).with_suffix("").parts
    if parts[-1] == "__init__":
        parts = parts[:-1]
    return ".".join(parts)


def _module_file(root: Path, name: str) -> Path | None:
    base = root.joinpath(*name.split("."))
    for candidate in (base / "__init__.py", base.with_name(base.name + ".py")):
        if candidate.is_file():
            return candidate
    return None
