"""What ``--probe-import`` and ``--probe-native`` allow, and that nothing of it happens without them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from command import run_warplint

from tests.probe.conftest import finding, marked
from warplint.frontend.fast import read
from warplint.ir.facts import Evidence
from warplint.ir.programs import DefinitionRef, KernelProgram
from warplint.probe import ProbeOptions, scripts
from warplint.source.project import Project

Run = Callable[..., list[Evidence]]

# Every module leaves its name in a folder when Python runs it.
_MARK = """
from pathlib import Path
Path(r"{folder}", __name__.rpartition(".")[2]).touch()
"""

_HELPERS = """
def scale():
    return 2.0 if Path(__file__).exists() else 1.0


def plain(function):
    return function
"""

_KERNELS = """
import functools

import warp as wp

from pack.helpers import plain, scale

SCALE = scale()
TWICE = 2.0 * SCALE
snippet = "return 2.0f * x;"


@wp.kernel
def computed(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] * x[i] * TWICE  # flagged


@wp.kernel
def made_inside(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] * x[i] * wp.static(scale())  # flagged


@plain
@wp.kernel
def decorated(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] * x[i]  # flagged


@plain
@wp.kernel
def decorated_and_right(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]  # flagged


@wp.kernel
def plain_kernel(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] * x[i]  # flagged
"""

_NATIVE = """
import warp as wp

snippet = "return 2.0f * x;"


@wp.func_native(snippet=snippet)
def doubled(x: float) -> float: ...


@wp.kernel
def native(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] * x[i] + doubled(1.0)  # flagged
"""

_BOTH = """
import warp as wp

from pack.helpers import plain

snippet = "return 2.0f * x;"


@wp.func_native(snippet=snippet)
def doubled(x: float) -> float: ...


@plain
@wp.kernel
def native_in_a_decorated_one(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] * x[i] + doubled(1.0)  # flagged
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package whose modules leave marks in ``marks`` where they are run."""
    (tmp_path / "marks").mkdir()
    (tmp_path / "pack").mkdir()
    mark = _MARK.format(folder=tmp_path / "marks")
    (tmp_path / "pack/__init__.py").write_text("")
    for name, text in [("helpers", _HELPERS), ("kernels", _KERNELS), ("native", _NATIVE), ("both", _BOTH)]:
        (tmp_path / f"pack/{name}.py").write_text(mark + text)
    return tmp_path


def _ran(package: Path) -> set[str]:
    return {path.name for path in (package / "marks").iterdir()}


def _seen(package: Path, name: str, run: Run, **options: bool) -> dict[str, Evidence]:
    found = list(marked(package / f"pack/{name}.py"))
    return dict(zip([name for name, _ in found], run([one for _, one in found], **options), strict=True))


def test_nothing_is_run_that_nobody_allowed(package: Path, run: Run) -> None:
    seen = {**_seen(package, "kernels", run), **_seen(package, "native", run), **_seen(package, "both", run)}
    decided = {name for name, one in seen.items() if one.verdict != "inconclusive"}
    assert decided == {"plain_kernel"}
    reasons = {name: one.detail for name, one in seen.items() if name not in decided}
    assert reasons.pop("native") == "not run: `doubled` is a native snippet"
    assert all(reason.startswith("not run: ") and "would have to be run" in reason for reason in reasons.values())
    assert len(reasons) == 5
    assert _ran(package) == set()


def test_with_imports_constants_and_decorators_are_run(package: Path, run: Run) -> None:
    seen = _seen(package, "kernels", run, allow_import=True)
    verdicts = {name: one.verdict for name, one in seen.items()}
    assert verdicts == {
        "computed": "confirmed",
        "made_inside": "confirmed",
        "decorated": "confirmed",
        "decorated_and_right": "inconclusive",
        "plain_kernel": "confirmed",
    }
    # Whether the flagged line of an imported kernel runs cannot be seen, so that agreement says little.
    assert "it cannot be seen which lines run" in seen["decorated_and_right"].detail
    assert _ran(package) == {"kernels", "helpers"}


def test_what_needs_no_import_runs_none_even_if_it_may(package: Path, run: Run) -> None:
    path = package / "pack/kernels.py"
    program = KernelProgram(DefinitionRef(path, "plain_kernel"), ())
    (seen,) = run([finding(path, program)], allow_import=True, allow_native=True)
    assert seen.verdict == "confirmed"
    assert _ran(package) == set()


def test_with_native_snippets_nothing_is_imported(package: Path, run: Run) -> None:
    assert _seen(package, "native", run, allow_native=True)["native"].verdict == "confirmed"
    assert _seen(package, "both", run, allow_native=True)["native_in_a_decorated_one"].verdict == "inconclusive"
    assert _ran(package) == set()


def test_imports_do_not_bring_native_snippets_along(package: Path, run: Run) -> None:
    assert _seen(package, "native", run, allow_import=True)["native"].detail == "not run: `doubled` is a native snippet"
    assert _ran(package) == set()
    seen = _seen(package, "both", run, allow_import=True)["native_in_a_decorated_one"]
    assert seen.verdict == "inconclusive" and "defines a native snippet" in seen.detail
    both = _seen(package, "both", run, allow_import=True, allow_native=True)["native_in_a_decorated_one"]
    assert both.verdict == "confirmed"


def test_what_rests_on_imports_is_not_stored(package: Path, run: Run, tmp_path: Path) -> None:
    path = package / "pack/kernels.py"
    findings = [one for name, one in marked(path) if name in ("computed", "plain_kernel")]
    run(findings, allow_import=True, cache_dir=tmp_path / "own")
    assert len(list((tmp_path / "own/verdicts").glob("*/*.json"))) == 1


def test_what_imports_has_no_script_of_its_own(package: Path, kernel_cache: Path) -> None:
    path = package / "pack/kernels.py"
    (found,) = [one for name, one in marked(path) if name == "computed"]
    options = ProbeOptions(device="cpu", cache_dir=kernel_cache, allow_import=True)
    (script,) = scripts([found], Project(read), options)
    assert script.text is None and "imports from the project" in script.problem


@pytest.mark.parametrize(
    ("configuration", "arguments", "expected"),
    [
        ("", (), False),
        ("", ("--probe-import",), True),
        ("probe-import = true\n", (), True),
        ("probe-import = true\n", ("--no-probe-import",), False),
        ("probe-native = true\n", (), False),
    ],
)
def test_the_command_line_and_the_configuration_say_so(
    configuration: str, arguments: tuple[str, ...], expected: bool, package: Path, kernel_cache: Path
) -> None:
    (package / "warplint.toml").write_text(configuration)
    (package / "pack/kernels.py").write_text(
        _MARK.format(folder=package / "marks")
        + """
import warp as wp

from pack.helpers import plain


@plain
@wp.kernel
def attenuate(light: wp.array(dtype=float), passed: wp.array(dtype=float)):
    i = wp.tid()
    light[i] *= passed[i]
"""
    )
    done = run_warplint(
        "--device", "cpu", "--cache-dir", kernel_cache, "--output-format", "concise", *arguments, "pack", cwd=package
    )
    assert done.returncode == 1 and done.stderr == ""
    (line,) = [line for line in done.stdout.splitlines() if "kernels.py" in line]
    assert ("[confirmed" in line) == expected
    assert bool(_ran(package)) == expected
