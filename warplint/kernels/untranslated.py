"""Python that Warp's compiler has no translation for: what is missing in ``Adjoint.node_visitors`` (``codegen.py``)."""

from __future__ import annotations

from warplint.ir import syntax as ir

#: A word or two with dashes, and the reason.
What = tuple[str, str]

#: Functions of Python that have no counterpart in Warp.
FUNCTIONS = frozenset(
    {
        *("sum", "any", "all", "sorted", "map", "filter", "isinstance", "issubclass", "hasattr", "getattr", "setattr"),
        *(
            "list",
            "dict",
            "set",
            "tuple",
            "str",
            "divmod",
            "open",
            "input",
            "format",
            "iter",
            "next",
            "callable",
        ),
    }
)
#: Functions of Python that loops run over, and Warp's do not.
ITERATORS = frozenset({"enumerate", "zip", "map", "filter", "sorted", "iter"})

_COMPREHENSIONS = {
    "list": "list comprehension",
    "set": "set comprehension",
    "dict": "dict comprehension",
    "generator": "generator",
}
_STATEMENTS: tuple[tuple[type[ir.Node], str, str], ...] = (
    (ir.Try, "try", "it has no exceptions"),
    (ir.Raise, "raise", "it has no exceptions"),
    (ir.With, "with", "it has no `with`"),
    (ir.Match, "match", "it has no `match`"),
    (ir.Delete, "del", "it has no `del`"),
    (ir.Import, "import", "nothing is imported in a kernel"),
    (ir.ImportFrom, "import", "nothing is imported in a kernel"),
    (ir.ClassDef, "class", "no class is defined in a kernel"),
    (ir.AnnAssign, "annotation", "a local has no annotation"),
)
#: The statements that there is nothing to say about.
_TRANSLATED = (ir.ExprStmt, ir.If, ir.AugAssign, ir.For, ir.While, ir.Return, ir.Pass, ir.Break, ir.Continue)
_EXPRESSIONS: tuple[tuple[type[ir.Node], str, str], ...] = (
    (ir.Lambda, "lambda", "it has no `lambda`: write a `@wp.func`"),
    (ir.List, "list", "it has no lists"),
    (ir.Set, "set", "it has no sets"),
    (ir.Dict, "dict", "it has no dicts"),
    (ir.Format, "f-string", "it has no f-strings: `wp.printf` formats"),
)


def statement(node: ir.Stmt) -> What | None:
    """What is wrong with a statement as such, None if nothing is."""
    if isinstance(node, _TRANSLATED):
        return None
    for kind, what, reason in _STATEMENTS:
        if isinstance(node, kind):
            return what, reason
    if isinstance(node, ir.Global):
        return node.kind, f"it has no `{node.kind}`"
    if isinstance(node, ir.FunctionDef) and (node.parameters or any(isinstance(part, ir.Return) for part in node.body)):
        return "nested-function", "a function is defined outside"
    if isinstance(node, ir.Assign) and len(node.targets) > 1:
        return "chained-assignment", "one assignment has one target"
    return None


def expression(node: ir.Expr) -> What | None:
    """What is wrong with an expression as such, its parts left aside, None if nothing is."""
    for kind, what, reason in _EXPRESSIONS:
        if isinstance(node, kind):
            return what, reason
    if isinstance(node, ir.Comprehension):
        what = _COMPREHENSIONS.get(node.kind, "comprehension")
        return what.replace(" ", "-"), f"it has no {what}s"
    if isinstance(node, ir.Opaque):
        return node.kind, f"it has no `{node.kind}`"
    return None


def is_literal(node: ir.Expr) -> bool:
    """Whether an expression is a number or truth value written out, with a sign or without."""
    if isinstance(node, ir.Unary) and node.operator in ("-", "+"):
        node = node.operand
    return isinstance(node, ir.Constant) and isinstance(node.value, (bool, int, float))


def container(node: ir.Expr) -> str | None:
    """What a name of the module stands for that no kernel can read: a list, dict, set or tuple."""
    kinds = (
        (ir.List, "list"),
        (ir.Dict, "dict"),
        (ir.Set, "set"),
        (ir.Tuple, "tuple"),
        (ir.Comprehension, "container"),
    )
    return next((name for kind, name in kinds if isinstance(node, kind)), None)
