"""Loops of numbered steps, written in other ways, and buffers that are swapped in other ways."""

from __future__ import annotations

from random import Random

import libcst as cst
import libcst.matchers as m

from .syntax import (
    Host,
    block,
    body_of,
    carry,
    code,
    expr,
    is_device,
    jumps,
    names_bound,
    names_read,
    only,
    parameters,
    register,
    statements,
    with_body,
    with_head,
)


def _counted(node: cst.CSTNode) -> bool:
    """``for i in range(...)`` with a plain name and no ``else``."""
    return (
        isinstance(node, cst.For)
        and isinstance(node.target, cst.Name)
        and node.orelse is None
        and isinstance(node.iter, cst.Call)
        and code(node.iter.func) == "range"
        and not any(arg.star or arg.keyword for arg in node.iter.args)
        and body_of(node) is not None
    )


def _other_iterable(name: str, head: str, template: str, target: str = "{i}") -> None:
    """Loops over ``RANGE`` go over something else that gives the same numbers."""

    def change(module: cst.Module, random: Random) -> cst.Module | None:
        def of_statement(statement: cst.BaseStatement) -> list[cst.BaseStatement] | None:
            if not _counted(statement):
                return None
            assert isinstance(statement, cst.For) and isinstance(statement.target, cst.Name)
            text = target.replace("{i}", statement.target.value)
            other = statement.with_changes(iter=expr(template, RANGE=statement.iter), target=expr(text))
            return [other]

        made = statements(module, of_statement)
        return None if made is None else with_head(made, head) if head else made

    register(name, change)


_other_iterable("loop_over_list", "", "list(RANGE)")
_other_iterable("loop_over_tuple", "", "tuple(RANGE)")
_other_iterable("loop_over_iter", "", "iter(RANGE)")
_other_iterable("loop_enumerate", "", "enumerate(RANGE)", "_, {i}")
_other_iterable("loop_enumerate_nested", "", "enumerate(zip(RANGE, RANGE))", "_, ({i}, _)")
_other_iterable("loop_zip", "", "zip(RANGE, RANGE)", "{i}, _")
_other_iterable("loop_zip_count", "import itertools\n", "zip(RANGE, itertools.count())", "{i}, _")
_other_iterable("loop_reversed_twice", "", "reversed(list(reversed(RANGE)))")
_other_iterable("loop_backwards_slice", "", "RANGE[::-1][::-1]")
_other_iterable("loop_sorted", "", "sorted(RANGE)")
_other_iterable("loop_map", "", "map(int, RANGE)")
_other_iterable("loop_map_lambda", "", "map(lambda k: k + 0, RANGE)")
_other_iterable("loop_filter", "", "filter(lambda k: True, RANGE)")
_other_iterable("loop_comprehension", "", "[k for k in RANGE]")
_other_iterable("loop_generator_expression", "", "(k for k in RANGE if k >= 0)")
_other_iterable("loop_chain", "import itertools\n", "itertools.chain(RANGE, ())")
_other_iterable("loop_chain_star", "import itertools\n", "itertools.chain.from_iterable([RANGE])")
_other_iterable("loop_islice", "import itertools\n", "itertools.islice(RANGE, None)")
_other_iterable("loop_islice_count", "import itertools\n", "itertools.islice(RANGE, len(RANGE))")
_other_iterable("loop_takewhile", "import itertools\n", "itertools.takewhile(lambda k: True, RANGE)")
_other_iterable("loop_product", "import itertools\n", "itertools.product(RANGE)", "({i},)")
_other_iterable("loop_accumulate", "import itertools\n", "itertools.accumulate(RANGE, lambda last, new: new)")
_other_iterable("loop_numpy", "import numpy as _np\n", "_np.array(list(RANGE)).tolist()")
_other_iterable("loop_dict", "", "{k: None for k in RANGE}")
_other_iterable("loop_dict_items", "", "{k: None for k in RANGE}.items()", "{i}, _")
_other_iterable("loop_set_sorted", "", "sorted(set(RANGE))")
_other_iterable("loop_deque", "from collections import deque\n", "deque(RANGE)")
_other_iterable("loop_generator", "def _each(numbers):\n    for k in numbers:\n        yield k\n", "_each(RANGE)")
_other_iterable("loop_generator_while", "def _each(count):\n    k = 0\n    while k < count:\n        yield k\n        k += 1\n",
                "(RANGE[k] for k in _each(len(RANGE)))")  # fmt: skip
_other_iterable("loop_generator_return", "def _each(numbers):\n    place = 0\n    while True:\n        if place >= len(numbers):\n            return\n"
                "        yield numbers[place]\n        place += 1\n", "_each(RANGE)")  # fmt: skip
_other_iterable("loop_yield_from", "def _each(numbers):\n    yield from numbers\n", "_each(RANGE)")
_other_iterable("loop_iterable_class", "class _Each:\n    def __init__(self, numbers):\n        self.numbers = numbers\n\n"
                "    def __iter__(self):\n        return iter(self.numbers)\n", "_Each(RANGE)")  # fmt: skip
_other_iterable("loop_iterable_class_generator", "class _Each:\n    def __init__(self, numbers):\n        self.numbers = numbers\n\n"
                "    def __iter__(self):\n        for k in self.numbers:\n            yield k\n", "_Each(RANGE)")  # fmt: skip
_other_iterable("loop_iterator_class", "class _Each:\n    def __init__(self, numbers):\n        self.left = list(numbers)\n\n"
                "    def __iter__(self):\n        return self\n\n    def __next__(self):\n        if not self.left:\n"
                "            raise StopIteration\n        return self.left.pop(0)\n", "_Each(RANGE)")  # fmt: skip
_other_iterable("loop_getitem_class", "class _Each:\n    def __init__(self, numbers):\n        self.numbers = numbers\n\n"
                "    def __len__(self):\n        return len(self.numbers)\n\n    def __getitem__(self, place):\n"
                "        return self.numbers[place]\n", "_Each(RANGE)")  # fmt: skip
_other_iterable("loop_progress", "class _Progress:\n    def __init__(self, items, total=None):\n        self.items = items\n        self.total = total\n\n"
                "    def __enter__(self):\n        return self\n\n    def __exit__(self, *error):\n        return False\n\n"
                "    def __iter__(self):\n        for self.n, item in enumerate(self.items):\n            yield item\n", "_Progress(RANGE)")  # fmt: skip
_other_iterable("loop_cycle", "import itertools\n", "itertools.islice(itertools.cycle(RANGE), len(RANGE))")
_other_iterable("loop_starmap", "import itertools\n", "itertools.starmap(lambda k, _: k, zip(RANGE, RANGE))")
_other_iterable("loop_pairs", "", "[(k, k + 1) for k in RANGE]", "{i}, _next")
_other_iterable("loop_star_target", "", "[(k, 1, 2) for k in RANGE]", "{i}, *_more")
_other_iterable(
    "loop_records", "from types import SimpleNamespace as _Step\n", "(step.k for step in [_Step(k=k) for k in RANGE])"
)


def _rewritten(name: str, head: str, template: str, continues: bool = False) -> None:
    """Loops over ``RANGE`` get another form; ``BODY`` is where the body goes, ``INDEX`` the counter's name."""

    def change(module: cst.Module, random: Random) -> cst.Module | None:
        def of_statement(statement: cst.BaseStatement) -> list[cst.BaseStatement] | None:
            if not _counted(statement) or (m.findall(statement, m.Continue()) and not continues):
                return None
            assert isinstance(statement, cst.For) and isinstance(statement.target, cst.Name)
            index = statement.target.value
            text = template.replace("INDEX", index)
            nested = len(
                m.findall(statement, m.OneOf(m.For(), m.While()))
            )  # loops inside one another need names of their own
            for name in ("_left", "_at", "_numbers", "_outer", "_last"):
                text = text.replace(name, f"{name}{nested}")
            return _with_block(text, statement)

        made = statements(module, of_statement)
        return None if made is None else with_head(made, head) if head else made

    register(name, change)


def _with_block(text: str, loop: cst.For) -> list[cst.BaseStatement]:
    """Statements with the body of a loop in the place of ``BODY``, and what it goes over for ``RANGE``."""

    class Place(cst.CSTTransformer):
        def leave_SimpleStatementLine(self, original, updated):  # type: ignore[no-untyped-def]
            if m.matches(original, m.SimpleStatementLine(body=[m.Expr(m.Name("BODY"))])):
                return cst.FlattenSentinel(body_of(loop) or [])
            return updated

    return [statement.visit(Place()) for statement in block(text, RANGE=loop.iter)]


_rewritten(
    "loop_while",
    "",
    "_numbers = RANGE\n_at = 0\nwhile _at < len(_numbers):\n    INDEX = _numbers[_at]\n    BODY\n    _at += 1",
)
_rewritten(
    "loop_while_first",
    "",
    "_numbers = RANGE\n_at = -1\nwhile _at + 1 < len(_numbers):\n    _at += 1\n    INDEX = _numbers[_at]\n    BODY",
    True,
)
_rewritten(
    "loop_while_true",
    "",
    "_left = list(RANGE)\nwhile True:\n    if not _left:\n        break\n    INDEX = _left.pop(0)\n    BODY",
    True,
)
_rewritten("loop_while_list", "", "_left = list(RANGE)\nwhile _left:\n    INDEX = _left.pop(0)\n    BODY", True)
_rewritten(
    "loop_while_walrus", "", "_left = iter(RANGE)\nwhile (INDEX := next(_left, None)) is not None:\n    BODY", True
)
_rewritten(
    "loop_next_until_stop",
    "",
    "_left = iter(RANGE)\nwhile True:\n    try:\n        INDEX = next(_left)\n    except StopIteration:\n        break\n    BODY",
    True,
)
_rewritten(
    "loop_while_deque",
    "from collections import deque\n",
    "_left = deque(RANGE)\nwhile _left:\n    INDEX = _left.popleft()\n    BODY",
    True,
)
_rewritten("loop_in_nested_for", "", "for _outer in (RANGE,):\n    for INDEX in _outer:\n        BODY", False)
_rewritten("loop_with_else", "", "for INDEX in RANGE:\n    BODY\nelse:\n    _done = True", True)
_rewritten(
    "loop_in_context",
    "import contextlib\n",
    "with contextlib.suppress(KeyError):\n    for INDEX in RANGE:\n        BODY",
    True,
)
_rewritten(
    "loop_body_in_try", "", "for INDEX in RANGE:\n    try:\n        BODY\n    finally:\n        _last = INDEX", True
)
_rewritten("loop_body_in_if", "", "for INDEX in RANGE:\n    if INDEX is not None:\n        BODY", True)
_rewritten(
    "loop_body_in_context",
    "import contextlib\n",
    "for INDEX in RANGE:\n    with contextlib.nullcontext():\n        BODY",
    True,
)
_rewritten(
    "loop_guarded",
    "",
    "for INDEX in range(10 ** 6):\n    if INDEX >= len(RANGE):\n        break\n    INDEX = RANGE[INDEX]\n    BODY".replace(
        "INDEX >= len(RANGE)", "INDEX >= len(RANGE)"
    ),
    True,
)
_rewritten("loop_match", "", "for INDEX in RANGE:\n    match INDEX:\n        case int():\n            BODY", True)


# --- the body becomes a function ---


class _InFunctions(Host):
    """Replaces counted loops by a nested function and something that calls it."""

    def __init__(self, template: str) -> None:
        self.template = template
        self.outer: list[cst.FunctionDef] = []
        self.changed = False
        self.count = 0

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        if is_device(node):
            return False
        self.outer.append(node)
        return True

    def leave_FunctionDef(self, original: cst.FunctionDef, updated: cst.FunctionDef) -> cst.FunctionDef:
        if not is_device(original):
            self.outer.pop()
        return updated

    def leave_For(self, original: cst.For, updated: cst.For):  # type: ignore[no-untyped-def]
        if not self.outer or not _counted(original):
            return updated
        body = body_of(updated) or []
        if jumps(body):
            return updated
        function = self.outer[-1]
        assert isinstance(original.target, cst.Name)
        index = original.target.value
        outside = _names_outside(function, original)
        bound = names_bound(body) - {index}
        shared = bound & outside
        given = parameters(function)
        if given is None or index in outside or not shared <= (_bound_outside(function, original) | set(given)):
            return updated
        if any(m.findall(statement, m.Nonlocal()) for statement in body_of(function) or []):
            return updated
        self.changed = True
        self.count += 1
        step = f"_step{self.count}"
        head = block(f"nonlocal {', '.join(sorted(shared))}") if shared else []
        made = block(f"def {step}({index}):\n    pass")[0]
        made = with_body(made, [*head, *body])
        text = self.template.replace("STEP", step)
        return cst.FlattenSentinel([made, *block(text, RANGE=original.iter)])


def _names_outside(function: cst.FunctionDef, loop: cst.For) -> set[str]:
    """The names that a function uses outside of one of its loops."""

    class Without(cst.CSTTransformer):
        def on_visit(self, node: cst.CSTNode) -> bool:
            return node is not loop

        def leave_For(self, original: cst.For, updated: cst.For):  # type: ignore[no-untyped-def]
            return cst.RemoveFromParent() if original is loop else updated

    return names_read(function.visit(Without()))


def _bound_outside(function: cst.FunctionDef, loop: cst.For) -> set[str]:
    class Without(cst.CSTTransformer):
        def on_visit(self, node: cst.CSTNode) -> bool:
            return node is not loop

        def leave_For(self, original: cst.For, updated: cst.For):  # type: ignore[no-untyped-def]
            return cst.RemoveFromParent() if original is loop else updated

    rest = function.visit(Without())
    return names_bound(body_of(rest) or [])  # type: ignore[arg-type]


def _function_loop(name: str, head: str, template: str) -> None:
    def change(module: cst.Module, random: Random) -> cst.Module | None:
        look = _InFunctions(template)
        made = module.visit(look)
        if not look.changed:
            return None
        return with_head(made, head) if head else made

    register(name, change)


_function_loop("body_called_in_loop", "", "for _k in RANGE:\n    STEP(_k)")
_function_loop("body_in_comprehension", "", "[STEP(_k) for _k in RANGE]")
_function_loop("body_mapped", "", "list(map(STEP, RANGE))")
_function_loop("body_mapped_into_deque", "from collections import deque\n", "deque(map(STEP, RANGE), maxlen=0)")
_function_loop("body_for_any", "", "any(STEP(_k) for _k in RANGE)")
_function_loop("body_for_all_none", "", "all(STEP(_k) is None for _k in RANGE)")
_function_loop("body_reduced", "import functools\n", "functools.reduce(lambda _, _k: STEP(_k), RANGE, None)")
_function_loop(
    "body_in_recursion",
    "",
    "def _from(left):\n    if left:\n        STEP(left[0])\n        _from(left[1:])\n_from(list(RANGE))",
)
_function_loop(
    "body_in_tail_recursion",
    "",
    "def _go(k, numbers):\n    if k >= len(numbers):\n        return\n    STEP(numbers[k])\n    return _go(k + 1, numbers)\n_go(0, RANGE)",
)
_function_loop(
    "body_in_generator",
    "",
    "def _rounds(numbers):\n    for _k in numbers:\n        yield STEP(_k)\nfor _ in _rounds(RANGE):\n    pass",
)
_function_loop(
    "body_in_generator_next",
    "",
    "def _rounds(numbers):\n    for _k in numbers:\n        STEP(_k)\n        yield _k\n_all = _rounds(RANGE)\nwhile next(_all, None) is not None:\n    pass",
)
_function_loop(
    "body_as_callback",
    "",
    "def _repeat(numbers, on_step):\n    for _k in numbers:\n        on_step(_k)\n_repeat(RANGE, STEP)",
)
_function_loop(
    "body_as_callback_list", "", "_hooks = [STEP]\nfor _k in RANGE:\n    for _hook in _hooks:\n        _hook(_k)"
)
_function_loop(
    "body_in_partials", "import functools\n", "for _task in [functools.partial(STEP, _k) for _k in RANGE]:\n    _task()"
)
_function_loop("body_in_lambdas", "", "for _task in [lambda _k=_k: STEP(_k) for _k in RANGE]:\n    _task()")
_function_loop("body_through_class", "class _Loop:\n    def __init__(self, step):\n        self.step = step\n\n    def run(self, numbers):\n        for k in numbers:\n            self.step(k)\n",
               "_Loop(STEP).run(RANGE)")  # fmt: skip
_function_loop("body_through_event_loop", "class _Events:\n    def __init__(self):\n        self.listeners = {}\n\n    def on(self, name, function):\n"
               "        self.listeners.setdefault(name, []).append(function)\n\n    def emit(self, name, *args):\n"
               "        for function in self.listeners.get(name, ()):\n            function(*args)\n",
               "_events = _Events()\n_events.on('step', STEP)\nfor _k in RANGE:\n    _events.emit('step', _k)")  # fmt: skip
_function_loop(
    "body_sent_to_coroutine",
    "",
    "def _machine():\n    while True:\n        _k = yield\n        STEP(_k)\n_co = _machine()\nnext(_co)\nfor _k in RANGE:\n    _co.send(_k)",
)
_function_loop(
    "body_decorated",
    "def _plain(function):\n    def inner(*args):\n        return function(*args)\n    return inner\n",
    "STEP = _plain(STEP)\nfor _k in RANGE:\n    STEP(_k)",
)


# --- swaps ---


def _swap(statement: cst.BaseStatement) -> tuple[str, str] | None:
    small = only(statement)
    if not isinstance(small, cst.Assign) or len(small.targets) != 1:
        return None
    target, value = small.targets[0].target, small.value
    if not isinstance(target, cst.Tuple) or not isinstance(value, cst.Tuple) or len(target.elements) != 2 != 0:
        return None
    left = [code(element.value) for element in target.elements]
    right = [code(element.value) for element in value.elements]
    return (left[0], left[1]) if right == left[::-1] else None


def _swapping(name: str, head: str, template: str) -> None:
    def change(module: cst.Module, random: Random) -> cst.Module | None:
        def of_statement(statement: cst.BaseStatement) -> list[cst.BaseStatement] | None:
            found = _swap(statement)
            if found is None:
                return None
            return carry(statement, block(template.replace("{a}", found[0]).replace("{b}", found[1])))

        made = statements(module, of_statement)
        return None if made is None else with_head(made, head) if head else made

    register(name, change)


_swapping("swap_by_third", "", "_kept = {a}\n{a} = {b}\n{b} = _kept")
_swapping("swap_by_list", "", "_both = [{a}, {b}]\n{b}, {a} = _both")
_swapping("swap_by_reversed", "", "{a}, {b} = reversed(({a}, {b}))")
_swapping("swap_by_slice", "", "{a}, {b} = ({a}, {b})[::-1]")
_swapping(
    "swap_by_rotation",
    "from collections import deque\n",
    "_both = deque([{a}, {b}])\n_both.rotate(1)\n{a}, {b} = _both",
)
_swapping("swap_by_helper", "def _swapped(first, second):\n    return second, first\n", "{a}, {b} = _swapped({a}, {b})")
_swapping("swap_by_lambda", "", "{a}, {b} = (lambda first, second: (second, first))({a}, {b})")
_swapping("swap_by_star", "", "{b}, *_rest = {a}, {b}\n{a} = _rest[0]")
_swapping("swap_by_dict", "", "_both = {'new': {b}, 'old': {a}}\n{a} = _both['new']\n{b} = _both['old']")
_swapping("swap_by_itemgetter", "import operator\n", "{a}, {b} = operator.itemgetter(1, 0)(({a}, {b}))")
_swapping("swap_by_pair_class", "class _Pair:\n    def __init__(self, first, second):\n        self.items = [first, second]\n\n    def flip(self):\n"
          "        self.items.reverse()\n        return self\n\n    def __iter__(self):\n        return iter(self.items)\n",
          "{a}, {b} = _Pair({a}, {b}).flip()")  # fmt: skip
_swapping("swap_by_parity", "", "_both = ({a}, {b})\n{a}, {b} = (_both[(k + 1) % 2] for k in range(2))")
_swapping("swap_by_pop_insert", "", "_both = [{a}, {b}]\n_both.insert(0, _both.pop())\n{a}, {b} = _both")
_swapping(
    "swap_by_cycle",
    "import itertools\n",
    "_both = itertools.cycle(({a}, {b}))\n_first = next(_both)\n{a} = next(_both)\n{b} = next(_both)",
)
