"""Tape analysis: abstract interpretation of host code around ``wp.Tape``."""

from __future__ import annotations

from warplint.tapes.analysis import TapeAnalysis, analyse

__all__ = ["TapeAnalysis", "analyse"]
