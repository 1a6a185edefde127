"""Comments that suppress findings. They are found by Python's tokenizer: what stands in a string is no comment."""

from __future__ import annotations

import io
import re
import tokenize
from typing import Literal

from warplint.ir.spans import Span
from warplint.records import dataclass

Kind = Literal["ignore", "ignore-file", "disable", "enable", "noqa"]

#: The words after ``# warplint:``.
KINDS: tuple[Kind, ...] = ("ignore", "ignore-file", "disable", "enable")

#: Whether a text may hold a comment for us at all; reading its tokens takes a hundred times longer.
HINT = re.compile(r"#[ \t]*(?:warplint[ \t]*:|noqa[ \t]*:[^\n]*\bWP\d)", re.IGNORECASE)
#: The same, where there is a finding, which any `noqa` may be about.
HINT_ANY = re.compile(r"#[ \t]*(?:warplint|noqa)[ \t]*:", re.IGNORECASE)

# Other tools' comments may stand before and behind; a `#` in a reason, as in `see #12`, ends nothing.
_OURS = re.compile(r"(?:^|(?<=\s))#+\s*warplint\s*:\s*(?P<rest>.*?)(?=\s+#+\s|\s*$)", re.IGNORECASE)
_FORM = re.compile(r"(?P<word>[\w-]*)\s*(?:\[(?P<rules>[^\]]*)\])?(?P<colon>\s*:)?\s*(?P<reason>.*)", re.DOTALL)
_NOQA = re.compile(
    r"(?:^|(?<=\s))#+\s*noqa\s*:\s*(?P<rules>[A-Z]+[0-9]+(?:(?:\s*,\s*|\s+)[A-Z]+[0-9]+)*)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Directive:
    """One comment for us, as written.

    ``word`` is what stands after ``# warplint:`` (or ``noqa``), ``rules`` is None without brackets. ``alone``: nothing
    but the comment is on its line; it is then about what is below, up to ``last_line``: where the statement ends that
    begins there (or the head of a compound one), and in the middle of a statement the next line of code.
    """

    word: str
    rules: tuple[str, ...] | None
    reason: str
    span: Span
    alone: bool
    last_line: int


@dataclass(frozen=True, slots=True)
class Comments:
    """The directives of a file, and the lines whose end no comment can stand at, each with the next one where it can:
    lines that end inside a string, or in a backslash."""

    directives: tuple[Directive, ...]
    continued: dict[int, int]

    def end_of(self, line: int) -> int:
        """The first line from ``line`` on where a comment can stand."""
        return self.continued.get(line, line)


def read_comments(text: str) -> Comments:
    """The directives in ``text``, as far as Python can tell its tokens apart."""
    found: list[_Read] = []
    strings: list[tuple[int, int]] = []
    last_code = 0  # the last line that a token other than a comment is on
    waiting: list[_Read] = []  # for the next code
    open_: list[_Read] = []  # for the end of the statement that began below them
    begins = True  # whether the next code begins a statement
    openings: list[int] = []

    def settle(next_line: int) -> None:
        for read in waiting:
            read.last_line = next_line
        open_.extend(waiting if begins else ())
        waiting.clear()

    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            name = tokenize.tok_name[token.type]
            if token.type == tokenize.COMMENT:
                waiting.append(_Read(token, token.start[0] != last_code))
                found.append(waiting[-1])
            elif token.type == tokenize.NEWLINE:
                for read in open_:
                    read.last_line = token.start[0]
                open_.clear()
                begins = True
            elif token.type not in (tokenize.NL, tokenize.INDENT, tokenize.DEDENT):
                settle(token.start[0])
                begins = False
                last_code = token.end[0]
                if token.type == tokenize.STRING:
                    strings.append((token.start[0], token.end[0]))
                elif name in ("FSTRING_START", "TSTRING_START"):
                    openings.append(token.start[0])
                elif name in ("FSTRING_END", "TSTRING_END"):
                    strings.append((openings.pop(), token.end[0]))
    except (tokenize.TokenError, SyntaxError):
        pass  # newer than the running Python; what came before the place counts
    settle(last_code + 1)
    return Comments(tuple(one for read in found for one in _directives(read)), _continued(text, strings))


@dataclass(slots=True)
class _Read:
    """A comment, and the last line that it is about if it stands alone, as soon as that is known."""

    token: tokenize.TokenInfo
    alone: bool
    last_line: int = 0


def _directives(read: _Read) -> list[Directive]:
    token = read.token
    line, column = token.start
    found = []
    for match in _OURS.finditer(token.string):
        form = _FORM.fullmatch(match["rest"])
        assert form is not None
        span = Span(line, column + match.start() + 1, line, column + match.end() + 1)
        rules = None if form["rules"] is None else tuple(re.split(r"[\s,]+", form["rules"].strip()))
        found.append(Directive(form["word"], rules, form["reason"].strip(" \t-:;,."), span, read.alone, read.last_line))
    for match in _NOQA.finditer(token.string):
        span = Span(line, column + match.start() + 1, line, column + match.end() + 1)
        found.append(Directive("noqa", tuple(re.split(r"[\s,]+", match["rules"])), "", span, False, read.last_line))
    return found


def _continued(text: str, strings: list[tuple[int, int]]) -> dict[int, int]:
    inside = {line for first, last in strings for line in range(first, last)}
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if line.endswith("\\") and number not in inside and "#" not in line:
            inside.add(number)
    found: dict[int, int] = {}
    for number in sorted(inside, reverse=True):
        found[number] = found.get(number + 1, number + 1)
    return found
