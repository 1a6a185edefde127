"""Scripts that are handed on hold no text that would end a string of C++.

Where a probe runs, ``guard`` sees to what Warp writes into C++. A script that stands alone runs with Warp as it is,
which does not see to quotation marks in strings of a kernel, nor in the text of its assertions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from types import ModuleType

from warplint.probe.worker.handles import Unsupported

_BAD = ('"', "??/")


def refuse_quotes(text: str, module: ModuleType) -> None:
    """Raises Unsupported if kernels of the script ``text``, loaded as ``module``, may hold such a text."""
    tree = ast.parse(text)
    held = [value for name, value in vars(module).items() if not name.startswith("__")]
    if _written(tree, text) or any(_ends(one) for one in _strings(held)):
        raise Unsupported(
            "a text in it has a quotation mark, which Warp copies into C++ as it stands: no script would be safe to run"
        )


def _ends(text: str) -> bool:
    return any(bad in text for bad in _BAD)


def _written(tree: ast.Module, text: str) -> bool:
    """Whether the source has such a text outside of its documentation, or may compute one while it is compiled."""
    documentation = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef)) and node.body
        if isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) not in documentation and _ends(node.value):
                return True
        elif isinstance(node, ast.Assert):
            # its text is copied, however it is quoted there
            written = ast.get_source_segment(text, node) or ""
            if _ends(written) or "\\" in written:
                return True
        elif isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "static":
            parts = [part for argument in node.args for part in ast.walk(argument)]
            if any(isinstance(part, ast.Constant) and isinstance(part.value, str) for part in parts):
                return True
            if any(isinstance(part, ast.Name) and part.id == "str" for part in parts):
                return True
    return False


def _strings(values: Iterable[object], depth: int = 0) -> Iterator[str]:
    """All texts that constants hold, at any depth."""
    for value in values:
        if isinstance(value, str):
            yield value
        elif depth < 4 and isinstance(value, (tuple, list, set, frozenset)):
            yield from _strings(value, depth + 1)
        elif depth < 4 and isinstance(value, dict):
            yield from _strings((*value.keys(), *value.values()), depth + 1)
        elif depth < 4 and isinstance(value, type) and not value.__module__.startswith(("warp", "typing", "enum")):
            yield from _strings([one for name, one in vars(value).items() if not name.startswith("__")], depth + 1)
