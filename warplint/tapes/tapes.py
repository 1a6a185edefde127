"""Methods of tapes, and torch functions that wrap one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warplint.ir.spans import Location
from warplint.tapes import arrays, members
from warplint.tapes.trace import How
from warplint.tapes.values import (
    ArrayValue,
    ClassValue,
    DictValue,
    ExternalValue,
    FunctionValue,
    Instance,
    Method,
    TapeValue,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from warplint.tapes.machine import Machine


def call_method(
    machine: Machine, tape: TapeValue, name: str, args: tuple[Value, ...], keywords: dict[str, Value], site: Location
) -> Value:
    """``tape.name(...)``."""
    recorder = machine.recorder
    if name == "backward":
        _backward(machine, tape, args, keywords, site)
        return None
    if name == "zero":
        recorder.zero_tape(tape, site)
        return None
    if name == "reset":
        recorder.zero_tape(tape, site)
        recorder.reset_tape(tape)
        return None
    if name in ("record_func", "record_launch"):
        recorder.custom_adjoint(tape.number, site)
        return None
    if name == "__enter__":
        recorder.begin_tape(tape, site, machine.instances)
        return tape
    if name == "__exit__":
        recorder.end_tape(tape, site)
        return None
    if name == "gradients" or (name == "get" and args):
        return Unknown("gradient")
    return Unknown(name)


def _backward(
    machine: Machine, tape: TapeValue, args: tuple[Value, ...], keywords: dict[str, Value], site: Location
) -> None:
    loss = args[0] if args else keywords.get("loss")
    grads = args[1] if len(args) > 1 else keywords.get("grads")
    known = not ({"*", "**"} & keywords.keys())
    if isinstance(loss, Unknown):
        loss = machine.recorder.materialize(loss, site)
    array: ArrayValue | None = None
    if isinstance(loss, ArrayValue):
        array = loss
    elif loss is not None:
        known = False
    seeds: dict[ArrayValue, Value] = {}
    if isinstance(grads, DictValue):
        known = known and not grads.open
        for key, value in grads.entries.items():
            if isinstance(key, Unknown):
                key = machine.recorder.materialize(key, site)
            if isinstance(key, ArrayValue):
                seeds[key] = value
            else:
                known = False
    elif grads is not None:
        known = False
    for seeded in seeds:
        if seeded.requires_grad is not True:
            seeded.requires_grad = True  # backward gives it a gradient array
    machine.recorder.backward(tape, array, seeds, known, site)


def gradients_entry(machine: Machine, method: Method, args: tuple[Value, ...]) -> Value:
    """``tape.gradients.get(x)``."""
    if args and isinstance(args[0], ArrayValue):
        return machine.recorder.gradient(args[0])
    return Unknown("gradient")


def apply_torch_function(machine: Machine, cls: ClassValue, args: tuple[Value, ...], site: Location) -> Value:
    """``Function.apply(...)`` of a ``torch.autograd.Function``: forward now, backward when the run ends."""
    found = members.class_member(machine, cls, "forward")
    if found is None or not isinstance(found[1], FunctionValue):
        return Unknown("apply")
    context = Instance(ClassValue(cls.definition, (ExternalValue("torch.autograd.function.FunctionCtx"),), None))
    machine.call(found[1], (context, *args), {}, site)
    machine.pending.append((cls, context))
    return Unknown("tensor")


def run_pending(machine: Machine, site: Location) -> None:
    """Run the backward methods of the torch functions that were applied, last first."""
    while machine.pending:
        cls, context = machine.pending.pop()
        found = members.class_member(machine, cls, "backward")
        if found is not None and isinstance(found[1], FunctionValue):
            node = found[1].definition.node
            count = len([p for p in getattr(node, "parameters", ()) if p.kind == "positional"]) - 1
            grads = tuple(Unknown("grad_output") for _ in range(max(1, count)))
            machine.call(found[1], (context, *grads), {}, site)


def read_gradients(machine: Machine, value: Value, how: How, site: Location) -> None:
    """Host code reads the gradient arrays in ``value``."""
    for array in arrays.unwrap(value):
        machine.recorder.read_gradient(array, how, site)
