"""Places in source text."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class Span(NamedTuple):
    """A half-open range of source text: lines and columns count from 1, columns in code points."""

    line: int
    column: int
    end_line: int
    end_column: int

    def to(self, other: Span) -> Span:
        """The span from the start of this one to the end of ``other``."""
        return Span(self.line, self.column, other.end_line, other.end_column)

    def covers(self, other: Span) -> bool:
        """Whether ``other`` lies inside this span."""
        return self[:2] <= other[:2] and other[2:] <= self[2:]


class Location(NamedTuple):
    """A span in one file."""

    path: Path
    span: Span


# A cell of a notebook stands for a file of its own.
_CELL = ":cell "


def cell_path(path: Path, cell: int) -> Path:
    """The path that stands for a cell of the notebook at ``path``."""
    return path.with_name(f"{path.name}{_CELL}{cell}")


def file_and_cell(path: Path) -> tuple[Path, int | None]:
    """The file that a path stands for, and the number of the cell if it is a notebook."""
    name, _, cell = path.name.rpartition(_CELL)
    if name.endswith(".ipynb") and cell.isdecimal():
        return path.with_name(name), int(cell)
    return path, None


def displayed(path: Path) -> str:
    """``path`` as people read it: relative to the current folder when it lies inside, else as it is."""
    try:
        return str(path.relative_to(Path.cwd()))
    except (ValueError, OSError):  # OSError: the current folder is gone
        return str(path)
