"""The classes of a slice: structs, enumerations, and classes that only hold constants."""

from __future__ import annotations

import itertools

from warplint.ir import syntax as ir
from warplint.probe.allowed import ENUMS, PLAIN_BASES
from warplint.probe.decorators import LONGEST_LINE, Decorators
from warplint.probe.names import joined
from warplint.probe.rewrite import WARP, Edit, cut
from warplint.probe.script import COUNTS, Place, Refused
from warplint.source.project import Definition, External


class Classes(Decorators):
    """Writes classes into the script."""

    def _struct(self, node: ir.ClassDef, place: Place, name: str) -> str:
        if node.keywords or not all(self._plain(base, place) for base in node.bases):
            raise Refused(f"the struct `{node.name}` has a base class that may do something when it is made")
        inner = Place(place.module, (*place.scope, node), place.closure)
        lines = [f"@{WARP}.struct", f"class {name}:"]
        for statement in node.body:
            if isinstance(statement, ir.AnnAssign) and isinstance(statement.target, ir.Name):
                edits: list[Edit] = []
                self._annotation(statement.annotation, inner, edits)
                kind = cut(place.module.lines, statement.annotation.span, edits)
                lines.append(f"    {statement.target.id}: {joined(kind)}")
        if len(lines) == 2:
            lines.append("    pass")
        return "\n".join(lines)

    def _plain(self, base: ir.Expr, place: Place, depth: int = 0) -> bool:
        """Whether a base class of a struct can be left out: a Warp struct has the fields of its own body only
        (``get_annotations`` in ``warp/_src/codegen.py``), and the base adds nothing when a class is derived from it."""
        found = self._project.resolve(place.module, base, place.scope)
        if isinstance(found, External):
            return found.name in PLAIN_BASES
        if not isinstance(found, Definition) or not isinstance(found.node, ir.ClassDef) or depth > LONGEST_LINE:
            return False
        node = found.node
        outer = Place(found.module, found.scope)
        return (
            not node.decorators
            and not node.keywords
            and not any(isinstance(s, ir.FunctionDef) and s.name == "__init_subclass__" for s in node.body)
            and all(self._plain(further, outer, depth + 1) for further in node.bases)
        )

    def _enum(self, node: ir.ClassDef, place: Place, name: str, counting: bool = False) -> str:
        """A class that only holds constants: enumerations and configuration.

        ``counting`` makes numbers that count things positive.
        """
        bases = []
        for base in node.bases:
            external = self._project.external(place.module, base, place.scope)
            called = self._project.external(place.module, base.func, place.scope) if isinstance(base, ir.Call) else None
            if external not in ENUMS and external != "int" and not (called or "").startswith("warp."):
                raise Refused(f"the class `{node.name}` has a base that would have to be run")
            bases.append(self._rewritten(base, place))
        if node.keywords:
            raise Refused(f"the class `{node.name}` has class arguments")
        inner = Place(place.module, (*place.scope, node), place.closure)
        names = {
            target.id
            for s in node.body
            if isinstance(s, ir.Assign)
            for target in s.targets
            if isinstance(target, ir.Name)
        }
        lines = [f"class {name}({', '.join(bases)}):"]
        for statement in node.body:
            value = statement.value if isinstance(statement, (ir.Assign, ir.AnnAssign)) else None
            targets = statement.targets if isinstance(statement, ir.Assign) else ()
            if isinstance(statement, ir.AnnAssign):
                targets = (statement.target,)
            if value is None or len(targets) != 1 or not isinstance(targets[0], ir.Name):
                continue
            if counting and isinstance(value, ir.Constant) and value.value == 0 and COUNTS.search(targets[0].id):
                lines.append(f"    {targets[0].id} = 3")
                continue
            edits: list[Edit] = []
            try:
                self._constant(value, inner, edits, local=names)
            except Refused:
                if bases:
                    return self._numbered(node, place, lines[0])
                continue  # a member that the kernel may not even use; if it does, Warp says so
            lines.append(f"    {targets[0].id} = {joined(cut(place.module.lines, value.span, edits))}")
        if len(lines) == 1:
            lines.append("    pass")
        return "\n".join(lines)

    def _numbered(self, node: ir.ClassDef, place: Place, head: str) -> str:
        """An enumeration of numbers from a package outside of the project: other numbers do as well.

        Raises Refused for one that is made of anything else.
        """
        values = [
            (statement.targets[0].id, statement.value)
            for statement in node.body
            if isinstance(statement, ir.Assign) and isinstance(statement.targets[0], ir.Name)
        ]
        kinds = {self._project.external(place.module, base, place.scope) for base in node.bases}
        own = {value.value for _, value in values if isinstance(value, ir.Constant) and type(value.value) is int}
        outside = [name for name, value in values if self._is_outside(value, place)]
        others = [k for k, (_, value) in enumerate(values) if not isinstance(value, ir.Constant)]
        if len(others) > len(outside) or not kinds <= {"enum.IntEnum", "enum.IntFlag"}:
            raise Refused(f"the class `{node.name}` has members that would have to be run")
        self._assumed[node.name] = "numbers in order"
        self._guessed.add(node.name)
        flags = "enum.IntFlag" in kinds
        free = (number for k in itertools.count() if (number := 1 << k if flags else k) not in own)
        numbers = {name: next(free) for name in outside}
        known = {name: value.value for name, value in values if isinstance(value, ir.Constant)}
        return "\n".join([head, *(f"    {name} = {(known | numbers)[name]!r}" for name, _ in values)])
