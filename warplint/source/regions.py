"""Regions: the top-level statements of a file, found without parsing it.

A region is the unit of parsing. Splitting looks only at lines that start in the first column, so it costs
a small part of a parse; the symbol table that Python made while it checked the file says whether the split is right,
and if it is not (a string that looks like code), Python's parser does it instead.
"""

from __future__ import annotations

import ast
import re
import symtable
from dataclasses import dataclass
from typing import Literal

RegionKind = Literal["def", "class", "import", "assign", "other"]


@dataclass(frozen=True, slots=True)
class Region:
    """Whole lines ``line`` to ``end_line`` (from 1, inclusive): one top-level statement with its decorators.

    ``names`` are the names that a def, class or plain assignment binds; empty for the other kinds.
    ``start`` and ``end`` are the offsets of the lines in the text.
    """

    kind: RegionKind
    names: tuple[str, ...]
    line: int
    end_line: int
    start: int
    end: int


# A line that can start a top-level statement. Comments and closing brackets cannot, nor can the
# later clauses of a compound statement.
_START = re.compile(
    r"^(?:(?P<decorator>@)"
    r"|(?:async[ \t]+)?def[ \t]+(?P<def>\w+)"
    r"|class[ \t]+(?P<class>\w+)"
    r"|(?P<import>(?:from|import)\b)"
    r"|(?P<clause>(?:else|elif|except|finally)\b)"
    r"|(?P<assign>\w+)[ \t]*(?::[^=\n]*)?=(?!=)"
    r"|(?P<other>[^\s#)\]}]))",
    re.MULTILINE,
)


def split(text: str, table: symtable.SymbolTable | None) -> tuple[Region, ...]:
    """The regions of ``text`` in order. ``table`` is the symbol table of the same text; without it
    ``text`` must be parsed by other means and this raises ValueError."""
    regions = _scan(text)
    if table is None:
        raise ValueError("a file without a symbol table has no regions")
    if _agrees(regions, table):
        return regions
    return _parse(text)


def _scan(text: str) -> tuple[Region, ...]:
    regions: list[Region] = []
    # (kind, names, start) of the region that is open, and how many triple quotes it has so far.
    kind: RegionKind | None = None
    names: tuple[str, ...] = ()
    start = 0
    decorated = False

    starts: list[tuple[int, RegionKind, tuple[str, ...]]] = []
    previous = 0
    doubles = singles = 0
    for match in _START.finditer(text):
        if kind is not None:
            doubles += text.count('"""', previous, match.start())
            singles += text.count("'''", previous, match.start())
            previous = match.start()
            if doubles % 2 or singles % 2 or text[: match.start()].endswith("\\\n"):
                continue  # inside a string or a continued line
        group = match.lastgroup
        if group == "clause":
            continue
        if decorated:
            # the decorators opened this region; it takes kind and name from its def or class
            if group in ("def", "class"):
                starts[-1] = (start, group, (match[group],))  # type: ignore[assignment]
                kind = starts[-1][1]
                decorated = False
            continue
        start = match.start()
        decorated = group == "decorator"
        if group in ("def", "class", "assign"):
            kind, names = group, (match[group],)  # type: ignore[assignment]
        else:
            kind, names = ("import" if group == "import" else "other"), ()
        starts.append((start, kind, names))
        previous = start
        doubles = singles = 0

    line = 1
    counted = 0
    for position, (start, kind, names) in enumerate(starts):
        end = starts[position + 1][0] if position + 1 < len(starts) else len(text)
        line += text.count("\n", counted, start)
        counted = start
        lines = text.count("\n", start, end) + (0 if text.endswith("\n", start, end) else 1)
        regions.append(Region(kind, names, line, line + lines - 1, start, end))
    return tuple(regions)


def _agrees(regions: tuple[Region, ...], table: symtable.SymbolTable) -> bool:
    """Whether the definitions that Python saw are exactly those of the def and class regions."""
    seen = [(child.get_lineno(), child.get_name()) for child in table.get_children()]
    definitions = [(line, name) for line, name in seen if name.isidentifier() and name not in _SCOPES]
    index = 0
    for region in regions:
        inside = []
        while index < len(definitions) and definitions[index][0] <= region.end_line:
            inside.append(definitions[index][1])
            index += 1
        if region.kind in ("def", "class"):
            if inside != list(region.names):
                return False
        elif region.kind in ("import", "assign") and inside:
            return False
    return index == len(definitions)


# Scopes that are no definitions.
_SCOPES = {"lambda", "genexpr", "listcomp", "setcomp", "dictcomp"}


def _parse(text: str) -> tuple[Region, ...]:
    offsets = [0]
    for line in text.splitlines(keepends=True):
        offsets.append(offsets[-1] + len(line))
    regions: list[Region] = []
    for node in ast.parse(text).body:
        line = node.lineno
        kind: RegionKind = "other"
        names: tuple[str, ...] = ()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            kind = "class" if isinstance(node, ast.ClassDef) else "def"
            names = (node.name,)
            line = min([line, *(decorator.lineno for decorator in node.decorator_list)])
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            kind = "import"
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if all(isinstance(target, ast.Name) for target in targets):
                kind = "assign"
                names = tuple(target.id for target in targets if isinstance(target, ast.Name))
        end_line = node.end_lineno or line
        if regions and regions[-1].end_line >= line:
            # several statements on one line are one region of unknown kind
            last = regions.pop()
            line, kind, names = last.line, "other", ()
        regions.append(Region(kind, names, line, end_line, offsets[line - 1], offsets[end_line]))
    return tuple(regions)
