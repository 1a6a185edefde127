"""Runs that end for want of steps: they are counted, and told where it is asked for."""

from __future__ import annotations

from pathlib import Path

from command import run_warplint
from conftest import HEADER

from warplint.analysis import analyse_files
from warplint.frontend import open_project
from warplint.tapes import entries

#: A set-up that no loop makes short: every function calls the next one six times.
LONG = """
def main():
    x = wp.zeros(3, dtype=float, requires_grad=True)
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    level_0(3)
    tape = wp.Tape()
    with tape:
        wp.launch(total, dim=3, inputs=[x, loss])
    tape.backward(loss)
    return x.grad.numpy()


if __name__ == "__main__":
    main()
"""


def write(folder: Path, levels: int) -> Path:
    """The program with a set-up of so many levels."""
    calls = [" + ".join([f"level_{number + 1}(n)"] * 6) for number in range(levels)]
    functions = [f"def level_{number}(n):\n    return {text}\n\n\n" for number, text in enumerate([*calls, "n"])]
    path = folder / "mill.py"
    path.write_text(HEADER + "".join(functions) + LONG)
    return path


def test_the_entry_point_is_named(tmp_path: Path) -> None:
    for levels, cut in ((2, False), (8, True)):
        path = write(tmp_path, levels)
        (analysis,) = analyse_files([path], open_project((tmp_path,)), {}, jobs=1)
        assert bool(analysis.exhausted) == cut
        assert analysis.runs > 0 and 0 < analysis.steps <= entries.MODULE_BUDGET + entries.FULL_BUDGET
        assert all(place == path for place, _ in analysis.exhausted)


def test_verbose_runs_tell_it(tmp_path: Path) -> None:
    write(tmp_path, 8)
    told = run_warplint("--no-probe", "-v", ".", cwd=tmp_path).stderr
    assert "mill.py: `__main__`" in told
    assert f"of which one file may take {entries.MODULE_BUDGET}; 1 entry point was not followed to the end" in told
    assert "mill.py" not in run_warplint("--no-probe", ".", cwd=tmp_path).stderr


def test_a_long_run_is_made_again_only_where_it_met_a_count(tmp_path: Path) -> None:
    """A run with smaller counts is the same one up to the first count: without any it goes on where patience ended."""
    path = write(tmp_path, 4)
    text = path.read_text()
    steps = {}
    for rounds in (3, 40):
        loop = f"    rounds = {rounds}\n    for number in range(rounds):\n        print(number)\n"
        path.write_text(text.replace("    level_0(3)\n", f"{loop}    level_0(3)\n"))
        (analysis,) = analyse_files([path], open_project((tmp_path,)), {}, jobs=1)
        assert analysis.runs == 1 and not analysis.exhausted
        steps[rounds] = analysis.steps
    assert steps[3] > entries.FULL_BUDGET
    assert entries.FULL_BUDGET < steps[40] - steps[3] < 2 * entries.FULL_BUDGET
