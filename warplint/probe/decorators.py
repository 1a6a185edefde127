"""What makes a kernel, func or struct of a definition, and what of that a script repeats."""

from __future__ import annotations

from warplint.ir import syntax as ir
from warplint.probe.names import IGNORED, Names
from warplint.probe.rewrite import WARP
from warplint.probe.script import Native, Place, Refused
from warplint.source.project import Definition, Module, Scope, Value

_WARP_DEFINITIONS = (
    "warp.kernel",
    "warp.func",
    "warp.struct",
    "warp.func_native",
    "warp.func_grad",
    "warp.func_replay",
)
_KERNEL_OPTIONS = ("enable_backward", "grid_stride", "launch_bounds")
#: What a decorator's `enable_backward` came to, among the values of a closure.
BACKWARD = "<backward>"
#: How many steps are followed from a name to what it stands for, and from a class to those above it.
LONGEST_LINE = 8


class Decorators(Names):
    """The decorators of the definitions in a slice."""

    _allow_native: bool
    # what calls make kernels of, by the identity of the nodes, with what they say of the adjoint
    _made_kernels: dict[int, bool | None]

    def _kind_of(self, definition: Definition) -> str:
        """Which Warp decorator makes the definition; empty where that is not told."""
        for decorator in definition.node.decorators:
            name = self._decorator(decorator, definition.module, definition.scope)
            if name in _WARP_DEFINITIONS:
                return name
        return ""

    def _decorator(self, decorator: ir.Expr, module: Module, scope: Scope, depth: int = 0) -> str | None:
        """What a decorator is, seen through a name for it and through a choice between two ways to call one."""
        function = decorator.func if isinstance(decorator, ir.Call) else decorator
        name = self._project.external(module, function, scope)
        if name is not None or depth > LONGEST_LINE:
            return name
        if isinstance(function, ir.Conditional):
            kinds = {self._decorator(one, module, scope, depth + 1) for one in (function.body, function.orelse)}
            return kinds.pop() if len(kinds) == 1 else None
        found = self._project.resolve(module, function, scope) if isinstance(function, ir.Name) else None
        if isinstance(found, Value) and function is decorator:
            return self._decorator(found.expr, found.module, found.scope, depth + 1)
        return None

    def _kind(self, definition: Definition) -> str:
        """Which Warp decorator makes the definition; empty for a class without one. Raises Refused for others."""
        node = definition.node
        found = ""
        for decorator in node.decorators:
            function = decorator.func if isinstance(decorator, ir.Call) else decorator
            name = self._decorator(decorator, definition.module, definition.scope)
            if name in _WARP_DEFINITIONS:
                found = name
            elif name in IGNORED:
                continue
            else:
                written = ir.dotted(function) or "..."
                raise Refused(f"`{node.name}` has the decorator `@{written}`, which would have to be run")
        if found == "warp.func_native" and not self._allow_native:
            raise Native(f"`{node.name}` is a native snippet")
        if not found and id(node) in self._made_kernels:
            return "warp.kernel"
        if not found and isinstance(node, ir.FunctionDef):
            raise Refused(f"`{node.name}` is a plain Python function, which would have to be run")
        return found

    def _decorators(self, node: ir.FunctionDef, place: Place) -> str:
        """The Warp decorator, with those of its arguments that change what is compiled."""
        lines: list[str] = []
        if id(node) in self._made_kernels:
            backward = self._made_kernels[id(node)]
            lines.append(f"@{WARP}.kernel" + ("" if backward is None else f"(enable_backward={backward})"))
        for decorator in node.decorators:
            call = decorator if isinstance(decorator, ir.Call) else None
            name = self._decorator(decorator, place.module, place.scope)
            if name not in _WARP_DEFINITIONS:
                continue
            arguments: list[str] = []
            if call is not None and name in ("warp.func_grad", "warp.func_replay", "warp.func_native"):
                for argument in call.args:
                    arguments.append(self._rewritten(argument, place))
                for keyword in call.keywords:
                    if keyword.name is not None:
                        arguments.append(f"{keyword.name}={self._rewritten(keyword.value, place)}")
            elif call is not None and name == "warp.kernel":
                for keyword in call.keywords:
                    if keyword.name not in _KERNEL_OPTIONS:
                        continue
                    if keyword.name == "enable_backward" and BACKWARD in place.closure:
                        arguments.append(f"enable_backward={place.closure[BACKWARD]!r}")
                        continue
                    try:
                        arguments.append(f"{keyword.name}={self._rewritten(keyword.value, place)}")
                    except Refused:
                        if keyword.name == "enable_backward":
                            continue  # decided at run time: the default is what a tape needs
            lines.append(f"@{WARP}.{name.partition('.')[2]}" + (f"({', '.join(arguments)})" if arguments else ""))
        return "".join(f"{line}\n" for line in lines)
