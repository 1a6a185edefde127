"""``warplint new-rule`` and ``warplint test-rules``. The tutorial is run with the other pages of docs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command import Command
from own_rule import OWN_RULE
from programs import CLEAN, IN_PLACE

from warplint.catalogue.loading import load_catalogue
from warplint.scaffold import facts_to_choose_from, new_rule
from warplint.trying import try_rules

CATALOGUE = load_catalogue()[0]
FACTS = facts_to_choose_from(CATALOGUE)


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A rule file that forbids what WP101 finds, with one whole example of each kind."""
    folder = tmp_path / "our"
    (folder / "ACME001").mkdir(parents=True)
    start = OWN_RULE[: OWN_RULE.index("examples:")]
    bad, good = (text.replace("\n", "\n      ") for text in (IN_PLACE, CLEAN))
    (folder / "ACME001.yaml").write_text(f"{start}examples:\n  - bad: |\n      {bad}\n  - good: |\n      {good}\n")
    return folder


def lines(done) -> list[str]:  # type: ignore[no-untyped-def]
    return [re.sub(r": .*", "", line.strip()) for line in done.stdout.splitlines()]


class TestNewRule:
    def test_what_it_makes_is_as_it_should_be_for_every_fact(self, tmp_path: Path) -> None:
        folder = tmp_path / "rules"
        for fact in FACTS:
            written = new_rule(f"no-{fact}", folder, fact)
            assert all(path.exists() for path in written)
        rules, problems = load_catalogue((folder,))
        assert problems == ()
        assert [(rule.id, rule.name, rule.select) for rule in rules.rules] == [
            (f"OWN{number:03}", f"no-{fact}", model.select) for number, (fact, model) in enumerate(FACTS.items(), 1)
        ]
        trials, problems = try_rules(folder, probe=False)
        assert problems == []
        # Some built-in rules are for older versions of Warp alone, or tell only what a probe confirms, and so are those
        # that are made after their examples.
        others = {trial.said for trial in trials if not trial.passed}
        told = r"the rule is for Warp >=1\.\d+,<1\.1\d, and |the rule says nothing without a probe"
        assert all(re.match(told, said) for said in others)
        marked = [trial for trial in trials if trial.subject.name.endswith("wrong.py") and trial.subject.wanted]
        assert len(marked) == len(FACTS)

    def test_it_says_what_it_wrote(self, tmp_path: Path, warplint: Command) -> None:
        done = warplint("new-rule", "no-products", "--id", "ACME007", "--dir", "a/b")
        assert (done.returncode, done.stderr) == (0, "")
        written = ["a/b/ACME007.yaml", "a/b/ACME007/wrong.py", "a/b/ACME007/right.py"]
        assert done.stdout.splitlines() == [f"Wrote {path}" for path in written]
        assert all((tmp_path / path).is_file() for path in written)

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["No_Products"], "write words in lower case joined by `-`"),
            (["loop-carried-value"], "is taken by"),
            (["no-products", "--fact", "nothing"], "no kind of fact; known are adjoint-assigned, "),
            (["no-products", "--fact", "loop-carried"], "no kind of fact; did you mean `loop-carried-value`?"),
            (["no-products", "--id", "WP104"], "not WP"),
            (["no-products", "--id", "acme1"], "three digits"),
            (["no-products", "--dir", "file.py"], "check the path"),
        ],
    )
    def test_what_cannot_be(self, tmp_path: Path, warplint: Command, arguments: list[str], words: str) -> None:
        (tmp_path / "file.py").touch()
        done = warplint("new-rule", *arguments)
        assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
        assert words in done.stderr
        assert [path.name for path in tmp_path.iterdir()] == ["file.py"]

    def test_nothing_is_overwritten(self, own: Path, warplint: Command) -> None:
        before = (own / "ACME001.yaml").read_text()
        done = warplint("new-rule", "other-name", "--id", "ACME001", "--dir", own)
        assert (done.returncode, "is taken in our" in done.stderr) == (2, True)
        assert (own / "ACME001.yaml").read_text() == before


class TestTestRules:
    def test_what_is_as_it_should_be(self, own: Path, warplint: Command) -> None:
        (own / "ACME001/wrong.py").write_text(IN_PLACE.replace("passed[i]\n", "passed[i]  # expect: ACME001\n"))
        (own / "ACME001/right.py").write_text(CLEAN)
        done = warplint("test-rules", "our")
        assert (done.returncode, done.stderr) == (0, "")
        assert lines(done) == [
            "ACME001 no-in-place-anything",
            "ok    example 1 (wrong)",
            "ok    example 2 (right)",
            "ok    our/ACME001/right.py",
            "ok    our/ACME001/wrong.py",
            "1 rule, 4 programs",
        ]
        assert "line 7, unprobed: not probed: it is a matter of style" in done.stdout

    @pytest.mark.parametrize(
        ("name", "text", "said"),
        [
            ("unmarked.py", IN_PLACE, "line 7: found: `light[i]` is changed in place"),
            ("missed.py", CLEAN + "# expect: ACME001\n", "line 8: nothing is found"),
            ("broken.py", "def broken(:\n", "line 1: "),
        ],
    )
    def test_what_is_not(self, own: Path, warplint: Command, name: str, text: str, said: str) -> None:
        (own / "ACME001" / name).write_text(text)
        done = warplint("test-rules", "our", "--no-probe")
        assert (done.returncode, done.stderr) == (1, "")
        assert f"  FAIL  our/ACME001/{name}: {said}" in done.stdout
        assert done.stdout.endswith("1 rule, 3 programs: 1 not as expected\n")

    def test_examples_that_are_the_wrong_way_round(self, own: Path, warplint: Command) -> None:
        path = own / "ACME001.yaml"
        path.write_text(
            path.read_text().replace("- bad:", "- x:").replace("- good:", "- bad:").replace("- x:", "- good:")
        )
        done = warplint("test-rules", "our", "--no-probe")
        assert done.returncode == 1
        assert "FAIL  example 1 (right): line 7: found: " in done.stdout
        assert "FAIL  example 2 (wrong): nothing is found" in done.stdout

    def test_what_the_probe_refutes_is_not_as_expected(self, own: Path, warplint: Command) -> None:
        path = own / "ACME001.yaml"
        text = path.read_text().replace("{none: it is a matter of style}", "finite-adjoint")
        path.write_text(text)
        done = warplint("test-rules", "our", "--device", "cpu")
        assert done.returncode == 1
        assert re.search(r"FAIL  example 1 \(wrong\): line 7: (refuted|inconclusive) on cpu", done.stdout)

    def test_a_rule_for_another_version_is_not_tried(self, own: Path, warplint: Command) -> None:
        path = own / "ACME001.yaml"
        path.write_text(path.read_text().replace('">=1.0"', '"<1.0"'))
        done = warplint("test-rules", "our")
        assert done.returncode == 0
        assert "  skip  example 1 (wrong): the rule is for Warp <1.0, and 1." in done.stdout

    def test_other_settings_and_rules_do_not_matter(self, own: Path, tmp_path: Path, warplint: Command) -> None:
        (tmp_path / "warplint.toml").write_text('exclude = ["our/"]\nignore = ["ACME001"]\nextend-rules = ["our"]\n')
        assert warplint("test-rules", "our", "--no-probe").returncode == 0

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("[", "broken YAML"),
            ("id: X", "`id` must be"),
            (None, "no rule files here; check the path, or begin one with `warplint new-rule`"),
        ],
    )
    def test_broken_rules(self, tmp_path: Path, warplint: Command, text: str | None, said: str) -> None:
        if text is not None:
            (tmp_path / "our").mkdir()
            (tmp_path / "our/ACME001.yaml").write_text(text)
        done = warplint("test-rules", "our")
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr
