"""Sampling of volumes: which type the gradient has, and which modes mean something.

``volume_sample_grad`` and ``volume_sample_grad_index`` take the gradient as an argument that they write to:
``check_volume_value_grad_compatibility`` of ``warp/_src/builtins.py``. The gradient of a scalar is a vector of three,
that of a vector a matrix with a row for each of its components.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from warplint.kernels.refusals import differ, spelled
from warplint.kernels.trace import Sampling, Trace
from warplint.kernels.types import Type, matrix, named, vector

#: What volumes can hold (``_volume_supported_value_types``).
_SCALARS = frozenset({"float32", "float64", "int32", "int64", "uint32"})
_VECTORS = frozenset({(3, "float32"), (3, "float64"), (4, "float32"), (4, "float64")})
#: The value type of the short forms.
_SHORT = {"volume_sample_grad_f": "float32", "volume_sample_f": "float32", "volume_sample_v": "vec3f"}

#: A word for the refusal, and its reason, None where nothing is refused.
Refused = tuple[str, "str | None"]


def value_type(name: str, arguments: Mapping[str, Type], dtype: Type | None) -> Type | None:
    """The type of the values that the built-in ``name`` samples; ``dtype`` is what the call names, None if it does not.

    ``arguments`` are by their parameters.
    """
    voxels = arguments.get("voxel_data")
    if dtype is None and voxels is not None:
        dtype = voxels.element
    return named(_SHORT.get(name, "")) if dtype is None else dtype


def refused(arguments: Mapping[str, Type], dtype: Type | None, version: tuple[int, int]) -> Refused:
    """Why the compiler of a version of Warp refuses to sample a volume of ``dtype``; ``arguments`` by their parameters.

    Before 1.18, its native headers have no function for the gradient of four components.
    """
    if dtype is None or not _is_certain(dtype):
        return "volume", None
    if not _is_held(dtype):
        return "volume-gradient", f"a volume cannot hold {spelled(dtype)}"
    background = arguments.get("background")
    if background is not None and differ(background, dtype):
        return "volume-gradient", f"the background is {spelled(background)}, and the voxels are {spelled(dtype)}"
    given = arguments.get("grad")
    if given is not None and dtype.shape == (4,) and version < (1, 18):
        return "volume-gradient", f"before Warp 1.18, no gradient of {spelled(dtype)} is compiled"
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


def misread(trace: Trace) -> Iterator[tuple[Sampling, str, dict[str, str]]]:
    """Samplings whose mode or gradient does not mean what it is used for, with a word for it and the probe's question.

    ``whole-volume``: integers sampled with ``LINEAR``. ``closest-gradient``: a gradient of ``CLOSEST``, which is zero.
    ``index-space``: a gradient with respect to voxel indices that is used beside the point in the world that it was
    sampled at, without a scale.
    """
    for sampling in trace.samplings:
        dtype = sampling.dtype
        whole = dtype is not None and dtype.kind == "int"
        if whole and sampling.mode == "LINEAR":
            yield sampling, "whole-volume", {"ask": "whole-volume"}
        elif sampling.grad is not None and not whole and sampling.mode == "CLOSEST":
            yield sampling, "closest-gradient", {"ask": "closest-gradient"}
        elif sampling.grad is not None and _is_taken_for_world(trace, sampling):
            yield sampling, "index-space", {"ask": "index-space"}


def _is_taken_for_world(trace: Trace, sampling: Sampling) -> bool:
    operations = trace.operations
    point = operations[sampling.point]
    while point.name == "copy":
        point = operations[point.operands[0]]
    if point.name != "volume_world_to_index" or len(point.operands) < 2:
        return False
    place = operations[point.operands[1]].number
    for operation in operations[sampling.call + 1 :]:
        if operation.name not in ("add", "sub"):
            continue
        numbers = [operations[operand].number for operand in operation.operands]
        if place in numbers:
            step = operation.operands[1 - numbers.index(place)]
            if _is_made_of(trace, step, {sampling.grad}, sampling.call):
                return True
    return False


def _is_made_of(trace: Trace, index: int, gradient: set[int | None], call: int) -> bool:
    """Whether a value is the gradient, times nothing but the sampled value and constants."""
    operation = trace.operations[index]
    if index in gradient:
        return True
    if operation.name in ("copy", "neg"):
        return _is_made_of(trace, operation.operands[0], gradient, call)
    if operation.name != "mul":
        return False
    for one, other in (operation.operands, operation.operands[::-1]):
        factor = trace.operations[other]
        plain = factor.name == "constant" or trace.operations[other].number == trace.operations[call].number
        if plain and _is_made_of(trace, one, gradient, call):
            return True
    return False
