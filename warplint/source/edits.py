"""Edits of source text: putting them in, where everything else comes to stand, and writing the result."""

from __future__ import annotations

import io
import os
import re
import tempfile
import tokenize
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from pathlib import Path

from warplint.ir.fixes import Edit
from warplint.ir.spans import Span

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|$)")
_END = re.compile(r"[\r\n]*$")


def in_order(edits: Iterable[Edit]) -> list[Edit]:
    """The distinct edits of one file, first to last."""
    return sorted(set(edits), key=lambda edit: (edit.location.span, edit.text))


def apart(edits: Iterable[Edit], others: Iterable[Edit]) -> bool:
    """Whether each edit is also among ``others``, or touches none of them."""
    others = list(others)
    return all(edit in others or not any(_touch(edit, other) for other in others) for edit in edits)


def _touch(one: Edit, other: Edit) -> bool:
    if one.location.path != other.location.path:
        return False
    first, second = one.location.span, other.location.span
    return first[:2] <= second[2:] and second[:2] <= first[2:]


def edited(text: str, edits: Iterable[Edit]) -> str:
    """``text`` with edits that touch one another nowhere. Newlines in it may be of any kind, and stay what they are."""
    lines = [line for line in _LINE.findall(text) if line] or [""]
    starts = _starts(lines)
    parts, position = [], 0
    for edit in in_order(edits):
        span = edit.location.span
        start, end = starts[span.line - 1] + span.column - 1, starts[span.end_line - 1] + span.end_column - 1
        assert position <= start <= end <= len(text), "edits overlap, or lie outside the text"
        newline = _ending(lines[span.line - 1]) or _ending(lines[0]) or "\n"
        parts += [text[position:start], edit.text.replace("\n", newline)]
        position = end
    return "".join([*parts, text[position:]])


def _ending(line: str) -> str:
    found = _END.search(line)
    return found[0] if found else ""


def _starts(lines: Sequence[str]) -> list[int]:
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    return starts


class Moved:
    """Where places of a text (with LF newlines) are once edits have been put in."""

    def __init__(self, text: str, edits: Iterable[Edit]) -> None:
        edits = in_order(edits)
        self._old = _starts(_LINE.findall(text))
        self._new = _starts(_LINE.findall(edited(text, edits)))
        #: Start, end and new length of what changed, as offsets in the old text.
        self._changes = [(self._at(edit, 0), self._at(edit, 2), len(edit.text)) for edit in edits]

    def _at(self, edit: Edit, first: int) -> int:
        span = edit.location.span
        return self._old[span[first] - 1] + span[first + 1] - 1

    def span(self, span: Span) -> Span:
        """The new place of a span; one that was replaced is where the replacement is."""
        start = self._moved(self._old[span.line - 1] + span.column - 1, False)
        end = self._moved(self._old[span.end_line - 1] + span.end_column - 1, True)
        return Span(*self._place(start), *self._place(max(start, end)))

    def _moved(self, offset: int, is_end: bool) -> int:
        shift = 0
        for start, end, length in self._changes:
            if end <= offset and (start < offset or start == end):
                shift += length - (end - start)
            elif start < offset:  # inside what was replaced
                return start + shift + (length if is_end else 0)
        return offset + shift

    def _place(self, offset: int) -> tuple[int, int]:
        line = min(bisect_right(self._new, offset), len(self._new) - 1)
        return line, offset - self._new[line - 1] + 1


def encoding_of(data: bytes) -> str:
    """The encoding of source text, by its byte-order mark or coding line. Raises SyntaxError for one unknown."""
    return tokenize.detect_encoding(io.BytesIO(data).readline)[0]


def encoded(text: str) -> bytes:
    """The text in the encoding that its first lines declare. Raises SyntaxError and UnicodeEncodeError."""
    return text.encode(encoding_of(text.encode("utf-8", "replace")))


def replace_file(path: Path, data: bytes) -> None:
    """Give a file new contents in one step: an interrupt leaves the old ones or the new ones. Raises OSError."""
    target = Path(os.path.realpath(path))
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, target.stat().st_mode)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise
