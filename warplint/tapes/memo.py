"""What was once found out about a piece of syntax or a module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

_Key = TypeVar("_Key")
_Result = TypeVar("_Result")

# Long-running programs (an editor's server) parse the same file again and again; old trees must go.
_MAX_ENTRIES = 50_000


class Memo(Generic[_Key, _Result]):
    """A function of one object that is called once for each; objects are told apart by identity."""

    def __init__(self, compute: Callable[[_Key], _Result]) -> None:
        self._compute = compute
        self._known: dict[int, tuple[_Key, _Result]] = {}

    def __call__(self, key: _Key) -> _Result:
        known = self._known.get(id(key))
        if known is not None and known[0] is key:
            return known[1]
        if len(self._known) >= _MAX_ENTRIES:
            self._known.clear()
        result = self._compute(key)
        self._known[id(key)] = (key, result)
        return result
