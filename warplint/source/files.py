"""Files, without reading them: what the file system says of them, and where those for the next run are kept."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path


def digest_of(text: str) -> bytes:
    """The digest of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


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
