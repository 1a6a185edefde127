"""Fixtures for tests of the command."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from command import Command, run_warplint


@pytest.fixture
def warplint(tmp_path: Path) -> Command:
    """``python -m warplint`` in the test's own folder, or in ``cwd``."""
    return partial(run_warplint, cwd=tmp_path)
