"""The examples in the rule files are what they claim: the bad ones are found and confirmed, the good ones are right."""

from __future__ import annotations

import importlib.util
import json
import sys
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from command import run_warplint

from warplint.catalogue.loading import load_catalogue
from warplint.catalogue.rule import Rule
from warplint.catalogue.versions import VersionRange

RULES = load_catalogue()[0].rules


def write_examples(folder: Path) -> dict[str, tuple[Rule, bool]]:
    """Every example as a file of its own; the rule and whether it is a bad one by file name."""
    written = {}
    for rule in RULES:
        for number, example in enumerate(rule.examples):
            name = f"{rule.id.lower()}_{number}_{'bad' if example.bad else 'good'}.py"
            (folder / name).write_text(example.code)
            written[name] = (rule, example.bad)
    return written


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("examples")


def test_bad_ones_are_confirmed_and_good_ones_clean(folder: Path) -> None:
    written = write_examples(folder)
    off = ",".join(rule.id for rule in RULES if not rule.enabled)
    options = ("--extend-select", off, "--device", "cpu", "--show-refuted", "--output-format", "json")
    done = run_warplint(*options, ".", cwd=folder)
    found: dict[str, list[tuple[str, str]]] = {name: [] for name in written}
    for finding in json.loads(done.stdout)["findings"]:
        found[finding["path"]].append((finding["rule"], finding["evidence"]["verdict"]))
    installed = version("warp-lang")
    there = {name for name, (rule, bad) in written.items() if bad and installed in VersionRange.parse(rule.warp)}
    probed = {name: "unprobed" if rule.probe.kind == "none" else "confirmed" for name, (rule, _) in written.items()}
    assert found == {name: [(rule.id, probed[name])] if name in there else [] for name, (rule, _) in written.items()}


# --- an independent check: the tape against central differences, without warplint ---

SIZE, COUNT = 8, 3


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def values(kernel: Any, random: np.random.Generator) -> list[Any]:
    """An argument for each parameter: arrays of SIZE elements between 0.4 and 1.6, counts of COUNT."""
    import warp as wp

    found: list[Any] = []
    for parameter in kernel.adj.args:
        if isinstance(parameter.type, wp.array):
            length = getattr(parameter.type.dtype, "_length_", 1)
            found.append(random.uniform(0.4, 1.6, (SIZE, length) if length > 1 else (SIZE,)))
        else:
            found.append(COUNT if parameter.type is wp.int32 else 0.7)
    return found


def launch(kernel: Any, arguments: list[Any], gradients: bool) -> tuple[list[Any], Any]:
    """One thread of ``kernel``, recorded; the arrays it ran on and the tape."""
    import warp as wp

    arrays = [
        wp.array(value, dtype=parameter.type.dtype, requires_grad=gradients, device="cpu")
        if isinstance(value, np.ndarray)
        else value
        for value, parameter in zip(arguments, kernel.adj.args, strict=True)
    ]
    tape = wp.Tape()
    with tape:
        wp.launch(kernel, dim=1, inputs=arrays, device="cpu")
    return arrays, tape


def total(arrays: list[Any], weights: list[Any]) -> float:
    """A number that depends on every element: the arrays' elements, weighted."""
    return sum(
        float((array.numpy().astype(np.float64) * weight).sum())
        for array, weight in zip(arrays, weights, strict=True)
        if weight is not None
    )


def test_the_gradients_of_good_kernels_agree_with_differences(folder: Path) -> None:
    import warp as wp

    compared = []
    for name, (_, bad) in write_examples(folder).items():
        if bad:
            continue
        module = load(folder / name)
        for kernel in [value for value in vars(module).values() if isinstance(value, wp.Kernel)]:
            if any(type(parameter.type).__name__ == "Struct" for parameter in kernel.adj.args):
                continue  # what a struct holds is for host code to say
            random = np.random.default_rng(7)
            arguments = values(kernel, random)
            weights = [
                random.uniform(0.5, 1.5, value.shape) if isinstance(value, np.ndarray) else None for value in arguments
            ]
            arrays, tape = launch(kernel, arguments, gradients=True)
            seeds = {
                array: wp.array(weight, dtype=array.dtype, device="cpu")
                for array, weight in zip(arrays, weights, strict=True)
                if weight is not None
            }
            tape.backward(grads=seeds)
            for number, value in enumerate(arguments):
                # What the kernel writes has no gradient with respect to what was there before.
                if weights[number] is None or not np.allclose(arrays[number].numpy(), value):
                    continue
                gradient = arrays[number].grad.numpy()
                for index in np.ndindex(*value.shape):
                    sides = []
                    for step in (1e-2, -1e-2):
                        moved = list(arguments)
                        moved[number] = value.copy()
                        moved[number][index] += step
                        sides.append(total(launch(kernel, moved, gradients=False)[0], weights))
                    difference = (sides[0] - sides[1]) / 2e-2
                    # The seed of an input is its own weight, and stays in its gradient.
                    assert gradient[index] == pytest.approx(difference, rel=2e-3, abs=2e-3), (name, kernel.key, index)
                compared.append((name, kernel.key))
    assert len(compared) >= len(RULES)
