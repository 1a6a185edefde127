"""Host data: numpy arrays and random numbers. Contents are unknown; shapes and simple contents may be known."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from warplint.ir.spans import Location
from warplint.records import dataclass
from warplint.tapes import objectives, sequences, vocabulary
from warplint.tapes.dtypes import shape_of
from warplint.tapes.values import ArrayValue, DictValue, ListValue, Storage, Unknown, Value

if TYPE_CHECKING:
    from warplint.tapes.machine import Machine

#: Functions of numpy that give the data that they get, or a copy of it.
_CONVERSIONS = frozenset({"array", "asarray", "ascontiguousarray", "copy"})

#: Functions, and methods, of numpy that give another view of the memory of their data.
_VIEWS = frozenset({"reshape", "ravel", "squeeze", "view", "transpose", "swapaxes"})

#: Functions of numpy that change their first argument, and those that may be given the array for their result third.
_CHANGING = frozenset({"copyto", "put", "place", "putmask", "fill_diagonal", "put_along_axis", "random.shuffle"})
_BINARY = frozenset({"add", "subtract", "multiply", "divide", "true_divide", "minimum", "maximum", "power", "fmod"})

#: Functions of numpy that give, for each element, a number of its own.
_ELEMENTWISE = frozenset(
    {
        *(
            "sin",
            "cos",
            "tan",
            "arcsin",
            "arccos",
            "arctan",
            "sinh",
            "cosh",
            "tanh",
            "exp",
            "expm1",
            "log",
            "log1p",
            "log2",
        ),
        *(
            "log10",
            "sqrt",
            "cbrt",
            "square",
            "abs",
            "absolute",
            "fabs",
            "sign",
            "floor",
            "ceil",
            "round",
            "rint",
            "clip",
        ),
        *("negative", "reciprocal", "float32", "float64", "int32", "int64", "deg2rad", "rad2deg", "radians", "degrees"),
    }
)

#: The items of longer lists of host data are not looked at.
_MOST_ITEMS = 64


def shape_result(
    machine: Machine, owner: Unknown, name: str, args: tuple[Value, ...], keywords: dict[str, Value], result: Unknown
) -> None:
    """What is known of the shape of the host data that a method of unknown host data (or of a generator) gives."""
    shape: tuple[int | Unknown, ...] | None = None
    if name in _VIEWS:
        note_view(owner, result, strided=name in ("transpose", "swapaxes"), packed=name in ("reshape", "ravel"))
    elif name in ("astype", "copy", "flatten"):
        _hand_on(owner, result, copied=True)
    if name in ("astype", "copy", "reshape"):
        for known in ("values", "fill", "contents") if name != "reshape" else ("values", "fill"):
            if known in owner.children:
                result.children[known] = owner.children[known]
        if owner.hint.startswith("uniform"):
            result.hint = owner.hint
    elif name == "uniform" and len(args) >= 2 and all(isinstance(arg, (int, float)) for arg in args[:2]):
        result.hint = f"uniform({args[0]!r}, {args[1]!r})"
    if name in ("astype", "copy", "clip"):
        extents = owner.children.get(("attr", "shape"))
        shape = shape_of(extents) if isinstance(extents, tuple) else None
    elif name == "reshape":
        shape = shape_of(args[0] if len(args) == 1 else args)
        if shape is not None and any(isinstance(extent, int) and extent < 0 for extent in shape):
            shape = None
    elif vocabulary.draws(name):
        given = keywords.get("size")
        if given is None and args and (name in ("random", "standard_normal") or isinstance(args[-1], tuple)):
            given = args[-1]
        elif name in ("rand", "randn"):
            given = args
        shape = shape_of(given) if given is not None else None
    if shape is not None:
        set_shape(result, shape)


def set_shape(data: Unknown, shape: tuple[int | Unknown, ...]) -> None:
    """Note the shape of unknown host data."""
    data.children[("attr", "shape")] = tuple(shape)
    if shape:
        data.children["len"] = shape[0]


def numpy_call(
    machine: Machine, name: str, args: tuple[Value, ...], keywords: dict[str, Value], site: Location
) -> Value:
    """A numpy function: its result is unknown data, whose shape may be known."""
    from warplint.tapes.tapes import read_gradients

    if name in _CONVERSIONS and args and isinstance(args[0], ArrayValue):
        return _converted(machine, name, args[0], plain=len(args) == 1 and not keywords, site=site)
    _note_results(machine, name, args, keywords, site)
    sources = frozenset().union(*(_sources(value) for value in (*args, *keywords.values())))
    for value in args:
        read_gradients(machine, value, "host", site)
        if name not in _CONVERSIONS:
            note_use(machine, value, site)
    first = args[0] if args else keywords.get("shape", keywords.get("size"))
    if name in ("int32", "int64", "float32", "float64") and isinstance(first, (int, float)):
        return first
    if name in ("ceil", "floor", "sqrt", "cos", "sin", "deg2rad", "radians") and isinstance(first, (int, float)):
        function = getattr(math, "radians" if name == "deg2rad" else name)
        try:
            return float(function(first))
        except ValueError:
            return Unknown(name)
    if name in ("array_split", "split") and len(args) == 2 and not keywords:
        parts = _parts(first, args[1])
        if parts is not None:
            return parts
    result = Unknown(f"numpy.{name}", (("result", name), *args), sources)
    if name in ("mean", "average", "sum") and args:
        note_mean(machine, name, first, sources, site)
    shape: tuple[int | Unknown, ...] | None = None
    if name in ("zeros", "ones", "empty", "full"):
        shape = shape_of(first)
        fill = args[1] if name == "full" and len(args) > 1 else {"zeros": 0.0, "ones": 1.0}.get(name)
        if isinstance(fill, (int, float)):
            result.children["fill"] = float(fill)
    elif name in ("random.rand", "random.randn"):
        shape = shape_of(args)
    elif name in _CONVERSIONS:
        from warplint.tapes.allocations import data_shape

        shape = data_shape(first)
        if isinstance(first, (ListValue, tuple)):
            result.children["values"] = first
        elif isinstance(first, Unknown):
            result.children["len"] = sequences.length(machine, first)
            _hand_on(first, result, copied=name in ("array", "copy"))
            for known in ("values", "contents"):
                if known in first.children:
                    result.children[known] = first.children[known]
    elif name in _VIEWS and isinstance(first, Unknown):
        shape_result(machine, first, name, args[1:], keywords, result)
    elif isinstance(first, Unknown) and (name in _ELEMENTWISE or name.endswith("_like")):
        extents = first.children.get(("attr", "shape"))
        shape = shape_of(extents) if isinstance(extents, tuple) else None
    elif name in ("arange", "linspace"):
        count = first if name == "arange" and len(args) == 1 else args[2] if len(args) > 2 else keywords.get("num")
        shape = shape_of(count) if isinstance(count, (int, Unknown)) else None
        result.children.update(_sequence(name, count, args))
    elif "size" in keywords:
        shape = shape_of(keywords["size"])
    if shape is not None:
        set_shape(result, shape)
    return result


def _converted(machine: Machine, name: str, array: ArrayValue, *, plain: bool, site: Location) -> Value:
    """``np.asarray(array)`` and the like of an array of Warp: its memory on the CPU, or a copy of what it holds."""
    from warplint.tapes import arrays

    data = arrays.call_method(machine, array, "numpy", (), {}, site)
    if isinstance(data, Unknown) and (name in ("array", "copy") or not plain):
        data.children.pop("shares", None)
        _hand_on(data, data, copied=True)
    return data


def _note_results(
    machine: Machine, name: str, args: tuple[Value, ...], keywords: dict[str, Value], site: Location
) -> None:
    """What a function of numpy changes in place."""
    if name in _CHANGING and args:
        note_change(machine, args[0], site)
    if name in _BINARY and len(args) > 2:
        note_change(machine, args[2], site)
    out = keywords.get("out")
    for data in out if isinstance(out, tuple) else (out,):
        note_change(machine, data, site)


def sources_of(value: Value) -> frozenset[Storage]:
    """The memory that host data, or a list of it, was computed from."""
    return _sources(value)


def _sources(value: Value, depth: int = 2) -> frozenset[Storage]:
    """The memory that host data, or a list of it, was computed from."""
    if isinstance(value, Unknown):
        return value.sources
    if isinstance(value, ArrayValue):
        return frozenset({value.storage})
    if depth and isinstance(value, (tuple, ListValue)):
        inner = value if isinstance(value, tuple) else value.items
        if len(inner) <= _MOST_ITEMS:
            return frozenset().union(*(_sources(item, depth - 1) for item in inner))
    return frozenset()


def note_gradient(data: Unknown, array: ArrayValue, read: int, *, shared: bool) -> None:
    """Host data is the gradient of ``array``, as it was read by the record with the number ``read``."""
    data.children["gradient"] = (array, read, shared)


def _hand_on(data: Unknown, result: Unknown, *, copied: bool) -> None:
    """Other host data holds the same gradient."""
    known = data.children.get("gradient")
    if isinstance(known, tuple):
        array, read, shared = known
        note_gradient(result, array, read, shared=shared and not copied)


def note_view(data: Unknown, result: Unknown, *, strided: bool = False, packed: bool = False) -> None:
    """``result`` is a view of the memory of ``data``.

    ``strided``: its elements do not lie side by side. ``packed``: they have to, so it is a copy where those of ``data``
    do not.
    """
    copied = packed and data.children.get("strided") is True
    _hand_on(data, result, copied=copied)
    if "shares" in data.children and not copied:
        result.children["shares"] = data.children["shares"]
    if strided or (data.children.get("strided") is True and not copied):
        result.children["strided"] = True


def note_part(data: Unknown, index: Value, result: Unknown) -> None:
    """``result`` is ``data[index]`` with a slice in it."""
    parts = index if isinstance(index, tuple) else (index,)
    if all(part is None or isinstance(part, (slice, int)) for part in parts):
        whole = isinstance(index, slice) and index.step in (None, 1)
        note_view(data, result, strided=not whole)


def note_use(machine: Machine, data: Value, site: Location, *, result: bool = False) -> None:
    """Host data is computed with, or is (part of) the ``result`` of a run."""
    if isinstance(data, Unknown):
        known = data.children.get("gradient")
        if isinstance(known, tuple) and (result or known[2]):
            array, read, shared = known
            machine.recorder.used_gradient(array, read, shared, result, site)
        elif result and data.sources and not _is_sum(data):
            machine.recorder.reported(data.sources, site, objectives.kind_of(data))
    elif isinstance(data, tuple):
        for value in data:
            note_use(machine, value, site, result=result)
    elif result and isinstance(data, ListValue):
        for value in data.items:
            note_use(machine, value, site, result=True)
    elif result and isinstance(data, DictValue):
        for value in data.entries.values():
            note_use(machine, value, site, result=True)


def _is_sum(data: Value, depth: int = 6) -> bool:
    """Whether host data is a sum of several things, or something made of one."""
    if not isinstance(data, Unknown) or data.origin is None or not depth:
        return False
    kind = data.origin[0]
    return kind in ("+", "sum") or any(_is_sum(part, depth - 1) for part in data.origin[1:])  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class RowOf:
    """The row of an array with this number, as it was read by the host."""

    array: ArrayValue
    index: int


def note_row(data: Unknown, index: Value, value: Value) -> None:
    """``data[index] = value``: data of one number that gets another row stays known."""
    rows = data.children.get("rows")
    fill = data.children.get("fill")
    known: dict[object, object] = rows if isinstance(rows, dict) else {None: fill} if isinstance(fill, float) else {}
    row = _row(value)
    if known and isinstance(index, int) and not isinstance(index, bool) and index >= 0 and row is not None:
        data.children["rows"] = {**known, index: row}  # type: ignore[assignment]
    else:
        data.children.pop("rows", None)


def _row(value: Value) -> RowOf | float | None:
    if isinstance(value, (int, float)):
        return float(value)
    if not isinstance(value, Unknown):
        return None
    fill = value.children.get("fill")
    if isinstance(fill, float):
        return fill
    origin = value.origin
    if (
        origin is not None
        and isinstance(origin[0], tuple)
        and origin[0][0] == "item"
        and isinstance(origin[1], Unknown)
    ):
        array, index = origin[1].children.get("contents"), origin[0][1]
        if isinstance(array, ArrayValue) and array.storage.owner is None and isinstance(index, int) and index >= 0:
            return RowOf(array, index)
    return None


def rows_of(data: Value) -> dict[int | None, RowOf | float] | None:
    """What is known of host data that was made row by row; the row None stands for all others."""
    rows = data.children.get("rows") if isinstance(data, Unknown) else None
    return rows if isinstance(rows, dict) else None


def note_mean(machine: Machine, name: str, data: Value, sources: frozenset[Storage], site: Location) -> None:
    """A reduction called ``name`` of host data that came from arrays."""
    if sources and name in ("mean", "average"):
        known = objectives.multiple(data)
        machine.recorder.scaled(sources, "mean", site, None if known is None else (known[0], known[1] + 1))


def note_change(machine: Machine, data: Value, site: Location) -> None:
    """Host data is changed in place: if it is the memory of an array, then the array is."""
    array = data.children.get("shares") if isinstance(data, Unknown) else None
    if isinstance(array, ArrayValue):
        machine.recorder.view_changed(array, site)


def note_multiple(machine: Machine, operator: str, left: Value, right: Value, site: Location) -> None:
    """A product or quotient, one side of which is computed from what arrays hold.

    Of contents as such this may be anything; of one number it is another scale. Gradients are noted in any case.
    """
    for value, other in ((left, right), (right, left)):
        if not isinstance(value, Unknown) or not value.sources or (isinstance(other, Unknown) and other.sources):
            continue
        number = _is_number(value)
        known = objectives.multiple(value)
        if known is not None and isinstance(other, (int, float)) and other:
            by = 1.0 / other if operator == "/" else float(other)
            known = (known[0] * by, known[1]) if value is left or operator == "*" else None
        else:
            known = None
        machine.recorder.scaled(
            frozenset(source for source in value.sources if number or source.owner is not None), "scaled", site, known
        )


def _is_number(value: Unknown) -> bool:
    kind = value.origin[0] if value.origin else None
    if isinstance(kind, tuple):
        return kind[0] == "result" and kind[1] in ("sum", "mean", "average", "item") or kind == ("item", 0)
    return kind == "float"


def _parts(data: Value, count: Value) -> ListValue | None:
    """``np.array_split(data, count)`` of data of one axis whose elements are known."""
    known = data.children.get("values") if isinstance(data, Unknown) else None
    if not isinstance(known, ListValue) or known.open or not isinstance(count, int) or count < 1:
        return None
    short, longer = divmod(len(known.items), count)
    parts: list[Value] = []
    start = 0
    for number in range(count):
        items = known.items[start : start + short + (number < longer)]
        start += len(items)
        part = Unknown("numpy.array_split")
        set_shape(part, (len(items),))
        part.children["values"] = ListValue(list(items))
        for place, item in enumerate(items):
            part.children[("item", place)] = int(item) if isinstance(item, float) and item.is_integer() else item
        parts.append(part)
    return ListValue(parts)


def _sequence(name: str, count: Value, args: tuple[Value, ...]) -> dict[object, Value]:
    """The elements of a short ``arange(n)`` or ``linspace(start, stop, n)``."""
    ends = [float(arg) for arg in args[:2] if isinstance(arg, (int, float))]
    if not isinstance(count, int) or not 0 < count <= 256 or len(ends) < (1 if name == "arange" else 2):
        return {}
    start, step = (0.0, 1.0) if name == "arange" else (ends[0], (ends[1] - ends[0]) / max(1, count - 1))
    return {"values": ListValue([start + step * number for number in range(count)])}
