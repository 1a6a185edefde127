"""Tape analysis: abstract interpretation of host code around ``wp.Tape``."""

from __future__ import annotations

from warplint.tapes.analysis import TapeAnalysis, analyse
from warplint.tapes.candidates import mentions

__all__ = ["TapeAnalysis", "analyse", "mentions"]
