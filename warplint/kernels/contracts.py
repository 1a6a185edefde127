"""Facts about what Warp's compiler refuses, or treats otherwise than a reader would."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

from warplint.ir.facts import Fact, Label
from warplint.ir.programs import DefinitionRef, KernelProgram
from warplint.ir.spans import Location
from warplint.kernels import volumes
from warplint.kernels.constants import Closure
from warplint.kernels.knowledge import Knowledge
from warplint.kernels.making import Teller
from warplint.kernels.races import Race, races
from warplint.kernels.semantics import Difference, differences
from warplint.kernels.trace import Refusal, Sampling, Trace
from warplint.source.project import Definition

#: Refusals that have a kind of fact of their own, by what they are called in the trace.
_KINDS = {"constant-mutated": "constant-mutated-in-loop", "volume-gradient": "volume-gradient-shape"}

#: The kinds of the facts that are made here.
KINDS = frozenset(
    {
        *_KINDS.values(),
        "adjoint-unreached",
        "element-race",
        "python-semantics",
        "unsupported-in-kernel",
        "volume-sampling-mode",
    }
)

_DIFFERENCES = {
    "remainder": "`{code}` can be negative: the remainder then is negative or zero, where Python's is not",
    "rounding": "halves are rounded away from zero, where Python takes the even neighbour",
    "one-branch": "only one arm of the branch before it sets `{code}`: after the other arm it holds anything",
}
_SAMPLINGS = {
    "whole-volume": "integers are not interpolated: what `LINEAR` gives for them is no value of the volume",
    "closest-gradient": "the gradient of `CLOSEST` is zero everywhere",
    "index-space": "the gradient is one per voxel, and is used as one per unit of length",
}


class Contracts(Teller):
    """Makes these facts of one trace."""

    def __init__(self, knowledge: Knowledge, trace: Trace, closure: Closure) -> None:
        super().__init__(trace, closure, ())
        self._knowledge = knowledge

    def all(self) -> Iterator[Fact]:
        """All of them."""
        yield from self._refusals()
        seen: set[object] = set()
        for difference in differences(self._knowledge, self._trace):
            if (difference.span, difference.what) not in seen:
                seen.add((difference.span, difference.what))
                yield self._otherwise(difference)
        for sampling, what, question in volumes.misread(self._trace):
            yield self._misread(sampling, what, question)
        if self._knowledge.decorations.role(self._definition) == "kernel":
            for race in races(self._trace):
                yield self._race(race)

    def _asking(self, fact: Fact, question: dict[str, str]) -> Fact:
        assert isinstance(fact.program, KernelProgram)
        return replace(fact, program=replace(fact.program, question=json.dumps(question)))

    def _otherwise(self, found: Difference) -> Fact:
        reason = _DIFFERENCES[found.what].format(code=self._text(found.code))
        labels = [self._label(found.span, "not what Python makes of it")]
        attributes: dict[str, object] = {"what": found.what, "code": self._text(found.span), "reason": reason}
        return self._asking(self._fact("python-semantics", found.span, attributes, labels), found.question)

    def _misread(self, found: Sampling, what: str, question: dict[str, str]) -> Fact:
        span = self._trace.operations[found.call].span
        attributes: dict[str, object] = {"what": what, "function": found.name, "reason": _SAMPLINGS[what]}
        fact = self._fact("volume-sampling-mode", span, attributes, [self._label(span, "sampled here")])
        return self._asking(fact, question)

    def _race(self, found: Race) -> Fact:
        read, write = found.read.span, found.statement
        labels: list[Label] = [self._label(write, "written by one thread")]
        if read != write:
            labels.append(self._label(read, "read by another one"))
        reason = {
            "neighbour": "another thread writes it, before or after",
            "shared": "threads that find one index in the data lose what the others add",
        }[found.what]
        attributes: dict[str, object] = {
            "what": found.what,
            "target": found.target,
            "read": self._text(read),
            "reason": reason,
        }
        return self._fact("element-race", write, attributes, labels)

    def _refusals(self) -> Iterator[Fact]:
        """All of them."""
        seen: set[tuple[object, str]] = set()
        for refusal in self._trace.refusals:
            kind = _KINDS.get(refusal.what, "unsupported-in-kernel")
            if (refusal.span, kind) not in seen:
                seen.add((refusal.span, kind))
                yield self._refused(kind, refusal)

    def _refused(self, kind: str, refusal: Refusal) -> Fact:
        code = self._definition.module.lines[refusal.span.line - 1][refusal.span.column - 1 :]
        if refusal.span.line == refusal.span.end_line:
            code = self._text(refusal.span)
        attributes: dict[str, object] = {"code": code.partition("  #")[0][:80], "reason": refusal.reason}
        if kind == "unsupported-in-kernel":
            attributes["what"] = refusal.what
        return self._fact(kind, refusal.span, attributes, [self._label(refusal.span, "the compiler refuses this")])


def unreached(definition: Definition) -> Fact:
    """That no analysed tape launches a kernel, which is compiled with an adjoint all the same."""
    path = definition.module.path
    location = Location(path, definition.node.name_span)
    labels = (Label(location, "launched outside tapes alone"),)
    program = KernelProgram(DefinitionRef(path, definition.qualname), (location,))
    attributes = {"kernel": definition.node.name}
    return Fact("adjoint-unreached", location, attributes, labels, definition.qualname, program=program)
