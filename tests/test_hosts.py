"""After an edit, only host code runs again that the edit can make a difference to, and nothing stale is told."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from edited import Edited
from edits import edited

from warplint import analysis
from warplint.hosts import head_of_kernel
from warplint.source.project import Module
from warplint.tapes import TapeAnalysis

HELPER = """
import warp as wp


@wp.func
def shaped(v: float):
    return v * v
"""
KERNELS = """
import warp as wp

from helper import shaped

SCALE = 2.0


@wp.kernel
def forward(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = shaped(x[i])


@wp.kernel
def reset(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = 1.0


@wp.kernel
def total(y: wp.array(dtype=float), loss: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(loss, 0, y[i])
"""
HOST = """
import warp as wp
from kernels import forward, reset, total

x = wp.ones(4, dtype=float, requires_grad=True)
y = wp.zeros(4, dtype=float, requires_grad=True)
loss = wp.zeros(1, dtype=float, requires_grad=True)
tape = wp.Tape()
with tape:
    wp.launch(forward, dim=4, inputs=[x], outputs=[y])
    wp.launch(reset, dim=4, outputs=[x])
    wp.launch(total, dim=4, inputs=[y], outputs=[loss])
tape.backward(loss)
print(x.grad)
"""
OTHER = """
import numpy as np
import warp as wp
from local import twice


def train(steps: int = 3):
    a = wp.ones(4, dtype=float, requires_grad=True)
    b = wp.zeros(4, dtype=float)
    with wp.Tape() as tape:
        for step in range(steps):
            wp.launch(twice, dim=4, inputs=[a], outputs=[b])
    tape.backward(grads={b: wp.ones(4, dtype=float)})
    return a.grad.numpy()


if __name__ == "__main__":
    train()
"""
LOCAL = """
import warp as wp


@wp.kernel
def twice(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    s = float(1.0)
    for k in range(wp.int(a[0])):
        s = s * a[k]
    b[i] = 2.0 * a[i] * s
"""
FILES = {"helper.py": HELPER, "kernels.py": KERNELS, "host.py": HOST, "other.py": OTHER, "local.py": LOCAL}


class Project(Edited):
    """Which files had their tapes analysed since they were last asked for."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(folder, FILES)
        real = TapeAnalysis.module

        def noted(host: TapeAnalysis, module: Module) -> Iterator[object]:
            self.done.append(module.path.name)
            return real(host, module)

        monkeypatch.setattr(TapeAnalysis, "module", noted)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return Project(folder, monkeypatch)


def test_only_what_was_edited_runs_again(project: Project) -> None:
    project.lint()
    assert {"host.py", "other.py"} <= set(project.done)
    project.change("other.py", "steps: int = 3", "steps: int = 4")
    found = project.lint()
    assert "other.py" in project.done
    assert "host.py" not in project.done
    assert found == project.fresh()


def test_a_body_that_does_the_same_runs_nothing_again(project: Project) -> None:
    project.lint()
    project.change("kernels.py", "    x[i] = 1.0\n", "    x[i] = 3.0\n")
    found = project.lint()
    assert "host.py" not in project.done
    assert found == project.fresh()


@pytest.mark.parametrize("comment", ["", "  # where they are (in metres):", "  # (so):"])
def test_the_head_of_a_kernel_ends_with_its_parameters(comment: str) -> None:
    parameters = f"    x: wp.array(dtype=float),{comment}\n    y: wp.array(dtype=float),\n"
    text = f"@wp.kernel\ndef k(\n{parameters}):  # end\n    y[0] = x[0]\n"
    head = head_of_kernel(text, set())
    assert head != head_of_kernel(text.replace("y: wp.array(dtype=float)", "y: wp.array(dtype=int)"), set())
    assert head == head_of_kernel(text.replace("y[0] = x[0]", "y[0] = 2.0 * x[0]"), set())


def test_a_func_of_another_module_changes_what_a_tape_loses(project: Project) -> None:
    before = project.lint()
    assert "WP201" in project.rules(before, "host.py")
    project.change("helper.py", "v * v", "v * 3.0")
    after = project.lint()
    assert "WP201" not in project.rules(after, "host.py")
    assert after == project.fresh()


def test_so_does_what_is_imported_and_not_linted(project: Project) -> None:
    before = project.lint("host.py")
    assert project.lint("host.py") == before
    project.change("host.py", "print(x.grad)", "print(x.grad.numpy())")
    before = project.lint("host.py")
    # The run before this one took the tapes over, or not; either way they rest on files that it need not have read.
    project.change("host.py", "print(x.grad.numpy())", "print(x.grad)")
    project.lint("host.py")
    project.change("helper.py", "v * v", "v * 3.0")
    assert "WP201" in project.rules(before, "host.py")
    after = project.lint("host.py")
    assert "WP201" not in project.rules(after, "host.py")
    assert after == project.fresh("host.py")


def test_outside_files_count_after_tapes_were_taken_over(project: Project) -> None:
    names = ("host.py", "local.py")
    project.lint(*names)
    project.change("local.py", "2.0 * a[i]", "3.0 * a[i]")
    project.lint(*names)
    assert "host.py" not in project.done
    project.change("helper.py", "v * v", "v * 3.0")
    assert project.lint(*names) == project.fresh(*names)
    assert "WP201" not in project.rules(project.lint(*names), "host.py")


def test_places_move_with_their_lines(project: Project) -> None:
    project.lint()
    project.change("host.py", "import warp as wp\n", "import warp as wp\n\n# a remark\n")
    assert project.lint() == project.fresh()
    project.change("kernels.py", "SCALE = 2.0\n", "SCALE = 2.0\n\n\n")
    assert project.lint() == project.fresh()


@pytest.mark.parametrize("jobs", [1, 2])
def test_many_edits(project: Project, monkeypatch: pytest.MonkeyPatch, jobs: int) -> None:
    monkeypatch.setattr(analysis, "PARALLEL_FROM", 2)
    chance = random.Random(jobs)
    taken_over = 0
    for number in range(80 if jobs == 1 else 12):
        name = chance.choice(sorted(FILES))
        path = project.folder / name
        if number % 7 == 6:
            for other, text in FILES.items():
                (project.folder / other).write_text(text)
        else:
            path.write_text(edited(path.read_text(), chance))
        found = project.lint(jobs=jobs)
        taken_over += not {"host.py", "other.py"} <= set(project.done)
        assert found == project.fresh(), (number, name)
    assert taken_over > 10


def test_the_folder_stays_small(project: Project) -> None:
    names = sorted(FILES)
    for number in range(30):
        project.lint(*(name for bit, name in enumerate(names) if (number + 1) >> bit & 1))
    kept = list((project.folder.parent / "kept" / "facts").iterdir())
    assert 0 < len(kept) <= 48
