"""Assignments: locals, components, struct fields and array elements."""

from __future__ import annotations

from warplint.ir import syntax as ir
from warplint.ir.spans import Span
from warplint.kernels import refusals
from warplint.kernels.calls import Calls
from warplint.kernels.expressions import BINARY
from warplint.kernels.trace import Component, Insert, Write
from warplint.kernels.types import UNKNOWN_TYPE, Type


class Stores(Calls):
    """Stores values into targets."""

    def assign_to(self, target: ir.Expr, value: int, statement: ir.Stmt) -> None:
        """``target = value`` by a statement."""
        if isinstance(target, ir.Name):
            before = self.symbols.get(target.id)
            if before is not None and refusals.differ(self.type_of(before), self.type_of(value)):
                kinds = (
                    f"{refusals.spelled(self.type_of(before))}, and is set to {refusals.spelled(self.type_of(value))}"
                )
                self.refuse(statement.span, "type-changed", f"`{target.id}` is {kinds}")
            self.symbols[target.id] = value
            operation = self.trace.operations[value]
            if operation.variable is None:
                operation.variable = target.id
        elif isinstance(target, ir.Subscript):
            if isinstance(target.value, ir.Attribute) and target.value.attr == "adjoint":
                return
            base, indices, node = self.location(target)
            self._store_element(target, base, indices, node, value, "=", statement.span)
        elif isinstance(target, ir.Attribute):
            self._store_attribute(target, value, "=", statement.span)
        else:
            self.incomplete()

    # --- plain stores ---

    def _store_element(
        self,
        target: ir.Subscript,
        base: int,
        indices: tuple[int, ...],
        node: ir.Subscript,
        value: int,
        operator: str,
        statement: Span,
        old: int | None = None,
        right: int | None = None,
    ) -> None:
        type_ = self.type_of(base)
        if type_.kind == "array":
            write = Write(self.text(target), operator, statement, old=old, value=value if right is None else right)
            self._check_store(type_, indices, value, statement)
            self.emit("store", (base, *indices, value), UNKNOWN_TYPE, statement, write)
            self.memory_changed()
        elif type_.has_components:
            component = self.component(type_, node.index, indices)
            self._insert(target, node.value, base, indices, component, value, operator, statement, attribute=False)
        elif type_.kind == "tile":
            self._rebind(node.value, self.emit("tile_assign", (base, *indices, value), type_, statement), statement)
        else:
            self.incomplete()
            self.memory_changed()
            self._rebind(node.value, self.unknown(statement, (base, *indices, value), type_), statement)

    def _insert(
        self,
        target: ir.Expr,
        owner: ir.Expr,
        base: int,
        indices: tuple[int, ...],
        component: Component,
        value: int,
        operator: str,
        statement: Span,
        attribute: bool,
        name: str = "insert",
    ) -> None:
        """Stores a component of the composite ``base``, which ``owner`` names."""
        if self._in_array(base):
            self._partial(target, base, value, operator, statement)
            return
        part, whole = self.type_of(value), self.type_of(base)
        single = all(isinstance(index, int) or index[0] == "value" for index in component)
        checked = self.knowledge.warp_version(self.module.path) >= (1, 11)  # 1.8 takes any number
        if (
            checked
            and single
            and whole.is_composite
            and part.kind in ("float", "int")
            and len(component) == len(whole.shape or component)
        ):
            wanted = Type("int" if whole.scalar == "int" else "float", exact=whole.exact)
            self.refuse(statement, "stored-type", refusals.stored(wanted, part))
        insert = Insert(
            self.text(target),
            operator,
            component,
            _variable(owner),
            attribute,
            statement,
            in_struct=self.trace.operations[base].name == "field",
        )
        result = self.emit(name, (base, *indices, value), self.type_of(base), statement, insert, _variable(owner))
        self._rebind(owner, result, statement)

    def _check_store(self, type_: Type, indices: tuple[int, ...], value: int, statement: Span) -> None:
        if type_.element is not None and type_.ndim == len(indices):
            self.refuse(statement, "stored-type", refusals.stored(type_.element, self.type_of(value)))
        elif type_.ndim is not None and len(indices) < type_.ndim and type_.element is not None:
            sliced = any(self.trace.operations[index].name == "slice" for index in indices)
            reason = f"the array has {type_.ndim} dimensions, and {len(indices)} of them given"
            self.refuse(statement, "index", None if sliced else reason)

    def _check_slot(self, operator: str, type_: Type, statement: Span) -> None:
        """From 1.18, components of elements are multiplied and divided in place in forward-only code alone."""
        if operator in ("+", "-") or not type_.is_composite or type_.scalar != "float":
            return
        if self.options.backward is True and self.knowledge.warp_version(self.module.path) >= (1, 18):
            reason = f"`{operator}=` on a component of an array's element has no adjoint"
            self.refuse(statement, "component-in-place", reason)

    def _in_array(self, base: int) -> bool:
        """Whether a value is (part of) an array element that a store to it would change."""
        operation = self.trace.operations[base]
        while operation.name in ("field", "extract"):
            operation = self.trace.operations[operation.operands[0]]
        # ``u = arr[i]; u[0] = ...`` changes the local: a load that a name was given to is no element any more
        return operation.name == "load" and operation.variable is None

    def _partial(self, target: ir.Expr, base: int, value: int, operator: str, statement: Span) -> None:
        """A store to a component or field of an array element."""
        operation = self.trace.operations[base]
        of_struct = self.type_of(base).kind == "struct"
        member = target.attr if isinstance(target, ir.Attribute) and of_struct else None
        while operation.name != "load":
            member = str(operation.detail) if operation.name == "field" else None
            operation = self.trace.operations[operation.operands[0]]
        accumulates = operator in ("+=", "-=")
        write = Write(self.text(target), operator, statement, partial=True, value=value, member=member)
        name = "accumulate" if accumulates else "store"
        self.emit(name, (*operation.operands, value), UNKNOWN_TYPE, statement, write)
        self.memory_changed()

    def _store_attribute(self, target: ir.Attribute, value: int, operator: str, statement: Span) -> None:
        base = self.expr(target.value)
        type_ = self.type_of(base)
        if type_.kind == "struct":
            if self._in_array(base):
                self._partial(target, base, value, operator, statement)
                return
            result = self.emit("setfield", (base, value), type_, statement, target.attr, _variable(target.value))
            self._rebind(target.value, result, statement)
            return
        component = self.component_of(type_, target.attr) if type_.is_composite else None
        if component is not None:
            self._insert(target, target.value, base, (), component, value, operator, statement, attribute=True)
        else:
            self.incomplete()
            self._rebind(target.value, self.unknown(statement, (base, value), type_), statement)

    def _rebind(self, owner: ir.Expr, value: int, statement: Span) -> None:
        """Makes ``owner`` (a name, or a field or component of one) hold ``value``."""
        if isinstance(owner, ir.Name):
            self.symbols[owner.id] = value
            return
        if isinstance(owner, ir.Attribute):
            base = self.expr(owner.value)
            type_ = self.type_of(base)
            if type_.kind == "struct":
                result = self.emit("setfield", (base, value), type_, statement, owner.attr, _variable(owner.value))
                self._rebind(owner.value, result, statement)
                return
        self.incomplete()

    # --- augmented assignments ---

    def augmented(self, node: ir.AugAssign) -> None:
        """``target operator= value``."""
        target = node.target
        operator = f"{node.operator}="
        name = BINARY.get(node.operator, "")
        if isinstance(target, ir.Name):
            right = self.expr(node.value)
            result = self.operator(name, self.expr(target), right, node.span)
            operation = self.trace.operations[result]
            operation.variable = target.id
            if operation.type.kind == "tile" and node.operator in ("+", "-"):
                operation.detail = "in place"
            self.symbols[target.id] = result
        elif isinstance(target, ir.Subscript):
            if isinstance(target.value, ir.Attribute) and target.value.attr == "adjoint":
                self.expr(node.value)
                return
            self._augmented_element(target, operator, name, node)
        elif isinstance(target, ir.Attribute):
            base = self.expr(target.value)
            right = self.expr(node.value)
            if self._in_array(base):
                self._check_slot(node.operator, self.type_of(base), node.span)
                value = right if operator in ("+=", "-=") else self._combine(name, target, base, right, node)
                self._partial(target, base, value, operator, node.span)
                return
            self._store_attribute(target, self._combine(name, target, base, right, node), operator, node.span)
        else:
            self.incomplete()

    def _combine(self, name: str, target: ir.Attribute, base: int, right: int, node: ir.AugAssign) -> int:
        return self.operator(name, self.member(base, target.attr, target.span), right, node.span)

    def _augmented_element(self, target: ir.Subscript, operator: str, name: str, node: ir.AugAssign) -> None:
        base, indices, place = self.location(target)
        type_ = self.type_of(base)
        if type_.kind == "array" and node.operator in ("+", "-", "&", "|", "^"):
            right = self.expr(node.value)
            write = Write(self.text(target), operator, node.span, value=right)
            kind = "accumulate" if node.operator in ("+", "-") else "atomic"
            self._check_store(type_, indices, right, node.span)
            self.emit(kind, (base, *indices, right), UNKNOWN_TYPE, node.span, write)
            self.memory_changed()
            return
        if type_.has_components and node.operator in ("+", "-"):
            right = self.expr(node.value)
            component = self.component(type_, place.index, indices)
            self._insert(target, place.value, base, indices, component, right, operator, node.span, False, "insert_add")
            return
        if type_.is_composite and self._in_array(base):
            self._check_slot(node.operator, type_, node.span)
        old = self.element(base, indices, place)
        right = self.expr(node.value)
        result = self.operator(name, old, right, node.span)
        self._store_element(target, base, indices, place, result, operator, node.span, old, right)


def _variable(owner: ir.Expr) -> str:
    while isinstance(owner, (ir.Attribute, ir.Subscript)):
        owner = owner.value
    return owner.id if isinstance(owner, ir.Name) else ""
