"""``--baseline`` and ``--write-baseline``."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path

import pytest
from command import Command
from linting import LIGHT, PLAN, hits
from programs import CARRIED, CLEAN, IN_PLACE


@pytest.fixture
def based(lint: Command) -> Command:
    return partial(lint, "--baseline", "known.json")


@pytest.fixture
def known(project: Path, based: Command) -> Path:
    """A baseline of both findings."""
    done = based("--write-baseline", ".")
    assert (hits(done), done.returncode) == ([], 0)
    assert done.stdout == "No findings; 2 in the baseline; 3 files\n"
    return project / "known.json"


def counted(path: Path) -> dict[str, dict[str, dict[str, int]]]:
    """Counts by file, rule and definition."""
    files = json.loads(path.read_text())["files"]
    return {
        file: {
            rule: {definition: sum(messages.values()) for definition, messages in definitions.items()}
            for rule, definitions in rules.items()
        }
        for file, rules in files.items()
    }


BOTH = {"light.py": {"WP101": {"attenuate": 1}}, "sub/plan.py": {"WP104": {"compound": 1}}}


def test_it_counts_by_file_rule_and_definition_and_knows_no_lines(known: Path) -> None:
    assert counted(known) == BOTH
    assert "line" not in known.read_text().replace("baseline", "")


def test_what_it_counts_is_not_listed_from_any_folder(
    project: Path, known: Path, based: Command, lint: Command
) -> None:
    assert hits(based(".")) == []
    assert hits(lint(".")) == [LIGHT, PLAN]
    elsewhere = lint("--baseline", "../known.json", "plan.py", cwd=project / "sub")
    assert (hits(elsewhere), elsewhere.returncode) == ([], 0)
    assert counted(known) == BOTH


def test_a_finding_may_move_within_its_file(project: Path, known: Path, based: Command) -> None:
    (project / "light.py").write_text(CLEAN.replace("attenuate", "other") + "\n\n" + IN_PLACE)
    assert hits(based(".")) == []
    assert counted(known) == BOTH


def test_a_new_one_is_listed(project: Path, known: Path, based: Command) -> None:
    (project / "light.py").write_text(IN_PLACE + "    passed[i] *= light[i]\n")
    assert hits(based(".")) == ["light.py:8 WP101"]
    (project / "light.py").write_text(IN_PLACE + IN_PLACE.replace("attenuate", "again"))
    assert hits(based(".")) == ["light.py:14 WP101"]
    (project / "new.py").write_text(IN_PLACE)
    assert hits(based(".")) == ["light.py:14 WP101", "new.py:7 WP101"]


def test_one_more_of_the_same_hides_none(project: Path, known: Path, based: Command) -> None:
    (project / "light.py").write_text(IN_PLACE + "    light[i] *= passed[i]\n")
    done = based(".")
    assert (hits(done), done.returncode) == ([LIGHT, "light.py:8 WP101"], 1)


def test_another_one_in_the_place_of_a_known_one_is_new(project: Path, known: Path, based: Command) -> None:
    (project / "light.py").write_text(IN_PLACE.replace("light[i] *=", "passed[i] *="))
    assert hits(based(".")) == [LIGHT]


class TestShrinking:
    def test_what_is_gone_is_not_counted_any_more(self, project: Path, known: Path, based: Command) -> None:
        (project / "light.py").write_text(CLEAN)
        assert hits(based(".")) == []
        assert counted(known) == {"sub/plan.py": BOTH["sub/plan.py"]}
        (project / "light.py").write_text(IN_PLACE)
        assert hits(based(".")) == [LIGHT]

    def test_nor_a_file_that_is_gone(self, project: Path, known: Path, based: Command) -> None:
        (project / "light.py").unlink()
        based("sub")
        assert counted(known) == {"sub/plan.py": BOTH["sub/plan.py"]}

    def test_what_was_not_looked_for_stays(self, project: Path, known: Path, based: Command) -> None:
        (project / "light.py").write_text(CLEAN)
        (project / "sub/plan.py").write_text(CLEAN)
        before = known.read_text()
        based("clean.py")
        based("--select", "WP3", ".")
        based("-", "--stdin-filename", "light.py", stdin=CLEAN)
        (project / "light.py").write_text("(\n")
        (project / "sub/plan.py").write_text("(\n")
        based(".")
        assert known.read_text() == before

    def test_nothing_is_written_where_nothing_changed(self, known: Path, based: Command) -> None:
        os.utime(known, (1, 1))
        based(".")
        assert known.stat().st_mtime == 1


def test_writing_a_part_keeps_the_rest(project: Path, known: Path, based: Command) -> None:
    (project / "sub/plan.py").write_text(CARRIED.replace("compound", "grow"))
    (project / "light.py").write_text(CLEAN)
    based("--write-baseline", "sub")
    assert counted(known) == {"light.py": BOTH["light.py"], "sub/plan.py": {"WP104": {"grow": 1}}}


class TestMistakes:
    @pytest.mark.parametrize(
        ("text", "words"),
        [
            (None, "there is no such baseline; write it with --write-baseline"),
            ("{", "this is no baseline"),
            ("[]", "this is no baseline"),
            ('{"warplint-baseline": 2, "files": {}}', "this is no baseline"),
            ('{"warplint-baseline": 1, "files": {"a.py": {"WP101": {"f": {"m": -1}}}}}', "this is no baseline"),
        ],
    )
    def test_no_baseline(self, project: Path, based: Command, text: str | None, words: str) -> None:
        if text is not None:
            (project / "known.json").write_text(text)
        done = based(".")
        assert (hits(done), done.returncode) == ([LIGHT, PLAN], 2)
        assert done.stderr.startswith(f"warplint: known.json: {words}")
        assert not (project / "known.json").exists() or (project / "known.json").read_text() == text
        assert based("--write-baseline", ".").returncode == 0

    def test_one_that_cannot_be_written(self, project: Path, lint: Command) -> None:
        done = lint("--baseline", "nowhere/known.json", "--write-baseline", ".")
        assert (done.returncode, "cannot write the baseline" in done.stderr) == (2, True)

    def test_writing_needs_a_file(self, project: Path, lint: Command) -> None:
        assert lint("--write-baseline", ".").returncode == 2


def test_what_is_known_is_not_probed(project: Path, known: Path, warplint: Command) -> None:
    document = json.loads(warplint("--output-format", "json", "--baseline", "known.json", ".").stdout)
    assert (document["findings"], document["device"]) == ([], None)
    assert document["summary"]["baselined"] == 2
