"""Types of values in kernels, as far as differentiation cares: floating point or not, arrays, components.

No question about derivatives depends on bit widths. What Warp's compiler refuses does: ``Type.exact`` says which scalar
type it is, where that is certain, and takes no part in comparisons.
"""

from __future__ import annotations

import re
from dataclasses import field, replace
from functools import lru_cache

from warplint.ir import syntax as ir
from warplint.records import dataclass
from warplint.source.project import Definition, External, Module, ParameterRef, Project, Scope, Value


@dataclass(frozen=True, slots=True)
class Type:
    """A type in a kernel.

    ``kind``: ``float``, ``int``, ``bool``, ``vec``, ``mat``, ``quat``, ``transform``, ``array``, ``tile``, ``struct``,
    ``tuple``, ``handle`` (query objects, ids, textures), ``str``, ``none``, ``generic`` (declared ``Any``: any value)
    or ``unknown``. ``scalar`` is ``float`` or ``int`` for composites (None: not known), ``shape`` their sizes (empty:
    not known), ``element`` the element of an array or tile, ``ndim`` an array's rank (0: a generic value that is
    certainly no array and no tile), ``struct`` the class of a struct, ``parts`` the types in a tuple. ``exact`` is
    Warp's name of the scalar type (``float32``, ``int64``; of the components, for a composite), None where it is not
    certain.
    """

    kind: str
    scalar: str | None = None
    shape: tuple[int, ...] = ()
    element: Type | None = None
    ndim: int | None = None
    struct: Definition | None = None
    parts: tuple[Type, ...] = ()
    exact: str | None = field(default=None, compare=False)

    @property
    def is_composite(self) -> bool:
        """Whether the type is a vector, matrix, quaternion or transform."""
        return self.kind in ("vec", "mat", "quat", "transform")

    @property
    def is_value(self) -> bool:
        """Whether this is a generic value that is certainly no array and no tile: what a subscript names is a
        component, or a row, whichever of the composites it is."""
        return self.kind == "generic" and self.ndim == 0

    @property
    def has_components(self) -> bool:
        """Whether a subscript names a component or a row, and not an element of an array or tile."""
        return self.is_composite or self.is_value

    def exactly(self, exact: str | None) -> Type:
        """The type with another scalar type."""
        if exact == self.exact:
            return self
        return Type(self.kind, self.scalar, self.shape, self.element, self.ndim, self.struct, self.parts, exact)

    @property
    def is_integer(self) -> bool:
        """Whether values are whole numbers or truth values."""
        return self.kind in ("int", "bool")


FLOAT = Type("float")
INT = Type("int")
BOOL = Type("bool")
STRING = Type("str")
NONE = Type("none")
HANDLE = Type("handle")
TILE = Type("tile")
GENERIC = Type("generic")
#: What an array of ``Any`` holds, and what is made of that: numbers and composites, or a struct.
VALUE = Type("generic", ndim=0)
UNKNOWN_TYPE = Type("unknown")
#: The types of truth values and of numbers that are written out.
BOOL_ITSELF = Type("bool", exact="bool")
INT32 = Type("int", exact="int32")
FLOAT32 = Type("float", exact="float32")
QUAT = Type("quat", "float", (4,))
TRANSFORM = Type("transform", "float", (7,))


def literal(value: object) -> Type | None:
    """The type that a number or truth value written out in a kernel has, None for any other value."""
    if isinstance(value, bool):
        return BOOL_ITSELF
    if isinstance(value, int):
        return INT32
    return FLOAT32 if isinstance(value, float) else None


def vector(length: int, scalar: str | None = "float", exact: str | None = None) -> Type:
    """A vector; length 0 is not known."""
    return Type("vec", scalar, (length,) if length else (), exact=exact)


def matrix(rows: int, columns: int, scalar: str | None = "float", exact: str | None = None) -> Type:
    """A matrix; 0 rows are not known."""
    return Type("mat", scalar, (rows, columns) if rows else (), exact=exact)


def array(element: Type, ndim: int | None = 1) -> Type:
    """An array of ``element``."""
    return Type("array", element=VALUE if element.kind == "generic" else element, ndim=ndim)


_SUFFIX = r"(?P<suffix>f|d|h|i|ui|l|ul|s|us|b|ub)?"
_NAMED = re.compile(
    rf"(?:(?P<vec>vec)(?P<n>[2-4])|(?P<mat>mat)(?P<r>[2-4])(?P<c>[2-4])|(?P<quat>quat)|(?P<transform>transform)"
    rf"|(?P<sv>spatial_vector)|(?P<sm>spatial_matrix)){_SUFFIX}"
)
_FLOATS = {"float", "float16", "float32", "float64", "bfloat16", "half", "double"}
_INTS = {"int", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"}
# What other spellings of scalar types, and the suffixes of composites, stand for.
_SPELLED = {"float": "float32", "half": "float16", "double": "float64", "int": "int32"}
_SUFFIXES = {
    None: "float32",
    "f": "float32",
    "d": "float64",
    "h": "float16",
    "i": "int32",
    "ui": "uint32",
    "l": "int64",
    "ul": "uint64",
    "s": "int16",
    "us": "uint16",
    "b": "int8",
    "ub": "uint8",
}
_ARRAYS = {"array": None, "array1d": 1, "array2d": 2, "array3d": 3, "array4d": 4}
_INDEXED = {"indexedarray": None, "indexedarray1d": 1, "indexedarray2d": 2, "indexedarray3d": 3, "indexedarray4d": 4}
_FABRIC = {"fabricarray", "fabricarrayarray", "indexedfabricarray", "indexedfabricarrayarray"}


@lru_cache(maxsize=4096)
def named(name: str) -> Type | None:
    """The type with a short Warp name (``vec3f``, ``float32``, ``mat33``), None for anything else."""
    if name in _FLOATS:
        return Type("float", exact=_SPELLED.get(name, name))
    if name in _INTS:
        return Type("int", exact=_SPELLED.get(name, name))
    if name == "bool":
        return Type("bool", exact="bool")
    if name == "str":
        return STRING
    match = _NAMED.fullmatch(name)
    if match is None:
        return None
    scalar = "float" if match["suffix"] in (None, "f", "d", "h") else "int"
    exact = _SUFFIXES[match["suffix"]]
    if match["vec"]:
        return vector(int(match["n"]), scalar, exact)
    if match["mat"]:
        return matrix(int(match["r"]), int(match["c"]), scalar, exact)
    if match["quat"]:
        return replace(QUAT, exact=exact)
    if match["transform"]:
        return replace(TRANSFORM, exact=exact)
    return vector(6, scalar, exact) if match["sv"] else matrix(6, 6, scalar, exact)


class Types:
    """Reads types from annotations and from expressions that name types, and knows the fields of structs."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._fields: dict[tuple[object, str], dict[str, Type]] = {}
        # What annotations stand for, by the expression (kept, so that no other one gets its identity) and its place.
        self._annotated: dict[tuple[int, int], tuple[ir.Expr, Module, Type]] = {}

    def annotation(self, module: Module, expr: ir.Expr | None, scope: Scope, depth: int = 0) -> Type:
        """The type that an annotation (or any expression that names a type) stands for."""
        if expr is None:
            return UNKNOWN_TYPE
        if depth:
            return self._annotation(module, expr, scope, depth)
        key = (id(expr), len(scope))
        known = self._annotated.get(key)
        if known is None or known[0] is not expr or known[1] is not module:
            known = self._annotated[key] = (expr, module, self._annotation(module, expr, scope, 0))
        return known[2]

    def _annotation(self, module: Module, expr: ir.Expr, scope: Scope, depth: int) -> Type:
        if depth > 8:
            return UNKNOWN_TYPE
        if isinstance(expr, ir.Constant):
            if expr.value is None:
                return NONE
            return named(expr.value.rpartition(".")[2]) or UNKNOWN_TYPE if isinstance(expr.value, str) else UNKNOWN_TYPE
        if isinstance(expr, (ir.Name, ir.Attribute)):
            return self._reference(module, expr, scope, depth)
        if isinstance(expr, ir.Call):
            return self._call(module, expr, scope, depth)
        if isinstance(expr, ir.Subscript):
            return self._subscript(module, expr, scope, depth)
        return UNKNOWN_TYPE

    def _reference(self, module: Module, expr: ir.Expr, scope: Scope, depth: int) -> Type:
        found = self._project.resolve(module, expr, scope)
        if isinstance(found, External):
            return self.external(found.name)
        if isinstance(found, Value):
            return self.annotation(found.module, found.expr, found.scope, depth + 1)
        if isinstance(found, Definition):
            return self.definition(found)
        if isinstance(found, ParameterRef):
            return GENERIC if _maybe_type(found) else UNKNOWN_TYPE
        return UNKNOWN_TYPE

    def definition(self, found: Definition) -> Type:
        """The type that a class of the project is: a struct or unknown."""
        if not isinstance(found.node, ir.ClassDef):
            return UNKNOWN_TYPE
        for decorator in found.node.decorators:
            expr = decorator.func if isinstance(decorator, ir.Call) else decorator
            if self._project.external(found.module, expr, found.scope) == "warp.struct":
                return Type("struct", struct=found)
        if any("Enum" in (ir.dotted(base) or "") or "IntFlag" in (ir.dotted(base) or "") for base in found.node.bases):
            return INT
        return UNKNOWN_TYPE

    def external(self, name: str) -> Type:
        """The type with a full dotted name."""
        return _external(name)

    def _call(self, module: Module, expr: ir.Call, scope: Scope, depth: int) -> Type:
        name = self._project.external(module, expr.func, scope)
        if name is None or not name.startswith("warp."):
            return UNKNOWN_TYPE
        short = name.rpartition(".")[2]
        if short in _ARRAYS or short in _INDEXED or short in _FABRIC:
            dtype = expr.keyword("dtype") or (expr.args[0] if expr.args and short in _ARRAYS else None)
            ndim = (_ARRAYS | _INDEXED).get(short)
            given = expr.keyword("ndim")
            if isinstance(given, ir.Constant) and isinstance(given.value, int):
                ndim = given.value
            elif ndim is None and given is None:
                ndim = 1
            return array(self.annotation(module, dtype, scope, depth + 1), ndim)
        if short in ("vector", "matrix", "vec", "mat"):
            return self._generic_composite(module, expr, scope, depth, short)
        if short == "tile":
            return Type("tile", element=self.annotation(module, expr.keyword("dtype"), scope, depth + 1))
        if short in ("quaternion", "quat_t"):
            return QUAT
        if short in ("transformation", "transform_t"):
            return TRANSFORM
        return UNKNOWN_TYPE

    def _generic_composite(self, module: Module, expr: ir.Call, scope: Scope, depth: int, short: str) -> Type:
        dtype = expr.keyword("dtype") or (expr.args[1] if len(expr.args) > 1 else None)
        component = self.annotation(module, dtype, scope, depth + 1) if dtype is not None else FLOAT
        known = {"float": "float", "generic": "float", "int": "int"}.get(component.kind)
        exact = component.exact
        sizes = expr.keyword("length" if short.startswith("vec") else "shape") or (expr.args[0] if expr.args else None)
        if short.startswith("vec"):
            length = self._size(module, sizes, scope)
            return vector(length or 0, known, exact)
        if isinstance(sizes, ir.Tuple) and len(sizes.elements) == 2:
            rows = self._size(module, sizes.elements[0], scope)
            columns = self._size(module, sizes.elements[1], scope)
            return matrix(rows, columns, known, exact) if rows and columns else matrix(0, 0, known)
        return matrix(0, 0, known)

    def _size(self, module: Module, expr: ir.Expr | None, scope: Scope, depth: int = 0) -> int | None:
        if isinstance(expr, ir.Constant):
            return expr.value if isinstance(expr.value, int) else None
        if isinstance(expr, (ir.Name, ir.Attribute)) and depth < 8:
            found = self._project.resolve(module, expr, scope)
            if isinstance(found, Value):
                return self._size(found.module, found.expr, found.scope, depth + 1)
        if (
            isinstance(expr, ir.Call)
            and len(expr.args) == 1
            and depth < 8
            and self._project.external(module, expr.func, scope) == "warp.constant"
        ):
            return self._size(module, expr.args[0], scope, depth + 1)
        return None

    def _subscript(self, module: Module, expr: ir.Subscript, scope: Scope, depth: int) -> Type:
        name = self._project.external(module, expr.value, scope) or ""
        short = name.rpartition(".")[2]
        if name in ("tuple", "typing.Tuple", "typing.Sequence"):
            items = expr.index.elements if isinstance(expr.index, ir.Tuple) else (expr.index,)
            return Type("tuple", parts=tuple(self.annotation(module, item, scope, depth + 1) for item in items))
        if not name.startswith("warp."):
            return UNKNOWN_TYPE
        items = expr.index.elements if isinstance(expr.index, ir.Tuple) else (expr.index,)
        if short in _ARRAYS or short in _INDEXED or short in _FABRIC:
            ndim = (_ARRAYS | _INDEXED).get(short)
            if ndim is None and len(items) > 1:
                rank = items[1]
                if isinstance(rank, ir.Subscript):  # Literal[2]
                    rank = rank.index
                ndim = rank.value if isinstance(rank, ir.Constant) and isinstance(rank.value, int) else None
            elif ndim is None:
                ndim = 1
            return array(self.annotation(module, items[0], scope, depth + 1), ndim)
        if short == "tile":
            return Type("tile", element=self.annotation(module, items[0], scope, depth + 1))
        if short == "ref":
            return UNKNOWN_TYPE  # no adjoint exists for references: Warp refuses them in backward code
        return UNKNOWN_TYPE

    def fields(self, struct: Definition) -> dict[str, Type]:
        """The fields of a struct, in order."""
        key = (struct.module.path, struct.qualname)
        found = self._fields.get(key)
        if found is None:
            self._fields[key] = {}  # a struct that contains itself ends here
            found = {}
            for statement in struct.node.body:
                if isinstance(statement, ir.AnnAssign) and isinstance(statement.target, ir.Name):
                    found[statement.target.id] = self.annotation(
                        struct.module, statement.annotation, struct.inner_scope
                    )
            self._fields[key] = found
        return found

    def differentiable(self, type_: Type, depth: int = 0) -> bool:
        """Whether a value of the type can carry a derivative: it holds a floating-point number."""
        if depth > 6:
            return False
        if type_.kind in ("float", "generic"):
            return True
        if type_.is_composite:
            return type_.scalar == "float"
        if type_.kind in ("array", "tile"):
            return type_.element is not None and self.differentiable(type_.element, depth + 1)
        if type_.kind == "struct" and type_.struct is not None:
            return any(self.differentiable(field, depth + 1) for field in self.fields(type_.struct).values())
        if type_.kind == "tuple":
            return any(self.differentiable(part, depth + 1) for part in type_.parts)
        return False


@lru_cache(maxsize=4096)
def _external(name: str) -> Type:
    if name in ("typing.Any", "typing_extensions.Any"):
        return GENERIC
    if name in ("warp.Scalar", "warp.Float"):
        return VALUE
    if name == "warp.Int":
        return INT
    if name in _FLOATS or name in ("int", "bool", "str"):
        return named(name) or UNKNOWN_TYPE
    if not name.startswith("warp."):
        return UNKNOWN_TYPE
    short = name[5:]
    if short in _ARRAYS or short in _INDEXED or short in _FABRIC:
        return array(UNKNOWN_TYPE, (_ARRAYS | _INDEXED).get(short))
    if short.startswith("tile"):
        return TILE
    return named(short) or HANDLE


def _maybe_type(found: ParameterRef) -> bool:
    """Whether a parameter of a factory is meant to be a type: ``def make(dtype: type)``, ``def make(dtype)``."""
    return "type" in found.parameter.name.lower() or (
        isinstance(found.parameter.annotation, ir.Name) and found.parameter.annotation.id == "type"
    )
