"""Tape programs as jobs: the kernels and structs in one slice, the operations as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping

from warplint.ir.programs import (
    Allocate,
    Argument,
    ArrayRef,
    Backward,
    Check,
    Compute,
    Copy,
    DefinitionRef,
    Fill,
    HostPart,
    HostValue,
    Launch,
    Operation,
    ReadGradient,
    StructValue,
    TapeBegin,
    TapeEnd,
    TapeProgram,
    Unknown,
    ZeroGradients,
)
from warplint.probe.jobs import Job, admitted
from warplint.probe.options import ProbeOptions
from warplint.probe.slices import Refused, Slicer
from warplint.source.project import Project

#: More operations than this are not run: each evaluation repeats all of them.
_MOST_OPERATIONS = 2000


def tape_job(program: TapeProgram, check: Check, project: Project, options: ProbeOptions) -> Job:
    """The job of a tape program. Raises Refused where a kernel cannot be cut out of its source."""
    if len(program.operations) > _MOST_OPERATIONS:
        raise Refused(f"the program has {len(program.operations)} operations")
    writer = _Writer(Slicer(project, options.allow_native, allow_import=options.allow_import, widens=True))
    operations = [writer.operation(operation) for operation in program.operations]
    plan = {
        "kind": "tape",
        "check": check,
        "operations": operations,
        "inputs": list(program.inputs),
        "objective": writer.reference(program.objective),
        "flagged": list(program.flagged),
        "factor": program.factor,
        "means": program.means,
    }
    made = writer.slicer.finish()
    return Job(made.text, None, json.dumps(plan | admitted(made, options)), bool(made.folders))


class _Writer:
    """Turns operations into JSON and their definitions into names of the slice."""

    def __init__(self, slicer: Slicer) -> None:
        self.slicer = slicer
        self._seen: set[object] = set()

    def definition(self, ref: DefinitionRef) -> str:
        if ref.path not in self._seen:
            self._seen.add(ref.path)
            self.slicer.options(ref.path)
        return self.slicer.add(ref)

    def reference(self, ref: ArrayRef | None) -> dict[str, object] | None:
        return None if ref is None else {"array": ref.array, "view": ref.view}

    def argument(self, value: Argument) -> Mapping[str, object]:
        if isinstance(value, ArrayRef):
            return {"array": value.array, "view": value.view}
        if isinstance(value, StructValue):
            fields = {name: self.argument(field) for name, field in value.fields.items()}
            return {"struct": self.definition(value.struct), "fields": fields, "identity": value.identity}
        if isinstance(value, HostValue):
            return {"host": _host(value)}
        if isinstance(value, Unknown):
            return {"unknown": value.hint}
        if isinstance(value, DefinitionRef):
            raise Refused("a launch passes a definition as an argument")
        return {"value": list(value) if isinstance(value, tuple) else value}

    def operation(self, operation: Operation) -> dict[str, object]:
        if isinstance(operation, Allocate):
            dtype = operation.dtype
            if isinstance(dtype, str):
                dtype = self.slicer.element_type(dtype)
            return {
                "op": "allocate",
                "array": operation.array,
                "source": operation.source,
                "dtype": {"struct": self.definition(dtype)} if isinstance(dtype, DefinitionRef) else dtype,
                "shape": _shape(operation.shape),
                "requires_grad": operation.requires_grad,
                "name": operation.name,
                "like": operation.like,
                "values": None if operation.values is None else list(operation.values),
                "retains": operation.retains,
            }
        if isinstance(operation, Launch):
            return {
                "op": "launch",
                "kernel": self.definition(operation.kernel),
                "dim": _shape(operation.dim),
                "arguments": [self.argument(argument) for argument in operation.arguments],
                "recorded": operation.recorded,
            }
        if isinstance(operation, Copy):
            return {
                "op": "copy",
                "target": self.reference(operation.target),
                "source": self.reference(operation.source),
                "recorded": operation.recorded,
            }
        if isinstance(operation, Compute):
            return {
                "op": "compute",
                "function": operation.function,
                "target": self.reference(operation.target),
                "sources": [self.reference(source) for source in operation.sources],
            }
        if isinstance(operation, Fill):
            return {"op": "fill", "array": self.reference(operation.array), "value": self.argument(operation.value)}
        if isinstance(operation, TapeBegin):
            return {"op": "begin", "tape": operation.tape}
        if isinstance(operation, TapeEnd):
            return {"op": "end", "tape": operation.tape}
        if isinstance(operation, Backward):
            return {
                "op": "backward",
                "tape": operation.tape,
                "loss": self.reference(operation.loss),
                "seeds": [self.reference(seed) for seed in operation.seeds],
                "given": [self.reference(given) for given in operation.given],
                "held": operation.held,
            }
        if isinstance(operation, ZeroGradients):
            return {"op": "zero", "tape": operation.tape, "array": self.reference(operation.array)}
        assert isinstance(operation, ReadGradient)
        return {"op": "read", "array": self.reference(operation.array)}


def _host(part: HostPart) -> object:
    """A number as it is, an array as a reference, a call as its name and a list of parts."""
    if isinstance(part, HostValue):
        return [part.function, *(_host(inner) for inner in part.parts)]
    return {"array": part.array, "view": part.view} if isinstance(part, ArrayRef) else part


def _shape(shape: tuple[int | Unknown, ...] | None) -> list[int | None] | None:
    if shape is None:
        return None
    return [extent if isinstance(extent, int) else None for extent in shape]
