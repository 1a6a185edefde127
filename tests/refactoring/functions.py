"""Functions whose body is moved somewhere else, tapes that are opened in other ways, parts that are extracted."""

from __future__ import annotations

from random import Random

import libcst as cst
import libcst.matchers as m

from .syntax import (
    MOVED,
    block,
    body_of,
    call_args,
    code,
    dotted,
    expr,
    expressions,
    is_docstring,
    jumps,
    names_bound,
    names_read,
    own_functions,
    parameters,
    register,
    statements,
    with_body,
    with_head,
)


def _movable_body(function: cst.FunctionDef) -> bool:
    return (
        parameters(function) is not None
        and body_of(function) is not None
        and not m.findall(function, m.OneOf(m.Yield(), m.Await(), m.Global(), m.Nonlocal()))
    )


class _Place(cst.CSTTransformer):
    """Puts statements in the place of ``BODY``."""

    def __init__(self, body: list[cst.BaseStatement]) -> None:
        self.body = body

    def leave_SimpleStatementLine(self, original, updated):  # type: ignore[no-untyped-def]
        if m.matches(original, m.SimpleStatementLine(body=[m.Expr(m.Name("BODY"))])):
            return cst.FlattenSentinel(self.body)
        return updated


def _moved(name: str, before: str, inside: str, head: str = "") -> None:
    """The bodies of functions go where ``BODY`` is: in definitions ``before`` the function, or ``inside`` it.

    ``PARAMS`` are its parameters as they are declared, ``GIVEN`` as they are handed on, ``KEEP`` stores them on ``self``
    and ``TAKE`` takes them from there; ``NAME`` is the function's name.
    """

    def change(module: cst.Module, random: Random) -> cst.Module | None:
        made: list[cst.BaseStatement] = []
        changed = False
        own = {function.name.value for function in own_functions(module)}
        for statement in module.body:
            if not (isinstance(statement, cst.FunctionDef) and statement.name.value in own and _movable_body(statement)):
                made.append(statement)
                continue
            changed = True
            body = body_of(statement) or []
            doc = [body[0]] if body and is_docstring(body[0]) else []
            rest = body[len(doc) :] or block("pass")
            names = parameters(statement) or []
            params = code(statement.params)
            fill = {
                "PARAMS": params,
                "GIVEN": call_args(statement),
                "KEEP": "; ".join(f"self.{n} = {n}" for n in names) or "pass",
                "TAKE": "; ".join(f"{n} = self.{n}" for n in names) or "pass",
                "NAMES": "; ".join(f"{n} = given[{n!r}]" for n in names) or "pass",
                "PAIRS": ", ".join(f"{n}={n}" for n in names),
                "NAME": statement.name.value,
            }
            texts = [before, inside]
            for key, value in fill.items():
                texts = [text.replace(key, value) for text in texts]
            place = _Place(rest)
            definitions = [part.visit(place) for part in block(texts[0])] if texts[0] else []
            new = [part.visit(place) for part in block(texts[1])]
            if definitions:
                definitions[0] = definitions[0].with_changes(leading_lines=[cst.EmptyLine(), cst.EmptyLine()])
            made += [*definitions, with_body(statement, [*doc, *new])]
        if not changed:
            return None
        result = module.with_changes(body=made)
        return with_head(result, head) if head else result

    register(name, change)


_moved("function_to_closure", "", "def _inner(PARAMS):\n    BODY\nreturn _inner(GIVEN)")
_moved("function_to_two_closures", "", "def _outer():\n    def _inner(PARAMS):\n        BODY\n    return _inner\nreturn _outer()(GIVEN)")
_moved("function_to_helper", "def _do_NAME(PARAMS):\n    BODY\n", "return _do_NAME(GIVEN)")
_moved("function_through_dict_of_arguments", "def _do_NAME(given):\n    NAMES\n    BODY\n", "return _do_NAME(dict(PAIRS))")
_moved("function_through_stars", "def _do_NAME(PARAMS):\n    BODY\n\ndef _pass_NAME(*args, **kwargs):\n    return _do_NAME(*args, **kwargs)\n", "return _pass_NAME(GIVEN)")
_moved("function_through_locals", "def _do_NAME(PARAMS):\n    BODY\n", "return _do_NAME(**locals())")
_moved("function_to_class", "class _NAME:\n    def __init__(self, PARAMS):\n        KEEP\n\n    def run(self):\n        TAKE\n        BODY\n",
       "return _NAME(GIVEN).run()")  # fmt: skip
_moved("function_to_callable", "class _NAME:\n    def __call__(self, PARAMS):\n        BODY\n", "return _NAME()(GIVEN)")
_moved("function_to_method_of_dataclass", "@dataclasses.dataclass\nclass _NAME:\n    settings: dict = dataclasses.field(default_factory=dict)\n\n"
       "    def run(self, PARAMS):\n        BODY\n", "return _NAME().run(GIVEN)", "import dataclasses\n")  # fmt: skip
_moved("function_to_override", "class _BaseNAME:\n    def run(self, *args, **kwargs):\n        raise NotImplementedError\n\n\n"
       "class _NAME(_BaseNAME):\n    def run(self, PARAMS):\n        BODY\n", "return _NAME().run(GIVEN)")  # fmt: skip
_moved("function_to_template_method", "class _BaseNAME:\n    def __call__(self, *args, **kwargs):\n        self.before()\n        try:\n            return self.work(*args, **kwargs)\n"
       "        finally:\n            self.after()\n\n    def before(self):\n        pass\n\n    def after(self):\n        pass\n\n\n"
       "class _NAME(_BaseNAME):\n    def work(self, PARAMS):\n        BODY\n", "return _NAME()(GIVEN)")  # fmt: skip
_moved("function_to_super", "class _BaseNAME:\n    def run(self, PARAMS):\n        BODY\n\n\nclass _NAME(_BaseNAME):\n"
       "    def run(self, *args, **kwargs):\n        result = super().run(*args, **kwargs)\n        return result\n", "return _NAME().run(GIVEN)")  # fmt: skip
_moved("function_to_old_super", "class _BaseNAME(object):\n    def run(self, PARAMS):\n        BODY\n\n\nclass _NAME(_BaseNAME):\n"
       "    def run(self, *args, **kwargs):\n        return super(_NAME, self).run(*args, **kwargs)\n", "return _NAME().run(GIVEN)")  # fmt: skip
_moved("function_to_init_super", "class _BaseNAME:\n    def __init__(self, PARAMS):\n        KEEP\n\n\nclass _NAME(_BaseNAME):\n"
       "    def __init__(self, *args, **kwargs):\n        super().__init__(*args, **kwargs)\n        self.done = False\n\n"
       "    def run(self):\n        TAKE\n        BODY\n", "return _NAME(GIVEN).run()")  # fmt: skip
_moved("function_to_abstract", "class _BaseNAME(abc.ABC):\n    @abc.abstractmethod\n    def run(self, *args, **kwargs):\n        ...\n\n\n"
       "class _NAME(_BaseNAME):\n    def run(self, PARAMS):\n        BODY\n", "return _NAME().run(GIVEN)", "import abc\n")  # fmt: skip
_moved("function_to_protocol", "class _BaseNAME(Protocol):\n    def run(self, *args, **kwargs):\n        ...\n\n\n"
       "class _NAME:\n    def run(self, PARAMS):\n        BODY\n\n\ndef _use_NAME(work: _BaseNAME, *args, **kwargs):\n    return work.run(*args, **kwargs)\n",
       "return _use_NAME(_NAME(), GIVEN)", "from typing import Protocol\n")  # fmt: skip
_moved("function_to_mixin", "class _MixinNAME:\n    def run(self, PARAMS):\n        BODY\n\n\nclass _RootNAME:\n    def __init__(self):\n        self.ready = True\n\n\n"
       "class _NAME(_MixinNAME, _RootNAME):\n    pass\n", "return _NAME().run(GIVEN)")  # fmt: skip
_moved("function_to_static_method", "class _NAME:\n    @staticmethod\n    def run(PARAMS):\n        BODY\n", "return _NAME.run(GIVEN)")
_moved("function_to_class_method", "class _NAME:\n    kind = 'work'\n\n    @classmethod\n    def run(cls, PARAMS):\n        BODY\n", "return _NAME.run(GIVEN)")
_moved("function_to_factory", "class _NAME:\n    def __init__(self, PARAMS):\n        KEEP\n\n    @classmethod\n    def create(cls, *args, **kwargs):\n        return cls(*args, **kwargs)\n\n"
       "    def run(self):\n        TAKE\n        BODY\n", "return _NAME.create(GIVEN).run()")  # fmt: skip
_moved("function_to_property", "class _NAME:\n    def __init__(self, PARAMS):\n        KEEP\n\n    @property\n    def result(self):\n        TAKE\n        BODY\n",
       "return _NAME(GIVEN).result")  # fmt: skip
_moved("function_to_cached_property", "class _NAME:\n    def __init__(self, PARAMS):\n        KEEP\n\n    @functools.cached_property\n    def result(self):\n        TAKE\n        BODY\n",
       "return _NAME(GIVEN).result", "import functools\n")  # fmt: skip
_moved("function_to_context_class", "class _NAME:\n    def __init__(self, PARAMS):\n        KEEP\n\n    def __enter__(self):\n        return self\n\n    def __exit__(self, kind, error, trace):\n        return False\n\n"
       "    def run(self):\n        TAKE\n        BODY\n", "with _NAME(GIVEN) as work:\n    return work.run()")  # fmt: skip
_moved("function_in_context_manager", "", "with _around() as _:\n    BODY",
       "import contextlib\n\n@contextlib.contextmanager\ndef _around():\n    try:\n        yield None\n    finally:\n        pass\n")  # fmt: skip
_moved("function_in_exit_stack", "", "with contextlib.ExitStack() as _stack:\n    _stack.callback(int)\n    BODY", "import contextlib\n")
_moved("function_in_try", "", "try:\n    BODY\nfinally:\n    pass")
_moved("function_in_try_except", "", "try:\n    BODY\nexcept (RuntimeError, ValueError) as error:\n    raise SystemExit(str(error)) from error")
_moved("function_in_if", "", "if __debug__:\n    BODY\nraise RuntimeError('not here')")
_moved("function_in_while", "", "while True:\n    BODY\n    break")
_moved("function_in_match", "", "match 'one':\n    case 'one':\n        BODY\n    case _:\n        raise ValueError")
_moved("function_in_for", "", "for _ in range(1):\n    BODY")
_moved("function_to_generator", "def _gen_NAME(PARAMS):\n    def _result():\n        BODY\n    yield _result()\n", "return next(_gen_NAME(GIVEN))")
_moved("function_to_generator_list", "def _gen_NAME(PARAMS):\n    def _result():\n        BODY\n    yield _result()\n", "[_answer] = _gen_NAME(GIVEN)\nreturn _answer")
_moved("function_to_lambda", "def _do_NAME(PARAMS):\n    BODY\n", "_later = lambda: _do_NAME(GIVEN)\nreturn _later()")
_moved("function_through_registry_decorator", "@_registered\ndef _do_NAME(PARAMS):\n    BODY\n", "return _REGISTRY['_do_NAME'](GIVEN)",
       "_REGISTRY = {}\n\ndef _registered(function):\n    _REGISTRY[function.__name__] = function\n    return function\n")  # fmt: skip
_moved("function_through_named_registry", "@_registered('NAME')\ndef _do_NAME(PARAMS):\n    BODY\n", "return _get('NAME')(GIVEN)",
       "_REGISTRY = {}\n\ndef _registered(name):\n    def add(function):\n        _REGISTRY[name] = function\n        return function\n    return add\n\ndef _get(name):\n    return _REGISTRY[name]\n")  # fmt: skip
_moved("function_through_registry_class", "@_registry.register\nclass _NAME:\n    def run(self, PARAMS):\n        BODY\n", "return _registry.make('_NAME').run(GIVEN)",
       "class _Registry:\n    def __init__(self):\n        self.kinds = {}\n\n    def register(self, cls):\n        self.kinds[cls.__name__] = cls\n        return cls\n\n"
       "    def make(self, name, *args):\n        return self.kinds[name](*args)\n\n_registry = _Registry()\n")  # fmt: skip
_moved("function_through_subclass_hook", "class _NAME(_Root):\n    def run(self, PARAMS):\n        BODY\n", "return _Root.kinds['_NAME']().run(GIVEN)",
       "class _Root:\n    kinds = {}\n\n    def __init_subclass__(cls, **options):\n        super().__init_subclass__(**options)\n        _Root.kinds[cls.__name__] = cls\n")  # fmt: skip
_moved("function_through_metaclass", "class _NAME(metaclass=_Meta):\n    def run(self, PARAMS):\n        BODY\n", "return _Meta.kinds['_NAME']().run(GIVEN)",
       "class _Meta(type):\n    kinds = {}\n\n    def __new__(mcls, name, bases, body):\n        cls = super().__new__(mcls, name, bases, body)\n        mcls.kinds[name] = cls\n        return cls\n")  # fmt: skip
_moved("function_through_metaclass_init", "class _NAME(_Root):\n    def run(self, PARAMS):\n        BODY\n", "return _Root.kinds['_NAME']().run(GIVEN)",
       "class _Meta(type):\n    def __init__(cls, name, bases, body):\n        super().__init__(name, bases, body)\n        if not hasattr(cls, 'kinds'):\n            cls.kinds = {}\n        else:\n            cls.kinds[name] = cls\n\n\n"
       "class _Root(metaclass=_Meta):\n    pass\n")  # fmt: skip
_moved("function_through_singleton_metaclass", "class _NAME(metaclass=_Single):\n    def run(self, PARAMS):\n        BODY\n", "return _NAME().run(GIVEN)",
       "class _Single(type):\n    _made = {}\n\n    def __call__(cls, *args, **kwargs):\n        if cls not in cls._made:\n            cls._made[cls] = super().__call__(*args, **kwargs)\n        return cls._made[cls]\n")  # fmt: skip
_moved("function_through_dynamic_class", "def _do_NAME(self, PARAMS):\n    BODY\n\n_NAME = type('_NAME', (), {'run': _do_NAME})\n", "return _NAME().run(GIVEN)")
_moved("function_set_on_class", "class _NAME:\n    pass\n\n\ndef _do_NAME(self, PARAMS):\n    BODY\n\n_NAME.run = _do_NAME\n", "return _NAME().run(GIVEN)")
_moved("function_bound_by_types", "class _NAME:\n    pass\n\n\ndef _do_NAME(self, PARAMS):\n    BODY\n", "_work = _NAME()\n_work.run = types.MethodType(_do_NAME, _work)\nreturn _work.run(GIVEN)", "import types\n")
_moved("function_through_getattr", "class _NAME:\n    def do_work(self, PARAMS):\n        BODY\n", "_part = 'work'\nreturn getattr(_NAME(), f'do_{_part}')(GIVEN)")
_moved("function_through_command_queue", "def _do_NAME(PARAMS):\n    BODY\n", "_results = []\n_tasks = [(_do_NAME, (GIVEN,))]\nwhile _tasks:\n    _function, _args = _tasks.pop()\n    _results.append(_function(*_args))\nreturn _results[-1]")
_moved("function_through_thread_pool", "def _do_NAME(PARAMS):\n    BODY\n", "with concurrent.futures.ThreadPoolExecutor(1) as _pool:\n    return _pool.submit(_do_NAME, GIVEN).result()", "import concurrent.futures\n")
_moved("function_through_pool_map", "def _do_NAME(given):\n    NAMES\n    BODY\n", "with concurrent.futures.ThreadPoolExecutor(1) as _pool:\n    return list(_pool.map(_do_NAME, [dict(PAIRS)]))[0]", "import concurrent.futures\n")
_moved("function_through_getattr_delegation", "class _NAME:\n    def run(self, PARAMS):\n        BODY\n", "return _Wrapped(_NAME()).run(GIVEN)",
       "class _Wrapped:\n    def __init__(self, inner):\n        self._inner = inner\n\n    def __getattr__(self, name):\n        return getattr(self._inner, name)\n")  # fmt: skip
_moved("function_through_getattribute", "class _NAME:\n    def run(self, PARAMS):\n        BODY\n\n    def __getattribute__(self, name):\n        return object.__getattribute__(self, name)\n", "return _NAME().run(GIVEN)")
_moved("function_through_new", "class _NAME:\n    _one = None\n\n    def __new__(cls, *args, **kwargs):\n        if cls._one is None:\n            cls._one = super().__new__(cls)\n        return cls._one\n\n    def run(self, PARAMS):\n        BODY\n",
       "return _NAME().run(GIVEN)")  # fmt: skip
_moved("function_through_partial_method", "class _NAME:\n    def work(self, mode, PARAMS):\n        BODY\n\n    run = functools.partialmethod(work, 'full')\n", "return _NAME().run(GIVEN)", "import functools\n")
_moved("function_through_single_dispatch", "@functools.singledispatch\ndef _do_NAME(mode, PARAMS):\n    raise TypeError(mode)\n\n\n@_do_NAME.register\ndef _(mode: str, PARAMS):\n    BODY\n", "return _do_NAME('full', GIVEN)", "import functools\n")
_moved("function_through_module_global", "def _do_NAME(PARAMS):\n    BODY\n", "return globals()['_do_NAME'](GIVEN)")
_moved("function_through_enum", "class _NAME(enum.Enum):\n    FULL = 'full'\n\n    def run(self, PARAMS):\n        BODY\n", "return _NAME('full').run(GIVEN)", "import enum\n")
_moved("function_through_wrapper_class", "class _NAME:\n    def __init__(self, function):\n        functools.update_wrapper(self, function)\n        self.function = function\n\n    def __get__(self, owner, cls=None):\n        return functools.partial(self, owner)\n\n"
       "    def __call__(self, *args, **kwargs):\n        return self.function(*args, **kwargs)\n\n\nclass _WorkNAME:\n    @_NAME\n    def run(self, PARAMS):\n        BODY\n", "return _WorkNAME().run(GIVEN)", "import functools\n")  # fmt: skip
_moved("function_result_in_namespace", "def _do_NAME(PARAMS):\n    BODY\n", "_out = types.SimpleNamespace(answer=_do_NAME(GIVEN))\nreturn _out.answer", "import types\n")
_moved("function_result_star", "def _do_NAME(PARAMS):\n    BODY\n", "_answer, *_rest = [_do_NAME(GIVEN), None]\nreturn _answer")
_moved("function_result_walrus", "def _do_NAME(PARAMS):\n    BODY\n", "if (_answer := _do_NAME(GIVEN)) is None:\n    return None\nreturn _answer")
_moved("function_with_early_return", "def _do_NAME(PARAMS):\n    BODY\n", "_ready = True\nif not _ready:\n    return None\nreturn _do_NAME(GIVEN)")
_moved("function_state_machine", "def _do_NAME(PARAMS):\n    BODY\n", "_state, _answer = 'start', None\nwhile _state != 'end':\n    if _state == 'start':\n        _state = 'work'\n    elif _state == 'work':\n        _answer = _do_NAME(GIVEN)\n        _state = 'end'\nreturn _answer")
_moved("function_async", "async def _do_NAME(PARAMS):\n    BODY\n", "return asyncio.run(_do_NAME(GIVEN))", "import asyncio\n")


def _decorated(name: str, head: str, decorator: str) -> None:
    """Module-level functions get a decorator."""

    def change(module: cst.Module, random: Random) -> cst.Module | None:
        own = {function.name.value for function in own_functions(module)}
        if not own:
            return None
        mark = cst.Decorator(expr(decorator))
        body = [s.with_changes(decorators=[mark]) if isinstance(s, cst.FunctionDef) and s.name.value in own else s
                for s in module.body]  # fmt: skip
        return with_head(module.with_changes(body=body), head)

    register(name, change)


_decorated("decorated_wraps", "import functools\n\ndef _logged(function):\n    @functools.wraps(function)\n    def inner(*args, **kwargs):\n        result = function(*args, **kwargs)\n        return result\n    return inner\n", "_logged")
_decorated("decorated_options", "import functools\n\ndef _retry(times=1):\n    def mark(function):\n        @functools.wraps(function)\n        def inner(*args, **kwargs):\n            for _ in range(times):\n                return function(*args, **kwargs)\n        return inner\n    return mark\n", "_retry(times=1)")
_decorated("decorated_class", "class _Timed:\n    def __init__(self, function):\n        self.function = function\n\n    def __call__(self, *args, **kwargs):\n        return self.function(*args, **kwargs)\n", "_Timed")
_decorated("decorated_class_instance", "class _Plugin:\n    def __init__(self):\n        self.functions = []\n\n    def __call__(self, function):\n        self.functions.append(function)\n        return function\n\n_plugin = _Plugin()\n", "_plugin")
_decorated("decorated_lambda", "_same = lambda function: lambda *args, **kwargs: function(*args, **kwargs)\n", "_same")
_decorated("decorated_partial", "import functools\n\ndef _with(function, tag):\n    def inner(*args, **kwargs):\n        return function(*args, **kwargs)\n    return inner\n\n_tagged = functools.partial(_with, tag='x')\n", "_tagged")
_decorated("decorated_context", "import contextlib\n\n@contextlib.contextmanager\ndef _scope():\n    yield\n", "_scope()")
_decorated("decorated_context_decorator", "import contextlib\n\nclass _Scope(contextlib.ContextDecorator):\n    def __enter__(self):\n        return self\n\n    def __exit__(self, *error):\n        return False\n", "_Scope()")
_decorated("decorated_flexible", "def _flex(function=None, *, name=None):\n    def mark(function):\n        def inner(*args, **kwargs):\n            return function(*args, **kwargs)\n        return inner\n    return mark if function is None else mark(function)\n", "_flex(name='x')")
_decorated("decorated_flexible_bare", "def _flex(function=None, *, name=None):\n    def mark(function):\n        def inner(*args, **kwargs):\n            return function(*args, **kwargs)\n        return inner\n    return mark if function is None else mark(function)\n", "_flex")
_decorated("decorated_try", "def _guarded(function):\n    def inner(*args, **kwargs):\n        try:\n            return function(*args, **kwargs)\n        except KeyboardInterrupt:\n            return None\n    return inner\n", "_guarded")


# --- parts that are extracted ---


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
            if not (isinstance(statement, cst.FunctionDef) and statement.name.value in own and _movable_body(statement)):
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
                        definitions.extend(part.visit(_Place(body)) for part in block(texts[0]))  # noqa: B023
                    return with_body(updated, [part.visit(_Place(body)) for part in block(texts[1])])

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
    _extracted(f"{_label}_to_dict", "", "def PART(given):\n    UNPACK\n    BODY\n    return {ITEMS}\n", "_out = PART(dict(PAIRS))\nTAKEALL", _where)
    _extracted(f"{_label}_to_method", "", "class PART:\n    def __init__(self, READ):\n        KEEP\n\n    def run(self):\n        TAKE\n        BODY\n        RESULT\n", "ASSIGNPART(READ).run()", _where)
    _extracted(f"{_label}_to_static", "", "class PART:\n    @staticmethod\n    def run(READ):\n        BODY\n        RESULT\n", "ASSIGNPART.run(READ)", _where)
    _extracted(f"{_label}_to_generator", "", "def PART(READ):\n    BODY\n    yield [MADE]\n", "for _out in PART(READ):\n    ASSIGN_out", _where)
    _extracted(f"{_label}_to_next", "", "def PART(READ):\n    BODY\n    yield [MADE]\n", "ASSIGNnext(PART(READ))", _where)
    _extracted(f"{_label}_to_callback", "def _run(function, *args):\n    return function(*args)\n", "def PART(READ):\n    BODY\n    RESULT\n", "ASSIGN_run(PART, READ)", _where)
    _extracted(f"{_label}_to_partial", "import functools\n", "def PART(READ):\n    BODY\n    RESULT\n", "ASSIGNfunctools.partial(PART, READ)()", _where)
    _extracted(f"{_label}_to_namespace", "import types\n", "def PART(given):\n    UNPACK\n    BODY\n    return types.SimpleNamespace(**{ITEMS})\n",
               "_out = vars(PART(dict(PAIRS)))\nTAKEALL", _where)  # fmt: skip


# --- tapes ---


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


_tape_with("tape_in_context_manager", "import contextlib\n\n@contextlib.contextmanager\ndef _recording(tape):\n    with tape:\n        yield tape\n", "_recording(TAPE)")
_tape_with("tape_in_context_manager_by_hand", "import contextlib\n\n@contextlib.contextmanager\ndef _recording(tape):\n    tape.__enter__()\n    try:\n        yield tape\n    finally:\n        tape.__exit__(None, None, None)\n", "_recording(TAPE)")
_tape_with("tape_in_context_class", "class _Recording:\n    def __init__(self, tape):\n        self.tape = tape\n\n    def __enter__(self):\n        self.tape.__enter__()\n        return self.tape\n\n    def __exit__(self, *error):\n        return self.tape.__exit__(*error)\n", "_Recording(TAPE)")
_tape_with("tape_behind_condition", "import contextlib\n", "(TAPE if True else contextlib.nullcontext())")
_tape_with("tape_optional", "import contextlib\n\ndef _maybe(tape, record=True):\n    return tape if record else contextlib.nullcontext()\n", "_maybe(TAPE)")


def _tape_block(name: str, head: str, template: str) -> None:
    """``with tape:`` becomes statements, in which ``BODY`` is its block."""

    def change(module: cst.Module, random: Random) -> cst.Module | None:
        def of_statement(statement: cst.BaseStatement) -> list[cst.BaseStatement] | None:
            if not isinstance(statement, cst.With) or len(statement.items) != 1:
                return None
            item = statement.items[0]
            if not dotted(item.item) or "tape" not in dotted(item.item).lower() or item.asname is not None:
                return None
            return [part.visit(_Place(body_of(statement) or [])) for part in block(template, TAPE=item.item)]

        made = statements(module, of_statement)
        return None if made is None else with_head(made, head) if head else made

    register(name, change)


_tape_block("tape_entered_by_hand", "", "TAPE.__enter__()\ntry:\n    BODY\nfinally:\n    TAPE.__exit__(None, None, None)")
_tape_block("tape_on_exit_stack", "import contextlib\n", "with contextlib.ExitStack() as _stack:\n    _stack.enter_context(TAPE)\n    BODY")
_tape_block("tape_on_exit_stack_by_name", "import contextlib\n", "with contextlib.ExitStack() as _stack:\n    _tape = _stack.enter_context(TAPE)\n    BODY")
_tape_block("tape_with_two", "import contextlib\n", "with contextlib.nullcontext() as _none, TAPE as _tape:\n    BODY")
_tape_block("tape_in_list_of_contexts", "import contextlib\n", "with contextlib.ExitStack() as _stack:\n    for _context in [contextlib.nullcontext(), TAPE]:\n        _stack.enter_context(_context)\n    BODY")


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
_backward("backward_helper", f"def _sweep(tape, **given):\n    tape.backward(**given)  {MOVED}\n", "_sweep(TAPE, PAIRS)")
_backward("backward_partial", "import functools\n", "functools.partial(TAPE.backward, PAIRS)()")
_backward("backward_methodcaller", "import operator\n", "operator.methodcaller('backward', PAIRS)(TAPE)")
_backward("backward_lambda", "", "(lambda run: run(PAIRS))(TAPE.backward)")
_backward("backward_in_list", "", "[run(PAIRS) for run in (TAPE.backward,)]")
_backward("backward_unbound", "import warp as _wp\n", "_wp.Tape.backward(TAPE, PAIRS)")
_backward("backward_class", f"class _Sweep:\n    def __init__(self, tape):\n        self.tape = tape\n\n    def __call__(self, **given):\n        return self.tape.backward(**given)  {MOVED}\n", "_Sweep(TAPE)(PAIRS)")
