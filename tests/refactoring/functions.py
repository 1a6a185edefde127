"""Functions whose body is moved somewhere else."""

from __future__ import annotations

from random import Random

import libcst as cst

from .syntax import (
    Place,
    block,
    body_of,
    call_args,
    code,
    expr,
    is_docstring,
    movable_body,
    own_functions,
    parameters,
    register,
    with_body,
    with_head,
)


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
            if not (isinstance(statement, cst.FunctionDef) and statement.name.value in own and movable_body(statement)):
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
            place = Place(rest)
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
_moved(
    "function_to_two_closures",
    "",
    "def _outer():\n    def _inner(PARAMS):\n        BODY\n    return _inner\nreturn _outer()(GIVEN)",
)
_moved("function_to_helper", "def _do_NAME(PARAMS):\n    BODY\n", "return _do_NAME(GIVEN)")
_moved(
    "function_through_dict_of_arguments", "def _do_NAME(given):\n    NAMES\n    BODY\n", "return _do_NAME(dict(PAIRS))"
)
_moved(
    "function_through_stars",
    "def _do_NAME(PARAMS):\n    BODY\n\ndef _pass_NAME(*args, **kwargs):\n    return _do_NAME(*args, **kwargs)\n",
    "return _pass_NAME(GIVEN)",
)
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
_moved(
    "function_to_static_method",
    "class _NAME:\n    @staticmethod\n    def run(PARAMS):\n        BODY\n",
    "return _NAME.run(GIVEN)",
)
_moved(
    "function_to_class_method",
    "class _NAME:\n    kind = 'work'\n\n    @classmethod\n    def run(cls, PARAMS):\n        BODY\n",
    "return _NAME.run(GIVEN)",
)
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
_moved(
    "function_in_exit_stack",
    "",
    "with contextlib.ExitStack() as _stack:\n    _stack.callback(int)\n    BODY",
    "import contextlib\n",
)
_moved("function_in_try", "", "try:\n    BODY\nfinally:\n    pass")
_moved(
    "function_in_try_except",
    "",
    "try:\n    BODY\nexcept (RuntimeError, ValueError) as error:\n    raise SystemExit(str(error)) from error",
)
_moved("function_in_if", "", "if __debug__:\n    BODY\nraise RuntimeError('not here')")
_moved("function_in_while", "", "while True:\n    BODY\n    break")
_moved("function_in_match", "", "match 'one':\n    case 'one':\n        BODY\n    case _:\n        raise ValueError")
_moved("function_in_for", "", "for _ in range(1):\n    BODY")
_moved(
    "function_to_generator",
    "def _gen_NAME(PARAMS):\n    def _result():\n        BODY\n    yield _result()\n",
    "return next(_gen_NAME(GIVEN))",
)
_moved(
    "function_to_generator_list",
    "def _gen_NAME(PARAMS):\n    def _result():\n        BODY\n    yield _result()\n",
    "[_answer] = _gen_NAME(GIVEN)\nreturn _answer",
)
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
_moved(
    "function_through_dynamic_class",
    "def _do_NAME(self, PARAMS):\n    BODY\n\n_NAME = type('_NAME', (), {'run': _do_NAME})\n",
    "return _NAME().run(GIVEN)",
)
_moved(
    "function_set_on_class",
    "class _NAME:\n    pass\n\n\ndef _do_NAME(self, PARAMS):\n    BODY\n\n_NAME.run = _do_NAME\n",
    "return _NAME().run(GIVEN)",
)
_moved(
    "function_bound_by_types",
    "class _NAME:\n    pass\n\n\ndef _do_NAME(self, PARAMS):\n    BODY\n",
    "_work = _NAME()\n_work.run = types.MethodType(_do_NAME, _work)\nreturn _work.run(GIVEN)",
    "import types\n",
)
_moved(
    "function_through_getattr",
    "class _NAME:\n    def do_work(self, PARAMS):\n        BODY\n",
    "_part = 'work'\nreturn getattr(_NAME(), f'do_{_part}')(GIVEN)",
)
_moved(
    "function_through_command_queue",
    "def _do_NAME(PARAMS):\n    BODY\n",
    "_results = []\n_tasks = [(_do_NAME, (GIVEN,))]\nwhile _tasks:\n    _function, _args = _tasks.pop()\n    _results.append(_function(*_args))\nreturn _results[-1]",
)
_moved(
    "function_through_thread_pool",
    "def _do_NAME(PARAMS):\n    BODY\n",
    "with concurrent.futures.ThreadPoolExecutor(1) as _pool:\n    return _pool.submit(_do_NAME, GIVEN).result()",
    "import concurrent.futures\n",
)
_moved(
    "function_through_pool_map",
    "def _do_NAME(given):\n    NAMES\n    BODY\n",
    "with concurrent.futures.ThreadPoolExecutor(1) as _pool:\n    return list(_pool.map(_do_NAME, [dict(PAIRS)]))[0]",
    "import concurrent.futures\n",
)
_moved("function_through_getattr_delegation", "class _NAME:\n    def run(self, PARAMS):\n        BODY\n", "return _Wrapped(_NAME()).run(GIVEN)",
       "class _Wrapped:\n    def __init__(self, inner):\n        self._inner = inner\n\n    def __getattr__(self, name):\n        return getattr(self._inner, name)\n")  # fmt: skip
_moved(
    "function_through_getattribute",
    "class _NAME:\n    def run(self, PARAMS):\n        BODY\n\n    def __getattribute__(self, name):\n        return object.__getattribute__(self, name)\n",
    "return _NAME().run(GIVEN)",
)
_moved("function_through_new", "class _NAME:\n    _one = None\n\n    def __new__(cls, *args, **kwargs):\n        if cls._one is None:\n            cls._one = super().__new__(cls)\n        return cls._one\n\n    def run(self, PARAMS):\n        BODY\n",
       "return _NAME().run(GIVEN)")  # fmt: skip
_moved(
    "function_through_partial_method",
    "class _NAME:\n    def work(self, mode, PARAMS):\n        BODY\n\n    run = functools.partialmethod(work, 'full')\n",
    "return _NAME().run(GIVEN)",
    "import functools\n",
)
_moved(
    "function_through_single_dispatch",
    "@functools.singledispatch\ndef _do_NAME(mode, PARAMS):\n    raise TypeError(mode)\n\n\n@_do_NAME.register\ndef _(mode: str, PARAMS):\n    BODY\n",
    "return _do_NAME('full', GIVEN)",
    "import functools\n",
)
_moved("function_through_module_global", "def _do_NAME(PARAMS):\n    BODY\n", "return globals()['_do_NAME'](GIVEN)")
_moved(
    "function_through_enum",
    "class _NAME(enum.Enum):\n    FULL = 'full'\n\n    def run(self, PARAMS):\n        BODY\n",
    "return _NAME('full').run(GIVEN)",
    "import enum\n",
)
_moved("function_through_wrapper_class", "class _NAME:\n    def __init__(self, function):\n        functools.update_wrapper(self, function)\n        self.function = function\n\n    def __get__(self, owner, cls=None):\n        return functools.partial(self, owner)\n\n"
       "    def __call__(self, *args, **kwargs):\n        return self.function(*args, **kwargs)\n\n\nclass _WorkNAME:\n    @_NAME\n    def run(self, PARAMS):\n        BODY\n", "return _WorkNAME().run(GIVEN)", "import functools\n")  # fmt: skip
_moved(
    "function_result_in_namespace",
    "def _do_NAME(PARAMS):\n    BODY\n",
    "_out = types.SimpleNamespace(answer=_do_NAME(GIVEN))\nreturn _out.answer",
    "import types\n",
)
_moved(
    "function_result_star",
    "def _do_NAME(PARAMS):\n    BODY\n",
    "_answer, *_rest = [_do_NAME(GIVEN), None]\nreturn _answer",
)
_moved(
    "function_result_walrus",
    "def _do_NAME(PARAMS):\n    BODY\n",
    "if (_answer := _do_NAME(GIVEN)) is None:\n    return None\nreturn _answer",
)
_moved(
    "function_with_early_return",
    "def _do_NAME(PARAMS):\n    BODY\n",
    "_ready = True\nif not _ready:\n    return None\nreturn _do_NAME(GIVEN)",
)
_moved(
    "function_state_machine",
    "def _do_NAME(PARAMS):\n    BODY\n",
    "_state, _answer = 'start', None\nwhile _state != 'end':\n    if _state == 'start':\n        _state = 'work'\n    elif _state == 'work':\n        _answer = _do_NAME(GIVEN)\n        _state = 'end'\nreturn _answer",
)
_moved(
    "function_async",
    "async def _do_NAME(PARAMS):\n    BODY\n",
    "return asyncio.run(_do_NAME(GIVEN))",
    "import asyncio\n",
)


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


_decorated(
    "decorated_wraps",
    "import functools\n\ndef _logged(function):\n    @functools.wraps(function)\n    def inner(*args, **kwargs):\n        result = function(*args, **kwargs)\n        return result\n    return inner\n",
    "_logged",
)
_decorated(
    "decorated_options",
    "import functools\n\ndef _retry(times=1):\n    def mark(function):\n        @functools.wraps(function)\n        def inner(*args, **kwargs):\n            for _ in range(times):\n                return function(*args, **kwargs)\n        return inner\n    return mark\n",
    "_retry(times=1)",
)
_decorated(
    "decorated_class",
    "class _Timed:\n    def __init__(self, function):\n        self.function = function\n\n    def __call__(self, *args, **kwargs):\n        return self.function(*args, **kwargs)\n",
    "_Timed",
)
_decorated(
    "decorated_class_instance",
    "class _Plugin:\n    def __init__(self):\n        self.functions = []\n\n    def __call__(self, function):\n        self.functions.append(function)\n        return function\n\n_plugin = _Plugin()\n",
    "_plugin",
)
_decorated("decorated_lambda", "_same = lambda function: lambda *args, **kwargs: function(*args, **kwargs)\n", "_same")
_decorated(
    "decorated_partial",
    "import functools\n\ndef _with(function, tag):\n    def inner(*args, **kwargs):\n        return function(*args, **kwargs)\n    return inner\n\n_tagged = functools.partial(_with, tag='x')\n",
    "_tagged",
)
_decorated(
    "decorated_context", "import contextlib\n\n@contextlib.contextmanager\ndef _scope():\n    yield\n", "_scope()"
)
_decorated(
    "decorated_context_decorator",
    "import contextlib\n\nclass _Scope(contextlib.ContextDecorator):\n    def __enter__(self):\n        return self\n\n    def __exit__(self, *error):\n        return False\n",
    "_Scope()",
)
_decorated(
    "decorated_flexible",
    "def _flex(function=None, *, name=None):\n    def mark(function):\n        def inner(*args, **kwargs):\n            return function(*args, **kwargs)\n        return inner\n    return mark if function is None else mark(function)\n",
    "_flex(name='x')",
)
_decorated(
    "decorated_flexible_bare",
    "def _flex(function=None, *, name=None):\n    def mark(function):\n        def inner(*args, **kwargs):\n            return function(*args, **kwargs)\n        return inner\n    return mark if function is None else mark(function)\n",
    "_flex",
)
_decorated(
    "decorated_try",
    "def _guarded(function):\n    def inner(*args, **kwargs):\n        try:\n            return function(*args, **kwargs)\n        except KeyboardInterrupt:\n            return None\n    return inner\n",
    "_guarded",
)
