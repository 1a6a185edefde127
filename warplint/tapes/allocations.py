"""Functions that make arrays, and whether what they make has a gradient."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from warplint.ir import syntax as ir
from warplint.ir.programs import DefinitionRef
from warplint.ir.spans import Location
from warplint.records import dataclass
from warplint.tapes import arrays, flags, hostdata
from warplint.tapes.dtypes import component_shape, dtype_name, shape_of
from warplint.tapes.values import ArrayValue, ListValue, TensorValue, Unknown, Value

if TYPE_CHECKING:
    from warplint.tapes.machine import Machine


@dataclass(frozen=True, slots=True)
class Allocator:
    """The parameters of an allocating function in order; ``like``: takes dtype, shape and flag from its first argument.

    ``inherits``: the flag is taken over where none is given. ``default``: the dtype where none is given.
    """

    parameters: tuple[str, ...]
    like: bool = False
    inherits: bool = False
    default: str | None = None
    copies: bool = False


_NEW = ("shape", "dtype", "device", "requires_grad", "pinned", "retain_grad")
_LIKE = ("src", "device", "requires_grad", "pinned", "retain_grad")
_DATA = (
    *("data", "dtype", "shape", "strides", "ptr", "capacity", "device", "pinned", "copy", "deleter"),
    *("ndim", "grad", "requires_grad", "retain_grad"),
)

ALLOCATORS: dict[str, Allocator] = {
    "warp.zeros": Allocator(_NEW, default="float32"),
    "warp.ones": Allocator(_NEW, default="float32"),
    "warp.empty": Allocator(_NEW, default="float32"),
    "warp.full": Allocator(("shape", "value", "dtype", "device", "requires_grad", "pinned", "retain_grad")),
    "warp.array": Allocator(_DATA),
    "warp.array1d": Allocator(_DATA),
    "warp.array2d": Allocator(_DATA),
    "warp.array3d": Allocator(_DATA),
    "warp.array4d": Allocator(_DATA),
    "warp.from_numpy": Allocator(("arr", "dtype", "shape", "device", "requires_grad", "retain_grad")),
    "warp.zeros_like": Allocator(_LIKE, like=True, inherits=True),
    "warp.ones_like": Allocator(_LIKE, like=True, inherits=True),
    "warp.empty_like": Allocator(_LIKE, like=True, inherits=True),
    "warp.full_like": Allocator(
        ("src", "value", "device", "requires_grad", "pinned", "retain_grad"), like=True, inherits=True
    ),
    "warp.clone": Allocator(_LIKE, like=True, inherits=True, copies=True),
    "warp.from_torch": Allocator(("t", "dtype", "requires_grad", "grad", "return_ctype")),
    "warp.from_jax": Allocator(("jax_array", "dtype")),
    "warp.from_dlpack": Allocator(("source", "dtype")),
    "warp.from_paddle": Allocator(("t", "dtype", "requires_grad", "grad", "return_ctype")),
}


def allocate(machine: Machine, name: str, args: tuple[Value, ...], keywords: dict[str, Value], site: Location) -> Value:
    """``wp.zeros(...)`` and the like."""
    allocator = ALLOCATORS[name]
    written = machine.written.keyword("requires_grad") if machine.written is not None else None
    explicit = isinstance(written, ir.Constant) and written.value is False
    given = dict(zip(allocator.parameters, args, strict=False)) | keywords
    source = name.removeprefix("warp.")
    if source.startswith("array") and not ({"data", "shape", "ptr", "grad"} & given.keys()):
        return Unknown("annotation")
    if allocator.like:
        return _like(machine, source, allocator, given, site)
    if source in ("from_torch", "from_paddle", "from_jax", "from_dlpack"):
        return _shared(machine, source, given, site)
    flag, undecided = _flag(machine, given, inherited=False)
    dtype = dtype_name(given["dtype"]) if "dtype" in given else allocator.default
    data = given.get("data", given.get("arr"))
    shape = shape_of(given["shape"]) if "shape" in given else element_shape(data, dtype)
    if given.get("ptr") is not None:
        flag = flag if flag else None
        memory = given["ptr"].children.get("memory") if isinstance(given["ptr"], Unknown) else None
        if isinstance(memory, ArrayValue):
            window = machine.recorder.view(memory, "", shape)
            window.dtype, window.requires_grad, window.flag, window.base = dtype, flag, undecided, None
            return window
    if dtype is None and "dtype" not in given and isinstance(data, ArrayValue):
        dtype = data.dtype
    values = _element(given.get("value")) if source == "full" else _values(data)
    array = machine.recorder.new_array(site, _base_source(source), dtype, shape, flag, values=values, flag=undecided)
    array.storage.explicit = explicit
    array.storage.decided_above = flags.decided_above(machine, written) if flag is False else 0
    array.storage.device = _device(given, data)
    array.storage.retains = given.get("retain_grad") is True
    if isinstance(data, TensorValue):
        data = data.array
    if isinstance(data, ArrayValue):
        # wp.array(x) goes over the host: the contents follow x, no gradient does
        host = Unknown("data")
        host.children["contents"] = data
        machine.recorder.filled(array, host, frozenset({data.storage}), site)
    elif isinstance(data, Unknown) and data.sources:
        machine.recorder.filled(array, data, data.sources, site)
    elif isinstance(data, (ListValue, tuple)) and (sources := hostdata.sources_of(data)):
        machine.recorder.filled(array, Unknown("data", sources=sources), sources, site)
    return array


def _device(given: dict[str, Value], original: Value) -> str:
    """The name of the device that an array is made on, if it is written out; ``original`` is what it is made from."""
    device = given.get("device")
    if device is None:
        return original.storage.device if isinstance(original, ArrayValue) else ""
    return device if isinstance(device, str) else ""


def _base_source(source: str) -> str:
    return "array" if source.startswith("array") else source


def _flag(machine: Machine, given: dict[str, Value], inherited: bool | None) -> tuple[bool | None, Unknown | None]:
    if given.get("grad") is not None and "requires_grad" not in given:
        return True, None
    if "requires_grad" in given:
        value = given["requires_grad"]
        if value is None and inherited is not False:
            return inherited, None
        return arrays.flag_of(machine, value)
    if "**" in given or "*" in given:
        return None, None
    return inherited, None


def _like(machine: Machine, source: str, allocator: Allocator, given: dict[str, Value], site: Location) -> Value:
    original = given.get("src")
    if isinstance(original, Unknown):
        original = machine.recorder.materialize(original, site)
    if isinstance(original, TensorValue):
        original = original.array
    if not isinstance(original, ArrayValue):
        flag, undecided = _flag(machine, given, inherited=None)
        return machine.recorder.new_array(site, source, None, None, flag, flag=undecided)
    if "requires_grad" in given:
        flag, undecided = _flag(machine, given, inherited=original.requires_grad)
    else:
        flag, undecided = original.requires_grad, original.flag
    values = _element(given.get("value")) if source == "full_like" else None
    array = machine.recorder.new_array(
        site, source, original.dtype, original.shape, flag, like=original, values=values, flag=undecided
    )
    array.storage.device = _device(given, original)
    array.storage.retains = given.get("retain_grad") is True
    if allocator.copies:
        machine.recorder.copied(array, original, site, True, recorded=True)
    return array


def _shared(machine: Machine, source: str, given: dict[str, Value], site: Location) -> Value:
    original = given.get("t", given.get("jax_array", given.get("source")))
    if isinstance(original, TensorValue):
        view = machine.recorder.view(original.array, "", original.array.shape)
        if "requires_grad" in given and given["requires_grad"] is not None:
            view.requires_grad, view.flag = arrays.flag_of(machine, given["requires_grad"])
        return view
    if isinstance(original, Unknown):
        known = original.children.get("warp array")
        if isinstance(known, ArrayValue):
            return known
    flag: bool | None = None
    undecided: Unknown | None = None
    if given.get("requires_grad") is not None:
        flag, undecided = arrays.flag_of(machine, given["requires_grad"])
        if flag is False:
            flag = None
    dtype = dtype_name(given["dtype"]) if "dtype" in given else None
    array = machine.recorder.new_array(site, source, dtype, None, flag, kind="parameter", flag=undecided)
    if isinstance(original, Unknown):
        # two arrays made from one tensor share its memory
        original.children["warp array"] = array
    return array


def element_shape(data: Value, dtype: str | DefinitionRef | None) -> tuple[int | Unknown, ...] | None:
    """The shape of an array of ``dtype`` that is made from data: vectors and matrices take the last axes."""
    shape, extents = data_shape(data), component_shape(dtype)
    if shape is None or not extents:
        return shape
    if len(shape) > len(extents) and shape[-len(extents) :] == extents:
        return shape[: -len(extents)]
    items = data.items if isinstance(data, ListValue) else data
    if isinstance(items, (list, tuple)) and not (items and isinstance(items[0], (int, float))):
        return shape  # of vectors, one by one
    if len(shape) > 1:
        return None
    # the numbers of all elements, one after the other
    return (shape[0] // math.prod(extents) if isinstance(shape[0], int) else Unknown("size"),)


def data_shape(data: Value) -> tuple[int | Unknown, ...] | None:
    """The shape of array data that is written out in the program."""
    if isinstance(data, ArrayValue):
        return data.shape
    if isinstance(data, (ListValue, tuple)):
        items = data.items if isinstance(data, ListValue) else list(data)
        if isinstance(data, ListValue) and data.open:
            return None
        first = items[0] if items else None
        inner = data_shape(first) if isinstance(first, (ListValue, tuple)) else ()
        count = Unknown("size") if isinstance(data, ListValue) and data.guessed else len(items)
        return None if inner is None else (count, *inner)
    if isinstance(data, (int, float)):
        return (1,)
    if isinstance(data, Unknown):
        known = data.children.get(("attr", "shape"))
        if isinstance(known, tuple):
            return shape_of(known)
    return None


def _element(value: Value) -> tuple[float, ...] | None:
    """The numbers of one element that ``full`` repeats: a number, or the components of a vector or matrix."""
    if isinstance(value, Unknown) and value.origin is not None and value.origin[0] == "vector":
        numbers = value.origin[2]
        return _values(numbers) if isinstance(numbers, tuple) and numbers else None
    return _values(value)


def _values(data: Value) -> tuple[float, ...] | None:
    if isinstance(data, (int, float)) and not isinstance(data, bool):
        return (float(data),)
    if isinstance(data, Unknown):
        fill, extents = data.children.get("fill"), data.children.get(("attr", "shape"))
        if isinstance(fill, float) and isinstance(extents, tuple) and all(isinstance(n, int) for n in extents):
            count = math.prod(extents)
            return (fill,) * count if 0 < count <= 256 else None
        known = data.children.get("values")
        data = known if isinstance(known, (ListValue, tuple)) else None
    if not isinstance(data, (ListValue, tuple)) or (isinstance(data, ListValue) and data.open):
        return None
    found: list[float] = []
    for item in data.items if isinstance(data, ListValue) else data:
        inner = _values(item) if isinstance(item, (ListValue, tuple)) else None
        if inner is not None:
            found.extend(inner)
        elif isinstance(item, (int, float)) and not isinstance(item, bool):
            found.append(float(item))
        else:
            return None
    return tuple(found) if len(found) <= 256 else None


def element_type(dtype: str | DefinitionRef | None) -> str:
    """What a person calls a data type."""
    if dtype is None:
        return "array"
    return dtype if isinstance(dtype, str) else dtype.qualname
