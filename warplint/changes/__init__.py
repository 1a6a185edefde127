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

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Literal

from warplint.changes.naming import (
    ALIAS,
    COMPANION,
    INNER_IMPORT,
    WORD,
    Index,
    Walk,
    class_level,
    defined,
    is_factory,
    is_kernel,
    mentioned,
)
from warplint.changes.pieces import Piece, bound, compare, only_body, otherwise_imported
from warplint.ir.effects import Uses
from warplint.ir.runs import KeptModule
from warplint.ir.spans import Location, Span
from warplint.kernels.options import decorated_regions, is_decorated
from warplint.source.bindings import binders
from warplint.source.files import digest_of
from warplint.source.project import Module, Project
from warplint.source.regions import Region
from warplint.source.visible import Visible

#: A region by the path of its file and its first line.
Node = tuple[Path, int]

_Sort = Literal["function", "value"]

#: What options of kernels are told from, wherever it stands outside of definitions (``kernels/options.py``).
_OPTIONS = re.compile(r"set_module_options|\.options\b|enable_backward")
_SETTINGS = re.compile(r"\bconfig\b")
#: What gives a decorator another name.
_ROLES = re.compile(r"\b(?:kernel|func|func_grad|func_replay|func_native)\b")


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
        self._lines: dict[Path, tuple[tuple[int, int, int], ...]] = {}
        self._hits: set[tuple[Node, _Sort, str]] = set()
        self._tainted: set[tuple[Path, str, _Sort]] = set()
        self._queue: list[tuple[Module, str, _Sort]] = []
        self._below: set[Node] = set()
        self._funcs, self._factories = (Walk(lambda: self._index) for _ in range(2))
        # The modules where a name has been looked for, as bits.
        self._done: dict[tuple[str, _Sort], int] = {}
        #: Whether no text has changed at all.
        self.nothing = not self.everything
        for path, module in self._modules.items() if not self.everything else ():
            old = before[path]
            if digest_of(module.text) != old.digest:
                self.nothing = False
                self._compare(module, old)
        self._follow()

    @cached_property
    def _index(self) -> Index:
        return Index(self._visible)

    def of_uses(self, old: Uses, new: Uses) -> frozenset[Node]:
        """The regions whose facts about kernels may be others, now that it is known how host code uses kernels."""
        for kernel in old.keys() | new.keys():
            if old.get(kernel) != new.get(kernel) and kernel[0] in self._modules:
                module = self._modules[kernel[0]]
                top = kernel[1].partition(".")[0]
                for region in module.regions:
                    if region.kind not in ("import", "assign") and top in defined(module, region):
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
        found = compare(module, kept)
        self._lines[module.path] = found.same
        for old, new in found.others:
            self._changed(module, old, new)

    def _changed(self, module: Module, old: Piece | None, new: Piece | None) -> None:
        pieces = [piece for piece in (old, new) if piece is not None]
        kinds = {piece.region.kind for piece in pieces}
        if not kinds <= {"def", "class"}:
            self._settings(module, pieces)
        if new is not None:
            self._dirty(module, new.region)
            self.launches.add((module.path, new.region.line))
        for piece in pieces:
            # Callers and factories that it names, or named.
            self._look_below(module, piece.text)
            self._look_for_factories(module, piece.text)
        if old is not None and new is not None and only_body(self._project, module, old, new):
            return
        sort: _Sort = "function" if kinds == {"def"} else "value"
        if kinds == {"import"}:
            names = otherwise_imported(self._project, module, old, new)
        else:
            names = {name for piece in pieces for name in bound(self._project, module, piece)}
        if "*" in names:
            self.everything = True
        for name in names:
            self._taint(module, name, sort)
        for piece in pieces:
            self._serve(module, piece.text)

    def _settings(self, module: Module, pieces: Iterable[Piece]) -> None:
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

    # --- what that makes a difference to ---

    def _taint(self, module: Module, name: str, sort: _Sort) -> None:
        if name == "__all__":
            return  # nothing stands for it; what it lists is compared with the whole text
        key = (module.path, name, sort)
        if key not in self._tainted and (module.path, name, "value") not in self._tainted:
            self._tainted.add(key)
            self._queue.append((module, name, sort))

    def _follow(self) -> None:
        while not self.everything:
            if self._funcs or self._factories:
                self._lead()
                continue
            if not self._queue:
                return
            module, name, sort = self._queue.pop()
            for region in module.regions_matching(re.compile(rf"{re.escape(name)}\b"), whole=True):
                self._named(module, region, name, sort)
            done = self._done.get((name, "value"), 0) | self._done.get((name, sort), 0)
            for place, other in self._visible.mentioning(name, module.path, done):
                if other is module:
                    continue
                done |= 1 << place
                for region in _mentioning(other, name):
                    self._named(other, region, name, sort)
            self._done[name, sort] = done

    def _named(self, module: Module, region: Region, name: str, sort: _Sort) -> None:
        """A region has a name in it that stands, or can stand, for something that has changed."""
        if region.kind != "import":
            self._hit(module, region, sort, name)
            return
        self._taint(module, name, sort)
        for original, alias in ALIAS.findall(module.region_text(region)):
            if original == name:
                self._taint(module, alias, sort)

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
            self._look_for_factories(module, text)
            if is_kernel(text):
                for name in region.names if sort == "value" else ():
                    self._taint(module, name, "function")  # launches see how it is declared
                return
            for name in region.names or defined(module, region):
                self._taint(module, name, "function" if region.kind == "def" else sort)
            self._serve(module, text)
            return
        if region.kind == "def":
            if sort == "value":
                self._look_for_factories(module, text)
            return
        if sort == "function" and region.kind == "class" and not mentioned(through, class_level(module, region)):
            return  # host code in its methods
        if sort == "value" and region.kind != "class":
            self._settings(module, [Piece(region, text)])
        for name in region.names or self._bound_with(module, region, through):
            self._taint(module, name, sort)
        self._look_for_factories(module, text)

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
        if COMPANION.search(text):
            words = set(WORD.findall(text))
            for region in decorated_regions(module):
                if not words.isdisjoint(region.names):
                    self._hit(module, region, "function")

    def _look_below(self, module: Module, text: str) -> None:
        """What funcs are called with has changed: those that a text in a module leads to."""
        self._funcs.start(module, text)

    def _look_for_factories(self, module: Module, text: str) -> None:
        """What factories are handed has changed: those that a text in a module leads to."""
        self._factories.start(module, text)

    def _lead(self) -> None:
        """Take one step further, to funcs or to factories."""
        if not self._funcs:
            for module, region in self._factories.step():
                if is_factory(module, region):
                    self._hit(module, region, "function")
            return
        for module, region in self._funcs.step():
            node = (module.path, region.line)
            if node not in self._below:
                self._below.add(node)
                self.kernels.add(node)
                # What those call is met in another way, too. What they hand to factories is what it was.
                self._look_below(module, module.region_text(region))


def _mentioning(module: Module, name: str) -> Iterator[Region]:
    """The regions in which a name can stand for what another module binds to it."""
    dotted = re.compile(rf"\.\s*{re.escape(name)}\b")
    starred = any(region.kind == "import" and "*" in module.region_text(region) for region in module.regions)
    for region in module.regions_matching(re.compile(rf"{re.escape(name)}\b"), whole=True):
        if region.kind == "import" or starred:
            yield region
            continue
        text = module.region_text(region)
        if dotted.search(text) or INNER_IMPORT.search(text):
            yield region
