"""``wp.launch``: from a kernel's effect summary to what happens to each array."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING

from warplint.ir import syntax as ir
from warplint.ir.effects import EffectSummary, Path
from warplint.ir.programs import DefinitionRef
from warplint.ir.spans import Location
from warplint.records import dataclass
from warplint.tapes import dtypes, sequences
from warplint.tapes.factors import factors, numbers, reads_at_once, stored_again
from warplint.tapes.memo import Memo
from warplint.tapes.trace import Access, Launched
from warplint.tapes.values import (
    ArrayValue,
    CommandValue,
    ExternalValue,
    FunctionValue,
    Instance,
    KernelValue,
    ListValue,
    TensorValue,
    Unknown,
    Value,
    is_plain,
)

if TYPE_CHECKING:
    from warplint.tapes.frames import Frame
    from warplint.tapes.machine import Machine


@dataclass(frozen=True, slots=True)
class StructSnapshot:
    """A struct argument as it was at the launch; ``identity`` tells instances apart."""

    struct: DefinitionRef
    identity: int
    fields: dict[str, object] = field(default_factory=dict)


_LAUNCH = ("kernel", "dim", "inputs", "outputs", "adj_inputs", "adj_outputs", "device", "stream", "adjoint")


def launch(
    machine: Machine, args: tuple[Value, ...], keywords: dict[str, Value], site: Location, *, tiled: bool = False
) -> Value:
    """``wp.launch(kernel, dim, inputs, outputs)``."""
    given: dict[str, Value] = dict(zip(_LAUNCH, args, strict=False))
    given.update(keywords)
    kernel = given.get("kernel")
    lists = [sequences.elements(machine, given[key]) if key in given else [] for key in ("inputs", "outputs")]
    arguments: list[Value] | None = None
    if lists[0] is not None and lists[1] is not None:
        arguments = [*lists[0], *lists[1]]
    if not isinstance(kernel, KernelValue):
        _unknown_kernel(machine, arguments if arguments is not None else [given.get("inputs")], site)
        return Unknown("launch")
    adjoint = given.get("adjoint") is True
    recorded = given.get("record_tape", True) is not False and not adjoint
    pending = _Pending(kernel, dtypes.shape_of(given.get("dim")), arguments, recorded, adjoint)
    if given.get("record_cmd") is True:
        return CommandValue(pending)
    run(machine, pending, site)
    return None


@dataclass(frozen=True, slots=True)
class _Pending:
    kernel: KernelValue
    dim: tuple[int | Unknown, ...] | None
    arguments: list[Value] | None
    recorded: bool
    adjoint: bool


def call_command(
    machine: Machine,
    command: CommandValue,
    name: str,
    args: tuple[Value, ...],
    keywords: dict[str, Value],
    site: Location,
) -> Value:
    """A method of what ``wp.launch(record_cmd=True)`` returns (``Launch`` in ``warp/_src/context.py``)."""
    pending = command.launch
    assert isinstance(pending, _Pending)
    if name == "launch":  # it happens, and is on no tape
        run(machine, replace(pending, recorded=False), site)
        return None
    if name == "set_dim":
        command.launch = replace(pending, dim=dtypes.shape_of(args[0] if args else keywords.get("dim")))
    elif name == "set_params":
        command.launch = replace(pending, arguments=sequences.elements(machine, args[0]) if args else None)
    elif name.startswith("set_param") and keywords.get("adjoint", args[2] if len(args) > 2 else False) is not True:
        given = dict(zip(("which", "value"), args, strict=False)) | keywords
        which = given.get("which", given.get("index", given.get("name")))
        value = Unknown("ctype") if name.endswith("_from_ctype") else given.get("value")
        command.launch = replace(pending, arguments=_replaced(pending, which, value))
    return None


def _replaced(pending: _Pending, which: Value, value: Value) -> list[Value] | None:
    """The arguments with another one, told by its place or name; None where it is not known which."""
    node = pending.kernel.definition.node
    assert isinstance(node, ir.FunctionDef)
    names = [parameter.name for parameter in node.parameters]
    place = names.index(which) if isinstance(which, str) and which in names else which
    arguments = list(pending.arguments or ())
    if isinstance(place, bool) or not isinstance(place, int) or not 0 <= place < len(arguments):
        return None
    arguments[place] = value
    return arguments


def _unknown_kernel(machine: Machine, arguments: list[Value], site: Location) -> None:
    from warplint.tapes.escaping import reachable_arrays

    for array in reachable_arrays(tuple(arguments)):
        machine.recorder.escaped(array, "a kernel that is not known", site)


def run(machine: Machine, pending: _Pending, site: Location) -> None:
    """Record a launch and what it does."""
    kernel = pending.kernel
    node = kernel.definition.node
    assert isinstance(node, ir.FunctionDef)
    summary = machine.summary(kernel)
    names = summary.parameters if summary is not None else tuple(parameter.name for parameter in node.parameters)
    context = machine.recorder.context(site)
    if pending.arguments is None:
        values: dict[str, Value] = {}
    else:
        values = dict(zip(names, pending.arguments, strict=False))
    _turn_into_arrays(machine, node, values, site)
    accesses, flows = _effects(machine, summary, values, site) if summary is not None else ([], [])
    machine.recorder.launched(
        Launched(
            context=context,
            kernel=reference(machine, kernel),
            summary=summary,
            dim=pending.dim,
            arguments=tuple(_snapshot(values[name]) if name in values else Unknown(name) for name in names),
            accesses=tuple(accesses),
            flows=tuple(flows),
            recorded=pending.recorded and context.tape is not None,
            adjoint=pending.adjoint,
            at_once=reads_at_once(node) if any(_may_be_empty(value) for value in values.values()) else frozenset(),
            numbers=numbers(node) if any(_is_of_arrays(value) for value in values.values()) else frozenset(),
            again=stored_again(node) if any(access.array.storage.retains for access in accesses) else frozenset(),
            factors=factors(node) if any(isinstance(value, Instance) for value in values.values()) else frozenset(),
        )
    )
    if summary is None or pending.arguments is None:
        _unknown_kernel(machine, pending.arguments or [], site)


def _is_of_arrays(value: Value) -> bool:
    return isinstance(value, Unknown) and bool(value.sources)


def _may_be_empty(value: Value) -> bool:
    """Whether an argument is memory, or holds memory, that was allocated without contents."""
    if isinstance(value, ArrayValue):
        return value.storage.source.startswith("empty")
    return isinstance(value, Instance) and any(_may_be_empty(inner) for inner in value.attributes.values())


def _turn_into_arrays(machine: Machine, node: ir.FunctionDef, values: dict[str, Value], site: Location) -> None:
    """Unknown arguments of array parameters are arrays; tensors are taken as the arrays that they share memory with."""
    for parameter in node.parameters:
        value = values.get(parameter.name)
        if isinstance(value, TensorValue):
            values[parameter.name] = value.array
        elif isinstance(value, Unknown) and dtypes.annotation_is_array(parameter.annotation):
            values[parameter.name] = machine.recorder.materialize(value, site)


def _resolve(machine: Machine, path: Path, values: dict[str, Value], site: Location) -> ArrayValue | None:
    value: Value = values.get(path[0])
    for name in path[1:]:
        if isinstance(value, Instance):
            value = value.attributes.get(name)
        elif isinstance(value, Unknown):
            value = value.child(("attr", name), f"{value.hint}.{name}")
        else:
            return None
    if isinstance(value, Unknown) and len(path) > 1:
        return machine.recorder.materialize(value, site)
    return value if isinstance(value, ArrayValue) else None


def _effects(
    machine: Machine, summary: EffectSummary, values: dict[str, Value], site: Location
) -> tuple[list[Access], list[tuple[ArrayValue, ArrayValue]]]:
    accesses: list[Access] = []
    arrays: dict[Path, ArrayValue] = {}
    for effect in summary.effects:
        array = _resolve(machine, effect.path, values, site)
        if array is None:
            continue
        arrays[effect.path] = array
        accesses.append(
            Access(
                array,
                effect.path,
                effect.reads,
                effect.writes,
                effect.accumulates,
                effect.needed,
                effect.covers,
                effect.differentiable,
                effect.reread,
            )
        )
    flows = [
        (arrays[source], arrays[target])
        for source, target in sorted(summary.flows)
        if source in arrays and target in arrays
    ]
    return accesses, flows


#: What a snapshot leaves as it is; large structs hold hardly anything else.
_AS_IT_IS = frozenset({ArrayValue, Unknown, int, float, bool, str, type(None)})


def _snapshot(value: Value) -> object:
    if isinstance(value, Instance) and value.is_struct:
        definition = value.cls.definition
        fields = {
            name: inner if inner.__class__ in _AS_IT_IS else _snapshot(inner)
            for name, inner in value.attributes.items()
        }
        return StructSnapshot(DefinitionRef(definition.module.path, definition.qualname), id(value), fields)
    if isinstance(value, ListValue):
        return tuple(_snapshot(item) for item in value.items)
    return value


def reference(machine: Machine, kernel: KernelValue) -> DefinitionRef:
    """The kernel's definition, with the values of the enclosing functions' variables that it uses."""
    definition = kernel.definition
    closure: dict[str, object] = {}
    if kernel.closure is not None:
        for name in _names(definition.node):
            frame = kernel.closure.find(name)
            if frame is None:
                continue
            value = frame.names[name]
            if is_plain(value):
                closure[name] = value
            elif isinstance(value, (FunctionValue, KernelValue)):
                inner = value.definition
                closure[name] = DefinitionRef(
                    inner.module.path, inner.qualname, _plain_closure(inner.node, value.closure)
                )
            elif isinstance(value, ExternalValue):
                dtype = dtypes.dtype_name(value)
                if isinstance(dtype, str):
                    closure[name] = value.name
    return DefinitionRef(definition.module.path, definition.qualname, closure, kernel.made, kernel.backward)


def _plain_closure(node: ir.Node, closure: Frame | None) -> dict[str, object]:
    found: dict[str, object] = {}
    if closure is None:
        return found
    for name in _names(node):
        frame = closure.find(name)
        if frame is not None and is_plain(frame.names[name]):
            found[name] = frame.names[name]
    return found


def _used_names(node: ir.Node) -> tuple[str, ...]:
    return tuple(dict.fromkeys(inner.id for inner in ir.walk(node) if isinstance(inner, ir.Name)))


_names = Memo(_used_names)
