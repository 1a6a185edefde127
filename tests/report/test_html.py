"""The HTML report: one file that needs nothing else, and that nothing in a linted file can get into."""

from __future__ import annotations

import math
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from rendering import CONFIRMED, Source, finding, report

from warplint.ir.facts import Evidence, Label, Problem
from warplint.report import html
from warplint.report.plots import gradient_plot, life_line

EVIL = '<script>alert("1")</script>'
VOID = {"meta", "br", "circle", "rect", "line", "polyline"}


class Page(HTMLParser):
    """Checks that elements are closed in order; keeps their names, attributes and texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


NUMBERS = {
    "tape": 1.0,
    "finite_difference": 2.0,
    "estimated_error": 0.01,
    "steps": [0.1, 0.05, 0.025, 0.0125],
    "differences": [2.2, 2.05, 2.01, 2.0],
}


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Page:
    monkeypatch.chdir(tmp_path)
    source = Source(tmp_path / "a&b.py", f"x = 1\np = p * x  # {EVIL}\n")
    labels = [Label(source.place("x = 1"), f"read {EVIL}"), Label(source.place("p = p * x"), "overwritten `here`")]
    found = finding(
        source.place("p = p * x"), labels, Evidence("confirmed", f"differs {EVIL}", "cpu", "1.19.0", NUMBERS)
    )
    other = finding(source.place("x = 1"), evidence=Evidence("inconclusive", "it does not compile"), severity="warning")
    return Page("\n".join(html.render(report(found, other, sources=[source], problems=[Problem(f"{EVIL}.py", EVIL)]))))


def test_it_is_well_formed_and_holds_everything(page: Page) -> None:
    text = " ".join(" ".join(page.texts).split())
    for words in ("WP104", "a&b.py:2:1", "Found 2 findings (1 confirmed, 1 inconclusive)", "What to do.", "differs"):
        assert words in text
    assert " 2 findings 1 confirmed 1 inconclusive 1 file rule " in text
    assert page.names.count("section") == 3
    assert page.names.count("svg") == 2


def test_nothing_in_a_file_becomes_a_part_of_the_page(page: Page) -> None:
    assert "script" not in page.names
    assert sum(EVIL in text for text in page.texts) >= 5


def test_nothing_is_loaded(page: Page) -> None:
    assert not {"link", "img", "iframe", "object", "base", "form"} & set(page.names)
    references = [value for name, value in page.attributes if name in ("src", "href", "srcset", "action", "data")]
    assert references == ["#f1", "#f2"]
    style = " ".join(text for text in page.texts if "font-family" in text)
    assert style and "url(" not in style and "@import" not in style


def test_source_has_its_colours(page: Page) -> None:
    assert not any("\x1b" in text for text in page.texts)
    assert ("class", "r b0") in page.attributes


class TestGradientPlot:
    def heights(self, svg: str, pattern: str) -> list[float]:
        return [float(value) for value in re.findall(pattern, svg)]

    def test_the_step_sizes_are_drawn_where_they_belong(self) -> None:
        svg = gradient_plot(NUMBERS)
        assert svg is not None
        xs, ys = (
            self.heights(svg, 'class="step" cx="([\\d.]+)"'),
            self.heights(svg, 'class="step" cx=.* ?cy="([\\d.]+)"'),
        )
        assert len(xs) == 4 and xs == sorted(xs, reverse=True)  # from the largest step to the smallest
        gaps = [a - b for a, b in zip(xs, xs[1:], strict=False)]
        assert max(gaps) - min(gaps) < 0.2  # halved steps are equally far apart
        (tape,) = self.heights(svg, '<line class="tape" x1="[\\d.]+" y1="([\\d.]+)"')
        (difference,) = self.heights(svg, '<line class="difference" x1="[\\d.]+" y1="([\\d.]+)"')
        assert tape > difference  # the smaller value is further down
        ys = self.heights(svg, 'class="step" cx="[\\d.]+" cy="([\\d.]+)"')
        assert ys == sorted(ys) and ys[-1] == difference  # falling towards the value

    def test_equal_values_are_told_apart(self) -> None:
        svg = gradient_plot({**NUMBERS, "tape": 2.0})
        assert svg is not None
        first, second = sorted(self.heights(svg, '<text class="name \\w+" x="[\\d.]+" y="([\\d.]+)"'))
        assert second - first >= 15

    @pytest.mark.parametrize("tape", [math.nan, math.inf, "nan"])
    def test_a_gradient_that_is_no_number_is_named(self, tape: object) -> None:
        svg = gradient_plot({**NUMBERS, "tape": tape})
        assert svg is not None
        assert "tape nan" in svg or "tape inf" in svg
        assert '<line class="tape"' not in svg

    @pytest.mark.parametrize(
        "numbers",
        [CONFIRMED.numbers, {"tape": 0.0, "finite_difference": 0.0}, {**NUMBERS, "differences": [math.nan] * 4}],
    )
    def test_without_step_sizes_the_two_values_are_drawn(self, numbers: dict[str, object]) -> None:
        svg = gradient_plot(numbers)
        assert svg is not None and "nan" not in svg
        assert 'class="step"' not in svg

    @pytest.mark.parametrize("numbers", [{}, {"inputs": 3}, {"tape": 1.0, "finite_difference": math.nan}])
    def test_without_numbers_there_is_none(self, numbers: dict[str, object]) -> None:
        assert gradient_plot(numbers) is None


def test_a_life_line_needs_two_events(tmp_path: Path) -> None:
    place = Source(tmp_path / "a.py", "x = 1\n").place("x = 1")
    assert life_line([Label(place, "read"), Label(place, "")], ["a:1", "a:1"]) is None
    svg = life_line([Label(place, "`x < y` reads it"), Label(place, "written")], ["a:1", "a:2"])
    assert svg is not None and '<tspan class="code">x &lt; y</tspan> reads it</text>' in svg
    assert svg is not None and svg.index("read") < svg.index("written")
    assert svg.count('class="event"') == 2
