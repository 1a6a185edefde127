"""Views of arrays as the programs of tapes spell them: ``[1:, 0]``, ``.flatten()``, ``[2].reshape(3,2)``."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from warplint.probe.worker.handles import Unsupported

_METHOD = re.compile(r"\.(?P<name>flatten|contiguous|reshape)\((?P<shape>[-\d, ]*)\)")


def viewed(array: Any, text: str) -> Any:
    """``array`` seen through the view ``text``; raises Unsupported for one that is not understood."""
    for name, argument in _parts(text):
        if name == "[]":
            array = array[argument]
        else:
            array = array.reshape(argument) if name == "reshape" else getattr(array, name)()
    return array


def spelled(text: str) -> str:
    """The view as Python text that stands behind the name of an array."""
    text = text.strip()
    return text if text[:1] in ("", "[", ".") else f"[{text}]"


def _parts(text: str) -> Iterator[tuple[str, Any]]:
    rest = spelled(text)
    while rest:
        method = _METHOD.match(rest)
        if method is not None:
            shape = tuple(int(extent) for extent in method["shape"].split(",") if extent.strip())
            if bool(shape) != (method["name"] == "reshape"):
                raise Unsupported(f"the view `{text}` of an array is not understood")
            yield method["name"], shape
            rest = rest[method.end() :]
        else:
            index, closed, rest = rest.partition("]")
            if not index.startswith("[") or not closed:
                raise Unsupported(f"the view `{text}` of an array is not understood")
            yield "[]", _index(index[1:], text)


def _index(inside: str, text: str) -> Any:
    """An index expression of integers and slices. Raises Unsupported for anything else."""
    try:
        node = ast.parse(f"x[{inside}]", mode="eval").body
        assert isinstance(node, ast.Subscript)
        return _indices(node.slice)
    except (SyntaxError, ValueError, AssertionError) as error:
        raise Unsupported(f"the view `{text}` of an array is not understood") from error


def _indices(node: ast.expr) -> Any:
    if isinstance(node, ast.Tuple):
        return tuple(_indices(element) for element in node.elts)
    if isinstance(node, ast.Slice):
        return slice(
            *(None if part is None else ast.literal_eval(part) for part in (node.lower, node.upper, node.step))
        )
    return int(ast.literal_eval(node))
