"""What the tests of the kernel analysis share."""

from __future__ import annotations

from pathlib import Path

import pytest

from warplint.frontend import fast
from warplint.source.project import Module, Project

SOURCES = Path(__file__).parent / "sources"


@pytest.fixture
def project() -> Project:
    """An empty project that reads with Python's own parser."""
    return Project(fast.read)


def module_of(project: Project, text: str, name: str = "example.py") -> Module:
    """A module with the given text."""
    found = project.load(Path("/nowhere") / name, text.encode())
    assert isinstance(found, Module), found
    return found
