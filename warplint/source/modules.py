"""A module: one file, its regions, and the statements in them, read when first asked for."""

from __future__ import annotations

import bisect
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar, cast

from warplint.ir import syntax as ir
from warplint.records import dataclass
from warplint.source.bindings import Binder, binders
from warplint.source.regions import Region

if TYPE_CHECKING:
    from warplint.source.project import Project

Value = TypeVar("Value")

#: The functions and classes around a place, outermost first.
Scope: TypeAlias = "tuple[ir.FunctionDef | ir.ClassDef, ...]"

# `global` inside a function lets it bind names of the module.
_GLOBAL = re.compile(r"(?:[^\n]*?[;:])??[ \t\f]*global[ \t]+(?P<names>\w+(?:[ \t]*,[ \t]*\w+)*)")

_WORD = re.compile(r"\w+")
_NAME = re.compile(r"[^\W\d]\w*")
_LONGEST_NAME = 200

# Pieces of knowledge about texts that are kept, for each region.
_KNOWN_TEXTS = 10

# What is exported, where that is written out.
_ALL = re.compile(
    r"__all__\s*(?::[^=\n]+)?(?:\+?=|\.extend\()\s*([\[(](?:\s|,|#[^\n]*|'\w+'|\"\w+\")*[\])])(?=[ \t]*(?:[);#\n]|\Z))"
)
_QUOTED = re.compile(r"['\"](\w+)['\"]")

_WALRUS = re.compile(r"\b(\w+)(?:\s|\\\n)*:=")


@dataclass(frozen=True, slots=True)
class Definition:
    """A function or class of the project and the scope that it is defined in (without itself).

    ``given``: what names in its body mean in one of the runs of the factory around it, where these are functions.
    """

    module: Module
    node: ir.FunctionDef | ir.ClassDef
    scope: Scope
    given: tuple[tuple[str, Definition], ...] = ()

    @property
    def qualname(self) -> str:
        """The dotted name inside the module: ``outer.inner``, ``Class.method``."""
        if not self.scope:
            return self.node.name
        return ".".join([*(outer.name for outer in self.scope), self.node.name])

    @property
    def key(self) -> tuple[object, ...]:
        """What tells it from all other definitions of the project, and from itself with other functions given."""
        given = tuple((name, inner.key) for name, inner in self.given)
        return (self.module.path, self.qualname, self.node.span.line, given)

    @property
    def inner_scope(self) -> Scope:
        """The scope of the definition's own body."""
        return (*self.scope, self.node)


class Module:
    """One file: its text, its regions, and the statements in them."""

    def __init__(
        self,
        project: Project,
        path: Path,
        name: str,
        text: str,
        regions: tuple[Region, ...],
        statements: dict[int, tuple[ir.Stmt, ...]] | None = None,
        newer: bool = False,
    ) -> None:
        self.project = project
        self.path = path
        #: The dotted name by which siblings import it.
        self.name = name
        self.text = text
        self.regions = regions
        #: Whether its syntax is newer than the running Python's.
        self.newer = newer
        self._of_texts: dict[tuple[object, str], object] = {}
        self._bound: dict[str, tuple[Binder, ...]] = {}
        #: What analyses keep for as long as the module lives, by their own keys.
        self.kept: dict[object, object] = {}
        #: Names that were looked for, and those of them that are among its words, where another process looked.
        self.files_named: tuple[frozenset[str], frozenset[str]] | None = None
        #: Whether every region that was asked for could be read.
        self.complete = True
        self._read: dict[int, tuple[ir.Stmt, ...]] = {} if statements is None else statements

    def __repr__(self) -> str:
        return f"Module({self.name!r})"

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the text without their newlines."""
        return self.text.split("\n")

    @property
    def unread(self) -> bool:
        """Whether no region has been read yet."""
        return not self._read

    @property
    def is_package(self) -> bool:
        """Whether this is the ``__init__`` of a package."""
        return self.path.stem == "__init__"

    def region_text(self, region: Region) -> str:
        """The lines of a region."""
        return self.text[region.start : region.end]

    def region_at(self, line: int) -> Region | None:
        """The region that holds a line, None for what stands before the first."""
        index = bisect.bisect_right(self.regions, line, key=lambda region: region.line) - 1
        return self.regions[index] if index >= 0 and line <= self.regions[index].end_line else None

    def region_with(self, position: int) -> Region | None:
        """The region that holds the character at an offset of the text, None for what stands before the first."""
        index = bisect.bisect_right(self.regions, position, key=lambda region: region.start) - 1
        return self.regions[index] if index >= 0 else None

    def read(self, region: Region) -> tuple[ir.Stmt, ...]:
        """The statements of a region; none, and a problem in the project's list, if it cannot be read."""
        found = self._read.get(region.line)
        if found is None:
            statements = self.project.read(self.path, self.region_text(region), region)
            if statements is None:
                self.complete = False
            found = self._read[region.line] = statements or ()
        return found

    def of_text(self, region: Region, about: Callable[[str], Value]) -> Value:
        """``about`` of the text of a region, which is asked once; later versions of the file take that over."""
        key = (about, self.text[region.start : region.end])
        if key not in self._of_texts:
            self._of_texts[key] = about(key[1])
        return cast(Value, self._of_texts[key])

    def take(self, before: Module) -> None:
        """Take over the statements of those regions that an earlier version of the file has at the same lines, and what
        is known of texts."""
        if len(before._of_texts) <= _KNOWN_TEXTS * len(self.regions) + _KNOWN_TEXTS:
            self._of_texts = before._of_texts
        known = {region.line: region for region in before.regions if before._read.get(region.line)}
        for region in self.regions:
            old = known.get(region.line)
            if old is not None and before.region_text(old) == self.region_text(region):
                self._read[region.line] = before._read[region.line]

    def into(self, project: Project, again: frozenset[int] = frozenset()) -> Module:
        """This module in another project, with the regions whose first lines are in ``again`` to be read again."""
        kept = {line: statements for line, statements in self._read.items() if line not in again}
        module = Module(project, self.path, self.name, self.text, self.regions, kept, self.newer)
        module._of_texts = self._of_texts
        module.complete = self.complete
        return module

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

    @cached_property
    def rebound(self) -> frozenset[str]:
        """The names that functions of this module may bind in it with ``global``."""
        found: set[str] = set()
        position = self.text.find("global")
        while position >= 0:
            statement = _GLOBAL.match(self.text, self.text.rfind("\n", 0, position) + 1)
            while statement is not None:
                found.update(name.strip() for name in statement["names"].split(","))
                statement = _GLOBAL.match(self.text, statement.end())
            position = self.text.find("global", position + 1)
        return frozenset(found)

    @cached_property
    def walrus(self) -> frozenset[str]:
        """The names before any ``:=`` in the text. What they mean at a place is not known."""
        return frozenset(_WALRUS.findall(self.text)) if ":=" in self.text else frozenset()

    def bindings(self, name: str) -> tuple[Binder, ...]:
        """The statements at module level that bind ``name``, in order; ``*`` gives the star imports."""
        known = self._bound.get(name)
        if known is None:
            found: list[Binder] = []
            for entry in self._bindings.get(name, ()):
                if isinstance(entry, Region):
                    found.extend(node for bound, node in binders(self.read(entry)) if bound == name)
                else:
                    found.append(entry)
            known = self._bound[name] = tuple(found)
        return known

    def binds(self, name: str) -> bool:
        """Whether anything in the module may bind ``name`` at module level, star imports aside."""
        return name in self._bindings or name in self.rebound or name in self.walrus

    @cached_property
    def called(self) -> frozenset[str]:
        """The words that stand directly before a bracket anywhere in the text: all names that it can call are there,
        unless they are very long, and some from strings and comments."""
        # Backwards, so that each word is where its match starts.
        ends = {part[: -_LONGEST_NAME - 1 : -1] for part in self.text.split("(")}
        return frozenset([match[0][::-1] for match in map(_WORD.match, ends) if match])

    def words(self) -> frozenset[str]:
        """The words of the text, strings and comments included."""
        return frozenset(_NAME.findall(self.text))

    def regions_that_call(self, name: str) -> list[tuple[Region, list[int]]]:
        """The regions whose text contains ``name`` directly before a bracket, but for a definition of that name, and
        the lines where it does."""
        found: list[tuple[Region, list[int]]] = []
        if name not in self.called:
            return found
        text, needle = self.text, f"{name}("
        line, counted = 1, 0
        position = text.find(needle)
        while position >= 0:
            before = text[max(0, position - 4) : position]
            if before != "def " and not (before and (before[-1].isalnum() or before[-1] == "_")):
                line += text.count("\n", counted, position)
                counted = position
                region = self.region_at(line)
                if region is not None:
                    if not found or found[-1][0] is not region:
                        found.append((region, []))
                    found[-1][1].append(line)
            position = text.find(needle, position + 1)
        return found

    def exports(self, name: str) -> bool | None:
        """Whether ``import *`` brings a name of this module along, if it has it; None where that is not certain."""
        listed = self.exported
        if listed is None:
            return None if "__all__" in self.text and not self._is_quoted(name) else not name.startswith("_")
        return name in listed

    def _is_quoted(self, name: str) -> bool:
        return f'"{name}"' in self.text or f"'{name}'" in self.text

    @cached_property
    def exported(self) -> frozenset[str] | None:
        """What ``__all__`` lists; None where there is none, or where it is more than texts in brackets."""
        lists = _ALL.findall(self.text)
        if not lists or len(lists) != self.text.count("__all__"):
            return None
        return frozenset(_QUOTED.findall(" ".join(lists)))

    def names(self) -> tuple[str, ...]:
        """The names bound at module level."""
        return tuple(self._bindings)

    def regions_matching(self, pattern: re.Pattern[str], whole: bool = False) -> Iterator[Region]:
        """The regions in whose text ``pattern`` is found, in order; it must not match across the end of one.

        ``whole``: only where no letter, digit or underscore stands before it. A pattern that begins with fixed text is
        found many times as fast as one that begins with ``\\b``.
        """
        text, last = self.text, None
        for match in pattern.finditer(text):
            start = match.start()
            if whole and start and (text[start - 1].isalnum() or text[start - 1] == "_"):
                continue
            region = self.region_with(start)
            if region is not None and region is not last and match.end() <= region.end:
                yield region
                last = region

    def functions(self, pattern: re.Pattern[str] | None = None) -> Iterator[Definition]:
        """Every function in the file, outer ones first. With ``pattern``, only regions whose text matches are read."""
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
