"""What was once found out about a piece of syntax or a module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar, cast

from warplint.source.project import Module

_Key = TypeVar("_Key")
_Result = TypeVar("_Result")

_most = 50_000


def keep_at_most(entries: int) -> None:
    """Keep less: long-running programs (an editor's server) parse the same file again and again, and old trees must
    go."""
    global _most
    _most = entries


def most() -> int:
    """How many results may be kept."""
    return _most


class Memo(Generic[_Key, _Result]):
    """A function of one object that is called once for each; objects are told apart by identity."""

    def __init__(self, compute: Callable[[_Key], _Result]) -> None:
        self._compute = compute
        self._known: dict[int, tuple[_Key, _Result]] = {}

    def __call__(self, key: _Key) -> _Result:
        known = self._known.get(id(key))
        if known is not None and known[0] is key:
            return known[1]
        if len(self._known) >= _most:
            self._known.clear()
        result = self._compute(key)
        self._known[id(key)] = (key, result)
        return result


class ModuleMemo(Generic[_Result]):
    """A function of a module that is called once for each, and whose results go with it."""

    def __init__(self, compute: Callable[[Module], _Result]) -> None:
        self._compute = compute

    def __call__(self, module: Module) -> _Result:
        if self not in module.kept:
            module.kept[self] = self._compute(module)
        return cast(_Result, module.kept[self])
