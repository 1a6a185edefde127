"""The project: modules, what their names are bound to, and imports between them. Nothing is executed."""

from __future__ import annotations

import builtins
import itertools
import math
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, TypeAlias, TypeVar, Union

from warplint.ir import syntax as ir
from warplint.ir.facts import Problem
from warplint.ir.found import Inputs
from warplint.ir.runs import KeptModule
from warplint.records import dataclass
from warplint.source.bindings import Binder, bound_names
from warplint.source.files import digest_of
from warplint.source.modules import Definition, Module, Scope, blocks
from warplint.source.regions import Region, RegionKind, changed_piece, group, grouped, split, split_again
from warplint.source.text import TOO_DEEP, check_syntax, decode, read_bytes, syntax_problem

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
    "Value",
    "blocks",
]

_Item = TypeVar("_Item")

#: Turns the text of a region, whose first line has the given number, into statements.
#: Raises SyntaxError for text that does not parse and RecursionError for code that is nested too deeply.
Reader: TypeAlias = "Callable[[str, int], tuple[ir.Stmt, ...]]"


@dataclass(frozen=True, slots=True)
class External:
    """Something outside the project, by its full dotted name (``warp.where``, ``numpy.zeros``, ``range``)."""

    name: str


@dataclass(frozen=True, slots=True)
class ModuleRef:
    """A module of the project."""

    module: Module


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


@dataclass(frozen=True, slots=True)
class Outline:
    """What loading a file takes the time for, in a form that is quickly sent to another process: text, fields of the
    regions and names called; or what is wrong with the file; or None where only reading it told its regions."""

    path: Path
    contents: tuple[str, list[tuple[RegionKind, tuple[str, ...], int, int, int, int]], frozenset[str]] | Problem | None


class _Unknown:
    def __repr__(self) -> str:
        return "UNKNOWN"


#: What cannot be known; never a finding.
UNKNOWN: Final = _Unknown()

Resolved = Union[External, ModuleRef, Definition, Value, ParameterRef, _Unknown]

#: Packages that are never looked for in the project, even where it contains them: their names are the vocabulary.
ALWAYS_EXTERNAL = frozenset(sys.stdlib_module_names) | {"warp", "numpy", "torch", "jax"}

# Warp defines its public names in inner modules, which older code imports directly.
_WARP_INNER = re.compile(r"^warp\.(?:_src(?:\.\w+)*|types|context|codegen|tape|constants|lang)\.(?=\w+(?:\.dtype)?$)")


def canonical(name: str) -> str:
    """The public name of an external thing: ``warp.types.float32`` is ``warp.float32``."""
    return _WARP_INNER.sub("warp.", name)


class Project:
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
        self._reader = reader
        self._precise_reader = precise_reader
        self._precise = precise
        self._roots = roots
        self._modules: dict[Path, Module | Problem] = {}
        # All of them, and those that could be read, as of when they were last asked for.
        self._all: tuple[Module | Problem, ...] = ()
        self._readable: tuple[Module, ...] = ()
        self._found: dict[tuple[str, Path], Path | None] = {}
        self._package_roots: dict[Path, Path] = {}
        self._members: dict[tuple[Module, str], Resolved] = {}
        # What was found outside the project, by the module, the scope and the name, and where imports of files lead.
        self._external: dict[object, External] = {}
        self._imports: dict[tuple[Module, str, bool], Module | None] = {}
        #: What analyses keep for as long as the project lives, by their own keys.
        self.kept: dict[object, object] = {}
        #: What stands for files that are not read from disk: the texts in an editor.
        self.unsaved: Mapping[Path, bytes] = {}
        #: The version of Warp that a file is for, as its first two numbers; None: the newest.
        self.warp_version: Callable[[Path], tuple[int, int]] | None = None
        #: Modules of an earlier run, which need not be split into regions again where their text is the same.
        self.known: Mapping[Path, KeptModule] = {}
        #: The digests of the texts of regions that both readers are known to read alike.
        self.agreed: set[bytes] = set()
        #: The regions that could not be read, in the order they were met.
        self.problems: list[Problem] = []

    def reader_for(self, path: Path, region: Region) -> Reader:
        """The reader of one region."""
        if self._precise_reader is not None and (path, region.line) in self._precise:
            return self._precise_reader
        return self._reader

    def read(self, path: Path, text: str, region: Region) -> tuple[ir.Stmt, ...] | None:
        """The statements of a region with the given text, or None and a new entry in ``problems``."""
        try:
            return self.reader_for(path, region)(text, region.line)
        except RecursionError:
            self.problems.append(Problem(str(path), TOO_DEEP, region.line))
        except SyntaxError as error:
            self.problems.append(syntax_problem(path, error))
        return None

    def read_otherwise(self, places: Iterable[tuple[Path, int]]) -> list[tuple[Path, int]]:
        """Those of ``places`` (pairs of path and line) whose region the precise reader reads otherwise.

        A region that only one of them can read counts as read otherwise.
        """
        if self._precise_reader is None:
            return []
        found = []
        for path, line in places:
            module = self._modules.get(path)
            region = module.region_at(line) if isinstance(module, Module) else None
            if not isinstance(module, Module) or region is None or (path, region.line) in self._precise:
                continue
            key = (Region, path, region.line)
            if key not in self.kept:
                self.kept[key] = self._agrees(module, region)
            if not self.kept[key]:
                found.append((path, line))
        return found

    def _agrees(self, module: Module, region: Region) -> bool:
        assert self._precise_reader is not None
        text = module.region_text(region)
        digest = digest_of(text)
        if digest in self.agreed:
            return True
        try:
            agreed = self._precise_reader(text, region.line) == module.read(region)
        except (SyntaxError, RecursionError):
            return False
        if agreed:
            self.agreed.add(digest)
        return agreed

    def agreed_at(self, places: Iterable[tuple[Path, int]]) -> frozenset[bytes]:
        """The digests of the regions at ``places`` (pairs of path and line), as far as both readers read them alike."""
        found = set()
        for path, line in places:
            module = self._modules.get(path)
            region = module.region_at(line) if isinstance(module, Module) else None
            if isinstance(module, Module) and region is not None:
                found.add(digest_of(module.region_text(region)))
        return frozenset(found & self.agreed)

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

    def replace(self, before: Module, data: bytes) -> Module | Problem:
        """Load the next version of a module, whose regions that stand as they were are not read again."""
        path = before.path
        text = decode(path, data)
        regions = None if isinstance(text, Problem) or before.newer else split_again(text, before.text, before.regions)
        found: Module | Problem
        if regions is None or isinstance(text, Problem):
            found = self._load(path, data, before)
        else:
            found = Module(self, path, self._module_name(path), text, regions)
        self._put(path, found)
        if isinstance(found, Module) and found.unread:
            found.take(before)
        return found

    # --- modules ---

    def load(self, path: Path, data: bytes | None = None) -> Module | Problem:
        """The module at ``path`` (``data`` instead of its contents, if given), or what is wrong with it."""
        known = self._modules.get(path)
        if known is None:
            known = self._modules[path] = self._load(path, data)
        return known

    def _load(self, path: Path, data: bytes | None, before: Module | None = None) -> Module | Problem:
        data = self.unsaved.get(path) if data is None else data
        contents = read_bytes(path) if data is None else data
        if isinstance(contents, Problem):
            return contents
        text = decode(path, contents)
        if isinstance(text, Problem):
            return text
        name = self._module_name(path)
        known = self.known.get(path)
        if known is not None and digest_of(text) == known.digest:
            return Module(self, path, name, text, tuple(Region(*fields) for fields in known.regions))
        table = check_syntax(path, text)
        if isinstance(table, Problem):
            statements = None if before is not None and self._broke(text, before) else self._read_newer(text)
            if statements is None:
                return table
            regions = group(text, statements)
            return Module(self, path, name, text, regions, grouped(regions, statements), newer=True)
        try:
            return Module(self, path, name, text, split(text, table, self._reader))
        except RecursionError:
            return Problem(str(path), TOO_DEEP, 1)

    def _read_newer(self, text: str) -> tuple[ir.Stmt, ...] | None:
        """The statements of a file that Python refused, if only its grammar is newer than the running Python's."""
        if self._precise_reader is None:
            return None
        try:
            self._reader(text, 1)
        except SyntaxError:
            pass
        except (RecursionError, MemoryError, ValueError):
            return None
        else:
            return None  # it parses: what Python refused is no matter of grammar
        try:
            return self._precise_reader(text, 1)
        except (SyntaxError, RecursionError, MemoryError, ValueError):
            return None

    def _broke(self, text: str, before: Module) -> bool:
        """Whether no reader can read what has changed since a version that Python accepted. To have them read all of a
        broken text takes many times as long as to read it when it is whole."""
        if before.newer or self._precise_reader is None:
            return False
        piece = changed_piece(text, before.text, before.regions)
        for reader in (self._reader, self._precise_reader):
            try:
                reader(piece, 1)
            except SyntaxError:
                continue
            except (RecursionError, MemoryError, ValueError):
                return False
            return False
        return True

    def outline(self, path: Path) -> Outline:
        """The outline of the file at ``path``, for another project to ``adopt``."""
        loaded = self.load(path)
        if isinstance(loaded, Problem):
            return Outline(path, loaded)
        if not loaded.unread:
            return Outline(path, None)
        return Outline(path, (loaded.text, [region.fields() for region in loaded.regions], loaded.called))

    def adopt(self, outline: Outline) -> None:
        """Take over what another process learned about a file, instead of loading it."""
        path, contents = outline.path, outline.contents
        if isinstance(contents, Problem):
            self._put(path, contents)
        elif contents is not None:
            text, regions, called = contents
            module = Module(self, path, self._module_name(path), text, tuple(Region(*fields) for fields in regions))
            module.called = called
            self._put(path, module)

    def module(self, path: Path) -> Module | None:
        """The module at ``path``, None if it cannot be read."""
        found = self.load(path)
        return found if isinstance(found, Module) else None

    def _put(self, path: Path, found: Module | Problem) -> None:
        self._modules[path] = found
        self._all = ()

    def modules(self) -> tuple[Module, ...]:
        """The modules read so far."""
        if len(self._all) != len(self._modules):
            self._all = tuple(self._modules.values())
            self._readable = tuple(module for module in self._all if isinstance(module, Module))
        return self._readable

    def inputs(self, since: tuple[int, int, int] = (0, 0, 0)) -> Inputs:
        """What was read and looked for, or only what came after the project had ``seen()`` that much."""
        modules, found, roots = since
        # Most files ask for nothing new, and walking up to what is new would take as long as all there is.
        present = frozenset(_since(self._modules, modules))
        absent = {root / "__init__.py" for root in _since(self._package_roots.values(), roots)}
        for (name, root), path in _since(self._found.items(), found):
            for candidate in _candidates(root, name):
                if candidate == path:
                    break
                absent.add(candidate)
        return Inputs(present, frozenset(absent))

    def seen(self) -> tuple[int, int, int]:
        """How much was read and looked for so far, for ``inputs``."""
        return len(self._modules), len(self._found), len(self._package_roots)

    def files(self) -> list[Path]:
        """The files looked at so far, those that cannot be read among them."""
        return list(self._modules)

    def modules_with(self, name: str) -> list[Module]:
        """The modules read so far that contain ``name`` directly before a bracket: all that call or define it."""
        count = len(self._modules)
        known = self.kept.get(Project)
        if not isinstance(known, tuple) or known[0] != count:
            index: dict[str, list[Module]] = {}
            for module in self.modules():
                for word in module.called:
                    index.setdefault(word, []).append(module)
            known = self.kept[Project] = (count, index)
        found: list[Module] = known[1].get(name, [])
        return found

    def find(self, name: str, origin: Module, relative: bool = False) -> Module | None:
        """The project's module with the absolute dotted ``name``, as code in ``origin`` would import it.

        ``relative`` says that the name came from a relative import: it then never means the standard library.
        """
        key = (origin, name, relative)
        if key not in self._imports:
            self._imports[key] = self._find(name, origin, relative)
        return self._imports[key]

    def _find(self, name: str, origin: Module, relative: bool) -> Module | None:
        top = name.partition(".")[0]
        if not name or (top in ALWAYS_EXTERNAL and not relative):
            return None
        # A folder without `__init__` inside a package ends its root too early; the parents still carry its name.
        above = tuple(folder.parent for folder in origin.path.parents if folder.name == top)
        # The file's own folder comes last: Python looks there only for a script.
        for root in dict.fromkeys((self._package_root(origin.path), *above, *self._roots, origin.path.parent)):
            key = (name, root)
            if key not in self._found:
                self._found[key] = _module_file(root, name)
            path = self._found[key]
            if path is not None:
                return self.module(path)
        return None

    def _package_root(self, path: Path) -> Path:
        """The folder from which the package of ``path`` is imported."""
        known = self._package_roots.get(path.parent)
        if known is None:
            known = path.parent
            while (known / "__init__.py").exists() and known.parent != known:
                known = known.parent
            self._package_roots[path.parent] = known
        return known

    def _module_name(self, path: Path) -> str:
        parts = path.relative_to(self._package_root(path)).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def _submodule(self, package: str, name: str, origin: Module, relative: bool) -> Module | None:
        """The module ``name`` in ``package``, which is empty for the folder of a file that is in no package."""
        return self.find(f"{package}.{name}" if package else name, origin, relative)

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
            known = self._members[key] = self._member(module, name, None)
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
            if not exported:
                continue
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
            if target is not None and target is not module:
                return self.member(target, imported)
            submodule = self._submodule(source, imported, module, statement.level > 0)  # perhaps without `__init__`
            if submodule is not None:
                return ModuleRef(submodule)
            if target is module or not source:
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


def _since(items: Collection[_Item], count: int) -> Iterator[_Item]:
    """What came after so many of ``items``."""
    return iter(()) if len(items) == count else itertools.islice(items, count, None)


def _candidates(root: Path, name: str) -> tuple[Path, Path]:
    base = root.joinpath(*name.split("."))
    return base / "__init__.py", base.with_name(base.name + ".py")


def _module_file(root: Path, name: str) -> Path | None:
    # As ``_candidates``; a path object for each of the many files that are not there would take long.
    base = os.path.join(root, *name.split("."))
    for candidate in (os.path.join(base, "__init__.py"), base + ".py"):
        if os.path.isfile(candidate):
            return Path(candidate)
    return None
