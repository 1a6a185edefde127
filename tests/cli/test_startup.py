"""Nothing is imported before it is needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from command import environment
from programs import CLEAN, IN_PLACE

#: Slow to import, each needed for a part of the work only.
HEAVY = {"warp", "numpy", "libcst", "yaml", "pathspec", "pygls", "multiprocessing", "importlib.metadata"}

#: Ours, and needed for files that have to do with Warp only.
ANALYSES = {"warplint.kernels", "warplint.tapes", "warplint.probe", "warplint.catalogue.loading"}

#: What a run over unchanged files has no use for.
UNUSED = {
    "warplint.analysis",
    "warplint.catalogue.rule",
    "warplint.catalogue.selecting",
    "warplint.frontend",
    "warplint.ir.effects",
    "warplint.ir.programs",
    "warplint.report.snippets",
    "warplint.source.project",
    "warplint.source.regions",
    "warplint.source.text",
    "textwrap",
    "traceback",
}

SCRIPT = """
import sys
from warplint.cli import main
try:
    code = main(sys.argv[1:])
except SystemExit as error:
    code = error.code
sys.stderr.write("LOADED " + " ".join(sys.modules))
raise SystemExit(code)
"""


def loaded(folder: Path, *arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-S", "-c", SCRIPT, *arguments],  # -S: what .pth files import is not our doing
        cwd=folder,
        capture_output=True,
        text=True,
        env=environment(),
        timeout=120,
        check=False,
    )
    return set(done.stderr.partition("LOADED ")[2].split()) & (HEAVY | ANALYSES | UNUSED)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "plain.py").write_text("import os\n\n\ndef f(x):\n    return os.path.join(x)\n")
    (tmp_path / "light.py").write_text(IN_PLACE)
    (tmp_path / "clean.py").write_text(CLEAN)
    return tmp_path


@pytest.mark.parametrize(
    "arguments", [["--version"], ["-h"], ["explain", "-h"], ["plain.py"], ["--no-probe", "plain.py"]]
)
def test_nothing_heavy_for_what_needs_nothing(folder: Path, arguments: list[str]) -> None:
    assert loaded(folder, *arguments) - UNUSED == set()


def test_a_clean_kernel_needs_neither_rules_nor_warp(folder: Path) -> None:
    assert loaded(folder, "clean.py") - ANALYSES - UNUSED <= {"libcst"}


def test_a_static_finding_needs_rules_but_neither_warp_nor_numpy(folder: Path) -> None:
    assert loaded(folder, "--no-probe", "light.py") - ANALYSES - UNUSED - {"libcst"} == {"yaml"}


def test_explain_needs_rules_only(folder: Path) -> None:
    assert loaded(folder, "explain", "WP101") - UNUSED == {"yaml", "warplint.catalogue.loading"}


@pytest.mark.parametrize("name", ["plain.py", "clean.py"])
def test_a_run_over_unchanged_files_imports_no_analysis(folder: Path, name: str) -> None:
    kept = ["--no-probe", "--cache-dir", str(folder / "kept"), name]
    assert "warplint.analysis" in loaded(folder, *kept)
    assert loaded(folder, *kept) == set()
