"""Parts of functions that become functions of their own."""

from __future__ import annotations

from random import Random

import libcst as cst
import libcst.matchers as m

from .syntax import (
    Place,
    block,
    body_of,
    code,
    jumps,
    movable_body,
    names_bound,
    names_read,
    own_functions,
    parameters,
    register,
    with_body,
    with_head,
)


def _extracted(name: str, head: str, define: str, call: str, where: str = "tape") -> None:
    """The body of a ``with`` over a tape, or of a loop, becomes a function of the names that it uses.

    ``READ`` are the names it needs, ``MADE`` those it binds that are used elsewhere; ``BODY`` is the block.
    """

    def change(module: cst.Module, random: Random) -> cst.Module | None:
        made: list[cst.BaseStatement] = []
        changed = False
        own = {function.name.value for function in own_functions(module)}
        count = 0
        for statement in module.body:
            if not (isinstance(statement, cst.FunctionDef) and statement.name.value in own and movable_body(statement)):
                made.append(statement)
                continue
            local = names_bound(body_of(statement) or []) | set(parameters(statement) or [])
            definitions: list[cst.BaseStatement] = []

            class Extract(cst.CSTTransformer):
                def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
                    return node is statement  # noqa: B023

                def visit_Lambda(self, node: cst.Lambda) -> bool:
                    return False

                def _out(self, original, updated):  # type: ignore[no-untyped-def]
                    nonlocal count, changed
                    body = body_of(original)
                    if body is None or jumps(body) or any(isinstance(s, cst.FunctionDef) for s in body):
                        return updated
                    bound = names_bound(body)
                    used = set().union(*(names_read(part) for part in body))
                    read = sorted(used & local)  # noqa: B023
                    first = _certainly_before(statement, original, local)  # noqa: B023
                    read = [n for n in read if n in first]
                    if any(n in bound and n not in first and _read_before_bound(body, n) for n in used):
                        return updated
                    outside = _outside(statement, original)  # noqa: B023
                    result = sorted(n for n in bound if n in outside or n in first)
                    unsure = [n for n in result if n not in first and not _always_bound(body, n)]
                    if unsure:
                        return updated
                    changed = True
                    count += 1
                    fill = {"READ": ", ".join(read), "MADE": ", ".join(result), "NAMEDREAD": "",
                            "PAIRS": ", ".join(f"{n}={n}" for n in read),
                            "ITEMS": ", ".join(f"{n!r}: {n}" for n in result),
                            "UNPACK": "; ".join(f"{n} = given[{n!r}]" for n in read) or "pass",
                            "TAKEALL": "; ".join(f"{n} = _out[{n!r}]" for n in result) or "pass",
                            "KEEP": "; ".join(f"self.{n} = {n}" for n in read) or "pass",
                            "TAKE": "; ".join(f"{n} = self.{n}" for n in read) or "pass",
                            "RESULT": f"return ({', '.join(result)},)" if result else "return ()",
                            "ASSIGN": f"({', '.join(result)},) = " if result else "",
                            "PART": f"_part{count}"}  # fmt: skip
                    texts = [define, call]
                    for key in sorted(fill, key=len, reverse=True):
                        texts = [text.replace(key, fill[key]) for text in texts]
                    if texts[0]:
                        definitions.extend(part.visit(Place(body)) for part in block(texts[0]))  # noqa: B023
                    return with_body(updated, [part.visit(Place(body)) for part in block(texts[1])])

                def leave_With(self, original: cst.With, updated: cst.With):  # type: ignore[no-untyped-def]
                    context = code(original.items[0].item)
                    if where != "tape" or not ("Tape" in context or "tape" in context) or len(original.items) > 1:
                        return updated
                    return self._out(original, updated)

                def leave_For(self, original: cst.For, updated: cst.For):  # type: ignore[no-untyped-def]
                    return self._out(original, updated) if where == "loop" else updated

            new = statement.visit(Extract())
            made += [*definitions, new]
        if not changed:
            return None
        result = module.with_changes(body=made)
        return with_head(result, head) if head else result

    register(name, change)


def _outside(function: cst.FunctionDef, part: cst.CSTNode) -> set[str]:
    class Without(cst.CSTTransformer):
        def on_visit(self, node: cst.CSTNode) -> bool:
            return node is not part

        def on_leave(self, original, updated):  # type: ignore[no-untyped-def]
            if original is part:
                return with_body(original, block("pass"))
            return super().on_leave(original, updated)

    return names_read(function.visit(Without()))


def _certainly_before(function: cst.FunctionDef, part: cst.CSTNode, local: set[str]) -> set[str]:
    """Names that have been bound when ``part`` is reached, by statements of the blocks around it."""
    found = set(parameters(function) or [])

    def look(body: list[cst.BaseStatement]) -> bool:
        for statement in body:
            if statement is part:
                found.update(names_bound([statement.with_changes(body=cst.IndentedBlock(block("pass")))]))
                return True
            inner = [body_of(statement)] if not isinstance(statement, (cst.FunctionDef, cst.ClassDef)) else []
            orelse = getattr(statement, "orelse", None)
            inner += [body_of(orelse)] if orelse is not None else []
            for nested in inner:
                if nested is not None and m.findall(statement, m.OneOf(m.With(), m.For())) and _holds(nested, part):
                    if isinstance(statement, cst.For):
                        found.update(names_bound([statement.with_changes(body=cst.IndentedBlock(block("pass")))]))
                    if isinstance(statement, cst.With):
                        found.update(names_bound([statement.with_changes(body=cst.IndentedBlock(block("pass")))]))
                    return look(nested)
            found.update(names_bound(statement))
        return False

    look(body_of(function) or [])
    return found & local | set(parameters(function) or [])


def _holds(body: list[cst.BaseStatement], part: cst.CSTNode) -> bool:
    class Find(cst.CSTVisitor):
        found = False

        def on_visit(self, node: cst.CSTNode) -> bool:
            self.found = self.found or node is part
            return not self.found

    look = Find()
    for statement in body:
        statement.visit(look)
    return look.found


def _always_bound(body: list[cst.BaseStatement], name: str) -> bool:
    return any(name in names_bound(s) for s in body if isinstance(s, cst.SimpleStatementLine))


def _read_before_bound(body: list[cst.BaseStatement], name: str) -> bool:
    for statement in body:
        if name in names_bound(statement):
            return not isinstance(statement, cst.SimpleStatementLine) or m.findall(statement, m.AugAssign()) != []
        if name in names_read(statement):
            return True
    return False


for _where, _label in (("tape", "tape_body"), ("loop", "loop_body")):
    _extracted(f"{_label}_to_function", "", "def PART(READ):\n    BODY\n    RESULT\n", "ASSIGNPART(READ)", _where)
    _extracted(f"{_label}_to_keywords", "", "def PART(READ):\n    BODY\n    RESULT\n", "ASSIGNPART(PAIRS)", _where)
    _extracted(
        f"{_label}_to_dict",
        "",
        "def PART(given):\n    UNPACK\n    BODY\n    return {ITEMS}\n",
        "_out = PART(dict(PAIRS))\nTAKEALL",
        _where,
    )
    _extracted(
        f"{_label}_to_method",
        "",
        "class PART:\n    def __init__(self, READ):\n        KEEP\n\n    def run(self):\n        TAKE\n        BODY\n        RESULT\n",
        "ASSIGNPART(READ).run()",
        _where,
    )
    _extracted(
        f"{_label}_to_static",
        "",
        "class PART:\n    @staticmethod\n    def run(READ):\n        BODY\n        RESULT\n",
        "ASSIGNPART.run(READ)",
        _where,
    )
    _extracted(
        f"{_label}_to_generator",
        "",
        "def PART(READ):\n    BODY\n    yield [MADE]\n",
        "for _out in PART(READ):\n    ASSIGN_out",
        _where,
    )
    _extracted(
        f"{_label}_to_next", "", "def PART(READ):\n    BODY\n    yield [MADE]\n", "ASSIGNnext(PART(READ))", _where
    )
    _extracted(
        f"{_label}_to_callback",
        "def _run(function, *args):\n    return function(*args)\n",
        "def PART(READ):\n    BODY\n    RESULT\n",
        "ASSIGN_run(PART, READ)",
        _where,
    )
    _extracted(
        f"{_label}_to_partial",
        "import functools\n",
        "def PART(READ):\n    BODY\n    RESULT\n",
        "ASSIGNfunctools.partial(PART, READ)()",
        _where,
    )
    _extracted(f"{_label}_to_namespace", "import types\n", "def PART(given):\n    UNPACK\n    BODY\n    return types.SimpleNamespace(**{ITEMS})\n",
               "_out = vars(PART(dict(PAIRS)))\nTAKEALL", _where)  # fmt: skip
