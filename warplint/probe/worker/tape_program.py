"""Running a tape program: allocations, launches, tapes, backward, as the host code does them."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np
import warp as wp

from warplint.probe.worker.compat import types
from warplint.probe.worker.handles import Unsupported
from warplint.probe.worker.hosting import compute
from warplint.probe.worker.inputs import Draw, Profile, views
from warplint.probe.worker.usage import Usage
from warplint.probe.worker.viewing import viewed

_SMALL = 16  # extents up to this are kept
_REPLACED = 6  # larger ones become this and up, in order
_SHRUNK = 1
# What unknown extents are with each of the ways to choose sizes.
_UNKNOWN = {_SHRUNK: 4, 0: 4, 2: 16, 3: 64}
#: The ways to choose sizes, in the order in which they are tried: large extents made small, then the own ones. What
#: is not known is small at first, and large where elements behind its end were asked for.
SIZES = (_SHRUNK, 0, 2, 3)


@dataclass
class Trace:
    """What a run left behind: the objective's terms, and the gradient of every input (None without one)."""

    terms: np.ndarray
    gradients: dict[int, np.ndarray | None] = field(default_factory=dict)
    losses: list[tuple[float, float]] = field(default_factory=list)  # at the start and at the end of each window


class Program:
    """A tape program with everything unknown in it chosen; ``seed`` decides what is drawn, ``sizes`` the extents.

    ``sizes``: one of ``SIZES``.
    """

    def __init__(self, plan: dict[str, Any], module: ModuleType, device: str, seed: int, sizes: int) -> None:
        self.plan = plan
        self.operations: list[dict[str, Any]] = plan["operations"]
        self.module = module
        self.device = device
        self.seed = seed
        self.keep: list[Any] = []
        self._sizes = self._shrunk() if sizes == _SHRUNK else {}
        self._unknown = _UNKNOWN[sizes]
        self._usage: dict[str, Usage] = {}
        self._scalars: dict[tuple[str, int], Any] = {}
        self._parameters = self._uses()
        self._initial: dict[int, np.ndarray] = {}
        self._allocations = {op["array"]: op for op in self.operations if op["op"] == "allocate"}

    # --- what the program does not say ---

    def _shrunk(self) -> dict[int, int]:
        """Small stand-ins for large extents, in the same order."""
        large: set[int] = set()
        for operation in self.operations:
            for extent in operation.get("shape") or operation.get("dim") or ():
                if isinstance(extent, int) and extent > _SMALL:
                    large.add(extent)
        return {extent: _REPLACED + rank for rank, extent in enumerate(sorted(large))}

    def _uses(self) -> dict[int, tuple[str, tuple[str, ...], Any]]:
        """For each array, a kernel parameter (or struct field) that it is passed as: kernel, path, type."""
        found: dict[int, tuple[str, tuple[str, ...], Any]] = {}

        def visit(kernel: str, path: tuple[str, ...], kind: Any, argument: dict[str, Any]) -> None:
            if "array" in argument and not argument["view"]:
                found.setdefault(argument["array"], (kernel, path, kind))
            for name, value in argument.get("fields", {}).items():
                variable = getattr(kind, "vars", {}).get(name)
                if variable is not None:
                    visit(kernel, (*path, name), variable.type, value)

        for operation in self.operations:
            if operation["op"] == "launch":
                kernel = self.kernel(operation["kernel"])
                for parameter, argument in zip(kernel.adj.args, operation["arguments"], strict=False):
                    visit(operation["kernel"], (parameter.label,), parameter.type, argument)
        for first, second in 2 * self._alike():  # what a copy of an array is passed as, it could be passed as itself
            for one, other in ((first, second), (second, first)):
                if other in found:
                    found.setdefault(one, found[other])
        return found

    def _alike(self) -> list[tuple[int, int]]:
        """Pairs of arrays with elements of one type and as many dimensions."""
        found: list[tuple[int, int]] = []
        for operation in self.operations:
            if operation["op"] == "allocate" and operation["like"] is not None:
                found.append((operation["array"], operation["like"]))
            elif operation["op"] == "copy" and not (operation["target"]["view"] or operation["source"]["view"]):
                found.append((operation["target"]["array"], operation["source"]["array"]))
        return found

    def kernel(self, name: str) -> Any:
        return getattr(self.module, name)

    def guessed(self) -> dict[str, int]:
        """Integers and truth values that were drawn for arguments which the analysis does not know."""
        return {
            key: bool(value) if isinstance(value, (bool, np.bool_)) else int(value)
            for (key, _), value in self._scalars.items()
            if isinstance(value, (bool, int, np.bool_, np.integer))
        }

    def usage(self, name: str) -> Usage:
        if name not in self._usage:
            self._usage[name] = Usage(self.kernel(name))
        return self._usage[name]

    def draw(self, usage: Usage) -> Draw:
        count = min([4, *self._sizes.values()])
        return Draw(usage, Profile(seed=self.seed, limit=count, count=count, extent=count), self.device)

    def extents(self, shape: list[int | None]) -> tuple[int, ...]:
        return tuple(self._unknown if extent is None else self._sizes.get(extent, extent) for extent in shape)

    def dtype(self, operation: dict[str, Any]) -> Any:
        dtype = operation["dtype"]
        if isinstance(dtype, dict):
            return getattr(self.module, dtype["struct"])
        if isinstance(dtype, str):
            found = getattr(wp, dtype, None) or {"float": wp.float32, "int": wp.int32, "bool": wp.bool}.get(dtype)
            if found is not None:
                return found
        use = self._parameters.get(operation["array"])
        if use is not None and types.is_array(use[2]) and not types.type_is_generic(use[2]):
            return use[2].dtype
        return wp.float32

    def shape(self, operation: dict[str, Any]) -> tuple[int, ...]:
        if operation["shape"] is not None:
            return self.extents(operation["shape"])
        for pair in self._alike():
            if operation["array"] in pair:
                other = self._allocations.get(pair[0] if pair[1] == operation["array"] else pair[1])
                if other is not None and other["shape"] is not None:
                    return self.extents(other["shape"])
        use = self._parameters.get(operation["array"])
        return (self._unknown,) * (use[2].ndim if use is not None and types.is_array(use[2]) else 1)

    def initial(self, operation: dict[str, Any], dtype: Any, shape: tuple[int, ...]) -> np.ndarray:
        """Contents of an array that is made from host data, or of an input: drawn once, then the same."""
        number = operation["array"]
        if number not in self._initial:
            use = self._parameters.get(number)
            launched = [op["kernel"] for op in self.operations if op["op"] == "launch"]
            if not launched:
                raise Unsupported("the program launches no kernel")
            # an array that is only copied from looks like no parameter: any kernel will do
            draw = self.draw(self.usage(use[0] if use is not None else launched[0]))
            draw.floats = np.random.default_rng(self.seed * 1009 + number)
            path = (*use[1], "[]") if use is not None else ("", "[]")
            data = draw.contents(path, dtype, shape)
            values = operation["values"]
            if values is not None and self.seed == 0 and not data.dtype.names and len(values) == data.size:
                data = np.asarray(values, dtype=data.dtype).reshape(data.shape)
            self._initial[number] = data
        return self._initial[number]

    # --- running ---

    def run(
        self,
        differentiate: bool,
        moved: dict[int, np.ndarray] | None = None,
        flagged: frozenset[int] = frozenset(),
        nudge: bool = False,
        without: frozenset[int] = frozenset(),
    ) -> Trace:
        """Runs all operations. ``moved`` replaces initial contents of inputs; ``flagged`` allocations get gradients;
        ``nudge`` adds one to a window's loss where the window begins; launches ``without`` are left out, by their
        number. Without ``differentiate`` no tape is used."""
        return _Run(self, differentiate, moved or {}, flagged, nudge, without).all()


def run_program(program: Program) -> dict[int, Any]:
    """Runs all operations once, with tapes; the arrays that there are afterwards, by number."""
    run = _Run(program, True, {}, frozenset(), False, frozenset())
    run.all()
    return run.arrays


class _Run:
    def __init__(
        self,
        program: Program,
        differentiate: bool,
        moved: dict[int, np.ndarray],
        flagged: frozenset[int],
        nudge: bool,
        without: frozenset[int],
    ) -> None:
        self.program = program
        self.differentiate = differentiate
        self.moved = moved
        self.flagged = flagged
        self.nudge = nudge
        self.without = without
        self.launched = -1  # the number of the last launch
        self.arrays: dict[int, Any] = {}
        self.tapes: dict[int, Any] = {}
        self.structs: dict[int, Any] = {}
        self.gradients: dict[int, np.ndarray | None] = {}
        self.losses: list[tuple[float, float]] = []
        self.begun: dict[int, float] = {}
        self.final: np.ndarray = np.zeros(0)

    def all(self) -> Trace:
        for position, operation in enumerate(self.program.operations):
            getattr(self, operation["op"])(operation, position)
        objective = self.program.plan["objective"]
        if objective is not None:
            self.final = self.floats(self.reference(objective))
        for number in self.program.plan["inputs"]:
            if number not in self.gradients:
                self.gradients[number] = self.gradient(number)
        return Trace(self.final, self.gradients, self.losses)

    # --- operations ---

    def allocate(self, operation: dict[str, Any], position: int) -> None:
        del position
        self.make(operation)
        if operation.get("retains"):
            self.arrays[operation["array"]].retain_grad = True

    def make(self, operation: dict[str, Any]) -> None:
        number, source = operation["array"], operation["source"]
        is_input = number in self.program.plan["inputs"]
        grows = operation["requires_grad"]
        if number in self.flagged:
            grows = True
        like = self.array(operation["like"]) if operation["like"] is not None else None
        if like is not None and not is_input:
            makers = {"zeros_like": wp.zeros_like, "empty_like": wp.zeros_like, "ones_like": wp.ones_like}
            self.arrays[number] = makers.get(source, wp.clone)(like, requires_grad=grows)
            return
        dtype = like.dtype if like is not None else self.program.dtype(operation)
        shape = tuple(like.shape) if like is not None else self.program.shape(operation)
        if grows is None:
            grows = True if like is None else like.requires_grad
        drawn = is_input or source not in ("zeros", "empty", "ones", "full", "zeros_like", "empty_like", "ones_like")
        drawn = drawn or (source == "full" and not operation["values"])
        if drawn:
            data = self.moved.get(number)
            if data is None:
                data = self.program.initial(operation, dtype, shape)
            self.arrays[number] = wp.array(data, dtype=dtype, device=self.program.device, requires_grad=bool(grows))
        else:
            array = wp.zeros(shape, dtype=dtype, device=self.program.device, requires_grad=bool(grows))
            if source in ("ones", "ones_like"):
                array.fill_(1)
            elif source == "full" and operation["values"]:
                values = operation["values"]
                array.fill_(values[0] if len(values) == 1 else dtype(*values))
            self.arrays[number] = array

    def launch(self, operation: dict[str, Any], position: int) -> None:
        del position
        self.launched += 1
        if self.launched in self.without:
            return
        kernel = self.program.kernel(operation["kernel"])
        arguments = [
            self.argument(operation["kernel"], index, (parameter.label,), parameter.type, value)
            for index, (parameter, value) in enumerate(zip(kernel.adj.args, operation["arguments"], strict=False))
        ]
        if operation["dim"] is None:
            dim: tuple[int, ...] = (self.program._unknown,) * self.program.usage(operation["kernel"]).rank
        else:
            dim = self.program.extents(operation["dim"])
        recorded = self.differentiate and operation.get("recorded", True)
        wp.launch(kernel, dim=dim, inputs=arguments, device=self.program.device, record_tape=recorded)

    def argument(self, kernel: str, index: int, path: tuple[str, ...], kind: Any, value: dict[str, Any]) -> Any:
        if "array" in value:
            return self.reference(value)
        if "struct" in value:
            # Two arguments with one identity are one object: the tape holds the object, not what its fields are now.
            key = value["identity"]
            instance = self.structs.get(key) if key else None
            if instance is None:
                instance = self.structs[key] = getattr(self.program.module, value["struct"])()
            for name, field_value in value["fields"].items():
                variable = instance._cls.vars.get(name)
                if variable is not None:
                    part = self.argument(kernel, index, (*path, name), variable.type, field_value)
                    if part is not None:
                        setattr(instance, name, part)
            return instance
        if "host" in value:
            number = np.asarray(compute(value["host"], self.contents)).item()
            return int(number) if kind in (int, wp.int32, wp.int64) else float(number)
        if "unknown" in value:
            return self.chosen(kernel, index, path, kind)
        found = value["value"]
        if isinstance(found, int) and not isinstance(found, bool):
            return self.program._sizes.get(found, found)
        if isinstance(found, list):
            return kind(*found) if getattr(kind, "_wp_scalar_type_", None) is not None else tuple(found)
        return found

    def chosen(self, kernel: str, index: int, path: tuple[str, ...], kind: Any) -> Any:
        """A value for an argument that the analysis does not know; the same at every launch."""
        key = (f"{kernel}.{'.'.join(path)}", index)
        known = self.program._scalars
        if key not in known:
            draw = self.program.draw(self.program.usage(kernel))
            draw.floats = np.random.default_rng(self.program.seed * 31 + index)
            known[key] = draw.value(path, kind)
            self.program.keep += draw.keep
        return known[key]

    def copy(self, operation: dict[str, Any], position: int) -> None:
        del position
        target, source = self.reference(operation["target"]), self.reference(operation["source"])
        if operation.get("recorded", True):
            wp.copy(target, source)
        else:
            target.assign(np.array(source.numpy(), copy=True))

    def compute(self, operation: dict[str, Any], position: int) -> None:
        del position
        target, sources = self.reference(operation["target"]), [self.reference(one) for one in operation["sources"]]
        import warp.utils

        getattr(warp.utils, operation["function"])(*sources, target)

    def fill(self, operation: dict[str, Any], position: int) -> None:
        array = self.reference(operation["array"])
        value = operation["value"]
        number = operation["array"]["array"]
        if "unknown" in value and number in self.program.plan["inputs"] and not operation["array"]["view"]:
            # what the host stores into an input is where it is differentiated
            data = self.moved.get(number)
            array.assign(
                self.program.initial(self.program._allocations[number], array.dtype, array.shape)
                if data is None
                else data
            )
        elif "host" in value:
            data = np.asarray(compute(value["host"], self.contents), dtype=array.numpy().dtype)
            if data.size != array.numpy().size and self.program._allocations[number]["shape"] is None:
                # the array is made of this data, and is as large
                array = wp.array(data, dtype=array.dtype, device=array.device, requires_grad=array.requires_grad)
                self.arrays[number] = array
            array.assign(data.reshape(array.numpy().shape))
        elif "unknown" in value:
            rng = np.random.default_rng(self.program.seed * 77 + position)
            host = np.array(array.numpy(), copy=True)
            for _, data in views(host):
                data[...] = rng.uniform(0.3, 1.5, data.shape)
            array.assign(host)
        elif "value" in value and value["value"] is not None:
            array.fill_(value["value"])
        else:
            array.zero_()

    def begin(self, operation: dict[str, Any], position: int) -> None:
        number = operation["tape"]
        loss = self.upcoming_loss(position, number)
        if loss is not None:
            if self.nudge:
                loss.assign(loss.numpy() + 1.0)
            self.begun[number] = float(self.floats(loss).sum())
        if self.differentiate:
            tape = self.tapes.setdefault(number, wp.Tape())
            tape.__enter__()

    def upcoming_loss(self, position: int, tape: int) -> Any:
        """The loss array that this tape's backward will be asked for, if it exists already."""
        for operation in self.program.operations[position:]:
            if operation["op"] == "backward" and operation["tape"] == tape:
                loss = operation["loss"]
                return self.arrays.get(loss["array"]) if loss is not None and not loss["view"] else None
        return None

    def end(self, operation: dict[str, Any], position: int) -> None:
        del position
        if self.differentiate and operation["tape"] in self.tapes:
            self.tapes[operation["tape"]].__exit__(None, None, None)

    def backward(self, operation: dict[str, Any], position: int) -> None:
        del position
        number = operation["tape"]
        loss = self.reference(operation["loss"]) if operation["loss"] is not None else None
        seeds = [self.reference(seed) for seed in operation["seeds"]]
        if operation["given"] or operation["held"]:
            if self.differentiate:
                pairs = zip(seeds, operation["given"], strict=False)
                given = {seed: self.given(seed, value) for seed, value in pairs}
                self.tapes[number].backward(**({} if operation["held"] else {"grads": given}))
            return
        targets = [loss] if loss is not None else seeds
        if not targets and self.program.plan["objective"] is not None:
            if self.differentiate:
                self.tapes[number].backward()
            return
        if not targets:
            raise Unsupported("backward is called with neither a loss nor seeds")
        self.final = np.concatenate([self.floats(target) for target in targets])
        self.losses.append((self.begun.get(number, 0.0), float(self.final.sum())))
        if not self.differentiate:
            return
        tape = self.tapes[number]
        if loss is not None and loss.size == 1 and not seeds:
            tape.backward(loss)
        else:
            tape.backward(grads={target: wp.ones_like(target, requires_grad=False) for target in targets})

    def given(self, seed: Any, value: dict[str, Any] | None) -> Any:
        """The gradient that a sweep is given for an array."""
        return wp.ones_like(seed, requires_grad=False) if value is None else self.reference(value)

    def zero(self, operation: dict[str, Any], position: int) -> None:
        del position
        if not self.differentiate:
            return
        if operation["tape"] is not None and operation["tape"] in self.tapes:
            self.tapes[operation["tape"]].zero()
        elif operation["array"] is not None:
            array = self.reference(operation["array"])
            if array.grad is not None:
                array.grad.zero_()

    def read(self, operation: dict[str, Any], position: int) -> None:
        del position
        number = operation["array"]["array"]
        if number in self.program.plan["inputs"]:
            self.gradients[number] = self.gradient(number)

    # --- helpers ---

    def gradient(self, number: int) -> np.ndarray | None:
        array = self.arrays.get(number)
        if array is None or not self.differentiate or array.grad is None:
            return None
        return np.array(array.grad.numpy(), copy=True)

    def array(self, number: int) -> Any:
        """An array, or the gradient of one; None where there is none."""
        if number >= 0:
            return self.arrays.get(number)
        owner = self.arrays.get(-1 - number)
        return None if owner is None else owner.grad

    def reference(self, value: dict[str, Any]) -> Any:
        array = self.array(value["array"])
        if array is None:
            raise Unsupported("the program uses an array before it is allocated")
        return viewed(array, value["view"])

    def contents(self, value: dict[str, Any]) -> np.ndarray:
        """What an array holds now, for host code to compute with."""
        return np.array(self.reference(value).numpy(), copy=True)

    def floats(self, array: Any) -> np.ndarray:
        parts = [np.asarray(data, dtype=np.float64).ravel() for _, data in views(np.asarray(array.numpy()))]
        return np.concatenate(parts) if parts else np.zeros(0)
