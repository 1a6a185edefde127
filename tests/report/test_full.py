"""What people see: source, labels, evidence, help."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rendering import CONFIRMED, Source, finding, report

from warplint.ir.facts import UNPROBED, Evidence, Label, Verdict
from warplint.ir.fixes import Applicability, Edit, Fix
from warplint.report.full import render
from warplint.report.model import evidence_line
from warplint.report.snippets import LONGEST, shown_text, shown_width
from warplint.report.style import Style

LOOP = """\
def f(x, n):
    p = float(1.0)
    for i in range(n):
        p = p * x[i]
    return p"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def block(*findings: object, sources: list[Source]) -> str:
    """The report without its summary and help."""
    lines = list(render(report(*findings, sources=sources)))  # type: ignore[arg-type]
    start = next(number for number, line in enumerate(lines) if " = help:" in line)
    return "\n".join(lines[:start])


def test_a_finding_on_one_line(tmp_path: Path) -> None:
    source = Source(tmp_path / "sub/a.py", LOOP)
    found = finding(
        source.place("p = p * x[i]"),
        [Label(source.place("p = p * x[i]"), "overwritten here"), Label(source.place("p * x"), "read here")],
    )
    assert block(found, sources=[source]) == (
        "error[WP104] loop-carried-value: `p` is lost\n"
        " --> sub/a.py:4:9\n"
        "  |\n"
        "4 |         p = p * x[i]\n"
        "  |         ^^^^^^^^^^^^ overwritten here\n"
        "  |             ----- read here\n"
        "  |\n"
        "  = confirmed on cpu, Warp 1.19.0: 1.093, not 1.478 (differences ± 0.0002, at 3 sets of inputs)"
    )


def test_labels_in_order_with_what_is_between_and_dots_for_more(tmp_path: Path) -> None:
    source = Source(tmp_path / "a.py", LOOP.replace("    return p", "    a\n    b\n    c\n    d\n    return q\n    e"))
    found = finding(
        source.place("p = p * x[i]"),
        [Label(source.place("return q"), "here"), Label(source.place("float(1.0)"), "starts here")],
    )
    assert block(found, sources=[source]).split("\n")[1:-1] == [
        " --> a.py:4:9",
        "  |",
        "2 |     p = float(1.0)",
        "  |         ---------- starts here",
        "3 |     for i in range(n):",
        "4 |         p = p * x[i]",
        "  |         ^^^^^^^^^^^^",
        "...",
        "9 |     return q",
        "  |     -------- here",
        "  |",
    ]


def test_another_file_has_its_own_header(tmp_path: Path) -> None:
    source = Source(tmp_path / "a.py", LOOP)
    other = Source(tmp_path / "b.py", "\n" * 99 + "launch(f)")
    found = finding(
        source.place("p = p * x[i]"),
        [Label(other.place("launch(f)"), "launched here"), Label(source.place("p * x"), "read here")],
    )
    assert block(found, sources=[source, other]).split("\n")[1:-1] == [
        "   --> a.py:4:9",
        "    |",
        "  4 |         p = p * x[i]",
        "    |         ^^^^^^^^^^^^",
        "    |             ----- read here",
        "    |",
        "   ::: b.py:100:1",
        "    |",
        "100 | launch(f)",
        "    | --------- launched here",
        "    |",
    ]


def test_a_span_over_several_lines_is_marked_where_it_begins(tmp_path: Path) -> None:
    source = Source(tmp_path / "a.py", "x = where(\n    a,\n    b,\n)")
    found = finding(source.place("where(\n    a,\n    b,\n)"))
    assert block(found, sources=[source]).split("\n")[3:5] == ["1 | x = where(", "  |     ^^^^^^ (to line 4)"]


@pytest.mark.parametrize(
    ("line", "shown", "under"),
    [
        ("\tp = 1", "    p = 1", "    ^^^^^"),
        ("a\tp = 1", "a   p = 1", "    ^^^^^"),
        ('"日本" ; p = 1', '"日本" ; p = 1', "         ^^^^^"),
        ('"e\u0301" ; p = 1', '"e\u0301" ; p = 1', "      ^^^^^"),
        ('"\x1b[31m" ; p = 1', '"␛[31m" ; p = 1', "          ^^^^^"),
    ],
)
def test_labels_stand_under_their_text(tmp_path: Path, line: str, shown: str, under: str) -> None:
    source = Source(tmp_path / "a.py", line)
    assert block(finding(source.place("p = 1")), sources=[source]).split("\n")[3:5] == [f"1 | {shown}", f"  | {under}"]


def test_control_characters_never_reach_the_terminal() -> None:
    text = "".join(map(chr, range(0xA0)))
    assert not re.search(r"[\x00-\x1f\x7f-\x9f]", shown_text(text))
    assert shown_width("a\tb") == 5


def test_a_file_that_changed_meanwhile_is_shown_as_far_as_it_goes(tmp_path: Path) -> None:
    source = Source(tmp_path / "a.py", LOOP)
    found = finding(source.place("p = p * x[i]"))
    source.lines = source.lines[:2]
    assert block(found, sources=[source]).split("\n")[1:4] == [" --> a.py:4:9", "  |", "  |"]


def test_help_is_the_recipe_of_the_rule(tmp_path: Path) -> None:
    source = Source(tmp_path / "a.py", LOOP)
    lines = list(render(report(finding(source.place("p = p * x[i]")), sources=[source])))
    help_text = " ".join(line.strip() for line in lines[lines.index(next(x for x in lines if "help" in x)) : -2])
    assert help_text.startswith("= help: Keep the value of every iteration")
    assert max(map(len, lines)) <= 110


@pytest.mark.parametrize(
    ("reach", "words"),
    [("taped", None), ("library", "no tape in the linted code launches it"), ("untaped", "outside tapes only")],
)
def test_reach_is_told_where_it_matters(tmp_path: Path, reach: str, words: str | None) -> None:
    source = Source(tmp_path / "a.py", LOOP)
    text = "\n".join(render(report(finding(source.place("p = p * x[i]"), reach=reach), sources=[source])))  # type: ignore[arg-type]
    assert (" = reach: " in text) == (words is not None)
    assert words is None or words in text


class TestSummary:
    def summary(self, tmp_path: Path, *evidence: Evidence, **more: object) -> str:
        source = Source(tmp_path / "a.py", LOOP)
        found = [finding(source.place("p = p * x[i]"), evidence=seen) for seen in evidence]
        if "refuted" in more:
            more["refuted"] = found[:1]
            found = found[1:]
        return list(render(report(*found, sources=[source], **more)))[-1]  # type: ignore[arg-type]

    def test_counts_by_verdict(self, tmp_path: Path) -> None:
        hung = Evidence("inconclusive", "hung")
        assert self.summary(tmp_path, CONFIRMED, hung, CONFIRMED) == (
            "Found 3 findings (2 confirmed, 1 inconclusive); 1 file"
        )
        assert self.summary(tmp_path, UNPROBED) == "Found 1 finding (1 unprobed); 1 file"

    def test_refuted_findings_are_counted_apart(self, tmp_path: Path) -> None:
        refuted = Evidence("refuted", "agrees")
        assert self.summary(tmp_path, refuted, refuted=True) == "No findings; 1 refuted and hidden; 1 file"
        assert self.summary(tmp_path, refuted) == "No findings; 1 refuted; 1 file"

    def test_nothing(self, tmp_path: Path) -> None:
        assert self.summary(tmp_path) == "No findings; 1 file"


@pytest.mark.parametrize(("width", "longest"), [(None, 104), (300, 104), (60, 60), (40, 40)])
def test_sentences_fit_the_terminal(tmp_path: Path, width: int | None, longest: int) -> None:
    source = Source(tmp_path / "a.py", LOOP)
    found = finding(source.place("p = p * x[i]"), evidence=Evidence("inconclusive", "one two three " * 30))
    lines = list(render(report(found, sources=[source]), width=width))
    sentences = [line for line in lines if line.startswith(("  = ", "    "))]
    assert longest - 10 < max(len(line) for line in sentences) <= longest
    assert " ".join(" ".join(sentences).split()).startswith("= inconclusive: one two three one two")


def test_colours_change_nothing_but_colour(tmp_path: Path) -> None:
    source = Source(tmp_path / "a.py", LOOP)
    found = finding(source.place("p = p * x[i]"), [Label(source.place("p * x"), "read here")])
    plain = "\n".join(render(report(found, sources=[source])))
    colored = "\n".join(render(report(found, sources=[source]), Style(True)))
    assert "\x1b[" not in plain
    assert colored != plain
    assert re.sub(r"\x1b\[[\d;]*m", "", colored) == plain


class TestLongLines:
    """A line that is too long is cut around what is marked."""

    def shown(self, tmp_path: Path, line: str, *marked: str) -> list[str]:
        source = Source(tmp_path / "a.py", line)
        labels = [Label(source.place(text), f"here {text[:3]}") for text in marked[1:]]
        lines = block(finding(source.place(marked[0]), labels), sources=[source]).split("\n")
        return lines[3 : 4 + len(marked)]

    @pytest.mark.parametrize("before", ["", "a" * 40, "a" * 5000, "\t" * 100, "漢" * 300])
    @pytest.mark.parametrize("after", ["", "b" * 40, "b" * 5000])
    def test_the_mark_stays_under_its_text(self, tmp_path: Path, before: str, after: str) -> None:
        code, marks = self.shown(tmp_path, f"{before}(p * x){after}", "(p * x)")
        assert shown_width(code) <= LONGEST + len("1 | ......")
        assert (len(code) < 60 or "..." in code) or len(before + after) < LONGEST
        start = marks.index("^")
        assert marks.count("^") == len("(p * x)")
        assert shown_width(code[: code.index("(p * x)")]) == start

    def test_what_is_short_enough_is_left_alone(self, tmp_path: Path) -> None:
        line = "p = " + "x" * (LONGEST - 4)
        assert self.shown(tmp_path, line, "p = ")[0] == f"1 | {line}"

    def test_a_mark_that_is_longer_than_the_window_begins_in_it(self, tmp_path: Path) -> None:
        code, marks = self.shown(tmp_path, "a" * 400 + "(" + "x" * 900 + ")", "(" + "x" * 900 + ")")
        assert marks.strip("| ").startswith("^^^") and len(marks) <= LONGEST + len("1 | ......")
        assert code[marks.index("^")] == "("

    def test_marks_far_apart_keep_the_primary_one(self, tmp_path: Path) -> None:
        code, first, second = self.shown(tmp_path, "left" + "a" * 700 + "right", "left", "right")
        assert "left" in code and "right" not in code
        assert first.endswith("^^^^")
        assert second.endswith(" here rig") and len(second) <= LONGEST + 30


@pytest.mark.parametrize(("applicability", "option"), [("safe", "--fix"), ("unsafe", "--fix --unsafe-fixes")])
def test_what_mends_it(tmp_path: Path, applicability: Applicability, option: str) -> None:
    source = Source(tmp_path / "a.py", LOOP)
    fix = Fix(applicability, "Write another name", (Edit(source.place("p * x"), "q"),))
    lines = list(render(report(finding(source.place("p = p * x[i]"), fix=fix), sources=[source])))
    assert f"  = fix ({option}): Write another name" in lines


@pytest.mark.parametrize(
    ("verdict", "numbers", "end"),
    [
        (
            "confirmed",
            {"estimated_error": 1.6e-5, "inputs": 4, "wrong": 3},
            "seen (differences ± 2e-05, at 3 of 4 sets of inputs)",
        ),
        ("confirmed", {"estimated_error": 0.0, "inputs": 1, "wrong": 1}, "seen (differences ± 0, at 1 set of inputs)"),
        ("confirmed", {}, "seen"),  # nothing was compared: a compiler's refusal, say
        ("refuted", {"estimated_error": 1.6e-5, "inputs": 20}, "seen"),
    ],
)
def test_what_confirms_says_how_exact_it_is(verdict: Verdict, numbers: dict[str, object], end: str) -> None:
    source = Source(Path("a.py"), LOOP)
    seen = Evidence(verdict, "seen", device="cpu", numbers=numbers)
    assert evidence_line(finding(source.place("p = p * x[i]"), evidence=seen)) == f"{verdict} on cpu: {end}"
