"""Calls in a body: built-ins, constructors, funcs, and what is not followed."""

from __future__ import annotations

from dataclasses import replace

from warplint.ir import syntax as ir
from warplint.kernels import builtins, names, refusals, untranslated, volumes
from warplint.kernels.constants import Closure
from warplint.kernels.expressions import Expressions
from warplint.kernels.instances import is_open
from warplint.kernels.knowledge import Knowledge
from warplint.kernels.options import Options
from warplint.kernels.trace import SCRATCH, Opaque, Sampling, Write
from warplint.kernels.types import (
    FLOAT,
    HANDLE,
    INT,
    QUAT,
    TRANSFORM,
    UNKNOWN_TYPE,
    VALUE,
    Type,
    array,
    matrix,
    named,
    vector,
)
from warplint.source.bindings import bound_names
from warplint.source.project import UNKNOWN, Definition, External, ParameterRef, Value

_ACCUMULATING = {"atomic_add": "+=", "atomic_sub": "-="}
#: Built-ins that only make a value of a type out of parts.
_CASTS = {"float", "float16", "float32", "float64", "bfloat16"}
_INTEGER_CASTS = {"int", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool"}


class Calls(Expressions):
    """Evaluates calls."""

    #: What the arguments of the call looked at last came to.
    _evaluated: dict[int, int] = {}

    def __init__(self, knowledge: Knowledge, definition: Definition, closure: Closure, options: Options) -> None:
        super().__init__(knowledge, definition, closure, options)
        # What was found in statements and funcs, by their identity: a loop that is unrolled asks for it many times.
        self._drawn: dict[int, frozenset[str]] = {}
        self._recursive: dict[int, bool] = {}

    def call(self, node: ir.Call) -> int:
        """A call: a built-in, a constructor, a func, or something that is not followed."""
        callee = self._meant(node.func)
        type_ = self.type_expression(callee)
        if type_ is not None:
            return self._construct(node, type_)
        if isinstance(callee, ir.Name) and callee.id in self.symbols:
            return self._opaque_call(node)
        if isinstance(callee, ir.Attribute) and self._rooted_in_local(callee):
            owner = self.type_of(self.expr(callee.value))
            # The type of its elements makes a value of that type.
            if callee.attr != "dtype" and (owner.kind in ("array", "float", "int", "str") or owner.is_composite):
                self.refuse(callee.span, "attribute", f"a {refusals.spelled(owner)} has no methods in a kernel")
            return self._opaque_call(node)
        if isinstance(callee, ir.Call):
            return self._derivative(node, callee)
        found = self._given(callee) or self.project.resolve(self.module, callee, self.definition.scope)
        if isinstance(found, External):
            return self._external(node, found.name)
        if isinstance(found, Definition):
            return self._defined(node, found)
        if isinstance(found, Value):
            type_ = self.knowledge.types.annotation(found.module, found.expr, found.scope)
            if type_.is_composite or type_.kind in ("float", "int"):
                return self._construct(node, type_)
        if (
            isinstance(found, ParameterRef)
            and self.knowledge.types.annotation(self.module, callee, self.definition.scope).kind == "generic"
        ):
            return self._construct(node, VALUE)  # a cast to the factory's type
        return self._opaque_call(node)

    def _meant(self, callee: ir.Expr) -> ir.Expr:
        """What is called by ``wp.static(function)(x)``: the function itself."""
        if not isinstance(callee, ir.Call) or len(callee.args) != 1 or not isinstance(callee.args[0], ir.Name):
            return callee
        static = self.project.external(self.module, callee.func, self.definition.scope) == "warp.static"
        return callee.args[0] if static else callee

    def _given(self, callee: ir.Expr) -> Definition | None:
        """The function that a factory was called with."""
        if not isinstance(callee, ir.Name):
            return None
        return next((found for name, found in self.definition.given if name == callee.id), None)

    def _arguments(self, node: ir.Call, names: tuple[str, ...] = ()) -> tuple[int, ...]:
        self.arguments_around += 1
        values = [self.expr(argument) for argument in node.args]
        named_values = {keyword.name: self.expr(keyword.value) for keyword in node.keywords}
        self.arguments_around -= 1
        self._evaluated = dict(zip(map(id, node.args), values, strict=True))
        self._evaluated |= {id(keyword.value): named_values[keyword.name] for keyword in node.keywords}
        for name in names[len(values) :]:
            if name not in named_values:
                break
            values.append(named_values.pop(name))
        return (*values, *named_values.values())

    def _opaque_call(self, node: ir.Call) -> int:
        self.incomplete()
        self.memory_changed()
        return self.unknown(node.span, self._arguments(node))

    def _derivative(self, node: ir.Call, inner: ir.Call) -> int:
        """``wp.grad(f)(x)``, or a call of something else that a call returns."""
        scope = self.definition.scope
        if self.project.external(self.module, inner.func, scope) != "warp.grad" or not inner.args:
            return self._opaque_call(node)
        arguments = self._arguments(node)
        type_ = self.type_of(arguments[0]) if len(arguments) == 1 else UNKNOWN_TYPE
        return self.emit("unknown", arguments, type_, node.span, Opaque("grad", self.text(inner.args[0])))

    def type_expression(self, callee: ir.Expr) -> Type | None:
        """The type that ``x.dtype`` or ``type(x[0])`` stands for, None for anything else or an unknown type."""
        if isinstance(callee, ir.Attribute) and callee.attr == "dtype" and self._rooted_in_local(callee):
            owner = self.type_of(self.expr(callee.value))
            if owner.is_composite:
                found = (INT if owner.scalar == "int" else FLOAT).exactly(owner.exact)
            else:
                found = owner.element or UNKNOWN_TYPE if owner.kind in ("array", "tile") else owner
        elif isinstance(callee, ir.Call) and len(callee.args) == 1:
            if self.project.external(self.module, callee.func, self.definition.scope) != "type":
                return None
            found = self.type_of(self.expr(callee.args[0]))
        else:
            return None
        if found.kind == "generic":
            return VALUE  # arrays and tiles are not made in this way
        return found if found.is_composite or found.kind in ("float", "int") else None

    def _construct(self, node: ir.Call, type_: Type) -> int:
        if type_.kind in ("float", "int"):
            parts = self._arguments(node)
            return self.emit(type_.kind, parts[:1], type_, node.span) if parts else self.constant(0, node.span, type_)
        keep = [keyword for keyword in node.keywords if keyword.name not in ("dtype", "length", "shape")]
        parts = (
            *(self.expr(argument) for argument in node.args),
            *(self.expr(keyword.value) for keyword in keep),
        )
        if type_.kind == "vec" and type_.shape and not any(isinstance(argument, ir.Starred) for argument in node.args):
            numbers = all(self.type_of(part).kind in ("float", "int") for part in parts)
            if numbers and len(parts) not in (0, 1, *type_.shape) and len(parts) == len(node.args):
                reason = f"{len(parts)} components for a {refusals.spelled(type_)}"
                self.refuse(node.span, "arguments", reason)
        return self.emit("construct", parts, type_, node.span)

    def _external(self, node: ir.Call, full: str) -> int:
        if full.startswith("warp."):
            name = full.rpartition(".")[2]
            if name == "tid" and self.knowledge.decorations.role(self.definition) == "func":
                self.refuse(node.span, "tid-in-func", "`wp.tid()` is for kernels alone: pass the index")
            if full == f"warp.{name}":
                version = self.knowledge.warp_version(self.module.path)
                self.refuse(node.func.span, "unknown-function", names.lacking(name, version))
        elif full in ("range", "min", "max", "abs", "len", "print", "int", "float", "bool", "pow", "round"):
            name = full
        else:
            self._check_foreign(node, full)
            return self._opaque_call(node)
        if name == "static":
            value = self.knowledge.constants.evaluate(
                self.module, node.args[0] if node.args else None, self.definition.scope, self.closure
            )
            return self.constant(value, node.span)
        if name == "len":
            return self._len(node)
        if name in _CASTS:
            parts = self._arguments(node)
            type_ = named(name) or FLOAT
            return self.emit("float", parts[:1], type_, node.span) if parts else self.constant(0.0, node.span)
        if name in _INTEGER_CASTS:
            parts = self._arguments(node)
            type_ = named(name) or INT
            return self.emit("int", parts[:1], type_, node.span, name) if parts else self.constant(0, node.span)
        if name in ("zeros", "empty", "ones", "full"):
            return self._scratch(node, name)
        if name == "grad":
            return self._opaque_call(node)
        constructed = self._constructor(node, name)
        if constructed is not None:
            return constructed
        if not builtins.known(name):
            return self._opaque_call(node)
        arguments = self._arguments(node, builtins.parameters(name))
        self._check_builtin(node, name, arguments)
        value = self.builtin(name, arguments, node)
        if full == "round":
            self.trace.operations[value].detail = "python"
        state = self.drawn_from(node)
        if state in self.symbols:
            self.symbols[state] = self.emit("drawn", (self.symbols[state],), HANDLE, node.span, name, state)
        return value

    def _check_foreign(self, node: ir.Call, full: str) -> None:
        """Refuses functions of Python, ``math`` and numpy for which Warp has none of the same name."""
        module, _, name = full.rpartition(".")
        foreign = full in untranslated.FUNCTIONS or (module in ("math", "numpy") and not builtins.known(name))
        if foreign:
            self.refuse(node.func.span, "python-function", f"Warp has no function for `{full}`")

    def _check_builtin(self, node: ir.Call, name: str, arguments: tuple[int, ...]) -> None:
        """Refuses arguments that a built-in does not take. A user's func of its name could be an overload of it."""
        if any(isinstance(argument, ir.Starred) for argument in node.args) or self.module.bindings(name):
            return
        keywords = frozenset(str(keyword.name) for keyword in node.keywords)
        if name.startswith("atomic_"):
            self._check_atomic(node, arguments)
        elif name.startswith("volume_sample"):
            given = dict(zip(builtins.parameters(name), arguments, strict=False))
            dtype = volumes.value_type(
                name,
                {parameter: self.type_of(value) for parameter, value in given.items()},
                self._typed(node, name) if "dtype" in builtins.parameters(name) else None,
            )
            by_name = {parameter: self.type_of(value) for parameter, value in given.items()}
            version = self.knowledge.warp_version(self.module.path)
            self.refuse(node.span, *volumes.refused(by_name, dtype, version))
            mode = node.keyword("sampling_mode") or (node.args[2] if len(node.args) > 2 else None)
            spelled = self.project.external(self.module, mode, self.definition.scope) if mode is not None else None
            sampled = (len(self.trace.operations), name, (spelled or "").rpartition(".")[2], dtype)
            self.trace.samplings.append(Sampling(*sampled, given.get("uvw", -1), given.get("grad")))
        elif not name.startswith(("tile", "print", "static")) and "None" not in keywords:
            types = tuple(self.type_of(argument) for argument in arguments)
            self.refuse(node.span, "arguments", refusals.overload(name, types, keywords))

    def _check_atomic(self, node: ir.Call, arguments: tuple[int, ...]) -> None:
        if len(arguments) < 3 or node.keywords:
            return
        array_type = self.type_of(arguments[0])
        if array_type.kind == "array" and array_type.element is not None and array_type.ndim == len(arguments) - 2:
            reason = refusals.stored(array_type.element, self.type_of(arguments[-1]))
            self.refuse(node.span, "stored-type", reason)

    def drawn_from(self, node: ir.Call) -> str:
        """The local that is the random state a call draws from, and so sets anew; an empty name for other calls."""
        if not node.args or not isinstance(node.args[0], ir.Name):
            return ""
        full = self.project.external(self.module, node.func, self.definition.scope) or ""
        if not full.startswith("warp."):
            return ""
        return node.args[0].id if builtins.draws(full.rpartition(".")[2]) else ""

    def drawn_in(self, node: ir.Node) -> frozenset[str]:
        """The locals that are random states which calls in a statement draw from; perhaps an empty name."""
        known = self._drawn.get(id(node))
        if known is None:
            calls = (inner for inner in ir.walk(node) if isinstance(inner, ir.Call))
            known = self._drawn[id(node)] = frozenset([self.drawn_from(inner) for inner in calls])
        return known

    def _len(self, node: ir.Call) -> int:
        value = self.expr(node.args[0]) if node.args else self.unknown(node.span)
        type_ = self.type_of(value)
        if type_.is_composite:
            return self.constant(type_.shape[0] if type_.shape else UNKNOWN, node.span, INT)
        if type_.kind == "generic":
            return self.constant(UNKNOWN, node.span, INT)  # a constant, unless it is an array
        return self.emit("unknown", (), INT, node.span)

    def _scratch(self, node: ir.Call, name: str) -> int:
        dtype = node.keyword("dtype")
        element = FLOAT
        if dtype is not None:
            element = self.knowledge.types.annotation(self.module, dtype, self.definition.scope)
        shape = node.keyword("shape") or (node.args[0] if node.args else None)
        rank = len(shape.elements) if isinstance(shape, ir.Tuple) else 1
        return self.emit("unknown", (), array(element, rank), node.span, SCRATCH)

    def _constructor(self, node: ir.Call, name: str) -> int | None:
        type_ = named(name)
        if type_ is not None and type_.is_composite:
            return self._construct(node, type_)
        if name in ("vector", "matrix"):
            composite = self.knowledge.types.annotation(self.module, node, self.definition.scope)
            if name == "vector" and node.keyword("length") is None:
                composite = vector(len(node.args)) if len(node.args) > 1 else vector(0)
            dtype = node.keyword("dtype")
            if composite.is_composite and composite.scalar is None and dtype is not None:
                scalar = self.type_expression(dtype)
                if scalar is not None and not scalar.is_composite:
                    composite = replace(composite, scalar="int" if scalar.kind == "int" else "float")
            return self._construct(node, composite if composite.is_composite else VALUE)
        if name in ("matrix_from_cols", "matrix_from_rows"):
            return self._construct(node, Type("mat", "float"))
        if name in ("transformation", "transform_identity"):
            return self._construct(node, TRANSFORM)
        if name in ("quaternion", "quat_identity"):
            return self._construct(node, QUAT)
        if name in ("spatial_vector",):
            return self._construct(node, vector(6))
        return None

    def builtin(self, name: str, arguments: tuple[int, ...], node: ir.Call) -> int:
        """A call of Warp's built-in ``name``."""
        types = tuple(self.type_of(argument) for argument in arguments)
        if name.startswith("atomic_") and len(arguments) >= 3:
            return self._atomic(name, arguments, node)
        if name == "adjoint":
            return self.unknown(node.span)
        result = builtins.result(name, types)
        if "dtype" in builtins.parameters(name) and name.startswith(("volume_", "texture_")):
            result = self._typed(node, name)
        if name == "identity" and types[:1] == (INT,):
            size = self.trace.operations[arguments[0]].detail
            result = matrix(size, size) if type(size) is int else matrix(0, 0)
        if result.kind == "tile" and result.element is None:
            # a tile holds what it was made of
            elements = (type_.element for type_ in types if type_.kind in ("array", "tile"))
            result = replace(result, element=next((element for element in elements if element is not None), FLOAT))
        return self.emit(name, arguments, result, node.span)

    def _typed(self, node: ir.Call, name: str) -> Type:
        """The type that a call names as its ``dtype``."""
        position = builtins.parameters(name).index("dtype")
        given = node.keyword("dtype") or (node.args[position] if len(node.args) > position else None)
        if given is None:
            return UNKNOWN_TYPE
        found = self.type_expression(given)
        return found or self.knowledge.types.annotation(self.module, given, self.definition.scope)

    def _atomic(self, name: str, arguments: tuple[int, ...], node: ir.Call) -> int:
        value = arguments[-1]
        write = Write(self._target(node), _ACCUMULATING.get(name, name), node.span, value=value)
        kind = "accumulate" if name in _ACCUMULATING else "atomic"
        element = self.type_of(arguments[0]).element or UNKNOWN_TYPE
        result = self.emit(kind, arguments, element, node.span, write)
        self.memory_changed()
        return result

    def _target(self, node: ir.Call) -> str:
        if not node.args:
            return ""
        indices = ", ".join(self.text(argument) for argument in node.args[1:-1])
        return f"{self.text(node.args[0])}[{indices}]"

    def _calls_back(self, func: Definition, seen: set[int]) -> bool:
        """Whether a func is the one that is looked at, or calls it, by way of others of its module."""
        if func.node is self.definition.node:
            return True
        if id(func.node) in seen or func.module is not self.module or len(seen) > 50:
            return False
        seen.add(id(func.node))
        return any(self._calls_back(found, seen) for found in self._callees(func))

    def _callees(self, func: Definition) -> list[Definition]:
        """The functions of its module, or imported by it, that a func calls by their names."""
        known = self.module.kept.get((Calls, id(func.node)))
        if not isinstance(known, list):
            calls = (inner.func for part in func.node.body for inner in ir.walk(part) if isinstance(inner, ir.Call))
            names = {callee.id: callee for callee in calls if isinstance(callee, ir.Name)}
            called = [callee for name, callee in names.items() if self.module.bindings(name)]
            resolved = [self.project.resolve(self.module, callee, func.scope) for callee in called]
            known = [
                found for found in resolved if isinstance(found, Definition) and isinstance(found.node, ir.FunctionDef)
            ]
            self.module.kept[(Calls, id(func.node))] = known
        return known

    def _is_bound_once(self, found: Definition) -> bool:
        """Whether a name stands for this definition alone: no overloads, no other assignment."""
        name = found.node.name
        binders = bound_names(found.scope[-1]).get(name, ()) if found.scope else found.module.bindings(name)
        return len(binders) == 1

    def _check_call(self, node: ir.Call, found: Definition, parameters: tuple[ir.Parameter, ...]) -> None:
        """Refuses arguments of another number or type than a func's parameters."""
        if any(isinstance(argument, ir.Starred) for argument in node.args) or any(
            keyword.name is None for keyword in node.keywords
        ):
            return
        name = found.node.name
        names = [parameter.name for parameter in parameters]
        if len(node.args) > len(names):
            return self.refuse(node.span, "arguments", f"`{name}` takes {len(names)} arguments, not {len(node.args)}")
        given = dict(zip(names, node.args, strict=False))
        for keyword in node.keywords:
            if keyword.name not in names:
                return self.refuse(node.span, "arguments", f"`{name}` has no parameter `{keyword.name}`")
            given[str(keyword.name)] = keyword.value
        for parameter in parameters:
            value = given.get(parameter.name)
            if value is None:
                if parameter.default is None:
                    self.refuse(node.span, "arguments", f"`{name}` is not given `{parameter.name}`")
                    return None
                continue
            wanted = self.knowledge.types.annotation(found.module, parameter.annotation, found.scope)
            operation = self._evaluated.get(id(value))
            if operation is not None:
                reason = refusals.passed(name, parameter.name, wanted, self.type_of(operation))
                self.refuse(value.span, "arguments", reason)
        return None

    def _defined(self, node: ir.Call, found: Definition) -> int:
        type_ = self.knowledge.types.definition(found)
        if type_.kind == "struct":
            fields = self.knowledge.types.fields(found)
            values = self._arguments(node, tuple(fields))
            return self.emit("construct", values, type_, node.span, "struct" if not values else None)
        role = self.knowledge.decorations.role(found)
        if role not in ("func", "func_native") or not isinstance(found.node, ir.FunctionDef):
            if isinstance(found.node, ir.FunctionDef) and not found.node.decorators and self._is_bound_once(found):
                self.refuse(node.func.span, "python-function", f"`{found.node.name}` is no `@wp.func`")
            return self._opaque_call(node)
        names = tuple(parameter.name for parameter in found.node.parameters)
        arguments = self._arguments(node, names)
        if role == "func" and self._is_bound_once(found):
            self._check_call(node, found, found.node.parameters)
            if id(found.node) not in self._recursive:
                self._recursive[id(found.node)] = self._calls_back(found, set())
        if self._recursive.get(id(found.node)):
            self.refuse(node.span, "recursion", f"`{found.node.name}` calls `{self.definition.node.name}` again")
        if role == "func_native":
            self.incomplete()
            self.memory_changed()
            returned = self.knowledge.types.annotation(found.module, found.node.returns, found.scope)
            return self.emit("unknown", arguments, returned, node.span, Opaque("native", found.node.name, found))
        summary = self.knowledge.summarise(found)
        if summary is None or summary.writes:
            self.memory_changed()
        if summary is None or not summary.complete:
            self.incomplete()
        returned = self.knowledge.returned(found)
        if not self._is_bound_once(found):
            returned = self.knowledge.returned_by_any(found, returned)
        elif any(map(is_open, (returned, *returned.parts))) and not node.keywords:
            types = tuple(self.type_of(argument) for argument in arguments)
            here = self.knowledge.returned_from(found, types)
            returned = here if here.kind not in ("none", "unknown") else returned
        return self.emit("call", arguments, returned, node.span, found)
