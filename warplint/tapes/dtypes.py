"""Names of Warp data types, and which of them carry gradients."""

from __future__ import annotations

import re
from functools import lru_cache

from warplint.ir import syntax as ir
from warplint.ir.programs import DefinitionRef
from warplint.tapes.values import ClassValue, ExternalValue, ListValue, Unknown, Value

_SCALARS = {
    "float": "float32",
    "int": "int32",
    "bool": "bool",
    "warp.bool": "bool",
    "numpy.float32": "float32",
    "numpy.float64": "float64",
    "numpy.int32": "int32",
    "numpy.int64": "int64",
}
# The short names stand for float32 types; `vec3i`, `vec3ub`, ... are whole numbers.
_SHORT = re.compile(r"^(vec[234]|mat\d\d|quat|transform|spatial_vector|spatial_matrix)$")
_COMPOUND = re.compile(r"^(vec\d|mat\d\d|quat|transform|spatial_vector|spatial_matrix)(?P<scalar>[a-z]*)$")
_FLOATS = {"", "f", "d", "h"}
_WHOLE = re.compile(r"^(u?int\d*|bool|uint8|uint16|uint64)$")


def dtype_name(value: Value) -> str | DefinitionRef | None:
    """The name of a data type (``float32``, ``vec3f``) or the struct that it is; None if that is not known."""
    if isinstance(value, ExternalValue):
        if value.name in _SCALARS:
            return _SCALARS[value.name]
        head, _, tail = value.name.rpartition(".")
        if head == "warp":
            return f"{tail}f" if _SHORT.match(tail) else tail
        return None
    if isinstance(value, ClassValue) and value.kind == "struct":
        return DefinitionRef(value.definition.module.path, value.definition.qualname)
    if isinstance(value, str):
        return _SCALARS.get(value, value)
    return None


def component_shape(dtype: str | DefinitionRef | None) -> tuple[int, ...]:
    """The axes that one element of a data type takes in host data: ``(3,)`` for ``vec3f``, none for a scalar."""
    compound = _COMPOUND.match(dtype) if isinstance(dtype, str) else None
    if compound is None:
        return ()
    kind = compound[1]
    if kind.startswith("vec"):
        return (int(kind[3]),)
    if kind.startswith("mat"):
        return (int(kind[3]), int(kind[4]))
    return {"quat": (4,), "transform": (7,), "spatial_vector": (6,), "spatial_matrix": (6, 6)}[kind]


def is_whole(dtype: str | DefinitionRef | None) -> bool:
    """Whether a data type surely holds whole numbers or truth values: such an array never has a gradient."""
    return isinstance(dtype, str) and _is_whole(dtype)


@lru_cache(1024)
def _is_whole(dtype: str) -> bool:
    if _WHOLE.match(dtype):
        return True
    compound = _COMPOUND.match(dtype)
    return compound is not None and compound["scalar"] not in _FLOATS


def annotation_is_array(annotation: ir.Expr | None) -> bool:
    """Whether a kernel parameter is annotated as an array: ``wp.array(dtype=...)``, ``wp.array2d[float]``."""
    while annotation is not None:
        if isinstance(annotation, ir.Call):
            annotation = annotation.func
        elif isinstance(annotation, ir.Subscript):
            annotation = annotation.value
        else:
            break
    name = ir.dotted(annotation) if annotation is not None else None
    return name is not None and re.search(r"array(\dd)?$", name) is not None


def shape_of(value: Value) -> tuple[int | Unknown, ...] | None:
    """A shape argument: a number or a tuple of numbers."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return (value,)
    if isinstance(value, Unknown):
        return None if value.origin is not None and value.origin[0] == ("attr", "shape") else (value,)
    items = value.items if isinstance(value, ListValue) else list(value) if isinstance(value, tuple) else None
    if items is None:
        return None
    found: list[int | Unknown] = []
    for item in items:
        if isinstance(item, (int, Unknown)):
            found.append(item)
        else:
            found.append(Unknown("size"))
    return tuple(found)
