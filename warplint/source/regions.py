"""Regions: the top-level statements of a file, found without parsing it.

A region is the unit of reading. Splitting blanks out strings and comments and then looks only at lines that start in
the first column, which costs a small part of a parse. The symbol table that Python made while it checked the file
tells whether the split is right; where it is not, the whole file is read and split by its statements.
"""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from warplint.ir import syntax as ir
from warplint.records import dataclass

if TYPE_CHECKING:
    import symtable

RegionKind = Literal["def", "class", "import", "assign", "other"]


@dataclass(frozen=True, slots=True)
class Region:
    """Whole lines ``line`` to ``end_line`` (from 1, inclusive): a top-level statement with its decorators, and what
    follows it up to the next one.

    ``names`` holds the one name that a def, class or plain assignment binds; it is empty for the other kinds. Several
    statements on one line are one region of kind ``other``, or ``import`` if the first is an import.
    ``start`` and ``end`` are the offsets of the lines in the text.
    """

    kind: RegionKind
    names: tuple[str, ...]
    line: int
    end_line: int
    start: int
    end: int

    def fields(self) -> tuple[RegionKind, tuple[str, ...], int, int, int, int]:
        """The fields in order."""
        return self.kind, self.names, self.line, self.end_line, self.start, self.end


#: Where a region starts, and what it is.
_Start = tuple[int, RegionKind, tuple[str, ...]]

_OPAQUE = re.compile(
    r"\#[^\n]*"
    r'|"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""'
    r"|'''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''"
    r'|"[^"\\\n]*(?:\\.[^"\\\n]*)*"'
    r"|'[^'\\\n]*(?:\\.[^'\\\n]*)*'",
    re.DOTALL,
)

# A line that can start a top-level statement. Closing brackets cannot, nor can the later clauses of a compound
# statement. A form feed sets Python's column back to the first.
_START = re.compile(
    r"\n(?:[ \t\f]*\f)?(?:"
    r"(?P<decorator>@)"
    r"|(?:async[ \t]+)?def[ \t]+(?P<def>\w+)"
    r"|class[ \t]+(?P<class>\w+)"
    r"|(?P<import>(?:from|import)\b)"
    r"|(?P<clause>(?:else|elif|except|finally)\b)"
    r"|(?!(?:try|with)\b)(?P<assign>\w+)[ \t]*(?::[^=\n]*)?(?<![=!<>:])=(?!=)"
    r"|(?P<other>[^\s)\]}]))"
)

_DECORATOR = re.compile(r"[ \t\f]*@")

# What makes more of an assignment than one name and its value.
_IN_ASSIGNMENT = re.compile(r"(?P<open>[(\[{])|(?P<close>[)\]}])|;|(?<![=!<>:])=(?!=)")

# What may stand before the first statement.
_HEAD = re.compile(r"(?:[ \t\f]*(?:#[^\n]*)?\n)*")

# At the top level, this means something for other statements.
_GLOBAL = re.compile(r"\bglobal\b")

# Scopes in a symbol table that are no definitions.
_SCOPES = {"lambda", "genexpr", "listcomp", "setcomp", "dictcomp", "__annotate__"}


def split(
    text: str, table: symtable.SymbolTable, read: Callable[[str, int], tuple[ir.Stmt, ...]]
) -> tuple[Region, ...]:
    """The regions of ``text`` in order. ``table`` is its symbol table.

    ``read`` is asked for the statements of the whole text if splitting by lines fails; what it raises passes through.
    """
    regions = _scan(text)
    if regions is not None and _agrees(regions, table):
        return regions
    return group(text, read(text, 1))


def split_again(text: str, before: str, regions: Sequence[Region]) -> tuple[Region, ...] | None:
    """The regions of ``text``, of which ``before`` (a text that Python accepted, with its ``regions``) is an earlier
    version; None where only ``split`` can tell.

    Statements that parse by themselves, each from the first column, parse the same one below the other. So Python is
    asked only about regions that were not there before.
    """
    first, last = _same(text, before, regions)
    first = max(0, first - 1)  # a clause may be added to a statement
    above, below = tuple(regions[:first]), _moved(regions[last:], text, before)
    start, line = (regions[first].start, regions[first].line) if first else (0, 1)
    scanned = _scan(text[start : below[0].start if below else len(text)])
    if scanned is None:
        return None
    new = tuple(_beyond(region, start, line - 1) for region in scanned)
    found = (*above, *new, *below)
    if not found or not _HEAD.fullmatch(text, 0, found[0].start) or ("global" in text and _GLOBAL.search(text)):
        return None
    known = {(region.kind, region.names, _trimmed(before, region)) for region in regions[first:last]}
    future = _future(text, found)
    if future is None:
        return None
    import symtable

    shift = future.count("\n")
    for region in new:
        if (region.kind, region.names, _trimmed(text, region)) in known:
            continue
        own = future + text[region.start : region.end]
        if "__future__" in own[len(future) :]:
            return None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                table = symtable.symtable(own, "<region>", "exec")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
        alone = Region(region.kind, region.names, 1, region.end_line - region.line + 1 + shift, 0, len(own))
        if not _agrees((alone,), table):
            return None
    return found


def statement_text(text: str) -> str:
    """The text of a region up to the end of its statement. A region goes on to the next one: how far away that is does
    not matter, nor what comments say before it."""
    text = text.rstrip()
    while "\n" in text:
        above, _, last = text.rpartition("\n")
        if not last.lstrip().startswith("#"):
            break
        text = above.rstrip()
    return text


def changed_piece(text: str, before: str, regions: Sequence[Region]) -> str:
    """What is new in ``text``, in whole regions of ``before``, with the one above: a clause may be added to it."""
    first, last = _same(text, before, regions)
    start = regions[first - 1].start if first else 0
    end = regions[last].start + len(text) - len(before) if last < len(regions) else len(text)
    return text[start : max(start, end)]


def _same(text: str, before: str, regions: Sequence[Region]) -> tuple[int, int]:
    """How many of the first ``regions`` of ``before`` stand in ``text`` where they stood, and the number of the first
    of those that stand at its end as they did."""
    first, last = 0, len(regions)
    if regions and text.startswith(before[: regions[0].start]):
        while first < last and text.startswith(before[regions[first].start : regions[first].end], regions[first].start):
            first += 1
    shift = len(text) - len(before)
    while last > first and regions[last - 1].start + shift >= (regions[first - 1].end if first else 0):
        own = regions[last - 1]
        if not text.startswith(before[own.start : own.end], own.start + shift):
            break
        last -= 1
    return first, last


def _moved(regions: Sequence[Region], text: str, before: str) -> tuple[Region, ...]:
    """The last regions of ``before`` where they stand in ``text``."""
    if not regions:
        return ()
    shift = len(text) - len(before)
    start = regions[0].start
    lines = text.count("\n", 0, start + shift) - before.count("\n", 0, start)
    return tuple(_beyond(region, shift, lines) for region in regions)


def _beyond(region: Region, shift: int, lines: int) -> Region:
    """A region so many characters and lines further down."""
    if not shift and not lines:
        return region
    place = (region.line + lines, region.end_line + lines, region.start + shift, region.end + shift)
    return Region(region.kind, region.names, *place)


def _trimmed(text: str, region: Region) -> str:
    """A region without the empty lines behind it."""
    return text[region.start : region.end].rstrip(" \t\n")


def _future(text: str, regions: Sequence[Region]) -> str | None:
    """The imports from ``__future__``, which change how all that follows is compiled; None for those that may stand in
    the wrong place."""
    found = ""
    for number, region in enumerate(regions if "__future__" in text else ()):
        own = text[region.start : region.end]
        if "__future__" in own:
            if region.kind != "import" or number > 1 or (number == 1 and text[regions[0].start] not in "\"'"):
                return None
            found += own
    return found


def group(text: str, statements: tuple[ir.Stmt, ...]) -> tuple[Region, ...]:
    """The regions of ``text``, whose statements are known."""
    offsets = [0, *(newline.end() for newline in re.finditer("\n", text))]
    starts: list[_Start] = []
    previous = 0
    for statement in statements:
        line = statement.span.line
        if isinstance(statement, (ir.FunctionDef, ir.ClassDef)) and statement.decorators:
            # Before the decorators' `@`, which has no span, stand only comments and empty lines.
            line = previous + 1
            while not _DECORATOR.match(text, offsets[line - 1]):
                line += 1
        if line <= previous:
            start, kind, _ = starts.pop()
            starts.append((start, "import" if kind == "import" else "other", ()))
        else:
            starts.append((offsets[line - 1], *_described(statement)))
        previous = statement.span.end_line
    return _regions(text, starts)


def grouped(regions: tuple[Region, ...], statements: tuple[ir.Stmt, ...]) -> dict[int, tuple[ir.Stmt, ...]]:
    """The statements that stand in each region, by the region's first line."""
    found: dict[int, list[ir.Stmt]] = {region.line: [] for region in regions}
    starts = iter(regions)
    region = next(starts, None)
    for statement in statements:
        while region is not None and statement.span.line > region.end_line:
            region = next(starts, None)
        assert region is not None
        found[region.line].append(statement)
    return {line: tuple(inside) for line, inside in found.items()}


def _described(statement: ir.Stmt) -> tuple[RegionKind, tuple[str, ...]]:
    if isinstance(statement, ir.FunctionDef):
        return "def", (statement.name,)
    if isinstance(statement, ir.ClassDef):
        return "class", (statement.name,)
    if isinstance(statement, (ir.Import, ir.ImportFrom)):
        return "import", ()
    target: ir.Expr | None = None
    if isinstance(statement, ir.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
    elif isinstance(statement, ir.AnnAssign) and statement.value is not None:
        target = statement.target
    return ("assign", (target.id,)) if isinstance(target, ir.Name) else ("other", ())


def _scan(text: str) -> tuple[Region, ...] | None:
    """The regions by the lines that start in the first column; None if that cannot be right."""
    # With the newline in front, a match starts at the offset that its line has in the text.
    code = "\n" + _OPAQUE.sub(_blank, text)
    starts: list[_Start] = []
    previous = depth = 0
    decorated = False
    for match in _START.finditer(code):
        position = match.start()
        depth += _brackets(code, previous, position)
        previous = position
        what = match.lastgroup
        if depth or (position and code[position - 1] == "\\"):
            if depth < 0 or what in ("def", "class", "import"):
                return None  # a string that was not seen as one, as a format string may be from Python 3.12 on
            continue
        if what == "clause":
            continue
        if decorated:
            if what == "decorator":
                continue
            if what not in ("def", "class"):
                return None
            starts[-1] = (starts[-1][0], *_kind(what, match[what]))
            decorated = False
            continue
        decorated = what == "decorator"
        if what in ("def", "class", "assign"):
            starts.append((position, *_kind(what, match[what])))
        else:
            starts.append((position, "import" if what == "import" else "other", ()))
    if decorated or depth + _brackets(code, previous, len(code)):
        return None
    for index, (start, kind, _) in enumerate(starts):
        if kind == "assign":
            end = starts[index + 1][0] if index + 1 < len(starts) else len(text)
            if not _is_single(code, start + 1, end + 1):
                starts[index] = (start, "other", ())
    return _regions(text, starts)


def _blank(match: re.Match[str]) -> str:
    start, end = match.span()
    # A string can start a statement, a comment cannot.
    return (" " if match.string[start] == "#" else '"') * (end - start)


def _brackets(code: str, start: int, end: int) -> int:
    """How many more brackets open than close."""
    count = code.count
    return (
        count("(", start, end)
        + count("[", start, end)
        + count("{", start, end)
        - count(")", start, end)
        - count("]", start, end)
        - count("}", start, end)
    )


def _kind(what: str, name: str) -> tuple[RegionKind, tuple[str, ...]]:
    kind: RegionKind = "def" if what == "def" else "class" if what == "class" else "assign"
    # Python's parser normalizes identifiers (PEP 3131).
    return kind, (name if name.isascii() else unicodedata.normalize("NFKC", name),)


def _is_single(code: str, start: int, end: int) -> bool:
    """Whether an assignment has one target and nothing behind a semicolon; False also for some odd values."""
    depth = equal_signs = 0
    for match in _IN_ASSIGNMENT.finditer(code, start, end):
        if match.lastgroup == "open":
            depth += 1
        elif match.lastgroup == "close":
            depth -= 1
        elif depth == 0:
            equal_signs += 1
    return equal_signs == 1


def _regions(text: str, starts: list[_Start]) -> tuple[Region, ...]:
    """Regions that reach from each start to the next."""
    regions: list[Region] = []
    line = 1
    counted = 0
    for index, (start, kind, names) in enumerate(starts):
        end = starts[index + 1][0] if index + 1 < len(starts) else len(text)
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
