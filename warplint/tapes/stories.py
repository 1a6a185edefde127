"""Names and labels: how a trace's arrays and places are told to a person."""

from __future__ import annotations

from warplint.ir.facts import Label
from warplint.ir.spans import Location
from warplint.tapes.trace import Copied, Launched
from warplint.tapes.values import ArrayValue, Storage


def name_of(array: ArrayValue) -> str:
    """What the program calls an array, in quotes."""
    return f"`{plain_name(array)}`"


def plain_name(array: ArrayValue) -> str:
    """The same without quotes; an array without a name is called by its allocation."""
    return array.storage.name or f"wp.{array.storage.source}(...)"


def allocated_label(storage: Storage) -> str:
    """The label of an allocation without gradient."""
    name = f"`{storage.name}`" if storage.name else "this array"
    return f"{name} is allocated here without gradient"


def called_from(stack: tuple[Location, ...], text: str) -> list[Label]:
    """The innermost call around a place, if it stands in a function that something analysed calls."""
    return [Label(stack[-1], text)] if stack else []


def launch_name(record: Launched | Copied) -> str:
    """The kernel of a launch, or the copy."""
    if isinstance(record, Launched):
        return f"`{record.kernel.qualname}`"
    return "the copy"
