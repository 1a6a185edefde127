"""Measures the examples of the rule files, for the documentation: what warplint says of the wrong ones, and how well
the tape's gradient of the right ones agrees with differences that are taken here, without warplint.

``measured()`` takes half a minute, so that ``tools/docs.py`` keeps what it returns in ``docs/measured.json``.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from measure_tapes import sweep_errors

from warplint.catalogue.loading import load_catalogue
from warplint.catalogue.rule import Example, Rule
from warplint.catalogue.versions import VersionRange

ROOT = Path(__file__).resolve().parent.parent

#: The elements of arrays, the value of integers, and the step of the differences.
SIZE, COUNT, STEP = 8, 3, 1e-2


def digest(example: Example) -> str:
    """What tells whether an example is still the one that was measured."""
    return hashlib.sha256(example.code.encode()).hexdigest()[:16]


def write_examples(rules: Iterable[Rule], folder: Path) -> dict[str, tuple[Rule, Example]]:
    """Every example as a file of its own; the rule and the example by file name."""
    written = {}
    for rule in rules:
        for number, example in enumerate(rule.examples):
            name = f"{rule.id.lower()}_{number}_{'bad' if example.bad else 'good'}.py"
            (folder / name).write_text(example.code, encoding="utf-8")
            written[name] = (rule, example)
    return written


def has_defect(rule: Rule) -> bool:
    """Whether the installed Warp has the defect that a rule is about."""
    return version("warp-lang") in VersionRange.parse(rule.warp)


def findings(folder: Path) -> dict[str, Any]:
    """What warplint says, as JSON, of all files in a folder on the CPU, the refuted and the harmless included."""
    off = ",".join(rule.id for rule in load_catalogue()[0].rules if not rule.enabled)
    command = [sys.executable, "-m", "warplint", "--device", "cpu", "--show-refuted", "--min-severity", "info"]
    command += ["--extend-select", off] if off else []
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
    done = subprocess.run(
        [*command, "--output-format", "json", "."],
        cwd=folder,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr)
    document: dict[str, Any] = json.loads(done.stdout)
    # A rule that is off says nothing about the examples of others.
    document["findings"] = [
        finding
        for finding in document["findings"]
        if finding["rule"] not in off.split(",") or finding["path"].startswith(finding["rule"].lower())
    ]
    return document


def measured(rules: Iterable[Rule]) -> dict[str, Any]:
    """For every example of every rule: its digest and, of a wrong one, what was found in it; of a right one, the
    number of derivatives that were compared (of its kernels, or of its sweeps) and by how much the worst was off."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        written = write_examples(rules, folder)
        document = findings(folder)
        found: dict[str, list[dict[str, Any]]] = {}
        for finding in document["findings"]:
            found.setdefault(finding["path"], []).append(finding)
        by_rule: dict[str, list[dict[str, Any]]] = {}
        for path, (rule, example) in written.items():
            entry: dict[str, Any] = {"example": digest(example), "bad": example.bad}
            if example.bad and not has_defect(rule):
                entry |= {"line": None, "message": None, "verdict": "unprobed"}
                entry |= {"detail": f"not measured: Warp {document['warp_version']} does not have this defect"}
            elif example.bad:
                (finding,) = found[path]
                entry |= {key: finding[key] for key in ("line", "message")}
                entry |= {key: finding["evidence"][key] for key in ("verdict", "detail")}
            elif path in found:
                raise SystemExit(f"{rule.id}: {found[path][0]['rule']} is found in what the rule file says is right")
            else:
                # Where the host code is what counts, the kernels by themselves say nothing.
                taped = "wp.Tape(" in example.code
                kernels = [] if taped else compared_kernels(folder / path)
                errors = [error for kernel in kernels for error in kernel.errors]
                errors += sweep_errors(folder / path) if taped else []
                entry |= {"taped": taped, "compared": len(errors), "worst": float(f"{max(errors, default=0.0):.1e}")}
            by_rule.setdefault(rule.id, []).append(entry)
    return {"warp": document["warp_version"], "device": "cpu", "rules": by_rule}


# --- the tape against central differences, without warplint ---


@dataclass(frozen=True, slots=True)
class Compared:
    """A kernel and, for each derivative that was compared, how far the tape was off: absolutely where the derivative
    is small, else relatively."""

    kernel: str
    errors: tuple[float, ...]


def compared_kernels(path: Path) -> list[Compared]:
    """The kernels of a module, each run with one thread on the CPU on random arguments."""
    import warp as wp

    module = _load(path)
    kernels = [value for value in vars(module).values() if isinstance(value, wp.Kernel)]
    # Structs and the like are left out: their members would have to be drawn one by one.
    plain = (wp.int32, wp.float32)
    return [
        Compared(kernel.key, tuple(_errors(kernel)))
        for kernel in kernels
        if all(isinstance(parameter.type, wp.array) or parameter.type in plain for parameter in kernel.adj.args)
    ]


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _values(kernel: Any, random: np.random.Generator) -> list[Any]:
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


def _launch(kernel: Any, arguments: list[Any], gradients: bool) -> tuple[list[Any], Any]:
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


def _total(arrays: list[Any], weights: list[Any]) -> float:
    """A number that depends on every element: the arrays' elements, weighted."""
    return sum(
        float((array.numpy().astype(np.float64) * weight).sum())
        for array, weight in zip(arrays, weights, strict=True)
        if weight is not None
    )


def _errors(kernel: Any) -> Iterable[float]:
    import warp as wp

    random = np.random.default_rng(7)
    arguments = _values(kernel, random)
    weights = [random.uniform(0.5, 1.5, value.shape) if isinstance(value, np.ndarray) else None for value in arguments]
    arrays, tape = _launch(kernel, arguments, gradients=True)
    seeds: Mapping[Any, Any] = {
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
            for step in (STEP, -STEP):
                moved = list(arguments)
                moved[number] = value.copy()
                moved[number][index] += step
                sides.append(_total(_launch(kernel, moved, gradients=False)[0], weights))
            # The seed of an input is its own weight, and stays in its gradient.
            difference = (sides[0] - sides[1]) / (2 * STEP)
            yield abs(float(gradient[index]) - difference) / max(1.0, abs(difference))
