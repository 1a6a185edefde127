"""What a change of some files can make a difference to: told from words, and rather too much than too little.

A region (``source/regions.py``) rests on what its words name: in its own module, and in others by imports and behind
dots. So a change is followed from the names that a changed region binds to the regions that have those words in them,
and from there to what these bind in their turn. A func and a factory rest on their callers as well: what a changed
caller names has to be looked at again. Nothing is resolved for that, and no scope is looked at.

There are two sorts of change. That of a value (a constant, a class, an import) is seen wherever its name stands. That
of a function is seen by kernels and funcs and by what gives it another name; plain host code around it stays what it
is to the analysis of kernels, which never runs any.
"""

from __future__ import annotations

import difflib
import re
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal

from warplint.ir import syntax as ir
from warplint.ir.effects import Uses
from warplint.ir.runs import KeptModule
from warplint.ir.spans import Location, Span
from warplint.kernels.options import decorated_regions, is_decorated
from warplint.records import dataclass
from warplint.source.bindings import binders
from warplint.source.files import digest_of
from warplint.source.project import ALWAYS_EXTERNAL, Module, Project
from warplint.source.regions import Region, RegionKind, statement_text
from warplint.source.visible import Visible

#: A region by the path of its file and its first line.
Node = tuple[Path, int]

_Sort = Literal["function", "value"]

_WORD = re.compile(r"[^\W\d]\w*")
_DEFINED = re.compile(r"\b(?:def|class)\s+(\w+)")
_DOTTED = re.compile(r"\.\s*([^\W\d]\w*)")
_ALIAS = re.compile(r"\b(\w+)\s+as\s+(\w+)")
_FROM = re.compile(r"\s*from\s*(\.|[^\W\d]\w*)")
_INNER_IMPORT = re.compile(r"\b(?:from|import)\b")
#: What options of kernels are told from, wherever it stands outside of definitions (``kernels/options.py``).
_OPTIONS = re.compile(r"set_module_options|\.options\b|enable_backward")
_SETTINGS = re.compile(r"\bconfig\b")
#: What gives a decorator another name.
_ROLES = re.compile(r"\b(?:kernel|func|func_grad|func_replay|func_native)\b")
_COMPANION = re.compile(r"\bfunc_(?:grad|replay)\b")
#: What is asked of the text of a whole file.
_DYNAMIC = re.compile(r"\b(?:globals|vars|exec|setattr|locals|__dict__)\b")
#: So many steps are taken to tell what a change leads to. Where they do not do, it leads to so much that finding all
#: anew costs less than going on, in a large project by far.
_MOST_STEPS = 200_000
_WHOLE = ("enable_vector_component_overwrites", "__all__", "static", "yield")


def _whole(module: Module) -> tuple[object, ...]:
    """What analyses tell from the text of a whole file."""
    text = module.text
    asked = tuple(word in text for word in _WHOLE)
    listed = module.exported
    exported = None if listed is None else tuple(sorted(listed))
    dynamic = _DYNAMIC.search(text) is not None
    return (tuple(sorted(module.walrus)), tuple(sorted(module.rebound)), exported, asked, dynamic)


@dataclass(frozen=True, slots=True)
class _Piece:
    """A region of an old or of a new version, with its statements' text."""

    region: Region
    text: str

    @property
    def called(self) -> tuple[RegionKind, tuple[str, ...]]:
        """What it is, and its names."""
        return self.region.kind, self.region.names

    @property
    def words(self) -> set[str]:
        """All words of it."""
        return set(_WORD.findall(self.text))


class Changes:
    """What may be otherwise in a project than it was in an earlier one with the modules ``before``.

    Made when all linted files are loaded. ``everything``: nothing can be taken over. ``kernels``, ``effects`` and
    ``launches`` are the regions whose facts about kernels, effects and facts about launches may be others.
    """

    def __init__(self, project: Project, before: Mapping[Path, KeptModule], visible: Visible) -> None:
        self._project = project
        self._visible = visible
        self._modules = {module.path: module for module in project.modules()}
        self.everything = self._modules.keys() != before.keys()
        self.kernels: set[Node] = set()
        self.effects: set[Node] = set()
        self.launches: set[Node] = set()
        self._lines: dict[Path, list[tuple[int, int, int]]] = {}
        self._index: _Index | None = None
        self._hits: set[tuple[Node, _Sort, str]] = set()
        self._tainted: set[tuple[Path, str, _Sort]] = set()
        self._queue: list[tuple[Module, str, _Sort]] = []
        self._below: set[Node] = set()
        self._steps = 0
        #: Whether no text has changed at all.
        self.nothing = not self.everything
        for path, module in self._modules.items() if not self.everything else ():
            old = before[path]
            if digest_of(module.text) != old.digest:
                self.nothing = False
                self._compare(module, old)
        self._follow()

    def of_uses(self, old: Uses, new: Uses) -> frozenset[Node]:
        """The regions whose facts about kernels may be others, now that it is known how host code uses kernels."""
        for kernel in old.keys() | new.keys():
            if old.get(kernel) != new.get(kernel) and kernel[0] in self._modules:
                module = self._modules[kernel[0]]
                top = kernel[1].partition(".")[0]
                for region in module.regions:
                    if region.kind not in ("import", "assign") and top in _defined(module, region):
                        self._dirty(module, region)
        self._follow()
        return frozenset(self.kernels)

    def keeps_effects(self, module: Module, qualname: str) -> bool:
        """Whether what a kernel or func does to its arguments is certainly what it was."""
        if self.everything or module.path not in self._modules:
            return False
        top = qualname.partition(".")[0]
        found = [region for region in module.regions if top in region.names]
        return bool(found) and not any((module.path, region.line) in self.effects for region in found)

    def place(self, location: Location) -> Location:
        """Where a place of the earlier project is now.

        Raises:
            LookupError: the region that held it is not there any more.
        """
        lines = self._lines.get(location.path)
        if lines is None:
            if location.path in self._modules:
                return location
            raise LookupError(location.path)
        span = location.span
        for first, last, shift in lines:
            if first <= span.line <= span.end_line <= last:
                moved = Span(span.line + shift, span.column, span.end_line + shift, span.end_column)
                return location if shift == 0 else Location(location.path, moved)
        raise LookupError(location)

    def now(self, path: Path) -> Mapping[int, int] | None:
        """The first lines that the regions of a changed file have now, by those that they had; None: as they were."""
        lines = self._lines.get(path)
        return None if lines is None else {first: first + shift for first, _, shift in lines}

    # --- what has changed ---

    def _compare(self, module: Module, kept: KeptModule) -> None:
        """Start from what is different in one module."""
        text = zlib.decompress(kept.text).decode("utf-8", "surrogatepass")
        before_now = [Region(*fields) for fields in kept.regions]
        olds = [_Piece(region, statement_text(text[region.start : region.end])) for region in before_now]
        news = [_Piece(region, statement_text(module.region_text(region))) for region in module.regions]
        matcher = difflib.SequenceMatcher(None, [p.text for p in olds], [p.text for p in news], autojunk=False)
        same = [
            (old.region, new.region)
            for block in matcher.get_matching_blocks()
            for old, new in zip(olds[block.a : block.a + block.size], news[block.b : block.b + block.size], strict=True)
        ]
        self._lines[module.path] = [(old.line, old.end_line, new.line - old.line) for old, new in same]
        for tag, old_from, old_to, new_from, new_to in matcher.get_opcodes():
            if tag != "equal":
                self._replaced(module, olds[old_from:old_to], news[new_from:new_to])
        before = Module(self._project, module.path, module.name, text, tuple(old.region for old in olds))
        if _whole(module) != _whole(before):
            for new in news:
                self._changed(module, None, new)

    def _replaced(self, module: Module, olds: Collection[_Piece], news: Collection[_Piece]) -> None:
        left = list(news)
        for old in olds:
            twin = next(
                (new for new in left if (new.region.kind, new.region.names) == (old.region.kind, old.region.names)),
                None,
            )
            if twin is not None:
                left.remove(twin)
            self._changed(module, old, twin)
        for new in left:
            self._changed(module, None, new)

    def _changed(self, module: Module, old: _Piece | None, new: _Piece | None) -> None:
        pieces = [piece for piece in (old, new) if piece is not None]
        kinds = {piece.region.kind for piece in pieces}
        if not kinds <= {"def", "class"}:
            self._settings(module, pieces)
        if new is not None:
            self._dirty(module, new.region)
            self.launches.add((module.path, new.region.line))
        if old is not None and new is not None and self._only_body(module, old, new):
            self._look_below(module, old.text)
            return
        sort: _Sort = "function" if kinds == {"def"} else "value"
        if kinds == {"import"}:
            names = self._otherwise_imported(module, old, new)
        else:
            names = {name for piece in pieces for name in self._bound(module, piece)}
        for name in names:
            self._taint(module, name, sort)
        for piece in pieces:
            # Callers and factories that it names, or named.
            self._look_below(module, piece.text)
            self._serve(module, piece.text)

    def _settings(self, module: Module, pieces: Iterable[_Piece]) -> None:
        """What else a change outside of definitions can mean."""
        for piece in pieces:
            if _SETTINGS.search(piece.text):
                self.everything = True
            if piece.region.kind == "import" and any("config." in other.text for other in self._modules.values()):
                self.everything = True  # a setting may be made by what is imported
            if _OPTIONS.search(piece.text) or (piece.region.kind != "other" and _ROLES.search(piece.text)):
                for region in module.regions:
                    if region.kind in ("def", "class"):
                        self._dirty(module, region)
                        for name in region.names:
                            self._taint(module, name, "function")

    def _only_body(self, module: Module, old: _Piece, new: _Piece) -> bool:
        """Whether nothing but the body of one kernel has changed, which nobody else looks into."""
        heads = []
        for piece in (old, new):
            text = piece.text
            if piece.region.kind != "def" or len(_DEFINED.findall(text)) != 1 or "lambda" in text:
                return False
            head = self._head(module, piece)
            if head is None or not re.search(r"@\s*(?:\w+\s*\.\s*)*kernel\b", head[0]):
                return False
            heads.append(head)
        return is_decorated(module, new.region) and heads[0] == heads[1]

    def _head(self, module: Module, piece: _Piece) -> tuple[str, ...] | None:
        """What launches see of a kernel: its lines before the body, and those that ask for thread indices."""
        read = self._read(module, piece)
        if len(read) != 1 or not isinstance(read[0], ir.FunctionDef) or not read[0].body:
            return None
        lines = piece.text.split("\n")
        inside = read[0].body[0].span.line - piece.region.line
        if inside < 1 or read[0].body[0].span.line <= read[0].name_span.end_line:
            return None
        return ("\n".join(lines[:inside]), *(line.split("#")[0] for line in lines[inside:] if "tid" in line))

    def _read(self, module: Module, piece: _Piece) -> tuple[ir.Stmt, ...]:
        try:
            return self._project.reader_for(module.path, piece.region)(piece.text, piece.region.line)
        except (SyntaxError, RecursionError):
            return ()

    def _otherwise_imported(self, module: Module, old: _Piece | None, new: _Piece | None) -> set[str]:
        """The names that two versions of an import bind to different things."""
        meant: list[dict[str, object]] = []
        for piece in (old, new):
            found: dict[str, object] = {}
            for statement in self._read(module, piece) if piece is not None else ():
                if isinstance(statement, ir.Import):
                    for dotted, alias in statement.names:
                        name = alias or dotted.partition(".")[0]
                        found[name] = (found.get(name), dotted, alias)
                elif isinstance(statement, ir.ImportFrom):
                    for imported, alias in statement.names:
                        name = alias or imported
                        found[name] = (found.get(name), statement.level, statement.module, imported)
            meant.append(found)
        names = {name for name in meant[0].keys() | meant[1].keys() if meant[0].get(name) != meant[1].get(name)}
        if "*" in names:
            self.everything = True
        return names

    def _bound(self, module: Module, piece: _Piece) -> set[str]:
        if piece.region.kind in ("def", "class", "assign"):
            return set(piece.region.names)
        found = {name for name, _ in binders(self._read(module, piece))}
        if "*" in found:
            self.everything = True
        return found

    # --- what that makes a difference to ---

    def _taint(self, module: Module, name: str, sort: _Sort) -> None:
        key = (module.path, name, sort)
        if key not in self._tainted and (module.path, name, "value") not in self._tainted:
            self._tainted.add(key)
            self._queue.append((module, name, sort))

    def _follow(self) -> None:
        while self._queue and not self.everything:
            module, name, sort = self._queue.pop()
            self._take(4 * len(self._modules))  # the text of each is searched
            for other, region in self._mentioning(module, name):
                if region.kind == "import":
                    text = other.region_text(region)
                    self._taint(other, name, sort)
                    for original, alias in _ALIAS.findall(text):
                        if original == name:
                            self._taint(other, alias, sort)
                else:
                    self._hit(other, region, sort, name)

    def _mentioning(self, module: Module, name: str) -> Iterator[tuple[Module, Region]]:
        """The regions in which a name of a module can stand for what it binds there."""
        word = re.compile(rf"{re.escape(name)}\b")
        dotted = re.compile(rf"\.\s*{re.escape(name)}\b")
        for other in self._modules.values():
            if name not in other.text or not self._visible.sees(other.path, module.path):
                continue
            starred = other is not module and any(
                region.kind == "import" and "*" in other.region_text(region) for region in other.regions
            )
            for region in other.regions_matching(word, whole=True):
                if other is module or region.kind == "import" or starred:
                    yield other, region
                    continue
                text = other.region_text(region)
                if dotted.search(text) or _INNER_IMPORT.search(text):
                    yield other, region

    def _bound_with(self, module: Module, region: Region, word: str) -> set[str]:
        """The names that are bound by statements of a region in which a word stands."""
        lines = module.lines
        return {
            name
            for name, binder in binders(module.read(region))
            if any(word in line for line in lines[binder.span.line - 1 : binder.span.end_line])
        }

    def _hit(self, module: Module, region: Region, sort: _Sort, through: str = "") -> None:
        """A region names something that has changed; ``through``: the word for it."""
        node = (module.path, region.line)
        part = through if region.kind == "other" else ""
        if (node, sort, part) in self._hits or (node, "value", part) in self._hits:
            return
        self._hits.add((node, sort, part))
        self.launches.add(node)
        text = module.region_text(region)
        if is_decorated(module, region):
            self._dirty(module, region)
            if _is_kernel(text):
                for name in region.names if sort == "value" else ():
                    self._taint(module, name, "function")  # launches see how it is declared
                return
            for name in region.names or _defined(module, region):
                self._taint(module, name, "function" if region.kind == "def" else sort)
            self._serve(module, text)
            return
        if region.kind == "def":
            if sort == "value":
                self._look_below(module, text, factories=True)
            return
        if sort == "value" and region.kind != "class":
            self._settings(module, [_Piece(region, text)])
        for name in region.names or self._bound_with(module, region, through):
            self._taint(module, name, sort)
        self._look_below(module, text, factories=True)

    def _dirty(self, module: Module, region: Region) -> None:
        """The facts about the kernels and funcs in a region, and their effects, may be others."""
        node = (module.path, region.line)
        if node in self.kernels and node in self.effects:
            return
        self.kernels.add(node)
        self.effects.add(node)
        self._look_below(module, module.region_text(region))

    def _serve(self, module: Module, text: str) -> None:
        """A hand-written adjoint belongs to the func that its decorator names."""
        if _COMPANION.search(text):
            words = set(_WORD.findall(text))
            for region in decorated_regions(module):
                if not words.isdisjoint(region.names):
                    self._hit(module, region, "function")

    def _take(self, steps: int) -> None:
        self._steps += steps
        if self._steps > _MOST_STEPS:
            self.everything = True

    def _look_below(self, module: Module, text: str, factories: bool = False) -> None:
        """What funcs are called with has changed, or what factories are: those that a text in a module leads to."""
        if self._index is None:
            self._index = _Index(self._modules.values(), self._visible)
        index = self._index
        left = list(index.named_in(module, text))
        seen = set(left)
        while left and not self.everything:
            place = left.pop()
            found = set(index.leads(*place))
            self._take(1 + len(found))
            for module, region in index.callable.get(place, ()):
                node = (module.path, region.line)
                inside = module.region_text(region)
                if region.kind != "def" or len(_DEFINED.findall(inside)) != 1:
                    self._hit(module, region, "function")
                if not factories and node not in self._below:
                    self._below.add(node)
                    self.kernels.add(node)
                    found |= index.named_in(module, inside)
            left += found - seen
            seen |= found


class _Index:
    """The funcs and factories of a project by the path of their module and their name, and what else leads to them."""

    def __init__(self, modules: Iterable[Module], visible: Visible) -> None:
        self._visible = visible
        self.callable: dict[tuple[Path, str], list[tuple[Module, Region]]] = {}
        self._renamed: dict[tuple[Path, str], set[str]] = {}
        self._imported: dict[tuple[Path, str], set[str]] = {}
        self._starred: set[Path] = set()
        self._binding: dict[str, set[Path]] = {}
        for module in modules:
            self._add(module)

    def _add(self, module: Module) -> None:
        path = module.path
        for region in module.regions:
            if region.kind == "import":
                text = module.region_text(region)
                source = _FROM.match(text)
                if source is None or source[1] in ALWAYS_EXTERNAL:
                    continue  # what a module holds is found behind dots
                if "*" in text:
                    self._starred.add(path)
                for word in _WORD.findall(text):
                    self._bind(path, word, self._imported, {word})
                for original, alias in _ALIAS.findall(text) if " as " in text else ():
                    self._bind(path, alias, self._imported, {original})
            elif region.kind == "assign":
                words = set(_WORD.findall(module.region_text(region)))
                for name in region.names:
                    self._bind(path, name, self._renamed, words)
            elif region.kind == "other":
                for name, binder in binders(module.read(region)):
                    lines = module.lines[binder.span.line - 1 : binder.span.end_line]
                    words = {word for line in lines for word in _WORD.findall(line)}
                    self._bind(path, name, self._renamed, words)
                    if isinstance(binder, (ir.Import, ir.ImportFrom)):
                        self._bind(path, name, self._imported, words)
        for region in decorated_regions(module):
            text = module.region_text(region)
            if _is_kernel(text) and region.kind == "def":
                continue
            # What is inside is found through the region around it.
            names = set(region.names) or _defined(module, region)
            if _COMPANION.search(text):
                names |= set(_WORD.findall(text[: text.find("def ")]))
            for name in names:
                self.callable.setdefault((path, name), []).append((module, region))
                self._binding.setdefault(name, set()).add(path)

    def _bind(self, path: Path, name: str, kind: dict[tuple[Path, str], set[str]], words: set[str]) -> None:
        kind.setdefault((path, name), set()).update(words)
        self._binding.setdefault(name, set()).add(path)

    def named_in(self, module: Module, text: str) -> set[tuple[Path, str]]:
        """What words in a module can stand for: names of its own, and of others behind dots."""
        path = module.path
        words = set(_WORD.findall(text))
        found = {(path, word) for word in words}
        anywhere = words if path in self._starred or _INNER_IMPORT.search(text) else set(_DOTTED.findall(text))
        for word in anywhere:
            found.update(self._elsewhere(path, word))
        return found

    def leads(self, path: Path, name: str) -> Iterator[tuple[Path, str]]:
        """What a name of a module is another name for."""
        for word in self._renamed.get((path, name), ()):
            yield path, word
        for word in self._imported.get((path, name), ()):
            yield from self._elsewhere(path, word)

    def _elsewhere(self, path: Path, word: str) -> Iterator[tuple[Path, str]]:
        """The names of other modules that a module can see."""
        for other in self._binding.get(word, ()):
            if other != path and self._visible.sees(path, other):
                yield other, word


def _is_kernel(text: str) -> bool:
    """Whether a decorated region is one kernel, without another function in it."""
    return "kernel" in text[: text.find("def ")] and len(_DEFINED.findall(text)) == 1 and "lambda" not in text


def _defined(module: Module, region: Region) -> set[str]:
    """The names of a region, and of all definitions in it."""
    return {*region.names, *_DEFINED.findall(module.region_text(region))}
