"""Putting fixes into files, or showing what that would change."""

from __future__ import annotations

import difflib
import io
import re
import tokenize
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from pathlib import Path

from warplint.ir.facts import Finding, Problem
from warplint.ir.fixes import Edit
from warplint.ir.spans import displayed
from warplint.records import dataclass
from warplint.source.edits import apart, edited, encoding_of, replace_file
from warplint.source.text import check_syntax, decode, read_bytes

# Lines as Python counts them: a form feed, or a separator of paragraphs in a string, ends none (``str.splitlines``).
_LINE = re.compile(r"[^\n]*\n|[^\n]+")

#: The lines of a linted file, without newlines.
Lines = Callable[[Path], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Chosen:
    """Fixes that can be made together: their findings, and the edits by file."""

    findings: list[Finding] = field(default_factory=list)
    edits: dict[Path, list[Edit]] = field(default_factory=dict)


def choose(findings: Iterable[Finding], unsafe: bool) -> Chosen:
    """The fixes that are safe, with ``unsafe`` also the others, as far as they do not touch one another."""
    chosen, taken = Chosen(), list[Edit]()
    for finding in findings:
        fix = finding.fix
        if fix is None or not fix.edits or (fix.applicability != "safe" and not unsafe):
            continue
        if apart(fix.edits, taken):
            chosen.findings.append(finding)
            for edit in fix.edits:
                if edit not in taken:
                    taken.append(edit)
                    chosen.edits.setdefault(edit.location.path, []).append(edit)
    return chosen


def difference(chosen: Chosen, lines: Lines) -> Iterator[str]:
    """A unified diff of what the fixes change."""
    for path, edits in sorted(chosen.edits.items()):
        before = "\n".join(lines(path))
        name = displayed(path)
        after = edited(before, edits)
        for line in difflib.unified_diff(_LINE.findall(before), _LINE.findall(after), name, name):
            yield line.removesuffix("\n")
            if not line.endswith("\n"):
                yield "\\ No newline at end of file"


def write(chosen: Chosen, lines: Lines) -> tuple[list[Finding], list[Problem]]:
    """Write the fixes into their files. Returns the findings that were mended, and what went wrong.

    A fix of several files is made if each of them can be written. A file that is not any more what was linted stays
    as it is.
    """
    problems: dict[Path, Problem] = {}
    while True:
        contents: dict[Path, bytes] = {}
        for path, edits in chosen.edits.items():
            found = _rewritten(path, edits, "\n".join(lines(path)))
            if isinstance(found, Problem):
                problems[path] = found
            else:
                contents[path] = found
        left = [finding for finding in chosen.findings if not _paths(finding) & problems.keys()]
        if len(left) == len(chosen.findings):
            break
        chosen = choose(left, True)
    for path, data in sorted(contents.items()):
        try:
            replace_file(path, data)
        except OSError as error:
            text = f"cannot write the file: {error.strerror or error}; nothing was changed in it"
            problems[path] = Problem(displayed(path), text)
    mended = [finding for finding in chosen.findings if not _paths(finding) & problems.keys()]
    return mended, list(problems.values())


def _paths(finding: Finding) -> set[Path]:
    """The files that the fix of a finding changes."""
    return {edit.location.path for edit in finding.fix.edits} if finding.fix is not None else set()


def _rewritten(path: Path, edits: Iterable[Edit], linted: str) -> bytes | Problem:
    """The new contents of a file, in its own encoding and with its own newlines."""
    data = read_bytes(path)
    if isinstance(data, Problem):
        return data
    text = decode(path, data)
    if isinstance(text, Problem):
        return text
    if text != linted:
        return Problem(displayed(path), "the file has changed since it was read; nothing was changed, run it again")
    encoding = encoding_of(data)
    edits = list(edits)
    raw = edited(data.decode(encoding), edits)
    try:
        encoded = raw.encode(encoding)
    except UnicodeEncodeError:
        return Problem(displayed(path), f"a fix cannot be written in {encoding}, the encoding of the file")
    if isinstance(decode(path, encoded), Problem) or fitting(path, text, edits) is None:
        return Problem(displayed(path), "the fixes do not fit together; nothing was changed, make them one by one")
    return encoded


def fitting(path: Path, text: str, edits: Iterable[Edit]) -> str | None:
    """``text`` (with LF newlines) with edits in it; None if it does not parse then, or loses a comment."""
    new = edited(text, edits)
    broken = isinstance(check_syntax(path, new), Problem) or _comments(new) != _comments(text)
    return None if broken else new


def _comments(text: str) -> list[str] | None:
    """The comments of a text; they are never ours to change."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        return None
    return [token.string for token in tokens if token.type == tokenize.COMMENT]
