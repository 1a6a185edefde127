"""What calls to things outside the project do: ``warp``, Python's built-ins, numpy, torch."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from warplint.ir.spans import Location
from warplint.tapes import (
    allocations,
    arrays,
    builtins,
    contexts,
    functional,
    hostdata,
    kernels_of,
    launches,
    records,
    sequences,
    services,
    tapes,
    utilities,
    vocabulary,
)
from warplint.tapes.values import (
    ArrayValue,
    Builtin,
    ClassValue,
    ContextValue,
    DictValue,
    FunctionValue,
    Instance,
    KernelValue,
    ListValue,
    Method,
    OptimizerValue,
    Partial,
    TapeValue,
    TensorValue,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from warplint.tapes.machine import Machine

Args = tuple[Value, ...]
Keywords = dict[str, Value]
Handler = Callable[["Machine", Args, Keywords, Location], Value]


def call_external(machine: Machine, name: str, args: Args, keywords: Keywords, site: Location) -> Value:
    """Call something outside the project by its full name."""
    return _handler(name)(machine, args, keywords, site)


#: Types whose methods are also called with the object in front of the arguments.
_TYPES: dict[str, type] = {
    "warp.Tape": TapeValue,
    "warp.array": ArrayValue,
    "list": ListValue,
    "dict": DictValue,
    "str": str,
}


#: What is no method: a function of the type itself.
_KEPT = frozenset({"dict.fromkeys", "str.maketrans"})


@lru_cache(4096)
def _handler(name: str) -> Handler:
    """What stands for something outside the project."""
    handler = _HANDLERS.get(name)
    if handler is not None:
        return handler
    owner, _, method = name.rpartition(".")
    if owner in _TYPES and name not in _KEPT:
        return partial(_unbound, owner, method)
    if name in utilities.UTILITIES:
        return _named(utilities.call, name)
    if name in allocations.ALLOCATORS:
        return _named(allocations.allocate, name)
    if name.startswith("warp."):
        return _named(_warp, name)
    if vocabulary.role(name) == "context":
        return _named(_context, name)
    if name.startswith("torch.optim."):
        return _torch_optimizer
    if name.startswith("numpy."):
        return _named(hostdata.numpy_call, name.removeprefix("numpy."))
    return _named(_other, name)


def _unbound(owner: str, method: str, machine: Machine, args: Args, keywords: Keywords, site: Location) -> Value:
    """``type.method(object, ...)``."""
    receiver = args[0] if args else None
    if isinstance(receiver, Instance) and receiver.contents is not None:
        receiver = receiver.contents
    if isinstance(receiver, _TYPES[owner]):
        return machine.call(Method(receiver, method), args[1:], keywords, site)
    return _other(machine, f"{owner}.{method}", args, keywords, site)


def _named(function: Callable[[Machine, str, Args, Keywords, Location], Value], name: str) -> Handler:
    return lambda machine, args, keywords, site: function(machine, name, args, keywords, site)


def _context(machine: Machine, name: str, args: Args, keywords: Keywords, site: Location) -> Value:
    if name == "contextlib.ExitStack":
        stack = ContextValue(None, [])
        stack.result = stack
        return stack
    return ContextValue(args[0] if name.endswith("nullcontext") and args else machine.pure(name))


def _torch_optimizer(machine: Machine, args: Args, keywords: Keywords, site: Location) -> Value:
    return OptimizerValue(args[0] if args else keywords.get("params"), torch=True)


def _other(machine: Machine, name: str, args: Args, keywords: Keywords, site: Location) -> Value:
    """Python's own functions, and what is only known by its name."""
    handled, result = builtins.call(machine, name, args, keywords, site)
    if handled:
        return result
    if vocabulary.role(name) == "harmless":
        _look(machine, args, keywords, site)
        return Unknown(name)
    from warplint.tapes.escaping import escape

    escape(machine, args, keywords, name, site)
    return Unknown(name)


def _warp(machine: Machine, name: str, args: Args, keywords: Keywords, site: Location) -> Value:
    kind = vocabulary.role(name)
    if kind == "context":
        if name == "warp.ScopedCapture":
            return ContextValue(Unknown("capture"), captures=True)
        return ContextValue(Unknown(name))
    if kind == "optimizer":
        return OptimizerValue(args[0] if args else keywords.get("params"), torch=False)
    if kind == "number" and len(args) == 1:
        return args[0] if isinstance(args[0], (int, float)) else Unknown(name)
    if kind == "vector":
        numbers = [item for arg in args for item in (arg if isinstance(arg, tuple) else (arg,))]
        return Unknown(name, ("vector", name, tuple(numbers)))
    if name == "warp.Mesh":
        mesh = Unknown("mesh")
        for position, key in enumerate(("points", "indices", "velocities")):
            value = args[position] if position < len(args) else keywords.get(key)
            if value is not None:
                mesh.children[("attr", key)] = value
        return mesh
    if name == "warp.get_device" or name == "warp.get_preferred_device":
        return machine.pure("warp.get_device")
    if name in ("warp.from_ptr", "warp.indexedarray", "warp.fabricarray"):
        return Unknown(name)
    if kind == "harmless":
        return Unknown(name)
    from warplint.tapes.escaping import reachable_arrays

    # Warp's own functions write arrays and read them; they do not change whether an array has a gradient.
    for array in reachable_arrays((*args, *keywords.values())):
        machine.recorder.escaped(array, name, site)
    return Unknown(name)


def _look(machine: Machine, args: Args, keywords: Keywords, site: Location) -> None:
    """Harmless code looks at its arguments: gradients among them are read."""
    for value in (*args, *keywords.values()):
        tapes.read_gradients(machine, value, "host", site)


def call_unknown_method(
    machine: Machine, owner: Unknown, name: str, args: Args, keywords: Keywords, site: Location
) -> tuple[bool, Value]:
    """A method of an unknown object, where its name says enough."""
    array = machine.recorder.materialized(owner)
    if array is not None or (name in ("zero_", "fill_", "assign") and not keywords):
        target = array or machine.recorder.materialize(owner, site)
        return True, arrays.call_method(machine, target, name, args, keywords, site)
    if name in ("backward", "zero", "reset", "record_func"):
        tape = contexts.tape_of(machine, owner)
        if isinstance(tape, TapeValue):
            return True, tapes.call_method(machine, tape, name, args, keywords, site)
        if name == "backward":
            tapes.run_pending(machine, site)
            return True, None
    if name == "numpy" and _is_gradient(owner):
        _read_unknown_gradient(machine, owner, site)
    if name in ("fill", "sort", "put"):
        hostdata.note_change(machine, owner, site)
    if owner.sources or vocabulary.only_looks(name) or vocabulary.draws(name):  # data of an array has numpy's methods
        _look(machine, args, keywords, site)
        result = Unknown(name, (("result", name), owner), owner.sources)
        hostdata.note_mean(machine, name, owner, owner.sources, site)
        hostdata.shape_result(machine, owner, name, args, keywords, result)
        return True, result
    return False, None


def _is_gradient(owner: Unknown) -> bool:
    return owner.origin is not None and owner.origin[0] == ("attr", "grad")


def _read_unknown_gradient(machine: Machine, owner: Unknown, site: Location) -> None:
    assert owner.origin is not None
    holder = owner.origin[1]
    if isinstance(holder, Unknown):
        array = machine.recorder.materialize(holder, site)
        arrays.host_copy(machine, machine.recorder.gradient(array), site)


# --- single functions of Warp ---


def _copy(machine: Machine, args: Args, keywords: Keywords, site: Location) -> Value:
    given = dict(zip(("dest", "src", "dest_offset", "src_offset", "count"), args, strict=False)) | keywords
    target, source = given.get("dest"), given.get("src")
    if isinstance(target, Unknown):
        target = machine.recorder.materialize(target, site)
    if isinstance(source, Unknown):
        source = machine.recorder.materialize(source, site)
    if isinstance(target, TensorValue):
        target = target.array
    if isinstance(source, TensorValue):
        source = source.array
    if isinstance(target, ArrayValue) and isinstance(source, ArrayValue):
        whole = not ({"dest_offset", "count"} & given.keys()) and not target.view
        machine.recorder.copied(target, source, site, whole, recorded=True)
    return None


def _check(machine: Machine, args: Args, keywords: Keywords, site: Location) -> Value:
    """``wp.autograd.gradcheck(kernel, dim, inputs, outputs)``."""
    given = dict(zip(("function", "dim", "inputs", "outputs"), args, strict=False)) | keywords
    kernel = given.get("function")
    inputs = given.get("inputs")
    values = (sequences.elements(machine, inputs) or []) if inputs is not None else []
    if isinstance(kernel, KernelValue):
        struct = any(
            isinstance(value, Instance)
            and value.is_struct
            and any(isinstance(inner, ArrayValue) and inner.requires_grad for inner in value.attributes.values())
            for value in values
        )
        machine.recorder.checked("gradcheck", None, kernel.definition.qualname, struct, site)
    return Unknown("gradcheck")


def _check_tape(machine: Machine, args: Args, keywords: Keywords, site: Location) -> Value:
    """``wp.autograd.gradcheck_tape(tape)``."""
    tape = args[0] if args else keywords.get("tape")
    if isinstance(tape, TapeValue):
        machine.recorder.checked("gradcheck_tape", tape.number, "", False, site)
    return Unknown("gradcheck_tape")


def _replay(machine: Machine, args: Args, keywords: Keywords, site: Location) -> Value:
    machine.recorder.replayed(args[0] if args else keywords.get("graph"), site)
    return None


def _capture_begin(machine: Machine, args: Args, keywords: Keywords, site: Location) -> Value:
    machine.recorder.capture_begins()
    return None


def _capture_end(machine: Machine, args: Args, keywords: Keywords, site: Location) -> Value:
    graph = Unknown("graph", (("attr", "graph"), Unknown("capture")))
    machine.recorder.capture_ends(graph)
    return graph


def _launch(machine: Machine, args: Args, keywords: Keywords, site: Location) -> Value:
    return launches.launch(machine, args, keywords, site)


def _launch_tiled(machine: Machine, args: Args, keywords: Keywords, site: Location) -> Value:
    return launches.launch(machine, args, keywords, site, tiled=True)


def _tape(machine: Machine, args: Args, keywords: Keywords, site: Location) -> Value:
    return machine.recorder.new_tape()


def _to_torch(machine: Machine, args: Args, keywords: Keywords, site: Location) -> Value:
    value = args[0] if args else next(iter(keywords.values()), None)
    if isinstance(value, Unknown):
        value = machine.recorder.materialize(value, site)
    if isinstance(value, ArrayValue):
        if value.storage.owner is not None:
            machine.recorder.read_gradient(value, "host", site)
        return TensorValue(value)
    return Unknown("tensor")


def _constant(machine: Machine, args: Args, keywords: Keywords, site: Location) -> Value:
    return args[0] if args else Unknown("constant")


def _partial(machine: Machine, args: Args, keywords: Keywords, site: Location) -> Value:
    return Partial(args[0], args[1:], keywords) if args else Unknown("partial")


def _partial_method(machine: Machine, args: Args, keywords: Keywords, site: Location) -> Value:
    return Partial(args[0], args[1:], keywords, method=True) if args else Unknown("partialmethod")


def _remembering(machine: Machine, args: Args, keywords: Keywords, site: Location) -> Value:
    """``functools.lru_cache(function)`` and ``functools.lru_cache(maxsize)``."""
    function = args[0] if args else keywords.get("user_function")
    if isinstance(function, FunctionValue):
        return remembered(function)
    return Builtin("lru_cache", _remembering)


def remembered(function: FunctionValue) -> FunctionValue:
    """The function, as one that remembers its results."""
    return FunctionValue(function.definition, function.closure, function.defaults, {})


def _fields(machine: Machine, args: Args, keywords: Keywords, site: Location) -> Value:
    """``dataclasses.fields(dataclass or instance)``: of each field, its name."""
    from warplint.tapes.classes import fields_of

    cls = args[0].cls if args and isinstance(args[0], Instance) else args[0] if args else None
    if not isinstance(cls, ClassValue) or cls.kind != "dataclass":
        return Unknown("fields")
    found: list[Value] = []
    for name in fields_of(cls):
        field = Unknown("field")
        field.children[("attr", "name")] = name
        found.append(field)
    return tuple(found)


def _deque(machine: Machine, args: Args, keywords: Keywords, site: Location) -> Value:
    """``collections.deque(iterable, maxlen)``."""
    given = dict(zip(("iterable", "maxlen"), args, strict=False)) | keywords
    known = sequences.elements(machine, given["iterable"]) if "iterable" in given else []
    limit = given.get("maxlen")
    made = ListValue(known or [], known is None or isinstance(limit, Unknown))
    if isinstance(limit, int):
        made.limit = limit
        del made.items[: max(0, len(made.items) - limit)]
    return made


_HANDLERS: dict[str, Handler] = {
    "warp.launch": _launch,
    "warp.capture_launch": _replay,
    "warp.capture_begin": _capture_begin,
    "warp.capture_end": _capture_end,
    "warp.autograd.gradcheck": _check,
    "warp.autograd.gradcheck_tape": _check_tape,
    "warp.launch_tiled": _launch_tiled,
    "warp.copy": _copy,
    "warp.Tape": _tape,
    "warp.to_torch": _to_torch,
    "warp.to_jax": _to_torch,
    "warp.torch.to_torch": _to_torch,
    "warp.constant": _constant,
    "warp.static": _constant,
    "functools.partial": _partial,
    "functools.reduce": functional.reduce,
    "functools.partialmethod": _partial_method,
    "functools.lru_cache": _remembering,
    "functools.cache": _remembering,
    "operator.attrgetter": functional.attribute_getter,
    "operator.itemgetter": functional.item_getter,
    "operator.methodcaller": functional.method_caller,
    "copy.deepcopy": functional.deep_copy,
    "copy.copy": functional.shallow_copy,
    "copy.replace": functional.replaced,
    "dataclasses.replace": functional.replaced,
    "warp.kernel": kernels_of.make,
    "warp.Kernel": kernels_of.construct,
    "types.SimpleNamespace": services.namespace,
    "argparse.Namespace": services.namespace,
    "threading.local": services.namespace,
    "contextvars.ContextVar": services.variable,
    "queue.Queue": services.queue,
    "queue.SimpleQueue": services.queue,
    "functools.wraps": services.wrapping,
    "functools.update_wrapper": services.same,
    "dataclasses.asdict": functional.as_plain_dict,
    "dataclasses.astuple": functional.as_plain_tuple,
    "collections.namedtuple": records.make_class,
    "typing.NamedTuple": records.make_class,
    "collections.deque": _deque,
    "dataclasses.fields": _fields,
    "argparse.ArgumentParser": services.parser,
    "concurrent.futures.ThreadPoolExecutor": services.executor,
    "concurrent.futures.ProcessPoolExecutor": services.executor,
    "concurrent.futures.as_completed": services.completed,
    "multiprocessing.pool.ThreadPool": services.executor,
    "threading.Thread": services.thread,
    "asyncio.run": services.awaited,
    "asyncio.gather": services.gathered,
    "types.MethodType": services.bound,
    "types.MappingProxyType": services.same,
    "weakref.proxy": services.same,
    "importlib.import_module": services.imported,
    "collections.OrderedDict": lambda machine, args, keywords, site: builtins.make_dict(machine, args, keywords),
    "collections.defaultdict": functional.default_dict,
    "collections.ChainMap": functional.chained,
}
