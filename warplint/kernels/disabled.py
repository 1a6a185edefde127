"""Funcs that a kernel with an adjoint calls and that have none, since the module of the kernel is compiled without.

A kernel's own ``enable_backward`` beats that of its module, but Warp before 1.18 compiled the funcs that it calls with
the module's (``ModuleBuilder.codegen`` of Warp's ``context.py`` hands its own options to every func): the reverse sweep
of the kernel calls adjoints with empty bodies.
"""

from __future__ import annotations

from collections.abc import Iterator

from warplint.ir import syntax as ir
from warplint.kernels import activity
from warplint.kernels.activity import Activity
from warplint.kernels.knowledge import Knowledge
from warplint.kernels.trace import Trace
from warplint.records import dataclass
from warplint.source.project import Definition


@dataclass(frozen=True, slots=True)
class WithoutAdjoint:
    """A call of such a func, and an operand that gets no gradient through it, both by their index."""

    call: int
    operand: int


def without_adjoint(knowledge: Knowledge, trace: Trace, active: Activity) -> Iterator[WithoutAdjoint]:
    """The calls of a kernel that its gradient should pass and does not."""
    kernel = trace.definition
    if knowledge.decorations.backward_by_default(kernel.module) is not False:
        return
    if not knowledge.decorations.explicit(kernel) or _apart(kernel):
        return
    for operation in trace.operations:
        if operation.name != "call":
            continue
        assert isinstance(operation.detail, Definition)
        # An adjoint that somebody wrote is a func of its own, of which nothing is established here.
        if knowledge.decorations.custom_adjoint(operation.detail) is not None:
            continue
        summary = knowledge.summarise(operation.detail)
        if summary is None:
            continue
        useful = active.useful[operation.index]
        positions = activity.receives(knowledge, operation) if useful else tuple(summary.stored)
        for position in positions:
            if position < len(operation.operands) and active.varied[operation.operands[position]]:
                yield WithoutAdjoint(operation.index, operation.operands[position])
                break


def _apart(kernel: Definition) -> bool:
    """Whether a kernel is put into a module of its own, whose options are other ones."""
    decorators = [decorator for decorator in kernel.node.decorators if isinstance(decorator, ir.Call)]
    return any(decorator.keyword(word) is not None for decorator in decorators for word in ("module", "module_options"))
