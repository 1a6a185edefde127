"""Configuration files: which one counts, and what a mistake in one is answered with."""

from __future__ import annotations

from pathlib import Path

import pytest

from warplint.settings.configuration import DEFAULTS, Configuration, Configurations
from warplint.settings.keys import KEYS
from warplint.settings.options import Selectors


def read(folder: Path) -> tuple[Configuration, list[str]]:
    configurations = Configurations()
    configuration = configurations.nearest(folder)
    assert configurations.nearest(folder) is configuration
    places = [(problem.line, problem.message) for problem in configurations.problems]
    return configuration, [f"{line}: {message}" if line else message for line, message in places]


def test_every_key(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text(
        "[tool.warplint]\n"
        'extend = "base.toml"\n'
        'select = ["WP1", "severed-chain"]\nextend-select = ["WP501"]\nignore = ["WP104"]\n'
        'exclude = ["old/"]\nextend-exclude = ["older/"]\nextend-rules = ["."]\nsrc = ["."]\n'
        'probe = false\ndevice = "cuda:1"\nfail-on = "error"\nreach = ["taped"]\nwarp-version = "1.16"\n'
        "probe-import = true\nprobe-native = false\n"
        '[tool.warplint.per-file-ignores]\n"a.py" = ["WP2"]\n[tool.warplint.severity]\nWP104 = "info"\n'
    )
    (tmp_path / "base.toml").touch()
    found, problems = read(tmp_path)
    assert problems == []
    assert set(found.tables[-1].values) == set(KEYS)
    assert (found.path, [table.path.name for table in found.tables]) == (path, ["base.toml", "pyproject.toml"])
    assert found.selectors[-1] == Selectors(("WP1", "severed-chain"), ("WP501",), ("WP104",))
    assert len(found.excludes) == 2
    assert (found.probe, found.device, found.fail_on, found.warp_version) == (False, "cuda:1", "error", "1.16")
    assert (found.probe_import, found.probe_native) == (True, False)
    assert found.reach == ("taped",)
    assert found.folders("extend-rules") == found.folders("src") == (tmp_path,)
    assert (found.ignored_in(tmp_path / "a.py"), found.ignored_in(tmp_path / "b.py")) == (("WP2",), ())
    assert found.severities == ({"WP104": "info"},)


def test_the_nearest_counts_and_is_not_merged(tmp_path: Path) -> None:
    (tmp_path / "sub/deep").mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text('[tool.warplint]\nignore = ["WP101"]\n')
    (tmp_path / "sub/warplint.toml").write_text("probe = false\n")
    configuration, _ = read(tmp_path / "sub/deep")
    assert configuration.path == tmp_path / "sub/warplint.toml"
    assert (configuration.probe, configuration.selectors) == (False, (Selectors(),))


def test_a_pyproject_without_our_table_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "warplint.toml").write_text("probe = true\n")
    (tmp_path / "sub/pyproject.toml").write_text('[project]\nname = "x"\ndependencies = ["warplint"]\n')
    configuration, problems = read(tmp_path / "sub")
    assert configuration.path == tmp_path / "warplint.toml"
    assert problems == []


def test_a_broken_pyproject_that_does_not_mention_us_is_not_our_business(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project\n")
    (tmp_path / "warplint.toml").write_text("")
    configuration, problems = read(tmp_path)
    assert (configuration.path, problems) == (tmp_path / "warplint.toml", [])


def test_no_configuration(tmp_path: Path) -> None:
    assert read(tmp_path) == (DEFAULTS, [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('ignroe = ["WP101"]', "unknown key `ignroe`; did you mean `ignore`?"),
        (
            "colour = 1",
            "unknown key `colour`; known are " + ", ".join(f"`{key}`" for key in KEYS),
        ),
        ('ignore = "WP101"', "`ignore` must be a list of strings, not 'WP101'"),
        ("select = [1]", "`select` must be a list of strings, not [1]"),
        ('probe = "no"', "`probe` must be true or false, not 'no'"),
        ('device = "gpu"', "`device` must be `auto`, `cpu` or `cuda:N`, not 'gpu'"),
        ('extend-select = "WP1"', "`extend-select` must be a list of strings, not 'WP1'"),
        ("extend_exclude = []", "unknown key `extend_exclude`; did you mean `extend-exclude`?"),
        ('extend = ""', "`extend` must be the path of a configuration file, not ''"),
        ('extend = "no.toml"', "`extend` names 'no.toml', which is no file; correct the path"),
        ('extend = "warplint.toml"', "`extend` leads in a circle, back to "),
        ('src = ["no"]', "`src` names 'no', which is no folder; correct the path"),
        ('extend-rules = ["no"]', "`extend-rules` names 'no', which is no folder; correct the path"),
        ('warp-version = ">=1"', "`warp-version` must be a version, as `1.16`, not '>=1'"),
        ('fail-on = "all"', "`fail-on` must be `error`, `warning`, `info` or `never`, not 'all'"),
        ('severity = { WP104 = "bad" }', "`severity` must be a table from rules to `error`, `warning` or `info`, as"),
        ("severity = { WP104 = [] }", "`severity` must be a table from rules to `error`, `warning` or `info`, as"),
        ('per-file-ignores = ["a"]', "`per-file-ignores` must be a table from patterns to lists of rules, as"),
        ('per-file-ignores = { a = "WP1" }', "`per-file-ignores` must be a table from patterns to lists of rules, as"),
        ("a = 1\nb = = 2", "2: broken TOML: Invalid value; files below it are linted with the defaults"),
    ],
)
def test_a_mistake_is_one_sentence_and_the_rest_still_counts(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "warplint.toml").write_text(text + "\n")
    configuration, problems = read(tmp_path)
    (problem,) = problems
    assert problem.removeprefix("1: ").startswith(message)
    assert configuration.path == tmp_path / "warplint.toml"
    assert not any(configuration.given(key) for key in KEYS if key != "extend" and configuration.value(key))


def test_a_mistake_is_told_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "warplint.toml").write_text('# ignroe\nselect = ["WP1"]\n\nignroe = []\nprobe = 1\n')
    assert [problem.split(" ")[0] for problem in read(tmp_path)[1]] == ["4:", "5:"]


def test_the_keys_beside_a_mistake_count(tmp_path: Path) -> None:
    (tmp_path / "warplint.toml").write_text('ignroe = ["WP101"]\nprobe = false\n')
    configuration, problems = read(tmp_path)
    assert configuration.probe is False
    assert len(problems) == 1


def test_a_table_that_is_no_table(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool]\nwarplint = 3\n")
    assert read(tmp_path)[1] == ["`tool.warplint` must be a table: write `[tool.warplint]`"]


def test_a_file_that_is_not_utf_8(tmp_path: Path) -> None:
    (tmp_path / "warplint.toml").write_bytes(b"# \xe9\n")
    assert read(tmp_path)[1] == ["the configuration is not UTF-8; save it as UTF-8"]


def test_a_file_is_complained_about_once(tmp_path: Path) -> None:
    (tmp_path / "warplint.toml").write_text("x = 1\n")
    configurations = Configurations()
    for name in ("a", "b", "a/c"):
        configurations.nearest(tmp_path / name)
    assert len(configurations.problems) == 1


def test_our_own_file_needs_no_table(tmp_path: Path) -> None:
    (tmp_path / "warplint.toml").write_text('[tool.warplint]\nignore = ["WP1"]\n')
    _, problems = read(tmp_path)
    assert problems == ["in this file the keys stand alone; take `[tool.warplint]` away"]


class TestSlips:
    """A table that is nearly named as ours would silently have no effect."""

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("[tool.warplnt]\nx = 1", "1: `tool.warplnt` has no effect; did you mean `[tool.warplint]`?"),
            ("[tool.warp-lint]\n", "1: `tool.warp-lint` has no effect; did you mean `[tool.warplint]`?"),
            ("\n[ tool . wraplint ]\n", "2: `tool.wraplint` has no effect; did you mean `[tool.warplint]`?"),
            ("[tool.Warplint]\n", "1: `tool.Warplint` has no effect; did you mean `[tool.warplint]`?"),
            ("[tool.warplints.severity]\n", "1: `tool.warplints` has no effect; did you mean `[tool.warplint]`?"),
            ("[warplint]\n", "1: `[warplint]` has no effect; write `[tool.warplint]`"),
        ],
    )
    def test_one_is_told(self, tmp_path: Path, text: str, message: str) -> None:
        (tmp_path / "pyproject.toml").write_text(text)
        assert read(tmp_path) == (DEFAULTS, [message])

    @pytest.mark.parametrize("name", ["warp", "pylint", "lint", "vulture", "wasp", "pyproject"])
    def test_another_tool_is_not(self, tmp_path: Path, name: str) -> None:
        (tmp_path / "pyproject.toml").write_text(f"[tool.{name}]\n")
        assert read(tmp_path) == (DEFAULTS, [])


class TestExtend:
    def test_lists_are_replaced_tables_merged_and_extensions_added(self, tmp_path: Path) -> None:
        (tmp_path / "sub").mkdir()
        (tmp_path / "warplint.toml").write_text(
            'ignore = ["WP101"]\nexclude = ["a.py"]\nextend-exclude = ["b.py"]\ndevice = "cpu"\n'
            'severity = { WP1 = "info", WP3 = "info" }\nper-file-ignores = { "x.py" = ["WP1"] }\n'
        )
        (tmp_path / "sub/warplint.toml").write_text(
            'extend = "../warplint.toml"\nignore = ["WP102"]\nexclude = ["c.py"]\nextend-exclude = ["d.py"]\n'
            'severity = { WP1 = "error" }\nper-file-ignores = { "x.py" = ["WP5"] }\n'
        )
        found, problems = read(tmp_path / "sub")
        assert problems == []
        assert [layer.ignore for layer in found.selectors] == [(), ("WP102",)]
        assert found.device == "cpu"
        left_out = [
            name for name in "abcd" if any(file.covers(str(tmp_path / f"sub/{name}.py")) for file in found.excludes)
        ]
        assert left_out == ["b", "c", "d"]
        assert found.severities == ({"WP1": "info", "WP3": "info"}, {"WP1": "error"})
        assert found.ignored_in(tmp_path / "sub/x.py") == ("WP1", "WP5")
        assert found.ignored_in(tmp_path / "x.py") == ("WP1",)

    def test_a_selection_replaces_what_was_selected_before(self, tmp_path: Path) -> None:
        (tmp_path / "base.toml").write_text('select = ["WP1"]\nextend-select = ["WP301"]\nignore = ["WP104"]\n')
        (tmp_path / "warplint.toml").write_text('extend = "base.toml"\nselect = ["WP4"]\n')
        assert read(tmp_path)[0].selectors == (Selectors(ignore=("WP104",)), Selectors(("WP4",)))

    def test_a_chain_and_a_circle(self, tmp_path: Path) -> None:
        (tmp_path / "a.toml").write_text('extend = "b.toml"\n')
        (tmp_path / "b.toml").write_text('extend = "warplint.toml"\nprobe = false\n')
        (tmp_path / "warplint.toml").write_text('extend = "a.toml"\n')
        found, (problem,) = read(tmp_path)
        assert found.probe is False
        assert problem.startswith("`extend` leads in a circle")

    def test_a_pyproject_can_be_extended(self, tmp_path: Path) -> None:
        (tmp_path / "sub").mkdir()
        (tmp_path / "pyproject.toml").write_text("[tool.warplint]\nprobe = false\n")
        (tmp_path / "sub/warplint.toml").write_text('extend = "../pyproject.toml"\n')
        assert read(tmp_path / "sub")[0].probe is False

    def test_one_without_our_table_cannot(self, tmp_path: Path) -> None:
        (tmp_path / "pyproject.toml").write_text("[tool.other]\n")
        (tmp_path / "warplint.toml").write_text('extend = "pyproject.toml"\n')
        (problem,) = read(tmp_path)[1]
        assert "no `[tool.warplint]` table" in problem


@pytest.mark.parametrize(
    ("pattern", "path", "ignored"),
    [
        ("tests/", "tests/deep/a.py", True),
        ("tests/", "a.py", False),
        ("__init__.py", "pkg/__init__.py", True),
        ("/a.py", "pkg/a.py", False),
        ("**/b_*.py", "pkg/b_x.py", True),
        ("!src/", "src/a.py", False),
        ("!src/", "other/a.py", True),
    ],
)
def test_patterns_of_per_file_ignores(tmp_path: Path, pattern: str, path: str, ignored: bool) -> None:
    (tmp_path / "warplint.toml").write_text(f'per-file-ignores = {{ "{pattern}" = ["WP1"] }}\n')
    assert bool(read(tmp_path)[0].ignored_in(tmp_path / path)) == ignored
