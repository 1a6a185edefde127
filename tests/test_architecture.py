"""Imports run one way, and the libraries have one importer each (the table in docs/architecture.md)."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import warplint

PACKAGE = Path(warplint.__file__).parent

#: What each room may import of warplint, besides itself.
ROOMS = {
    "records": set(),  # which everything may import
    "stamps": set(),
    "ir": set(),
    "source": {"ir"},
    "frontend": {"ir", "source"},
    "kernels": {"ir", "source"},
    "tapes": {"ir", "source"},
    "catalogue": {"ir", "stamps"},
    "probe": {"ir", "stamps", "source"},
    "report": {"ir", "catalogue"},
    "settings": {"ir"},
    # The flow itself.
    "selection": {"ir", "stamps", "source", "catalogue", "settings"},
    "reach": {"ir", "source"},
    "processes": set(),
    "hosts": {"ir", "source", "kernels", "tapes", "changes"},
    "changes": {"ir", "source", "kernels"},
    "definitions": {"ir", "source", "kernels", "changes"},
    "analysis": {"ir", "source", "kernels", "tapes", "reach", "processes", "hosts", "changes", "definitions"},
    "remembering": {"ir", "stamps", "source"},
    "suppressing": {"ir", "source", "catalogue"},
    "ignoring": {"ir", "source"},
    "baseline": {"ir"},
    "fixing": {"ir", "source", "catalogue", "kernels", "tapes"},
    "arguments": {"settings"},
    "terminal": set(),
    "completion": set(),
    "watching": {"settings"},
    "proving": {"ir", "source", "catalogue", "settings", "probe", "selection", "fixing"},
    "pipeline": {
        "ir",
        "source",
        "frontend",
        "catalogue",
        "report",
        "settings",
        "selection",
        "analysis",
        "processes",
        "proving",
        "remembering",
        "suppressing",
        "baseline",
    },
    "auditing": {
        "ir",
        "source",
        "frontend",
        "kernels",
        "settings",
        "probe",
        "selection",
        "analysis",
        "reach",
        "processes",
        "pipeline",
        "proving",
    },
    "scaffold": {"ir", "catalogue", "frontend", "analysis", "settings"},
    "trying": {"ir", "catalogue", "settings", "report", "pipeline"},
    "server": {
        "stamps",
        "ir",
        "source",
        "frontend",
        "kernels",
        "tapes",
        "catalogue",
        "report",
        "settings",
        "probe",
        "selection",
        "analysis",
        "hosts",
        "reach",
        "ignoring",
        "fixing",
        "processes",
        "pipeline",
        "proving",
    },
    "cli": {
        "ir",
        "auditing",
        "scaffold",
        "trying",
        "arguments",
        "completion",
        "watching",
        "terminal",
        "settings",
        "ignoring",
        "fixing",
        "processes",
        "pipeline",
        "proving",
        "report",
        "catalogue",
        "server",
    },
    "__main__": {"cli"},
    "__init__": set(),
}

#: Who may import what is slow or foreign; the probe's worker runs in a process of its own.
LIBRARIES = {
    "libcst": "frontend",
    "yaml": "catalogue/reading",
    "pathspec": "settings/ignores",
    "tomli": "settings/toml",
    "tomllib": "settings/toml",
    "pygls": "server",
    "lsprotocol": "server",
    "warp": "probe/worker",
    "numpy": "probe/worker",
}


def modules() -> list[Path]:
    return sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))


def imports(path: Path) -> set[str]:
    """The dotted names that a module imports, anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse((PACKAGE / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            assert node.module is not None
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def room(path: Path) -> str:
    return path.parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", modules(), ids=str)
def test_imports(path: Path) -> None:
    own = room(path)
    assert own in ROOMS, "a new room: give it a line in ROOMS and in docs/architecture.md"
    for name in imports(path):
        parts = name.split(".")
        if parts[0] == "warplint":
            target = parts[1] if parts[1:] else "__init__"  # `import warplint`: where it is, and its version
            if target in ("__init__", "__version__", "records"):
                continue
            assert target == own or target in ROOMS[own], f"{own} must not import {name}"
        elif parts[0] in LIBRARIES:
            allowed = LIBRARIES[parts[0]]
            assert path.with_suffix("").as_posix().startswith(allowed), f"{name} is for {allowed} only"


def test_every_room_exists() -> None:
    assert {room(path) for path in modules()} == set(ROOMS)


def test_the_table_in_the_documentation_names_every_room() -> None:
    text = (PACKAGE.parent / "docs/architecture.md").read_text(encoding="utf-8")
    for name in set(ROOMS) - {"__main__", "__init__"}:
        assert f"`warplint/{name}`" in text or f"`warplint/{name}.py`" in text, name


def test_modules_are_short() -> None:
    lengths = {str(path): len((PACKAGE / path).read_text(encoding="utf-8").splitlines()) for path in modules()}
    assert {path: length for path, length in lengths.items() if length > 800} == {}


def test_records_are_defined_in_one_way() -> None:
    late = [
        path
        for path in modules()
        if "dataclasses.dataclass" in imports(path)
        and "@dataclass(frozen=True" in (PACKAGE / path).read_text(encoding="utf-8")
    ]
    assert late == [], "take `dataclass` from warplint.records for frozen records"
