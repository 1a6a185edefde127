"""Fixes: what to change in the source text so that a finding is gone."""

from __future__ import annotations

from typing import Literal

from warplint.ir.spans import Location
from warplint.records import dataclass

Applicability = Literal["safe", "unsafe"]


@dataclass(frozen=True, slots=True)
class Edit:
    """The text at a place becomes another one; an empty span inserts, an empty text deletes. Newlines are LF."""

    location: Location
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that belong together. ``safe``: a probe saw the gradient wrong without them and right with them.

    ``message`` says what they do and, where they are unsafe, why they count as such.
    """

    applicability: Applicability
    message: str
    edits: tuple[Edit, ...]
