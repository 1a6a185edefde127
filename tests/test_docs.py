"""The documentation says what the catalogue says and shows what the program prints."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from measure import has_defect

import docs
from warplint.catalogue.loading import load_catalogue
from warplint.catalogue.rule import Rule

SITE = yaml.safe_load((docs.ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
PAGES = [*sorted(docs.DOCS.rglob("*.md")), docs.ROOT / "README.md"]


def anchors(text: str) -> set[str]:
    """What a link can lead to in a page: its headings, as words joined by ``-``."""
    titles = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE)
    return {re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", title.lower()).strip()) for title in titles}


def named(nav: list[object]) -> set[str]:
    """The pages that the navigation of the site names."""
    found: set[str] = set()
    for entry in nav:
        for value in entry.values() if isinstance(entry, dict) else [entry]:
            found |= named(value) if isinstance(value, list) else {str(value)}
    return found


def test_what_is_generated_is_not_stale() -> None:
    assert docs.stale_pages() == []


def test_a_changed_rule_makes_its_page_stale() -> None:
    from dataclasses import replace

    from pages import Stale, generated

    measured = docs.json.loads(docs.MEASURED.read_text(encoding="utf-8"))
    rules = list(load_catalogue()[0].rules)
    changed = replace(rules[2], why="Another reason.")
    page = f"rules/{changed.id}.md"
    before, after = generated(rules, measured), generated([*rules[:2], changed, *rules[3:]], measured)
    assert {name for name in before if before[name] != after[name]} >= {page}
    (bad, *others) = changed.examples
    edited = replace(changed, examples=(replace(bad, code=bad.code + "# edited"), *others))
    with pytest.raises(Stale, match=changed.id):
        generated([*rules[:2], edited, *rules[3:]], measured)


@pytest.mark.parametrize("page", docs.written_pages(), ids=lambda page: page.name)
def test_shown_outputs_are_what_the_program_prints(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert docs.normalized(docs.with_outputs(text)) == docs.normalized(text)


def test_the_tutorial_ends_where_it_says() -> None:
    """The outputs of the page are renewed by a program, and nobody may notice that its rule finds nothing any more."""
    shown = [(block["which"], block["body"]) for block in docs.BLOCK.finditer((docs.DOCS / "own-rules.md").read_text())]
    trials = [body.splitlines()[-1] for command, body in shown if command == "warplint test-rules our-rules"]
    assert [line.partition(": ")[2] for line in trials[:3]] == [
        "all as expected",
        "1 not as expected",
        "all as expected",
    ]
    assert "[ACME001] carried-quotient: " in next(body for command, body in shown if command == "warplint src")


@pytest.mark.parametrize("page", docs.written_pages(), ids=lambda page: page.name)
def test_no_output_is_shown_that_nothing_checks(page: Path) -> None:
    text = re.sub(docs.BLOCK, "", page.read_text(encoding="utf-8"))
    assert "```text" not in text and "```json" not in text
    assert not re.findall(r"^(?:error|warning)\[WP|: WP\d{3} \[|^Found \d", text, re.MULTILINE)


@pytest.mark.parametrize("rule", load_catalogue()[0].rules, ids=lambda rule: rule.id)
def test_a_page_shows_the_measured_numbers(rule: Rule) -> None:
    text = (docs.DOCS / f"rules/{rule.id}.md").read_text(encoding="utf-8")
    assert text.count("```python") == len(rule.examples)
    assert text.count("warplint finds nothing here.") == sum(not example.bad for example in rule.examples)
    assert ("Measured on cpu, Warp " in text.split("## Right")[0]) == (rule.probe.kind != "none" and has_defect(rule))
    for reference in rule.references:
        assert f"- {reference}" in text


def test_every_page_is_in_the_navigation_and_the_other_way_round() -> None:
    pages = {str(page.relative_to(docs.DOCS)) for page in PAGES if page.is_relative_to(docs.DOCS)}
    assert named(SITE["nav"]) == pages


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", text)):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        other = page if not path else page.parent / path
        assert other.exists(), target
        assert not anchor or anchor in anchors(other.read_text(encoding="utf-8")), target


@pytest.mark.skipif(importlib.util.find_spec("zensical") is None, reason="pip install -e '.[docs]' installs zensical")
def test_the_site_is_built(tmp_path: Path) -> None:
    import shutil

    shutil.copytree(docs.DOCS, tmp_path / "docs")
    shutil.copy(docs.ROOT / "mkdocs.yml", tmp_path)
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    html = (tmp_path / "site/rules/WP104/index.html").read_text(encoding="utf-8")
    assert "loop-carried-value" in html and "Measured on cpu" in html
