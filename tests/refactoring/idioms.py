"""Small idioms: attributes of classes, argument lists, values, branches."""

from __future__ import annotations

from random import Random

import libcst as cst
import libcst.matchers as m

from .syntax import (
    Host,
    block,
    body_of,
    carry,
    carry_to,
    code,
    expr,
    expressions,
    is_device,
    is_launch,
    of_module,
    only,
    own_functions,
    register,
    statements,
    with_body,
    with_head,
)


def _arrays(name: str, head: str, template: str) -> None:
    """The lists of arrays that launches are given, written in another way."""

    def change(module: cst.Module, random: Random) -> cst.Module | None:
        def of_call(call: cst.Call) -> cst.BaseExpression | None:
            if not is_launch(call):
                return None
            found = False
            args = []
            for arg in call.args:
                value = arg.value
                right = arg.keyword is not None and arg.keyword.value in ("inputs", "outputs")
                if right and isinstance(value, cst.List) and value.elements and "#" not in code(value):
                    found = True
                    inner = code(value)[1:-1].strip().rstrip(",")
                    arg = arg.with_changes(value=expr(template.replace("ITEMS", inner)))
                args.append(arg)
            return call.with_changes(args=args) if found else None

        made = expressions(module, of_call)
        return None if made is None else with_head(made, head) if head else made

    register(name, change)


_arrays("arrays_tuple", "", "(ITEMS,)")
_arrays("arrays_list_call", "", "list((ITEMS,))")
_arrays("arrays_star", "", "[*(ITEMS,)]")
_arrays("arrays_comprehension", "", "[a for a in (ITEMS,)]")
_arrays("arrays_sum_of_lists", "", "[ITEMS] + []")
_arrays("arrays_dict_values", "", "list(dict(enumerate((ITEMS,))).values())")
_arrays("arrays_map", "", "list(map(lambda a: a, (ITEMS,)))")
_arrays("arrays_filter", "", "[a for a in [ITEMS, None] if a is not None]")
_arrays("arrays_reversed_twice", "", "[ITEMS][::-1][::-1]")
_arrays("arrays_helper", "def _args(*arrays):\n    return list(arrays)\n", "_args(ITEMS)")
_arrays("arrays_generator", "def _args(*arrays):\n    for a in arrays:\n        yield a\n", "list(_args(ITEMS))")
_arrays("arrays_chain", "import itertools\n", "list(itertools.chain((ITEMS,)))")
_arrays("arrays_zip", "", "[a for a, _ in zip((ITEMS,), range(99))]")
_arrays("arrays_walrus", "", "(_made := [ITEMS])")
_arrays("arrays_conditional", "", "([ITEMS] if True else [])")
_arrays("arrays_or", "", "([] or [ITEMS])")
_arrays("arrays_copy", "", "[ITEMS].copy()")
_arrays(
    "arrays_append",
    "class _List:\n    def __init__(self):\n        self.items = []\n\n    def add(self, *items):\n        for item in items:\n            self.items.append(item)\n        return self\n",
    "_List().add(ITEMS).items",
)
_arrays("arrays_sorted", "", "[a for _, a in sorted(enumerate((ITEMS,)), key=lambda pair: pair[0])]")
_arrays("arrays_unpacked_dict", "", "[*{str(k): a for k, a in enumerate((ITEMS,))}.values()]")


def _attribute_values(name: str, head: str, template: str) -> None:
    """What ``self.x = value`` assigns goes through something that gives it back."""

    def change(module: cst.Module, random: Random) -> cst.Module | None:
        def of_statement(statement: cst.BaseStatement) -> list[cst.BaseStatement] | None:
            small = only(statement)
            if not isinstance(small, cst.Assign) or len(small.targets) != 1:
                return None
            target = small.targets[0].target
            if not m.matches(target, m.Attribute(m.Name("self"))):
                return None
            attr = target.attr.value  # type: ignore[attr-defined]
            made = block(template.replace("ATTR", attr), VALUE=small.value)
            return carry_to(statement, made, small.value)

        made = statements(module, of_statement)
        return None if made is None else with_head(made, head) if head else made

    register(name, change)


_attribute_values("attribute_setattr", "", "setattr(self, 'ATTR', VALUE)")
_attribute_values("attribute_by_dict", "", "self.__dict__['ATTR'] = VALUE")
_attribute_values("attribute_by_update", "", "self.__dict__.update(ATTR=VALUE)")
_attribute_values("attribute_by_vars", "", "vars(self)['ATTR'] = VALUE")
_attribute_values("attribute_by_object", "", "object.__setattr__(self, 'ATTR', VALUE)")
_attribute_values(
    "attribute_by_loop", "", "for _name, _value in {'ATTR': VALUE}.items():\n    setattr(self, _name, _value)"
)
_attribute_values("attribute_annotated", "", "self.ATTR: object = VALUE")
_attribute_values("attribute_twice", "", "self.ATTR = _same = VALUE")
_attribute_values("attribute_starred", "", "self.ATTR, *_rest = [VALUE, None]")


@of_module
def attributes_in_properties(module: cst.Module, random: Random) -> cst.Module | None:
    """Attributes that ``__init__`` sets get a property with a setter over another name."""
    return _properties(module, "    @property\n    def {n}(self):\n        return self._{n}_kept\n\n"
                               "    @{n}.setter\n    def {n}(self, value):\n        self._{n}_kept = value\n")  # fmt: skip


@of_module
def attributes_in_property_call(module: cst.Module, random: Random) -> cst.Module | None:
    """The same with ``property(get, set)``."""
    return _properties(module, "    def _get_{n}(self):\n        return self._{n}_kept\n\n    def _set_{n}(self, value):\n"
                               "        self._{n}_kept = value\n\n    {n} = property(_get_{n}, _set_{n})\n")  # fmt: skip


@of_module
def attributes_in_state(module: cst.Module, random: Random) -> cst.Module | None:
    """The same, kept in a dict of the object, which is made when it is first asked for."""
    return _properties(module, "    @property\n    def {n}(self):\n        return self.__dict__.setdefault('_state', {})['{n}']\n\n"
                               "    @{n}.setter\n    def {n}(self, value):\n        self.__dict__.setdefault('_state', {})['{n}'] = value\n")  # fmt: skip


@of_module
def attributes_by_descriptor(module: cst.Module, random: Random) -> cst.Module | None:
    """The same with one descriptor class for all."""
    made = _properties(module, "    {n} = _Attribute()\n")
    return None if made is None else with_head(made, """
class _Attribute:
    def __set_name__(self, owner, name):
        self.slot = f"_{name}_kept"

    def __get__(self, instance, owner=None):
        return self if instance is None else instance.__dict__[self.slot]

    def __set__(self, instance, value):
        instance.__dict__[self.slot] = value
""")  # fmt: skip


@of_module
def attributes_by_getattr(module: cst.Module, random: Random) -> cst.Module | None:
    """Attributes are kept in a dict, by ``__getattr__`` and ``__setattr__``."""
    return _properties(module, "", once="    def __getattr__(self, name):\n        if name.startswith('__') or '_all' not in self.__dict__ or name not in self.__dict__['_all']:\n"
                       "            raise AttributeError(name)\n        return self.__dict__['_all'][name]\n\n"
                       "    def __setattr__(self, name, value):\n        self.__dict__.setdefault('_all', {})[name] = value\n")  # fmt: skip


@of_module
def attributes_in_slots(module: cst.Module, random: Random) -> cst.Module | None:
    """Classes get ``__slots__``."""
    return _properties(module, "", once="    __slots__ = (ALL, '__dict__')\n")


def _properties(module: cst.Module, each: str, once: str = "") -> cst.Module | None:
    changed = False
    body = []
    for statement in module.body:
        if (
            isinstance(statement, cst.ClassDef)
            and not is_device(statement)
            and not statement.bases
            and not statement.decorators
            and "__slots__" not in code(statement)
            and "__getattr__" not in code(statement)
        ):
            taken = {s.name.value for s in body_of(statement) or [] if isinstance(s, cst.FunctionDef)}
            taken |= {t.target.value for s in body_of(statement) or [] for t in m.findall(s, m.AssignTarget(m.Name()))
                      if isinstance(s, cst.SimpleStatementLine)}  # type: ignore[attr-defined]  # fmt: skip
            names = sorted(
                {
                    target.target.attr.value  # type: ignore[attr-defined]
                    for target in m.findall(statement, m.AssignTarget(m.Attribute(m.Name("self"))))
                }
                - taken
            )
            if names:
                changed = True
                text = "\n".join(each.replace("{n}", n) for n in names) + once.replace(
                    "ALL", ", ".join(map(repr, names))
                )
                holder = cst.parse_module(f"class _X:\n{text}").body[0]
                statement = with_body(statement, [*(body_of(statement) or []), *(body_of(holder) or [])])
        body.append(statement)
    return module.with_changes(body=body) if changed else None


def _constructed(name: str, head: str, template: str) -> None:
    """Objects of the program's own classes are made in another way; ``MADE`` is the call, ``CLASS`` and ``ARGS``."""

    def change(module: cst.Module, random: Random) -> cst.Module | None:
        classes = {
            s.name.value for s in module.body if isinstance(s, cst.ClassDef) and not is_device(s) and not s.bases
        }
        text = module.code

        def of_call(call: cst.Call) -> cst.BaseExpression | None:
            if not isinstance(call.func, cst.Name) or call.func.value not in classes or "#" in code(call):
                return None
            if "isinstance(" in text:
                return None
            args = ", ".join(code(a).rstrip().rstrip(",") for a in call.args)
            filled = (
                template.replace("CLASS", call.func.value).replace("ARGS", args).replace("(, ", "(").replace(", )", ")")
            )
            return expr(filled, MADE=call)

        made = expressions(module, of_call)
        return None if made is None else with_head(made, head) if head else made

    register(name, change)


_constructed("made_by_lambda", "", "(lambda: MADE)()")
_constructed("made_by_partial", "import functools\n", "functools.partial(CLASS, ARGS)()")
_constructed("made_by_global_name", "", "globals()['CLASS'](ARGS)")
_constructed(
    "made_by_helper", "def _make(cls, *args, **kwargs):\n    return cls(*args, **kwargs)\n", "_make(CLASS, ARGS)"
)
_constructed("made_by_table", "def _lookup(name):\n    return globals()[name]\n", "_lookup('CLASS')(ARGS)")
_constructed("made_and_copied", "import copy\n", "copy.copy(MADE)")
_constructed("made_behind_proxy", """
class _Proxy:
    def __init__(self, inner):
        object.__setattr__(self, '_inner', inner)

    def __getattr__(self, name):
        return getattr(object.__getattribute__(self, '_inner'), name)

    def __setattr__(self, name, value):
        setattr(object.__getattribute__(self, '_inner'), name, value)

    def __call__(self, *args, **kwargs):
        return self._inner(*args, **kwargs)

    def __getitem__(self, key):
        return self._inner[key]

    def __setitem__(self, key, value):
        self._inner[key] = value

    def __enter__(self):
        return self._inner.__enter__()

    def __exit__(self, *error):
        return self._inner.__exit__(*error)

    def __iter__(self):
        return iter(self._inner)

    def __len__(self):
        return len(self._inner)
""", "_Proxy(MADE)")  # fmt: skip
_constructed(
    "made_by_new",
    "def _build(cls, *args, **kwargs):\n    made = cls.__new__(cls)\n    made.__init__(*args, **kwargs)\n    return made\n",
    "_build(CLASS, ARGS)",
)
_constructed("made_in_list", "", "[MADE][0]")
_constructed("made_from_generator", "", "next(iter([MADE]))")
_constructed("made_by_dynamic_subclass", "", "type('_Sub', (CLASS,), {})(ARGS)")
_constructed(
    "made_by_local_subclass", "def _sub(cls):\n    class Sub(cls):\n        pass\n    return Sub\n", "_sub(CLASS)(ARGS)"
)
_constructed(
    "made_by_cache",
    "_CACHE = {}\n\ndef _cached(key, make):\n    _CACHE[key] = make()\n    return _CACHE[key]\n",
    "_cached('CLASS', lambda: MADE)",
)


def _called(name: str, head: str, template: str) -> None:
    """Calls of methods on names (``obj.method(...)``) are made in another way."""

    def change(module: cst.Module, random: Random) -> cst.Module | None:
        methods = {
            f.name.value
            for s in module.body
            if isinstance(s, cst.ClassDef) and not is_device(s)
            for f in body_of(s) or []
            if isinstance(f, cst.FunctionDef)
        }

        def of_call(call: cst.Call) -> cst.BaseExpression | None:
            if not m.matches(call.func, m.Attribute(m.Name())) or "#" in code(call):
                return None
            method = call.func.attr.value  # type: ignore[attr-defined]
            if method not in methods or any(a.star for a in call.args):
                return None
            owner = call.func.value  # type: ignore[attr-defined]
            args = ", ".join(code(a).rstrip().rstrip(",") for a in call.args)
            text = template.replace("METHOD", method).replace("ARGS", args).replace(", )", ")")
            return expr(text, OWNER=owner)

        made = expressions(module, of_call)
        return None if made is None else with_head(made, head) if head else made

    register(name, change)


_called("method_by_getattr", "", "getattr(OWNER, 'METHOD')(ARGS)")
_called("method_by_text", "", "getattr(OWNER, '{}'.format('METHOD'))(ARGS)")
_called("method_bound_first", "", "(lambda bound: bound(ARGS))(OWNER.METHOD)")
_called("method_partial", "import functools\n", "functools.partial(OWNER.METHOD, ARGS)()")
_called("method_caller", "import operator\n", "operator.methodcaller('METHOD', ARGS)(OWNER)")
_called("method_of_type", "", "type(OWNER).METHOD(OWNER, ARGS)")
_called("method_of_class", "", "OWNER.__class__.METHOD(OWNER, ARGS)")
_called("method_in_dict", "", "{'go': OWNER.METHOD}['go'](ARGS)")
_called(
    "method_helper",
    "def _invoke(function, *args, **kwargs):\n    return function(*args, **kwargs)\n",
    "_invoke(OWNER.METHOD, ARGS)",
)
_called(
    "method_by_name_helper",
    "def _invoke(owner, name, *args, **kwargs):\n    return getattr(owner, name)(*args, **kwargs)\n",
    "_invoke(OWNER, 'METHOD', ARGS)",
)


def _assigned(name: str, head: str, template: str) -> None:
    """The values of plain assignments in functions are bound in another way; ``NAME = VALUE``."""

    def change(module: cst.Module, random: Random) -> cst.Module | None:
        done = {}
        for function in own_functions(module):
            body = []
            for statement in body_of(function) or []:
                small = only(statement)
                if (
                    isinstance(small, cst.Assign)
                    and len(small.targets) == 1
                    and isinstance(small.targets[0].target, cst.Name)
                    and "#" not in code(small)
                ):
                    text = template.replace("NAME", small.targets[0].target.value)
                    body += carry_to(statement, block(text, VALUE=small.value), small.value)
                else:
                    body.append(statement)
            done[function.name.value] = with_body(function, body)
        if not done:
            return None
        made = module.with_changes(
            body=[done.get(s.name.value, s) if isinstance(s, cst.FunctionDef) else s for s in module.body]
        )
        return with_head(made, head) if head else made

    register(name, change)


_assigned("bound_by_walrus", "", "(NAME := VALUE)")
_assigned("bound_in_if", "", "if (NAME := VALUE) is None:\n    raise RuntimeError")
_assigned("bound_by_star", "", "NAME, *_ = (VALUE, None)")
_assigned("bound_by_unpacking", "", "(NAME,) = (VALUE,)")
_assigned("bound_by_nested_unpacking", "", "(_, [NAME, *_]) = (0, [VALUE, 1])")
_assigned("bound_twice", "", "NAME = _again = VALUE")
_assigned("bound_by_identity", "def _same(value):\n    return value\n", "NAME = _same(VALUE)")
_assigned("bound_by_conditional", "", "NAME = VALUE if True else None")
_assigned("bound_by_or", "", "NAME = None\nif NAME is None:\n    NAME = VALUE")
_assigned("bound_by_lambda", "", "NAME = (lambda: VALUE)()")
_assigned("bound_by_for", "", "for NAME in [VALUE]:\n    pass")
_assigned("bound_by_with", "import contextlib\n", "with contextlib.nullcontext(VALUE) as NAME:\n    pass")
_assigned(
    "bound_by_manager",
    "import contextlib\n\n@contextlib.contextmanager\ndef _given(value):\n    yield value\n",
    "with _given(VALUE) as NAME:\n    pass",
)
_assigned("bound_by_match", "", "_value = VALUE\nmatch _value:\n    case NAME:\n        pass")
_assigned("bound_by_try", "", "try:\n    NAME = VALUE\nexcept KeyError:\n    raise")
_assigned("bound_by_try_else", "", "try:\n    _made = VALUE\nexcept KeyError:\n    raise\nelse:\n    NAME = _made")
_assigned("bound_by_while", "", "while True:\n    NAME = VALUE\n    break")
_assigned("bound_by_next", "", "NAME = next(iter([VALUE]))")
_assigned("bound_by_generator", "def _one(value):\n    yield value\n", "NAME = next(_one(VALUE))")
_assigned("bound_by_annotation", "", "NAME: object = VALUE")
_assigned("bound_by_dict_pop", "", "NAME = {'made': VALUE}.pop('made')")
_assigned(
    "bound_by_future",
    "class _Later:\n    def __init__(self, make):\n        self.make = make\n\n    def result(self):\n        return self.make()\n",
    "NAME = _Later(lambda: VALUE).result()",
)
_assigned(
    "bound_by_class",
    "class _Box:\n    def __init__(self, value):\n        self.value = value\n",
    "NAME = _Box(VALUE).value",
)
_assigned("bound_by_tuple_index", "", "NAME = (VALUE, None)[0]")
_assigned("bound_by_max_item", "", "NAME = [item for item in (VALUE,)][-1]")


@of_module
def returns_through_name(module: cst.Module, random: Random) -> cst.Module | None:
    """``return value`` becomes two statements."""

    def of_statement(statement: cst.BaseStatement) -> list[cst.BaseStatement] | None:
        small = only(statement)
        if not isinstance(small, cst.Return) or small.value is None:
            return None
        return carry(statement, block("_answer = VALUE\nreturn _answer", VALUE=small.value), 0)

    return statements(module, of_statement)


@of_module
def returns_in_dict(module: cst.Module, random: Random) -> cst.Module | None:
    """Returned tuples are put together through a dict."""

    def of_statement(statement: cst.BaseStatement) -> list[cst.BaseStatement] | None:
        small = only(statement)
        if not isinstance(small, cst.Return) or not isinstance(small.value, cst.Tuple) or "#" in code(small):
            return None
        items = ", ".join(f"'r{k}': {code(e.value)}" for k, e in enumerate(small.value.elements))
        if any(isinstance(e, cst.StarredElement) for e in small.value.elements):
            return None
        return carry(statement, block(f"_answer = {{{items}}}\nreturn tuple(_answer.values())"), 0)

    return statements(module, of_statement)


@of_module
def ifs_as_match(module: cst.Module, random: Random) -> cst.Module | None:
    """``if test: ... else: ...`` becomes ``match bool(test)``."""

    class Ifs(Host):
        changed = False

        def leave_If(self, original: cst.If, updated: cst.If):  # type: ignore[no-untyped-def]
            if "__name__" in code(updated.test) or isinstance(updated.orelse, cst.If) or body_of(updated) is None:
                return updated
            if m.findall(updated.test, m.NamedExpr()):
                return updated
            self.changed = True
            made = block(
                "match bool(TEST):\n    case True:\n        pass\n    case _:\n        pass", TEST=updated.test
            )[0]
            first, second = made.cases  # type: ignore[attr-defined]
            first = with_body(first, body_of(updated) or [])
            if updated.orelse is not None:
                second = with_body(second, body_of(updated.orelse) or [])
            return made.with_changes(cases=[first, second])  # type: ignore[call-arg]

    look = Ifs()
    made = module.visit(look)
    return made if look.changed else None


@of_module
def keywords_to_keywords(module: cst.Module, random: Random) -> cst.Module | None:
    """Positional arguments of the program's own functions are handed by keyword."""
    functions = {f.name.value: [p.name.value for p in f.params.params] for f in own_functions(module)}
    bodies = module.code

    def of_call(call: cst.Call) -> cst.BaseExpression | None:
        if not isinstance(call.func, cst.Name) or call.func.value not in functions or any(a.star for a in call.args):
            return None
        names = functions[call.func.value]
        if len(call.args) > len(names) or f"{call.func.value} =" in bodies:
            return None
        args = [
            a if a.keyword is not None else a.with_changes(
                keyword=cst.Name(names[k]), equal=cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace("")))
            for k, a in enumerate(call.args)
        ]  # fmt: skip
        return call.with_changes(args=args) if call.args else None

    return expressions(module, of_call)


@of_module
def arguments_spread(module: cst.Module, random: Random) -> cst.Module | None:
    """Arguments of the program's own functions are handed as ``*(...)``."""
    functions = {f.name.value for f in own_functions(module)}

    def of_call(call: cst.Call) -> cst.BaseExpression | None:
        if not isinstance(call.func, cst.Name) or call.func.value not in functions or "#" in code(call):
            return None
        if not call.args or any(a.star or a.keyword for a in call.args):
            return None
        return expr(f"{call.func.value}(*({', '.join(code(a.value) for a in call.args)},))")

    return expressions(module, of_call)
