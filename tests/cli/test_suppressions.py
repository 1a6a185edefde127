"""Comments that suppress findings, in real runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import Command
from linting import LIGHT, PLAN, hits
from programs import CARRIED, CLEAN, IN_PLACE


def lines(text: str, **comments: str) -> str:
    """``text`` with comments at the ends of lines, by ``l1``, ``l2``, ..."""
    found = text.split("\n")
    for key, comment in comments.items():
        found[int(key[1:]) - 1] += f"  # {comment}"
    return "\n".join(found)


WHY = "the factor is never differentiated"
MULTILINE = CARRIED.replace(
    "factor * (1.0 + rate[year])", "(\n            factor\n            * (1.0 + rate[year])\n        )"
)

BACKSLASH = CARRIED.replace("factor * (", "factor * \\\n            (")

#: Texts in which the one finding is suppressed.
SUPPRESSED = {
    "at_the_end": lines(CARRIED, l8=f"warplint: ignore[WP104] {WHY}"),
    "by_name": lines(CARRIED, l8=f"warplint: ignore[loop-carried-value] {WHY}"),
    "by_family": lines(CARRIED, l8=f"warplint: ignore[lost-value] {WHY}"),
    "by_prefix": lines(CARRIED, l8=f"warplint: ignore[WP1] {WHY}"),
    "above": CARRIED.replace("        factor =", f"        # warplint: ignore[WP104] {WHY}\n        factor ="),
    "above_several_lines": MULTILINE.replace(
        "        factor = (", f"        # warplint: ignore[WP104] {WHY}\n        factor = ("
    ),
    "file": CARRIED + f"# warplint: ignore-file[WP104] {WHY}\n",
    "block": lines(CARRIED, l3=f"warplint: disable[WP104] {WHY}", l9="warplint: enable[WP104]"),
    "noqa": lines(CARRIED, l8="noqa: WP104"),
    "noqa_of_several": lines(CARRIED, l8="noqa: E501,WP104"),
    "span_first": lines(MULTILINE, l9=f"warplint: ignore[WP104] {WHY}"),
    "span_last": lines(MULTILINE, l10=f"warplint: ignore[WP104] {WHY}"),
    "backslash": lines(BACKSLASH, l9=f"warplint: ignore[WP104] {WHY}"),
    "twice": lines(CARRIED, l8=f"warplint: ignore[WP104] {WHY}  # noqa: WP104"),
}

#: Texts with the finding kept: what else is found, and words of its message.
KEPT = {
    "another_line": (lines(CARRIED, l9=f"warplint: ignore[WP104] {WHY}"), 9, "WP001", "there is no WP104 here"),
    "above_a_head": (
        CARRIED.replace("    for ", f"    # warplint: ignore[WP104] {WHY}\n    for "), 7, "WP001", "no WP104 here"
    ),
    "another_rule": (lines(CARRIED, l8=f"warplint: ignore[WP101] {WHY}"), 8, "WP001", "there is no WP101 here"),
    "outside_block": (
        lines(CARRIED, l1=f"warplint: disable[WP104] {WHY}", l7="warplint: enable[WP104]"), 1, "WP001", "no WP104"
    ),
    "no_reason": (lines(CARRIED, l8="warplint: ignore[WP104]"), 8, "WP002", "it gives no reason"),
    "blanket": (lines(CARRIED, l8=f"warplint: ignore {WHY}"), 8, "WP002", "it names no rule"),
    "empty": (lines(CARRIED, l8=f"warplint: ignore[] {WHY}"), 8, "WP002", "it names no rule"),
    "all": (lines(CARRIED, l8=f"warplint: ignore[ALL] {WHY}"), 8, "WP002", "would ignore everything"),
    "wp": (lines(CARRIED, l8=f"warplint: ignore[WP] {WHY}"), 8, "WP002", "would ignore everything"),
    "unknown_rule": (lines(CARRIED, l8=f"warplint: ignore[WP1O4] {WHY}"), 8, "WP002", "did you mean `WP104`?"),
    "unknown_word": (lines(CARRIED, l8=f"warplint: ingore[WP104] {WHY}"), 8, "WP002", "did you mean `ignore`?"),
    "unknown_noqa": (lines(CARRIED, l8="noqa: WP999"), 8, "WP002", "unknown rule `WP999`"),
    "enable_only": (lines(CARRIED, l3="warplint: enable[WP104]"), 3, "WP002", "`WP104` is not disabled above"),
    "bare_noqa": (lines(CARRIED, l8="noqa"), None, None, None),
    "in_a_string": (CARRIED.replace("import", '"# warplint: ignore-file[WP104] x"\nimport'), None, None, None),
}  # fmt: skip


@pytest.fixture
def found(tmp_path: Path, warplint: Command):  # type: ignore[no-untyped-def]
    """What a run finds, by file."""

    def run(texts: dict[str, str], *options: str) -> dict[str, list[tuple[str, int, str]]]:
        for name, text in texts.items():
            (tmp_path / f"{name}.py").write_text(text)
        document = json.loads(warplint("--no-probe", "--output-format", "json", *options, ".").stdout)
        assert document["errors"] == []
        seen: dict[str, list[tuple[str, int, str]]] = {name: [] for name in texts}
        for one in document["findings"]:
            seen[one["path"].removesuffix(".py")].append((one["rule"], one["line"], one["message"]))
        return seen

    return run


def test_every_form_suppresses(found) -> None:  # type: ignore[no-untyped-def]
    assert found(SUPPRESSED) == {name: [] for name in SUPPRESSED}
    assert {name: [rule for rule, _, _ in some] for name, some in found(SUPPRESSED, "--no-ignores").items()} == {
        name: ["WP104"] for name in SUPPRESSED
    }


def test_what_does_not_is_told(found) -> None:  # type: ignore[no-untyped-def]
    everything = found({name: text for name, (text, *_) in KEPT.items()})
    for name, (_, line, rule, words) in KEPT.items():
        others = [one for one in everything[name] if one[0] != "WP104"]
        assert len(everything[name]) - len(others) == 1, name
        assert [(one[0], one[1]) for one in others] == ([] if rule is None else [(rule, line)]), name
        assert all(words in one[2] for one in others), (name, others)


def test_a_block_without_an_end_works_and_is_told(found) -> None:  # type: ignore[no-untyped-def]
    ((rule, line, message),) = found({"a": lines(CARRIED, l3=f"warplint: disable[WP104] {WHY}")})["a"]
    assert (rule, line) == ("WP002", 3)
    assert "end it with `# warplint: enable[WP104]`" in message


def test_one_word_of_several_is_unused(found) -> None:  # type: ignore[no-untyped-def]
    text = lines(CARRIED, l8=f"warplint: ignore[WP104, WP301] {WHY}")
    assert found({"a": text})["a"] == [
        ("WP001", 8, "this comment suppresses nothing: there is no WP301 here to find"),
    ]


def test_only_what_was_looked_for_is_unused(found) -> None:  # type: ignore[no-untyped-def]
    text = lines(CLEAN, l7="warplint: ignore[WP101] why")
    assert found({"a": text}, "--ignore", "WP101") == {"a": []}
    assert found({"a": text}, "--select", "WP001,WP3") == {"a": []}
    assert [one[0] for one in found({"a": text}, "--select", "WP001,WP101")["a"]] == ["WP001"]
    assert found({"a": text}, "--select", "WP101") == {"a": []}


def test_findings_about_comments_can_be_suppressed(found) -> None:  # type: ignore[no-untyped-def]
    text = lines(CLEAN, l7="warplint: ignore[WP101, WP001] needed by an older version")
    assert found({"a": text}) == {"a": []}


def test_the_summary_counts_them(tmp_path: Path, lint: Command) -> None:
    (tmp_path / "a.py").write_text(SUPPRESSED["at_the_end"])
    done = lint(".")
    assert (done.stdout, done.returncode) == ("No findings; 1 suppressed; 1 file\n", 0)


def test_nothing_is_called_unused_in_a_file_that_was_not_read_to_its_end(tmp_path: Path, lint: Command) -> None:
    (tmp_path / "a.py").write_text(lines(CLEAN, l7="warplint: ignore[WP101] why") + "(\n")
    done = lint(".")
    assert (hits(done), done.returncode) == ([], 2)


class TestAddIgnore:
    def test_it_writes_what_then_suppresses(self, project: Path, lint: Command) -> None:
        done = lint("--add-ignore", "checked by hand", ".")
        assert (done.stdout, done.returncode) == ("Wrote comments for 2 findings in 2 files\n", 0)
        assert (project / "light.py").read_text() == lines(IN_PLACE, l7="warplint: ignore[WP101] checked by hand")
        assert (project / "clean.py").read_text() == CLEAN
        again = lint(".")
        assert (hits(again), again.returncode) == ([], 0)
        assert lint("--add-ignore", "again", ".").stdout == "Wrote comments for 0 findings in 0 files\n"

    def test_only_what_is_selected(self, project: Path, lint: Command) -> None:
        lint("--select", "WP104", "--add-ignore", "checked", ".")
        assert hits(lint(".")) == [LIGHT]

    def test_an_existing_comment_is_extended(self, tmp_path: Path, lint: Command) -> None:
        (tmp_path / "a.py").write_text(lines(CARRIED, l8="warplint: ignore[WP301] why"))
        lint("--add-ignore", "checked", ".")
        assert (tmp_path / "a.py").read_text() == lines(CARRIED, l8="warplint: ignore[WP301, WP104] why")

    @pytest.mark.parametrize("text", [MULTILINE, BACKSLASH])
    def test_statements_of_several_lines(self, tmp_path: Path, lint: Command, text: str) -> None:
        (tmp_path / "a.py").write_text(text)
        assert len(hits(lint("."))) == 1
        lint("--add-ignore", "checked", ".")
        assert hits(lint(".")) == []

    @pytest.mark.parametrize(
        ("prefix", "encoding", "newline"),
        [("", "utf-8-sig", "\r\n"), ("# coding: latin-1\n# caf\xe9\n", "latin-1", "\n"), ("", "utf-8", "\r")],
    )
    def test_encoding_and_newlines_stay(
        self, tmp_path: Path, lint: Command, prefix: str, encoding: str, newline: str
    ) -> None:
        path = tmp_path / "a.py"
        path.write_bytes((prefix + IN_PLACE).replace("\n", newline).encode(encoding))
        path.chmod(0o640)
        assert lint("--add-ignore", "checked", ".").returncode == 0
        expected = (prefix + IN_PLACE.rstrip("\n") + "  # warplint: ignore[WP101] checked\n").replace("\n", newline)
        assert path.read_bytes() == expected.encode(encoding)
        assert path.stat().st_mode & 0o777 == 0o640
        assert [other.name for other in tmp_path.iterdir()] == ["a.py"]

    def test_a_reason_that_the_file_cannot_hold(self, tmp_path: Path, lint: Command) -> None:
        text = ("# coding: latin-1\n" + IN_PLACE).encode("latin-1")
        (tmp_path / "a.py").write_bytes(text)
        done = lint("--add-ignore", "∂ is right", ".")
        assert done.returncode == 2
        assert "cannot be written in iso-8859-1" in done.stderr
        assert (tmp_path / "a.py").read_bytes() == text

    @pytest.mark.parametrize(
        "arguments", [["", "."], ["a # b", "."], ["a\nb", "."], ["why", "-"], ["why", "--no-ignores", "."]]
    )
    def test_wrong_calls(self, project: Path, lint: Command, arguments: list[str]) -> None:
        assert lint("--add-ignore", *arguments).returncode == 2
        assert hits(lint(".")) == [LIGHT, PLAN]
