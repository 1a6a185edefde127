"""Files, without reading them: what the file system says of them, and where those for the next run are kept."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def state_of(folder: Path, pattern: str) -> list[tuple[str, int, int]]:
    """Name, size in bytes and time of the last change in nanoseconds of the files in ``folder`` that match the glob
    ``pattern``, in the order of their names; empty if there is no such folder."""
    found = []
    for path in sorted(folder.glob(pattern)):
        state = path.stat()
        found.append((str(path), state.st_size, state.st_mtime_ns))
    return found


def default_cache() -> Path:
    """The user's cache folder for warplint, as the platform has it. Raises RuntimeError where the user has no home."""
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    elif os.name == "nt":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        given = os.environ.get("XDG_CACHE_HOME", "")
        # The XDG Base Directory Specification: "If an implementation encounters a relative path in any of these
        # variables it should consider the path invalid and ignore it."
        base = Path(given) if os.path.isabs(given) else Path.home() / ".cache"
    return base / "warplint"
