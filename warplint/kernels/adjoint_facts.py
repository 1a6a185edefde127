"""Facts about adjoints that are not finite, that are missing, or that people wrote by hand."""

from __future__ import annotations

from collections.abc import Iterator

from warplint.ir.facts import Fact, Label
from warplint.ir.programs import DefinitionRef, KernelProgram
from warplint.ir.spans import Location, Span
from warplint.kernels import custom
from warplint.kernels.callers import Callers
from warplint.kernels.disabled import WithoutAdjoint, without_adjoint
from warplint.kernels.endless import Endless, endless
from warplint.kernels.knowledge import Knowledge
from warplint.kernels.making import Maker
from warplint.kernels.purpose import purpose
from warplint.kernels.replay import Repeated, Slot, repeated, slots
from warplint.kernels.severed import Severed, SeveredPaths
from warplint.kernels.text import source
from warplint.kernels.trace import Operation
from warplint.kernels.unselected import Unselected, unselected
from warplint.source.project import Definition

_SEVERED_HERE = {
    "piecewise": "piecewise constant: its derivative is zero wherever it has one",
    "built-in": "Warp has no adjoint for this: its gradient is zero",
    "native": "a native function without `adj_snippet`: its gradient is zero",
    "grad": "not differentiated again: its gradient is zero",
}


class AdjointFacts(Maker):
    """Makes these facts of one trace."""

    def all(self) -> Iterator[Fact]:
        """All of them."""
        knowledge, trace, active = self._knowledge, self._trace, self._active
        for where in unselected(knowledge, trace, active, self._places):
            yield self._unselected(where)
        for root in endless(knowledge, trace, active, self._places):
            yield self._endless(root)
        seen: set[tuple[str, Span]] = set()
        for severed in SeveredPaths(knowledge, trace, active).find():
            key = (severed.cause, trace.operations[severed.operation].span)
            if key not in seen:
                seen.add(key)
                yield self._severed(severed)
        for slot in slots(knowledge, trace, active):
            yield self._slot(slot)

    def effects(self) -> Iterator[Fact]:
        """What the funcs that a kernel calls do once more in its reverse sweep."""
        for found in repeated(self._knowledge, self._trace, self._active):
            yield self._repeated(found)

    def compiled_without(self) -> Iterator[Fact]:
        """The funcs that a kernel calls and that get no adjoint from the module of the kernel."""
        for found in without_adjoint(self._knowledge, self._trace, self._active):
            yield self._without(found)

    # --- where ---

    def _unselected(self, found: Unselected) -> Fact:
        call = self._trace.operations[found.where]
        labels = [
            self._label(call.span, "both operands are computed, and both are differentiated"),
            Label(found.place, f"{found.description} where it is not selected"),
        ]
        attributes: dict[str, object] = {
            "operation": "/" if found.operation == "div" else "**" if found.operation == "pow" else found.operation,
            "operand": found.operand,
            "condition": self._text(self._trace.operations[call.operands[found.condition]].span),
            "singular": found.description,
            "function": call.name,
            "active": True,
        }
        return self._fact("unselected-branch", call.span, attributes, labels)

    # --- infinite derivatives ---

    def _endless(self, found: Endless) -> Fact:
        operation = self._trace.operations[found.operation]
        argument = self._trace.operations[found.argument]
        text = self._value(argument)
        labels = [self._label(operation.span, f"finite where `{text}` is zero, and its derivative is not")]
        if argument.span != operation.span and not _inside(argument.span, operation.span):
            labels.append(self._label(argument.span, "this can be zero" if found.reachable else "this may be zero"))
        attributes: dict[str, object] = {
            "expression": self._text(operation.span),
            "function": operation.name,
            "argument": text,
            "reachable": found.reachable,
            "active": True,
        }
        return self._fact("singular-adjoint", operation.span, attributes, labels)

    def _value(self, operation: Operation) -> str:
        """How a value is spelled: the name of a local where its text would be a statement."""
        if operation.name == "parameter":
            return str(operation.detail)
        if operation.name in ("loop", "exit", "phi") and operation.variable:
            return operation.variable
        return self._text(operation.span)

    # --- severed paths ---

    def _severed(self, found: Severed) -> Fact:
        operation = self._trace.operations[found.operation]
        operand = self._trace.operations[found.operand]
        labels = [self._label(operation.span, _SEVERED_HERE[found.cause])]
        text = self._value(operand)
        if operand.span != operation.span and not _inside(operand.span, operation.span):
            labels.append(self._label(operand.span, "differentiated up to here"))
        attributes: dict[str, object] = {
            "cause": found.cause,
            "function": found.function,
            "argument": text,
            "part": found.part,
            "expression": self._text(operation.span),
            "active": True,
        }
        return self._fact("severed-path", operation.span, attributes, labels)

    def _without(self, found: WithoutAdjoint) -> Fact:
        call = self._trace.operations[found.call]
        assert isinstance(call.detail, Definition)
        attributes: dict[str, object] = {
            "kernel": self._definition.node.name,
            "function": call.detail.node.name,
            "argument": self._value(self._trace.operations[found.operand]),
        }
        labels = [self._label(call.span, "compiled as the module is: without an adjoint")]
        return self._fact("func-compiled-without-adjoint", call.span, attributes, labels)

    # --- what the reverse sweep repeats ---

    def _slot(self, found: Slot) -> Fact:
        counter = self._trace.operations[found.counter]
        use = self._trace.operations[found.use]
        labels = [self._label(counter.span, "the reverse sweep does not get the same slot again")]
        if use.span != counter.span:
            labels.append(self._label(use.span, "the slot decides which element this is"))
        attributes: dict[str, object] = {
            "counter": self._text(counter.span),
            "use": self._text(use.span),
            "active": True,
        }
        return self._fact("counter-slot", counter.span, attributes, labels)

    def _repeated(self, found: Repeated) -> Fact:
        call = self._trace.operations[found.call]
        assert isinstance(call.detail, Definition)
        labels = [self._label(call.span, "the reverse sweep runs this once more")]
        attributes: dict[str, object] = {
            "function": call.detail.node.name,
            "array": ".".join(found.array),
            "needed": found.needed,
        }
        return self._fact("repeated-effect", call.span, attributes, labels)


def declared(knowledge: Knowledge, callers: Callers, definition: Definition, role: str) -> Iterator[Fact]:
    """The facts about a ``func_grad`` or ``func_replay``."""
    declaration = custom.declaration(knowledge, definition, role)
    if declaration is None:
        return
    path = definition.module.path
    forward = DefinitionRef(declaration.forward.module.path, declaration.forward.qualname)
    kernels = tuple(
        DefinitionRef(kernel.module.path, kernel.qualname) for kernel in callers.kernels(declaration.forward)
    )

    def fact(kind: str, span: Span, attributes: dict[str, object], text: str, program: KernelProgram | None) -> Fact:
        location = Location(path, span)
        whole = {"function": definition.node.name, "forward": declaration.forward.node.name, **attributes}
        return Fact(kind, location, whole, (Label(location, text),), definition.qualname, program=program)

    name_span = definition.node.name_span
    reason = custom.mismatch(knowledge, declaration)
    if reason is not None:
        refused = KernelProgram(forward, (), ())
        yield fact("custom-signature", name_span, {"role": role, "reason": reason}, "Warp refuses this", refused)
        return
    if role != "func_grad":
        return
    defective = False
    for one in custom.assigned(knowledge, callers, declaration):
        defective = True
        users = tuple(DefinitionRef(user.module.path, user.qualname) for user in one.callers)
        # the func alone has one use of its argument, and is right
        program = KernelProgram(users[0], (), users[1:]) if users else None
        attributes = {
            "parameter": one.parameter,
            "shared": one.shared is not False,
            "statement": source(definition.module, one.span),
        }
        yield fact("adjoint-assigned", one.span, attributes, "what other uses have added is lost here", program)
    for parameter in custom.missing(knowledge, callers, declaration):
        defective = True
        text = f"nothing here adds to the adjoint of `{parameter}`"
        yield fact("adjoint-missing", name_span, {"parameter": parameter}, text, KernelProgram(forward, (), kernels))

    meant = None if defective else purpose(knowledge, declaration)
    if meant is not None:
        whole = Location(declaration.forward.module.path, declaration.forward.node.span)
        text = "this stands for the derivative"
        program = KernelProgram(forward, (whole,), kernels)
        yield fact("custom-adjoint", name_span, {"purpose": meant}, text, program)


def _inside(inner: Span, outer: Span) -> bool:
    return outer.covers(inner)
