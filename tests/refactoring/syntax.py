"""What all refactorings need of LibCST: host functions, names, statements in the place of others."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from random import Random

import libcst as cst
import libcst.matchers as m

#: A program: the text of each of its files, by relative path.
Program = dict[str, str]
#: Rewrites one module; None where there is nothing to rewrite.
ModuleChange = Callable[[cst.Module, Random], "cst.Module | None"]
#: Rewrites a program; None where there is nothing to rewrite.
Refactoring = Callable[[Program, Random], "Program | None"]

#: Marks a line which a refactoring has moved a statement to: a finding there is about that statement.
MOVED = "# moved"

#: All refactorings, by name.
REFACTORINGS: dict[str, Refactoring] = {}

_DEVICE_MARKS = {"kernel", "func", "func_grad", "func_replay", "func_native", "overload", "struct"}


def of_module(change: ModuleChange) -> ModuleChange:
    """Register a refactoring which looks at one module at a time."""
    name = change.__name__

    def run(program: Program, random: Random) -> Program | None:
        result = dict(program)
        for path, text in program.items():
            made = change(cst.parse_module(text), random)
            if made is not None:
                result[path] = made.code
        return result if result != program else None

    REFACTORINGS[name] = run
    return change


def of_program(change: Refactoring) -> Refactoring:
    """Register a refactoring which looks at a whole program."""
    REFACTORINGS[change.__name__] = change
    return change


def register(name: str, change: ModuleChange) -> None:
    """Register a refactoring of one module that is one of a family."""
    change.__name__ = name
    of_module(change)


# --- making syntax ---


def expr(text: str, **parts: cst.BaseExpression) -> cst.BaseExpression:
    """An expression; names in capitals that are given as parts are replaced."""
    return filled(cst.parse_expression(text), parts)


def block(text: str, **parts: cst.BaseExpression) -> list[cst.BaseStatement]:
    """Statements; names in capitals that are given as parts are replaced."""
    module = cst.parse_module(textwrap.dedent(text).strip("\n") + "\n")
    return [filled(statement, parts) for statement in module.body]


def filled(node: cst.CSTNode, parts: dict[str, cst.BaseExpression]):  # type: ignore[no-untyped-def]
    """``node`` with names replaced by expressions, put into parentheses where they are more than a name or call."""

    class Fill(cst.CSTTransformer):
        def leave_Name(self, original: cst.Name, updated: cst.Name) -> cst.BaseExpression:
            return parts.get(updated.value, updated)

    return node.visit(Fill()) if parts else node


class Substitute(cst.CSTTransformer):
    """Replaces names that are variables: no attribute, keyword or parameter."""

    def __init__(self, names: dict[str, cst.BaseExpression]) -> None:
        self.names = names

    def leave_Name(self, original: cst.Name, updated: cst.Name) -> cst.BaseExpression:
        return self.names.get(updated.value, updated)

    def leave_Attribute(self, original: cst.Attribute, updated: cst.Attribute) -> cst.BaseExpression:
        return updated.with_changes(attr=original.attr)

    def leave_Arg(self, original: cst.Arg, updated: cst.Arg) -> cst.Arg:
        return updated.with_changes(keyword=original.keyword)

    def leave_Param(self, original: cst.Param, updated: cst.Param) -> cst.Param:
        return updated.with_changes(name=original.name)


def substituted(node, names: dict[str, cst.BaseExpression]):  # type: ignore[no-untyped-def]
    return node.visit(Substitute(names))


# --- asking syntax ---


def dotted(node: cst.CSTNode) -> str:
    """``wp.launch`` of such an expression; empty for anything that is no dotted name."""
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.Attribute):
        inner = dotted(node.value)
        return f"{inner}.{node.attr.value}" if inner else ""
    return ""


def tail(node: cst.CSTNode) -> str:
    return dotted(node.func if isinstance(node, cst.Call) else node).rpartition(".")[2]


def is_device(node: cst.CSTNode) -> bool:
    """Whether a definition is one for Warp's compiler, or holds types that are."""
    if not isinstance(node, (cst.FunctionDef, cst.ClassDef)):
        return False
    if any(tail(decorator.decorator) in _DEVICE_MARKS for decorator in node.decorators):
        return True
    if isinstance(node, cst.FunctionDef):
        annotations = [param.annotation for param in node.params.params if param.annotation is not None]
        text = code(node.body)
        return "tid()" in text or (bool(annotations) and any("wp." in code(a.annotation) for a in annotations)
                                   and "launch" not in text and "wp.zeros" not in text)  # fmt: skip
    return False


def code(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)


def is_launch(node: cst.CSTNode) -> bool:
    """Whether a node is a plain call of ``wp.launch`` (or ``warp.launch``) without stars."""
    return (
        isinstance(node, cst.Call)
        and dotted(node.func) in ("wp.launch", "warp.launch")
        and not any(arg.star for arg in node.args)
        and not any(arg.keyword is not None and arg.keyword.value == "record_cmd" for arg in node.args)
    )


def launch_parts(call: cst.Call) -> dict[str, cst.BaseExpression]:
    """The arguments of a launch by parameter name."""
    order = ("kernel", "dim", "inputs", "outputs", "adj_inputs", "adj_outputs", "device")
    parts: dict[str, cst.BaseExpression] = {}
    for position, arg in enumerate(call.args):
        parts[arg.keyword.value if arg.keyword is not None else order[position]] = arg.value
    return parts


def warp_name(module: cst.Module) -> str | None:
    """How a module calls Warp; None where it does not import it as a whole."""
    found = None
    for statement in module.body:
        for inner in getattr(statement, "body", ()) if isinstance(statement, cst.SimpleStatementLine) else ():
            if isinstance(inner, cst.Import):
                for alias in inner.names:
                    if dotted(alias.name) == "warp":
                        found = alias.asname.name.value if alias.asname is not None else "warp"  # type: ignore[union-attr]
    return found


class Host(cst.CSTTransformer):
    """A transformer that leaves code for Warp's compiler alone."""

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        return not is_device(node)

    def visit_ClassDef(self, node: cst.ClassDef) -> bool:
        return not is_device(node)


def names_read(node: cst.CSTNode) -> set[str]:
    """All variable names in a node."""
    found: set[str] = set()

    class Look(Substitute):
        def __init__(self) -> None:
            super().__init__({})

        def visit_Attribute(self, node: cst.Attribute) -> bool:
            found.update(names_read(node.value))
            return False

        def visit_Arg(self, node: cst.Arg) -> bool:
            found.update(names_read(node.value))
            return False

        def visit_Name(self, node: cst.Name) -> None:
            found.add(node.value)

    node.visit(Look())
    return found


class _Bound(cst.CSTVisitor):
    def __init__(self) -> None:
        self.names: set[str] = set()

    def _target(self, node: cst.CSTNode) -> None:
        if isinstance(node, cst.Name):
            self.names.add(node.value)
        elif isinstance(node, (cst.Tuple, cst.List)):
            for element in node.elements:
                self._target(element.value)

    def visit_AssignTarget(self, node: cst.AssignTarget) -> None:
        self._target(node.target)

    def visit_AnnAssign(self, node: cst.AnnAssign) -> None:
        self._target(node.target)

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        self._target(node.target)

    def visit_NamedExpr(self, node: cst.NamedExpr) -> None:
        self._target(node.target)

    def visit_For(self, node: cst.For) -> None:
        self._target(node.target)

    def visit_AsName(self, node: cst.AsName) -> None:
        self._target(node.name)

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        self.names.add(node.name.value)
        return False

    def visit_ClassDef(self, node: cst.ClassDef) -> bool:
        self.names.add(node.name.value)
        return False

    def visit_ImportAlias(self, node: cst.ImportAlias) -> None:
        self.names.add((dotted(node.asname.name) if node.asname else dotted(node.name)).partition(".")[0])

    def visit_Lambda(self, node: cst.Lambda) -> bool:
        return False


def names_bound(node: cst.CSTNode | Sequence[cst.CSTNode]) -> set[str]:
    """The names that statements bind in their own scope."""
    look = _Bound()
    for part in node if isinstance(node, Sequence) else [node]:
        part.visit(look)
    return look.names


_JUMPS = m.OneOf(m.Return(), m.Break(), m.Continue(), m.Yield(), m.Await(), m.Nonlocal(), m.Global(), m.Del())


def jumps(nodes: Sequence[cst.CSTNode]) -> bool:
    """Whether statements leave their block in another way than by the last one (or declare scopes)."""
    return any(m.findall(node, _JUMPS) for node in nodes)


def parameters(function: cst.FunctionDef) -> list[str] | None:
    """The names of the parameters; None where there are stars."""
    params = function.params
    if (
        not isinstance(params.star_arg, (cst.MaybeSentinel, cst.ParamStar))
        or params.star_kwarg
        or params.posonly_params
    ):
        return None
    return [param.name.value for param in (*params.params, *params.kwonly_params)]


def body_of(node: cst.CSTNode) -> list[cst.BaseStatement] | None:
    """The statements of an indented block."""
    inner = getattr(node, "body", None)
    return list(inner.body) if isinstance(inner, cst.IndentedBlock) else None


def with_body(node, statements: Sequence[cst.BaseStatement]):  # type: ignore[no-untyped-def]
    """``node`` with other statements in its block."""
    return node.with_changes(body=node.body.with_changes(body=list(statements)))


def carry(old: cst.BaseStatement, new: list[cst.BaseStatement], onto: int = -1) -> list[cst.BaseStatement]:
    """The comment behind ``old`` goes onto one of the statements in its place."""
    if isinstance(old, cst.SimpleStatementLine):
        target = new[onto]
        if isinstance(target, cst.SimpleStatementLine):
            new[onto] = target.with_changes(trailing_whitespace=old.trailing_whitespace)
        elif isinstance(getattr(target, "body", None), cst.IndentedBlock) and isinstance(
            inner := target.body.body[-1],
            cst.SimpleStatementLine,  # type: ignore[attr-defined]
        ):
            last = inner.with_changes(trailing_whitespace=old.trailing_whitespace)
            new[onto] = with_body(target, [*target.body.body[:-1], last])  # type: ignore[attr-defined]
    return new


def carry_to(old: cst.BaseStatement, new: list[cst.BaseStatement], value: cst.CSTNode) -> list[cst.BaseStatement]:
    """The comment behind ``old`` goes onto the line that has ``value`` now."""
    if not isinstance(old, cst.SimpleStatementLine):
        return new
    comment = old.trailing_whitespace

    class Put(cst.CSTTransformer):
        def leave_SimpleStatementLine(self, original, updated):  # type: ignore[no-untyped-def]
            return updated.with_changes(trailing_whitespace=comment) if _has(original, value) else updated

        def leave_IndentedBlock(self, original, updated):  # type: ignore[no-untyped-def]
            return updated.with_changes(header=comment) if original is wanted else updated

    result = []
    for statement in new:
        wanted = None
        for inner in m.findall(statement, m.OneOf(m.For(), m.While(), m.If(), m.With())):
            if _has(inner, value) and not _has(inner.body, value):  # type: ignore[attr-defined]
                wanted = inner.body  # type: ignore[attr-defined]
        result.append(statement.visit(Put()))
    return result


def _has(node: cst.CSTNode, wanted: cst.CSTNode) -> bool:
    return node is wanted or any(_has(child, wanted) for child in node.children)


def is_docstring(statement: cst.BaseStatement) -> bool:
    return m.matches(statement, m.SimpleStatementLine(body=[m.Expr(m.SimpleString())]))


def imports_end(module: cst.Module) -> int:
    """The position behind a module's imports and docstring."""
    last = 0
    for position, statement in enumerate(module.body):
        if is_docstring(statement) or m.matches(
            statement, m.SimpleStatementLine(body=[m.OneOf(m.Import(), m.ImportFrom())])
        ):
            last = position + 1
        elif isinstance(statement, (cst.FunctionDef, cst.ClassDef)):
            break
    return last


def inserted(module: cst.Module, position: int, statements: Sequence[cst.BaseStatement]) -> cst.Module:
    body = list(module.body)
    body[position:position] = statements
    return module.with_changes(body=body)


def with_head(module: cst.Module, text: str, **parts: cst.BaseExpression) -> cst.Module:
    """``module`` with statements behind its imports."""
    return inserted(module, imports_end(module), block(text, **parts))


def own_functions(module: cst.Module) -> Iterator[cst.FunctionDef]:
    """The module-level host functions without decorators."""
    for statement in module.body:
        if isinstance(statement, cst.FunctionDef) and not is_device(statement) and not statement.decorators:
            yield statement


def call_args(function: cst.FunctionDef) -> str:
    """The arguments with which a function hands its parameters on."""
    given = [param.name.value for param in function.params.params]
    given += [f"{param.name.value}={param.name.value}" for param in function.params.kwonly_params]
    return ", ".join(given)


class Blocks(Host):
    """Replaces statements of host blocks: ``change(statements)`` gives others, or None."""

    def __init__(self, change: Callable[[list[cst.BaseStatement]], list[cst.BaseStatement] | None]) -> None:
        self.change = change
        self.changed = False

    def leave_IndentedBlock(self, original: cst.IndentedBlock, updated: cst.IndentedBlock) -> cst.BaseSuite:
        made = self.change(list(updated.body))
        if made is None:
            return updated
        self.changed = True
        return updated.with_changes(body=made)


def statements(
    module: cst.Module, change: Callable[[cst.BaseStatement], list[cst.BaseStatement] | None]
) -> cst.Module | None:
    """``module`` with single statements in host blocks replaced; None if none was."""

    def of_block(body: list[cst.BaseStatement]) -> list[cst.BaseStatement] | None:
        made: list[cst.BaseStatement] = []
        changed = False
        for statement in body:
            new = change(statement)
            changed = changed or new is not None
            made += [statement] if new is None else new
        return made if changed else None

    look = Blocks(of_block)
    result = module.visit(look)
    return result if look.changed else None


def expressions(module: cst.Module, change: Callable[[cst.Call], cst.BaseExpression | None]) -> cst.Module | None:
    """``module`` with calls in host code replaced; None if none was."""

    class Calls(Host):
        changed = False

        def leave_Call(self, original: cst.Call, updated: cst.Call) -> cst.BaseExpression:
            made = change(updated)
            if made is None:
                return updated
            self.changed = True
            return made

    look = Calls()
    result = module.visit(look)
    return result if look.changed else None


def only(statement: cst.CSTNode) -> cst.BaseSmallStatement | None:
    """The one small statement of a line."""
    if isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1:
        return statement.body[0]
    return None


def movable_body(function: cst.FunctionDef) -> bool:
    """Whether the body of a function can become that of another one."""
    return (
        parameters(function) is not None
        and body_of(function) is not None
        and not m.findall(function, m.OneOf(m.Yield(), m.Await(), m.Global(), m.Nonlocal()))
    )


class Place(cst.CSTTransformer):
    """Puts statements in the place of ``BODY``."""

    def __init__(self, body: list[cst.BaseStatement]) -> None:
        self.body = body

    def leave_SimpleStatementLine(self, original, updated):  # type: ignore[no-untyped-def]
        if m.matches(original, m.SimpleStatementLine(body=[m.Expr(m.Name("BODY"))])):
            return cst.FlattenSentinel(self.body)
        return updated
