"""What a caller can set about probing."""

from __future__ import annotations

from pathlib import Path

from warplint.records import dataclass


@dataclass(frozen=True)
class ProbeOptions:
    """``device`` is ``auto`` (a GPU if there is one), ``cpu`` or ``cuda:N``; ``timeout_s`` is the limit for one
    program, in seconds of the processor, compiling left out; ``memory_mb`` what a program may use beyond what Warp
    itself needs (CPU device only). Warp's kernel cache and the answers of earlier runs are kept in ``cache_dir`` (the
    user's cache folder where it is None); ``cache`` says whether such answers are used and stored. Without ``reuse``
    they are only stored; with ``resume`` those are used as well that ran out of time or were not decided long ago.
    ``allow_import`` and ``allow_native`` widen what a slice may execute. ``parallel`` is the number of programs that
    run at a time (0: one for each processor, at most 4). ``python`` is the interpreter beside whose Warp programs run,
    None for the one that runs warplint.
    """

    device: str = "auto"
    timeout_s: float = 60.0
    memory_mb: int = 4096
    cache_dir: Path | None = None
    cache: bool = True
    reuse: bool = True
    resume: bool = False
    allow_import: bool = False
    allow_native: bool = False
    parallel: int = 0
    python: Path | None = None
