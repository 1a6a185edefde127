"""Sampling of volumes: which type the gradient has, and which modes mean something.

``volume_sample_grad`` and ``volume_sample_grad_index`` take the gradient as an argument that they write to:
``check_volume_value_grad_compatibility`` of ``warp/_src/builtins.py``. The gradient of a scalar is a vector of three,
that of a vector a matrix with a row for each of its components.
"""

from __future__ import annotations

from collections.abc import Mapping

from warplint.kernels.refusals import differ, spelled
from warplint.kernels.types import Type, matrix, named, vector

#: What volumes can hold (``_volume_supported_value_types``).
_SCALARS = frozenset({"float32", "float64", "int32", "int64", "uint32"})
_VECTORS = frozenset({(3, "float32"), (3, "float64"), (4, "float32"), (4, "float64")})
#: The value type of the short forms.
_SHORT = {"volume_sample_grad_f": "float32", "volume_sample_grad_v": "vec3f"}

#: A word for the refusal, and its reason, None where nothing is refused.
Refused = tuple[str, "str | None"]


def refused(name: str, arguments: Mapping[str, Type], dtype: Type | None) -> Refused:
    """Why the compiler refuses a call of the built-in ``name``; ``arguments`` by their parameters."""
    voxels = arguments.get("voxel_data")
    if dtype is None and voxels is not None:
        dtype = voxels.element
    if dtype is None:
        dtype = named(_SHORT.get(name, ""))
    if dtype is None or not _is_certain(dtype):
        return "volume", None
    if not _is_held(dtype):
        return "volume-gradient", f"a volume cannot hold {spelled(dtype)}"
    background = arguments.get("background")
    if background is not None and differ(background, dtype):
        return "volume-gradient", f"the background is {spelled(background)}, and the voxels are {spelled(dtype)}"
    given = arguments.get("grad")
    wanted = gradient_of(dtype)
    if given is None or not differ(given, wanted):
        return "volume-gradient", None
    reason = f"the gradient of {spelled(dtype)} is a {spelled(wanted)}, not {spelled(given)}"
    if given.kind == "mat" and given.shape == wanted.shape[::-1] != wanted.shape:
        reason += ": one row for each component, not one column"
    return "volume-gradient", reason


def gradient_of(dtype: Type) -> Type:
    """The type that the gradient of a value of ``dtype`` has."""
    if dtype.kind == "vec":
        return matrix(dtype.shape[0], 3, dtype.scalar, dtype.exact)
    return vector(3, dtype.kind, dtype.exact)


def _is_certain(dtype: Type) -> bool:
    return dtype.exact is not None and (dtype.kind in ("float", "int") or (dtype.kind == "vec" and bool(dtype.shape)))


def _is_held(dtype: Type) -> bool:
    if dtype.kind == "vec":
        return (dtype.shape[0], dtype.exact) in _VECTORS
    return dtype.exact in _SCALARS
