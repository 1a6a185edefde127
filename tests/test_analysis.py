"""A mistake of ours costs one file, in this process and in others."""

from __future__ import annotations

import os
import pickle
import signal
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from programs import IN_PLACE

from warplint import analysis, kernels
from warplint.frontend import fast, open_project, read_with_libcst
from warplint.ir.effects import Uses
from warplint.ir.facts import Fact
from warplint.kernels import contracts, launching
from warplint.selection import RuleSelection
from warplint.settings.configuration import Configurations
from warplint.settings.options import Selectors
from warplint.settings.warp import WarpVersions
from warplint.source.project import Module, Project


class BrokenProject:
    """A project on which every analysis fails."""

    problems: tuple[()] = ()

    def seen(self) -> tuple[int, int, int]:
        return 0, 0, 0

    def load(self, path: Path, data: bytes | None = None) -> object:
        raise RuntimeError("the unexpected,\non two lines")


def test_an_internal_error_is_one_line_with_its_traceback_beside() -> None:
    result = analysis.kernel_facts(analysis.Linted(BrokenProject()), Path("/a.py"), {})  # type: ignore[arg-type]
    assert result.facts == ()
    (problem,) = result.problems
    assert problem.message == (
        "internal error: RuntimeError: the unexpected, on two lines; "
        "please report it with what `--verbose` shows, the file was not linted"
    )
    assert result.traceback is not None
    assert "Traceback" in result.traceback and "test_analysis.py" in result.traceback


def test_an_internal_error_while_loading_is_one_too() -> None:
    (result,) = analysis.analyse_files([Path("/a.py")], BrokenProject(), {}, jobs=1)  # type: ignore[arg-type]
    assert [problem.message.split(";")[0] for problem in result.problems] == [
        "internal error: RuntimeError: the unexpected, on two lines"
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="the stand-in must reach the workers")
def test_a_process_that_dies_costs_the_file_that_killed_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [tmp_path / f"{number:03}.py" for number in range(80)]
    for path in files:
        path.write_text("@decorated\ndef nothing(): pass\n")
    deadly = files[37]

    usual = kernels.analyse

    def analyse(project: Project, module: Module, uses: Uses, kinds: object) -> Iterable[Fact]:
        if module.path == deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        return usual(project, module, uses)

    monkeypatch.setattr(kernels, "analyse", analyse)
    results = analysis.analyse_files(files, open_project(), {}, jobs=2)
    assert [result.path for result in results] == files
    failed = [result for result in results if result.problems]
    assert [result.path for result in failed] == [deadly]
    assert "the process that analysed the file died" in failed[0].problems[0].message


def test_a_project_can_be_sent_to_a_process_that_is_not_forked(tmp_path: Path) -> None:
    path = tmp_path / "light.py"
    path.write_text(IN_PLACE)
    project = open_project()
    project.load(path)
    copy = pickle.loads(pickle.dumps(project))
    kinds = [fact.kind for fact in analysis.kernel_facts(analysis.Linted(copy), path, {}).facts]
    assert kinds == [fact.kind for fact in analysis.kernel_facts(analysis.Linted(project), path, {}).facts] != []


@pytest.mark.skipif(sys.platform != "linux", reason="the stand-in must reach the workers")
def test_a_process_that_dies_while_loading_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [tmp_path / f"{number:03}.py" for number in range(80)]
    for path in files:
        path.write_text(IN_PLACE)
    outline, parent = Project.outline, os.getpid()

    def deadly(project: Project, path: Path, names: frozenset[str]) -> object:
        if path == files[37] and os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return outline(project, path, names)

    monkeypatch.setattr(Project, "outline", deadly)
    results = analysis.analyse_files(files, open_project(), {}, jobs=2)
    assert [[fact.kind for fact in result.facts] for result in results] == [["array-augmented-assignment"]] * 80
    assert not any(result.problems for result in results)


def test_where_the_readers_differ_libcst_counts(tmp_path: Path) -> None:
    path = tmp_path / "light.py"
    path.write_text(IN_PLACE)
    blind = Project(lambda text, line: fast.read(text.replace("*= ", "/= "), line), (), read_with_libcst)
    (result,) = analysis.analyse_files([path], blind, {}, jobs=1)
    assert [fact.attributes["operator"] for fact in result.facts] == ["*="]


def test_libcst_reads_only_where_something_is_told(tmp_path: Path) -> None:
    path = tmp_path / "light.py"
    path.write_text(IN_PLACE)
    read: list[int] = []

    def precise(text: str, line: int) -> object:
        read.append(line)
        return read_with_libcst(text, line)

    project = Project(fast.read, (), precise)  # type: ignore[arg-type]
    (silent,) = analysis.analyse_files([path], project, {}, jobs=1, told=lambda facts: [])
    assert (len(silent.facts), read) == (1, [])
    (told,) = analysis.analyse_files([path], project, {}, jobs=1)
    assert told.facts == silent.facts
    assert len(read) == 1


CONSTANT_FACTOR = """
import numpy as np
import warp as wp

@wp.kernel
def scale(factor: wp.array(dtype=float), y: wp.array(dtype=float)):
    y[wp.tid()] *= factor[wp.tid()]

def run():
    factor = wp.array(np.ones(3), dtype=float, requires_grad={flag})
    y = wp.ones(3, dtype=float, requires_grad=True)
    loss = wp.ones(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(scale, dim=3, inputs=[factor], outputs=[y])
    tape.backward(grads={{y: y}})
"""


@pytest.mark.parametrize(("flag", "kinds"), [("True", ["array-augmented-assignment"]), ("False", [])])
def test_a_factor_that_every_tape_passes_without_gradient_loses_nothing(
    tmp_path: Path, flag: str, kinds: list[str]
) -> None:
    path = tmp_path / "program.py"
    path.write_text(CONSTANT_FACTOR.format(flag=flag))
    (result,) = analysis.analyse_files([path], open_project(), {}, jobs=1)
    assert [fact.kind for fact in result.facts] == kinds
    assert all(fact.reach == "taped" for fact in result.facts)


SEVERED_BESIDE_IN_PLACE = """

def cut():
    factor = wp.array(np.ones(3), dtype=float, requires_grad=True)
    between = wp.zeros(3, dtype=float)
    loss = wp.zeros(3, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(double, dim=3, inputs=[factor], outputs=[between])
        wp.launch(triple, dim=3, inputs=[between], outputs=[loss])
        wp.launch(scale, dim=3, inputs=[factor], outputs=[loss])
    tape.backward(grads={loss: loss})

@wp.kernel
def double(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    y[wp.tid()] = 2.0 * x[wp.tid()]

@wp.kernel
def triple(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    y[wp.tid()] = 3.0 * x[wp.tid()]
"""


def test_what_a_kernel_does_does_not_depend_on_who_launches_it(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(CONSTANT_FACTOR.format(flag="False") + SEVERED_BESIDE_IN_PLACE)
    (result,) = analysis.analyse_files([path], open_project(), {}, jobs=1)
    assert sorted(fact.kind for fact in result.facts) == ["array-augmented-assignment", "missing-requires-grad"]


BY_HAND = """

def main():
    x = wp.ones(3, dtype=float)
    y = wp.ones(3, dtype=float)
    wp.launch(scale, dim=3, inputs=[x], outputs=[y])
    with wp.Tape() as tape:
        pass
    wp.launch(
        scale, dim=3, inputs=[x], outputs=[y], adj_inputs=[x.grad], adj_outputs=[wp.ones_like(y)], adjoint=True
    )

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    ("without", "reach"),
    [
        ("", "taped"),
        # what has no tape at all is not run
        ("    with wp.Tape() as tape:\n        pass\n", "library"),
    ],
)
def test_an_adjoint_that_is_launched_by_hand_hurts_as_one_that_a_tape_launches(
    tmp_path: Path, without: str, reach: str
) -> None:
    path = tmp_path / "program.py"
    path.write_text(CONSTANT_FACTOR.partition("def run")[0] + BY_HAND.replace(without, ""))
    (result,) = analysis.analyse_files([path], open_project(), {}, jobs=1)
    assert [(fact.kind, fact.reach) for fact in result.facts] == [("array-augmented-assignment", reach)]


SCRIPT = """

def main():
    y = wp.ones(3, dtype=float, requires_grad=True)
    wp.launch(scale, dim=3, inputs=[y], outputs=[y])

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    ("addition", "elsewhere", "reach"),
    [
        (SCRIPT, "", "untaped"),
        (SCRIPT.partition("if __name__")[0], "", "library"),
        (SCRIPT, "from program import scale", "library"),
        ("", "", "library"),
    ],
)
def test_a_kernel_that_only_a_script_launches_hurts_nobody(
    tmp_path: Path, addition: str, elsewhere: str, reach: str
) -> None:
    path, other = tmp_path / "program.py", tmp_path / "other.py"
    path.write_text(CONSTANT_FACTOR.partition("def run")[0] + addition)
    other.write_text(elsewhere)
    results = analysis.analyse_files([path, other], open_project(), {}, jobs=1)
    assert [fact.reach for result in results for fact in result.facts] == [reach]


FACTORIES = """
import warp as wp

def make_compound(config):
    @wp.func
    def compound(x: wp.array(dtype=float), n: int) -> float:
        p = float(1.0)
        for i in range(n):
            p = p * x[i]
        return p

    return compound

def make_kernel(config):
    if config:
        grow = make_compound(config)
    else:
        grow = make_compound(None)

    @wp.kernel{option}
    def run(x: wp.array(dtype=float), n: int, out: wp.array(dtype=float)):
        out[0] = grow(x, n)

    return run
"""


@pytest.mark.parametrize(("option", "kinds"), [("", ["loop-carried-value"]), ("(enable_backward=False)", [])])
def test_what_a_factory_returns_is_judged_by_the_kernels_that_call_it(
    tmp_path: Path, option: str, kinds: list[str]
) -> None:
    path = tmp_path / "program.py"
    path.write_text(FACTORIES.format(option=option))
    (result,) = analysis.analyse_files([path], open_project(), {}, jobs=1)
    assert [fact.kind for fact in result.facts] == kinds


FORWARD = "import warp as wp\n\n@wp.kernel(enable_backward=False)\ndef {}(x: wp.array(dtype=float)):\n    x[0] = 1.0\n"


@pytest.mark.parametrize(
    ("name", "others", "reach"),
    [
        ("_scale", [FORWARD.format("a"), FORWARD.format("b")], "untaped"),
        ("scale", [FORWARD.format("a"), FORWARD.format("b")], "library"),
        ("_scale", [FORWARD.format("a"), "import warp as wp\n"], "library"),
        ("_scale", [FORWARD.format("a"), FORWARD.format("b"), "with wp.Tape():\n    run(_scale)\n"], "library"),
    ],
)
def test_private_kernels_of_a_package_whose_kernels_run_forward_hurt_nobody(
    tmp_path: Path, name: str, others: list[str], reach: str
) -> None:
    package = tmp_path / "package"
    package.mkdir()
    texts = {
        "__init__.py": "",
        "kernels.py": CONSTANT_FACTOR.partition("def run")[0].replace("def scale", f"def {name}"),
    }
    texts |= {f"other_{position}.py": text for position, text in enumerate(others)}
    for file, text in texts.items():
        (package / file).write_text(text)
    results = analysis.analyse_files([package / file for file in texts], open_project(), {}, jobs=1)
    assert [fact.reach for result in results for fact in result.facts] == [reach]


OPTIONAL = """
import numpy as np
import warp as wp

@wp.func
def scaled(factor: wp.array(dtype=float), y: wp.array(dtype=float), i: int):
    if factor:
        y[i] *= factor[i]

@wp.kernel
def scale(x: wp.array(dtype=float), factor: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    if factor:
        y[i] *= factor[i]
    y[i] += x[i]
    scaled(factor, y, i)

def run():
    x = wp.array(np.ones(3), dtype=float, requires_grad=True)
    y = wp.ones(3, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(scale, dim=3, inputs=[x, {factor}], outputs=[y])
    tape.backward(grads={{y: y}})
"""


@pytest.mark.parametrize(("factor", "reach"), [("None", "library"), ("x", "taped")])
def test_what_only_an_absent_array_would_spoil_hurts_no_tape(tmp_path: Path, factor: str, reach: str) -> None:
    path = tmp_path / "program.py"
    path.write_text(OPTIONAL.format(factor=factor))
    (result,) = analysis.analyse_files([path], open_project(), {}, jobs=1)
    found = [(fact.kind, fact.reach) for fact in result.facts if fact.kind == "array-augmented-assignment"]
    assert found == [("array-augmented-assignment", reach)] * 2


@pytest.mark.parametrize(
    ("kinds", "left_out"),
    [
        ({"array-overwritten"}, launching.KINDS | contracts.KINDS),
        ({"array-overwritten", "option-conflict"}, contracts.KINDS - launching.KINDS),
        ({"element-race"}, launching.KINDS - contracts.KINDS),
    ],
)
def test_what_no_rule_selects_is_not_looked_for(kinds: set[str], left_out: frozenset[str]) -> None:
    files = sorted((Path(__file__).parent / "fixtures" / "contracts").rglob("*.py"))

    def facts(kinds: frozenset[str] | None) -> list[Fact]:
        results = analysis.analyse_files(files, open_project(), {}, jobs=1, kinds=kinds)
        return [fact for result in results for fact in result.facts]

    every = facts(None)
    assert left_out & {fact.kind for fact in every}
    assert facts(frozenset(kinds)) == [fact for fact in every if fact.kind not in left_out]


def test_which_kinds_are_wanted_is_told_by_the_rules_that_were_chosen(tmp_path: Path) -> None:
    chosen = tmp_path / "chosen"
    chosen.mkdir()
    (chosen / "warplint.toml").write_text('select = ["WP703", "WP708"]\n')

    def kinds(line: Selectors) -> frozenset[str] | None:
        return RuleSelection(line, Configurations(), WarpVersions()).kinds([tmp_path, chosen])

    assert kinds(Selectors(select=("WP103", "WP104"))) == {"array-overwritten", "loop-carried-value"}
    assert kinds(Selectors(select=("WP103",), extend_select=("WP709",))) == {"array-overwritten", "element-race"}
    every = kinds(Selectors())
    assert every is not None and {"launch-contract", "option-conflict", "array-overwritten"} <= every
    assert RuleSelection(Selectors(), Configurations(), WarpVersions()).kinds([tmp_path]) is None
