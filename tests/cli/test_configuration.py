"""What a configuration does to a run, and ``warplint config``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import Command
from linting import LIGHT, PLAN, hits
from own_rule import OWN_RULE
from programs import REACHED


def test_severities_decide_what_is_listed_and_what_fails(project: Path, lint: Command) -> None:
    (project / "warplint.toml").write_text('severity = { "lost-value" = "warning", WP101 = "error" }\n')
    done = lint(".")
    # Nothing launches these kernels on a tape, so each is a step less severe than configured.
    assert (hits(done), done.returncode) == ([LIGHT], 1)
    assert done.stdout.endswith("Found 1 finding (1 unprobed); 1 less severe and not listed; 3 files\n")
    everything = lint("--min-severity", "info", ".")
    assert (hits(everything), everything.returncode) == ([LIGHT, PLAN], 1)
    assert (hits(lint("--min-severity", "error", ".")), lint("--min-severity", "error", ".").returncode) == ([], 0)


@pytest.mark.parametrize(
    ("configured", "given", "status"),
    [
        (None, None, 1),
        ("error", None, 0),
        ("never", None, 0),
        ("error", "warning", 1),
        ("warning", "never", 0),
        (None, "info", 1),
    ],
)
def test_what_a_run_fails_on(
    project: Path, lint: Command, configured: str | None, given: str | None, status: int
) -> None:
    if configured is not None:
        (project / "warplint.toml").write_text(f'fail-on = "{configured}"\n')
    done = lint(*([] if given is None else ["--fail-on", given]), ".")
    assert (hits(done), done.returncode) == ([LIGHT, PLAN], status)


_REACHED = {"taped": 8, "untaped": 14, "library": 20}


@pytest.mark.parametrize(
    ("configured", "given", "reaches"),
    [
        (None, None, ("taped", "untaped", "library")),
        (None, "taped", ("taped",)),
        (None, "library,untaped", ("untaped", "library")),
        (["untaped"], None, ("untaped",)),
        (["untaped"], "library", ("library",)),
    ],
)
def test_reach(
    tmp_path: Path, lint: Command, configured: list[str] | None, given: str | None, reaches: tuple[str, ...]
) -> None:
    (tmp_path / "reached.py").write_text(REACHED)
    if configured is not None:
        (tmp_path / "warplint.toml").write_text(f"reach = {json.dumps(configured)}\n")
    asked = [] if given is None else ["--reach", given]
    done = lint("--select", "WP101", "--min-severity", "info", *asked, str(tmp_path / "reached.py"))
    lines = [int(line.split(":")[1]) for line in done.stdout.splitlines() if "WP101" in line]
    assert lines == [_REACHED[reach] for reach in reaches]
    for reach in reaches:
        assert (f", {reach}]" in done.stdout) == (reach != "taped")


def test_a_reach_that_there_is_not(lint: Command) -> None:
    done = lint("--reach", "taped,everywhere", ".")
    assert done.returncode == 2
    assert "'everywhere' is none of taped, library, untaped" in done.stderr


def test_per_file_ignores(project: Path, lint: Command) -> None:
    (project / "warplint.toml").write_text('per-file-ignores = { "sub/" = ["lost-value"], "light.py" = ["WP5"] }\n')
    assert hits(lint(".")) == [LIGHT]
    assert hits(lint("--select", "WP104", "sub")) == []


def test_words_that_select_nothing_are_told(project: Path, lint: Command) -> None:
    (project / "warplint.toml").write_text(
        'severity = { "loop-caried-value" = "info" }\nper-file-ignores = { "sub/" = ["WP1O4"] }\n'
    )
    done = lint(".")
    assert (hits(done), done.returncode) == ([LIGHT, PLAN], 2)
    assert done.stderr.splitlines() == [
        "warplint: warplint.toml:1: `severity`: unknown rule `loop-caried-value`; did you mean `loop-carried-value`?",
        "warplint: warplint.toml:2: `per-file-ignores`: unknown rule `WP1O4`; did you mean `WP104`?",
    ]


class TestOwnRules:
    @pytest.fixture(autouse=True)
    def _rules(self, project: Path) -> None:
        (project / "our-rules").mkdir()
        (project / "our-rules/ACME001.yaml").write_text(OWN_RULE)
        (project / "warplint.toml").write_text('extend-rules = ["our-rules"]\n')

    def test_they_apply_and_can_be_selected(self, lint: Command) -> None:
        own = "light.py:7 ACME001"
        assert hits(lint(".")) == [own, LIGHT, PLAN]
        assert hits(lint("--select", "no-in-place-anything", ".")) == [own]
        assert hits(lint("--ignore", "ACME", ".")) == [LIGHT, PLAN]

    def test_elsewhere_they_are_unknown(self, lint: Command) -> None:
        done = lint("--isolated", "--select", "ACME001", ".")
        assert (done.returncode, "unknown rule `ACME001`" in done.stderr) == (2, True)

    def test_a_mistake_is_a_sentence_and_costs_that_rule_only(self, project: Path, lint: Command) -> None:
        path = project / "our-rules/ACME001.yaml"
        path.write_text(OWN_RULE.replace("{target}", "{victim}"))
        done = lint(".")
        assert (hits(done), done.returncode) == ([LIGHT, PLAN], 2)
        assert done.stderr.startswith(
            "warplint: our-rules/ACME001.yaml:9: `message` quotes `{victim}`, which `array-augmented-assignment` does"
        )
        path.write_text(OWN_RULE.replace("probe:", "prob:"))
        assert "did you mean `probe`?" in lint(".").stderr


def test_exclude_on_the_command_line(project: Path, lint: Command) -> None:
    (project / "warplint.toml").write_text('extend-exclude = ["clean.py"]\n')
    done = lint("--exclude", "sub/", ".")
    assert hits(done) == [LIGHT]
    assert done.stdout.endswith("; 1 file\n")
    malformed = lint("--exclude", "!", ".")
    assert malformed.returncode == 2
    assert malformed.stderr.startswith("warplint: `--exclude` holds a malformed pattern: ")


def test_one_configuration_for_all_and_none(project: Path, lint: Command) -> None:
    (project / "warplint.toml").write_text('ignore = ["WP101"]\n')
    (project / "other.toml").write_text('ignore = ["WP104"]\n')
    assert hits(lint(".")) == [PLAN]
    assert hits(lint("--config", "other.toml", ".")) == [LIGHT]
    assert hits(lint("--isolated", ".")) == [LIGHT, PLAN]
    missing = lint("--config", "nowhere.toml", ".")
    assert missing.returncode == 2
    assert missing.stderr.startswith("warplint: nowhere.toml: cannot read the configuration: No such file")
    assert lint("--config", "other.toml", "--isolated", ".").returncode == 2


def test_a_probe_can_be_turned_off_for_a_part(project: Path, warplint: Command) -> None:
    (project / "sub/warplint.toml").write_text("probe = false\n")
    (project / "light.py").unlink()
    done = warplint("--output-format", "json", ".")
    assert [found["evidence"]["detail"] for found in json.loads(done.stdout)["findings"]] == ["the probe is turned off"]


def test_imports_are_looked_for_in_src(project: Path, lint: Command) -> None:
    (project / "lib").mkdir()
    (project / "lib/shared.py").write_text("import warp as wp\nYEARS = 3\n")
    path = project / "sub/plan.py"
    text = path.read_text().replace("import warp as wp\n", "import warp as wp\nfrom shared import YEARS\n")
    path.write_text(text.replace("range(years)", "range(YEARS)"))
    (project / "warplint.toml").write_text('src = ["lib"]\n')
    # Three iterations are unrolled, where it is known that they are three.
    assert hits(lint("sub")) == []


class TestConfigCommand:
    def test_every_value_with_its_origin(self, project: Path, warplint: Command) -> None:
        (project / "pyproject.toml").write_text('[tool.warplint]\nignore = ["WP101"]\ndevice = "cpu"\n')
        (project / "sub/warplint.toml").write_text('extend = "../pyproject.toml"\nseverity = { WP104 = "warning" }\n')
        done = warplint("config", "sub/plan.py")
        assert (done.returncode, done.stderr) == (0, "")
        lines = [line.split() for line in done.stdout.splitlines()]
        assert lines[0] == [
            "sub/plan.py:",
            "governed",
            "by",
            "sub/warplint.toml,",
            "which",
            "extends",
            "pyproject.toml",
        ]
        assert ["ignore", '["WP101"]', "pyproject.toml"] in lines
        assert ["device", '"cpu"', "pyproject.toml"] in lines
        assert ["probe", "true", "default"] in lines
        assert ["WP104", "loop-carried-value", "warning"] in lines
        assert not any(line[:1] == ["WP101"] for line in lines)

    def test_json(self, project: Path, warplint: Command) -> None:
        (project / "warplint.toml").write_text('per-file-ignores = { "light.py" = ["WP1"] }\nprobe = false\n')
        document = json.loads(warplint("config", "light.py", "--output-format", "json").stdout)
        assert document["files"] == ["warplint.toml"]
        assert document["settings"]["probe"] == {"value": False, "origins": ["warplint.toml"]}
        assert document["settings"]["select"] == {"value": None, "origins": []}
        assert "WP101" not in document["rules"] and "WP301" in document["rules"]

    def test_mistakes_are_told(self, project: Path, warplint: Command) -> None:
        (project / "pyproject.toml").write_text("[tool.warplnt]\nprobe = false\n")
        done = warplint("config")
        assert done.returncode == 2
        assert "did you mean `[tool.warplint]`?" in done.stderr
        assert done.stdout.startswith(".: governed by no file, so by the defaults\n")
