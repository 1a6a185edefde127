"""What a slice may execute: the names outside the project that cannot do anything but compute."""

from __future__ import annotations

import re
from typing import Final

_WARP_TYPES = re.compile(
    r"warp\.(?:"
    r"(?:u?int(?:8|16|32|64)|float(?:16|32|64)|bool|bfloat16)"
    r"|(?:vec|mat|quat|transform|spatial_vector|spatial_matrix|transformation|quaternion|vector|matrix)\w*"
    r"|types\.(?:vector|matrix|quaternion|transformation|vec\w*|mat\w*|quat\w*|transform\w*|u?int\d+|float\d+"
    r"|Any|Scalar|Float|Int"
    r"|spatial_\w+|array\w*)"
    r"|array(?:[1-4]d)?|indexedarray(?:[1-4]d)?|fabricarray\w*|indexedfabricarray\w*"
    r"|Scalar|Float|Int|DType|Rows|Cols|constant|static|Function|Texture[123]D\w*|MeshQuery\w+|tile"
    r")"
)

_HALF = re.compile(
    r"warp\.(?:float16|bfloat16|half|(vec[234]|mat22|mat33|mat44|quat|transform|spatial_(?:vector|matrix))h)"
)

_WARP_CONSTANTS = re.compile(r"warp\.(?:[A-Z][A-Z0-9_]*|pi|e|half_pi|tau|inf|nan|phi|log2e|log10e|ln2|ln10)")

# fmt: off
_WARP_MATH = frozenset({
    "abs", "acos", "asin", "atan", "atan2", "cbrt", "ceil", "clamp", "cos", "cosh", "cross", "degrees",
    "determinant", "diag", "dot", "exp", "floor", "identity", "inverse", "length", "length_sq", "log", "log10",
    "log2", "max", "min", "mod", "normalize", "outer", "pow", "quat_from_axis_angle", "quat_from_matrix",
    "quat_identity", "quat_inverse", "quat_rotate", "quat_rotate_inv", "quat_rpy", "quat_to_matrix", "radians",
    "round", "rint", "sign", "sin", "sinh", "sqrt", "step", "tan", "tanh", "trace", "transpose",
    "transform_identity", "transform_inverse", "transform_multiply", "transform_point", "transform_vector",
    "trunc", "where", "matrix_from_cols", "matrix_from_rows", "skew", "spatial_vector", "norm_l1", "norm_l2",
})
# fmt: on

# fmt: off
_NUMPY = frozenset({
    "abs", "absolute", "arange", "arccos", "arcsin", "arctan", "arctan2", "array", "asarray", "bool_", "ceil",
    "clip", "concatenate", "cos", "cosh", "cross", "cumsum", "deg2rad", "degrees", "diag", "dot", "e", "exp",
    "eye", "finfo", "float16", "float32", "float64", "floor", "full", "iinfo", "identity", "inf", "int16",
    "int32", "int64", "int8", "linspace", "log", "log10", "log2", "max", "maximum", "mean", "min", "minimum",
    "nan", "newaxis", "ones", "outer", "pi", "power", "prod", "rad2deg", "radians", "round", "sign", "sin",
    "sinh", "sqrt", "square", "sum", "tan", "tanh", "transpose", "uint16", "uint32", "uint64", "uint8", "zeros",
    "linalg.norm", "linalg.inv", "linalg.det",
})
# fmt: on

# fmt: off
_BUILTINS = frozenset({
    "abs", "bool", "complex", "dict", "divmod", "enumerate", "float", "int", "len", "list", "max", "min", "pow",
    "range", "reversed", "round", "set", "sorted", "sum", "tuple", "zip", "True", "False", "None", "str",
})
# fmt: on

# Of `typing` only what annotations are made of: other things in it evaluate text (`get_type_hints`, `ForwardRef`), or
# are modules that it imports.
_TYPING: Final = re.compile(
    r"(?:typing|typing_extensions)\.(?:Annotated|Any|Callable|ClassVar|Final|Generic|Literal|NamedTuple|Optional|Protocol"
    r"|Tuple|Type|TypeVar|Union|List|Dict|Set|Sequence|Iterable|Iterator|Mapping|NoReturn|Never|Self)"
)

#: What a kernel may name of Warp: nothing private, and nothing of the modules that compile it.
_NAMED: Final = re.compile(
    r"warp\.(?!(?:builtins|codegen|context|build\w*|config)\.)(?:[A-Za-z]\w*\.){0,3}[A-Za-z]\w*(?<!\.static)"
)

#: Options of modules that change what is computed and no more: others choose compilers, their flags and their files.
OPTIONS: Final = frozenset({"enable_backward", "max_unroll", "fast_math", "fuse_fp"})

#: Base classes of constant-only classes.
ENUMS: Final = frozenset({"enum.Enum", "enum.IntEnum", "enum.IntFlag", "enum.Flag", "enum.StrEnum"})

#: Base classes that do nothing when a class is derived from them.
PLAIN_BASES: Final = frozenset({"object"})

#: Top-level packages that a slice may import: Warp itself and what computes.
IMPORTABLE: Final = frozenset({"warp", "numpy", "math", "typing", "typing_extensions", "enum"})


def may_read(name: str) -> bool:
    """Whether the external ``name`` may be looked up while a slice is executed."""
    top, _, rest = name.partition(".")
    if top == "warp":
        return (
            bool(_WARP_TYPES.fullmatch(name))
            or bool(_WARP_CONSTANTS.fullmatch(name))
            or rest in _WARP_MATH
            or _dtype_member(name)
        )
    if top == "numpy":
        return rest in _NUMPY or rest.rpartition(".")[0] in _NUMPY and not rest.rpartition(".")[2].startswith("_")
    if top == "math":
        return bool(rest) and not rest.startswith("_")
    if top == "enum":
        return name in ENUMS or name == "enum.auto"
    if _TYPING.fullmatch(name):
        return True
    return not rest and top in _BUILTINS


def may_name(name: str) -> bool:
    """Whether a kernel, which Warp compiles, may name the external ``name``.

    Warp follows names while it compiles, and runs what it takes for its own ``static`` wherever it was found.
    """
    return may_read(name) or bool(_NAMED.fullmatch(name))


def may_call(name: str) -> bool:
    """Whether the external ``name`` may be called while a slice is executed."""
    top, _, rest = name.partition(".")
    if top == "numpy" and "." in rest and not rest.startswith("linalg."):
        return False  # a method of something that numpy made
    return may_read(name)


def _dtype_member(name: str) -> bool:
    """``warp.vec3.dtype`` and the like."""
    owner, _, attribute = name.rpartition(".")
    return attribute in ("dtype", "_wp_scalar_type_", "length", "shape") and bool(_WARP_TYPES.fullmatch(owner))


def widened(name: str) -> str | None:
    """The type of single precision that corresponds to Warp's type ``name`` of half precision; None for others.

    A number of half precision has three digits, with which finite differences decide nothing. What an adjoint loses it
    loses with any numbers.
    """
    found = _HALF.fullmatch(name)
    return None if found is None else f"{found[1]}f" if found[1] else "float32"
