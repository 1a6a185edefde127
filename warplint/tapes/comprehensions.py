"""Code of comprehensions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from warplint.ir import syntax as ir
from warplint.ir.spans import Location
from warplint.tapes import expressions, sequences, targets
from warplint.tapes.code import Bind, Code
from warplint.tapes.frames import Frame
from warplint.tapes.rounds import MAX_ROUNDS
from warplint.tapes.values import DictValue, ListValue, Value, is_key

if TYPE_CHECKING:
    from warplint.tapes.machine import Machine


def make(node: ir.Comprehension, path: Path) -> Code:
    """Code that runs a comprehension of any kind; all that a generator gives is made at once."""
    element = expressions.make(node.element, path)
    key = None if node.key is None else expressions.make(node.key, path)
    clauses = [_Clause(generator, path) for generator in node.generators]
    is_dict = node.kind == "dict"

    def run(machine: Machine, frame: Frame) -> Value:
        inner = Frame(frame.module, frame.scope, {}, frame, "comprehension", frame.cls, frame.receiver)
        result: ListValue | DictValue = DictValue() if is_dict else ListValue([])

        def add() -> None:
            value = element(machine, inner)
            if isinstance(result, ListValue):
                result.items.append(value)
                return
            assert key is not None
            name = key(machine, inner)
            if is_key(name):
                result.entries[name] = value
            else:
                result.open = True

        def rounds(position: int) -> None:
            if position == len(clauses):
                add()
                return
            clause = clauses[position]
            iterable = clause.iterable(machine, inner)
            items, all_of_them = sequences.rounds(machine, iterable)
            if isinstance(result, ListValue):
                result.guessed |= not all_of_them or sequences.guessed(iterable)
            machine.recorder.begin_loop()
            for number, item in enumerate(items):
                if number >= MAX_ROUNDS:
                    result.open = True
                    machine.cut = True
                    break
                machine.tick()
                machine.recorder.round(number)
                clause.target(machine, item, inner)
                if clause.holds(machine, inner):
                    rounds(position + 1)
            machine.recorder.end_loop()

        rounds(0)
        return result

    return run


class _Clause:
    """``for target in iterable if ...``."""

    def __init__(self, generator: ir.Generator, path: Path) -> None:
        self.iterable: Code = expressions.make(generator.iterable, path)
        self.target: Bind = targets.make(generator.target, path)
        self._conditions = [
            (expressions.make(condition, path), Location(path, condition.span)) for condition in generator.conditions
        ]

    def holds(self, machine: Machine, frame: Frame) -> bool:
        """Whether the conditions hold for what the target is bound to."""
        return all(expressions.truth(machine, condition(machine, frame), site) for condition, site in self._conditions)
