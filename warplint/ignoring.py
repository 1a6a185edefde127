"""``--add-ignore``: writes the comments that suppress findings into their files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from warplint.ir.facts import Finding, Problem
from warplint.ir.spans import displayed, file_and_cell
from warplint.source.comments import Directive, read_comments
from warplint.source.edits import encoding_of, replace_file
from warplint.source.text import decode

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|$)")


def add_ignores(findings: Iterable[Finding], reason: str) -> tuple[dict[Path, int], list[Problem]]:
    """Write a comment for each finding; returns how many findings were dealt with in each file, and what went wrong."""
    by_path: dict[Path, list[Finding]] = {}
    for finding in findings:
        # A comment about a comment would be one more to maintain: those findings are for people to settle.
        if not finding.rule.startswith("WP0"):
            by_path.setdefault(finding.location.path, []).append(finding)
    written: dict[Path, int] = {}
    problems: list[Problem] = []
    for path, some in by_path.items():
        if file_and_cell(path)[1] is not None:
            problems.append(Problem(displayed(path), "comments are not written into notebooks; write it by hand"))
            continue
        try:
            problem = _write(path, some, reason)
        except OSError as error:
            problem = Problem(displayed(path), f"cannot write the file: {error.strerror or error}; nothing was changed")
        if problem is None:
            written[path] = len(some)
        else:
            problems.append(problem)
    return written, problems


def _write(path: Path, findings: Iterable[Finding], reason: str) -> Problem | None:
    data = path.read_bytes()
    text = decode(path, data)
    if isinstance(text, Problem):
        return text
    new = with_comments(text, findings, reason)
    encoding = encoding_of(data)
    # Newlines stay as they were, line by line: `text` has LF only.
    ends = [re.search(r"[\r\n]*$", line)[0] for line in _LINE.findall(data.decode(encoding)) if line]  # type: ignore[index]
    lines = new.split("\n")
    whole = "".join(line + end for line, end in zip(lines, [*ends, ""], strict=False))
    try:
        encoded = whole.encode(encoding)
    except UnicodeEncodeError:
        return Problem(displayed(path), f"the reason cannot be written in {encoding}, the encoding of the file")
    replace_file(path, encoded)
    return None


def with_comments(text: str, findings: Iterable[Finding], reason: str) -> str:
    """``text`` with a comment for each finding, at the first line of its span whose end can hold one."""
    comments = read_comments(text)
    wanted: dict[int, list[str]] = {}
    for finding in findings:
        codes = wanted.setdefault(comments.end_of(finding.location.span.line), [])
        if finding.rule not in codes:
            codes.append(finding.rule)
    present = {
        directive.span.line: directive
        for directive in comments.directives
        if directive.word == "ignore" and directive.rules and directive.reason
    }
    lines = text.split("\n")
    for number, codes in wanted.items():
        line = lines[number - 1]
        if number in present:
            lines[number - 1] = _extended(line, present[number], codes)
        else:
            comment = f"# warplint: ignore[{', '.join(sorted(codes))}] {reason}"
            lines[number - 1] = f"{line.rstrip()}  {comment}" if line.strip() else comment
    return "\n".join(lines)


def _extended(line: str, directive: Directive, codes: list[str]) -> str:
    """``line`` with further rules in the brackets of a comment that is there."""
    start = directive.span.column - 1
    close = line.index("]", start)
    return f"{line[:close]}, {', '.join(sorted(codes))}{line[close:]}"
