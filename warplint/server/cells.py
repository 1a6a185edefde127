"""A notebook in an editor: its cells, and the one text that they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from pathlib import Path

from warplint.ir.spans import Location, file_and_cell
from warplint.records import dataclass
from warplint.source.notebooks import RELEVANT, Notebook, composed


@dataclass(slots=True)
class Cell:
    """One cell; ``code`` says whether it holds Python code."""

    uri: str
    code: bool
    version: int | None = None
    text: str = ""


@dataclass(frozen=True)
class Cells:
    """One version of all cells of a notebook. Cells count from 1, those that hold no code among them."""

    book: Notebook
    uris: tuple[str, ...]
    versions: tuple[int | None, ...]
    #: The texts as the editor has them; ``book`` has them as Python sees them.
    texts: tuple[str, ...]

    def uri(self, path: Path) -> str | None:
        """The URI of the cell that ``path`` stands for, None if it is no cell of this notebook."""
        file, cell = file_and_cell(path)
        return self.uris[cell - 1] if cell is not None and file == self.book.path else None

    def place(self, location: Location) -> tuple[int, Location]:
        """The index of the cell that a location in the whole text is in, and the location in that cell."""
        found = self.book.place(location)
        return (file_and_cell(found.path)[1] or 1) - 1, found

    def first_line(self, uri: str) -> int | None:
        """Where a cell begins in the whole text, counted from 1; None for one that holds no code."""
        number = self.uris.index(uri) + 1 if uri in self.uris else 0
        return self.book.starts[self.book.cells.index(number)] if number in self.book.cells else None

    def last_line(self, uri: str) -> int:
        """Where a code cell ends in the whole text."""
        number = self.uris.index(uri) + 1
        return self.book.starts[self.book.cells.index(number)] + len(self.book.lines(number)) - 1


@dataclass(slots=True)
class Pad:
    """The cells of a notebook as they change."""

    path: Path
    cells: list[Cell] = field(default_factory=list)

    def cell(self, uri: str) -> Cell | None:
        """The cell with a URI."""
        return next((cell for cell in self.cells if cell.uri == uri), None)

    def replace(self, start: int, count: int, cells: Sequence[Cell]) -> None:
        """Put ``cells`` in the place of ``count`` others."""
        known = {cell.uri: cell for cell in self.cells}
        for cell in cells:
            before = known.get(cell.uri)
            if before is not None and cell.version is None:  # it was moved
                cell.version, cell.text = before.version, before.text
        self.cells[start : start + count] = cells

    def cells_now(self) -> Cells:
        """This version."""
        sources = [(number, cell.text) for number, cell in enumerate(self.cells, 1) if cell.code]
        if not any(RELEVANT.search(text.encode("utf-8", "surrogatepass")) for _, text in sources):
            sources = []  # it is about something else
        return Cells(
            composed(self.path, sources),
            tuple(cell.uri for cell in self.cells),
            tuple(cell.version for cell in self.cells),
            tuple(cell.text for cell in self.cells),
        )
