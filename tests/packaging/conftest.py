"""A copy of the source that can be built and committed, whatever state the checkout is in."""

from __future__ import annotations

import importlib.util
import shutil
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
SHIPPED = (
    "pyproject.toml",
    "README.md",
    ".pre-commit-hooks.yaml",
    "action.yml",
    "warplint",
    "rules",
    "docs/measured.json",
)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What a release is made from."""
    for tool in ("hatchling", "build", "pre_commit"):
        if importlib.util.find_spec(tool) is None:
            pytest.skip(f"{tool} is not installed: pip install -e '.[dev]'")
    folder = tmp_path / "checkout"
    folder.mkdir()
    for name in SHIPPED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            (folder / name).parent.mkdir(exist_ok=True)
            shutil.copy(source, folder / name)
    return folder


@pytest.fixture
def dependencies(tmp_path: Path) -> Path:
    """A folder with all that is installed here, except warplint: it saves downloading Warp again.

    As ``.pth`` files in it are not read, an editable installation of warplint does not show through.
    """
    folder = tmp_path / "dependencies"
    folder.mkdir()
    for site in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
        for path in Path(site).iterdir():
            if not path.name.startswith(("warplint", "__editable__", "_warplint")) and path.suffix != ".pth":
                (folder / path.name).symlink_to(path)
    return folder
