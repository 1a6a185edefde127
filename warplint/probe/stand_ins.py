"""What stands in a script for what may not be there: it has the same signature, and is differentiable.

A native snippet is C++ code, which a probe does not compile. Where it is not itself in question, the adjoints around it
are wrong or right whatever it computes: a Warp func in its place shows a wrong one just as well. That nothing is wrong
with it there does not show that nothing is wrong with the snippet, so nothing is refuted with a stand-in.
"""

from __future__ import annotations

from collections.abc import Iterator

from warplint.ir import syntax as ir
from warplint.probe.rewrite import WARP


def stand_in(node: ir.FunctionDef, name: str, kinds: dict[str, str], returns: str | None) -> str | None:
    """A Warp func called ``name`` in place of ``node``, None where none can be written.

    ``kinds`` are the texts of the types of its parameters, ``returns`` that of its result, as the script says them.
    It returns its first parameter of that type, a little changed, so that it has a derivative which is not one.
    """
    if returns is None or any(parameter.kind != "positional" for parameter in node.parameters):
        return None
    chosen = next((parameter for parameter, kind in kinds.items() if kind == returns), None)
    if chosen is None:
        return None
    signature = ", ".join(f"{parameter}: {kind}" for parameter, kind in kinds.items())
    result = f"{chosen} + {chosen}"
    return f"@{WARP}.func\ndef {name}({signature}) -> {returns}:\n    return {result}"


def attributes(node: ir.FunctionDef) -> Iterator[frozenset[str]]:
    """For each parameter annotated as ``Any``, what the function reads and writes of it by name."""
    free = {
        parameter.name
        for parameter in node.parameters
        if parameter.annotation is not None and (ir.dotted(parameter.annotation) or "").rpartition(".")[2] == "Any"
    }
    found: dict[str, set[str]] = {}
    for statement in node.body:
        for inner in ir.walk(statement):
            if isinstance(inner, ir.Attribute) and isinstance(inner.value, ir.Name) and inner.value.id in free:
                found.setdefault(inner.value.id, set()).add(inner.attr)
    for names in found.values():
        fields = names - {"x", "y", "z", "w", "dtype", "shape", "ndim", "length", "c0", "c1", "c2"}
        if fields:
            yield frozenset(fields)
