"""Adjoints that are written by hand (``func_grad``): what they read takes the place of what Warp's own would read."""

from __future__ import annotations

from dataclasses import replace

from warplint.ir.effects import Effect, Path
from warplint.kernels.summary import RESULT, Summary
from warplint.kernels.text import source
from warplint.kernels.touched import elements
from warplint.kernels.trace import Operation, Trace

#: Operations that pass an array on, or ask for its size, and read nothing of it.
_PASSED_ON = frozenset({"view", "field", "copy", "len", "extent"})


def needing(summary: Summary, forward: Trace, adjoint: Trace) -> Summary:
    """The summary of a func, with the values that its ``adjoint`` reads for those that Warp's own would.

    The adjoint has the parameters of the func, perhaps by other names, and then the adjoints of its results.
    """
    names = [name for name, _, _ in forward.parameters]
    given = {index: names[at] for at, (_, _, index) in enumerate(adjoint.parameters[: len(names)])}
    read = _read(adjoint, given)
    positions = tuple(sorted({names.index(path[0]) for path in read}))
    loaded = [element for _, element in elements(adjoint, loads=True) if element.array < len(names)]
    known = set(summary.read_elements)
    sources = {source for source, _ in summary.flows}
    touched = {effect.path for effect in summary.effects}
    arrays = [path for path in read if path not in touched and _is_array(adjoint, given, path)]
    return replace(
        summary,
        needs=dict.fromkeys(summary.differentiated, positions),
        effects=(
            *(replace(effect, needed=effect.path in read) for effect in summary.effects),
            *(Effect(path, True, False, False, True, False, True) for path in arrays),
        ),
        read_elements=(*summary.read_elements, *(element for element in loaded if element not in known)),
        needed_elements=frozenset(loaded),
        wanted=frozenset((source, path) for source in sources if source != RESULT for path in read),
    )


def _read(adjoint: Trace, given: dict[int, str]) -> dict[Path, None]:
    """The paths to the inputs whose values the adjoint reads."""
    found: dict[Path, None] = {}
    for operation in adjoint.operations:
        if operation.name in _PASSED_ON:
            continue
        operands = operation.operands[2:] if _is_adjoint(adjoint, operation) else operation.operands
        for operand in operands:
            root, fields = adjoint.root(operand)
            if root in given:
                found[(given[root], *fields)] = None
    return found


def _is_adjoint(trace: Trace, operation: Operation) -> bool:
    """Whether an operation is ``wp.adjoint[parameter]``, or a place in it."""
    if operation.name != "unknown" or len(operation.operands) < 2:
        return False
    named = trace.operations[operation.operands[0]]
    return named.name == "constant" and source(trace.definition.module, named.span).endswith("adjoint")


def _is_array(adjoint: Trace, given: dict[int, str], path: Path) -> bool:
    """Whether the adjoint loads elements at a path."""
    for operation in adjoint.operations:
        if operation.name == "load":
            root, fields = adjoint.root(operation.operands[0])
            if root in given and (given[root], *fields) == path:
                return True
    return False
