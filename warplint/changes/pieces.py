"""Two versions of a file, region by region: which regions are the same, and what the others bind."""

from __future__ import annotations

import difflib
import re
import zlib
from collections.abc import Collection, Iterator, Sequence

from warplint.ir import syntax as ir
from warplint.ir.runs import KeptModule
from warplint.kernels.options import is_decorated
from warplint.records import dataclass
from warplint.source.bindings import binders
from warplint.source.project import Module, Project
from warplint.source.regions import Region, RegionKind, statement_text

#: A definition, and its name.
DEFINED = re.compile(r"\b(?:def|class)\s+(\w+)")

#: What is asked of the text of a whole file.
_DYNAMIC = re.compile(r"\b(?:globals|vars|exec|setattr|locals|__dict__)\b")
_WHOLE = ("enable_vector_component_overwrites", "__all__", "static", "yield")


@dataclass(frozen=True, slots=True)
class Piece:
    """A region of an old or of a new version, with its statements' text."""

    region: Region
    text: str

    @property
    def called(self) -> tuple[RegionKind, tuple[str, ...]]:
        """What it is, and its names."""
        return self.region.kind, self.region.names


#: A region before and after; None: there was none, or there is none any more.
Pair = tuple["Piece | None", "Piece | None"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is the same in two versions of a file (first and last line before, and by how many lines it has moved), what
    is not, and whether something has changed that is told from the whole text."""

    same: tuple[tuple[int, int, int], ...]
    others: tuple[Pair, ...]
    whole: bool


def compare(module: Module, kept: KeptModule) -> Comparison:
    """Compare a module with the one that an earlier run knew."""
    text = zlib.decompress(kept.text).decode("utf-8", "surrogatepass")
    regions = tuple(Region(*fields) for fields in kept.regions)
    olds = [Piece(region, statement_text(text[region.start : region.end])) for region in regions]
    news = [Piece(region, statement_text(module.region_text(region))) for region in module.regions]
    matcher = difflib.SequenceMatcher(None, [p.text for p in olds], [p.text for p in news], autojunk=False)
    same = tuple(
        (olds[block.a + n].region.line, olds[block.a + n].region.end_line, _shift(olds[block.a + n], news[block.b + n]))
        for block in matcher.get_matching_blocks()
        for n in range(block.size)
    )
    others = tuple(
        pair
        for tag, old_from, old_to, new_from, new_to in matcher.get_opcodes()
        if tag != "equal"
        for pair in _pairs(olds[old_from:old_to], news[new_from:new_to])
    )
    before = Module(module.project, module.path, module.name, text, regions)
    whole = _whole(module) != _whole(before)
    if whole:
        others += tuple((None, new) for new in news)
    return Comparison(same, others, whole)


def _shift(old: Piece, new: Piece) -> int:
    return new.region.line - old.region.line


def _pairs(olds: Sequence[Piece], news: Collection[Piece]) -> Iterator[Pair]:
    """Each of ``olds`` with the one of ``news`` that is called as it is."""
    left = list(news)
    for old in olds:
        twin = next((new for new in left if new.called == old.called), None)
        if twin is not None:
            left.remove(twin)
        yield old, twin
    for new in left:
        yield None, new


def _whole(module: Module) -> tuple[object, ...]:
    """What analyses tell from the text of a whole file."""
    text = module.text
    asked = tuple(word in text for word in _WHOLE)
    listed = module.exported
    exported = None if listed is None else tuple(sorted(listed))
    dynamic = _DYNAMIC.search(text) is not None
    return (tuple(sorted(module.walrus)), tuple(sorted(module.rebound)), exported, asked, dynamic)


def only_body(project: Project, module: Module, old: Piece, new: Piece) -> bool:
    """Whether nothing but the body of one kernel has changed, which nobody else looks into."""
    heads = []
    for piece in (old, new):
        text = piece.text
        if piece.region.kind != "def" or len(DEFINED.findall(text)) != 1 or "lambda" in text:
            return False
        head = _head(project, module, piece)
        if head is None or not re.search(r"@\s*(?:\w+\s*\.\s*)*kernel\b", head[0]):
            return False
        heads.append(head)
    return is_decorated(module, new.region) and heads[0] == heads[1]


def _head(project: Project, module: Module, piece: Piece) -> tuple[str, ...] | None:
    """What launches see of a kernel: its lines before the body, and those that ask for thread indices."""
    read = _read(project, module, piece)
    if len(read) != 1 or not isinstance(read[0], ir.FunctionDef) or not read[0].body:
        return None
    lines = piece.text.split("\n")
    inside = read[0].body[0].span.line - piece.region.line
    if inside < 1 or read[0].body[0].span.line <= read[0].name_span.end_line:
        return None
    return ("\n".join(lines[:inside]), *(line.split("#")[0] for line in lines[inside:] if "tid" in line))


def otherwise_imported(project: Project, module: Module, old: Piece | None, new: Piece | None) -> set[str]:
    """The names that two versions of an import bind to different things; ``*`` is one of them for a star import."""
    meant: list[dict[str, object]] = []
    for piece in (old, new):
        found: dict[str, object] = {}
        for statement in _read(project, module, piece) if piece is not None else ():
            if isinstance(statement, ir.Import):
                for dotted, alias in statement.names:
                    name = alias or dotted.partition(".")[0]
                    found[name] = (found.get(name), dotted, alias)
            elif isinstance(statement, ir.ImportFrom):
                for imported, alias in statement.names:
                    name = alias or imported
                    found[name] = (found.get(name), statement.level, statement.module, imported)
        meant.append(found)
    return {name for name in meant[0].keys() | meant[1].keys() if meant[0].get(name) != meant[1].get(name)}


def bound(project: Project, module: Module, piece: Piece) -> set[str]:
    """The names that a region binds; ``*`` is one of them for a star import."""
    if piece.region.kind in ("def", "class", "assign"):
        return set(piece.region.names)
    return {name for name, _ in binders(_read(project, module, piece))}


def _read(project: Project, module: Module, piece: Piece) -> tuple[ir.Stmt, ...]:
    try:
        return project.reader_for(module.path, piece.region)(piece.text, piece.region.line)
    except (SyntaxError, RecursionError):
        return ()
