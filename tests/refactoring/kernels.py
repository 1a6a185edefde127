"""Kernels that are kept in something, and found there when they are launched."""

from __future__ import annotations

from random import Random

import libcst as cst

from .syntax import (
    block,
    code,
    expr,
    expressions,
    inserted,
    is_launch,
    launch_parts,
    of_module,
    register,
    tail,
    with_head,
)


def _own_kernels(module: cst.Module) -> dict[str, int]:
    """The kernels of a module by name, with their position."""
    return {
        statement.name.value: position
        for position, statement in enumerate(module.body)
        if isinstance(statement, cst.FunctionDef) and any(tail(d.decorator) == "kernel" for d in statement.decorators)
    }


def _with_kernels(module: cst.Module, change) -> tuple[cst.Module, list[str]] | None:  # type: ignore[no-untyped-def]
    """Launches of the module's own kernels take them from what ``change(name, place)`` gives."""
    kernels = _own_kernels(module)
    names = [name for name in kernels if code(module).count(name) > 1]
    places = {name: change(name, number) for number, name in enumerate(names)}

    def of_call(call: cst.Call) -> cst.BaseExpression | None:
        if not is_launch(call):
            return None
        kernel = launch_parts(call).get("kernel")
        if not isinstance(kernel, cst.Name) or kernel.value not in places:
            return None
        args = [arg.with_changes(value=places[kernel.value]) if arg.value is kernel else arg for arg in call.args]
        return call.with_changes(args=args)

    made = expressions(module, of_call)
    return None if made is None else (made, names)


def _kept(name: str, head: str, table: str, reference: str) -> None:
    """``table`` stands behind the last kernel: ``ITEMS`` pairs of text and kernel, ``PAIRS`` keywords, ``PLAIN`` the
    kernels, ``BODY`` assignments of a class body. ``reference`` reads kernel ``{n}`` with place ``{i}``."""

    def change(module: cst.Module, random: Random) -> cst.Module | None:
        found = _with_kernels(module, lambda n, i: expr(reference.replace("{n}", n).replace("{i}", str(i))))
        if found is None:
            return None
        made, names = found
        last = max(_own_kernels(made).values())
        text = table
        fill = {
            "ITEMS": ", ".join(f"{n!r}: {n}" for n in names),
            "PAIRS": ", ".join(f"{n}={n}" for n in names),
            "PLAIN": ", ".join(names),
            "TEXTS": ", ".join(repr(n) for n in names),
            "TUPLES": "\n".join(f"    {n} = ({n},)" for n in names),
            "MEMBERS": "\n".join(f"    {n} = {n}" for n in names),
            "FIELDS": "\n".join(f"    {n} = _Field({n})" for n in names),
            "SUBCLASSES": "\n\n".join(f"class _Of_{n}(_Op):\n    kernel = {n}" for n in names),
            "NAMED": "\n\n".join(f"class _Of_{n}(_Op, key={n!r}):\n    kernel = {n}" for n in names),
            "METHODS": "\n\n".join(f"    def pick_{n}(self):\n        return {n}" for n in names),
            "CASES": "\n".join(f"        case {n!r}:\n            return {n}" for n in names),
            "CHOICES": "\n".join(f"    if name == {n!r}:\n        return {n}" for n in names),
            "CALLS": "\n".join(f"_register({n!r})({n})" for n in names),
            "GETTERS": "\n\n".join(f"    @property\n    def {n}(self):\n        return {n}" for n in names),
        }
        for key, value in fill.items():
            text = text.replace(key, value)
        made = inserted(made, last + 1, block(text)) if text else made
        return with_head(made, head) if head else made

    register(name, change)


_kept("kernels_in_dict", "", "_KERNELS = {ITEMS}\n", "_KERNELS['{n}']")
_kept("kernels_in_dict_get", "", "_KERNELS = dict(PAIRS)\n", "_KERNELS.get('{n}')")
_kept("kernels_in_dict_by_key", "", "_KERNELS = {k.key: k for k in (PLAIN,)}\n", "_KERNELS['{n}']")
_kept("kernels_in_dict_of_zip", "", "_KERNELS = dict(zip((TEXTS,), (PLAIN,)))\n", "_KERNELS['{n}']")
_kept("kernels_in_nested_dict", "", "_KERNELS = {'cpu': {ITEMS}}\n", "_KERNELS['cpu']['{n}']")
_kept("kernels_in_list", "", "_KERNELS = [PLAIN]\n", "_KERNELS[{i}]")
_kept(
    "kernels_in_namespace", "from types import SimpleNamespace\n", "_KERNELS = SimpleNamespace(PAIRS)\n", "_KERNELS.{n}"
)
_kept(
    "kernels_in_mapping_proxy",
    "from types import MappingProxyType\n",
    "_KERNELS = MappingProxyType({ITEMS})\n",
    "_KERNELS['{n}']",
)
_kept("kernels_in_class", "", "class _Kernels:\nMEMBERS\n", "_Kernels.{n}")
_kept("kernels_in_instance", "", "class _Kernels:\nMEMBERS\n", "_Kernels().{n}")
_kept("kernels_in_base_class", "", "class _Base:\nMEMBERS\n\n\nclass _Kernels(_Base):\n    pass\n", "_Kernels.{n}")
_kept("kernels_in_enum", "import enum\n", "class _Kernels(enum.Enum):\nTUPLES\n", "_Kernels.{n}.value[0]")
_kept("kernels_in_enum_by_name", "import enum\n", "class _Kernels(enum.Enum):\nTUPLES\n", "_Kernels['{n}'].value[0]")
_kept(
    "kernels_in_enum_members",
    "import enum\n",
    "class _Kernels(enum.Enum):\nTUPLES\n",
    "_Kernels.__members__['{n}'].value[0]",
)
_kept("kernels_by_getattr", "", "class _Kernels:\nMEMBERS\n", "getattr(_Kernels, f\"{'{n}'}\")")
_kept("kernels_by_global_name", "", "", "globals()['{n}']")
_kept("kernels_by_module_getattr", "import sys\n", "", "getattr(sys.modules[__name__], '{n}')")
_kept("kernels_by_vars", "", "class _Kernels:\nMEMBERS\n", "vars(_Kernels)['{n}']")
_kept("kernels_by_next", "", "_KERNELS = (PLAIN,)\n", "next(k for k in _KERNELS if k.key == '{n}')")
_kept("kernels_by_filter", "", "_KERNELS = (PLAIN,)\n", "[k for k in _KERNELS if k.key == '{n}'][0]")
_kept(
    "kernels_by_attrgetter", "import operator\n", "class _Kernels:\nMEMBERS\n", "operator.attrgetter('{n}')(_Kernels)"
)
_kept("kernels_by_itemgetter", "import operator\n", "_KERNELS = {ITEMS}\n", "operator.itemgetter('{n}')(_KERNELS)")
_kept("kernels_by_match", "", "def _pick(name):\n    match name:\nCASES\n    raise KeyError(name)\n", "_pick('{n}')")
_kept("kernels_by_choice", "", "def _pick(name):\nCHOICES\n    raise KeyError(name)\n", "_pick('{n}')")
_kept("kernels_by_properties", "", "class _Kernels:\nGETTERS\n", "_Kernels().{n}")
_kept("kernels_by_methods", "", "class _Kernels:\nMETHODS\n", "getattr(_Kernels(), 'pick_' + '{n}')()")
_kept("kernels_by_lambda_table", "", "_KERNELS = {ITEMS}\n_pick = lambda name: _KERNELS[name]\n", "_pick('{n}')")
_kept("kernels_by_descriptor", "", "class _Field:\n    def __init__(self, kernel):\n        self.kernel = kernel\n\n    def __set_name__(self, owner, name):\n        self.name = name\n\n"
      "    def __get__(self, owner, cls=None):\n        return self.kernel\n\n\nclass _Kernels:\nFIELDS\n", "_Kernels.{n}")  # fmt: skip
_kept("kernels_by_set_name_registry", "_TABLE = {}\n", "class _Field:\n    def __init__(self, kernel):\n        self.kernel = kernel\n\n    def __set_name__(self, owner, name):\n        _TABLE[name] = self.kernel\n\n\n"
      "class _Kernels:\nFIELDS\n", "_TABLE['{n}']")  # fmt: skip
_kept("kernels_by_subclass_hook", "", "class _Op:\n    kinds = {}\n\n    def __init_subclass__(cls, **options):\n        super().__init_subclass__(**options)\n        _Op.kinds[cls.__name__] = cls\n\n\nSUBCLASSES\n",
      "_Op.kinds['_Of_{n}'].kernel")  # fmt: skip
_kept("kernels_by_subclass_key", "_KINDS = {}\n", "class _Op:\n    def __init_subclass__(cls, key=None, **options):\n        super().__init_subclass__(**options)\n        _KINDS[key] = cls\n\n\nNAMED\n",
      "_KINDS['{n}'].kernel")  # fmt: skip
_kept("kernels_by_metaclass_new", "", "class _Meta(type):\n    kinds = {}\n\n    def __new__(mcls, name, bases, body, **options):\n        cls = super().__new__(mcls, name, bases, body)\n        mcls.kinds[name] = cls\n        return cls\n\n\n"
      "class _Op(metaclass=_Meta):\n    kernel = None\n\n\nSUBCLASSES\n", "_Meta.kinds['_Of_{n}'].kernel")  # fmt: skip
_kept("kernels_by_metaclass_init", "_KINDS = {}\n", "class _Meta(type):\n    def __init__(cls, name, bases, body):\n        super().__init__(name, bases, body)\n        if bases:\n            _KINDS[name] = body['kernel']\n\n\n"
      "class _Op(metaclass=_Meta):\n    pass\n\n\nSUBCLASSES\n", "_KINDS['_Of_{n}']")  # fmt: skip
_kept(
    "kernels_by_metaclass_item",
    "",
    "class _Meta(type):\n    def __getitem__(cls, name):\n        return getattr(cls, name)\n\n\nclass _Kernels(metaclass=_Meta):\nMEMBERS\n",
    "_Kernels['{n}']",
)
_kept(
    "kernels_by_metaclass_attribute",
    "",
    "class _Meta(type):\n    def __getattr__(cls, name):\n        return cls.table[name]\n\n\nclass _Kernels(metaclass=_Meta):\n    table = {ITEMS}\n",
    "_Kernels.{n}",
)
_kept(
    "kernels_by_class_item",
    "",
    "class _Kernels:\n    table = {ITEMS}\n\n    def __class_getitem__(cls, name):\n        return cls.table[name]\n",
    "_Kernels['{n}']",
)
_kept(
    "kernels_by_subclasses_list",
    "",
    "class _Op:\n    kernel = None\n\n\nSUBCLASSES\n",
    "{c.__name__: c for c in _Op.__subclasses__()}['_Of_{n}'].kernel",
)
_kept(
    "kernels_by_register_calls",
    "_REGISTRY = {}\n\ndef _register(name):\n    def add(kernel):\n        _REGISTRY[name] = kernel\n        return kernel\n    return add\n",
    "CALLS\n",
    "_REGISTRY['{n}']",
)
_kept("kernels_by_update", "_REGISTRY = {}\n", "_REGISTRY.update(PAIRS)\n", "_REGISTRY['{n}']")
_kept(
    "kernels_by_loop",
    "_REGISTRY = {}\n",
    "for _kernel in (PLAIN,):\n    _REGISTRY[_kernel.key] = _kernel\n",
    "_REGISTRY['{n}']",
)
_kept(
    "kernels_by_setattr",
    "class _Kernels:\n    pass\n",
    "for _kernel in (PLAIN,):\n    setattr(_Kernels, _kernel.key, _kernel)\n",
    "_Kernels.{n}",
)
_kept(
    "kernels_by_item_class",
    "",
    "class _Table:\n    def __init__(self, **kernels):\n        self._kernels = kernels\n\n    def __getitem__(self, name):\n        return self._kernels[name]\n\n_KERNELS = _Table(PAIRS)\n",
    "_KERNELS['{n}']",
)
_kept(
    "kernels_by_missing",
    "",
    "class _Table(dict):\n    def __missing__(self, name):\n        self[name] = globals()[name]\n        return self[name]\n\n_KERNELS = _Table()\n",
    "_KERNELS['{n}']",
)
_kept("kernels_by_conditional", "", "", "({n} if True else None)")
_kept("kernels_by_default_argument", "", "def _pick(name, table={ITEMS}):\n    return table[name]\n", "_pick('{n}')")
_kept(
    "kernels_by_cached_function",
    "import functools\n",
    "@functools.lru_cache(maxsize=None)\ndef _pick(name):\n    return {ITEMS}[name]\n",
    "_pick('{n}')",
)
_kept(
    "kernels_in_dataclass",
    "import dataclasses\n",
    "@dataclasses.dataclass\nclass _Kernels:\n    table: dict = dataclasses.field(default_factory=lambda: {ITEMS})\n",
    "_Kernels().table['{n}']",
)
_kept(
    "kernels_by_chain_map",
    "from collections import ChainMap\n",
    "_KERNELS = ChainMap({}, {ITEMS})\n",
    "_KERNELS['{n}']",
)


def _decorating(name: str, head: str, decorator: str, reference: str) -> None:
    """Kernels get one more decorator, which puts them into a registry."""

    def change(module: cst.Module, random: Random) -> cst.Module | None:
        found = _with_kernels(module, lambda n, i: expr(reference.replace("{n}", n)))
        if found is None:
            return None
        made, names = found
        body = []
        for statement in made.body:
            if isinstance(statement, cst.FunctionDef) and statement.name.value in names:
                mark = cst.Decorator(expr(decorator.replace("{n}", statement.name.value)))
                statement = statement.with_changes(decorators=[mark, *statement.decorators])
            body.append(statement)
        return with_head(made.with_changes(body=body), head)

    register(name, change)


_decorating(
    "kernels_by_decorator",
    "_REGISTRY = {}\n\ndef _registered(kernel):\n    _REGISTRY[kernel.key] = kernel\n    return kernel\n",
    "_registered",
    "_REGISTRY['{n}']",
)
_decorating(
    "kernels_by_named_decorator",
    "_REGISTRY = {}\n\ndef _registered(name):\n    def add(kernel):\n        _REGISTRY[name] = kernel\n        return kernel\n    return add\n",
    "_registered('{n}')",
    "_REGISTRY['{n}']",
)
_decorating("kernels_by_registry_method", "class _Registry:\n    def __init__(self):\n        self.table = {}\n\n    def add(self, name):\n        def mark(kernel):\n            self.table[name] = kernel\n            return kernel\n        return mark\n\n"
            "    def __getitem__(self, name):\n        return self.table[name]\n\n_registry = _Registry()\n", "_registry.add('{n}')", "_registry['{n}']")  # fmt: skip
_decorating(
    "kernels_by_list_decorator",
    "_ALL = []\n\ndef _listed(kernel):\n    _ALL.append(kernel)\n    return kernel\n",
    "_listed",
    "next(k for k in _ALL if k.key == '{n}')",
)
_decorating(
    "kernels_by_wrapper",
    "class _Wrapped:\n    def __init__(self, kernel):\n        self.kernel = kernel\n",
    "_Wrapped",
    "{n}.kernel",
)
_decorating(
    "kernels_by_setdefault_decorator",
    "_REGISTRY = {}\n\ndef _of(kind):\n    return lambda kernel: _REGISTRY.setdefault(kind, {}).setdefault(kernel.key, kernel)\n",
    "_of('all')",
    "_REGISTRY['all']['{n}']",
)


@of_module
def kernels_in_factory(module: cst.Module, random: Random) -> cst.Module | None:
    """Each kernel is defined inside a function that gives it."""
    return _in_factory(module, "def _make_{n}():\n    return {n}\n", "{n} = _make_{n}()\n")


@of_module
def kernels_in_factory_with_option(module: cst.Module, random: Random) -> cst.Module | None:
    """The same, where the function has an argument."""
    return _in_factory(
        module, "def _make_{n}(kind='plain', scale=1.0):\n    return {n}\n", "{n} = _make_{n}(kind='full')\n"
    )


@of_module
def kernels_in_cached_factory(module: cst.Module, random: Random) -> cst.Module | None:
    """The same, with a cache."""
    made = _in_factory(
        module, "@functools.lru_cache\ndef _make_{n}(kind):\n    return {n}\n", "{n} = _make_{n}('full')\n"
    )
    return None if made is None else with_head(made, "import functools\n")


def _in_factory(module: cst.Module, factory: str, use: str) -> cst.Module | None:
    kernels = _own_kernels(module)
    if not kernels:
        return None
    body: list[cst.BaseStatement] = []
    for statement in module.body:
        if isinstance(statement, cst.FunctionDef) and statement.name.value in kernels:
            name = statement.name.value
            made = block(factory.replace("{n}", name))[0]
            inner = made.body  # type: ignore[attr-defined]
            made = made.with_changes(  # type: ignore[call-arg]
                body=inner.with_changes(body=[statement, *inner.body]), leading_lines=[cst.EmptyLine()]
            )
            body += [made, *block(use.replace("{n}", name))]
        else:
            body.append(statement)
    return module.with_changes(body=body)


@of_module
def kernels_in_class_body(module: cst.Module, random: Random) -> cst.Module | None:
    """Host functions find the kernels through an attribute of their class: ``self.kernel = kernel``."""
    found = _with_kernels(module, lambda n, i: expr(f"_tools.{n}"))
    if found is None:
        return None
    made, names = found
    last = max(_own_kernels(made).values())
    keep = "\n".join(f"        self.{n} = {n}" for n in names)
    return inserted(made, last + 1, block(f"class _Tools:\n    def __init__(self):\n{keep}\n\n_tools = _Tools()\n"))
