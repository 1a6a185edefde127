"""What makes facts about one trace: labels, places, the program that shows the defect."""

from __future__ import annotations

from collections.abc import Sequence

from warplint.ir.facts import Fact, Label
from warplint.ir.programs import DefinitionRef, KernelProgram
from warplint.ir.spans import Location, Span
from warplint.kernels.activity import Activity
from warplint.kernels.constants import Closure
from warplint.kernels.knowledge import Knowledge
from warplint.kernels.numeric import Place
from warplint.kernels.text import source
from warplint.kernels.trace import Trace
from warplint.source.project import Definition


class Teller:
    """Tells facts about one trace. ``callers`` are the kernels that a func was found in."""

    def __init__(self, trace: Trace, closure: Closure, callers: Sequence[Definition]) -> None:
        self._trace = trace
        definition = trace.definition
        self._path = definition.module.path
        self._definition = definition
        self._kernel = DefinitionRef(self._path, definition.qualname, dict(closure))
        self._callers = tuple(DefinitionRef(caller.module.path, caller.qualname) for caller in callers)

    def _fact(self, kind: str, span: Span, attributes: dict[str, object], labels: list[Label]) -> Fact:
        location = Location(self._path, span)
        program = KernelProgram(self._kernel, (location,), self._callers)
        return Fact(kind, location, attributes, tuple(labels), self._definition.qualname, program=program)

    def _label(self, span: Span, text: str) -> Label:
        return Label(Location(self._path, span), text)

    def _text(self, span: Span) -> str:
        return source(self._definition.module, span)


class Maker(Teller):
    """Makes the facts about the adjoint of one trace. ``places`` is a func's body as its callers run it."""

    def __init__(
        self,
        knowledge: Knowledge,
        trace: Trace,
        active: Activity,
        closure: Closure,
        callers: Sequence[Definition],
        overwrites_handled: bool | None,
        places: Sequence[Place] | None = None,
    ) -> None:
        super().__init__(trace, closure, callers)
        self._knowledge = knowledge
        self._active = active
        self._overwrites_handled = overwrites_handled
        self._places = (Place(trace),) if places is None else places
