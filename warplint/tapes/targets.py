"""Code of what is assigned to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from warplint.ir import syntax as ir
from warplint.ir.spans import Location
from warplint.tapes import expressions, members, sequences
from warplint.tapes.code import Bind
from warplint.tapes.frames import Frame
from warplint.tapes.values import ArrayValue, Value

if TYPE_CHECKING:
    from warplint.tapes.machine import Machine


def make(target: ir.Expr, path: Path) -> Bind:
    """Code that binds a target of any form."""
    if isinstance(target, ir.Name):
        return _name(target.id)
    if isinstance(target, ir.Attribute):
        return _attribute(target, path)
    if isinstance(target, ir.Subscript):
        return _item(target, path)
    if isinstance(target, (ir.Tuple, ir.List)):
        return _several(target.elements, path)
    if isinstance(target, ir.Starred):
        return make(target.value, path)
    return lambda machine, value, frame: None


def _name(name: str) -> Bind:
    def bind(machine: Machine, value: Value, frame: Frame) -> None:
        if frame.outer:
            machine.bind(name, value, frame)
        else:
            frame.names[name] = value
        if value.__class__ is ArrayValue and not value.storage.name:
            value.storage.name = name

    return bind


def _attribute(target: ir.Attribute, path: Path) -> Bind:
    owner, name, site = expressions.make(target.value, path), target.attr, Location(path, target.span)

    def bind(machine: Machine, value: Value, frame: Frame) -> None:
        members.set_attribute(machine, owner(machine, frame), name, value, site)

    return bind


def _item(target: ir.Subscript, path: Path) -> Bind:
    owner, index = expressions.make(target.value, path), expressions.make(target.index, path)
    site = Location(path, target.span)

    def bind(machine: Machine, value: Value, frame: Frame) -> None:
        sequence = owner(machine, frame)
        sequences.set_item(machine, sequence, index(machine, frame), value, site)

    return bind


def _several(elements: tuple[ir.Expr, ...], path: Path) -> Bind:
    binds = [make(element, path) for element in elements]
    star = next((number for number, element in enumerate(elements) if isinstance(element, ir.Starred)), None)

    def bind(machine: Machine, value: Value, frame: Frame) -> None:
        for inner, part in zip(binds, sequences.unpacked(machine, value, len(binds), star), strict=True):
            inner(machine, part, frame)

    return bind
