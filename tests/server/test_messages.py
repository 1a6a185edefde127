"""Changes and positions, as the protocol counts them."""

from __future__ import annotations

import pytest

pytest.importorskip("lsprotocol")

from lsprotocol import types

from warplint.server import messages


def change(first: tuple[int, int], last: tuple[int, int], text: str) -> types.TextDocumentContentChangePartial:
    return types.TextDocumentContentChangePartial(types.Range(types.Position(*first), types.Position(*last)), text)


@pytest.mark.parametrize(
    ("before", "first", "last", "text", "after"),
    [
        ("a\nb\n", (0, 0), (0, 1), "x", "x\nb\n"),
        ("a\nb\n", (0, 1), (1, 0), "", "ab\n"),
        ("a\r\nb\rc", (2, 0), (2, 1), "x", "a\r\nb\rx"),
        # neither a form feed nor a line separator ends a line
        ("a\x0cb\nc\u2028d\ne", (1, 2), (1, 3), "x", "a\x0cb\nc\u2028x\ne"),
        # beyond the end of a line, and of the text
        ("ab\nc", (0, 9), (0, 9), "x", "abx\nc"),
        ("ab\nc", (9, 0), (9, 0), "x", "ab\ncx"),
        ("", (0, 0), (0, 0), "x", "x"),
    ],
)
def test_changes(before: str, first: tuple[int, int], last: tuple[int, int], text: str, after: str) -> None:
    assert messages.changed(before, change(first, last, text), "utf-16") == after


def test_a_change_of_everything() -> None:
    assert messages.changed("a", types.TextDocumentContentChangeWholeDocument("b"), "utf-16") == "b"


@pytest.mark.parametrize(("encoding", "character"), [("utf-8", 5), ("utf-16", 3), ("utf-32", 2)])
def test_columns(encoding: str, character: int) -> None:
    lines = ["a\U0001f600b"]
    assert messages.units(lines[0], 2, encoding) == character  # type: ignore[arg-type]
    assert messages.column(lines, types.Position(0, character), encoding) == 3  # type: ignore[arg-type]
