"""What plain functions of the project compute is told by reading them; records are made without running their class."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from warplint.frontend.fast import read
from warplint.ir.programs import DefinitionRef
from warplint.probe.slices import Refused, Slicer
from warplint.source.project import Project

_KERNEL = """
import os
import warp as wp
from dataclasses import dataclass, field
from typing import NamedTuple

{definitions}

@wp.kernel
def k(x: wp.array(dtype=float)):
    x[wp.tid()] = float(WANTED)
"""


def _value(folder: Path, definitions: str) -> object:
    """What the name WANTED is in the slice."""
    path = folder / "main.py"
    path.write_text(_KERNEL.format(definitions=definitions))
    slicer = Slicer(Project(read))
    slicer.add(DefinitionRef(path, "k"))
    text = slicer.finish().text
    assert "import os" not in text
    head = text.partition("@_probe_warp.kernel")[0]
    names = {"_probe_warp": SimpleNamespace(), "wp": SimpleNamespace(vec2f="two", vec3f="three", float32="single")}
    head = "\n".join(line for line in head.split("\n") if not line.startswith("import warp"))
    exec(head, names)  # our own text, from the literals above
    return names["WANTED"]


@pytest.mark.parametrize(
    ("definitions", "value"),
    [
        ('WANTED = int(os.getenv("SIZE", 256))', 256),
        ('WANTED = int(os.environ.get("SIZE", "3") or 4)', 3),
        (
            """
def number(name: str, default: int) -> int:
    "A documented function."
    try:
        value = int(os.environ.get(name, default))
    except ValueError:
        return default
    return value if value > 0 else default

WANTED = number("SIZE", 128)
""",
            128,
        ),
        (
            """
def number(text, default):
    try:
        found = int(text)
    except TypeError:
        found = default
    except ValueError:
        found = 2 * default
    return found

WANTED = number("many", 5)
""",
            10,
        ),
        (
            """
def wide(precise=False):
    if precise:
        return 64
    elif os.getenv("WIDE") is None:
        return 32
    return 16

WANTED = wide() // 2 + len("ab") * min(3, 4)
""",
            22,
        ),
        (
            """
class Types(NamedTuple):
    vec: type
    size: int = 7

TABLE = {wp.float32: Types(wp.vec3f), 2: Types(wp.vec2f, 9)}
chosen = TABLE[2]
WANTED = chosen.size
""",
            9,
        ),
        (
            """
@dataclass(frozen=True)
class Options:
    size: int
    other: int = 4

    def twice(self):
        return 2 * self.size

CHOSEN = Options(size=3)
WANTED = CHOSEN.other
""",
            4,
        ),
    ],
)
def test_values_that_are_known_without_running_code(definitions: str, value: object, tmp_path: Path) -> None:
    assert _value(tmp_path, definitions) == value


@pytest.mark.parametrize(
    "definitions",
    [
        'def f():\n    open("marker", "w")\n    return 1\n\nWANTED = f()',
        "def f(n):\n    return f(n + 1)\n\nWANTED = f(0)",
        "def f():\n    while True:\n        pass\n\nWANTED = f()",
        "def f(n):\n    return 1 << n\n\nWANTED = f(10 ** 9)",
        "def decorate(g):\n    return g\n\n@decorate\ndef f():\n    return 1\n\nWANTED = f()",
        "def f():\n    return os.environ['HOME']\n\nWANTED = f()",
        "class C(NamedTuple):\n    a: int = print('made')\n\nWANTED = C().a",
        "@dataclass\nclass C:\n    a: int\n    def __post_init__(self):\n        print('made')\n\nWANTED = C(1).a",
        "@dataclass\nclass C:\n    a: list = field(default_factory=print)\n\nWANTED = C().a",
        "class Base:\n    pass\n\n@dataclass\nclass C(Base):\n    a: int\n\nWANTED = C(1).a",
    ],
)
def test_what_would_have_to_be_run_is_refused(definitions: str, tmp_path: Path) -> None:
    with pytest.raises(Refused):
        _value(tmp_path, definitions)
