"""Arrays that recorded launches leave out: a kernel asks ``if weights:``, and every tape passes ``None``.

What stands under such a question does not run there, so that a defect in it hurts no analysed tape.
"""

from __future__ import annotations

from dataclasses import replace

from warplint.ir.facts import Fact
from warplint.ir.programs import DefinitionRef, KernelProgram
from warplint.ir.spans import Span
from warplint.kernels.execute import execute
from warplint.kernels.knowledge import Knowledge
from warplint.kernels.trace import Trace
from warplint.source.project import Definition

#: The first labels of a fact are what it is made of; further ones are places beside.
_ESSENTIAL = 2


def marked(knowledge: Knowledge, trace: Trace, fact: Fact, callers: tuple[Definition, ...]) -> Fact:
    """``fact`` with the kernels whose recorded launches never come to it. ``callers``: the kernels it is met in."""
    program = fact.program
    if not isinstance(program, KernelProgram):
        return fact
    needed: frozenset[str] | None = None
    left_out = []
    for kernel in callers or (trace.definition,):
        use = knowledge.uses.get((kernel.module.path, kernel.qualname))
        if use is None or not use.taped or not use.absent:
            continue
        if needed is None:
            needed = _needed(trace, fact)
        if needed and _lacks(knowledge, kernel, trace, needed, use.absent):
            left_out.append(DefinitionRef(kernel.module.path, kernel.qualname))
    return replace(fact, unrecorded=tuple(left_out)) if left_out else fact


def _needed(trace: Trace, fact: Fact) -> frozenset[str]:
    """The array parameters that must be there for what a fact is made of."""
    spans = {fact.location.span, *(label.location.span for label in fact.labels[:_ESSENTIAL])}
    frames = [frame.index for frame in trace.frames if frame.span in spans]
    return frozenset(
        str(asked.detail)
        for frame in (*frames, *_frames(trace, spans))
        for around in trace.around(frame)
        if around.condition is not None and around.kind == "branch" and around.arm
        for asked in (trace.operations[around.condition],)
        if asked.name == "parameter" and asked.type.kind == "array"
    )


def _frames(trace: Trace, spans: set[Span]) -> list[int]:
    found: dict[Span, int] = {}
    for operation in trace.operations:
        if operation.span in spans:
            found.setdefault(operation.span, operation.frame)
    return list(found.values())


def _lacks(
    knowledge: Knowledge, kernel: Definition, trace: Trace, needed: frozenset[str], absent: frozenset[str]
) -> bool:
    """Whether a kernel that is launched without ``absent`` never gives the body all that it needs."""
    if kernel.node is trace.definition.node:
        return bool(needed & absent)
    outer = execute(knowledge, kernel, knowledge.factories.closures(kernel)[0])
    if outer is None:
        return False
    positions = [position for position, (name, _, _) in enumerate(trace.parameters) if name in needed]
    calls = [operation for operation in outer.operations if operation.detail == trace.definition]
    return bool(calls) and all(
        any(
            outer.operations[call.operands[position]].name == "parameter"
            and str(outer.operations[call.operands[position]].detail) in absent
            for position in positions
            if position < len(call.operands)
        )
        for call in calls
    )
