"""Tapes that are opened, and swept, in other ways."""

from __future__ import annotations

from random import Random

import libcst as cst
import libcst.matchers as m

from .syntax import (
    MOVED,
    Place,
    block,
    body_of,
    code,
    dotted,
    expr,
    expressions,
    register,
    statements,
    with_head,
)


def _tape_with(name: str, head: str, context: str | None, after: str = "") -> None:
    """``with wp.Tape() as tape`` opens something else."""

    def change(module: cst.Module, random: Random) -> cst.Module | None:
        def of_statement(statement: cst.BaseStatement) -> list[cst.BaseStatement] | None:
            if not isinstance(statement, cst.With) or len(statement.items) != 1:
                return None
            item = statement.items[0]
            made = item.item
            if dotted(made) and "tape" in dotted(made).lower() and item.asname is None:
                tape = made
            else:
                return None
            new = expr(context or "TAPE", TAPE=tape)
            return [statement.with_changes(items=[item.with_changes(item=new)])]

        made = statements(module, of_statement)
        return None if made is None else with_head(made, head) if head else made

    register(name, change)


_tape_with(
    "tape_in_context_manager",
    "import contextlib\n\n@contextlib.contextmanager\ndef _recording(tape):\n    with tape:\n        yield tape\n",
    "_recording(TAPE)",
)
_tape_with(
    "tape_in_context_manager_by_hand",
    "import contextlib\n\n@contextlib.contextmanager\ndef _recording(tape):\n    tape.__enter__()\n    try:\n        yield tape\n    finally:\n        tape.__exit__(None, None, None)\n",
    "_recording(TAPE)",
)
_tape_with(
    "tape_in_context_class",
    "class _Recording:\n    def __init__(self, tape):\n        self.tape = tape\n\n    def __enter__(self):\n        self.tape.__enter__()\n        return self.tape\n\n    def __exit__(self, *error):\n        return self.tape.__exit__(*error)\n",
    "_Recording(TAPE)",
)
_tape_with("tape_behind_condition", "import contextlib\n", "(TAPE if True else contextlib.nullcontext())")
_tape_with(
    "tape_optional",
    "import contextlib\n\ndef _maybe(tape, record=True):\n    return tape if record else contextlib.nullcontext()\n",
    "_maybe(TAPE)",
)


def _tape_block(name: str, head: str, template: str) -> None:
    """``with tape:`` becomes statements, in which ``BODY`` is its block."""

    def change(module: cst.Module, random: Random) -> cst.Module | None:
        def of_statement(statement: cst.BaseStatement) -> list[cst.BaseStatement] | None:
            if not isinstance(statement, cst.With) or len(statement.items) != 1:
                return None
            item = statement.items[0]
            if not dotted(item.item) or "tape" not in dotted(item.item).lower() or item.asname is not None:
                return None
            return [part.visit(Place(body_of(statement) or [])) for part in block(template, TAPE=item.item)]

        made = statements(module, of_statement)
        return None if made is None else with_head(made, head) if head else made

    register(name, change)


_tape_block(
    "tape_entered_by_hand", "", "TAPE.__enter__()\ntry:\n    BODY\nfinally:\n    TAPE.__exit__(None, None, None)"
)
_tape_block(
    "tape_on_exit_stack",
    "import contextlib\n",
    "with contextlib.ExitStack() as _stack:\n    _stack.enter_context(TAPE)\n    BODY",
)
_tape_block(
    "tape_on_exit_stack_by_name",
    "import contextlib\n",
    "with contextlib.ExitStack() as _stack:\n    _tape = _stack.enter_context(TAPE)\n    BODY",
)
_tape_block("tape_with_two", "import contextlib\n", "with contextlib.nullcontext() as _none, TAPE as _tape:\n    BODY")
_tape_block(
    "tape_in_list_of_contexts",
    "import contextlib\n",
    "with contextlib.ExitStack() as _stack:\n    for _context in [contextlib.nullcontext(), TAPE]:\n        _stack.enter_context(_context)\n    BODY",
)


def _backward(name: str, head: str, template: str) -> None:
    """``tape.backward(...)`` is called in another way."""

    def change(module: cst.Module, random: Random) -> cst.Module | None:
        def of_call(call: cst.Call) -> cst.BaseExpression | None:
            if not m.matches(call.func, m.Attribute(attr=m.Name("backward"))) or "tape" not in code(call.func).lower():
                return None
            if any(arg.star for arg in call.args):
                return None
            owner = call.func.value  # type: ignore[attr-defined]
            positional = [a.value for a in call.args if a.keyword is None]
            words = {a.keyword.value: a.value for a in call.args if a.keyword is not None}
            if positional:
                words = {"loss": positional[0], **words}
            if set(words) - {"loss", "grads"}:
                return None
            pairs = ", ".join(f"{key}={code(value)}" for key, value in words.items())
            items = ", ".join(f"{key!r}: {code(value)}" for key, value in words.items())
            return expr(template.replace("PAIRS", pairs).replace("ITEMS", items), TAPE=owner)

        made = expressions(module, of_call)
        return None if made is None else with_head(made, head) if head else made

    register(name, change)


_backward("backward_keywords", "", "TAPE.backward(PAIRS)")
_backward("backward_dict", "", "TAPE.backward(**{ITEMS})")
_backward("backward_getattr", "", "getattr(TAPE, 'backward')(PAIRS)")
_backward(
    "backward_helper", f"def _sweep(tape, **given):\n    tape.backward(**given)  {MOVED}\n", "_sweep(TAPE, PAIRS)"
)
_backward("backward_partial", "import functools\n", "functools.partial(TAPE.backward, PAIRS)()")
_backward("backward_methodcaller", "import operator\n", "operator.methodcaller('backward', PAIRS)(TAPE)")
_backward("backward_lambda", "", "(lambda run: run(PAIRS))(TAPE.backward)")
_backward("backward_in_list", "", "[run(PAIRS) for run in (TAPE.backward,)]")
_backward("backward_unbound", "import warp as _wp\n", "_wp.Tape.backward(TAPE, PAIRS)")
_backward(
    "backward_class",
    f"class _Sweep:\n    def __init__(self, tape):\n        self.tape = tape\n\n    def __call__(self, **given):\n        return self.tape.backward(**given)  {MOVED}\n",
    "_Sweep(TAPE)(PAIRS)",
)
