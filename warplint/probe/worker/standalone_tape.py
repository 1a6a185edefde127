"""Scripts that stand alone, for tape programs: every operation as a line of Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from warplint.probe.worker.handles import Unsupported
from warplint.probe.worker.inputs import Draw, Profile, views
from warplint.probe.worker.isolate import Stage
from warplint.probe.worker.literals import data_text, host_lines, number_text, type_text
from warplint.probe.worker.quotes import refuse_quotes
from warplint.probe.worker.standalone import Writer, indented, known_as, names_taken
from warplint.probe.worker.tape_job import TapeJob, drawn_direction
from warplint.probe.worker.tape_program import Program, run_program
from warplint.probe.worker.viewing import spelled

_MAIN = '''

def main():
    import numpy as np
    import warp as wp

    wp.config.quiet = True
    wp.config.mode = "debug"
    wp.set_device("cpu")

{data}

    def run(distance):
        """The objective with `{name}` moved by `distance` along a direction, and its derivative as the tape has it."""
        ends, begun = [], {{}}
        gradient = None
{body}
        if gradient is None and {input}.grad is not None:
            gradient = {input}.grad.numpy().copy()
        objective = {objective}
        return objective, 0.0 if gradient is None else {derivative}

    differences = []
    for level in range(10):
        step = 0.03 * 0.5**level
        differences.append((run(step)[0] - run(-step)[0]) / (2.0 * step))
    best = min(range(1, len(differences)), key=lambda k: abs(differences[k] - differences[k - 1]))

    print("along a random direction of {name}")
    print(f"  tape:               {{run(0.0)[1]:.6g}}")
    print(f"  finite differences: {{differences[best]:.6g}}")


if __name__ == "__main__":
    main()
'''


def tape_script(job: dict[str, Any], scratch: Path) -> str:
    """The script of a tape job. Raises Unsupported."""
    worker = TapeJob(job, scratch, "cpu", 1e9)
    if worker.check in ("recording", "contents") or worker.plan["means"] or worker.plan["factor"] != 1.0:
        raise Unsupported("no script shows this comparison")
    worker.load(release=True)
    refuse_quotes(job["script"], worker.module)
    seed, sizes = job["write"]["sets"][0]
    found = worker.one(seed, sizes, Stage(scratch / "stage-script"))
    if found["problem"]:
        raise Unsupported(found["problem"])
    program = Program(worker.plan, worker.module, "cpu", seed, sizes)
    arrays = run_program(program)
    number, direction = found["along"]
    return _Script(program, arrays, number, direction, found["windows"], job["script"]).text(worker.check)


class _Script:
    def __init__(
        self, program: Program, arrays: dict[int, Any], moved: int, direction: int, windows: list[bool], text: str
    ) -> None:
        self.program = program
        self.arrays = arrays
        self.moved = moved
        self.definitions = text
        self.windows = windows
        self.step = drawn_direction(program._initial[moved], moved, direction)
        self.names: dict[int, str] = {}
        self.data: list[str] = []
        self.body: list[str] = []
        drawn = Draw(next(iter(program._usage.values())), Profile(seed=0), "cpu")
        self.writer = Writer(drawn, names_taken(_MAIN, text))
        self._structs: set[int] = set()
        self._ended = 0
        kernels = dict.fromkeys(one["kernel"] for one in program.operations if one["op"] == "launch")
        self._kernels = {name: known_as(name, _MAIN, text) for name in kernels}

    def text(self, check: str) -> str:
        operations = self.program.operations
        for operation in operations:
            if operation["op"] == "allocate":
                self.names[operation["array"]] = self.writer.fresh(_identifier(operation["name"]) or "array")
        for position, operation in enumerate(operations):
            getattr(self, f"_{operation['op']}")(operation, position)
        name = self.names[self.moved]
        wanted = self.program.plan["objective"]
        if wanted is not None:
            objective = f"float({self._float_sum(self._reference(wanted))})"
        elif check == "horizon":
            objective = "sum(ends)"
        else:
            objective = "ends[-1]"
        parts = []
        for path, _ in views(self.step):
            inner = "".join(f"[{one!r}]" for one in path.split(".") if one)
            parts.append(f"float(np.sum(gradient{inner}.astype(np.float64) * {name}_step{inner}))")
        self._host(f"{name}_step", self.step, self.arrays[self.moved].dtype)
        return (
            self.definitions.rstrip()
            + "\n"
            + "".join(naming for _, naming in self._kernels.values())
            + _MAIN.format(
                data=indented([*self.writer.lines, *self.data]),
                body=indented(self.body, 8),
                name=name,
                input=name,
                objective=objective,
                derivative=" + ".join(parts),
            )
        )

    def _host(self, name: str, data: np.ndarray, dtype: Any) -> None:
        self.data += host_lines(name, np.asarray(data), dtype, lambda _: None)

    def _float_sum(self, text: str) -> str:
        return f"{text}.numpy().astype(np.float64).sum()"

    def _reference(self, value: dict[str, Any]) -> str:
        if value["array"] not in self.names:
            raise Unsupported("the program uses an array before it is allocated")
        return self.names[value["array"]] + spelled(str(value["view"]))

    # --- operations ---

    def _allocate(self, operation: dict[str, Any], position: int) -> None:
        del position
        self._make(operation)
        if operation.get("retains"):
            self.body.append(f"{self.names[operation['array']]}.retain_grad = True")

    def _make(self, operation: dict[str, Any]) -> None:
        number = operation["array"]
        name, array = self.names[number], self.arrays[number]
        initial = self.program._initial.get(number)
        grows = f"requires_grad={bool(array.requires_grad)}"
        dtype = type_text(array.dtype)
        like = operation["like"]
        if like is not None and number not in self.program.plan["inputs"]:
            makers = {"zeros_like": "zeros_like", "empty_like": "zeros_like", "ones_like": "ones_like"}
            self.body.append(f"{name} = wp.{makers.get(operation['source'], 'clone')}({self.names[like]}, {grows})")
        elif initial is not None and (number == self.moved or operation["source"] not in ("zeros", "empty", "ones")):
            self._host(f"{name}_data", initial, array.dtype)
            if number == self.moved:
                self.body.append(f"{name}_moved = {name}_data.copy()")
                self.body += self._shifted(f"{name}_moved", f"{name}_step")
                self.body.append(f"{name} = wp.array({name}_moved, dtype={dtype}, {grows})")
            else:
                self.body.append(f"{name} = wp.array({name}_data, dtype={dtype}, {grows})")
        else:
            self.body.append(f"{name} = wp.zeros({tuple(array.shape)}, dtype={dtype}, {grows})")
            if operation["source"] in ("ones", "ones_like"):
                self.body.append(f"{name}.fill_(1)")
            elif operation["source"] == "full" and operation["values"]:
                values = operation["values"]
                text = number_text(values[0]) if len(values) == 1 else f"{dtype}({', '.join(map(str, values))})"
                self.body.append(f"{name}.fill_({text})")

    def _shifted(self, target: str, step: str) -> list[str]:
        paths = ["".join(f"[{one!r}]" for one in path.split(".") if one) for path, _ in views(self.step)]
        return [f"{target}{path}[...] += distance * {step}{path}" for path in paths]

    def _launch(self, operation: dict[str, Any], position: int) -> None:
        del position
        kernel = self.program.kernel(operation["kernel"])
        arguments = [
            self._argument(operation["kernel"], index, (one.label,), one.type, value)
            for index, (one, value) in enumerate(zip(kernel.adj.args, operation["arguments"], strict=False))
        ]
        dim = operation["dim"]
        dim = (4,) * self.program.usage(operation["kernel"]).rank if dim is None else self.program.extents(dim)
        name, _ = self._kernels[operation["kernel"]]
        self.body.append(f"wp.launch({name}, dim={dim}, inputs=[{', '.join(arguments)}])")

    def _argument(self, kernel: str, index: int, path: tuple[str, ...], kind: Any, value: dict[str, Any]) -> str:
        if "array" in value:
            return self._reference(value)
        if "struct" in value:
            known = value["identity"] or -len(self._structs)
            name = f"struct_{abs(known)}"
            if known not in self._structs:
                self._structs.add(known)
                self.body.append(f"{name} = {value['struct']}()")
            for field, inner in value["fields"].items():
                variable = getattr(self.program.module, value["struct"]).vars.get(field)
                if variable is not None:
                    part = self._argument(kernel, index, (*path, field), variable.type, inner)
                    if part != "None":
                        self.body.append(f"{name}.{field} = {part}")
            return name
        if "host" in value:
            raise Unsupported("no script computes what host code computes")
        if "unknown" in value:
            known = self.program._scalars[f"{kernel}.{'.'.join(path)}", index]
            return self.writer.value(path[-1], known, kind)
        found = value["value"]
        if isinstance(found, int) and not isinstance(found, bool):
            return str(self.program._sizes.get(found, found))
        if isinstance(found, list):
            numbers = ", ".join(number_text(one) for one in found)
            return f"{type_text(kind)}({numbers})" if getattr(kind, "_wp_scalar_type_", None) else f"({numbers},)"
        return repr(found)

    def _copy(self, operation: dict[str, Any], position: int) -> None:
        del position
        self.body.append(f"wp.copy({self._reference(operation['target'])}, {self._reference(operation['source'])})")

    def _compute(self, operation: dict[str, Any], position: int) -> None:
        del position
        arrays = [self._reference(one) for one in (*operation["sources"], operation["target"])]
        self.body.append(f"wp.utils.{operation['function']}({', '.join(arrays)})")

    def _fill(self, operation: dict[str, Any], position: int) -> None:
        target, value = self._reference(operation["array"]), operation["value"]
        if "host" in value:
            raise Unsupported("no script computes what host code computes")
        number, view = operation["array"]["array"], operation["array"]["view"]
        array = self.arrays[number]
        if "unknown" in value and number in self.program.plan["inputs"] and not view:
            self._host(f"{target}_host", self.program._initial[number], array.dtype)
            self.body.append(f"{target}_moved = {target}_host.copy()")
            if number == self.moved:
                self.body += self._shifted(f"{target}_moved", f"{target}_step")
            self.body.append(f"{target}.assign({target}_moved)")
        elif "unknown" in value:
            if view or np.asarray(array.numpy()).dtype.names:
                raise Unsupported("the program stores host data that is not known into part of an array")
            rng = np.random.default_rng(self.program.seed * 77 + position)
            data = rng.uniform(0.3, 1.5, array.numpy().shape).astype(array.numpy().dtype)
            self.body.append(f"{target}.assign({data_text(data)})")
        elif value.get("value") is not None:
            self.body.append(f"{target}.fill_({value['value']!r})")
        else:
            self.body.append(f"{target}.zero_()")

    def _begin(self, operation: dict[str, Any], position: int) -> None:
        tape = operation["tape"]
        allocated = {one["array"] for one in self.program.operations[:position] if one["op"] == "allocate"}
        for later in self.program.operations[position:]:
            if later["op"] == "backward" and later["tape"] == tape:
                loss = later["loss"]
                if loss is not None and not loss["view"] and loss["array"] in allocated:
                    self.body.append(f"begun[{tape}] = float({self._float_sum(self._reference(loss))})")
                break
        if not any(one["op"] == "begin" and one["tape"] == tape for one in self.program.operations[:position]):
            self.body.append(f"tape_{tape} = wp.Tape()")
        self.body.append(f"tape_{tape}.__enter__()")

    def _end(self, operation: dict[str, Any], position: int) -> None:
        del position
        self.body.append(f"tape_{operation['tape']}.__exit__(None, None, None)")

    def _backward(self, operation: dict[str, Any], position: int) -> None:
        del position
        tape, loss = operation["tape"], operation["loss"]
        seeds = [self._reference(seed) for seed in operation["seeds"]]
        targets = [self._reference(loss)] if loss is not None else seeds
        if not targets:
            self.body.append(f"tape_{tape}.backward()")
            return
        end = " + ".join(self._float_sum(target) for target in targets)
        adds = self._ended < len(self.windows) and self.windows[self._ended]
        self._ended += 1
        self.body.append(f"ends.append(float({end}){f' - begun.get({tape}, 0.0)' if adds else ''})")
        scalar = loss is not None and not loss["view"] and self.arrays[loss["array"]].size == 1
        if scalar and not seeds:
            self.body.append(f"tape_{tape}.backward({targets[0]})")
        else:
            pairs = ", ".join(f"{target}: wp.ones_like({target}, requires_grad=False)" for target in targets)
            self.body.append(f"tape_{tape}.backward(grads={{{pairs}}})")

    def _zero(self, operation: dict[str, Any], position: int) -> None:
        del position
        if operation["tape"] is not None:
            self.body.append(f"tape_{operation['tape']}.zero()")
        elif operation["array"] is not None:
            target = self._reference(operation["array"])
            self.body += [f"if {target}.grad is not None:", f"    {target}.grad.zero_()"]

    def _read(self, operation: dict[str, Any], position: int) -> None:
        del position
        if operation["array"]["array"] == self.moved:
            target = self.names[self.moved]
            self.body.append(f"gradient = None if {target}.grad is None else {target}.grad.numpy().copy()")


def _identifier(name: str) -> str:
    words = "".join(one if one.isalnum() else "_" for one in name).strip("_")
    return words if words.isidentifier() else ""
