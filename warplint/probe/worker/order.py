"""Whether the threads of a launch depend on each other: the CPU device runs them in order, and a GPU in any.

The kernel is launched as it is, in reverse order, and one thread at a time from the same arrays. Two threads race where
the first two give something else, or where both change one element that neither of them leaves to the other.
"""

from __future__ import annotations

import ast
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import warp as wp

from warplint.probe.worker import clock, isolate
from warplint.probe.worker.account import inconclusive
from warplint.probe.worker.experiment import Buffer
from warplint.probe.worker.handles import Unsupported
from warplint.probe.worker.inputs import Draw, Profile
from warplint.probe.worker.loading import compile_kernel, load_script
from warplint.probe.worker.usage import Usage

_SETS = 6
_THREADS = 6


def ordered(script: str, target: str, scratch: Path, deadline: float) -> dict[str, Any]:
    """The verdict as JSON. No launch begins after ``deadline``, a time of ``clock.now``."""
    plain = _kernel(script, target, scratch, "")
    last = f"{_THREADS - 1}"
    backwards = _kernel(rewritten(script, f"{last} - INDEX"), target, scratch, "_back")
    single = [
        _kernel(rewritten(script, f"INDEX + {thread}"), target, scratch, f"_{thread}") for thread in range(_THREADS)
    ]
    compared = 0
    for seed in range(_SETS):
        left = deadline - clock.now()
        if left < 1.0:
            break
        outcome = isolate.run(partial(_one, plain, backwards, single, seed), scratch, min(left, 15.0))
        if outcome.ended != "returned":
            continue
        if outcome.result["differs"]:
            return {"verdict": "confirmed", "detail": outcome.result["said"], "numbers": {}}
        compared += outcome.result["changed"]
    if compared >= 3:
        detail = f"{_THREADS} threads in a row, in either order, give the same with {compared} sets of inputs"
        return {"verdict": "refuted", "detail": detail, "numbers": {}}
    return inconclusive("no inputs were found that it runs with")


def _kernel(text: str, target: str, scratch: Path, suffix: str) -> Any:
    kernel = getattr(load_script(text, scratch, suffix), target)
    if not isinstance(kernel, wp.Kernel) or kernel.is_generic:
        raise Unsupported("it is no kernel of fixed types")
    compile_kernel(kernel, "cpu")
    return kernel


def _one(plain: Any, backwards: Any, single: list[Any], seed: int, stage: isolate.Stage) -> dict[str, Any]:
    stage.set("forward")
    return _compare(plain, backwards, single, seed)


def _compare(plain: Any, backwards: Any, single: list[Any], seed: int) -> dict[str, Any]:
    profile = Profile(seed=seed, threads=_THREADS, extent=4 * _THREADS, limit=3, signs=seed % 2 == 1)
    arguments = Draw(Usage(plain), profile, "cpu").arguments({one.label: one.type for one in plain.adj.args})
    if tuple(np.atleast_1d(arguments.dim)) != (_THREADS,) * len(np.atleast_1d(arguments.dim)):
        raise Unsupported("it is not launched over that many threads")
    buffers = [Buffer(array) for array in arguments.arrays]
    for buffer in buffers:
        if buffer.initial.dtype.kind in "iu":
            buffer.initial //= 2  # threads that share an index meet

    def result(kernel: Any, dim: Any) -> list[np.ndarray]:
        for buffer in buffers:
            buffer.restore()
        wp.launch(kernel, dim=dim, inputs=arguments.values, device="cpu")
        return [np.array(buffer.array.numpy(), copy=True) for buffer in buffers]

    results = [result(plain, arguments.dim), result(backwards, arguments.dim)]
    changed = any(not _same(buffer.initial, result) for buffer, result in zip(buffers, results[0], strict=True))
    for forward, reverse in zip(*results, strict=True):
        if not _same(forward, reverse):
            one, other = forward.ravel(), reverse.ravel()
            at = next(n for n in range(one.size) if not _same(one[n : n + 1], other[n : n + 1]))
            said = f"element {at} becomes {one[at]} with the threads in order, and {other[at]} in reverse order"
            return {"differs": True, "said": said, "changed": changed}
    said = ""
    if len(np.atleast_1d(arguments.dim)) == 1:
        alone = [result(kernel, 1) for kernel in single]
        said = next(filter(None, (_lost(n, buffers[n].initial, results[0], alone) for n in range(len(buffers)))), "")
    return {"differs": bool(said), "said": said, "changed": changed}


def depends_on_order(kernel: Any, backwards: Any, usage: Usage, profile: Profile, stage: isolate.Stage) -> bool:
    """Whether a launch of ``kernel`` gives something else than one of ``backwards``, which is the same kernel with
    its thread indices reversed. ``usage`` is that of the first."""
    stage.set("forward")
    results = []
    for one in (kernel, backwards):
        arguments = Draw(usage, profile, "cpu").arguments({argument.label: argument.type for argument in one.adj.args})
        if not np.all(np.atleast_1d(arguments.dim) == profile.threads):
            return False  # other indices than those that were reversed
        before = [np.array(array.numpy(), copy=True) for array in arguments.arrays]
        wp.launch(one, dim=arguments.dim, inputs=arguments.values, device="cpu", record_tape=False)
        after = [np.array(array.numpy(), copy=True) for array in arguments.arrays]
        results.append((before, after))
    (begun, forward), (other, reverse) = results
    return all(map(_same, begun, other)) and not all(map(_same, forward, reverse))


def _lost(number: int, initial: np.ndarray, together: list[np.ndarray], alone: list[list[np.ndarray]]) -> str:
    """What two threads change, each from what it found, so that the one may overwrite what the other did."""
    whole, before = together[number].ravel(), initial.ravel()
    if whole.dtype.kind not in "fiu":
        return ""
    for at in range(before.size):
        own = [(thread, result[number].ravel()[at]) for thread, result in enumerate(alone)]
        own = [(thread, value) for thread, value in own if not np.isclose(value, before[at])]
        if len(own) > 1 and all(not np.isclose(value, whole[at]) for _, value in own):
            (one, first), (other, second) = own[:2]
            return (
                f"threads {one} and {other} both change element {at}, to {first} and {second} from {before[at]}; in a "
                f"row they make it {whole[at]}, at once either is lost"
            )
    return ""


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    if one.dtype.kind == "f":
        return bool(np.allclose(one, other, rtol=1e-5, atol=1e-6, equal_nan=True))
    return one.tobytes() == other.tobytes()


def rewritten(script: str, index: str) -> str:
    """``script`` with each index that ``wp.tid()`` gives, in kernels and in what they call, replaced by ``index`` of
    it."""
    tree = _Indices(index).visit(ast.parse(script))
    return ast.unparse(ast.fix_missing_locations(tree))


class _Indices(ast.NodeTransformer):
    """Replaces thread indices, also those that several names are set to at once."""

    def __init__(self, index: str) -> None:
        self._index = index

    def visit_Assign(self, node: ast.Assign) -> Any:
        target = node.targets[0]
        if not (_is_tid(node.value) and isinstance(target, ast.Tuple)):
            return self.generic_visit(node)
        names = [element.id for element in target.elts if isinstance(element, ast.Name)]
        fresh = [f"{name}_given" for name in names]
        given = ast.parse(f"{', '.join(fresh)} = wp_tid_()").body[0]
        assert isinstance(given, ast.Assign)
        given.value = node.value
        pairs = zip(names, fresh, strict=True)
        return [given, *(ast.parse(f"{a} = {self._index.replace('INDEX', b)}").body[0] for a, b in pairs)]

    def visit_Call(self, node: ast.Call) -> Any:
        if not _is_tid(node):
            return self.generic_visit(node)
        replaced = ast.parse(f"({self._index.replace('INDEX', 'given')})", mode="eval").body
        for inner in ast.walk(replaced):
            for name, value in ast.iter_fields(inner):
                if isinstance(value, ast.Name) and value.id == "given":
                    setattr(inner, name, node)
        return replaced


def _is_tid(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "tid"
