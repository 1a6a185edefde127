"""What is in unchanged files need not be found again: the facts of a run are kept with the state of all that it read.

A run is recognised by what it was asked for: the files, the folders of imports, the configuration, the rules, and the
versions of warplint, Python, LibCST and Warp. What it found holds as long as every file that it read has the contents
it had, and no file has come to where it looked for one in vain. As in Mercurial and Git, a file with the size and the
time that it had is taken to be the same, unless it was written just before it was read.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import io
import os
import pathlib
import pickle
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, is_dataclass, replace
from pathlib import Path
from typing import Any

from warplint import __version__
from warplint.analysis import FileAnalysis
from warplint.source.files import state_of
from warplint.source.project import Inputs

# Runs that are kept, and the bytes of one; the least recently used go first.
_MOST_RUNS = 24
_MOST_BYTES = 16 * 1024 * 1024
# A file that was written so shortly before it was read may be written again without a change of its time, in seconds.
_RACY = 2.0
_PATHS = ("PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath")
_BUILTINS = ("frozenset", "set", "complex", "bytearray")


@dataclass(frozen=True, slots=True)
class FileState:
    """A file as it was read: size in bytes, time of its last change in nanoseconds, digest of its contents (empty where
    size and time are enough)."""

    size: int
    changed: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class Remembered:
    """One run: what it read, where it looked in vain, what it found, and in which files comments may be for us."""

    present: dict[str, FileState]
    absent: tuple[str, ...]
    analyses: tuple[FileAnalysis, ...]
    commented: tuple[Path, ...]


class Memory:
    """The runs that are kept in a folder. Reading and writing never raise: a memory that fails is only empty.

    ``asked`` is whatever decides what a run finds besides the contents of files.
    """

    def __init__(self, folder: Path, asked: Iterable[object]) -> None:
        self._folder = folder
        self._key = hashlib.sha256(repr([_tools(), *asked]).encode("utf-8", "surrogatepass")).hexdigest()
        self._began = time.time()

    @property
    def _path(self) -> Path:
        return self._folder / f"{self._key}.facts"

    def recall(self) -> Remembered | None:
        """The run, if all that it read is as it was."""
        try:
            with open(self._path, "rb") as file:
                data = file.read(_MOST_BYTES + 1)
            if len(data) > _MOST_BYTES:
                return None
            found = _Reader(io.BytesIO(data)).load()
            if not isinstance(found, Remembered) or not _holds(found):
                return None
            os.utime(self._path)  # used now
        except Exception:  # damaged, or of a version whose classes were others
            return None
        return found

    def remember(self, analyses: Sequence[FileAnalysis], inputs: Inputs, commented: Iterable[Path]) -> None:
        """Keep what a run found. ``inputs`` are those of the project, besides those of its files; ``commented`` are the
        files where comments may suppress findings."""
        with contextlib.suppress(OSError, ValueError, pickle.PicklingError, RecursionError):
            for analysis in analyses:
                inputs = inputs.also(analysis.inputs)
            states = {str(path): self._state(path) for path in inputs.present}
            absent = tuple(sorted(map(str, inputs.absent)))
            plain = tuple(replace(analysis, inputs=Inputs()) for analysis in analyses)
            run = Remembered(states, absent, plain, tuple(commented))
            data = pickle.dumps(run, protocol=5)
            if len(data) > _MOST_BYTES:
                return
            self._folder.mkdir(parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(dir=self._folder, prefix=".new-")
            try:
                with open(descriptor, "wb") as file:
                    file.write(data)
                os.replace(name, self._path)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(name)
                raise
            self._trim()

    def _state(self, path: Path) -> FileState:
        state = os.stat(path)
        racy = state.st_mtime > self._began - _RACY
        return FileState(state.st_size, state.st_mtime_ns, _digest(path) if racy else b"")

    def _trim(self) -> None:
        kept = sorted(self._folder.glob("*.facts"), key=lambda path: path.stat().st_mtime)
        for path in kept[:-_MOST_RUNS]:
            path.unlink(missing_ok=True)


def _holds(run: Remembered) -> bool:
    for name, state in run.present.items():
        now = os.stat(name)
        if now.st_size != state.size or (now.st_mtime_ns != state.changed and not state.digest):
            return False
        if state.digest and _digest(name) != state.digest:
            return False
    return not any(os.path.lexists(name) for name in run.absent)


def _digest(path: str | Path) -> bytes:
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).digest()


def _tools() -> list[object]:
    """What finds the facts: a change of our own code or of what it depends on forgets everything."""
    found: list[object] = [__version__, sys.version, sys.platform]
    for name in ("libcst", "warp"):  # their versions would take longer to read than small files take to lint
        try:
            spec = importlib.util.find_spec(name)
        except (ImportError, ValueError):
            spec = None
        if spec is not None and spec.origin is not None:
            found.append(state_of(Path(spec.origin).parent, "__init__.py"))
            found.append(state_of(Path(spec.origin).parent, "_version.py"))
            found.append(state_of(Path(spec.origin).parent, "config.py"))
    own = Path(__file__).parent
    return [*found, state_of(own, "**/*.py"), state_of(own, "**/*.json")]


class _Reader(pickle.Unpickler):
    """Reads the plain records of this package and nothing else: a folder of a cache may come with a project, and what
    is in it must not run."""

    def find_class(self, module: str, name: str) -> Any:
        if module in ("pathlib", "pathlib._local") and name in _PATHS:
            return getattr(pathlib, name)
        if module == "builtins" and name in _BUILTINS:
            return super().find_class(module, name)
        if module == __name__ or module.partition(".")[0] == "warplint":
            found = super().find_class(module, name)
            if isinstance(found, type) and found.__module__ == module and (is_dataclass(found) or _is_plain(found)):
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is not a record")


def _is_plain(kind: type) -> bool:
    """Whether a class is a tuple with named fields."""
    return issubclass(kind, tuple) and hasattr(kind, "_fields")
