"""Tape analysis: abstract interpretation of host code around ``wp.Tape``."""

from __future__ import annotations

from warplint.tapes.analysis import analyse

__all__ = ["analyse"]
