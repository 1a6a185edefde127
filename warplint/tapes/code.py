"""Code: syntax made ready to run.

A run goes through the same lines again and again. Each piece of syntax is therefore turned into a Python function once,
which knows its names, its place and the functions of its parts. ``expressions``, ``targets`` and ``statements`` make
them; here is what they have in common.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from warplint.tapes.frames import Frame, Signal
from warplint.tapes.memo import most
from warplint.tapes.values import Value

if TYPE_CHECKING:
    from warplint.tapes.machine import Machine

#: Gives the value of an expression.
Code = Callable[["Machine", Frame], Value]
#: Runs a statement, and says how it ended.
Step = Callable[["Machine", Frame], Signal]
#: Binds a target to a value.
Bind = Callable[["Machine", Value, Frame], None]

_Made = TypeVar("_Made")


class Makers(Generic[_Made]):
    """Makes code of a node by its class, for the file at a path: places are in the code."""

    def __init__(self) -> None:
        self._makers: dict[type, Callable[[Any, Path], _Made]] = {}
        self._known: dict[int, tuple[object, Path, _Made]] = {}

    def register(self, kinds: dict[type, Callable[[Any, Path], _Made]]) -> None:
        """How to make code of the nodes of each class."""
        self._makers.update(kinds)

    def make(self, node: object, path: Path) -> _Made:
        """New code for ``node``: what other code is made of."""
        return self._makers[node.__class__](node, path)

    def of(self, node: object, path: Path) -> _Made:
        """The code of ``node``, the same each time; nodes are told apart by identity."""
        known = self._known.get(id(node))
        if known is not None and known[0] is node and (known[1] is path or known[1] == path):
            return known[2]
        if len(self._known) >= most():
            self._known.clear()
        made = self.make(node, path)
        self._known[id(node)] = (node, path, made)
        return made
