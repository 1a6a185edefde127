"""Code of statements."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from warplint.ir import syntax as ir
from warplint.ir.spans import Location
from warplint.source.project import Definition
from warplint.tapes import (
    errors,
    expressions,
    generators,
    handling,
    hostdata,
    matching,
    operators,
    sequences,
    shrink,
    targets,
)
from warplint.tapes.code import Makers, Step
from warplint.tapes.frames import Frame, HostError, Return, Signal
from warplint.tapes.memo import Memo
from warplint.tapes.questions import ROUNDS
from warplint.tapes.rounds import Rounds
from warplint.tapes.values import DictValue, GeneratorValue, Instance, ListValue, Unknown, Value

if TYPE_CHECKING:
    from warplint.tapes.machine import Machine

_MAKERS: Makers[Step] = Makers()


class Block:
    """The statements of a block, whose code is made when it is first run."""

    __slots__ = ("_body", "_path", "_steps")

    def __init__(self, body: tuple[ir.Stmt, ...], path: Path) -> None:
        self._body = body
        self._path = path
        self._steps: list[Step] | None = None

    def run(self, machine: Machine, frame: Frame) -> Signal:
        """Run the statements; the signal says how the block ended."""
        steps = self._steps
        if steps is None:
            steps = self._steps = [
                _MAKERS.make(statement, self._path) for statement in self._body if not _is_empty(statement)
            ]
        for step in steps:
            machine.budget -= 1
            if machine.budget < machine.floor:
                machine.reached()
            signal = step(machine, frame)
            if signal is not None:
                return signal
        return None


def _is_empty(statement: ir.Stmt) -> bool:
    """Whether a statement does nothing: a docstring."""
    return isinstance(statement, ir.ExprStmt) and isinstance(statement.value, ir.Constant)


_BLOCKS: Makers[Block] = Makers()
_BLOCKS.register({tuple: Block})
#: The code of a block in the file at a path.
block = _BLOCKS.of


# --- simple statements ---


def _assign(node: ir.Assign, path: Path) -> Step:
    inner = expressions.make(node.value, path)
    binds = [(target, targets.make(target, path)) for target in node.targets]

    def run(machine: Machine, frame: Frame) -> Signal:
        value = inner(machine, frame)
        for target, bind in binds:
            if value.__class__ is int:
                value = shrink.assigned(machine, frame.module, target, node.value, value)
            bind(machine, value, frame)
        return None

    return run


def _aug_assign(node: ir.AugAssign, path: Path) -> Step:
    operator, site = node.operator, Location(path, node.span)
    before, inner = expressions.make(node.target, path), expressions.make(node.value, path)
    bind, scales = targets.make(node.target, path), operator in ("*", "/")

    def run(machine: Machine, frame: Frame) -> Signal:
        left = before(machine, frame)
        right = inner(machine, frame)
        if isinstance(left, ListValue) and operator == "+":
            known = sequences.elements(machine, right)
            if known is None:
                left.open = True
            else:
                left.items.extend(known)
            return None
        if isinstance(left, DictValue) and operator == "|" and isinstance(right, DictValue):
            left.entries.update(right.entries)
            left.open = left.open or right.open
            return None
        if operator == "+" and isinstance(right, Unknown) and right.sources:
            machine.recorder.summed(right.sources, site)
        hostdata.note_change(machine, left, site)
        result = operators.binary(machine, operator, left, right)
        if scales and result.__class__ is Unknown:
            hostdata.note_multiple(machine, operator, left, right, site)
        bind(machine, result, frame)
        return None

    return run


def _ann_assign(node: ir.AnnAssign, path: Path) -> Step:
    written = node.value
    if written is None:
        return _nothing
    inner, bind = expressions.make(written, path), targets.make(node.target, path)

    def run(machine: Machine, frame: Frame) -> Signal:
        value = inner(machine, frame)
        if value.__class__ is int:
            value = shrink.assigned(machine, frame.module, node.target, written, value)
        bind(machine, value, frame)
        return None

    return run


def _expression(node: ir.ExprStmt, path: Path) -> Step:
    return _evaluated(node.value, path)


def _assert(node: ir.Assert, path: Path) -> Step:
    return _evaluated(node.test, path)


def _evaluated(node: ir.Expr, path: Path) -> Step:
    inner = expressions.make(node, path)

    def run(machine: Machine, frame: Frame) -> Signal:
        inner(machine, frame)
        return None

    return run


def _nothing(machine: Machine, frame: Frame) -> Signal:
    return None


def _pass(node: ir.Stmt, path: Path) -> Step:
    return _nothing


def _delete(node: ir.Delete, path: Path) -> Step:
    names = [target.id for target in node.targets if isinstance(target, ir.Name)]
    items = [
        (expressions.make(target.value, path), expressions.make(target.index, path))
        for target in node.targets
        if isinstance(target, ir.Subscript)
    ]
    attributes = [
        (expressions.make(target.value, path), target.attr)
        for target in node.targets
        if isinstance(target, ir.Attribute)
    ]

    def run(machine: Machine, frame: Frame) -> Signal:
        for name in names:
            frame.names.pop(name, None)
        for owner, index in items:
            sequences.delete_item(owner(machine, frame), index(machine, frame))
        for owner, name in attributes:
            value = owner(machine, frame)
            if isinstance(value, Instance):
                value.attributes.pop(name, None)
        return None

    return run


def _global(node: ir.Global, path: Path) -> Step:
    names = frozenset(node.names)

    def run(machine: Machine, frame: Frame) -> Signal:
        frame.outer |= names
        return None

    return run


def _import(node: ir.Import | ir.ImportFrom, path: Path) -> Step:
    plain = isinstance(node, ir.Import)
    names = [alias or (name.partition(".")[0] if plain else name) for name, alias in node.names if name != "*"]

    def run(machine: Machine, frame: Frame) -> Signal:
        for name in names:
            found = machine.project.resolve(frame.module, ir.Name(node.span, name), frame.scope)
            frame.names[name] = machine.resolved(found, name)
        return None

    return run


def _definition(node: ir.FunctionDef | ir.ClassDef, path: Path) -> Step:
    def run(machine: Machine, frame: Frame) -> Signal:
        closure = None if frame.kind == "module" else frame
        definition = Definition(frame.module, node, frame.scope)
        frame.names[node.name] = machine.definition_value(definition, closure)
        return None

    return run


# --- jumps ---


def _return(node: ir.Return, path: Path) -> Step:
    if node.value is None:
        nothing = Return(None)
        return lambda machine, frame: nothing
    inner = expressions.make(node.value, path)
    return lambda machine, frame: Return(inner(machine, frame))


def _raise(node: ir.Raise, path: Path) -> Step:
    names = errors.names_of(node.value)
    name = next(iter(names)) if names is not None and len(names) == 1 else ""

    def run(machine: Machine, frame: Frame) -> Signal:
        if any(errors.may_catch(handled, name) for handled in machine.handlers):
            raise HostError(name)
        # Nobody handles the error, so in a program that works it does not happen: a condition was taken wrongly.
        frame.raised = True
        return None

    return run


def _break(node: ir.Break, path: Path) -> Step:
    return lambda machine, frame: "break"


def _continue(node: ir.Continue, path: Path) -> Step:
    return lambda machine, frame: "continue"


# --- conditions ---


def leaves(body: tuple[ir.Stmt, ...]) -> bool:
    """Whether a block does nothing but leave: such a block is a guard, and is not taken without a reason."""
    return bool(body) and isinstance(body[-1], (ir.Raise, ir.Return, ir.Continue, ir.Break))


def _if(node: ir.If, path: Path) -> Step:
    test, site = expressions.make(node.test, path), Location(path, node.test.span)
    body, orelse = Block(node.body, path), Block(node.orelse, path)
    default = not leaves(node.body) or leaves(node.orelse)
    if default and node.orelse and _only_reports(node.body) and not _only_reports(node.orelse):
        default = False

    def run(machine: Machine, frame: Frame) -> Signal:
        value = test(machine, frame)
        taken = operators.known_truth(value)
        if taken is None:
            taken = expressions.truth(machine, value, site, default, matters=_matters(node))
        return body.run(machine, frame) if taken else orelse.run(machine, frame)

    return run


_REPORTS = frozenset({"print", "info", "debug", "warning", "warn", "error", "exception", "critical"})


def _only_reports(body: tuple[ir.Stmt, ...]) -> bool:
    """Whether a block does nothing but tell somebody: what is done in the other case is the work."""
    return all(
        isinstance(statement, ir.ExprStmt)
        and isinstance(statement.value, ir.Call)
        and _tail(statement.value.func) in _REPORTS
        for statement in body
    )


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


def _match(node: ir.Match, path: Path) -> Step:
    return matching.make(node, path, Block)


# --- loops ---


def _for(node: ir.For, path: Path) -> Step:
    iterable, target = expressions.make(node.iterable, path), targets.make(node.target, path)
    body, orelse = Block(node.body, path), Block(node.orelse, path)

    def over_generator(machine: Machine, frame: Frame, generator: GeneratorValue) -> Signal:
        """The body runs at each ``yield`` of a generator."""
        limit = Rounds(machine)
        number = 0
        ended: Signal = None

        def taken(item: Value) -> bool:
            nonlocal number, ended
            if limit.enough(number):
                return False
            number += 1
            machine.tick()
            target(machine, item, frame)
            signal = body.run(machine, frame)
            if signal is not None and signal != "continue":
                ended = signal
                return False
            return True

        generators.loop(machine, generator, taken)
        limit.finish()
        if ended is not None:
            return None if ended == "break" else ended
        return orelse.run(machine, frame)

    def run(machine: Machine, frame: Frame) -> Signal:
        over = iterable(machine, frame)
        if over.__class__ is GeneratorValue and over.left is None and machine.may_enter(over.definition):
            return over_generator(machine, frame, over)
        items, _ = sequences.rounds(machine, over)
        limit = Rounds(machine)
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
                target(machine, item, frame)
                signal = body.run(machine, frame)
                if signal == "break":
                    broken = True
                    break
                if isinstance(signal, Return):
                    return signal
        except HostError:
            recorder.restore(depth)
            raise
        finally:
            recorder.end_loop()
            limit.finish()
        return None if broken else orelse.run(machine, frame)

    return run


def _while(node: ir.While, path: Path) -> Step:
    test, endless = expressions.make(node.test, path), isinstance(node.test, ir.Constant)
    body, orelse = Block(node.body, path), Block(node.orelse, path)

    def run(machine: Machine, frame: Frame) -> Signal:
        limit = Rounds(machine)
        recorder = machine.recorder
        recorder.begin_loop()
        depth = recorder.depth
        broken = False
        number = unknown = 0
        try:
            while not limit.enough(number):
                machine.tick()
                recorder.round(number)
                known = operators.known_truth(test(machine, frame))
                if known is False:
                    break
                if known is None or endless:
                    unknown += 1
                    if unknown > ROUNDS:
                        break
                number += 1
                signal = body.run(machine, frame)
                if signal == "break":
                    broken = True
                    break
                if isinstance(signal, Return):
                    return signal
        except HostError:
            recorder.restore(depth)
            raise
        finally:
            recorder.end_loop()
            limit.finish()
        return None if broken else orelse.run(machine, frame)

    return run


# --- contexts and errors ---


def _with(node: ir.With, path: Path) -> Step:
    return handling.make_with(node, path, Block)


def _try(node: ir.Try, path: Path) -> Step:
    return handling.make_try(node, path, Block)


_MAKERS.register(
    {
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
        ir.Pass: _pass,
        ir.Global: _global,
        ir.Import: _import,
        ir.ImportFrom: _import,
        ir.FunctionDef: _definition,
        ir.ClassDef: _definition,
        ir.TypeAlias: _pass,
    }
)
