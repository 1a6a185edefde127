"""Scripts that stand alone: a decided probe as a file that imports only Warp and numpy, and prints both gradients."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import warp as wp

from warplint.probe.worker.checks import MOVES, silent
from warplint.probe.worker.compat import types
from warplint.probe.worker.experiment import Compared, Experiment
from warplint.probe.worker.handles import Unsupported, recipe
from warplint.probe.worker.inputs import Draw, Profile
from warplint.probe.worker.isolate import Stage
from warplint.probe.worker.kernel_job import KernelJob
from warplint.probe.worker.literals import data_text, host_lines, number_text, type_text
from warplint.probe.worker.loading import wrapper
from warplint.probe.worker.packed import learn
from warplint.probe.worker.quotes import refuse_quotes
from warplint.probe.worker.usage import Usage

_MAIN = """

def main():
    import numpy as np
    import warp as wp

    wp.config.quiet = True
    wp.config.mode = "debug"
    wp.set_device("cpu")

    # --- the arguments ---

{arguments}

    # --- one launch, and what is differentiated: a weighted sum of all that it writes ---

    arrays = [{arrays}]
    start = [array.numpy().copy() for array in arrays]

    def launch():
        for array, data in zip(arrays, start):
            array.assign(data)
        wp.launch({kernel}, dim={dim}, inputs=[{passed}])

{weights}

    def result():
        return np.concatenate([part.astype(np.float64).ravel() for part in ({outputs},)])

    # --- the tape's gradient ---

    tape = wp.Tape()
    with tape:
        launch()
    for array in arrays:
        if array.grad is not None:
            array.grad.zero_()
{seeds}
    tape.backward()
    gradient = float({tape_value})

    where = {where}
    moved = {moved}
    point = float(moved[where])
{differences}

if __name__ == "__main__":
    main()
"""

_SMALL_STEPS = """
    # --- finite differences: the step at which they change least ---

    differences = []
    for level in range(10):
        step = 0.06 * max(abs(point), 0.5) * 0.5**level
        ends = []
        for value in (point + step, point - step):
            moved[where] = value
            launch()
            ends.append((float(moved[where]), result()))
        moved[where] = point
        (high, up), (low, down) = ends
        moving = (up != down) & (weights != 0.0)
        differences.append(float(np.sum((up - down)[moving] * weights[moving])) / (high - low))
    best = min(range(1, len(differences)), key=lambda k: abs(differences[k] - differences[k - 1]))

    print("d/d {label}")
    print(f"  tape:               {{gradient:.6g}}")
    print(f"  finite differences: {{differences[best]:.6g}}")
"""

# Where a derivative is missing, what is rounded or chosen moves by steps: small ones may show nothing.
_LONG_STEPS = """
    # --- what the result changes by as the input moves far ---

    launch()
    before = result()
    for step in {moves}:
        moved[where] = point + step
        launch()
        change = float(np.dot(result() - before, weights))
        moved[where] = point
        if change != 0.0:
            break

    print("d/d {label}")
    print(f"  tape:               {{gradient:.6g}}")
    print(f"  finite differences: {{change / step:.6g}} (a step of {{step}})")
"""

_WORDS = _MAIN + _SMALL_STEPS + _LONG_STEPS


def standalone(job: dict[str, Any], scratch: Path) -> dict[str, Any]:
    """``text``, the script for the verdict ``job["write"]``; or ``problem``, why there is none."""
    try:
        if job["plan"]["kind"] == "tape":
            from warplint.probe.worker.standalone_tape import tape_script

            return {"text": tape_script(job, scratch)}
        return {"text": kernel_script(job, scratch)}
    except Unsupported as error:
        return {"problem": str(error)}


def kernel_script(job: dict[str, Any], scratch: Path) -> str:
    """The script of a kernel job. Raises Unsupported."""
    verdict = job["write"]
    worker = KernelJob({**job, "twin": None}, scratch, "cpu", 1e9)
    if worker.check in ("replay", "compile", "answer", "order"):
        raise Unsupported("this check compares no gradients")
    profile = Profile(**verdict["profiles"][0])
    if profile.guard:
        raise Unsupported("its reverse sweep leaves an array, which nothing guards there")
    target = verdict["target"]
    kernel, _ = worker.compiled(target, worker.choices(target)[verdict["choice"]])
    refuse_quotes(job["script"], worker.module)
    usage = Usage(kernel)
    learn(usage, scratch)
    draw = Draw(usage, profile, "cpu")
    arguments = draw.arguments({argument.label: argument.type for argument in kernel.adj.args})
    if arguments.fixed:
        raise Unsupported("an id is packed in floats, and another run has other ids")
    experiment = Experiment(kernel, arguments, "cpu", profile.seed)
    stage = Stage(scratch / "stage-script")
    missing = worker.check == "zero-adjoint"
    comparison = silent(experiment, stage) if missing else experiment.compare(stage, directed=profile.directed)
    if not comparison.compared:
        raise Unsupported(comparison.problem or "nothing was compared")
    experiment.restore()
    told = verdict["numbers"].get("input") if missing else None
    worst = max(comparison.compared, key=lambda one: (one.leaf == told, *_worth(one)))
    writer = Writer(
        draw, (*re.findall(r"\w+", _WORDS), *re.findall(r"^(?:def|class) (\w+)", job["script"], re.MULTILINE))
    )
    passed = [
        writer.value(argument.label, value, argument.type)
        for argument, value in zip(kernel.adj.args, arguments.values, strict=True)
    ]
    definitions, launched = str(job["script"]), str(target)
    around = wrapper(kernel)
    if around is not None:
        text, kinds = around
        named = [f"{name} = {type_text(kind)}" for name, kind in kinds.items()]
        launched = str(kernel.key)
        definitions += "\n".join(
            ["\nimport warp", "import warp as wp", "", f"probed_ = {target}", *named, "", "", text]
        )
    elif getattr(kernel, "generic_parent", None) is not None:
        # a number that is passed does not say which of the float types was meant
        kinds_text = ", ".join(type_text(argument.type) for argument in kernel.adj.args)
        definitions += f"\nimport warp as wp\n\n{target} = wp.overload({target}, [{kinds_text}])\n"
    launched, naming = known_as(launched, _WORDS, definitions)
    definitions = definitions.rstrip() + "\n" + (f"\n{naming}" if naming else "")
    return definitions + _main(experiment, writer, worst, passed, launched, _LONG_STEPS if missing else _SMALL_STEPS)


def _main(
    experiment: Experiment, writer: Writer, worst: Compared, passed: list[str], kernel: str, differences: str
) -> str:
    leaf = next(one for one in experiment.leaves if worst.label.startswith(one.label + "["))
    index, _, field = worst.label[len(leaf.label) + 1 :].partition("]")
    where = f"({', '.join(part.strip() for part in index.split(','))},)"
    name = writer.names[id(leaf.array)]
    path = "".join(f"[{part!r}]" for part in field.split(".") if part)
    own = experiment.own(leaf, field)
    if differences is _LONG_STEPS and own is not None:
        contents = experiment._view(leaf, field)
        at = tuple(int(part) for part in index.split(","))
        place = own.start + int(np.ravel_multi_index(at, contents.shape))
        elsewhere = float(contents[at]) + MOVES[0]
        if np.isclose(experiment.evaluate(leaf, field, at, elsewhere)[place], elsewhere, rtol=1e-6, atol=0.0):
            experiment.weights[place] = 0.0  # contents that only follow say nothing of the kernel
        experiment.restore()
    weights, outputs, seeds, offset = [], [], [], 0
    for number, (output, part) in enumerate(experiment.outputs):
        array = writer.names[id(output.array)]
        inner = "".join(f"[{step!r}]" for step in part.split(".") if step)
        size = experiment._view(output, part).size
        shape = experiment._view(output, part).shape
        weights.append(f"weights_{number} = {data_text(experiment.weights[offset : offset + size])}")
        outputs.append(f"{array}.numpy(){inner}")
        seeds.append(f"{array}.grad.numpy(){inner}[...] = weights_{number}.reshape({shape})")
        offset += size
    joined = ", ".join(f"weights_{number}" for number in range(len(outputs)))
    weights.append(f"weights = np.concatenate([{joined}])")
    return _MAIN.format(
        arguments=indented(writer.lines),
        arrays=", ".join(writer.names[id(array)] for array in experiment.arguments.arrays),
        kernel=kernel,
        dim=experiment.arguments.dim,
        passed=", ".join(passed),
        weights=indented(weights),
        outputs=", ".join(outputs),
        seeds=indented(seeds),
        tape_value=f"{name}.grad.numpy(){path}[{where}]",
        where=where,
        moved=f"start[{[id(one) for one in experiment.arguments.arrays].index(id(leaf.array))}]{path}",
        differences=differences.format(label=worst.label, moves=MOVES),
    )


def _worth(one: Compared) -> tuple[bool, float]:
    gap = abs(one.tape - one.estimate.value)
    return one.verdict == "wrong", gap if np.isfinite(gap) else 1e30 if one.verdict == "wrong" else abs(one.tape)


def names_taken(main: str, definitions: str) -> set[str]:
    """Names that a script uses already: all words of its main function, and what stands before that."""
    return {*re.findall(r"\w+", main), *re.findall(r"^(?:def|class) (\w+)", definitions, re.MULTILINE)}


# What the main functions of scripts make names of, besides the words of their own.
_MADE = re.compile(r"(?:tape|struct|weights)_\d+|\w+_(?:data|moved|step|host)(?:_\d+)?|(?:\w+_)?\d+")


def known_as(kernel: str, main: str, definitions: str) -> tuple[str, str]:
    """The name of a kernel in ``main``, and a statement that gives it that name: an empty one where its own will do."""
    if kernel not in names_taken(main, "") and not _MADE.fullmatch(kernel):
        return kernel, ""
    taken, name, number = names_taken(main, definitions), f"{kernel}_kernel", 2
    while name in taken:
        name, number = f"{kernel}_kernel{number}", number + 1
    return name, f"{name} = {kernel}\n"


def indented(lines: list[str], columns: int = 4) -> str:
    """Statements as a block of a function."""
    return textwrap.indent("\n".join(lines), " " * columns)


def _object_lines(name: str, kind: str, data: Mapping[str, np.ndarray]) -> list[str]:
    """Statements that make an object as ``handles.make_handle`` made it."""
    lines = [f"{name}_{part} = {data_text(values)}" for part, values in data.items()]
    if kind == "volume":
        return [*lines, f"{name} = wp.Volume.load_from_numpy({name}_values, (-2.0, -2.0, -2.0), 0.5, 0.0)"]
    parts = {
        part: f"wp.array({name}_{part}, dtype={'int' if values.ndim == 1 else 'wp.vec3'})"
        for part, values in data.items()
    }
    if kind == "hash_grid":
        return [*lines, f"{name} = wp.HashGrid(8, 8, 8)", f"{name}.build({parts['points']}, 1.0)"]
    passed = ", ".join(f"{part}={text}" for part, text in parts.items())
    return [*lines, f"{name} = wp.{ {'mesh': 'Mesh', 'bvh': 'Bvh'}[kind] }({passed})"]


class Writer:
    """Writes the arguments that were drawn as statements."""

    def __init__(self, draw: Draw, taken: Iterable[str] = ()) -> None:
        self.lines: list[str] = []
        self.names: dict[int, str] = {}
        self._draw = draw
        self._taken = set(taken)
        self._objects: dict[int, str] = {}

    def value(self, hint: str, value: Any, kind: Any) -> str:
        """An expression for ``value``; the statements that it needs are added to ``lines``."""
        if value is None:
            return "None"
        if types.is_array(kind):
            return self.array(hint, value, kind)
        if hasattr(kind, "vars") and hasattr(kind, "cls"):
            name = self.fresh(hint)
            self.lines.append(f"{name} = {type_text(kind)}()")
            for field, variable in kind.vars.items():
                text = self.value(f"{name}_{field}", getattr(value, field), variable.type)
                self.lines.append(f"{name}.{field} = {text}")
            return name
        if getattr(kind, "_wp_scalar_type_", None) is not None:
            numbers = np.ravel(np.array(value)).tolist()
            return f"{type_text(kind)}({', '.join(number_text(one) for one in numbers)})"
        if isinstance(value, (bool, int, float)):
            return self._object(int(value)) or number_text(value) if kind is wp.uint64 else number_text(value)
        raise Unsupported(f"the argument `{hint}` cannot be written down")

    def array(self, hint: str, value: Any, kind: Any) -> str:
        if not isinstance(value, wp.array) or self._draw.profile.guard:
            raise Unsupported(f"the argument `{hint}` cannot be written down")
        name = self.names[id(value)] = self.fresh(hint)
        instances = self._draw.instances.get(id(value))
        if instances is not None:
            parts = [self.value(f"{name}_{number}", one, value.dtype) for number, one in enumerate(instances)]
            self.lines.append(f"{name} = wp.array([{', '.join(parts)}], dtype={type_text(value.dtype)})")
            return name
        self.lines += host_lines(f"{name}_data", np.asarray(value.numpy()), value.dtype, self._object)
        grows = ", requires_grad=True" if value.requires_grad else ""
        self.lines.append(f"{name} = wp.array({name}_data, dtype={type_text(value.dtype)}{grows})")
        return name

    def _object(self, identity: int) -> str | None:
        """The id of a mesh, a grid or the like as an expression; None if ``identity`` is only a number."""
        made = recipe(identity)
        if made is None:
            return None
        if identity not in self._objects:
            kind, data = made
            name = self._objects[identity] = self.fresh(kind)
            self.lines += _object_lines(name, kind, data)
        return f"{self._objects[identity]}.id"

    def fresh(self, hint: str) -> str:
        """A name that is not taken, after ``hint``."""
        name, number = hint, 2
        while name in self._taken:
            name, number = f"{hint}_{number}", number + 1
        self._taken.add(name)
        return name
