"""One objective cut into several tapes: the fact ``window-backward``."""

from __future__ import annotations

from collections.abc import Iterator

from warplint.ir.facts import Fact
from warplint.tapes.trace import Trace


def facts(trace: Trace) -> Iterator[Fact]:
    """The facts of one trace."""
    yield from ()
