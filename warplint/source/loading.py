"""Loading files into modules: by which reader, from which process, after which version. Imports lead to files."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar, cast

from warplint.ir import syntax as ir
from warplint.ir.facts import Problem
from warplint.ir.found import Inputs
from warplint.ir.runs import KeptModule
from warplint.records import dataclass
from warplint.source.files import digest_of
from warplint.source.modules import Module
from warplint.source.regions import Region, RegionKind, changed_piece, group, grouped, split, split_again
from warplint.source.resolved import ALWAYS_EXTERNAL
from warplint.source.text import TOO_DEEP, check_syntax, decode, read_bytes, syntax_problem

if TYPE_CHECKING:
    from warplint.source.project import Project

_Item = TypeVar("_Item")

#: Turns the text of a region, whose first line has the given number, into statements.
#: Raises SyntaxError for text that does not parse and RecursionError for code that is nested too deeply.
Reader: TypeAlias = "Callable[[str, int], tuple[ir.Stmt, ...]]"


@dataclass(frozen=True, slots=True)
class Outline:
    """What loading a file takes the time for, in a form that is quickly sent to another process: text, fields of the
    regions, names called and names of files; or what is wrong with the file; or None where only reading it told its
    regions."""

    path: Path
    contents: (
        tuple[str, list[tuple[RegionKind, tuple[str, ...], int, int, int, int]], frozenset[str], frozenset[str]]
        | Problem
        | None
    )


class Files:
    """The files of a project, and the modules in them. See ``Project``, the one kind of it there is."""

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
        # Where imports of files lead.
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

    def replace(self, before: Module, data: bytes) -> Module | Problem:
        """Load the next version of a module, whose regions that stand as they were are not read again."""
        path = before.path
        text = decode(path, data)
        regions = None if isinstance(text, Problem) or before.newer else split_again(text, before.text, before.regions)
        found: Module | Problem
        if regions is None or isinstance(text, Problem):
            found = self._load(path, data, before)
        else:
            found = self._made(path, self._module_name(path), text, regions)
        self._put(path, found)
        if isinstance(found, Module) and found.unread:
            found.take(before)
        return found

    def _made(
        self,
        path: Path,
        name: str,
        text: str,
        regions: tuple[Region, ...],
        statements: dict[int, tuple[ir.Stmt, ...]] | None = None,
        newer: bool = False,
    ) -> Module:
        return Module(cast("Project", self), path, name, text, regions, statements, newer)

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
            return self._made(path, name, text, tuple(Region(*fields) for fields in known.regions))
        table = check_syntax(path, text)
        if isinstance(table, Problem):
            statements = None if before is not None and self._broke(text, before) else self._read_newer(text)
            if statements is None:
                return table
            regions = group(text, statements)
            return self._made(path, name, text, regions, grouped(regions, statements), newer=True)
        try:
            return self._made(path, name, text, split(text, table, self._reader))
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

    def outline(self, path: Path, names: frozenset[str]) -> Outline:
        """The outline of the file at ``path``, for another project to ``adopt``; ``names`` are those of all files."""
        loaded = self.load(path)
        if isinstance(loaded, Problem):
            return Outline(path, loaded)
        if not loaded.unread:
            return Outline(path, None)
        regions = [region.fields() for region in loaded.regions]
        return Outline(path, (loaded.text, regions, loaded.called, loaded.words() & names))

    def adopt(self, outline: Outline, names: frozenset[str]) -> None:
        """Take over what another process learned about a file, instead of loading it; ``names`` as in ``outline``."""
        path, contents = outline.path, outline.contents
        if isinstance(contents, Problem):
            self._put(path, contents)
        elif contents is not None:
            text, regions, called, found = contents
            module = self._made(path, self._module_name(path), text, tuple(Region(*fields) for fields in regions))
            module.called = called
            module.files_named = names, found
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
        known = self.kept.get(Files)
        if not isinstance(known, tuple) or known[0] != count:
            index: dict[str, list[Module]] = {}
            for module in self.modules():
                for word in module.called:
                    index.setdefault(word, []).append(module)
            known = self.kept[Files] = (count, index)
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
