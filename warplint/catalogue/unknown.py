"""What is said of a word that selects no rule: in a module of its own, since every run has to know it."""

from __future__ import annotations


class UnknownSelector(ValueError):
    """A word that selects no rule; the message says which and what may have been meant."""
