"""What is open in the editor."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from pathlib import Path

from warplint.server.cells import Cells, Pad
from warplint.server.checking import Checked


@dataclass(slots=True)
class Document:
    """One open text, or a notebook as one text, and the newest answer."""

    uri: str
    path: Path
    version: int | None
    text: str
    #: The cells of a notebook: as they change, and as they are in ``text``.
    pad: Pad | None = None
    cells: Cells | None = None
    checked: Checked | None = None
    #: Whether ``checked`` is about ``text``.
    current: bool = False
    #: Counts the reasons for an answer: changes of the text, and of what it rests on.
    asked: int = 0
    #: Other files that hold findings of this one.
    elsewhere: set[Path] = field(default_factory=set)
    task: asyncio.Task[None] | None = None
    probe: asyncio.Task[None] | None = None
    settled: asyncio.Event = field(default_factory=asyncio.Event)
    #: The version that was answered last.
    told: int | None = None
    #: Counts the answers.
    answers: int = 0

    @property
    def as_file(self) -> str:
        """The contents of its file, as far as they count."""
        if self.pad is None:
            return self.text
        cells = [{"cell_type": "code" if cell.code else "markdown", "source": cell.text} for cell in self.pad.cells]
        return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})

    def version_of(self, uri: str) -> int | None:
        """The version of this text, or of one of its cells."""
        cell = self.pad.cell(uri) if self.pad is not None else None
        return self.version if cell is None else cell.version

    @property
    def uris(self) -> tuple[str, ...]:
        """The texts that its findings are shown in."""
        if self.pad is None:
            return (self.uri,)
        return tuple(cell.uri for cell in self.pad.cells if cell.code)
