"""What running host code holds on to: frames of names, and the ways in which a block or a run ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Union

from warplint.source.project import Module, Scope
from warplint.tapes.values import ClassValue, Value


class OutOfBudget(Exception):
    """The run used up its steps."""


class HostError(Exception):
    """The host code raised an exception; ``name`` is its type, empty where that is not known."""

    def __init__(self, name: str = "") -> None:
        super().__init__(name)
        self.name = name


@dataclass(slots=True)
class Frame:
    """The names of one running function, class body, comprehension or module."""

    module: Module
    scope: Scope
    names: dict[str, Value]
    parent: Frame | None
    kind: str = "function"  # function | class | comprehension | module
    cls: ClassValue | None = None
    receiver: Value = None
    outer: frozenset[str] = frozenset()  # names declared global or nonlocal
    raised: bool = False  # a `raise` was passed over
    # What a generator's `yield` does with its value; None outside generators.
    on_yield: Callable[[Value], None] | None = None

    def find(self, name: str) -> Frame | None:
        """The frame, from here outwards, that has ``name``."""
        frame: Frame | None = self
        while frame is not None:
            if name in frame.names:
                return frame
            frame = frame.parent
        return None


@dataclass(eq=False, slots=True)
class Return:
    """A function ended with this value."""

    value: Value


#: How a block ended: None is by its last statement.
Signal = Union[Return, Literal["break", "continue"], None]
