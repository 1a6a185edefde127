"""Generators: functions of the project that yield.

A loop over one runs the generator's body, and at each ``yield`` its own body, so that both are interleaved as Python
does it. Anything else that takes from a generator gets all that it yields, made at once when it first takes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from warplint.tapes.values import GeneratorValue, ListValue, Value

if TYPE_CHECKING:
    from warplint.tapes.machine import Machine


class Abandoned(Exception):
    """Nobody takes from a generator any more."""


def drained(machine: Machine, generator: GeneratorValue) -> ListValue:
    """What a generator still yields, as an iterator over it."""
    if generator.left is None:
        generator.left = ListValue([])
        if machine.may_enter(generator.definition):
            items = generator.left.items

            def keep(value: Value) -> None:
                items.append(value)
                if generator.most is not None and len(items) >= generator.most:
                    raise Abandoned

            _run(machine, generator, keep)
        else:
            generator.left.open = True
    return generator.left


def loop(machine: Machine, generator: GeneratorValue, body: Callable[[Value], bool]) -> None:
    """Run a generator with ``body`` at each ``yield``, which says whether it wants more."""
    generator.left = ListValue([])
    taken = 0

    def at_yield(value: Value) -> None:
        nonlocal taken
        taken += 1
        with machine.suspended(generator.definition):
            goes_on = body(value)
        if not goes_on or (generator.most is not None and taken >= generator.most):
            raise Abandoned

    _run(machine, generator, at_yield)


def _run(machine: Machine, generator: GeneratorValue, at_yield: Callable[[Value], None]) -> None:
    depth, handlers = machine.recorder.depth, len(machine.handlers)
    number = 0

    def told(value: Value) -> None:
        nonlocal number
        number += 1
        at_yield((generator.first + number - 1, value) if generator.first is not None else value)

    generator.frame.on_yield = told
    if generator.most == 0:
        return
    try:
        machine.run(generator.definition, generator.site, generator.frame)
    except Abandoned:
        machine.recorder.restore(depth)
        del machine.handlers[handlers:]
