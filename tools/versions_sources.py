"""Files of kernels taken apart: one kernel, or some, with what they use. Needs no Warp."""

from __future__ import annotations

import ast
import functools
import hashlib


def digest(names: list[str]) -> str:
    """A short name for a part of a file."""
    return hashlib.sha256(" ".join(names).encode()).hexdigest()[:10]


def kernel_names(text: str) -> list[str]:
    """The kernels at the top of a file, in order."""
    return [node.name for node in _parsed(text).body if _role(node) == "kernel"]


def _role(node: ast.stmt) -> str | None:
    """What Warp makes of a definition: the last word of its decorator."""
    if not isinstance(node, ast.FunctionDef) or not node.decorator_list:
        return None
    name = node.decorator_list[0]
    name = name.func if isinstance(name, ast.Call) else name
    word = ast.unparse(name).rpartition(".")[2]
    return "kernel" if word.endswith("kernel") else word


def only(text: str, names: list[str]) -> str:
    """The file without its other kernels, and without what those alone use: older versions compile every func."""
    tree = _parsed(text)
    definitions = {node.name: node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    kept: set[str] = set()
    waiting = list(names) + [
        word
        for node in tree.body
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef))
        for word in _words(node)
        if word in definitions
    ]
    while waiting:
        name = waiting.pop()
        if name in kept:
            continue
        kept.add(name)
        waiting += [word for word in _words(definitions[name]) if word in definitions]
        # Custom gradients and replays name the func that they serve.
        waiting += [
            other
            for other, node in definitions.items()
            if isinstance(node, ast.FunctionDef)
            and any(isinstance(item, ast.Call) and name in _words(item) for item in node.decorator_list)
        ]
    lines = text.split("\n")
    for name, node in definitions.items():
        if name not in kept:
            first = min([node.lineno, *(item.lineno for item in node.decorator_list)])
            lines[first - 1 : node.end_lineno] = [""] * ((node.end_lineno or first) - first + 1)
    return "\n".join(lines)


def _words(node: ast.AST) -> set[str]:
    return {item.id for item in ast.walk(node) if isinstance(item, ast.Name)}


def own(text: str, name: str) -> str:
    """What is run for one kernel of a file, without comments and empty lines: it changes where the kernel changes."""
    return "\n".join(line.partition("  #")[0].rstrip() for line in only(text, [name]).split("\n") if line.strip())


@functools.lru_cache(maxsize=4)
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)
