"""Optimizers: ``warp.optim`` takes the gradients as arguments, torch's reads them from the parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warplint.ir.spans import Location
from warplint.tapes import arrays, tapes
from warplint.tapes.values import DictValue, OptimizerValue, Unknown, Value

if TYPE_CHECKING:
    from warplint.tapes.machine import Machine


def call_method(
    machine: Machine,
    optimizer: OptimizerValue,
    name: str,
    args: tuple[Value, ...],
    keywords: dict[str, Value],
    site: Location,
) -> Value:
    """``optimizer.name(...)``."""
    recorder = machine.recorder
    parameters = arrays.unwrap(optimizer.parameters)
    if name == "step":
        if optimizer.torch:
            for array in parameters:
                recorder.read_gradient(recorder.gradient(array), "optimizer", site)
        else:
            gradients = args[0] if args else next(iter(keywords.values()), None)
            tapes.read_gradients(machine, gradients, "optimizer", site)
        for array in parameters:
            recorder.updated(array, site)
    elif name == "zero_grad":
        for array in parameters:
            recorder.filled(recorder.gradient(array), 0, frozenset(), site)
    elif name in ("set_params", "add_param_group"):
        given = args[0] if args else next(iter(keywords.values()), None)
        if isinstance(given, DictValue):
            given = given.entries.get("params")
        optimizer.parameters = given if name == "set_params" else (*parameters, *arrays.unwrap(given))
    return Unknown(f"optimizer.{name}")
