"""The types that generic parameters have where a func is called: Warp compiles its body once for each of them."""

from __future__ import annotations

from dataclasses import replace

from warplint.kernels.types import Type


def is_open(type_: Type) -> bool:
    """Whether a parameter of the type takes values of several types, one of which a call decides on."""
    return type_.kind == "generic" or (
        type_.kind == "array" and type_.element is not None and type_.element.kind == "generic"
    )


def narrowed(declared: Type, given: Type | None) -> Type:
    """What a parameter is where a call passes a value of type ``given`` to it, as far as that says more.

    Widths of numbers are left out: calls that differ in them alone count as one.
    """
    if given is None or not is_open(declared):
        return declared
    if declared.kind == "generic":
        more = given.kind not in ("unknown", "none", "generic") or given.is_value
        return _without_widths(given) if more else declared
    element = given.element if given.kind == "array" else None
    if element is None or element.kind in ("unknown", "generic"):
        return declared
    return replace(declared, element=_without_widths(element))


def key(type_: Type) -> object:
    """The same for equal types, and made of plain values."""
    return (
        type_.kind,
        type_.scalar,
        type_.shape,
        type_.ndim,
        None if type_.element is None else key(type_.element),
        None if type_.struct is None else type_.struct.key,
        tuple(key(part) for part in type_.parts),
    )


def _without_widths(type_: Type) -> Type:
    element = None if type_.element is None else _without_widths(type_.element)
    return replace(type_, exact=None, element=element, parts=tuple(map(_without_widths, type_.parts)))
