"""Which files the project itself leaves out: ``.gitignore`` files and the ``exclude`` key."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from warplint.records import dataclass

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


@dataclass(frozen=True, slots=True)
class IgnoreFile:
    """Patterns in the form of a ``.gitignore`` file, and the folder that they are relative to."""

    folder: str
    patterns: GitIgnoreSpec

    def decides(self, path: str, is_folder: bool) -> bool | None:
        """Whether ``path`` (absolute, below ``folder``) is ignored; None where no pattern speaks of it."""
        relative = os.path.relpath(path, self.folder).replace(os.sep, "/")
        if relative.startswith(".."):
            return None
        # A pattern like `build/` means folders only, and pathspec tells them by their final slash.
        return self.patterns.check_file(relative + "/" if is_folder else relative).include

    def covers(self, path: str) -> bool:
        """Whether the patterns name the file ``path`` (absolute), or a folder that it is in."""
        return self.decides(path, False) is True


def ignored(path: str, is_folder: bool, files: Sequence[IgnoreFile]) -> bool:
    """Whether ``path`` is ignored by ``files``, outermost first: as in git, the innermost that speaks of it decides."""
    for file in reversed(files):
        decision = file.decides(path, is_folder)
        if decision is not None:
            return decision
    return False


def read_ignore_file(folder: str, name: str = ".gitignore") -> IgnoreFile | None:
    """The ignore file of ``folder``, None where there is none, or nothing in it, or it cannot be read (as git does)."""
    try:
        text = Path(folder, name).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    return parse_patterns(folder, text.splitlines())


def parse_patterns(folder: str, lines: Sequence[str]) -> IgnoreFile | None:
    """``lines`` as patterns relative to ``folder``; None where they hold no pattern.

    Raises:
        ValueError: a pattern is malformed.
    """
    lines = [line for line in lines if line.strip() and not line.startswith("#")]
    if not lines:
        return None
    from pathspec import GitIgnoreSpec  # late: it costs more than the rest of a small run

    return IgnoreFile(folder, GitIgnoreSpec.from_lines(lines))


def enclosing_ignore_files(folder: str) -> list[IgnoreFile]:
    """The ignore files above ``folder``, up to the root of its git repository, outermost first; none outside one."""
    above = []
    current = folder
    while not os.path.exists(os.path.join(current, ".git")):
        parent = os.path.dirname(current)
        if parent == current:
            return []
        above.append(parent)
        current = parent
    files = [read_ignore_file(current, ".git/info/exclude")]
    files += [read_ignore_file(parent) for parent in reversed(above)]
    return [file for file in files if file is not None]
