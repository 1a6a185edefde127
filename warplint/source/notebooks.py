"""Jupyter notebooks: their code cells as one Python text, and places in it as places in cells."""

from __future__ import annotations

import ast
import bisect
import json
import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from warplint.ir.facts import Finding, Problem
from warplint.ir.spans import Location, Span, cell_path
from warplint.records import dataclass

#: Most notebooks are about something else.
RELEVANT = re.compile(b"warp|Tape|kernel|func")

#: Larger ones are not read. Pictures among the outputs make them far larger than Python files.
MAX_BYTES = 64_000_000

# IPython's own: `%time f()`, `!ls`, `?f`, and `f?`. The cell magics behind which Python code stands:
_LINE_MAGIC = re.compile(r"^(\s*)(?:[%!?]|\w[\w.]*\s*\?{1,2}\s*$)")
_ASSIGNED = re.compile(r"^(\s*[\w., ]+=\s*)[%!].*$")
_PYTHON_MAGICS = {"time", "timeit", "capture", "prun", "python", "python3", "debug", "memit", "mprun", "lprun"}


@dataclass(frozen=True)
class Notebook:
    """The text of all code cells, one below the other, and where each begins.

    ``cells`` are the numbers of the code cells, counted from 1 among all cells; ``starts`` are their first lines.
    """

    path: Path
    text: str
    cells: tuple[int, ...]
    starts: tuple[int, ...]

    def place(self, location: Location) -> Location:
        """A location in ``text`` as one in a cell."""
        index = self._index(location.span.line)
        shift = self.starts[index] - 1
        line, column, end_line, end_column = location.span
        return Location(
            cell_path(self.path, self.cells[index]), Span(line - shift, column, end_line - shift, end_column)
        )

    def problem(self, problem: Problem) -> Problem:
        """A problem with its line in ``text`` as one in a cell."""
        if problem.line is None or not self.cells:
            return problem
        index = self._index(problem.line)
        path = cell_path(self.path, self.cells[index])
        return Problem(str(path), problem.message, problem.line - self.starts[index] + 1, problem.column)

    def lines(self, cell: int) -> list[str]:
        """The lines of a cell, as far as Python sees them."""
        index = self.cells.index(cell)
        end = self.starts[index + 1] - 1 if index + 1 < len(self.starts) else len(self._lines)
        return self._lines[self.starts[index] - 1 : end]

    @cached_property
    def _lines(self) -> list[str]:
        return self.text.split("\n")

    def _index(self, line: int) -> int:
        return max(0, bisect.bisect_right(self.starts, line) - 1)


def read_notebook(path: Path, data: bytes | None = None) -> Notebook | Problem:
    """The notebook at ``path`` (``data`` instead of its contents, if given), or why there is none."""
    try:
        if data is None:
            size = path.stat().st_size
            if size > MAX_BYTES:
                return Problem(
                    str(path), f"the notebook has {size:,} bytes, more than {MAX_BYTES:,}; clear its outputs"
                )
            data = path.read_bytes()
        if not RELEVANT.search(data):
            return Notebook(path, "", (), ())
        document = json.loads(data)
    except OSError as error:
        return Problem(str(path), f"cannot read the file: {error.strerror or error}; check the path")
    except (ValueError, RecursionError):
        return Problem(str(path), "this is no notebook: its JSON is broken; open it in Jupyter and save it again")
    if not isinstance(document, dict) or not isinstance(document.get("cells"), list):
        return Problem(str(path), "this is no notebook of format 4; open it in Jupyter and save it again")
    if not _is_python(document):
        return Notebook(path, "", (), ())
    return composed(
        path,
        [
            (number, _source(cell.get("source")))
            for number, cell in enumerate(document["cells"], 1)
            if isinstance(cell, dict) and cell.get("cell_type") == "code"
        ],
    )


def composed(path: Path, sources: Iterable[tuple[int, str]]) -> Notebook:
    """The notebook whose code cells have the given numbers and texts."""
    cells: list[int] = []
    starts: list[int] = []
    text: list[str] = []
    for number, source in sources:
        cells.append(number)
        starts.append(len(text) + 1)
        text += as_python(_source(source))
    return Notebook(path, "\n".join([*text, ""]), tuple(cells), tuple(starts))


def in_cells(finding: Finding, notebooks: Mapping[Path, Notebook]) -> Finding:
    """A finding whose places in ``notebooks`` are told by their cells."""

    def place(location: Location) -> Location:
        book = notebooks.get(location.path)
        return location if book is None else book.place(location)

    labels = tuple(replace(label, location=place(label.location)) for label in finding.fact.labels)
    return replace(finding, fact=replace(finding.fact, location=place(finding.location), labels=labels))


def _source(value: object) -> str:
    if isinstance(value, list):
        value = "".join(part for part in value if isinstance(part, str))
    return value.replace("\r\n", "\n").replace("\r", "\n") if isinstance(value, str) else ""


def _is_python(document: dict[str, object]) -> bool:
    """Whether the code is in Python, as far as the notebook says."""
    metadata = document.get("metadata")
    for group, key in (("language_info", "name"), ("kernelspec", "language")):
        entry = metadata.get(group) if isinstance(metadata, dict) else None
        language = entry.get(key) if isinstance(entry, dict) else None
        if isinstance(language, str):
            return language.lower() in ("python", "ipython")
    return True


def as_python(source: str) -> list[str]:
    """The lines of a cell; what only IPython understands becomes ``pass``, ``None`` or a comment on the same line."""
    lines = source.split("\n")
    if _parses(source):
        return lines
    if source.startswith("%%"):
        words = lines[0][2:].split()
        if not words or words[0] not in _PYTHON_MAGICS:
            return ["#" for _ in lines]
        return ["#", *as_python("\n".join(lines[1:]))]
    found: list[str] = []
    continued = False
    for line in lines:
        magic = _LINE_MAGIC.match(line)
        if continued:
            found.append("")
            continued = line.endswith("\\")
        elif magic is not None:
            found.append(f"{magic[1]}pass")
            continued = line.endswith("\\")
        else:
            assigned = _ASSIGNED.match(line)
            found.append(line if assigned is None else f"{assigned[1]}None")
    # A line of an expression can begin with `%`, too: where that was no magic, the cell is better left as it is.
    return found if _parses("\n".join(found)) else lines


def _parses(source: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
