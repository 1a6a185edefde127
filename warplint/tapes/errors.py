"""Which errors the host code handles.

An error that nobody handles does not happen: in a program that works, a condition was taken wrongly. What Python itself
raises (``KeyError``) is only raised where a handler names it, since what is in a container may not be all known.
"""

from __future__ import annotations

import builtins

from warplint.ir import syntax as ir

#: The types that a ``try`` statement handles, None for all.
Handled = frozenset[str] | None

_NAMED = {
    "KeyError": frozenset({"KeyError", "LookupError"}),
    "IndexError": frozenset({"IndexError", "LookupError"}),
    "AttributeError": frozenset({"AttributeError"}),
    "StopIteration": frozenset({"StopIteration"}),
}


def names_of(written: ir.Expr | None) -> Handled:
    """The types in an ``except`` clause or behind ``raise``; None for all, or where that cannot be told."""
    if isinstance(written, ir.Call):
        written = written.func
    if isinstance(written, ir.Tuple):
        parts = [names_of(part) for part in written.elements]
        return None if None in parts else frozenset().union(*(part for part in parts if part is not None))
    if isinstance(written, ir.Attribute):
        return frozenset({written.attr})
    return frozenset({written.id}) if isinstance(written, ir.Name) else None


def of_statement(node: ir.Try) -> Handled:
    """The types that the handlers of a statement catch together."""
    parts = [names_of(handler.type) for handler in node.handlers]
    return None if None in parts else frozenset().union(*(part for part in parts if part is not None))


def may_catch(handled: Handled, error: str) -> bool:
    """Whether a handler may catch an error; ``error`` is empty where its type is not known."""
    return handled is None or not error or any(_is(error, name) for name in handled)


def _is(error: str, name: str) -> bool:
    one, other = getattr(builtins, error, None), getattr(builtins, name, None)
    if isinstance(one, type) and isinstance(other, type):
        return issubclass(one, other)
    # a class of the project may derive from any error of Python's, and is no base of one
    return one is None


def asks_for(handlers: list[Handled], error: str) -> bool:
    """Whether a handler around the present place names an error of Python's own."""
    names = _NAMED[error]
    return any(handled is not None and not names.isdisjoint(handled) for handled in handlers)
