"""Comments for us, told from everything that only looks like one."""

from __future__ import annotations

import pytest

from warplint.source.comments import HINT, HINT_ANY, read_comments


def words(text: str) -> list[tuple[str, tuple[str, ...] | None, str]]:
    return [(found.word, found.rules, found.reason) for found in read_comments(text).directives]


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("# warplint: ignore[WP104] never read", ("ignore", ("WP104",), "never read")),
        ("#warplint:ignore[WP104]never read", ("ignore", ("WP104",), "never read")),
        ("# Warplint: ignore [WP104, lost-value]: never read", ("ignore", ("WP104", "lost-value"), "never read")),
        ("# warplint: ignore[WP104] - see #12, of course", ("ignore", ("WP104",), "see #12, of course")),
        ("# warplint: ignore[WP104] why  # type: ignore", ("ignore", ("WP104",), "why")),
        ("# type: ignore  # warplint: ignore[WP104] why", ("ignore", ("WP104",), "why")),
        ("# warplint: ignore[WP104]", ("ignore", ("WP104",), "")),
        ("# warplint: ignore", ("ignore", None, "")),
        ("# warplint: ignore[] why", ("ignore", ("",), "why")),
        ("# warplint: ignore-file[WP1] why", ("ignore-file", ("WP1",), "why")),
        ("# warplint: disable[WP1] why", ("disable", ("WP1",), "why")),
        ("# warplint:", ("", None, "")),
        ("# noqa: WP104", ("noqa", ("WP104",), "")),
        ("# noqa:WP104,E501 W291 as well", ("noqa", ("WP104", "E501", "W291"), "")),
        ("# NOQA : wp104", ("noqa", ("wp104",), "")),
    ],
)
def test_a_comment(comment: str, expected: tuple[str, tuple[str, ...] | None, str]) -> None:
    text = f"x = 1  {comment}\n"
    assert words(text) == [expected]
    assert HINT_ANY.search(text)
    assert HINT.search(text) or expected[0] == "noqa"
    (found,) = read_comments(text).directives
    written = text.split("\n")[0][found.span.column - 1 : found.span.end_column - 1]
    assert written.startswith("#") and written.endswith(expected[2]) and written in comment


@pytest.mark.parametrize(
    "text",
    [
        's = "# warplint: ignore[WP104] why"\n',
        'def f():\n    """Text.\n\n    # warplint: ignore[WP104] why\n    """\n',
        "# write `# warplint: ignore[WP104] why` to suppress it\n",
        "# a warplint: ignore\n",
        "x = 1  # noqa\n",
        "x = 1  # see noqa: WP104\n",
    ],
)
def test_what_is_none(text: str) -> None:
    assert words(text) == []


def test_one_that_stands_alone_knows_the_code_below() -> None:
    text = "# warplint: ignore[WP1] why\n\n# more\n\nx = 1  # warplint: ignore[WP1] why\n# warplint: ignore[WP1] why\n"
    assert [(found.alone, found.last_line) for found in read_comments(text).directives] == [
        (True, 5),
        (False, 7),
        (True, 7),
    ]


@pytest.mark.parametrize(
    ("code", "last"),
    [
        ("x = (\n    1\n)\n", 4),
        ("x = 1 + \\\n    2\ny = 3\n", 3),
        ("for i in (\n    1,\n    2,\n):\n    pass\n", 5),
        ('"""Several\nlines."""\n', 3),
        ("x = 1; y = (\n    2)", 3),
    ],
)
def test_one_that_stands_alone_is_about_the_statement_below(code: str, last: int) -> None:
    (found,) = read_comments(f"# warplint: ignore[WP1] why\n{code}").directives
    assert (found.alone, found.last_line) == (True, last)


def test_in_the_middle_of_a_statement_one_is_about_the_next_line() -> None:
    (found,) = read_comments("x = (\n    # warplint: ignore[WP1] why\n    1,\n    2,\n)\n").directives
    assert (found.alone, found.last_line) == (True, 3)


def test_lines_whose_end_holds_no_comment() -> None:
    text = 'a = """x\ny\n"""\nb = 1 + \\\n    2\nc = f"""{a}\n{b}\n"""\n'
    comments = read_comments(text)
    assert [comments.end_of(line) for line in range(1, 9)] == [3, 3, 3, 5, 5, 8, 8, 8]


@pytest.mark.parametrize("text", ['x = """open\n', "x = (1,\n", "x = 1\n  y = 2\n", "?\n", "x = 'a\n"])
def test_what_python_cannot_take_apart_is_no_error(text: str) -> None:
    assert words(f"a = 1  # warplint: ignore[WP1] why\n{text}") == [("ignore", ("WP1",), "why")]
