"""What a caller can set about probing."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ProbeOptions:
    """``device`` is ``auto`` (a GPU if there is one), ``cpu`` or ``cuda:N``; ``timeout_s`` is the limit for one
    program; ``memory_mb`` what a program may use beyond what Warp itself needs (CPU device only). Warp's kernel cache
    and the answers of earlier runs are kept in ``cache_dir`` (the user's cache folder where it is None); ``cache`` says
    whether such answers are used and stored. ``allow_import`` and ``allow_native`` widen what a slice may execute.
    ``parallel`` is the number of programs that run at a time (0: as many as there are processors, at most 4).
    ``python`` is the interpreter beside whose Warp programs run, None for the one that runs warplint.
    """

    device: str = "auto"
    timeout_s: float = 60.0
    memory_mb: int = 4096
    cache_dir: Path | None = None
    cache: bool = True
    allow_import: bool = False
    allow_native: bool = False
    parallel: int = 0
    python: Path | None = None


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
