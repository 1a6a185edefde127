"""Measures host code: what each ``backward()`` of a program leaves in the gradients of its inputs, against central
differences of the loss that it started from. The program is run as it is, again and again, with moved inputs."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

#: How many numbers an argument that the program asks for has, and the step of the differences.
SIZE, STEP = 3, 1e-2


class _Watched(ast.NodeTransformer):
    """Leads arrays that ask for a gradient, and sweeps, through ``watch``."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = ast.unparse(node.func)
        if name == "wp.array" and any(word.arg == "requires_grad" for word in node.keywords):
            return ast.Call(ast.parse("watch.made", mode="eval").body, [node], [])
        if isinstance(node.func, ast.Attribute) and node.func.attr == "backward":
            return ast.Call(ast.parse("watch.swept", mode="eval").body, [node.func.value, *node.args], [])
        return node


@dataclass
class _Watch:
    """One run. ``moves`` are added to the inputs, by their number and index."""

    moves: dict[tuple[int, int], float] = field(default_factory=dict)
    inputs: list[Any] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    gradients: list[list[Any]] = field(default_factory=list)
    #: Whether all sweeps saw the inputs as they were made.
    unchanged: bool = True

    def made(self, array: Any) -> Any:
        """An input, moved."""
        value = array.numpy().copy()
        for (number, index), step in self.moves.items():
            if number == len(self.inputs):
                value[index] += step
        array.assign(value)
        self.inputs.append(array)
        self.values.append(value)
        return array

    def swept(self, tape: Any, loss: Any) -> None:
        """A sweep."""
        tape.backward(loss)
        self.losses.append(float(loss.numpy()[0]))
        self.gradients.append([array.grad.numpy().copy() for array in self.inputs])
        for array, value in zip(self.inputs, self.values, strict=True):
            self.unchanged &= bool(np.array_equal(array.numpy(), value))


def sweep_errors(path: Path) -> list[float]:
    """For every sweep of the one host function in a module and every number in its inputs, how far the gradient is off:
    absolutely where the derivative is small, else relatively.

    None where the program changes its inputs between sweeps, as then the loss depends on them in other ways as well,
    and where it is not called with lists of numbers, or sweeps from seeds instead of a loss."""
    found = watched(path.read_text(encoding="utf-8"))
    if found is None:
        return []
    text, name = found
    written = path.with_name(f"{path.stem}_watched.py")
    written.write_text(text, encoding="utf-8")
    try:
        return list(errors(vars(_loaded(written)), name))
    finally:
        written.unlink()  # it is no example


def watched(text: str) -> tuple[str, str] | None:
    """A program that leads its inputs and sweeps through ``watch``, and the name of its host function."""
    tree = ast.parse(text)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and not node.decorator_list]
    if len(functions) != 1 or not _takes_lists(functions[0]) or not _sweeps_from_losses(functions[0]):
        return None
    _Watched().visit(functions[0])
    # What the program itself runs is not watched, and done again.
    tree.body = [node for node in tree.body if not isinstance(node, ast.Expr)]
    return ast.unparse(ast.fix_missing_locations(tree)), functions[0].name


def _takes_lists(function: ast.FunctionDef) -> bool:
    """Whether everything that the function asks for is made an array as it is."""
    arguments = function.args.args
    asked = {argument.arg for argument in arguments[: len(arguments) - len(function.args.defaults)]}
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call) and ast.unparse(node.func) == "wp.array"]
    return asked <= {ast.unparse(call.args[0]) for call in calls if call.args}


def _sweeps_from_losses(function: ast.FunctionDef) -> bool:
    """Whether every sweep is told one array to start from."""
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
    sweeps = [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "backward"]
    return all(len(call.args) == 1 and not call.keywords for call in sweeps)


def _loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def errors(scope: dict[str, Any], name: str) -> Iterator[float]:
    """As ``sweep_errors``, of a function in the namespace that a watched program ran in."""
    import warp as wp

    function = scope[name]
    random = np.random.default_rng(7)
    parameters = inspect.signature(function).parameters.values()
    asked = [random.uniform(0.4, 1.6, SIZE).tolist() for item in parameters if item.default is item.empty]

    def run(moves: dict[tuple[int, int], float]) -> _Watch:
        watch = _Watch(moves)
        scope["watch"] = watch
        with wp.ScopedDevice("cpu"):
            function(*asked)
        return watch

    base = run({})
    if not base.unchanged:
        return
    for number, value in enumerate(base.values):
        for index in range(len(value)):
            above, below = (run({(number, index): step}) for step in (STEP, -STEP))
            for sweep, gradients in enumerate(base.gradients):
                difference = (above.losses[sweep] - below.losses[sweep]) / (2 * STEP)
                yield abs(float(gradients[number][index]) - difference) / max(1.0, abs(difference))
