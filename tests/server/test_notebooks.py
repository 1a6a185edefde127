"""Notebooks: findings in their cells, which are those of the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls")

from client import PULLED, PUSHED, Client, place
from command import run_cheaply
from programs import IN_PLACE

SETUP = "%matplotlib inline\nimport warp as wp"
KERNEL = IN_PLACE.removeprefix("import warp as wp\n\n\n").rstrip()
OTHER = KERNEL.replace("attenuate", "darken")


class Book:
    """An editor's side of one notebook."""

    def __init__(self, editor: Client, path: Path) -> None:
        self.editor, self.uri, self.version = editor, path.as_uri(), 1
        self.cells: list[dict[str, Any]] = []

    def make(self, name: str, text: str, kind: int = 2) -> dict[str, Any]:
        uri = f"vscode-notebook-cell:{self.uri.removeprefix('file:')}#{name}"
        language = "python" if kind == 2 else "markdown"
        return {"uri": uri, "kind": kind, "languageId": language, "version": 1, "text": text}

    @staticmethod
    def _documents(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{key: cell[key] for key in ("uri", "languageId", "version", "text")} for cell in cells]

    @staticmethod
    def _cells(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{"kind": cell["kind"], "document": cell["uri"]} for cell in cells]

    def open(self, cells: list[dict[str, Any]]) -> None:
        self.cells = cells
        notebook = {"uri": self.uri, "notebookType": "jupyter-notebook", "version": 1, "cells": self._cells(cells)}
        self._say("didOpen", {"notebookDocument": notebook, "cellTextDocuments": self._documents(cells)})

    def _say(self, what: str, params: dict[str, Any]) -> None:
        self.editor.notify(f"notebookDocument/{what}", params)

    def _change(self, cells: dict[str, Any]) -> None:
        self.version += 1
        document = {"version": self.version, "uri": self.uri}
        self._say("didChange", {"notebookDocument": document, "change": {"cells": cells}})

    def replace(self, number: int, old: str, new: str) -> None:
        """Replace the only place of ``old`` in a cell."""
        cell = self.cells[number]
        start = cell["text"].index(old)
        where = {"start": place(cell["text"], start), "end": place(cell["text"], start + len(old))}
        cell["text"] = cell["text"].replace(old, new)
        cell["version"] += 1
        document = {"uri": cell["uri"], "version": cell["version"]}
        self._change({"textContent": [{"document": document, "changes": [{"range": where, "text": new}]}]})

    def splice(self, start: int, count: int, *cells: dict[str, Any]) -> None:
        """Put ``cells`` in the place of others."""
        gone, known = self.cells[start : start + count], {cell["uri"] for cell in self.cells}
        self.cells[start : start + count] = cells
        left = {cell["uri"] for cell in self.cells}
        self._change(
            {
                "structure": {
                    "array": {"start": start, "deleteCount": count, "cells": self._cells(list(cells))},
                    "didOpen": self._documents([cell for cell in cells if cell["uri"] not in known]),
                    "didClose": [{"uri": cell["uri"]} for cell in gone if cell["uri"] not in left],
                }
            }
        )

    def save(self, path: Path) -> None:
        kinds = {1: "markdown", 2: "code"}
        cells = [{"cell_type": kinds[cell["kind"]], "source": cell["text"]} for cell in self.cells]
        path.write_text(json.dumps({"nbformat": 4, "metadata": {}, "cells": cells}))
        self._say("didSave", {"notebookDocument": {"uri": self.uri}})

    def codes(self) -> list[list[tuple[str, int]]]:
        """Rules and lines (from 1) by cell, once they are those of the newest versions."""
        pushed = self.editor.pushed
        for cell in self.cells:
            if cell["kind"] == 2:
                self.editor.wait(lambda: pushed.get(cell["uri"], (None,))[0] == cell["version"], cell["uri"])  # noqa: B023
        return [self._told(pushed.get(cell["uri"], (None, []))[1]) for cell in self.cells]

    @staticmethod
    def _told(found: list[dict[str, Any]]) -> list[tuple[str, int]]:
        return [(one["code"], one["range"]["start"]["line"] + 1) for one in found]

    def wait(self, wanted: list[list[tuple[str, int]]]) -> None:
        self.editor.wait(lambda: self.codes() == wanted, f"{wanted} in the notebook")


def test_findings_stand_in_cells(tmp_path: Path) -> None:
    path = tmp_path / "light.ipynb"
    with Client(tmp_path, PUSHED, {"probe": "manual"}) as editor:
        book = Book(editor, path)
        (selector,) = editor.server["notebookDocumentSync"]["notebookSelector"]
        assert selector["cells"] == [{"language": "python"}]
        book.open([book.make("a", SETUP), book.make("b", "# *text*", 1), book.make("c", "\n" + KERNEL)])
        book.wait([[], [], [("WP101", 5)]])
        (found,) = editor.pushed[book.cells[2]["uri"]][1]
        assert found["relatedInformation"][0]["location"]["uri"] == book.cells[2]["uri"]

        # it is what the command line says
        book.save(path)
        done = run_cheaply("--no-probe", "--output-format", "json", str(path), cwd=tmp_path)
        told = [(one["rule"], one["cell"], one["line"]) for one in json.loads(done.stdout)["findings"]]
        assert told == [("WP101", 3, 5)]

        # lenses and hovers know their cells
        assert editor.request("textDocument/codeLens", {"textDocument": {"uri": book.cells[0]["uri"]}}) == []
        (lens,) = editor.request("textDocument/codeLens", {"textDocument": {"uri": book.cells[2]["uri"]}})
        assert lens["range"]["start"]["line"] == 1
        where = {"textDocument": {"uri": book.cells[2]["uri"]}, "position": {"line": 4, "character": 6}}
        assert "WP101" in editor.request("textDocument/hover", where)["contents"]["value"]

        # cells are added, moved, edited, broken, repaired and taken away
        book.splice(3, 0, book.make("d", OTHER))
        book.wait([[], [], [("WP101", 5)], [("WP101", 4)]])
        book.splice(2, 2, book.cells[3], book.cells[2])
        book.wait([[], [], [("WP101", 4)], [("WP101", 5)]])
        book.replace(2, "light[i] *=", "light[i] =")
        book.wait([[], [], [], [("WP101", 5)]])
        book.replace(3, "passed[i]", "passed[i")
        book.wait([[], [], [], [("unread", 5)]])
        book.replace(3, "passed[i", "passed[i]")
        book.wait([[], [], [], [("WP101", 5)]])
        book.replace(0, "import warp as wp", "import warp as w")
        book.wait([[], [], [], []])
        book.replace(0, "import warp as w", "import warp as wp")
        book.wait([[], [], [], [("WP101", 5)]])

        # a comment is written into the cell
        (change,) = editor.actions(book.cells[3]["uri"], 5)["Suppress WP101 here, with a reason"]["edit"][
            "documentChanges"
        ]
        assert change["textDocument"] == {"uri": book.cells[3]["uri"], "version": book.cells[3]["version"]}
        assert change["edits"][0]["range"]["start"]["line"] == 4

        gone = book.cells[3]["uri"]
        book.splice(3, 1)
        editor.wait(lambda: editor.pushed[gone][1] == [], "the diagnostics of a cell that is gone to go")
        book.replace(2, "light[i] =", "light[i] *=")
        book.wait([[], [], [("WP101", 4)]])
        editor.notify(
            "notebookDocument/didClose",
            {
                "notebookDocument": {"uri": book.uri},
                "cellTextDocuments": [{"uri": cell["uri"]} for cell in book.cells],
            },
        )
        editor.wait(lambda: not any(found for _, found in editor.pushed.values()), "all diagnostics to go")


def test_evidence_in_cells(tmp_path: Path) -> None:
    path = tmp_path / "light.ipynb"
    with Client(tmp_path, PULLED, WARP_CACHE_PATH=str(tmp_path / "warp-cache")) as editor:
        book = Book(editor, path)
        book.open([book.make("a", SETUP), book.make("c", KERNEL)])
        asked = {"textDocument": {"uri": book.cells[1]["uri"]}}
        (found,) = editor.request("textDocument/diagnostic", asked)["items"]
        assert found["data"]["evidence"]["verdict"] == "unprobed"
        book.save(path)
        refreshed = "workspace/diagnostic/refresh"
        editor.wait(lambda: any(one["method"] == refreshed for one in editor.asked), "a call to ask again", 300)
        (found,) = editor.request("textDocument/diagnostic", asked)["items"]
        assert found["data"]["evidence"]["verdict"] == "confirmed"
        assert editor.pushed == {}
