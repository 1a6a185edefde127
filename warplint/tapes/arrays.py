"""``wp.array`` objects: their attributes, views and methods, and torch tensors that share their memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warplint.ir.spans import Location
from warplint.tapes import hostdata
from warplint.tapes.values import ArrayValue, ListValue, Method, TensorValue, Unknown, Value

if TYPE_CHECKING:
    from warplint.tapes.machine import Machine

#: Attributes that only arrays have, or that say something about one.
ATTRIBUTES = frozenset(
    {"grad", "requires_grad", "zero_", "fill_", "assign", "numpy", "shape", "size", "flatten", "reshape", "view"}
)
_SAME_MEMORY = frozenset({"flatten", "reshape", "view", "transpose", "contiguous", "to", "squeeze", "unsqueeze"})
_HOST_READS = frozenset({"numpy", "list", "tolist", "item", "__array__"})
_TENSOR_VIEWS = frozenset(
    {"view", "reshape", "flatten", "detach", "contiguous", "squeeze", "unsqueeze", "to", "float", "cuda", "cpu", "T"}
)


def flag_of(machine: Machine, value: Value) -> tuple[bool | None, Unknown | None]:
    """``requires_grad=value``: the flag, and the unknown value that decides it where it is not known."""
    if isinstance(value, (bool, int)) or value is None:
        return bool(value), None
    if isinstance(value, Unknown):
        # In a run that took the branch "gradients wanted" the flag is set. The other way round nothing follows:
        # whoever passes False may not call backward either.
        if machine.questions.decided(value):
            return True, value
        return None, value
    return None, None


def attribute(machine: Machine, array: ArrayValue, name: str, site: Location) -> Value:
    """``array.name``."""
    if name == "grad":
        if array.requires_grad is False and array.grad is None:
            return None
        return machine.recorder.gradient(array)
    if name == "requires_grad":
        if array.requires_grad is not None:
            return array.requires_grad
        if array.flag is None:
            array.flag = Unknown("requires_grad")
        return array.flag
    if name == "shape":
        return tuple(array.shape) if array.shape is not None else machine.pure(f"shape of {array.storage.name}", array)
    if name == "size":
        return size(array)
    if name == "ndim":
        return len(array.shape) if array.shape is not None else Unknown("ndim")
    if name == "T":
        return machine.recorder.view(array, ".T", None)
    if name == "dtype":
        return array.dtype if isinstance(array.dtype, str) else Unknown("dtype")
    if name == "ptr":
        pointer = machine.pure("array.ptr", array)
        pointer.children["memory"] = array
        return pointer
    if name in ("device", "strides", "pinned", "is_contiguous"):
        return machine.pure(f"array.{name}")
    return Method(array, name)


def size(array: ArrayValue) -> int | Unknown:
    """The number of elements."""
    total = 1
    if array.shape is None:
        return Unknown("size")
    for extent in array.shape:
        if isinstance(extent, Unknown):
            return extent if len(array.shape) == 1 else Unknown("size")
        total *= extent
    return total


def set_attribute(machine: Machine, array: ArrayValue, name: str, value: Value, site: Location) -> None:
    """``array.name = value``."""
    if name == "requires_grad":
        array.requires_grad, array.flag = flag_of(machine, value)
        if array.requires_grad is False:
            array.grad = None
        machine.recorder.flagged(array, site)
    elif name == "retain_grad":
        array.storage.retains = value is True
    elif name == "grad":
        if value is None:
            array.requires_grad, array.grad = False, None
            return
        array.requires_grad = True
        if isinstance(value, ArrayValue) and value.storage.owner is None:
            # from here on that memory is a gradient: reading it reads the gradient
            value.storage.owner, value.base = array.storage, array
            array.grad = value
        machine.recorder.seeded(array, value, site)
    elif name == "ptr":
        machine.recorder.escaped(array, name, site)


def item(machine: Machine, array: ArrayValue, index: Value, site: Location) -> Value:
    """``array[index]``: a view."""
    view = machine.recorder.view(array, f"[{_index_text(index)}]", _item_shape(array, index))
    if array.storage.owner is not None and array.base is not None:
        view.base = array.base  # a part of a gradient is one
    return view


def _index_text(index: Value) -> str:
    if isinstance(index, tuple):
        return ", ".join(_index_text(part) for part in index)
    if isinstance(index, slice):
        lower, upper, step = (
            "" if part is None else _number_text(part) for part in (index.start, index.stop, index.step)
        )
        return f"{lower}:{upper}" + (f":{step}" if step else "")
    return _number_text(index)


def _number_text(value: Value) -> str:
    return str(value) if isinstance(value, int) else "?"


def _item_shape(array: ArrayValue, index: Value) -> tuple[int | Unknown, ...] | None:
    if array.shape is None:
        return None
    parts = index if isinstance(index, tuple) else (index,)
    if len(parts) > len(array.shape):
        return None
    found: list[int | Unknown] = []
    for extent, part in zip(array.shape, parts, strict=False):
        if isinstance(part, slice):
            if isinstance(extent, int) and all(
                p is None or isinstance(p, int) for p in (part.start, part.stop, part.step)
            ):
                found.append(len(range(*part.indices(extent))))
            else:
                found.append(Unknown("size"))
    return (*found, *array.shape[len(parts) :])


def set_item(machine: Machine, array: ArrayValue, index: Value, value: Value, site: Location) -> None:
    """``array[index] = value``: a copy or a fill of a part."""
    view = machine.recorder.view(array, f"[{_index_text(index)}]", None)
    whole = isinstance(index, slice) and index == slice(None, None, None)
    store(machine, view, value, site, whole=whole)


def store(machine: Machine, target: ArrayValue, value: Value, site: Location, *, whole: bool = True) -> None:
    """``target.assign(value)`` and its relatives."""
    if isinstance(value, TensorValue):
        value = value.array
    if isinstance(value, Unknown):
        value = machine.recorder.materialized(value) or value
    if isinstance(value, ArrayValue):
        machine.recorder.copied(target, value, site, whole, recorded=True)
        return
    sources = value.sources if isinstance(value, Unknown) else frozenset()
    if isinstance(value, Unknown) and isinstance(value.children.get("fill"), (int, float)):
        value = value.children["fill"]
    machine.recorder.filled(target, value, sources, site)


def call_method(
    machine: Machine, array: ArrayValue, name: str, args: tuple[Value, ...], keywords: dict[str, Value], site: Location
) -> Value:
    """``array.name(...)``."""
    first = args[0] if args else next(iter(keywords.values()), None)
    if name == "zero_":
        machine.recorder.filled(array, 0, frozenset(), site)
        return array
    if name == "fill_":
        machine.recorder.filled(array, first, frozenset(), site)
        return array
    if name == "assign":
        store(machine, array, first, site)
        return array
    if name in _SAME_MEMORY:
        shape: tuple[int | Unknown, ...] | None = None
        if name == "flatten":
            count = size(array)
            shape = (count,) if array.shape is not None else None
        elif name == "reshape":
            from warplint.tapes.dtypes import shape_of

            shape = shape_of(first)
        elif name in ("contiguous", "to"):
            shape = array.shape
        given = ""
        if name == "reshape" and shape is not None and all(isinstance(extent, int) for extent in shape):
            given = ",".join(map(str, shape))
        view = machine.recorder.view(array, "" if name in ("contiguous", "to") else f".{name}({given})", shape)
        if name == "view":
            from warplint.tapes.dtypes import dtype_name

            view.dtype = dtype_name(first)
        if name == "to" and "requires_grad" in keywords:
            view.requires_grad, view.flag = flag_of(machine, keywords["requires_grad"])
        if array.storage.owner is not None and array.base is not None:
            view.base = array.base  # a view of a gradient is a gradient
        return view
    if name in _HOST_READS:
        data = host_copy(machine, array, site)
        if name == "numpy" and array.storage.owner is None and not array.storage.device.startswith("cuda"):
            data.children["shares"] = array
        return data
    if name in ("mark_init", "mark_read", "mark_write", "cptr", "ipc_handle", "__len__"):
        return Unknown(name)
    return Unknown(name, sources=frozenset({array.storage}))


def host_copy(machine: Machine, array: ArrayValue, site: Location) -> Unknown:
    """The contents of an array on the host."""
    if array.storage.owner is not None:
        machine.recorder.read_gradient(array, "host", site)
        assert array.base is not None
        if array.base.requires_grad is None:
            array.base.requires_grad = True  # reading a gradient that is not there raises
    moment = machine.recorder.moment
    result = Unknown(f"{array.storage.name}.numpy()", sources=frozenset({array.storage}))
    result.children["contents"] = array
    result.children["read"] = (moment, machine.recorder.context(site))
    if array.storage.owner is not None and array.base is not None:
        hostdata.note_gradient(result, array.base, moment - 1, shared=not array.storage.owner.device.startswith("cuda"))
    if array.shape is not None:
        result.children[("attr", "shape")] = tuple(array.shape)
        if array.shape:
            result.children["len"] = array.shape[0]
    return result


# --- torch tensors that share memory ---


def tensor_attribute(machine: Machine, tensor: TensorValue, name: str, site: Location) -> Value:
    """``tensor.name``."""
    if name == "grad":
        gradient = attribute(machine, tensor.array, "grad", site)
        if isinstance(gradient, ArrayValue):
            machine.recorder.read_gradient(gradient, "host", site)
            return TensorValue(gradient)
        return gradient
    if name in ("requires_grad", "shape", "ndim"):
        return attribute(machine, tensor.array, name, site)
    if name in ("data", "T"):
        return tensor
    return Method(tensor, name)


def call_tensor_method(
    machine: Machine,
    tensor: TensorValue,
    name: str,
    args: tuple[Value, ...],
    keywords: dict[str, Value],
    site: Location,
) -> Value:
    """``tensor.name(...)``."""
    array = tensor.array
    if name in _TENSOR_VIEWS:
        return tensor
    if name == "numpy":
        return host_copy(machine, array, site)
    if name == "zero_":
        machine.recorder.filled(array, 0, frozenset(), site)
        return tensor
    if name in ("fill_", "copy_"):
        store(machine, array, args[0] if args else None, site)
        return tensor
    if name == "requires_grad_":
        array.requires_grad = args[0] if args and isinstance(args[0], bool) else True
        return tensor
    if name.endswith("_") and not name.endswith("__"):
        machine.recorder.filled(
            array, Unknown(name, sources=frozenset({array.storage})), frozenset({array.storage}), site
        )
        return tensor
    if array.storage.owner is not None:
        machine.recorder.read_gradient(array, "host", site)
    return Unknown(f"tensor.{name}", sources=frozenset({array.storage}))


def unwrap(value: Value) -> list[ArrayValue]:
    """The arrays of an array or of a list of arrays."""
    if isinstance(value, ArrayValue):
        return [value]
    if isinstance(value, TensorValue):
        return [value.array]
    if isinstance(value, (ListValue, tuple)):
        items = value.items if isinstance(value, ListValue) else list(value)
        return [array for inner in items for array in unwrap(inner)]
    return []
