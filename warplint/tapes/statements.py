"""Execution of statements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Union

from warplint.ir import syntax as ir
from warplint.ir.spans import Location
from warplint.source.bindings import target_names
from warplint.source.project import Definition
from warplint.tapes import contexts, expressions, hostdata, operators, sequences, shrink
from warplint.tapes.memo import Memo
from warplint.tapes.questions import ROUNDS
from warplint.tapes.trace import BackwardRun
from warplint.tapes.values import GeneratorContext, ListValue, Unknown, Value

if TYPE_CHECKING:
    from warplint.tapes.machine import Frame, Machine


@dataclass(frozen=True, slots=True)
class Return:
    """A function ended with this value."""

    value: Value


#: How a block ended: None is by its last statement.
Signal = Union[Return, Literal["break", "continue"], None]


def execute(machine: Machine, body: tuple[ir.Stmt, ...], frame: Frame) -> Signal:
    """Run the statements of a block."""
    for statement in body:
        machine.budget -= 1
        if machine.budget < 0:
            machine.tick(0)
        signal = _EXECUTE[statement.__class__](machine, statement, frame)
        if signal is not None:
            return signal
    return None


def _assign(machine: Machine, node: ir.Assign, frame: Frame) -> Signal:
    value = machine.evaluate(node.value, frame)
    for target in node.targets:
        if machine.shrunk:
            value = shrink.assigned(frame.module, target, node.value, value)
        sequences.assign(machine, target, value, frame)
    return None


def _aug_assign(machine: Machine, node: ir.AugAssign, frame: Frame) -> Signal:
    left = machine.evaluate(node.target, frame)
    right = machine.evaluate(node.value, frame)
    if isinstance(left, ListValue) and node.operator == "+":
        known = sequences.elements(machine, right)
        if known is None:
            left.open = True
        else:
            left.items.extend(known)
        return None
    if node.operator == "+" and isinstance(right, Unknown) and right.sources:
        machine.recorder.summed(right.sources, machine.location(node, frame))
    hostdata.note_change(machine, left, machine.location(node, frame))
    result = operators.binary(machine, node.operator, left, right)
    if result.__class__ is Unknown and node.operator in ("*", "/"):
        hostdata.note_multiple(machine, left, right, machine.location(node, frame))
    sequences.assign(machine, node.target, result, frame)
    return None


def _ann_assign(machine: Machine, node: ir.AnnAssign, frame: Frame) -> Signal:
    if node.value is not None:
        value = machine.evaluate(node.value, frame)
        if machine.shrunk:
            value = shrink.assigned(frame.module, node.target, node.value, value)
        sequences.assign(machine, node.target, value, frame)
    return None


def _expression(machine: Machine, node: ir.ExprStmt, frame: Frame) -> Signal:
    if not isinstance(node.value, ir.Constant):
        machine.evaluate(node.value, frame)
    return None


def leaves(body: tuple[ir.Stmt, ...]) -> bool:
    """Whether a block does nothing but leave: such a block is a guard, and is not taken without a reason."""
    return bool(body) and isinstance(body[-1], (ir.Raise, ir.Return, ir.Continue, ir.Break))


def _if(machine: Machine, node: ir.If, frame: Frame) -> Signal:
    test = expressions.evaluate(machine, node.test, frame)
    taken = operators.known_truth(test)
    if taken is None:
        default = not leaves(node.body) or leaves(node.orelse)
        site = machine.location(node.test, frame)
        taken = expressions.truth(machine, test, site, default, matters=_matters(node))
    return execute(machine, node.body if taken else node.orelse, frame)


_IDLE = frozenset({"print", "format", "info", "debug", "warning", "warn", "error", "synchronize", "append", "join"})


def _can_matter(node: ir.If) -> bool:
    return any(
        isinstance(inner, (ir.Return, ir.Break, ir.Continue))
        or (isinstance(inner, ir.Call) and _tail(inner.func) not in _IDLE)
        for statement in (*node.body, *node.orelse)
        if not isinstance(statement, ir.Raise)
        for inner in ir.walk(statement)
    )


#: Whether what is behind a condition can make a difference to a trace.
_matters = Memo(_can_matter)


def _tail(function: ir.Expr) -> str:
    if isinstance(function, ir.Attribute):
        return function.attr
    return function.id if isinstance(function, ir.Name) else ""


#: Steps of loops that leave no trace, after which such a loop is left: as many as this where there were none before in
#: the run, fewer and fewer after that, and never fewer than the second number.
_IDLE_STEPS = 1000
_FEWEST_IDLE_STEPS = 60
#: Steps of a loop outside every tape, after which it is left in a run with smaller counts.
_FORWARD_STEPS = 1500


class _Rounds:
    """Decides when a loop has gone on for long enough."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._records = len(machine.recorder.trace.records)
        self._budget = machine.budget
        self._idle = machine.idle

    def enough(self, done: int) -> bool:
        """Whether to stop after ``done`` rounds."""
        if done < ROUNDS:
            return False
        records = self._machine.recorder.trace.records
        spent = self._budget - self._machine.budget
        if len(records) == self._records:
            # host code that has nothing to do with arrays
            return spent > max(_FEWEST_IDLE_STEPS, _IDLE_STEPS - self._machine.idle // 2)
        if any(isinstance(record, BackwardRun) for record in records[self._records :]):
            return True  # each round is a tape of its own: three of them show all that repeats
        if self._machine.shrunk and not self._machine.recorder.tapes and spent > _FORWARD_STEPS:
            return True  # a forward pass that is only repeated: no tape sees it
        if done >= expressions.MAX_ROUNDS or spent > self._budget // 2:
            self._machine.cut = True
            return True
        return False

    def finish(self) -> None:
        """The loop was left: if it did nothing with arrays, its steps count as idle."""
        machine = self._machine
        if len(machine.recorder.trace.records) == self._records:
            machine.idle = self._idle + self._budget - machine.budget


def _for(machine: Machine, node: ir.For, frame: Frame) -> Signal:
    items, exact = sequences.rounds(machine, machine.evaluate(node.iterable, frame))
    limit = _Rounds(machine)
    recorder = machine.recorder
    recorder.begin_loop()
    depth = recorder.depth
    broken = False
    try:
        for number, item in enumerate(items):
            if limit.enough(number):
                break
            machine.tick()
            recorder.round(number)
            sequences.assign(machine, node.target, item, frame)
            signal = execute(machine, node.body, frame)
            if signal == "break":
                broken = True
                break
            if isinstance(signal, Return):
                return signal
    finally:
        recorder.restore((depth[0], depth[1]))
        recorder.end_loop()
        limit.finish()
    return None if broken else execute(machine, node.orelse, frame)


def _while(machine: Machine, node: ir.While, frame: Frame) -> Signal:
    limit = _Rounds(machine)
    recorder = machine.recorder
    recorder.begin_loop()
    depth = recorder.depth
    broken = False
    number = unknown = 0
    try:
        while not limit.enough(number):
            machine.tick()
            recorder.round(number)
            known = operators.known_truth(machine.evaluate(node.test, frame))
            if known is False:
                break
            endless = isinstance(node.test, ir.Constant)
            if known is None or endless:
                unknown += 1
                if unknown > ROUNDS:
                    break
            number += 1
            signal = execute(machine, node.body, frame)
            if signal == "break":
                broken = True
                break
            if isinstance(signal, Return):
                return signal
    finally:
        recorder.restore((depth[0], depth[1]))
        recorder.end_loop()
        limit.finish()
    return None if broken else execute(machine, node.orelse, frame)


def _with(machine: Machine, node: ir.With, frame: Frame) -> Signal:
    return _with_items(machine, node, 0, frame)


def _with_items(machine: Machine, node: ir.With, position: int, frame: Frame) -> Signal:
    if position == len(node.items):
        return execute(machine, node.body, frame)
    item = node.items[position]
    value = machine.evaluate(item.context, frame)
    site = machine.location(item.context, frame)
    if isinstance(value, GeneratorContext):
        return _with_generator(machine, node, position, value, frame)
    entered = contexts.enter(machine, value, site)
    if item.target is not None:
        sequences.assign(machine, item.target, entered.result, frame)
    try:
        return _with_items(machine, node, position + 1, frame)
    finally:
        contexts.leave(machine, entered, site)


def _with_generator(machine: Machine, node: ir.With, position: int, manager: GeneratorContext, frame: Frame) -> Signal:
    """The body of the manager's function runs, and at its ``yield`` the body of the ``with`` statement."""
    signals: list[Signal] = []
    definition = manager.definition

    def body(value: Value) -> None:
        target = node.items[position].target
        with machine.suspended():
            if target is not None:
                sequences.assign(machine, target, value, frame)
            signals.append(_with_items(machine, node, position + 1, frame))

    manager.frame.on_yield = body
    machine.run(definition, manager.site, manager.frame)
    return signals[0] if signals else None


def _try(machine: Machine, node: ir.Try, frame: Frame) -> Signal:
    from warplint.tapes.machine import HostError

    depth = machine.recorder.depth
    signal: Signal = None
    around = machine.handlers
    machine.handlers += bool(node.handlers)
    try:
        signal = execute(machine, node.body, frame)
        machine.handlers = around
        if signal is None:
            signal = execute(machine, node.orelse, frame)
    except HostError:
        machine.handlers = around
        machine.recorder.restore(depth)
        if not node.handlers:
            execute(machine, node.final, frame)
            raise
        handler = node.handlers[0]
        if handler.name is not None:
            machine.bind(handler.name, Unknown("error"), frame)
        signal = execute(machine, handler.body, frame)
    final = execute(machine, node.final, frame)
    return signal if final is None else final


def _match(machine: Machine, node: ir.Match, frame: Frame) -> Signal:
    machine.evaluate(node.subject, frame)
    for case in node.cases:
        site = Location(frame.module.path, case.span)
        if case is node.cases[-1] or machine.questions.truth(Unknown("case"), site, True):
            for name in case.names:
                machine.bind(name, Unknown(name), frame)
            return execute(machine, case.body, frame)
    return None


def _return(machine: Machine, node: ir.Return, frame: Frame) -> Signal:
    return Return(None if node.value is None else machine.evaluate(node.value, frame))


def _raise(machine: Machine, node: ir.Raise, frame: Frame) -> Signal:
    from warplint.tapes.machine import HostError

    if machine.handlers:
        raise HostError
    # Nobody handles the error, so in a program that works it does not happen: a condition was taken wrongly.
    frame.raised = True
    return None


def _nothing(machine: Machine, node: ir.Stmt, frame: Frame) -> Signal:
    return None


def _assert(machine: Machine, node: ir.Assert, frame: Frame) -> Signal:
    machine.evaluate(node.test, frame)
    return None


def _delete(machine: Machine, node: ir.Delete, frame: Frame) -> Signal:
    for target in node.targets:
        for name in target_names(target):
            frame.names.pop(name, None)
    return None


def _break(machine: Machine, node: ir.Break, frame: Frame) -> Signal:
    return "break"


def _continue(machine: Machine, node: ir.Continue, frame: Frame) -> Signal:
    return "continue"


def _global(machine: Machine, node: ir.Global, frame: Frame) -> Signal:
    frame.outer |= frozenset(node.names)
    return None


def _import(machine: Machine, node: ir.Import | ir.ImportFrom, frame: Frame) -> Signal:
    for name, alias in node.names:
        if name == "*":
            continue
        bound = alias or (name.partition(".")[0] if isinstance(node, ir.Import) else name)
        found = machine.project.resolve(frame.module, ir.Name(node.span, bound), frame.scope)
        frame.names[bound] = machine.resolved(found, bound)
    return None


def _definition(machine: Machine, node: ir.FunctionDef | ir.ClassDef, frame: Frame) -> Signal:
    closure = None if frame.kind == "module" else frame
    definition = Definition(frame.module, node, frame.scope)
    frame.names[node.name] = machine.definition_value(definition, closure)
    return None


_EXECUTE: dict[type, Callable[[Any, Any, Any], Signal]] = {
    ir.Assign: _assign,
    ir.AugAssign: _aug_assign,
    ir.AnnAssign: _ann_assign,
    ir.ExprStmt: _expression,
    ir.If: _if,
    ir.For: _for,
    ir.While: _while,
    ir.With: _with,
    ir.Try: _try,
    ir.Match: _match,
    ir.Return: _return,
    ir.Raise: _raise,
    ir.Assert: _assert,
    ir.Delete: _delete,
    ir.Break: _break,
    ir.Continue: _continue,
    ir.Pass: _nothing,
    ir.Global: _global,
    ir.Import: _import,
    ir.ImportFrom: _import,
    ir.FunctionDef: _definition,
    ir.ClassDef: _definition,
    ir.TypeAlias: _nothing,
}
