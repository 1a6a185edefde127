"""Source text with labels under it, as a compiler shows it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from warplint.ir.facts import Label, Severity
from warplint.ir.spans import Location, displayed
from warplint.records import dataclass
from warplint.report.model import Lines
from warplint.report.style import Style

TAB = 4
#: Cells of a source line that are shown; a longer one is cut around what is marked.
LONGEST = 200
_DOTS = "..."
# Lines between two labelled ones are shown up to this many; more give way to dots.
_BRIDGE = 2


@dataclass(frozen=True, slots=True)
class _Mark:
    """A label on the line that its span begins on. ``last`` is the line that the span ends on."""

    line: int
    start: int  # columns as shown, from 0
    end: int
    text: str
    primary: bool
    last: int


def gutter_width(primary: Location, labels: Sequence[Label]) -> int:
    """How many characters the line numbers beside a snippet take."""
    return len(str(max([primary.span.line, *(label.location.span.line for label in labels)])))


def snippet(
    primary: Location, severity: Severity, labels: Sequence[Label], lines: Lines, style: Style
) -> Iterator[str]:
    """The labelled lines of the file of ``primary``, then those of other files, each under its path."""
    by_path: dict[Path, list[Label]] = {primary.path: []}
    for label in labels:
        by_path.setdefault(label.location.path, []).append(label)
    own = by_path[primary.path]
    if not any(label.location == primary for label in own):
        own.append(Label(primary, ""))
    width = gutter_width(primary, labels)
    for path, group in by_path.items():
        first = primary if path == primary.path else min(label.location for label in group)
        arrow = "-->" if path == primary.path else ":::"
        place = f"{displayed(path)}:{first.span.line}:{first.span.column}"
        yield f"{' ' * width}{style.frame(arrow)} {style.link(place, path)}"
        yield from _file(primary, severity, group, lines(path), width, style)


def _file(
    primary: Location, severity: Severity, labels: Sequence[Label], text: Sequence[str], width: int, style: Style
) -> Iterator[str]:
    bar = style.frame(f"{' ' * width} |")
    marks: dict[int, list[_Mark]] = {}
    for label in labels:
        mark = _mark(label, text, label.location == primary)
        if mark is not None and mark not in marks.setdefault(mark.line, []):
            marks[mark.line].append(mark)
    yield bar
    previous: int | None = None
    for number in sorted(marks):
        if previous is not None:
            if number - previous - 1 <= _BRIDGE:
                for between in range(previous + 1, number):
                    yield _line(between, text, width, style)
            else:
                yield style.frame("...")
        shown = shown_text(text[number - 1]).rstrip()
        window = _window(shown, marks[number])
        yield _framed(number, window.cut(shown), width, style)
        for mark in sorted(map(window.moved, marks[number]), key=lambda mark: (mark.start, mark.end)):
            note = ("^" if mark.primary else "-") * max(1, mark.end - mark.start)
            note += f" {mark.text}" if mark.text else ""
            note += f" (to line {mark.last})" if mark.last != number else ""
            note = style.severity(severity, note) if mark.primary else style.frame(note)
            yield f"{bar} {' ' * mark.start}{note}"
        previous = number
    yield bar


@dataclass(frozen=True, slots=True)
class _Window:
    """The cells of a line that are shown: all, unless it is too long."""

    start: int
    end: int | None

    def cut(self, shown: str) -> str:
        """The line with dots for what is left out."""
        if self.end is None:
            return shown
        column, kept = 0, ""
        for character in shown:
            cells = _cells(character)
            if self.start <= column < self.end:
                kept += character
            elif column < self.start < column + cells:
                kept += " "  # half of a wide character
            column += cells
        return (_DOTS if self.start else "") + kept + (_DOTS if column > self.end else "")

    def moved(self, mark: _Mark) -> _Mark:
        """A mark where it is in the window."""
        if self.end is None:
            return mark
        shift = (len(_DOTS) if self.start else 0) - self.start
        start = min(max(mark.start, self.start), self.end)
        return replace(mark, start=start + shift, end=min(max(mark.end, start), self.end) + shift)


def _window(shown: str, marks: Sequence[_Mark]) -> _Window:
    """What to show of a line: around its marks, the primary one first, if it is too long."""
    length = shown_width(shown)
    if length <= LONGEST:
        return _Window(0, None)
    primary = [mark for mark in marks if mark.primary] or list(marks)
    first, last = min(mark.start for mark in primary), max(mark.end for mark in primary)
    everything = (min(mark.start for mark in marks), max(mark.end for mark in marks))
    if everything[1] - everything[0] <= LONGEST:
        first, last = everything
    last = min(last, first + LONGEST)
    # What is left of the room goes to both sides.
    start = max(0, min(first - (LONGEST - (last - first)) // 2, length - LONGEST))
    return _Window(start, start + LONGEST)


def _line(number: int, text: Sequence[str], width: int, style: Style) -> str:
    shown = shown_text(text[number - 1]).rstrip()
    return _framed(number, _window(shown, [_Mark(number, 0, 0, "", False, number)]).cut(shown), width, style)


def _framed(number: int, shown: str, width: int, style: Style) -> str:
    return style.frame(f"{number:>{width}} |") + (f" {shown}" if shown else "")


def _mark(label: Label, text: Sequence[str], primary: bool) -> _Mark | None:
    """Where a label goes; None if its line is not in the text (the file changed meanwhile)."""
    span = label.location.span
    if span.line > len(text):
        return None
    line = text[span.line - 1]
    end = span.end_column - 1 if span.end_line == span.line else len(line.rstrip())
    start = shown_width(line[: span.column - 1])
    return _Mark(span.line, start, shown_width(line[:end]), label.text, primary, span.end_line)


def shown_text(line: str) -> str:
    """A line as it can be printed: tabs as spaces, control characters as their pictures."""
    shown: list[str] = []
    column = 0
    for character in line:
        if character == "\t":
            spaces = TAB - column % TAB
            shown.append(" " * spaces)
            column += spaces
            continue
        code = ord(character)
        # An escape sequence in a file must not reach the terminal.
        if code < 0x20:
            character = chr(0x2400 + code)
        elif 0x7F <= code < 0xA0:
            character = "\u2421"
        shown.append(character)
        column += _cells(character)
    return "".join(shown)


def shown_width(text: str) -> int:
    """How many cells of a terminal the beginning of a line takes, as ``shown_text`` prints it."""
    column = 0
    for character in text:
        column += TAB - column % TAB if character == "\t" else _cells(character)
    return column


def _cells(character: str) -> int:
    if character.isascii():
        return 1
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
