"""The next version of a file is read as a fresh one would be."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest
from edits import edited

from warplint.frontend import open_project
from warplint.ir.facts import Problem
from warplint.source.project import Module
from warplint.source.regions import changed_piece

FIXTURES = Path(__file__).parent.parent / "fixtures"
FILES = sorted(FIXTURES.rglob("*.py"))[::25]

BEFORE = """\
# first
import warp as wp

count = 1


def f(x):
    if x:
        return x
    return [
        x,
    ]


@wp.kernel
def k(x: wp.array(dtype=float)):
    x[wp.tid()] = 1.0
"""


def described(found: Module | Problem) -> object:
    if isinstance(found, Problem):
        return found
    return found.text, found.regions, [found.read(region) for region in found.regions], found.newer


def same(before: str, after: str) -> object:
    """What ``after`` is once ``before`` was read; it is what a fresh project says."""
    path = Path("/a/b.py")
    project = open_project()
    module = project.load(path, before.encode())
    assert isinstance(module, Module)
    list(module.statements())
    again = project.after({path})
    found = described(again.replace(module, after.encode()))
    assert found == described(open_project().load(path, after.encode())), after
    return found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("count = 1\n", "count = 2\n"),
        ("count = 1\n", "count = 1\n\n\n# more\n"),
        ("count = 1\n", ""),
        ("count = 1\n", "count = 1\nglobal count\n"),  # Python refuses that after the assignment
        ("count = 1\n", "return 1\n"),
        ("count = 1\n", "from __future__ import annotations\n"),
        ("# first\n", "from __future__ import annotations\n"),
        ("# first\n", "'''What it is.'''\nfrom __future__ import annotations\n"),
        ("# first\n", "  # first\n\x0c\n"),
        ("# first\n", "  import os\n"),
        ("# first\n", "\u00a0\n"),
        ("count = 1\n", "count = 1\n\u00a0\n"),
        ("count = 1\n", "count = 1 \\\n"),
        ("count = 1\n", "count = (\n"),
        ("count = 1\n", "count = '''\n"),
        ("count = 1\n", "count = 1\nelse:\n    pass\n"),
        ("count = 1\n", "if count:\n    count = 1\n"),
        ("def f(x):", "def f(x, x):"),
        ("def f(x):", "async def f(x):"),
        ("def f(x):", "class f:\n  def g(x):"),
        ("        return x\n", "        nonlocal y\n"),
        ("    if x:\n", "if x:\n"),
        ("@wp.kernel\n", "@wp.kernel\n\ncount = 3\n"),
        ("@wp.kernel\ndef", "def"),
        ("        x,\n    ]\n", "        x,\n"),
        ("    x[wp.tid()] = 1.0\n", "    x[wp.tid(("),
        ("    x[wp.tid()] = 1.0\n", "    x[wp.tid()] = 1.0\nelse:\n    pass\n"),
        ("def f(x):\n", "def f[T](x):\n"),  # newer than some Pythons
        ("def f(x):\n", "type A = int\ndef f(x):\n"),
    ],
)
def test_one_change(old: str, new: str) -> None:
    assert BEFORE.count(old) == 1
    same(BEFORE, BEFORE.replace(old, new))


def test_imports_from_the_future_hold_for_what_is_new() -> None:
    """An annotation may then hold what it may not otherwise, and the other way round."""
    head = "from __future__ import annotations\n\n\ndef f(x: int):\n    return x\n"
    assert isinstance(same(head, head.replace("x: int", "x: (y := int)")), Problem)
    plain = head.partition("\n")[2]
    # Python 3.14 puts every annotation off, and so refuses this one with and without the import.
    refused = sys.version_info >= (3, 14)
    assert isinstance(same(plain, plain.replace("x: int", "x: (y := int)")), Problem) == refused


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_random_changes(path: Path) -> None:
    chance = random.Random(len(path.stem))
    text = path.read_text(encoding="utf-8")
    for _ in range(15):
        new = edited(text, chance)
        if not isinstance(same(text, new), Problem):
            text = new


def test_what_has_changed_is_read_with_what_is_above() -> None:
    module = open_project().load(Path("/a/b.py"), BEFORE.encode())
    assert isinstance(module, Module)
    after = BEFORE.replace("count = 1", "count = = 1")
    assert changed_piece(after, BEFORE, module.regions) == "import warp as wp\n\ncount = = 1\n\n\n"
