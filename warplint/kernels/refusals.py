"""What Warp's compiler refuses about the types of values: it converts none of them by itself.

Every question here is answered with a reason, or with None where the compiler takes it or that is not known: types that
are not certain are never a reason. Mirrors ``Adjoint.add_call`` and ``resolve_func`` (``warp/_src/codegen.py``) and the
``*_value_func`` functions of ``warp/_src/builtins.py``.
"""

from __future__ import annotations

from warplint.kernels import builtins
from warplint.kernels.types import Type

#: Operators whose two operands must be of one scalar type, by Warp's name for them.
_ARITHMETIC = {"add": "+", "sub": "-", "mul": "*", "div": "/", "mod": "%", "floordiv": "//"}
_BITS = {"bit_and": "&", "bit_or": "|", "bit_xor": "^", "lshift": "<<", "rshift": ">>"}
#: Built-ins whose arguments at these positions must be of one type.
_ALIKE = {"min": (0, 1), "max": (0, 1), "clamp": (0, 1, 2), "where": (1, 2), "atan2": (0, 1)}
_NUMBERS = ("float", "int")
_PLAIN = ("float", "int", "bool")
#: Kinds that the table of built-ins tells apart well enough to say that no overload takes them.
_TOLD_APART = ("float", "int", "vec", "mat", "quat")
_COMPONENTS = "xyzw"


def spelled(type_: Type) -> str:
    """A type as its user would write it."""
    scalar = type_.exact or type_.scalar or type_.kind
    if type_.kind in _PLAIN:
        return type_.exact or type_.kind
    if type_.kind == "array":
        element = "" if type_.element is None else spelled(type_.element)
        return f"array of {element}" if element else "array"
    if type_.is_composite:
        sizes = " by ".join(str(size) for size in type_.shape)
        name = {"vec": "vector", "mat": "matrix", "quat": "quaternion", "transform": "transform"}[type_.kind]
        return f"{sizes} {name} of {scalar}" if type_.kind in ("vec", "mat") and sizes else f"{name} of {scalar}"
    return type_.kind


def differ(one: Type, other: Type) -> bool:
    """Whether two types are certainly not the same."""
    if not (_is_certain(one) and _is_certain(other)):
        return False
    if one.kind != other.kind:
        return True
    if one.exact is not None and other.exact is not None and one.exact != other.exact:
        return True
    if one.kind == "array":
        return one.element is not None and other.element is not None and differ(one.element, other.element)
    if one.kind == "struct":
        return one.struct is not None and other.struct is not None and one.struct.node is not other.struct.node
    return bool(one.is_composite and one.shape and other.shape and one.shape != other.shape)


def _is_certain(type_: Type) -> bool:
    if type_.kind in _PLAIN or type_.is_composite:
        return type_.exact is not None
    return type_.kind == "struct" or (type_.kind == "array" and type_.element is not None)


def operands(name: str, left: Type, right: Type) -> str | None:
    """Why the operator with Warp's name ``name`` takes no such operands."""
    if name in _BITS:
        floating = next((type_ for type_ in (left, right) if type_.kind == "float" and type_.exact), None)
        return f"`{_BITS[name]}` is not defined for {spelled(floating)}" if floating is not None else None
    symbol = _ARITHMETIC.get(name)
    if name == "pow":
        whole = next((type_ for type_ in (left, right) if type_.kind == "int" and type_.exact), None)
        return f"`**` takes two floating-point numbers of one type, not {spelled(whole)}" if whole is not None else None
    if symbol is None:
        return None
    if left.kind in _PLAIN and right.kind in _PLAIN and not differ(left, right):
        return None
    if not (_is_certain(left) and _is_certain(right)):
        return None
    pair = f"{spelled(left)} and {spelled(right)}"
    if left.kind in _PLAIN and right.kind in _PLAIN:
        return f"`{symbol}` takes two numbers of one type, not {pair}"
    if left.kind in ("vec", "mat") and right.kind in _NUMBERS:
        return _scaled(name, symbol, left, right, pair)
    if left.kind in _NUMBERS and right.kind in ("vec", "mat"):
        return _scaled(name, symbol, right, left, pair)
    if left.kind in ("vec", "mat") and right.kind in ("vec", "mat"):
        return _composites(name, symbol, left, right, pair)
    return None


def _scaled(name: str, symbol: str, composite: Type, number: Type, pair: str) -> str | None:
    if name in ("add", "sub"):
        return f"`{symbol}` is not defined for {pair}"
    component = Type(composite.scalar or "unknown", exact=composite.exact)
    if name in ("mul", "div") and differ(component, number):
        return f"`{symbol}` takes a number of the type of the components, not {pair}"
    return None


def _composites(name: str, symbol: str, left: Type, right: Type, pair: str) -> str | None:
    scalars = Type(left.scalar or "unknown", exact=left.exact), Type(right.scalar or "unknown", exact=right.exact)
    if differ(*scalars):
        return f"`{symbol}` takes components of one type, not {pair}"
    if name in ("add", "sub"):
        return f"`{symbol}` takes operands of one shape, not {pair}" if differ(left, right) else None
    if name == "mul" and left.kind == right.kind == "vec":
        return "`*` is not defined for two vectors: `wp.cw_mul` multiplies their components"
    if name == "div" and left.kind == right.kind == "vec":
        return "`/` is not defined for two vectors: `wp.cw_div` divides their components"
    if name == "mul" and left.shape and right.shape:
        inner = left.shape[-1], right.shape[0]
        if inner[0] != inner[1]:
            return f"the sizes do not go together: {pair}"
    return None


def stored(element: Type, value: Type) -> str | None:
    """Why a value is not stored into an array element of another type."""
    if element.kind in ("array", "tile") or value.kind in ("array", "tile"):
        return None
    if differ(element, value):
        return f"an element of {spelled(element)} is set to {spelled(value)}: cast it"
    return None


def passed(function: str, parameter: str, wanted: Type, given: Type) -> str | None:
    """Why a func does not take an argument. Ranks of arrays are not compared: Warp does not compare them either."""
    if differ(wanted, given):
        return f"`{function}` takes {spelled(wanted)} as `{parameter}`, not {spelled(given)}"
    return None


def overload(name: str, arguments: tuple[Type, ...], keywords: frozenset[str]) -> str | None:
    """Why no overload of a built-in takes these arguments (positional ones and keywords)."""
    positions = _ALIKE.get(name)
    if positions is not None and len(arguments) > positions[-1]:
        first = arguments[positions[0]]
        for position in positions[1:]:
            if differ(first, arguments[position]):
                return f"`{name}` takes arguments of one type, not {spelled(first)} and {spelled(arguments[position])}"
    counts = builtins.counts(name)
    if not counts:
        return None
    unknown = sorted(keywords - set(builtins.parameters(name))) if len(counts) == 1 else []
    if unknown:
        return f"`{name}` has no parameter `{unknown[0]}`"
    if len(arguments) > max(counts):
        return f"`{name}` takes at most {max(counts)} arguments, not {len(arguments)}"
    if all(type_.kind in _TOLD_APART and _is_certain(type_) for type_ in arguments) and not builtins.takes(
        name, arguments
    ):
        given = ", ".join(spelled(type_) for type_ in arguments)
        return f"`{name}` has no overload for {given or 'no arguments'}"
    return None


def component(type_: Type, attribute: str) -> str | None:
    """Why a vector or quaternion has no such attribute."""
    if type_.kind not in ("vec", "quat") or not type_.shape or attribute in ("length", "dtype", "shape"):
        return None
    if len(attribute) == 1 and attribute in _COMPONENTS[: type_.shape[0]]:
        return None
    several = len(attribute) > 1 and set(attribute) <= set(_COMPONENTS)
    return f"a {spelled(type_)} has no `{attribute}`" + (": one component at a time" if several else "")
