"""What Warp's built-in functions return, which operands get a gradient, and which operand values the adjoints read.

The table comes from ``tools/builtins.py``. Kept by hand is only what cannot be read from the native headers.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from warplint.kernels.types import (
    BOOL,
    FLOAT,
    GENERIC,
    HANDLE,
    INT,
    NONE,
    QUAT,
    STRING,
    TILE,
    TRANSFORM,
    UNKNOWN_TYPE,
    VALUE,
    Type,
    array,
    matrix,
    vector,
)

#: Stands for the operation's own result where operand values are listed.
RESULT = -1

# The adjoints of these are overloaded for many types, or call overloaded ones: the headers give no single answer.
_NEEDS: dict[str, dict[int, tuple[int, ...]]] = {
    "add": {0: (), 1: ()},
    "sub": {0: (), 1: ()},
    "neg": {0: ()},
    "pos": {0: ()},
    "copy": {0: ()},
    "float": {0: ()},
    "mul": {0: (1,), 1: (0,)},
    "div": {0: (1,), 1: (0, 1, RESULT)},
    "dot": {0: (1,), 1: (0,)},
    "tensordot": {0: (1,), 1: (0,)},
    # linear in what they turn or move: that operand's adjoint reads the other one alone
    "quat_rotate": {0: (0, 1), 1: (0,)},
    "quat_rotate_inv": {0: (0, 1), 1: (0,)},
    "transform_multiply": {0: (0, 1), 1: (0,)},
    "transform_point": {0: (0, 1), 1: (0,)},
    "transform_vector": {0: (0, 1), 1: (0,)},
    "spatial_dot": {0: (1,), 1: (0,)},
    "spatial_cross": {0: (1,), 1: (0,)},
    "spatial_cross_dual": {0: (1,), 1: (0,)},
    "min": {0: (0, 1), 1: (0, 1)},
    "max": {0: (0, 1), 1: (0, 1)},
    "clamp": {0: (0, 1, 2), 1: (0, 1, 2), 2: (0, 1, 2)},
    "where": {1: (0,), 2: (0,)},
    "select": {1: (0,), 2: (0,)},
    # only the dividend gets a gradient, whatever the operands are
    "mod": {0: ()},
    # tiles: their adjoints are in templates
    "tile": {0: ()},
    "tile_astype": {0: ()},
    "tile_broadcast": {0: ()},
    "tile_dot": {0: (1,), 1: (0,)},
    "tile_extract": {0: ()},
    "tile_fft": {0: ()},
    "tile_ifft": {0: ()},
    "tile_load": {0: ()},
    "tile_matmul": {0: (1,), 1: (0,)},
    "tile_reshape": {0: ()},
    "tile_squeeze": {0: ()},
    "tile_sum": {0: ()},
    "tile_transpose": {0: ()},
    # operations of the record
    "phi": {1: (0,), 2: (0,)},
    "construct": {},
}

#: Operations of the record whose operands all get a gradient and whose adjoints read no value.
LINEAR = frozenset(
    {"construct", "loop", "exit", "item", "insert", "insert_add", "field", "setfield", "return", "copy", "tile_assign"}
)

#: Where a singular or rounding built-in has no derivative: operands that never get a gradient.
_NO_GRADIENT = frozenset({"compare", "logic", "int", "constant", "parameter", "induction", "unknown", "floordiv"})


#: Built-ins that take a random state by reference, with those named ``sample_...``. Noise only reads it.
_DRAWING = frozenset({"randf", "randi", "randn", "randu", "poisson"})

#: Operations that give integers and truth values, which Warp does not differentiate.
_FLAT = frozenset({"int", "compare", "floordiv"})


@cache
def _table() -> dict[str, Any]:
    functions: dict[str, Any] = json.loads(Path(__file__).with_name("builtins.json").read_text(encoding="utf-8"))[
        "functions"
    ]
    return functions


def known(name: str) -> bool:
    """Whether Warp has a built-in of this name."""
    return name in _table()


@cache
def parameters(name: str) -> tuple[str, ...]:
    """The names of the built-in's parameters, from its longest overload."""
    entry = _table().get(name)
    return tuple(entry["parameters"]) if entry else ()


@cache
def counts(name: str) -> frozenset[int]:
    """How many parameters the overloads of the built-in have; empty where some take any number, or it is not known."""
    entry = _table().get(name)
    if entry is None or any(tokens[:1] == ["*"] or "tuple" in tokens for tokens, _ in entry["overloads"]):
        return frozenset()
    return frozenset(len(tokens) for tokens, _ in entry["overloads"])


def takes(name: str, arguments: tuple[Type, ...]) -> bool:
    """Whether some overload of a known built-in takes arguments of these types, the last of its parameters left out."""
    return any(
        len(tokens) >= len(arguments)
        and all(_matches(expected, given) for expected, given in zip(tokens, arguments, strict=False))
        for tokens, _ in _table()[name]["overloads"]
    )


@cache
def taken(name: str, position: int, count: int) -> Type | None:
    """What all overloads of a built-in for ``count`` arguments take at a position: one kind of composite, whose size is
    not known, or any number or composite. None where some take arrays, tiles or other things there."""
    if not known(name) or any(tokens[:1] == ["*"] for tokens, _ in _table()[name]["overloads"]):
        return None
    tokens = {
        tokens[position] if position < len(tokens) else "*"
        for tokens, _ in _overloads(name, count)
        if len(tokens) >= count
    }
    if not tokens or not all(_composite(token) or token in ("float", "int", "scalar") for token in tokens):
        return None
    kinds = {_type(token).kind for token in tokens}
    only = Type(kinds.pop(), "float") if len(kinds) == 1 else VALUE
    return only if only.is_composite else VALUE


def _composite(token: str) -> bool:
    return _type(token).is_composite


def differentiable(name: str) -> bool:
    """Whether some overload of the built-in has an adjoint."""
    entry = _table().get(name)
    return bool(entry and entry["differentiable"])


@cache
def receives(name: str, count: int) -> tuple[int, ...]:
    """The positions of the operands (of ``count``) that can get a gradient from the result."""
    if name in _NO_GRADIENT:
        return ()
    if name in ("phi", "where", "select"):
        return tuple(range(1, count))
    if name in ("insert", "insert_add", "tile_assign"):
        return (0, count - 1)
    if name in ("extract", "load", "view", "exit"):
        return (0,) if name != "exit" else tuple(range(count))
    if name in _NEEDS and name not in ("construct",):
        return tuple(index for index in _NEEDS[name] if index < count)
    if name in LINEAR:
        return tuple(range(count))
    entry = _table().get(name)
    if entry is None or not entry["differentiable"]:
        return ()
    read = entry.get("needs", {}).get(str(count))
    if read is not None:
        return tuple(int(index) for index in read)
    return tuple(range(count))


def draws(name: str) -> bool:
    """Whether the built-in draws a random number, and so changes the state that it is given."""
    return name in _DRAWING or (name.startswith("sample_") and parameters(name)[:1] == ("state",))


def flat(name: str) -> bool:
    """Whether the operation's result is piecewise constant, so that its derivative is truly zero."""
    entry = _table().get(name)
    return name in _FLAT or bool(entry and entry.get("flat"))


def lacking(name: str, arguments: tuple[Type, ...]) -> tuple[int, ...]:
    """The positions of the operands that get no gradient although the true derivative is not zero, as measured."""
    entry = _table().get(name)
    for tokens, positions in entry.get("lacking", ()) if entry else ():
        if len(tokens) == len(arguments) and all(map(_is, tokens, arguments)):
            return tuple(positions)
    return ()


@cache
def needs(name: str, operand: int, count: int) -> tuple[int, ...]:
    """The positions of the operands whose values the adjoint of ``operand`` reads."""
    if name == "extract":
        return tuple(range(1, count))
    if name in ("insert", "insert_add"):
        return tuple(range(1, count - 1)) if operand == count - 1 else ()
    if name in _NEEDS:
        return tuple(index for index in _NEEDS[name].get(operand, ()) if 0 <= index < count)
    if name in LINEAR:
        return ()
    entry = _table().get(name)
    if entry is not None:
        read = entry.get("needs", {}).get(str(count))
        if read is not None:
            return tuple(index for index in read.get(str(operand), ()) if index != RESULT)
    return tuple(range(count))


def needs_result(name: str, operand: int, count: int) -> bool:
    """Whether the adjoint of ``operand`` reads the operation's own result."""
    if name in _NEEDS:
        return RESULT in _NEEDS[name].get(operand, ())
    entry = _table().get(name)
    read = entry.get("needs", {}).get(str(count)) if entry is not None else None
    return read is not None and RESULT in read.get(str(operand), ())


# --- result types ----------------------------------------------------------------------------------


@cache
def _type(token: str) -> Type:
    fixed = {
        "float": FLOAT,
        "scalar": FLOAT,
        "int": INT,
        "bool": BOOL,
        "str": STRING,
        "none": NONE,
        "quat": QUAT,
        "transform": TRANSFORM,
        "handle": HANDLE,
        "tile": TILE,
        "array": array(UNKNOWN_TYPE, None),
    }.get(token)
    if fixed is not None:
        return fixed
    scalar = "int" if token.startswith("i") else "float"
    sizes = [int(digit) for digit in token if digit.isdigit()]
    if "vec" in token:
        return vector(sizes[0] if sizes else 0, scalar)
    if "mat" in token:
        return matrix(sizes[0], sizes[1], scalar) if len(sizes) == 2 else matrix(0, 0, scalar)
    return UNKNOWN_TYPE


def _matches(token: str, type_: Type) -> bool:
    if token == "any" or type_.kind in ("generic", "unknown"):
        return True
    if token in ("float", "int", "bool", "scalar"):
        return (type_.kind in ("float", "int") if token == "scalar" else type_.kind == token) or (
            token == "int" and type_.kind in ("bool", "handle")
        )
    expected = _type(token)
    if expected.kind != type_.kind:
        return False
    if expected.is_composite:
        if expected.scalar != type_.scalar and expected.shape:
            return False
        return not expected.shape or not type_.shape or expected.shape == type_.shape
    return True


def _is(token: str, type_: Type) -> bool:
    """Whether a type is known to be what the token says."""
    return token == "any" or (type_.kind not in ("generic", "unknown") and _matches(token, type_))


def arithmetic(name: str, left: Type, right: Type) -> Type:
    """The type of ``left`` operator ``right``; ``name`` is ``add``, ``sub``, ``mul``, ``div``, ..."""
    found = _arithmetic(name, left, right)
    # Warp wants one scalar type on both sides
    return found.exactly(left.exact if left.exact == right.exact else None)


def _arithmetic(name: str, left: Type, right: Type) -> Type:
    kinds = (left.kind, right.kind)
    if "tile" in kinds:
        return left if left.kind == "tile" else right
    if "unknown" in kinds:
        return UNKNOWN_TYPE
    if "generic" in kinds:
        return _generic((left, right))
    if left.is_composite and right.is_composite and name in ("mul", "matmul"):
        if left.kind == "mat" and right.kind == "vec":
            return vector(left.shape[0] if left.shape else 0, left.scalar)
        if left.kind == "vec" and right.kind == "mat":
            return vector(right.shape[1] if right.shape else 0, left.scalar)
        if left.kind == "mat" and right.kind == "mat" and left.shape and right.shape:
            return matrix(left.shape[0], right.shape[1], left.scalar)
        if left.kind == "transform" and right.kind == "vec":
            return right
        return left
    if left.is_composite:
        return left
    if right.is_composite:
        return right
    if "float" in kinds:
        return FLOAT
    return INT if left.is_integer and right.is_integer else UNKNOWN_TYPE


def _generic(arguments: tuple[Type, ...]) -> Type:
    """What is made of generic arguments: no array or tile if none of them can be one."""
    return VALUE if all(given.kind not in ("generic", "unknown") or given.is_value for given in arguments) else GENERIC


# What these return depends on an argument that is a type, or is of one scalar type whatever their arguments are.
_OF_THEIR_OWN = ("volume_", "texture_", "tile", "rand", "hash_", "mesh_", "atomic_")


def result(name: str, arguments: tuple[Type, ...]) -> Type:
    """The type of a call of a built-in; a tuple type where it returns several values."""
    found = _result_type(name, arguments)
    if found.kind != "float" and not found.is_composite:
        return found.exactly("int32") if name == "tid" and found.kind == "int" else found
    scalars = {given.exact for given in arguments if given.scalar == "float" or given.kind == "float"}
    exact = scalars.pop() if len(scalars) == 1 and found.scalar != "int" else None
    return found if name.startswith(_OF_THEIR_OWN) else found.exactly(exact)


def _result_type(name: str, arguments: tuple[Type, ...]) -> Type:
    if name in ("where", "select") and len(arguments) == 3:
        return arguments[1] if arguments[1].kind != "unknown" else arguments[2]
    if name in ("copy", "pos", "neg", "lerp", "ref") and arguments:
        return arguments[0]
    if name in ("add", "sub", "mul", "div", "mod", "floordiv", "pow") and len(arguments) == 2:
        return arithmetic(name, *arguments)
    if name.startswith("tile"):
        return TILE if _result_token(name, arguments) in ("?", "tile", "any") else _type(_result_token(name, arguments))
    entry = _table().get(name)
    if entry is None:
        return UNKNOWN_TYPE
    for tokens, token in _overloads(name, len(arguments)):
        if tokens[:1] == ["*"] or len(tokens) < len(arguments):
            continue
        if all(_matches(expected, given) for expected, given in zip(tokens, arguments, strict=False)):
            if isinstance(token, str) and any(part in ("vec", "mat") for part in tokens):
                sized = _sized(name, tokens, token, arguments)
                if sized is not None:
                    return sized
            return _result(name, token, arguments)
    if entry["overloads"] and any(given.kind in ("generic", "unknown") for given in arguments):
        return _generic(arguments) if any(given.kind == "generic" for given in arguments) else UNKNOWN_TYPE
    return UNKNOWN_TYPE


@cache
def _overloads(name: str, count: int) -> list[Any]:
    # An overload with as many parameters comes first: the others leave out those that have defaults.
    return sorted(_table()[name]["overloads"], key=lambda pair: len(pair[0]) != count)


def _result_token(name: str, arguments: tuple[Type, ...]) -> str:
    entry = _table().get(name)
    # An overload for as many tiles comes first: without a tile to add to, ``tile_matmul`` makes one.
    tiles = sum(argument.kind == "tile" for argument in arguments)
    for tokens, token in sorted(entry["overloads"], key=lambda pair: pair[0].count("tile") != tiles) if entry else ():
        if len(tokens) >= len(arguments) and isinstance(token, str):
            return str(token)
    return "?"


def _result(name: str, token: str | list[str], arguments: tuple[Type, ...]) -> Type:
    if isinstance(token, list):
        return Type("tuple", parts=tuple(_type(part) for part in token))
    first = next((given for given in arguments if given.is_composite or given.kind == "float"), None)
    if any(given.kind == "generic" for given in arguments) and token not in ("int", "bool", "none", "handle"):
        return _always(name, arguments) or _generic(arguments)
    if token in ("?", "any"):
        return _guess(name, arguments)
    if token == "float" and first is not None and first.is_composite and name in ("lerp",):
        return first
    guessed = _type(token)
    if guessed.is_composite and any(given.kind == guessed.kind and not given.shape for given in arguments):
        guessed = replace(guessed, shape=())  # the first overload that fits may not be the one that is meant
    # ``vec`` and ``mat`` without sizes take them from the argument of the same kind
    if guessed.is_composite and not guessed.shape:
        for given in arguments:
            if given.kind == guessed.kind:
                return given
    return guessed


def _always(name: str, arguments: tuple[Type, ...]) -> Type | None:
    """What all overloads that fit return, where that is of one kind of composite; its sizes are not known."""
    found = {
        _type(token).kind if isinstance(token, str) else ""
        for tokens, token in _overloads(name, len(arguments))
        if len(tokens) >= len(arguments)
        and all(_matches(expected, given) for expected, given in zip(tokens, arguments, strict=False))
    }
    kind = found.pop() if len(found) == 1 else ""
    only = Type(kind, "float")
    return only if only.is_composite else None


def _sized(name: str, tokens: list[str], token: str, arguments: tuple[Type, ...]) -> Type | None:
    """The result of an overload for vectors and matrices of any size: the table was made with sizes of three.

    None where the result is of one size whatever the arguments are.
    """
    result = _type(token)
    if not result.shape or set(result.shape) != {3} or any(given.kind == "generic" for given in arguments):
        return None
    pairs = zip(tokens, arguments, strict=False)
    given = dict(reversed([pair for pair in pairs if pair[0] in ("vec", "mat")]))
    shapes = [one.shape for one in arguments if one.is_composite]
    unsized = replace(result, shape=())
    if not all(shapes) or not shapes:
        return unsized
    if name == "transpose":
        return replace(result, shape=shapes[0][::-1])
    if name == "outer":
        return replace(result, shape=(shapes[0][0], shapes[-1][0]))
    if name == "diag":
        return replace(result, shape=(shapes[0][0], shapes[0][0]))
    if name == "get_diag":
        return replace(result, shape=(min(shapes[0]),))
    same = given.get(result.kind)
    return unsized if same is None else replace(result, shape=same.shape)


def _guess(name: str, arguments: tuple[Type, ...]) -> Type:
    """For results that Warp computes from types in ways of its own: right where all arguments are alike."""
    if not arguments:
        return UNKNOWN_TYPE
    if name in ("transpose", "diag", "get_diag", "outer", "matrix", "vector", "svd3", "qr3", "eig3"):
        return VALUE if any(given.scalar == "float" or given.kind == "float" for given in arguments) else UNKNOWN_TYPE
    return UNKNOWN_TYPE
