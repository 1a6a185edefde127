"""Run the fixture programs and compare each one's own gradient with central differences.

`fixtures/programs/labels.yaml` names, for every program, the function that returns `(value, gradient, ...)`, the point
to evaluate it at and, for a defective program, the text edits that remove the marked cause and nothing else.
"""

from __future__ import annotations

import importlib
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import warp as wp
import yaml

PROGRAMS = Path(__file__).parent / "fixtures" / "programs"
AGREE = 1.0e-2
DISAGREE = 5.0e-2


@dataclass(frozen=True, slots=True)
class Edit:
    """One replacement of a text that occurs exactly once in `file` (relative to the programs folder)."""

    file: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Label:
    """How to run one program.

    Args:
        name: the file or folder name without suffix.
        module: dotted module to import, with the programs folder on the path.
        path: a folder that scripts of this program put on the path themselves, relative to the programs folder.
        entry: the function that returns the value and one gradient per argument; only a value if `forward`.
        at: the arguments.
        forward: the program takes no gradients.
        repair: edits that remove the marked cause; empty for a program that is right.
    """

    name: str
    module: str
    path: str
    entry: str
    at: tuple[Any, ...]
    forward: bool
    repair: tuple[Edit, ...]


def read_labels() -> list[Label]:
    """All labels, in file order."""
    table = yaml.safe_load((PROGRAMS / "labels.yaml").read_text())
    labels = []
    for name, row in table.items():
        edits = tuple(
            Edit(e.get("file", f"{name}.py"), e["old"].rstrip("\n"), e["new"].rstrip("\n"))
            for e in row.get("repair", ())
        )
        module = row.get("module", name)
        path = row.get("path", "")
        labels.append(Label(name, module, path, row["entry"], tuple(row["at"]), row.get("forward", False), edits))
    return labels


def source_files(label: Label) -> list[Path]:
    """The Python files of one program."""
    folder = PROGRAMS / label.name
    return sorted(folder.rglob("*.py")) if folder.is_dir() else [PROGRAMS / f"{label.name}.py"]


def repaired_copy(label: Label, into: Path) -> Path:
    """Copy the program to `into`, apply its edits, and return the folder to import from.

    Raises:
        ValueError: an edit's text does not occur exactly once.
    """
    for source in source_files(label):
        target = into / source.relative_to(PROGRAMS)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    for edit in label.repair:
        text = (into / edit.file).read_text()
        if text.count(edit.old) != 1:
            raise ValueError(f"{edit.file}: the text {edit.old!r} must occur once, not {text.count(edit.old)} times")
        (into / edit.file).write_text(text.replace(edit.old, edit.new))
    return into


@contextmanager
def imported(label: Label, root: Path) -> Iterator[Callable[..., Any]]:
    """The program's entry function, imported from `root`; import state and Warp's configuration are put back after."""
    wp.init()  # fills in the cache folder, which must survive the restoration below
    options = {k: v for k, v in vars(wp.config).items() if isinstance(v, (bool, int, float, str, type(None)))}
    before = set(sys.modules)
    sys.path.insert(0, str(root / label.path))
    importlib.invalidate_caches()
    try:
        yield getattr(importlib.import_module(label.module), label.entry)
    finally:
        sys.path.remove(str(root / label.path))
        for name in set(sys.modules) - before:
            origin = getattr(sys.modules[name], "__file__", None) or ""
            if origin.startswith(str(root)):
                del sys.modules[name]
                _forget(name)
        for key, value in options.items():
            if not key.startswith("__") and getattr(wp.config, key) != value:
                setattr(wp.config, key, value)


def _forget(name: str) -> None:
    """Put the options of a module of kernels back, which would hold for the next one of that name."""
    from warp._src import context

    if name in context.user_modules:
        context.user_modules[name].options.update(context.Module(name, None).options)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A program's gradients beside central differences, flattened over all its arguments."""

    value: float
    taped: np.ndarray
    differences: np.ndarray

    @property
    def error(self) -> float:
        """Largest difference, relative to the largest slope; infinite for a gradient that is not finite."""
        if not np.all(np.isfinite(self.taped)):
            return float("inf")
        scale = max(float(np.max(np.abs(self.differences))), 1.0e-3)
        return float(np.max(np.abs(self.taped - self.differences))) / scale


def compare(entry: Callable[..., Any], at: tuple[Any, ...], step: float = 2.0e-2) -> Comparison:
    """Differentiate `entry` at `at` by Richardson-extrapolated central differences and by its own tape."""
    point = [np.asarray(a, dtype=np.float32) for a in at]

    def value_at(arg: int, index: tuple[int, ...], offset: float) -> tuple[float, float]:
        moved = [p.copy() for p in point]
        moved[arg][index] += np.float32(offset)
        return float(entry(*moved)[0]), float(moved[arg][index])

    def slope(arg: int, index: tuple[int, ...], h: float) -> float:
        (high, up), (low, down) = value_at(arg, index, h), value_at(arg, index, -h)
        return (high - low) / (up - down)

    first = entry(*[p.copy() for p in point])
    taped = [np.array(g, dtype=np.float64).reshape(p.shape) for g, p in zip(first[1:], point, strict=True)]
    differences = []
    for arg, p in enumerate(point):
        for index in np.ndindex(p.shape):
            differences.append((4.0 * slope(arg, index, step / 2) - slope(arg, index, step)) / 3.0)
    return Comparison(float(first[0]), np.concatenate([t.ravel() for t in taped]), np.array(differences))
