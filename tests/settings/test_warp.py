"""Which Warp the code is for: each source, and which of them counts before which."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from warplint.settings.configuration import DEFAULTS, Configurations
from warplint.settings.installed import EnvironmentUnusable, active_environment, is_tool_environment, warp_beside
from warplint.settings.requirements import NEWEST, allowed, is_pinned, required
from warplint.settings.warp import WarpVersion, WarpVersions, series


def environment(folder: Path, version: str, below: str = "lib/python3.11/site-packages") -> Path:
    """A virtual environment as pip leaves it, with a Warp that breaks whoever imports it."""
    packages = folder / below
    (packages / f"warp_lang-{version}.dist-info").mkdir(parents=True)
    (packages / "warp").mkdir()
    (packages / "warp" / "__init__.py").write_text("raise SystemExit('imported')")
    (folder / "pyvenv.cfg").write_text("home = /nowhere/bin\ninclude-system-site-packages = false\n")
    (folder / "bin").mkdir(exist_ok=True)
    (folder / "bin" / "python").write_text("#!/bin/sh\nexit 3\n")
    return folder


def of(folder: Path, variables: Mapping[str, str] | None = None, **given: str) -> WarpVersion:
    """The version for the files in a folder; ``beside`` is the Warp beside warplint, which has none by default."""
    configuration = Configurations().nearest(folder)
    versions = WarpVersions(
        given.get("given"), given.get("python"), variables or {}, beside=lambda: given.get("beside")
    )
    return versions.of(configuration, folder)


def test_each_source_counts_before_those_below_it(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    python = str(environment(tmp_path / "named", "1.14.0") / "bin" / "python")
    active = {"VIRTUAL_ENV": str(environment(tmp_path / "active", "1.13.0"))}
    assert of(project).version == NEWEST
    (project / "requirements.txt").write_text("numpy\nwarp-lang==1.11.1\n")
    assert of(project).version == "1.11.1"
    (project / "uv.lock").write_text('[[package]]\nname = "warp-lang"\nversion = "1.10.0"\n')
    assert of(project).version == "1.10.0"
    assert of(project, beside="1.12.0").version == "1.12.0"
    assert of(project, active, beside="1.12.0").version == "1.13.0"
    assert of(project, active, python=python).version == "1.14.0"
    (project / "warplint.toml").write_text('warp-version = "1.15"\n')
    assert of(project, active, python=python).version == "1.15"
    assert of(project, active, python=python, given="1.16").version == "1.16"


def test_what_says_so_is_told(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    assert of(tmp_path, given="1.16").source == "`--warp-version` says so"
    assert "newest that warplint knows" in of(tmp_path).source
    assert of(tmp_path, beside="1.12.0").source == "installed beside warplint"
    (tmp_path / "requirements.txt").write_text("warp-lang >= 1.5, < 1.17\n")
    assert of(tmp_path).source == f"{tmp_path / 'requirements.txt'} asks for `warp-lang >= 1.5, < 1.17`"
    (tmp_path / "poetry.lock").write_text('[[package]]\nname = "warp-lang"\nversion = "1.10.0"\n')
    assert of(tmp_path).source == f"{tmp_path / 'poetry.lock'} locks it"
    python = str(environment(tmp_path / "env", "1.14.0"))
    assert of(tmp_path, python=python).source == f"installed for `{python}`"
    assert of(tmp_path, {"VIRTUAL_ENV": python}).source == f"installed in the active environment {python}"
    (tmp_path / "pyproject.toml").write_text('[tool.warplint]\nwarp-version = "1.9"\n')
    assert of(tmp_path).source.startswith("`warp-version` in ")


def test_an_active_environment_without_warp_is_no_answer(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "env" / "lib" / "python3.12" / "site-packages").mkdir(parents=True)
    found = of(tmp_path, {"VIRTUAL_ENV": str(tmp_path / "env")}, beside="1.12.0")
    assert found.version == NEWEST, "what is beside warplint is in another environment"


class TestEnvironments:
    """What an environment holds is read, never run."""

    @pytest.mark.parametrize(
        "below", ["lib/python3.11/site-packages", "Lib/site-packages", "lib64/python3.13/site-packages"]
    )
    def test_the_layouts_of_platforms(self, tmp_path: Path, below: str) -> None:
        assert warp_beside(str(environment(tmp_path, "1.16.0", below))) == "1.16.0"

    def test_an_installation_without_virtual_environment(self, tmp_path: Path) -> None:
        (tmp_path / "bin").mkdir()
        for python, version in (("3.9", "1.8.0"), ("3.11", "1.16.0"), ("3.12", "1.18.0")):
            (tmp_path / f"lib/python{python}/dist-packages/warp_lang-{version}.dist-info").mkdir(parents=True)
            (tmp_path / "bin" / f"python{python}").touch()
        assert warp_beside(str(tmp_path / "bin" / "python3.9")) == "1.8.0"
        assert warp_beside(str(tmp_path / "bin" / "python3.11")) == "1.16.0"
        assert warp_beside(str(tmp_path)) == "1.18.0"

    def test_a_link_to_an_interpreter_stands_for_its_environment(self, tmp_path: Path) -> None:
        base, env = environment(tmp_path / "base", "1.8.0"), environment(tmp_path / "env", "1.16.0")
        (env / "bin" / "python").unlink()
        (env / "bin" / "python").symlink_to(base / "bin" / "python")
        assert warp_beside(str(env / "bin" / "python")) == "1.16.0"

    def test_a_link_outside_environments_leads_to_the_installation(self, tmp_path: Path) -> None:
        base = environment(tmp_path / "base", "1.8.0")
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "python").symlink_to(base / "bin" / "python")
        assert warp_beside(str(tmp_path / "bin" / "python")) == "1.8.0"

    def test_packages_of_the_system_count_where_the_environment_lets_them_in(self, tmp_path: Path) -> None:
        base, env = environment(tmp_path / "base", "1.8.0"), tmp_path / "env"
        (env / "lib/python3.11/site-packages").mkdir(parents=True)
        for word, expected in (("true", "1.8.0"), ("false", None)):
            (env / "pyvenv.cfg").write_text(f"home = {base / 'bin'}\ninclude-system-site-packages = {word}\n")
            assert warp_beside(str(env)) == expected

    def test_a_build_from_source_is_known_by_its_numbers(self, tmp_path: Path) -> None:
        assert series(str(warp_beside(str(environment(tmp_path, "1.20.0.dev3"))))) == (1, 20)

    def test_what_is_no_environment_is_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(EnvironmentUnusable, match="does not exist; name the interpreter"):
            warp_beside(str(tmp_path / "missing"))
        (tmp_path / "python").touch()
        with pytest.raises(EnvironmentUnusable, match="no installed packages belong to"):
            WarpVersions(python=str(tmp_path / "python"))

    def test_tools_have_environments_of_their_own(self, tmp_path: Path) -> None:
        assert not is_tool_environment(str(tmp_path), {})
        (tmp_path / "uv-receipt.toml").touch()
        assert is_tool_environment(str(tmp_path), {})
        assert is_tool_environment("/home/x/.cache/pre-commit/repo1/py_env-python3", {})

    def test_activation_is_seen(self, tmp_path: Path) -> None:
        assert active_environment({}) is None
        assert active_environment({"VIRTUAL_ENV": str(tmp_path / "gone")}) is None
        assert active_environment({"CONDA_PREFIX": str(tmp_path)}) == str(tmp_path)


@pytest.mark.parametrize(
    ("requirement", "version"),
    [
        ("warp-lang", NEWEST),
        ("warp_lang[extras]>=1.5", NEWEST),
        ("Warp.Lang >= 1.5, < 1.17 ; python_version > '3.9'", "1.16"),
        ("warp-lang==1.16.0 --hash=sha256:00", "1.16.0"),
        ("warp-lang==1.16.*", "1.16"),
        ("warp-lang~=1.16.1", "1.16"),
        ("warp-lang~=1.16", NEWEST),
        ("warp-lang (<=1.11.1)", "1.11"),
        ("warp-lang>1.5,!=1.19.*", "1.18"),
        ("warp-lang ^1.8", NEWEST),
        ("warp-lang ~1.8", "1.8"),
        ("warp-lang 1.8.1", "1.8.1"),
        ("warp-lang *", NEWEST),
        ("warp-lang>=1.25", "1.25"),
        ("warp-lang @ https://example.org/warp_lang-1.14.0-py3-none-any.whl", "1.14.0"),
        ("warp-lang @ git+https://example.org/warp.git@v1.14.0#egg=warp", "1.14.0"),
        ("warp-lang @ git+https://example.org/warp.git@main", None),
        ("warp-lang==1.16.0 \\", "1.16.0"),
        ("warp-lang==1.16.0", "1.16.0"),
        ("warp-lang>=one", None),
        ("warp-lang-extras==1.2", None),
        ("warp", None),
    ],
)
def test_a_requirement_stands_for_what_an_installer_takes(requirement: str, version: str | None) -> None:
    assert allowed(requirement) == version


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", '[project]\nname = "a"\ndependencies = ["numpy", "warp-lang<1.17"]\n'),
        ("pyproject.toml", '[project.optional-dependencies]\nsim = ["warp-lang<1.17"]\n'),
        ("pyproject.toml", '[dependency-groups]\nsim = [{include-group = "b"}, "warp-lang<1.17"]\n'),
        ("pyproject.toml", '[tool.poetry.dependencies]\nwarp-lang = {version = "<1.17", optional = true}\n'),
        ("pyproject.toml", '[tool.pixi.pypi-dependencies]\nwarp-lang = "<1.17"\n'),
        ("requirements-sim.txt", "# warp-lang\n  warp-lang<1.17  # pinned\n"),
        ("requirements/sim.txt", "warp-lang<1.17\n"),
        ("setup.cfg", "[options]\ninstall_requires =\n    numpy\n    warp-lang<1.17\n"),
        ("setup.cfg", "[options.extras_require]\nsim = warp-lang<1.17\n"),
        (
            "uv.lock",
            '[[package]]\nname = "warp"\nversion = "3.0"\n\n[[package]]\nname = "warp-lang"\nversion = "1.16"\n',
        ),
        ("pdm.lock", '[[package]]\nname = "warp-lang"\nextras = ["a"]\nversion = "1.16"\n'),
        ("pixi.lock", "- pypi: https://example.org/warp_lang-1.16-py3-none-manylinux2014_x86_64.whl\n"),
        ("pixi.lock", "- kind: pypi\n  name: warp-lang\n  version: '1.16'\n"),
        ("pylock.toml", '[[packages]]\nname = "warp-lang"\nversion = "1.16"\n'),
        ("pylock.sim.toml", '[[packages]]\nname = "warp-lang"\nversion = "1.16"\n'),
        ("Pipfile.lock", '{"default": {"warp-lang": {"hashes": ["sha256:0"], "version": "==1.16"}}}'),
        ("conda-lock.yml", "package:\n- name: warp-lang\n  version: '1.16'\n  manager: conda\n"),
        ("Pipfile", '[packages]\nwarp-lang = "<1.17"\n'),
        ("Pipfile", '[sim]\nwarp-lang = {version = "<1.17", markers = "python_version > \'3.9\'"}\n'),
        ("pixi.toml", '[feature.sim.pypi-dependencies]\nwarp-lang = {version = ">=1.5,<1.17"}\n'),
        ("pixi.toml", '[target.linux-64.dependencies]\nwarp-lang = "1.16.*"\n'),
        ("pyproject.toml", '[tool.poetry.group.sim.dependencies]\nwarp-lang = "~1.16"\n'),
        (
            "pyproject.toml",
            '[tool.poetry.dependencies]\nwarp-lang = [{version = "1.11.*", python = "<3.9"}, {version = "1.16.*"}]\n',
        ),
        ("pyproject.toml", '[tool.poetry.dependencies]\nwarp-lang = {git = "https://example.org/w", tag = "v1.16"}\n'),
        ("pyproject.toml", '[tool.uv]\nconstraint-dependencies = ["warp-lang<1.17"]\n'),
        ("pyproject.toml", '[tool.pdm.dev-dependencies]\nsim = ["warp-lang<1.17"]\n'),
        ("pyproject.toml", '[tool.hatch.envs.sim]\nextra-dependencies = ["warp-lang<1.17"]\n'),
        ("requirements.in", "warp-lang<1.17\n"),
        ("dev-requirements.txt", "warp-lang<1.17\n"),
        ("constraints.txt", "warp-lang==1.16\n"),
        ("requirements.txt", "# by pip-compile\nwarp-lang==1.16 \\\n    --hash=sha256:00 \\\n    --hash=sha256:01\n"),
        ("requirements.txt", "warp-lang==1.11 ; python_version < '3.9'\nwarp-lang==1.16 ; python_version >= '3.9'\n"),
        ("setup.py", "from setuptools import setup\nsetup(extras_require={'warp-lang': ['warp-lang>=1.5,<1.17']})\n"),
        ("environment.yml", "dependencies:\n  - conda-forge::warp-lang=1.16\n"),
        ("environment.yml", "dependencies:\n  - warp-lang >=1.5,<1.17  # pinned\n"),
        ("environment.yml", "dependencies:\n  - warp-lang=1.16.*=cuda12*\n"),
        ("environment.yml", "dependencies:\n  - warp-lang 1.16 py311_0\n"),
        ("environment-dev.yaml", "dependencies:\n- pip\n- pip:\n  - 'warp-lang==1.16'\n"),
    ],
)
def test_files_that_ask_for_warp(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(text)
    found = required(tmp_path / "src" / "deep")
    assert found is not None and found[0] == "1.16"
    assert name in found[1]


def test_what_asks_for_other_things_is_no_answer(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["warp-lang-extras==1.2"]\n[broken\n')
    (tmp_path / "requirements.txt").write_text("-r warp-lang.txt\n# warp-lang==1.5\n")
    (tmp_path / "uv.lock").write_text(
        '[[package]]\nname = "a"\ndependencies = [{ name = "warp-lang" }]\nversion = "2"\n'
    )
    assert required(tmp_path) is None


def test_nothing_above_the_repository_counts(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("warp-lang==1.5.0\n")
    (tmp_path / "a" / ".git").mkdir(parents=True)
    assert required(tmp_path / "a") is None
    assert required(tmp_path / "b") is not None


def test_a_lock_counts_before_a_nearer_requirement(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "uv.lock").write_text('[[package]]\nname = "warp-lang"\nversion = "1.10.0"\n')
    (tmp_path / "member").mkdir()
    (tmp_path / "member" / "pyproject.toml").write_text('[project]\ndependencies = ["warp-lang>=1.5"]\n')
    found = required(tmp_path / "member")
    assert found is not None and found[0] == "1.10.0"


def test_what_pip_tools_pinned_counts_before_what_it_was_compiled_from(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["warp-lang>=1.5"]\n')
    (tmp_path / "requirements.in").write_text("warp-lang\n")
    assert required(tmp_path) == (NEWEST, f"{tmp_path / 'pyproject.toml'} asks for `warp-lang>=1.5`")
    (tmp_path / "requirements.txt").write_text("warp-lang==1.16.0 \\\n    --hash=sha256:00\n")
    (tmp_path / "member").mkdir()
    (tmp_path / "member" / "requirements.txt").write_text("warp-lang~=1.5\n")
    for folder in (tmp_path, tmp_path / "member"):
        assert required(folder) == ("1.16.0", f"{tmp_path / 'requirements.txt'} asks for `warp-lang==1.16.0`")


@pytest.mark.parametrize(
    "requirement", ["warp-lang>=1.16.0", "warp-lang==1.16.*", "warp-lang~=1.16.0", "warp-lang!=1.16.0"]
)
def test_what_leaves_a_choice_is_no_pin(requirement: str) -> None:
    assert not is_pinned(requirement)
    assert is_pinned("warp-lang[extras] == 1.16.0 ; python_version < '3.9'") and is_pinned("warp-lang 1.16.0")


def test_nothing_of_a_setup_file_is_run(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "setup.py").write_text("raise SystemExit('run')\nsetup(install_requires=['warp-lang==1.16.0'])\n")
    assert required(tmp_path) == ("1.16.0", f"{tmp_path / 'setup.py'} asks for `warp-lang==1.16.0`")
    (tmp_path / "setup.py").write_text("setup(install_requires=['warp-lang==1.16.0'\n")
    assert required(tmp_path) is None


def test_the_newest_known_is_the_newest_in_the_table_of_versions() -> None:
    import json

    table = json.loads((Path(__file__).parents[2] / "docs" / "versions.json").read_text())
    assert max(map(series, table["warp"])) == series(NEWEST)
    assert WarpVersions(variables={}, beside=lambda: None).of(DEFAULTS, Path("/")).version == NEWEST
