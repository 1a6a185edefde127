"""What is kept of the host code of one file, to be taken over by later runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from warplint.ir.effects import EffectSummary, KernelUse
from warplint.ir.facts import Fact
from warplint.records import dataclass


@dataclass(frozen=True, slots=True)
class HostRun:
    """What came of the tapes of one file, and what that rests on.

    ``key`` is the digest of all that its host code can see, ``exact`` has the digests of the files in which the facts
    have places. ``asked`` are the effects that were asked for, by the path and qualified name of the kernel or func.
    ``uses``, ``exhausted``, ``runs`` and ``steps`` are those of the tape analysis.
    """

    path: Path
    key: bytes
    exact: tuple[tuple[Path, bytes], ...]
    asked: tuple[tuple[Path, str, EffectSummary | None], ...]
    facts: tuple[Fact, ...]
    uses: Mapping[tuple[Path, str], KernelUse]
    exhausted: tuple[tuple[Path, str], ...]
    runs: int
    steps: int
