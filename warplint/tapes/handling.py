"""Statements around a block: ``with`` and ``try``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from warplint.ir import syntax as ir
from warplint.ir.spans import Location
from warplint.tapes import contexts, errors, expressions, targets
from warplint.tapes.code import Step
from warplint.tapes.frames import Frame, HostError, Signal
from warplint.tapes.values import GeneratorContext, Unknown, Value

if TYPE_CHECKING:
    from warplint.tapes.machine import Machine
    from warplint.tapes.statements import Block


def make_with(node: ir.With, path: Path, block: type[Block]) -> Step:
    """``with ...:``"""
    items = [
        (
            expressions.make(item.context, path),
            None if item.target is None else targets.make(item.target, path),
            Location(path, item.context.span),
        )
        for item in node.items
    ]
    body = block(node.body, path)

    def run(machine: Machine, frame: Frame, position: int = 0) -> Signal:
        if position == len(items):
            return body.run(machine, frame)
        context, target, site = items[position]

        def go_on(result: Value) -> Signal:
            if target is not None:
                target(machine, result, frame)
            return run(machine, frame, position + 1)

        value = context(machine, frame)
        if isinstance(value, GeneratorContext):
            return _in_generator(machine, value, go_on)
        entered = contexts.enter(machine, value, site)
        if target is not None:
            target(machine, entered.result, frame)
        try:
            return run(machine, frame, position + 1)
        finally:
            contexts.leave(machine, entered, site)

    return run


def _in_generator(machine: Machine, manager: GeneratorContext, body: Callable[[Value], Signal]) -> Signal:
    """The body of the manager's function runs, and at its ``yield`` the ``body`` of the ``with`` statement."""
    signals: list[Signal] = []

    def at_yield(value: Value) -> None:
        with machine.suspended(manager.definition):
            signals.append(body(value))

    manager.frame.on_yield = at_yield
    machine.run(manager.definition, manager.site, manager.frame)
    return signals[0] if signals else None


def make_try(node: ir.Try, path: Path, block: type[Block]) -> Step:
    """``try ... except ... else ... finally``."""
    body, orelse, final = (block(part, path) for part in (node.body, node.orelse, node.final))
    # Which handler it would be is often not known: the first that may be it stands for all.
    handlers = [(errors.names_of(part.type), part.name, block(part.body, path)) for part in node.handlers]
    handled = errors.of_statement(node)

    def run(machine: Machine, frame: Frame) -> Signal:
        depth = machine.recorder.depth
        signal: Signal = None
        around = len(machine.handlers)
        if handlers:
            machine.handlers.append(handled)
        try:
            signal = body.run(machine, frame)
            del machine.handlers[around:]
            if signal is None:
                signal = orelse.run(machine, frame)
        except HostError as raised:
            del machine.handlers[around:]
            machine.recorder.restore(depth)
            found = next((part for part in handlers if errors.may_catch(part[0], raised.name)), None)
            if found is None:
                final.run(machine, frame)
                raise
            if found[1] is not None:
                machine.bind(found[1], Unknown("error"), frame)
            signal = found[2].run(machine, frame)
        ended = final.run(machine, frame)
        return signal if ended is None else ended

    return run
