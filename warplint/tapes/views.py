"""Views of one array: whether two of them share elements."""

from __future__ import annotations

import re

from warplint.tapes.values import ArrayValue

#: Views that hold all of what they are views of.
_WHOLE = re.compile(r"(?:\.(?:flatten|reshape|view|contiguous|to|T)(?:\([-\d,]*\))?)+$")
#: One row, or a range of rows; rows are not counted from the end.
_ROWS = re.compile(r"\[(?:(?P<row>\d+)|(?P<first>\d*):(?P<end>\d*))\]$")


def apart(first: ArrayValue, second: ArrayValue) -> bool:
    """Whether two arrays in the same memory may have no element in common."""
    if not (first.view and second.view) or first.view == second.view:
        return False
    rows, others = _rows(first.view), _rows(second.view)
    if rows is None or others is None:
        return True
    return max(rows[0], others[0]) >= min(rows[1], others[1])


def disjoint(first: ArrayValue, second: ArrayValue) -> bool:
    """Whether two arrays in the same memory surely have no element in common."""
    if not (first.view and second.view):
        return False
    rows, others = _rows(first.view), _rows(second.view)
    return rows is not None and others is not None and max(rows[0], others[0]) >= min(rows[1], others[1])


def _rows(view: str) -> tuple[float, float] | None:
    """The first row of a view and the one behind its last, None where they are not known."""
    rest = _WHOLE.sub("", view)
    found = _ROWS.match(rest) if rest else None
    if not rest or (found is not None and rest == "[:]"):
        return (0, float("inf"))
    if found is None:
        return None
    if found["row"]:
        return (int(found["row"]), int(found["row"]) + 1)
    return (int(found["first"] or 0), int(found["end"]) if found["end"] else float("inf"))
