"""Tape analysis: abstract interpretation of host code around ``wp.Tape``."""

from __future__ import annotations

from warplint.tapes.analysis import TapeAnalysis, analyse
from warplint.tapes.candidates import asked_for, mentions
from warplint.tapes.entries import concerns

__all__ = ["TapeAnalysis", "analyse", "asked_for", "concerns", "mentions"]
