"""``warplint explain``: the page of a rule comes from its file."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from command import Command
from own_rule import OWN_RULE

from warplint.arguments import SYMPTOM_NAMES
from warplint.catalogue.loading import load_catalogue
from warplint.catalogue.rule import HARMLESS_SYMPTOMS, SYMPTOMS, Rule

RULES = load_catalogue()[0].rules
DOCUMENTED = Path(__file__).parents[2] / "docs" / "rules"


class TestRules:
    def test_the_table(self, warplint: Command) -> None:
        done = warplint("rules")
        assert done.stdout == warplint("explain").stdout
        assert [line.split() for line in done.stdout.splitlines()] == [
            [rule.id, rule.name, rule.severity, rule.family] for rule in RULES
        ]

    def test_json(self, warplint: Command) -> None:
        rows = json.loads(warplint("rules", "--output-format", "json").stdout)
        assert [(row["id"], row["warp"], row["symptoms"]) for row in rows] == [
            (rule.id, rule.warp, list(rule.symptoms)) for rule in RULES
        ]
        assert all(row["fix"]["help"] and row["why"] and row["message"] for row in rows)

    def test_own_rules_are_among_them(self, tmp_path: Path, warplint: Command) -> None:
        (tmp_path / "our").mkdir()
        (tmp_path / "our/ACME001.yaml").write_text(OWN_RULE)
        (tmp_path / "warplint.toml").write_text('extend-rules = ["our"]\n')
        assert "ACME001  no-in-place-anything" in warplint("rules").stdout
        assert warplint("explain", "acme001").stdout.startswith("# ACME001 no-in-place-anything\n")
        (tmp_path / "our/ACME001.yaml").write_text("[")
        broken = warplint("rules")
        assert (broken.returncode, "our/ACME001.yaml:2:1: broken YAML" in broken.stderr) == (2, True)


def test_all_pages(warplint: Command) -> None:
    text = warplint("explain", "--all").stdout
    titles = [line for line in text.splitlines() if line.startswith("# ") and line.split()[1] in {r.id for r in RULES}]
    assert titles == [f"# {rule.id} {rule.name}" for rule in RULES]


class TestSymptoms:
    def test_names_and_data_agree(self) -> None:
        assert set(SYMPTOM_NAMES) == {*SYMPTOMS, *HARMLESS_SYMPTOMS}

    @pytest.mark.parametrize(
        "rule",
        [rule for rule in RULES if rule.family not in ("suppression", "contract") and rule.probe.kind != "compile"],
        ids=lambda rule: rule.id,
    )
    def test_every_rule_about_gradients_has_one(self, rule: Rule) -> None:
        assert rule.symptoms

    @pytest.mark.parametrize("symptom", SYMPTOM_NAMES)
    def test_one_leads_to_its_rules(self, warplint: Command, symptom: str) -> None:
        done = warplint("explain", "--symptom", symptom)
        assert done.returncode == 0
        heads = [line[3:].split()[0] for line in done.stdout.splitlines() if line.startswith("## ")]
        assert heads == [rule.id for rule in RULES if symptom in rule.symptoms]
        assert done.stdout.startswith(f"# {symptom}\n\nThe gradient ")

    @pytest.mark.parametrize("arguments", [["--symptom", "ugly"], ["--all", "WP104"], ["--symptom", "nan", "--all"]])
    def test_wrong_calls(self, warplint: Command, arguments: list[str]) -> None:
        done = warplint("explain", *arguments)
        assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)


def test_by_code_and_by_name(warplint: Command) -> None:
    by_code, by_name = warplint("explain", "wp104"), warplint("explain", "loop-carried-value")
    assert by_code.stdout == by_name.stdout
    assert by_code.stdout.startswith("# WP104 loop-carried-value\n\nerror, confidence high, family lost-value, Warp ")
    assert (by_code.returncode, by_code.stderr) == (0, "")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["lost-value"], [rule.id for rule in RULES if rule.family == "lost-value"]),
        (["wp2"], [rule.id for rule in RULES if rule.id.startswith("WP2")]),
        (["WP501", "loop-carried-value", "WP104"], ["WP104", "WP501"]),
    ],
)
def test_rules_are_named_as_everywhere(warplint: Command, words: list[str], told: list[str]) -> None:
    pages, table = warplint("explain", *words), warplint("rules", *words)
    assert (pages.returncode, pages.stderr, table.returncode, table.stderr) == (0, "", 0, "")
    assert re.findall(r"^# (WP\d+) ", pages.stdout, re.MULTILINE) == told
    assert [line.split()[0] for line in table.stdout.splitlines()] == told
    rows = json.loads(warplint("rules", *words, "--output-format", "json").stdout)
    assert [row["id"] for row in rows] == told


@pytest.mark.parametrize("command", ["explain", "rules"])
@pytest.mark.parametrize(("word", "meant"), [("WP1O4", "WP104"), ("loop-carried-valu", "loop-carried-value")])
def test_a_word_that_names_no_rule(warplint: Command, command: str, word: str, meant: str) -> None:
    done = warplint(command, "WP101", word)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"warplint: unknown rule `{word}`; did you mean `{meant}`?\n"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_page_has_the_numbers_and_the_relatives_of_the_documentation(rule: Rule) -> None:
    from warplint.report.explain import page
    from warplint.report.measured import read

    told = " ".join(" ".join(page(rule, RULES, read())).split())
    written = (DOCUMENTED / f"{rule.id}.md").read_text(encoding="utf-8")
    numbers = re.findall(r"^(?:Measured on|Line \d+:) .*$", written, re.MULTILINE)
    assert numbers
    for line in numbers:
        assert line in told
    for code in re.findall(r"^- \[(\w+) ", written, re.MULTILINE):
        assert f"- {code} " in told


def test_numbers_are_told_only_of_what_was_measured() -> None:
    from warplint.report.explain import page
    from warplint.report.measured import NOTHING, read

    rule = next(rule for rule in RULES if rule.id == "WP104")
    edited = replace(rule, examples=tuple(replace(one, code=one.code + "# edited\n") for one in rule.examples))
    assert "Measured on" in "\n".join(page(rule, (), read()))
    assert "Measured on" not in "\n".join(page(edited, (), read()))
    assert "Measured on" not in "\n".join(page(rule, (), NOTHING))


def test_the_command_tells_them(warplint: Command) -> None:
    one, every = warplint("explain", "WP104").stdout, warplint("explain", "--all").stdout
    for text in (one, every):
        assert "Measured on cpu, Warp " in text
        assert "## Related rules" in text


def test_without_a_rule_all_are_listed(warplint: Command) -> None:
    lines = warplint("explain").stdout.splitlines()
    assert [line.split()[:2] for line in lines] == [[rule.id, rule.name] for rule in RULES]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_page_holds_everything(rule: Rule) -> None:
    from warplint.report.explain import page

    lines = list(page(rule))
    text = " ".join(" ".join(lines).split())
    for part in (rule.why, rule.fix.help, *rule.references):
        assert " ".join(part.split()) in text
    for example in rule.examples:
        assert example.code.strip() in "\n".join(lines)
    assert max(len(line) for line in lines) <= 120
