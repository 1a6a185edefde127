"""Configuration files: which one counts, and what a mistake in one is answered with."""

from __future__ import annotations

from pathlib import Path

import pytest

from warplint.settings.configuration import DEFAULTS, Configuration, Configurations
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
        'select = ["WP1", "severed-chain"]\nextend-select = ["WP501"]\nignore = ["WP104"]\n'
        'exclude = ["old/"]\nprobe = false\ndevice = "cuda:1"\n'
    )
    assert read(tmp_path) == (
        Configuration(
            path=path,
            selectors=Selectors(("WP1", "severed-chain"), ("WP501",), ("WP104",)),
            exclude=("old/",),
            probe=False,
            device="cuda:1",
        ),
        [],
    )


def test_the_nearest_counts_and_is_not_merged(tmp_path: Path) -> None:
    (tmp_path / "sub/deep").mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text('[tool.warplint]\nignore = ["WP101"]\n')
    (tmp_path / "sub/warplint.toml").write_text("probe = false\n")
    configuration, _ = read(tmp_path / "sub/deep")
    assert configuration == Configuration(path=tmp_path / "sub/warplint.toml", probe=False)


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
    assert read(tmp_path) == (Configuration(path=tmp_path / "warplint.toml"), [])


def test_no_configuration(tmp_path: Path) -> None:
    assert read(tmp_path) == (DEFAULTS, [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('ignroe = ["WP101"]', "unknown key `ignroe`; did you mean `ignore`?"),
        (
            "colour = 1",
            "unknown key `colour`; known are `select`, `extend-select`, `ignore`, `exclude`, `probe`, `device`",
        ),
        ('ignore = "WP101"', "`ignore` must be a list of strings, not 'WP101'"),
        ("select = [1]", "`select` must be a list of strings, not [1]"),
        ('probe = "no"', "`probe` must be true or false, not 'no'"),
        ('device = "gpu"', "`device` must be `auto`, `cpu` or `cuda:N`, not 'gpu'"),
        ("a = 1\nb = = 2", "2: broken TOML: Invalid value; files below it are linted with the defaults"),
    ],
)
def test_a_mistake_is_one_sentence_and_the_rest_still_counts(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "warplint.toml").write_text(text + "\n")
    configuration, problems = read(tmp_path)
    assert problems == [message]
    assert configuration == Configuration(path=tmp_path / "warplint.toml")


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
