"""What is kept of the host code of one file, to be taken over by later runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

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


@dataclass(frozen=True, slots=True)
class KeptModule:
    """A module as it was: its text, compressed, the digest of the text, and the fields of its regions."""

    path: Path
    text: bytes
    digest: bytes
    regions: tuple[tuple[Any, tuple[str, ...], int, int, int, int], ...]


@dataclass(frozen=True, slots=True)
class KeptFacts:
    """The facts of the regions of one file by the first lines of these; a region that is not there has none.

    ``kernels`` are those about kernels and funcs, ``launches`` those about launches; None where they were not found
    region by region. ``restless`` are the regions whose facts rest on more than can be told from words. ``agreed`` has
    the digests of the regions that both readers read alike.
    """

    path: Path
    kernels: Mapping[int, tuple[Fact, ...]] | None = None
    launches: Mapping[int, tuple[Fact, ...]] | None = None
    restless: frozenset[int] = frozenset()
    agreed: frozenset[bytes] = frozenset()

    def also(self, other: KeptFacts) -> KeptFacts:
        """Both together."""
        return KeptFacts(
            self.path,
            other.kernels if self.kernels is None else self.kernels,
            other.launches if self.launches is None else self.launches,
            self.restless | other.restless,
            self.agreed | other.agreed,
        )


@dataclass(frozen=True, slots=True)
class Earlier:
    """What an earlier run leaves to later ones: the host code of files, the modules as they were, the facts of their
    regions, and how host code used kernels."""

    hosts: Mapping[Path, HostRun] = field(default_factory=dict)
    modules: Mapping[Path, KeptModule] = field(default_factory=dict)
    facts: Mapping[Path, KeptFacts] = field(default_factory=dict)
    uses: Mapping[tuple[Path, str], KernelUse] = field(default_factory=dict)
