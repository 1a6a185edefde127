"""Statements of a body, as operations: the symbolic execution that makes a trace."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from warplint.ir import syntax as ir
from warplint.ir.spans import Span
from warplint.kernels import instances, loops, untranslated
from warplint.kernels.builder import TooLarge
from warplint.kernels.constants import Closure
from warplint.kernels.evidence import shown
from warplint.kernels.knowledge import Knowledge
from warplint.kernels.options import Options
from warplint.kernels.stores import Stores
from warplint.kernels.trace import Frame, FrameKind, Jump, Trace
from warplint.kernels.types import HANDLE, INT, INT32, UNKNOWN_TYPE, Type
from warplint.kernels.zeros import leave_out
from warplint.source.project import Definition

#: How control leaves a block, None if it runs to its end.
Leaving = Literal["return", "continue", "break"]


@dataclass(slots=True)
class _Loop:
    """The loop that is being executed, and what locals held where it was continued or left."""

    frame: int
    dynamic: bool = False
    carried: dict[str, int] = field(default_factory=dict)
    continues: list[tuple[int | None, Span, dict[str, int]]] = field(default_factory=list)
    breaks: list[dict[str, int]] = field(default_factory=list)


#: ``LAUNCH_MAX_DIMS`` of ``warp/_src/types.py``.
_DIMENSIONS = 4


def execute(knowledge: Knowledge, definition: Definition, closure: Closure, given: Sequence[Type] = ()) -> Trace | None:
    """The trace of a kernel or func, None if its loops unroll to more than is analysed. Traces are kept.

    ``given`` are the types of the values that its first parameters get; those that are generic have them.
    """
    key = (definition.key, repr(sorted(closure.items())), tuple(map(instances.key, given)))
    if key in knowledge.traces:
        return knowledge.traces[key]
    body = _Body(knowledge, definition, closure, knowledge.decorations.options(definition))
    trace: Trace | None = None
    with contextlib.suppress(TooLarge):
        trace = body.run(given)
        leave_out(trace)
    knowledge.traces[key] = trace
    return trace


class _Body(Stores):
    def __init__(self, knowledge: Knowledge, definition: Definition, closure: Closure, options: Options) -> None:
        super().__init__(knowledge, definition, closure, options)
        self._loops: list[_Loop] = []
        #: The variables of loops that were unrolled.
        self._unrolled_names: set[str] = set()
        # Constants that a local was set to, with the statement: the compiler keeps them as constants.
        self._literals: dict[int, Span] = {}

    def run(self, types: Sequence[Type]) -> Trace:
        node = self.definition.node
        assert isinstance(node, ir.FunctionDef)
        given = dict(zip([parameter.name for parameter in node.parameters], types, strict=False))
        parameters: list[tuple[str, Type, int]] = []
        seen: dict[str, Type] | None = None
        for parameter in node.parameters:
            type_ = self.knowledge.types.annotation(self.module, parameter.annotation, self.definition.scope)
            type_ = instances.narrowed(type_, given.get(parameter.name))
            if type_.kind == "generic":
                seen = shown(self.project, self.definition) if seen is None else seen
                type_ = seen.get(parameter.name, type_)
            index = self.emit("parameter", (), type_, parameter.span, parameter.name, parameter.name)
            self.symbols[parameter.name] = index
            parameters.append((parameter.name, type_, index))
        self.trace.parameters = tuple(parameters)
        self.block(node.body)
        return self.trace

    # --- statements ---

    def block(self, body: tuple[ir.Stmt, ...]) -> Leaving | None:
        """Executes statements; the frame is the same afterwards."""
        outer = self.frame
        jump: Leaving | None = None
        for statement in body:
            jump = self.statement(statement)
            if jump is not None:
                break
        self.frame = outer
        return jump

    def statement(self, node: ir.Stmt) -> Leaving | None:
        """Executes one statement."""
        if isinstance(node, ir.Assign):
            self._assign(node)
        elif isinstance(node, ir.AugAssign):
            self.augmented(node)
        elif isinstance(node, ir.AnnAssign):
            if node.value is not None:
                self.assign_to(node.target, self.expr(node.value), node)
        elif isinstance(node, ir.ExprStmt):
            if not isinstance(node.value, ir.Constant):
                self.expr(node.value)
        elif isinstance(node, ir.If):
            return self._if(node)
        elif isinstance(node, ir.For):
            return self._for(node)
        elif isinstance(node, ir.While):
            self._dynamic("while", node, None)
        elif isinstance(node, ir.Return):
            self._return(node)
            return "return"
        elif isinstance(node, ir.Continue):
            if self._loops:
                self._jump("continue", node.span)
                here = self.trace.frames[self.frame]
                self._loops[-1].continues.append((here.condition, here.span, dict(self.symbols)))
            return "continue"
        elif isinstance(node, ir.Break):
            if self._loops:
                self._jump("break", node.span)
                self._loops[-1].breaks.append(dict(self.symbols))
            return "break"
        elif isinstance(node, ir.Assert):
            self.expr(node.test)
        elif isinstance(node, (ir.With, ir.Try, ir.Match)):
            self.incomplete()
        found = untranslated.statement(node)
        if found is not None and not self._is_placeholder(node):
            self.refuse(node.span, *found)
        return None

    def _is_placeholder(self, node: ir.Stmt) -> bool:
        """Whether a body only raises: something else takes its place before it is compiled."""
        assert isinstance(self.definition.node, ir.FunctionDef)
        if not isinstance(node, ir.Raise):
            return False
        body = [
            part
            for part in self.definition.node.body
            if not (isinstance(part, ir.ExprStmt) and isinstance(part.value, ir.Constant))
        ]
        return body == [node]

    def _assign(self, node: ir.Assign) -> None:
        if len(node.targets) != 1:
            self.incomplete()
            return
        target = node.targets[0]
        if isinstance(target, (ir.Tuple, ir.List)):
            self._unpack(target, node)
            return
        value = self._value(node.value, node.span)
        if isinstance(node.value, ir.Name) and isinstance(target, ir.Name):
            value = self.emit("copy", (value,), self.type_of(value), node.value.span, None, target.id)
        self.assign_to(target, value, node)

    def _unpack(self, target: ir.Tuple | ir.List, node: ir.Assign) -> None:
        if isinstance(node.value, ir.Tuple) and len(node.value.elements) == len(target.elements):
            values = [self._value(element, node.span) for element in node.value.elements]
        else:
            whole = self.expr(node.value)
            if self.trace.operations[whole].name == "tid" and len(target.elements) > _DIMENSIONS:
                self.refuse(node.span, "unpacking", f"a launch has at most {_DIMENSIONS} dimensions")
            parts = self.type_of(whole).parts
            if parts and len(parts) != len(target.elements):
                self.refuse(node.span, "unpacking", f"{len(parts)} values for {len(target.elements)} names")
            values = [self._part(whole, position, node) for position in range(len(target.elements))]
        for element, value in zip(target.elements, values, strict=True):
            self.assign_to(element, value, node)

    def _value(self, node: ir.Expr, statement: Span) -> int:
        """What is assigned by a statement; literals are noted."""
        value = self.expr(node)
        # 1.5 makes a variable of a literal with a sign
        signed = isinstance(node, ir.Unary) and self.knowledge.warp_version(self.module.path) < (1, 8)
        if (untranslated.is_literal(node) and not signed) or (
            isinstance(node, ir.Call)
            and self.project.external(self.module, node.func, self.definition.scope) == "warp.static"
        ):
            self._literals[value] = statement
        return value

    def _part(self, whole: int, position: int, node: ir.Assign) -> int:
        operation = self.trace.operations[whole]
        if operation.name == "tid":
            return self.emit("induction", (), INT32, node.span, ("tid", position))
        return self.item(whole, position, node.value.span)

    def _return(self, node: ir.Return) -> None:
        if node.value is None:
            self._jump("return", node.span)
            return
        if self.knowledge.decorations.role(self.definition) == "kernel":
            self.refuse(node.span, "returned-value", "a kernel returns nothing: write to an array")
            if isinstance(node.value, ir.Constant) and node.value.value is None:
                self._jump("return", node.span)
                return
        items = node.value.elements if isinstance(node.value, ir.Tuple) else (node.value,)
        values = tuple(self.expr(item) for item in items)
        types = tuple(self.type_of(value) for value in values)
        type_ = types[0] if len(types) == 1 else Type("tuple", parts=types)
        self.trace.returns.append(self.emit("return", values, type_, node.span))
        self._jump("return", node.span)

    def _jump(self, kind: Leaving, span: Span) -> None:
        """Notes a jump for each dynamic loop that it leaves or continues."""
        for loop in self._loops if kind == "return" else self._loops[-1:]:
            if loop.dynamic:
                values = tuple(self.symbols.get(name, head) for name, head in loop.carried.items())
                self.emit("jump", (*loop.carried.values(), *values), UNKNOWN_TYPE, span, Jump(kind, loop.frame))

    # --- branches ---

    def _if(self, node: ir.If) -> Leaving | None:
        condition = self.expr(node.test)
        fixed = self.fixed(condition)
        if fixed is not None:
            return self.block(node.body if fixed else node.orelse)
        outer = self.frame
        before = dict(self.symbols)
        memory = self.memory()
        self.open_frame("branch", node.test.span, condition, True)
        jump = self.block(node.body)
        taken, written = self.symbols, self.memory()
        self.frame = outer
        self.symbols = dict(before)
        self.memory_is(memory)
        otherwise: Leaving | None = None
        if node.orelse:
            self.open_frame("branch", node.test.span, condition, False)
            otherwise = self.block(node.orelse)
            self.frame = outer
        if jump is not None and otherwise is not None:
            return otherwise if jump == otherwise else "return"
        if jump is not None or otherwise is not None:
            # what follows in this block runs only if the other arm did
            if otherwise is not None:
                self.symbols = taken
                self.memory_is(written)
            self.open_frame("rest", node.test.span, condition, jump is None)
            return None
        if self.memory() != written:
            self.memory_changed()
        self.symbols = self._merge(condition, taken, self.symbols, before, node.test.span)
        return None

    def _merge(
        self, condition: int, taken: dict[str, int], other: dict[str, int], before: dict[str, int], span: Span
    ) -> dict[str, int]:
        """What locals hold after a branch, given what they hold after its arms and held before it."""
        merged = dict(other)
        for name, value in taken.items():
            rest = other.get(name)
            if rest is None:
                merged[name] = value  # only one arm defines it
                if self.trace.operations[condition].detail != "==":  # else perhaps all cases, one by one
                    self.one_armed[name] = (value, self.frame)
            elif rest != value:
                type_ = self.join(value, rest)
                merged[name] = self.emit("phi", (condition, value, rest), type_, span, None, name)
                # where an earlier branch has set it in one arm, this may be the branch for what was missing
                if name not in before and self.one_armed.get(name, (-1, -1))[0] in (value, rest):
                    self.one_armed[name] = (merged[name], self.frame)
        return merged

    # --- loops ---

    def _for(self, node: ir.For) -> Leaving | None:
        decision = loops.unroll(self, node)
        if isinstance(decision, range):
            return self._unrolled(node, decision)
        self._check_iterable(node.iterable)
        if decision is None:
            call = node.iterable
            ranged = isinstance(call, ir.Call) and (
                self.project.external(self.module, call.func, self.definition.scope) in ("range", "warp.range")
            )
            self._dynamic("for" if ranged else "iterate", node, node.iterable)
        else:
            self._dynamic("undecided", node, node.iterable)
        return None

    def _check_iterable(self, node: ir.Expr) -> None:
        if isinstance(node, (ir.Tuple, ir.List)):
            self.refuse(node.span, "iterable", "a loop runs over a `range` or over what a query finds")
        elif isinstance(node, ir.Name) and node.id in self.symbols:
            kind = self.type_of(self.symbols[node.id]).kind
            if kind in ("array", "float", "int"):
                self.refuse(node.span, "iterable", f"a loop runs over a `range`, not over {kind}s")
        elif isinstance(node, ir.Call):
            name = self.project.external(self.module, node.func, self.definition.scope)
            if name in untranslated.ITERATORS:
                self.refuse(node.func.span, "iterable", f"Warp has no `{name}`")
            elif name == "range":
                for argument in node.args:
                    given = self.type_of(self.expr(argument))
                    if given.kind == "float" and given.exact is not None:
                        self.refuse(argument.span, "arguments", "`range` takes whole numbers")

    def _unrolled(self, node: ir.For, iterations: range) -> Leaving | None:
        for value in iterations:
            if isinstance(node.target, ir.Name):
                self._unrolled_names.add(node.target.id)
                self.symbols[node.target.id] = self.constant(value, node.target.span)
            loop = _Loop(self.frame)
            self._loops.append(loop)
            jump = self.block(node.body)
            self._loops.pop()
            for condition, span, symbols in loop.continues:
                if condition is not None and jump != "continue":
                    self.symbols = self._merge(condition, symbols, self.symbols, {}, span)
            if jump in ("return", "break"):
                return "return" if jump == "return" else None
        return None

    def _dynamic(self, kind: FrameKind, node: ir.For | ir.While, iterable: ir.Expr | None) -> None:
        bounds: tuple[int, ...] = ()
        if iterable is not None:
            bounds = tuple(self.expr(a) for a in iterable.args) if isinstance(iterable, ir.Call) else ()
            if kind == "iterate":
                bounds = (self.expr(iterable),)
        operations = self.trace.operations
        before = dict(self.symbols)
        outer = self.frame
        head = node.iterable if isinstance(node, ir.For) else node.test
        frame = self.open_frame(kind, Span(*node.span[:2], *head.span[2:]))
        self.memory_changed()
        carried: dict[str, int] = {}
        target = node.target.id if isinstance(node, ir.For) and isinstance(node.target, ir.Name) else None
        for name, whole in assigned_names(node.body).items():
            if name in before and name != target:
                value = before[name]
                if name in self._unrolled_names and operations[value].name == "constant":
                    # Warp makes a variable of it, so that the numbers in the unrolled iterations stay what they were
                    # (_promote_mutated_iter_constants in warp/_src/codegen.py).
                    value = before[name] = self.emit("copy", (value,), self.type_of(value), node.span, None, name)
                if not whole and self.type_of(value).kind in ("array", "tile"):
                    continue  # its elements are written; the local stays the same array
                carried[name] = self.emit("loop", (value,), self.type_of(value), node.span, frame.index, name)
        repeated = (*node.body, *((node.test,) if isinstance(node, ir.While) else ()))
        for name in sorted({name for part in repeated for name in self.drawn_in(part)}):
            if name in before and name not in carried:
                carried[name] = self.emit("loop", (before[name],), HANDLE, node.span, frame.index, name)
        self.symbols.update(carried)
        if isinstance(node, ir.While):
            self.open_frame("branch", node.test.span, self.expr(node.test), True)
        elif target is not None:
            type_ = self._counter(bounds) if kind != "iterate" else UNKNOWN_TYPE
            self.symbols[target] = self.emit("induction", bounds, type_, node.target.span, frame.index, target)
        loop = _Loop(frame.index, True, carried)
        self._loops.append(loop)
        jump = self.block(node.body)
        self._loops.pop()
        self._close(node, frame, carried, loop, before, jump, outer)

    def _mutated(self, name: str, literal: Span) -> None:
        reason = f"`{name}` begins as a literal, which is a constant, and a dynamic loop changes it"
        self.refuse(literal, "constant-mutated", reason)

    def _counter(self, bounds: tuple[int, ...]) -> Type:
        """The type of a loop's variable."""
        exact = {self.type_of(bound).exact for bound in bounds}
        return INT32 if exact == {"int32"} else INT

    def _close(
        self,
        node: ir.For | ir.While,
        frame: Frame,
        carried: dict[str, int],
        loop: _Loop,
        before: dict[str, int],
        jump: Leaving | None,
        outer: int,
    ) -> None:
        """Ties the carried values of a dynamic loop together and names what the locals hold after it."""
        operations = self.trace.operations
        ends = self.symbols
        following: dict[str, int] = {}
        for name, head in carried.items():
            value = ends.get(name, head)
            for condition, span, symbols in loop.continues:
                there = symbols.get(name, head)
                if there == value or condition is None or jump == "continue":
                    continue
                value = self.emit("phi", (condition, there, value), self.type_of(head), span, None, name)
            operations[head].operands = (before[name], value)
            left = [loop_symbols.get(name, head) for loop_symbols in loop.breaks]
            decided = frame.kind != "undecided"
            if decided and before[name] in self._literals and any(end != head for end in (value, *left)):
                self._mutated(name, self._literals[before[name]])
            following[name] = value
            if operations[head].type.kind == "unknown":
                operations[head].type = self.type_of(value)
        self.frame = outer
        self.memory_changed()
        symbols = dict(before)
        for name, head in carried.items():
            if following[name] == head and not loop.breaks:
                continue
            others = tuple(dict.fromkeys(snapshot.get(name, head) for snapshot in loop.breaks))
            symbols[name] = self.emit("exit", (head, *others), operations[head].type, node.span, frame.index, name)
        for name, value in ends.items():
            if name not in before:
                symbols[name] = self.emit("exit", (value,), self.type_of(value), node.span, frame.index, name)
        self.symbols = symbols


def assigned_names(body: tuple[ir.Stmt, ...]) -> dict[str, bool]:
    """The locals that statements set, nested blocks included: whether as a whole, or only parts (``v[0] = ...``)."""
    found: dict[str, bool] = {}

    def target(expr: ir.Expr) -> None:
        if isinstance(expr, (ir.Tuple, ir.List)):
            for element in expr.elements:
                target(element)
            return
        whole = isinstance(expr, ir.Name)
        while isinstance(expr, (ir.Subscript, ir.Attribute)):
            expr = expr.value
        if isinstance(expr, ir.Name):
            found[expr.id] = found.get(expr.id, False) or whole

    def visit(statements: tuple[ir.Stmt, ...]) -> None:
        for statement in statements:
            if isinstance(statement, ir.Assign):
                for expr in statement.targets:
                    target(expr)
            elif isinstance(statement, (ir.AugAssign, ir.AnnAssign)):
                target(statement.target)
            elif isinstance(statement, ir.For):
                target(statement.target)
                visit(statement.body)
            elif isinstance(statement, ir.While):
                visit(statement.body)
            elif isinstance(statement, ir.If):
                visit(statement.body)
                visit(statement.orelse)

    visit(body)
    return found
