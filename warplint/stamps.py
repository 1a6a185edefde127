"""What the file system says of files, by which a change of them is noticed without reading them."""

from __future__ import annotations

import os
from pathlib import Path

#: Path, size in bytes and time of the last change in nanoseconds.
Stamp = tuple[str, int, int]


def stamp_of(path: Path | str) -> Stamp | None:
    """The stamp of a file or folder, None if there is none."""
    try:
        state = os.stat(path)
    except (OSError, ValueError):
        return None
    return str(path), state.st_size, state.st_mtime_ns


def state_of(folder: Path | str, suffixes: tuple[str, ...], below: bool = False) -> list[Stamp]:
    """The stamps of the files in ``folder`` (and in the folders ``below`` it) whose names end in one of ``suffixes``,
    in the order of their names; empty if there is no such folder."""
    found: list[Stamp] = []
    left = [os.fspath(folder)]
    while left:
        try:
            entries = os.scandir(left.pop())
        except OSError:
            continue
        with entries:
            for entry in entries:
                if entry.name.endswith(suffixes):
                    state = entry.stat()
                    found.append((entry.path, state.st_size, state.st_mtime_ns))
                elif below and entry.is_dir(follow_symlinks=False):
                    left.append(entry.path)
    return sorted(found)
