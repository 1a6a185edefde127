"""Edits are put in exactly where they belong, and places after them move along."""

from __future__ import annotations

from pathlib import Path

import pytest

from warplint.ir.fixes import Edit
from warplint.ir.spans import Location, Span
from warplint.source.edits import Moved, apart, edited, encoded

PATH = Path("a.py")


def edit(line: int, column: int, end_line: int, end_column: int, text: str, path: Path = PATH) -> Edit:
    return Edit(Location(path, Span(line, column, end_line, end_column)), text)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_newlines_stay_what_they_are(newline: str) -> None:
    text = newline.join(["a = 1", "b = 2", "c = 3"])
    edits = [edit(3, 5, 3, 6, "4"), edit(1, 6, 1, 6, "\nx = 0"), edit(2, 1, 2, 6, "b += 1")]
    assert edited(text, edits) == newline.join(["a = 1", "x = 0", "b += 1", "c = 4"])


def test_the_same_edit_twice_is_one() -> None:
    assert edited("a = 1", [edit(1, 3, 1, 3, "+"), edit(1, 3, 1, 3, "+")]) == "a += 1"


def test_columns_count_code_points() -> None:
    assert edited('s = "😀"; p.x += 1', [edit(1, 11, 1, 13, "[0]")]) == 's = "😀"; p[0] += 1'


def test_what_touches_is_not_apart() -> None:
    taken = [edit(2, 1, 2, 6, "b")]
    assert apart([edit(2, 1, 2, 6, "b")], taken)
    assert apart([edit(1, 1, 1, 6, "a"), edit(2, 8, 2, 9, "")], taken)
    assert apart([edit(2, 1, 2, 6, "c", Path("b.py"))], taken)
    for touching in (edit(2, 6, 2, 6, "x"), edit(1, 1, 3, 1, ""), edit(2, 3, 2, 4, "x")):
        assert not apart([touching], taken)


def test_places_move_with_the_text() -> None:
    text = "a = 1\nb = f(2)\nc = 3; d = 4\n"
    edits = [edit(1, 6, 1, 6, "\nx = 0"), edit(2, 8, 2, 8, ", True"), edit(3, 1, 3, 6, "cc =\\\n 3")]
    new = edited(text, edits)
    assert new == "a = 1\nx = 0\nb = f(2, True)\ncc =\\\n 3; d = 4\n"
    moved = Moved(text, edits)
    # The call grows with its argument, the replaced statement is its replacement, and what follows is found again.
    assert moved.span(Span(2, 5, 2, 9)) == Span(3, 5, 3, 15)
    assert moved.span(Span(3, 1, 3, 6)) == Span(4, 1, 5, 3)
    assert moved.span(Span(3, 8, 3, 13)) == Span(5, 5, 5, 10)
    assert moved.span(Span(1, 1, 1, 2)) == Span(1, 1, 1, 2)


def test_a_coding_line_says_how_text_is_written() -> None:
    assert encoded("# coding: latin-1\n# é\n") == b"# coding: latin-1\n# \xe9\n"
    assert encoded("# é\n") == "# é\n".encode()
