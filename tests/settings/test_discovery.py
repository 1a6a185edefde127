"""Which files a run looks at."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from warplint.ir.facts import Problem
from warplint.settings.configuration import Configurations
from warplint.settings.discovery import Discovery, discover


def make(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")


def found(*paths: object, force_exclude: bool = False) -> Discovery:
    return discover([str(path) for path in paths], Configurations(), force_exclude)


def names(root: Path, discovery: Discovery) -> list[str]:
    return [path.relative_to(root).as_posix() for path in discovery.files]


def test_a_folder_stands_for_its_python_files_in_order(tmp_path: Path) -> None:
    make(tmp_path, "b.py", "a.py", "sub/deep/c.py", "notes.txt", "types.pyi", "a/z.py")
    assert names(tmp_path, found(tmp_path)) == ["a.py", "a/z.py", "b.py", "sub/deep/c.py"]


@pytest.mark.parametrize("folder", [".git", ".hidden", "__pycache__", "build", "dist", "node_modules", "venv"])
def test_generated_and_hidden_folders_are_left_out(tmp_path: Path, folder: str) -> None:
    make(tmp_path, f"{folder}/a.py", f"sub/{folder}/a.py", "kept.py")
    assert names(tmp_path, found(tmp_path)) == ["kept.py"]


def test_a_virtual_environment_of_any_name_is_left_out(tmp_path: Path) -> None:
    make(tmp_path, "tools-env/pyvenv.cfg", "tools-env/lib/a.py", "kept.py")
    assert names(tmp_path, found(tmp_path)) == ["kept.py"]


def test_a_folder_named_outright_is_walked_even_if_hidden_or_ignored(tmp_path: Path) -> None:
    make(tmp_path, ".hidden/a.py", "build/b.py")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("build/\n")
    assert names(tmp_path, found(tmp_path / ".hidden", tmp_path / "build")) == [".hidden/a.py", "build/b.py"]


def test_the_same_file_is_linted_once(tmp_path: Path) -> None:
    make(tmp_path, "sub/a.py")
    (tmp_path / "link.py").symlink_to(tmp_path / "sub/a.py")
    discovery = found(tmp_path / "sub/a.py", tmp_path, tmp_path / "sub", tmp_path / "sub/../sub/a.py")
    assert names(tmp_path, discovery) == ["sub/a.py"]
    assert discovery.problems == ()


class TestGitignore:
    def test_patterns_nested_files_and_negation(self, tmp_path: Path) -> None:
        make(tmp_path, "a.py", "gen_a.py", "sub/gen_b.py", "sub/kept_gen.py", "sub/out/x.py", "other/out/y.py")
        (tmp_path / ".gitignore").write_text("# generated\ngen_*.py\nout/\n\n")
        (tmp_path / "sub/.gitignore").write_text("!gen_b.py\nkept_*.py\n")
        assert names(tmp_path, found(tmp_path)) == ["a.py", "sub/gen_b.py"]

    def test_a_pattern_with_a_slash_is_anchored_where_it_stands(self, tmp_path: Path) -> None:
        make(tmp_path, "sub/only/a.py", "only/a.py")
        (tmp_path / ".gitignore").write_text("/only\n")
        assert names(tmp_path, found(tmp_path)) == ["sub/only/a.py"]

    def test_a_pattern_for_folders_spares_a_file_of_that_name(self, tmp_path: Path) -> None:
        make(tmp_path, "gen.py", "sub/gen.py/a.py")
        (tmp_path / ".gitignore").write_text("gen.py/\n")
        assert names(tmp_path, found(tmp_path)) == ["gen.py"]

    def test_files_above_count_inside_a_repository_only(self, tmp_path: Path) -> None:
        make(tmp_path, "repo/sub/a.py", "repo/sub/b.py", "loose/sub/a.py")
        (tmp_path / "repo/.git/info").mkdir(parents=True)
        (tmp_path / "repo/.gitignore").write_text("a.py\n")
        (tmp_path / "repo/.git/info/exclude").write_text("c.py\n")
        (tmp_path / "loose/.gitignore").write_text("a.py\n")
        assert names(tmp_path, found(tmp_path / "repo/sub", tmp_path / "loose/sub")) == [
            "loose/sub/a.py",
            "repo/sub/b.py",
        ]

    def test_a_file_named_outright_is_linted_nevertheless(self, tmp_path: Path) -> None:
        make(tmp_path, "a.py")
        (tmp_path / ".gitignore").write_text("*.py\n")
        assert names(tmp_path, found(tmp_path / "a.py")) == ["a.py"]
        assert names(tmp_path, found(tmp_path)) == []


class TestExclude:
    @pytest.fixture
    def project(self, tmp_path: Path) -> Path:
        make(tmp_path, "a.py", "old/b.py", "sub/old/c.py", "sub/d.py")
        (tmp_path / "warplint.toml").write_text('exclude = ["/old", "d.py"]\n')
        return tmp_path

    def test_patterns_are_relative_to_the_configuration(self, project: Path) -> None:
        assert names(project, found(project)) == ["a.py", "sub/old/c.py"]
        assert names(project, found(project / "sub")) == ["sub/old/c.py"]

    def test_named_outright_only_force_exclude_leaves_a_file_out(self, project: Path) -> None:
        files = (project / "old/b.py", project / "sub/d.py", project / "a.py")
        assert names(project, found(*files)) == ["a.py", "old/b.py", "sub/d.py"]
        assert names(project, found(*files, force_exclude=True)) == ["a.py"]


class TestProblems:
    def problem(self, discovery: Discovery) -> Problem:
        (problem,) = discovery.problems
        assert problem.message.endswith(tuple("abcdefghijklmnopqrstuvwxyz`")), "a sentence that says what to do"
        return problem

    def test_a_missing_path(self, tmp_path: Path) -> None:
        problem = self.problem(found(tmp_path / "nowhere.py"))
        assert "no such file" in problem.message
        assert problem.path.endswith("nowhere.py")

    def test_a_file_that_is_not_python(self, tmp_path: Path) -> None:
        make(tmp_path, "notes.txt")
        assert "not a Python file" in self.problem(found(tmp_path / "notes.txt")).message

    def test_a_pipe_is_not_read(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe.py")
        assert found(tmp_path) == Discovery((), ())
        assert "not a regular file" in self.problem(found(tmp_path / "pipe.py")).message

    @pytest.mark.parametrize("target", [".", ".."])
    def test_a_link_back_to_what_is_walked_adds_nothing(self, tmp_path: Path, target: str) -> None:
        make(tmp_path, "x/y/z/a.py", "x/y/b.py")
        (tmp_path / "x/y/z/loop").symlink_to(target)
        discovery = found(tmp_path / "x/y")
        assert (names(tmp_path, discovery), discovery.problems) == (["x/y/b.py", "x/y/z/a.py"], ())

    @pytest.mark.parametrize("target", ["../..", "../../.."])
    def test_a_link_to_a_folder_above_is_reported_and_not_followed(self, tmp_path: Path, target: str) -> None:
        make(tmp_path, "x/y/z/a.py")
        (tmp_path / "x/y/z/loop").symlink_to(target)
        discovery = found(tmp_path / "x/y")
        assert names(tmp_path, discovery) == ["x/y/z/a.py"]
        problem = self.problem(discovery)
        assert problem.path.endswith("loop") and "leads back" in problem.message

    def test_two_folders_that_link_to_each_other(self, tmp_path: Path) -> None:
        make(tmp_path, "x/a.py", "y/b.py")
        (tmp_path / "x/to_y").symlink_to("../y")
        (tmp_path / "y/to_x").symlink_to("../x")
        discovery = found(tmp_path)
        assert sorted(path.name for path in discovery.files) == ["a.py", "b.py"]
        assert discovery.problems == ()

    def test_a_link_to_itself(self, tmp_path: Path) -> None:
        (tmp_path / "self.py").symlink_to("self.py")
        assert "leads back to itself" in self.problem(found(tmp_path)).message
        assert "leads back to itself" in self.problem(found(tmp_path / "self.py")).message

    def test_a_link_to_nothing(self, tmp_path: Path) -> None:
        (tmp_path / "gone.py").symlink_to("nowhere.py")
        assert "no such file" in self.problem(found(tmp_path)).message

    def test_a_linked_folder_is_followed(self, tmp_path: Path) -> None:
        make(tmp_path, "outside/a.py", "inside/b.py")
        (tmp_path / "inside/linked").symlink_to(tmp_path / "outside")
        assert names(tmp_path, found(tmp_path / "inside")) == ["inside/b.py", "inside/linked/a.py"]

    def test_an_unreadable_folder_does_not_stop_the_others(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        make(tmp_path, "closed/a.py", "open/b.py")
        listing = os.scandir

        def scandir(path: str) -> object:  # as root, the tests can read everything
            if Path(path).name == "closed":
                raise PermissionError(13, "Permission denied", path)
            return listing(path)

        monkeypatch.setattr(os, "scandir", scandir)
        discovery = found(tmp_path)
        assert names(tmp_path, discovery) == ["open/b.py"]
        assert "permission denied" in self.problem(discovery).message

    def test_a_malformed_exclude_pattern(self, tmp_path: Path) -> None:
        make(tmp_path, "a.py")
        (tmp_path / "warplint.toml").write_text('exclude = ["!"]\n')
        configurations = Configurations()
        assert names(tmp_path, discover([str(tmp_path)], configurations)) == ["a.py"]
        assert "malformed pattern" in configurations.problems[0].message


def test_odd_names_are_found(tmp_path: Path) -> None:
    odd = ["with space.py", "ünïcode.py", "-dash.py", "new\nline.py", os.fsdecode(b"latin\xe9.py")]
    for name in odd:
        (tmp_path / name).write_text("")
    assert sorted(path.name for path in found(tmp_path).files) == sorted(odd)
