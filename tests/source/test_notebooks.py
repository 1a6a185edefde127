"""Code cells of notebooks as Python text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from warplint.ir.facts import Problem
from warplint.ir.spans import Location, Span, cell_path, file_and_cell
from warplint.source.notebooks import Notebook, as_python, read_notebook


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = 1\ny = 2", ["x = 1", "y = 2"]),
        ("%matplotlib inline\nx = 1", ["pass", "x = 1"]),
        ("if x:\n    %time f()\n    y = 1", ["if x:", "    pass", "    y = 1"]),
        ("!pip install \\\n    warp-lang\nx = 1", ["pass", "", "x = 1"]),
        ("?f\nf?\nf.g??\nx = 1", ["pass", "pass", "pass", "x = 1"]),
        ("files = !ls\nt = %timeit -o f()", ["files = None", "t = None"]),
        ("%%time\nx = 1\n%ls", ["#", "x = 1", "pass"]),
        ("%%bash\necho warp\nls", ["#", "#", "#"]),
        ("%%html", ["#"]),
        ("x = (7\n  % 3)", ["x = (7", "  % 3)"]),  # no magic: Python reads it
        ("def f(:\n  % 3", ["def f(:", "  % 3"]),  # broken either way: left for the complaint about it
        ("", [""]),
    ],
)
def test_a_cell(source: str, expected: list[str]) -> None:
    assert as_python(source) == expected


def book(*cells: object, **metadata: object) -> bytes:
    return json.dumps({"nbformat": 4, "metadata": metadata, "cells": cells}).encode()


def code(source: object) -> dict[str, object]:
    return {"cell_type": "code", "source": source}


PATH = Path("/a/b.ipynb")


def read(data: bytes) -> Notebook:
    found = read_notebook(PATH, data)
    assert isinstance(found, Notebook)
    return found


def test_cells_are_counted_among_all() -> None:
    found = read(book({"cell_type": "markdown", "source": "# func"}, code(["x = 1\n", "y = 2"]), code("func()\n")))
    assert (found.text, found.cells, found.starts) == ("x = 1\ny = 2\nfunc()\n\n", (2, 3), (1, 3))
    assert (found.lines(2), found.lines(3)) == (["x = 1", "y = 2"], ["func()", "", ""])


@pytest.mark.parametrize(("line", "cell", "inside"), [(1, 2, 1), (2, 2, 2), (3, 3, 1)])
def test_places(line: int, cell: int, inside: int) -> None:
    found = read(book({"cell_type": "raw"}, code("x = 1\ny = 2"), code("func()")))
    place = found.place(Location(PATH, Span(line, 3, line, 5)))
    assert place == (cell_path(PATH, cell), Span(inside, 3, inside, 5))
    assert file_and_cell(place.path) == (PATH, cell)
    problem = found.problem(Problem(str(PATH), "syntax error", line, 7))
    assert (problem.path, problem.line, problem.column) == (f"/a/b.ipynb:cell {cell}", inside, 7)


def test_a_file_is_no_cell() -> None:
    assert file_and_cell(Path("/a/b.py")) == (Path("/a/b.py"), None)
    assert file_and_cell(PATH) == (PATH, None)


@pytest.mark.parametrize(
    "data",
    [
        book(code("func <- function(x) x"), language_info={"name": "R"}),
        book(code("func = 1;"), kernelspec={"language": "julia"}),
        book({"cell_type": "markdown", "source": "func"}, "func", None),
        b'{"cells": [about something else',
    ],
)
def test_what_holds_nothing_for_us(data: bytes) -> None:
    assert read(data).text.strip() == ""


BROKEN = [
    b"func",
    b"[]func",
    b'{"worksheets": "func"}',
    b'"func"',
    b"\xff\xfe func",
    b'{"cells": 3, "func": 1}',
    b"[" * 100_000 + b"func",
]


@pytest.mark.parametrize("data", BROKEN, ids=range(len(BROKEN)))
def test_what_is_no_notebook(data: bytes) -> None:
    found = read_notebook(PATH, data)
    assert isinstance(found, Problem) and "no notebook" in found.message


def test_a_source_of_another_form_is_empty() -> None:
    assert read(book(code({"func": 1}), code(["a\n", 3, "func"]))).text == "\na\nfunc\n"
