"""What is written into files together, and what is left alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from rendering import Source, finding

from warplint.fixing.writing import choose, difference, write
from warplint.ir.facts import Finding
from warplint.ir.fixes import Applicability, Edit, Fix

TEXT = "a = 1  # one\nb = 2\nc = 3"


@pytest.fixture
def first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Source:
    monkeypatch.chdir(tmp_path)
    return on_disk(tmp_path / "a.py")


@pytest.fixture
def second(tmp_path: Path) -> Source:
    return on_disk(tmp_path / "b.py")


def on_disk(path: Path) -> Source:
    path.write_text(TEXT)
    return Source(path, TEXT)


def fixed(*edits: Edit, applicability: Applicability = "safe") -> Finding:
    return finding(edits[0].location, fix=Fix(applicability, "Change it", edits))


def edit(source: Source, before: str, after: str) -> Edit:
    return Edit(source.place(before), after)


def lines(*sources: Source) -> dict[Path, list[str]]:
    return {source.path: source.lines for source in sources}


def test_what_touches_waits_for_the_next_round(first: Source) -> None:
    one, other = fixed(edit(first, "a = 1", "a = 2")), fixed(edit(first, "1", "3"))
    third = fixed(edit(first, "b = 2", "b = 4"), applicability="unsafe")
    assert choose([one, other, third], unsafe=False).findings == [one]
    assert choose([one, other, third], unsafe=True).findings == [one, third]
    # Findings that share an edit are mended together.
    assert choose([one, fixed(edit(first, "a = 1", "a = 2"), edit(first, "3", "5"))], False).edits == {
        first.path: [edit(first, "a = 1", "a = 2"), edit(first, "3", "5")]
    }


def test_a_difference_knows_that_the_last_newline_is_missing(first: Source) -> None:
    chosen = choose([fixed(edit(first, "c = 3", "c = 4"))], False)
    assert list(difference(chosen, lines(first).__getitem__))[-4:] == [
        "-c = 3",
        "\\ No newline at end of file",
        "+c = 4",
        "\\ No newline at end of file",
    ]


def test_a_file_that_has_changed_is_left_alone_with_all_that_belongs_to_it(first: Source, second: Source) -> None:
    both = fixed(edit(first, "b = 2", "b = 0"), edit(second, "b = 2", "b = 0"))
    alone = fixed(edit(first, "c = 3", "c = 0"))
    second.path.write_text(TEXT + "\n")
    mended, problems = write(choose([both, alone], False), lines(first, second).__getitem__)
    assert mended == [alone]
    assert [problem.message for problem in problems] == [
        "the file has changed since it was read; nothing was changed, run it again"
    ]
    assert first.path.read_text() == TEXT.replace("c = 3", "c = 0")
    assert second.path.read_text() == TEXT + "\n"


@pytest.mark.parametrize(("before", "after"), [("b = 2", "b = ("), ("# one", "# two"), ("1  # one", "'1  # one'")])
def test_what_does_not_parse_or_loses_a_comment_is_not_written(first: Source, before: str, after: str) -> None:
    mended, problems = write(choose([fixed(edit(first, before, after))], False), lines(first).__getitem__)
    assert mended == []
    assert "the fixes do not fit together" in problems[0].message
    assert first.path.read_text() == TEXT


def test_a_file_that_is_gone(first: Source) -> None:
    first.path.unlink()
    mended, problems = write(choose([fixed(edit(first, "b = 2", "b = 0"))], False), lines(first).__getitem__)
    assert (mended, len(problems)) == ([], 1)
    assert not first.path.exists()
