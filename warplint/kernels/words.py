"""How messages put what reads a lost value, and what becomes of that."""

from __future__ import annotations

from warplint.kernels.losses import Via, written
from warplint.kernels.trace import Operation
from warplint.source.project import Definition

#: How an operation is spelled in the source, where that is not the name of a function.
_OPERATORS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
    "neg": "-",
    "matmul": "@",
}

#: Operations of the record that the source does not name.
_DESCRIBED = {
    "phi": "a branch",
    "compare": "a comparison",
    "logic": "a condition",
    "store": "a store",
    "accumulate": "a sum",
    "insert": "a store",
    "insert_add": "a sum",
    "tile_assign": "a store",
    "setfield": "a store",
    "extract": "an index",
    "load": "an index",
    "view": "an index",
    "field": "a member",
    "construct": "a constructor",
    "return": "`return`",
    "copy": "a copy",
    "item": "a part of it",
    "loop": "the next iteration",
    "exit": "what follows the loop",
    "unknown": "a call",
}

#: What happens to an adjoint, by what a lost value was read as; ``{}`` is what reads a number.
_CARRIED: dict[Via, str] = {
    "value": "read by {}, whose adjoint needs the lost value",
    "index": "says which element is meant: the adjoint goes to another one",
    "condition": "decides a branch, which the reverse sweep decides anew with another value",
    "bound": "says when a loop ends: the reverse sweep runs another number of iterations",
    "order": "changes in every iteration: the adjoints of the iterations come in the wrong order",
    "turn": "read by {} in every iteration: the adjoints of the iterations come in the wrong order",
}
_INDEX: dict[Via, str] = {
    "value": "the adjoint of {} needs the lost value",
    "index": "the adjoint goes to another element",
    "condition": "the reverse sweep decides a branch with another value",
    "bound": "the reverse sweep runs another number of iterations",
}
_AFTER: dict[Via, str] = {
    "value": "used by {}, whose adjoint finds another value in it",
    "index": "used as an index: the adjoint goes to another element",
    "condition": "decides a branch, which the reverse sweep decides anew with another value",
    "bound": "says when a loop ends: the reverse sweep runs another number of iterations",
}
_OVERWRITTEN: dict[Via, str] = {
    "value": "{} read it, whose adjoint needs the old value",
    "index": "it was an index: the adjoint goes to another element",
    "condition": "it decided a branch, which the reverse sweep decides anew with another value",
    "bound": "it said when a loop ends: the reverse sweep runs another number of iterations",
}
_SCRATCH: dict[Via, str] = {
    "value": "read by {}, whose adjoint needs the value: it is not there",
    "index": "read as an index, which is not there in the reverse sweep",
    "condition": "decides a branch: the value is not there in the reverse sweep",
    "bound": "says when a loop ends: the value is not there in the reverse sweep",
}
_USES: dict[str, dict[Via, str]] = {
    "loop-carried-value": _CARRIED,
    "carried-index": _INDEX,
    "loop-result-used": _AFTER,
    "array-overwritten": _OVERWRITTEN,
    "tile-overwritten": _OVERWRITTEN,
    "component-stored-after-read": _OVERWRITTEN,
    "kernel-scratch-array": _SCRATCH,
}


def plain(operation: Operation) -> str:
    """An operation as the source spells it (``/``, ``sin``), else what it is: what rule files compare."""
    if operation.name == "call" and isinstance(operation.detail, Definition):
        return operation.detail.node.name
    write = written(operation)
    if write is not None and write.operator not in ("=", "+=", "-="):
        return write.operator
    return _DESCRIBED.get(operation.name) or _OPERATORS.get(operation.name, operation.name)


def spelled(operation: Operation) -> str:
    """An operation in a message: as code where the source spells it, else what it is."""
    said = plain(operation)
    return said if said == _DESCRIBED.get(operation.name) else f"`{said}`"


def use(kind: str, via: Via, reader: Operation) -> str:
    """What a lost value is read for, and what comes of it: the end of a sentence about it."""
    forms = _USES.get(kind, _OVERWRITTEN)
    return forms.get(via, forms["value"]).format(spelled(reader))
