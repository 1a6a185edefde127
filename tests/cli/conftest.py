"""Fixtures for tests of the command."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from command import Command, run_cheaply
from programs import CARRIED, CLEAN, IN_PLACE


@pytest.fixture
def warplint(tmp_path: Path) -> Command:
    """``python -m warplint`` in the test's own folder, or in ``cwd``; without a new process where that is the same."""
    return partial(run_cheaply, cwd=tmp_path)


@pytest.fixture
def lint(warplint: Command) -> Command:
    """A static run with concise output."""
    return partial(warplint, "--no-probe", "--output-format", "concise")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """WP101 in ``light.py``, WP104 in ``sub/plan.py``, and a clean file."""
    (tmp_path / "light.py").write_text(IN_PLACE)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/plan.py").write_text(CARRIED)
    (tmp_path / "clean.py").write_text(CLEAN)
    return tmp_path
