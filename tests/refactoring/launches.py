"""Launches that are made through something else."""

from __future__ import annotations

from random import Random

import libcst as cst

from .syntax import (
    MOVED,
    Blocks,
    block,
    carry,
    code,
    expr,
    expressions,
    imports_end,
    inserted,
    is_launch,
    launch_parts,
    of_module,
    only,
    register,
    statements,
    warp_name,
    with_head,
)

#: Statements that make a name, and the name that then takes the place of ``wp.launch``.
_CALLEES = {
    "launch_helper": (
        f"def _go(*args, **kwargs):\n    return wp.launch(*args, **kwargs)  {MOVED}\n", "_go"),
    "launch_named_helper": (
        "def _go(kernel, dim, inputs=(), outputs=(), **rest):\n"
        f"    wp.launch(kernel, dim=dim, inputs=list(inputs), outputs=list(outputs), **rest)  {MOVED}\n", "_go"),
    "launch_lambda": (f"_go = lambda kernel, *args, **kwargs: wp.launch(kernel, *args, **kwargs)  {MOVED}\n", "_go"),
    "launch_alias": ("_go = wp.launch\n", "_go"),
    "launch_getattr": ("", "getattr(wp, 'launch')"),
    "launch_imported": ("from warp import launch as _go\n", "_go"),
    "launch_bound_method": (
        "class _Device:\n    def __init__(self):\n        self.count = 0\n\n"
        "    def launch(self, kernel, dim, inputs=(), outputs=(), **rest):\n        self.count += 1\n"
        f"        return wp.launch(kernel, dim, inputs=[*inputs], outputs=[*outputs], **rest)  {MOVED}\n\n"
        "_device = _Device()\n", "_device.launch"),
    "launch_method_in_variable": (
        "class _Device:\n    def launch(self, *args, **kwargs):\n"
        f"        return wp.launch(*args, **kwargs)  {MOVED}\n\n"
        "_go = _Device().launch\n", "_go"),
    "launch_static_method": (
        "class _Device:\n    @staticmethod\n    def launch(kernel, *args, **kwargs):\n"
        f"        return wp.launch(kernel, *args, **kwargs)  {MOVED}\n", "_Device.launch"),
    "launch_class_method": (
        "class _Device:\n    calls = 0\n\n    @classmethod\n    def launch(cls, kernel, *args, **kwargs):\n"
        f"        cls.calls += 1\n        return wp.launch(kernel, *args, **kwargs)  {MOVED}\n", "_Device.launch"),
    "launch_partial": ("import functools\n", "functools.partial(wp.launch)"),
    "launch_partial_flag": ("import functools\n_go = functools.partial(wp.launch, record_tape=True)\n", "_go"),
    "launch_decorated_helper": (
        "import functools\n\ndef _counted(function):\n    @functools.wraps(function)\n    def inner(*args, **kwargs):\n"
        "        inner.calls += 1\n        return function(*args, **kwargs)\n\n    inner.calls = 0\n    return inner\n\n"
        f"@_counted\ndef _go(kernel, *args, **kwargs):\n    return wp.launch(kernel, *args, **kwargs)  {MOVED}\n", "_go"),
    "launch_decorated_by_class": (
        "class _Counted:\n    def __init__(self, function):\n        self.function = function\n        self.calls = 0\n\n"
        "    def __call__(self, *args, **kwargs):\n        self.calls += 1\n        return self.function(*args, **kwargs)\n\n"
        f"@_Counted\ndef _go(kernel, *args, **kwargs):\n    return wp.launch(kernel, *args, **kwargs)  {MOVED}\n", "_go"),
    "launch_decorator_with_options": (
        "def _with(**defaults):\n    def mark(function):\n        def inner(*args, **kwargs):\n"
        "            return function(*args, **{**defaults, **kwargs})\n        return inner\n    return mark\n\n"
        "@_with(record_tape=True)\ndef _go(kernel, *args, **kwargs):\n"
        f"    return wp.launch(kernel, *args, **kwargs)  {MOVED}\n", "_go"),
    "launch_through_module_proxy": (
        "class _Proxy:\n    def __init__(self, inner):\n        self._inner = inner\n\n"
        "    def __getattr__(self, name):\n        return getattr(self._inner, name)\n\n_wp = _Proxy(wp)\n", "_wp.launch"),
    "launch_in_dict": ("_ACTIONS = {'launch': wp.launch}\n", "_ACTIONS['launch']"),
    "launch_in_namespace": (
        "from types import SimpleNamespace\n_ns = SimpleNamespace(go=wp.launch)\n", "_ns.go"),
    "launch_hooked": (
        "_before, _after = [], []\n\ndef _go(kernel, *args, **kwargs):\n    for hook in _before:\n        hook(kernel)\n"
        f"    result = wp.launch(kernel, *args, **kwargs)  {MOVED}\n"
        "    for hook in _after:\n        hook(kernel)\n    return result\n", "_go"),
    "launch_checked_first": (
        "def _go(kernel, *args, **kwargs):\n    if not isinstance(kernel, wp.Kernel):\n"
        "        raise TypeError(f'{kernel} is no kernel')\n    try:\n"
        f"        return wp.launch(kernel, *args, **kwargs)  {MOVED}\n"
        "    finally:\n        pass\n", "_go"),
}  # fmt: skip


def _callee(name: str, head: str, callee: str) -> None:
    def change(module: cst.Module, random: Random) -> cst.Module | None:
        warp = warp_name(module)
        if warp is None:
            return None
        text = head.replace("wp.", f"{warp}.").replace("(wp)", f"({warp})")
        function = expr(callee.replace("wp.", f"{warp}.").replace("(wp,", f"({warp},"))
        made = expressions(module, lambda call: call.with_changes(func=function) if is_launch(call) else None)
        return None if made is None else with_head(made, text) if text else made

    register(name, change)


for _name, (_head, _text) in _CALLEES.items():
    _callee(_name, _head, _text)


def _parts_text(call: cst.Call, skip: tuple[str, ...] = ()) -> dict[str, str]:
    return {name: code(value) for name, value in launch_parts(call).items() if name not in skip}


def _rewritten(name: str, head: str, template: str) -> None:
    """Each launch becomes what the template says: ``{kernel}``, ``{rest}`` (keywords) and ``{items}`` (of a dict)."""

    def change(module: cst.Module, random: Random) -> cst.Module | None:
        warp = warp_name(module)
        if warp is None:
            return None

        def of_call(call: cst.Call) -> cst.BaseExpression | None:
            if not is_launch(call) or "#" in code(call):
                return None
            parts = _parts_text(call)
            kernel = parts.pop("kernel")
            rest = ", ".join(f"{key}={value}" for key, value in parts.items())
            items = ", ".join(f"{key!r}: {value}" for key, value in parts.items())
            text = template.replace("{kernel}", kernel).replace("{rest}", rest).replace("{items}", items)
            return expr(" ".join(text.replace("wp.", f"{warp}.").split("\n")))

        made = expressions(module, of_call)
        return None if made is None else with_head(made, head.replace("wp.", f"{warp}.")) if head else made

    register(name, change)


_rewritten("launch_partial_call", "import functools\n", "functools.partial(wp.launch, {kernel})({rest})")
_rewritten("launch_partial_all", "import functools\n", "functools.partial(wp.launch, {kernel}, {rest})()")
_rewritten("launch_dict_of_options", "", "wp.launch({kernel}, **{{items}})")
_rewritten("launch_dict_call", "", "wp.launch(**dict(kernel={kernel}, {rest}))")
_rewritten("launch_star", "", "wp.launch(*({kernel},), **dict({rest}))")
_rewritten(
    "launch_merged_options", "_DEFAULTS = {'record_tape': True}\n", "wp.launch({kernel}, **(_DEFAULTS | {{items}}))"
)
_rewritten("launch_called_lambda", "", "(lambda: wp.launch({kernel}, {rest}))()")
_rewritten(
    "launch_command_object",
    "class _Command:\n    def __init__(self, kernel, **options):\n        self.kernel = kernel\n        self.options = options\n\n"
    f"    def __call__(self):\n        return wp.launch(self.kernel, **self.options)  {MOVED}\n",
    "_Command({kernel}, {rest})()",
)
_rewritten(
    "launch_dataclass_command",
    "import dataclasses\n\n@dataclasses.dataclass(frozen=True)\nclass _Op:\n    kernel: object\n    dim: object\n"
    "    inputs: list = dataclasses.field(default_factory=list)\n"
    "    outputs: list = dataclasses.field(default_factory=list)\n    device: object = None\n\n"
    f"    def run(self):\n        wp.launch(self.kernel, dim=self.dim, inputs=self.inputs, outputs=self.outputs)  {MOVED}\n",
    "_Op({kernel}, {rest}).run()",
)
_rewritten(
    "launch_namedtuple_command",
    "from typing import Any, NamedTuple\n\nclass _Op(NamedTuple):\n    kernel: Any\n    dim: Any\n    inputs: Any = ()\n"
    "    outputs: Any = ()\n\n    def run(self):\n        kernel, dim, *arrays = self\n"
    f"        wp.launch(kernel, dim=dim, inputs=arrays[0], outputs=arrays[1])  {MOVED}\n",
    "_Op({kernel}, {rest}).run()",
)
_rewritten(
    "launch_fluent",
    "class _Pipe:\n    def __init__(self):\n        self.steps = []\n\n    def add(self, kernel, **options):\n"
    "        self.steps.append((kernel, options))\n        return self\n\n    def run(self):\n"
    "        while self.steps:\n            kernel, options = self.steps.pop(0)\n"
    f"            wp.launch(kernel, **options)  {MOVED}\n",
    "_Pipe().add({kernel}, {rest}).run()",
)
_rewritten(
    "launch_curried",
    f"def _with(kernel):\n    def on(**options):\n        return wp.launch(kernel, **options)  {MOVED}\n    return on\n",
    "_with({kernel})({rest})",
)
_rewritten(
    "launch_index_syntax",
    "class _Launcher:\n    def __init__(self, kernel=None, dim=None):\n        self.kernel, self.dim = kernel, dim\n\n"
    "    def __getitem__(self, kernel):\n        return _Launcher(kernel)\n\n"
    f"    def __call__(self, dim, inputs=(), outputs=()):\n        wp.launch(self.kernel, dim, inputs, outputs)  {MOVED}\n\n"
    "_launcher = _Launcher()\n",
    "_launcher[{kernel}]({rest})",
)
_rewritten(
    "launch_arrow_operator",
    "class _Bind:\n    def __init__(self, **options):\n        self.options = options\n\n"
    f"    def __rrshift__(self, kernel):\n        wp.launch(kernel, **self.options)  {MOVED}\n\n"
    f"    def __matmul__(self, kernel):\n        wp.launch(kernel, **self.options)  {MOVED}\n",
    "_Bind({rest}) @ {kernel}",
)
_rewritten("launch_mapped", "", "list(map(lambda options: wp.launch({kernel}, **options), [{{items}}]))")
_rewritten("launch_comprehended", "", "[wp.launch({kernel}, **options) for options in ({{items}},)]")
_rewritten("launch_conditional", "", "wp.launch({kernel}, {rest}) if True else None")


def _line(statement: cst.BaseStatement) -> cst.Call | None:
    small = only(statement)
    if isinstance(small, cst.Expr) and is_launch(small.value) and "#" not in code(small.value):
        return small.value  # type: ignore[return-value]
    return None


def _as_statements(name: str, head: str, template: str, onto: int) -> None:
    def change(module: cst.Module, random: Random) -> cst.Module | None:
        warp = warp_name(module)
        if warp is None:
            return None
        body = template.replace("wp.", f"{warp}.")

        def of_statement(statement: cst.BaseStatement) -> list[cst.BaseStatement] | None:
            call = _line(statement)
            if call is None:
                return None
            parts = _parts_text(call)
            kernel = parts.pop("kernel")
            rest = ", ".join(f"{key}={value}" for key, value in parts.items())
            items = ", ".join(f"{key!r}: {value}" for key, value in parts.items())
            text = body.replace("{kernel}", kernel).replace("{rest}", rest).replace("{items}", items)
            return carry(statement, block(text), onto)

        made = statements(module, of_statement)
        return None if made is None else with_head(made, head.replace("wp.", f"{warp}.")) if head else made

    register(name, change)


_as_statements("launch_options_variable", "", "_options = dict({rest})\nwp.launch({kernel}, **_options)", -1)
_as_statements("launch_setdefault", "",
               "_options = {{items}}\n_options.setdefault('outputs', [])\nwp.launch({kernel}, **_options)", -1)  # fmt: skip
_as_statements("launch_callbacks", "",
               "_jobs = [lambda: wp.launch({kernel}, {rest})]\nfor _job in _jobs:\n    _job()", 0)  # fmt: skip
_as_statements("launch_in_match", "",
               "match 'go':\n    case 'stop':\n        pass\n    case 'go':\n        wp.launch({kernel}, {rest})  # moved", -1)  # fmt: skip
_as_statements("launch_in_try", "", "try:\n    wp.launch({kernel}, {rest})\nfinally:\n    pass", 0)
_as_statements("launch_in_nested_function", "",
               "def _now():\n    wp.launch({kernel}, {rest})\n_now()", 0)  # fmt: skip
_as_statements("launch_unpacked_arrays", "",
               "_call = {{items}}\n_dim, *_arrays = (_call['dim'], *_call.get('inputs', ()), *_call.get('outputs', ()))\n"
               "wp.launch({kernel}, dim=_dim, inputs=_arrays)", -1)  # fmt: skip
_as_statements("launch_popped", "",
               "_call = {{items}}\n_dim = _call.pop('dim')\nwp.launch({kernel}, _dim, **_call)", -1)  # fmt: skip
_as_statements("launch_on_exit", "import contextlib\n",
               "with contextlib.ExitStack() as _stack:\n    _stack.callback(wp.launch, {kernel}, {rest})", 0)  # fmt: skip
_as_statements("launch_in_context", "import contextlib\n",
               "with contextlib.nullcontext():\n    wp.launch({kernel}, {rest})", 0)  # fmt: skip
_as_statements("launch_timed", "",
               "with wp.ScopedTimer('step', active=False):\n    wp.launch({kernel}, {rest})", 0)  # fmt: skip
_as_statements("launch_for_device", "",
               "with wp.ScopedDevice('cpu'):\n    wp.launch({kernel}, {rest})", 0)  # fmt: skip


@of_module
def launch_queue(module: cst.Module, random: Random) -> cst.Module | None:
    """Launches behind one another become a list of operations that a loop runs."""
    warp = warp_name(module)
    if warp is None:
        return None
    return _queued(module, f"""
for _kernel, _dim, _inputs, _outputs in _queue:
    {warp}.launch(_kernel, dim=_dim, inputs=_inputs, outputs=_outputs)  {MOVED}
""", "[]", "_queue.append(({kernel}, {dim}, {inputs}, {outputs}))")  # fmt: skip


@of_module
def launch_queue_popped(module: cst.Module, random: Random) -> cst.Module | None:
    """The same with a deque which is emptied from the left."""
    warp = warp_name(module)
    if warp is None:
        return None
    made = _queued(module, f"""
while _queue:
    _op = _queue.popleft()
    {warp}.launch(_op['kernel'], dim=_op['dim'], inputs=_op['inputs'], outputs=_op['outputs'])  {MOVED}
""", "_deque()", "_queue.append(dict(kernel={kernel}, dim={dim}, inputs={inputs}, outputs={outputs}))")  # fmt: skip
    return None if made is None else with_head(made, "from collections import deque as _deque\n")


@of_module
def launch_queue_of_partials(module: cst.Module, random: Random) -> cst.Module | None:
    """The same with calls that are ready to be made."""
    warp = warp_name(module)
    if warp is None:
        return None
    made = _queued(module, "for _task in tuple(_queue):\n    _task()\n", "[]",
                   f"_queue.append(_partial({warp}.launch, {{kernel}}, {{dim}}, inputs={{inputs}}, outputs={{outputs}}))", marks=True)  # fmt: skip
    return None if made is None else with_head(made, "from functools import partial as _partial\n")


def _queued(module: cst.Module, run: str, empty: str, add: str, marks: bool = False) -> cst.Module | None:
    def of_block(body: list[cst.BaseStatement]) -> list[cst.BaseStatement] | None:
        made: list[cst.BaseStatement] = []
        queue: list[cst.BaseStatement] = []
        found = False

        def flush() -> None:
            nonlocal found
            if len(queue) > 1:
                found = True
                made.extend(block(f"_queue = {empty}"))
                for statement in queue:
                    parts = {"inputs": "[]", "outputs": "[]"} | _parts_text(_line(statement))  # type: ignore[arg-type]
                    new = block(add.format(**parts))
                    made.extend(carry(statement, new))
                made.extend(block(run if not marks else run.replace("_task()\n", f"_task()  {MOVED}\n")))
            else:
                made.extend(queue)
            queue.clear()

        for statement in body:
            call = _line(statement)
            parts = launch_parts(call) if call is not None else {}
            plain = call is not None and set(parts) <= {"kernel", "dim", "inputs", "outputs"}
            if plain and not any("numpy" in code(part) for part in parts.values()):
                queue.append(statement)
            else:
                flush()
                made.append(statement)
        flush()
        return made if found else None

    look = Blocks(of_block)
    result = module.visit(look)
    return result if look.changed else None


@of_module
def launch_graph(module: cst.Module, random: Random) -> cst.Module | None:
    """A small graph of operations, run in the order of insertion by a class."""
    warp = warp_name(module)
    if warp is None:
        return None
    made = _queued(module, "_queue.run()\n", "_Graph()",
                   "_queue.append(({kernel}, {dim}, {inputs}, {outputs}))")  # fmt: skip
    head = f"""
class _Graph(list):
    def run(self):
        for kernel, dim, inputs, outputs in self:
            {warp}.launch(kernel, dim=dim, inputs=inputs, outputs=outputs)  {MOVED}
"""
    return None if made is None else inserted(made, imports_end(made), block(head))
