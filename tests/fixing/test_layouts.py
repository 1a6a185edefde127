"""Fixes of files that are laid out in other ways than the examples: what is not mended stays as it was."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.command import run_cheaply
from warplint.catalogue.loading import load_catalogue

_RULES = ("WP101", "WP102", "WP103", "WP108", "WP202", "WP301", "WP302", "WP309", "WP402", "WP403", "WP404", "WP406")
_RULES += ("WP409", "WP501", "WP502", "WP601")


def _comments(text: str) -> list[str]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return [token.string for token in tokens if token.type == tokenize.COMMENT]


def _behind_lines(text: str) -> str:
    lines = text.split("\n")
    return "\n".join(f"{line}  # {number}" if line.strip() else line for number, line in enumerate(lines))


def _behind_commas(text: str) -> str:
    """A comment, and a new line, behind each bracket that opens and each comma in brackets."""
    lines, depth = text.split("\n"), 0
    places = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.OP:
            depth += (token.string in "([{") - (token.string in ")]}")
            if token.string in "([{" or (token.string == "," and depth):
                places.append(token.end)
    for number, (row, column) in reversed(list(enumerate(places))):
        line = lines[row - 1]
        lines[row - 1] = f"{line[:column]}  # {number}\n            {line[column:].lstrip()}"
    return "\n".join(lines)


def _tabs(text: str) -> str:
    return text.replace("    ", "\t")


_LAYOUTS: dict[str, Callable[[str], str]] = {
    "comments": _behind_lines,
    "comments in brackets": _behind_commas,
    "tabs": _tabs,
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "a byte order mark": lambda text: "\ufeff" + text,
    "no newline in the end": str.rstrip,
}


@pytest.mark.parametrize("layout", _LAYOUTS)
def test_layout_and_comments_survive(layout: str, tmp_path: Path) -> None:
    rules = [rule for rule in load_catalogue()[0].rules if rule.id in _RULES]
    before = {}
    for rule in rules:
        for number, example in enumerate(one for one in rule.examples if one.bad):
            text = _LAYOUTS[layout](example.code)
            path = tmp_path / f"{rule.id.lower()}_{number}.py"
            path.write_bytes(text.encode())
            before[path] = text
    done = run_cheaply(
        "check", "--isolated", "--no-probe", "--fix", "--unsafe-fixes", "--select", ",".join(_RULES), ".", cwd=tmp_path
    )
    assert done.returncode in (0, 1), done.stderr
    after = {path: path.read_bytes().decode() for path in before}
    mended = {path.stem.partition("_")[0].upper() for path, text in after.items() if text != before[path]}
    # between the brackets of what a fix takes away, a comment would be lost
    left = {"WP101", "WP102", "WP103", "WP202", "WP403", "WP406", "WP501", "WP502"}
    assert mended >= set(_RULES) - (left if "comments" in layout else set())
    for path, text in after.items():
        ast.parse(text.removeprefix("\ufeff"))
        plain, old = (one.removeprefix("\ufeff").replace("\r\n", "\n") for one in (text, before[path]))
        assert _comments(plain) == _comments(old), path
        assert ("\r\n" in text) == ("\r\n" in before[path])
        assert layout != "CRLF" or "\n" not in text.replace("\r\n", "")
        assert layout != "tabs" or "    " not in text
        assert text.startswith("\ufeff") == before[path].startswith("\ufeff")
        assert text.endswith("\n") == before[path].endswith("\n")


def test_what_would_lose_a_comment_does_not_hold_up_others(tmp_path: Path) -> None:
    path = tmp_path / "kernels.py"
    path.write_text(
        """import warp as wp


@wp.kernel
def root(x: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.sqrt(
        wp.dot(x[i], x[i])  # of the square
    )


@wp.kernel
def scale(x: wp.array(dtype=float), s: wp.array(dtype=float)):
    i = wp.tid()
    x[i] *= s[i]  # the array
"""
    )
    shown = run_cheaply("check", "--isolated", "--no-probe", "--diff", "--unsafe-fixes", "kernels.py", cwd=tmp_path)
    assert "of the square" not in shown.stdout
    done = run_cheaply("check", "--isolated", "--no-probe", "--fix", "--unsafe-fixes", "kernels.py", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "# of the square" in path.read_text()
    assert "x_out[i] = x[i] * s[i]  # the array" in path.read_text()


def test_a_form_feed_ends_no_line_of_a_diff(tmp_path: Path) -> None:
    text = "import warp as wp\n\f\n@wp.kernel\ndef scale(x: wp.array(dtype=float), s: wp.array(dtype=float)):\n"
    text += "    i = wp.tid()\n    x[i] *= s[i]  # in \u2028 two\n"
    (tmp_path / "kernels.py").write_text(text, encoding="utf-8")
    shown = run_cheaply("check", "--isolated", "--no-probe", "--diff", "--unsafe-fixes", "kernels.py", cwd=tmp_path)
    assert "No newline at end of file" not in shown.stdout
    assert "\n \f\n" in shown.stdout
    assert "+    x_out[i] = x[i] * s[i]  # in \u2028 two\n" in shown.stdout
