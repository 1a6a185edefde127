"""What Warp compiled for probes is kept for later runs, up to a bound: the oldest goes first."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from pathlib import Path

#: Bytes that are kept, and the share of them that is left where there are more.
MOST_BYTES = 2 << 30
_LEFT = 0.5
#: What was compiled so shortly ago, in seconds, may be in use by another run.
_FRESH = 3600.0


def trim(folder: Path, most: int | None = None, now: float | None = None) -> None:
    """Makes room in a folder with a folder for each version of Warp, and in these one for each compiled module."""
    most = MOST_BYTES if most is None else most
    fresh = (time.time() if now is None else now) - _FRESH
    found: list[tuple[float, int, str]] = []
    with contextlib.suppress(OSError):
        for version in os.scandir(folder):
            for module in os.scandir(version.path) if version.is_dir(follow_symlinks=False) else ():
                with contextlib.suppress(OSError):
                    if module.is_dir(follow_symlinks=False):
                        found.append(_state(module.path))
    size = sum(taken for _, taken, _ in found)
    if size <= most:
        return
    for changed, taken, path in sorted(found):
        if size <= _LEFT * most or changed > fresh:
            break
        shutil.rmtree(path, ignore_errors=True)
        size -= taken


def _state(folder: str) -> tuple[float, int, str]:
    """When the newest file of a folder was written, the bytes of all, and the folder."""
    states = [file.stat(follow_symlinks=False) for file in os.scandir(folder)]
    newest = max((state.st_mtime for state in states), default=os.stat(folder).st_mtime)
    # what was compiled for several modules together is one file with several names
    return newest, sum(state.st_size // max(1, state.st_nlink) for state in states), folder
