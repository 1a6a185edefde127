"""Which files to lint: the command line's paths, walked, without what the project ignores."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path

from warplint.ir.facts import Problem
from warplint.ir.spans import displayed
from warplint.records import dataclass
from warplint.settings.configuration import Configurations
from warplint.settings.ignores import (
    IgnoreFile,
    enclosing_ignore_files,
    ignored,
    parse_patterns,
    read_ignore_file,
)

#: Folders that hold what was built or installed, not what was written. Hidden folders are left out as well.
GENERATED_FOLDERS = frozenset(
    {"__pycache__", "__pypackages__", "_build", "buck-out", "build", "dist", "node_modules", "venv"}
)


#: Python files and notebooks.
SUFFIXES = (".py", ".ipynb")


@dataclass(frozen=True, slots=True)
class Discovery:
    """The files to lint, absolute, in the order of their paths, and the paths that could not be followed."""

    files: tuple[Path, ...]
    problems: tuple[Problem, ...]


def discover(
    paths: Iterable[str], configurations: Configurations, force_exclude: bool = False, exclude: Sequence[str] = ()
) -> Discovery:
    """Find the Python files that ``paths`` (files and folders) stand for.

    A file named outright is linted whatever ignore files and ``exclude`` say, unless ``force_exclude``. ``exclude`` are
    patterns besides the configured ones, relative to the current folder.
    """
    walk = _Walk(configurations, exclude)
    for given in paths:
        if not given:  # `warplint "$FOLDER"` with an unset variable must not lint the current folder
            walk.problems.append(Problem("", "a path is empty; name a file or folder, or `.` for the current folder"))
            continue
        path = os.path.abspath(given)
        try:
            mode = os.stat(path).st_mode
        except OSError as error:
            walk.complain(path, _why(error))
            continue
        if stat.S_ISDIR(mode):
            walk.root(path)
        elif path.endswith(".pyi"):
            continue  # a stub holds no code
        elif not path.endswith(SUFFIXES):
            walk.complain(path, "not a Python file; give a `.py` file, a notebook or a folder")
        elif not stat.S_ISREG(mode):
            walk.complain(path, "not a regular file; give a file or a folder, or `-` for standard input")
        elif not (force_exclude and walk.excluded(path)):
            walk.add(path, os.path.realpath(path))
    return Discovery(tuple(Path(path) for path in sorted(walk.files.values())), tuple(walk.problems))


def left_out(
    path: Path, configurations: Configurations, force_exclude: bool = False, exclude: Sequence[str] = ()
) -> bool:
    """Whether ``discover`` would leave out a file that is named outright; ``path`` is absolute, and need not exist."""
    return path.suffix == ".pyi" or (force_exclude and _Walk(configurations, exclude).excluded(str(path)))


class _Walk:
    """The state of one search."""

    def __init__(self, configurations: Configurations, exclude: Sequence[str]) -> None:
        self.configurations = configurations
        self.files: dict[str, str] = {}  # real path -> path as first reached
        self.problems: list[Problem] = []
        self.visited: set[str] = set()  # real paths of folders
        self.extra: list[IgnoreFile] = []  # from the command line
        try:
            patterns = parse_patterns(os.getcwd(), exclude)
            self.extra += [patterns] if patterns is not None else []
        except (OSError, ValueError) as error:
            self.problems.append(Problem("", f"`--exclude` holds a malformed pattern: {error}"))

    def complain(self, path: str, message: str) -> None:
        self.problems.append(Problem(displayed(Path(path)), message))

    def add(self, path: str, real: str) -> None:
        self.files.setdefault(real, path)

    def root(self, path: str) -> None:
        """Walk a folder that was named on the command line, even if it is hidden or ignored itself."""
        ignore_files = enclosing_ignore_files(path)
        if ignored(path, True, ignore_files):
            ignore_files = []
        self.folder(path, ignore_files, (os.path.realpath(path),))

    def folder(self, path: str, ignore_files: list[IgnoreFile], ancestors: tuple[str, ...]) -> None:
        if ancestors[-1] in self.visited:
            return
        self.visited.add(ancestors[-1])
        try:
            with os.scandir(path) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
        except OSError as error:
            self.complain(path, f"cannot list the folder: {_why(error)}")
            return
        if any(entry.name == ".gitignore" for entry in entries):
            own = read_ignore_file(path)
            ignore_files = [*ignore_files, own] if own is not None else ignore_files
        exclude = [*self.configurations.nearest(Path(path)).excludes, *self.extra]
        for entry in entries:
            is_python = entry.name.endswith(SUFFIXES)
            try:
                is_folder = entry.is_dir()
            except OSError as error:
                if is_python:
                    self.complain(entry.path, _why(error))
                continue
            if is_folder:
                if _skipped(entry):
                    continue
            elif not is_python:
                continue
            if ignored(entry.path, is_folder, ignore_files):
                continue
            if exclude and ignored(entry.path, is_folder, exclude):
                continue
            # realpath is slow, and needed for links only: the folder's own real path is known.
            real = os.path.realpath(entry.path) if entry.is_symlink() else os.path.join(ancestors[-1], entry.name)
            if not is_folder:
                self.file(entry, real)
            elif real in ancestors:
                continue  # what is there is walked from there
            elif ancestors[-1].startswith(real + os.sep):
                self.complain(entry.path, "the symbolic link leads back to a folder above it; remove it or exclude it")
            else:
                self.folder(entry.path, ignore_files, (*ancestors, real))

    def file(self, entry: os.DirEntry[str], real: str) -> None:
        """Take a Python entry of a folder that was walked. Sockets and pipes are none of our business."""
        try:
            if entry.is_file():
                self.add(entry.path, real)
            elif entry.is_symlink():
                entry.stat()  # raises: the link leads nowhere
        except OSError as error:
            self.complain(entry.path, _why(error))

    def excluded(self, path: str) -> bool:
        """Whether the configuration that governs the file ``path`` excludes it, or a folder that it is in."""
        exclude = self.configurations.nearest(Path(path).parent).excludes
        return ignored(path, False, [*exclude, *self.extra])


def _skipped(entry: os.DirEntry[str]) -> bool:
    """Whether a folder holds nothing that a person wrote: hidden, generated, or a virtual environment."""
    if entry.name.startswith(".") or entry.name in GENERATED_FOLDERS:
        return True
    return os.path.exists(os.path.join(entry.path, "pyvenv.cfg"))


def _why(error: OSError) -> str:
    """An operating system error as a sentence with its remedy."""
    if isinstance(error, FileNotFoundError):
        return "no such file or folder; check the path"
    if isinstance(error, PermissionError):
        return "permission denied; make it readable or exclude it"
    if error.errno == errno.ELOOP:
        return "the symbolic link leads back to itself; remove it"
    return f"{error.strerror or error}; check the path"
