"""Local variables that are kept in something else."""

from __future__ import annotations

from random import Random

import libcst as cst
import libcst.matchers as m

from .syntax import (
    Substitute,
    block,
    body_of,
    code,
    expr,
    is_docstring,
    names_bound,
    of_module,
    only,
    own_functions,
    parameters,
    register,
    statements,
    substituted,
    with_body,
    with_head,
)

_NESTED = m.OneOf(m.FunctionDef(), m.Lambda(), m.ClassDef(), m.ListComp(), m.GeneratorExp(), m.DictComp(), m.SetComp())
_MUST_BE_NAMES = m.OneOf(m.NamedExpr(), m.Global(), m.Nonlocal(), m.ImportAlias(), m.ExceptHandler(), m.Del())


def movable(function: cst.FunctionDef) -> list[str]:
    """The locals of a function that may become something else than a name."""
    body = body_of(function)
    given = parameters(function)
    if body is None or given is None:
        return []
    bound = names_bound(body) - set(given)
    for statement in body:
        for inner in m.findall(statement, _NESTED):
            bound -= inside(inner)
        for inner in m.findall(statement, _MUST_BE_NAMES):
            bound -= names_bound(inner) | set(code(inner).replace(",", " ").split())
    return sorted(name for name in bound if not name.startswith("_"))


def inside(node: cst.CSTNode) -> set[str]:
    """The names that a nested scope binds, and all names in it that a nested definition has."""
    found: set[str] = set()
    for param in m.findall(node, m.Param()):
        found.add(param.name.value)  # type: ignore[attr-defined]
    for target in m.findall(node, m.CompFor()):
        found |= {name.value for name in m.findall(target.target, m.Name())}  # type: ignore[attr-defined]
    if isinstance(node, (cst.FunctionDef, cst.ClassDef)):
        found |= {node.name.value} | names_bound(body_of(node) or [])
    return found


def _holding(name: str, head: str, first: str, reference: str) -> None:
    """Locals are kept in what ``first`` makes, and read as ``reference`` says."""

    def change(module: cst.Module, random: Random) -> cst.Module | None:
        done: dict[str, cst.FunctionDef] = {}
        used: set[str] = set()
        for function in own_functions(module):
            names = movable(function)
            if not names:
                continue
            used.update(names)
            body = body_of(function) or []
            start = 1 if body and is_docstring(body[0]) else 0
            places = {local: expr(reference.format(name=local)) for local in names}
            moved = [substituted(statement, places) for statement in body[start:]]
            done[function.name.value] = with_body(function, [*body[:start], *block(first), *moved])
        if not done:
            return None
        made = module.with_changes(
            body=[done.get(s.name.value, s) if isinstance(s, cst.FunctionDef) else s for s in module.body]
        )
        fields = "\n".join(f"    {name}: object = None" for name in sorted(used))
        slots = ", ".join(repr(name) for name in sorted(used))
        described = "\n".join(f"    {name} = _Field()" for name in sorted(used))
        head_text = head.replace("DESCRIPTORS", described)
        return with_head(made, head_text.replace("FIELDS", fields).replace("SLOTS", f"({slots},)")) if head else made

    register(name, change)


_holding("locals_in_namespace", "from types import SimpleNamespace as _Names\n", "_s = _Names()", "_s.{name}")
_holding("locals_in_object", "class _Names:\n    pass\n", "_s = _Names()", "_s.{name}")
_holding("locals_in_dict", "", "_s = {}", "_s['{name}']")
_holding("locals_in_default_dict", "from collections import defaultdict\n", "_s = defaultdict(list)", "_s['{name}']")
_holding(
    "locals_in_dataclass",
    "from dataclasses import dataclass\n\n@dataclass\nclass _Names:\nFIELDS\n",
    "_s = _Names()",
    "_s.{name}",
)
_holding("locals_in_slots", "class _Names:\n    __slots__ = SLOTS\n", "_s = _Names()", "_s.{name}")
_holding("locals_in_nested_object", "class _Names:\n    def __init__(self):\n        self.part = type('Part', (), {})()\n",
         "_s = _Names()", "_s.part.{name}")  # fmt: skip
_holding("locals_in_nested_dict", "", "_s = {'state': {}}", "_s['state']['{name}']")
_holding("locals_in_class_attributes", "", "class _s:\n    pass", "_s.{name}")
_holding("locals_in_getattr_proxy",
         "class _Names:\n    def __init__(self):\n        object.__setattr__(self, 'kept', {})\n\n"
         "    def __getattr__(self, name):\n        try:\n            return self.kept[name]\n"
         "        except KeyError:\n            raise AttributeError(name) from None\n\n"
         "    def __setattr__(self, name, value):\n        self.kept[name] = value\n",
         "_s = _Names()", "_s.{name}")  # fmt: skip
_holding("locals_in_item_protocol",
         "class _Names:\n    def __init__(self):\n        self._kept = {}\n\n    def __getitem__(self, name):\n"
         "        return self._kept[name]\n\n    def __setitem__(self, name, value):\n        self._kept[name] = value\n\n"
         "    def __contains__(self, name):\n        return name in self._kept\n",
         "_s = _Names()", "_s['{name}']")  # fmt: skip
_holding("locals_in_attribute_dict",
         "class _Names(dict):\n    __getattr__ = dict.__getitem__\n    __setattr__ = dict.__setitem__\n",
         "_s = _Names()", "_s.{name}")  # fmt: skip
_holding(
    "locals_in_user_dict",
    "from collections import UserDict\n\nclass _Names(UserDict):\n    pass\n",
    "_s = _Names()",
    "_s['{name}']",
)
_holding("locals_in_properties_by_descriptor",
         "class _Field:\n    def __set_name__(self, owner, name):\n        self.key = '_' + name\n\n"
         "    def __get__(self, owner, cls=None):\n        return self if owner is None else getattr(owner, self.key)\n\n"
         "    def __set__(self, owner, value):\n        setattr(owner, self.key, value)\n\nclass _Names:\n"
         "DESCRIPTORS\n", "_s = _Names()", "_s.{name}")  # fmt: skip
_holding("locals_by_dunder_dict", "class _Names:\n    pass\n", "_s = _Names()", "_s.__dict__['{name}']")
_holding("locals_by_vars", "from types import SimpleNamespace as _Names\n", "_s = _Names()", "vars(_s)['{name}']")


@of_module
def locals_set_by_setattr(module: cst.Module, random: Random) -> cst.Module | None:
    """``x = value`` becomes ``setattr(_s, "x", value)``, and ``x`` is read by ``getattr``."""
    done: dict[str, cst.FunctionDef] = {}
    for function in own_functions(module):
        body = body_of(function) or []
        names = [name for name in movable(function) if all(_plainly_bound(s, name) for s in body)]
        if not names:
            continue
        start = 1 if body and is_docstring(body[0]) else 0

        class Set(cst.CSTTransformer):
            def __init__(self, names: list[str]) -> None:
                self.names = names

            def leave_SimpleStatementLine(self, original, updated):  # type: ignore[no-untyped-def]
                small = only(original)
                if isinstance(small, cst.Assign) and len(small.targets) == 1:
                    target = small.targets[0].target
                    if isinstance(target, cst.Name) and target.value in self.names:
                        value = only(updated).value  # type: ignore[union-attr]
                        made = expr(f"setattr(_s, '{target.value}', VALUE)", VALUE=value)
                        return updated.with_changes(body=[cst.Expr(made)])
                return updated

        places = {name: expr(f"getattr(_s, '{name}')") for name in names}

        moved = []
        for statement in body[start:]:
            statement = statement.visit(_ReadAll(places)).visit(Set(names))
            moved.append(statement)
        done[function.name.value] = with_body(function, [*body[:start], *block("_s = _Names()"), *moved])
    if not done:
        return None
    made = module.with_changes(
        body=[done.get(s.name.value, s) if isinstance(s, cst.FunctionDef) else s for s in module.body]
    )
    return with_head(made, "class _Names:\n    pass\n")


class _ReadAll(Substitute):
    """Names that are read, but not the plain targets of assignments."""

    def leave_AssignTarget(self, original: cst.AssignTarget, updated: cst.AssignTarget) -> cst.AssignTarget:
        return original if isinstance(original.target, cst.Name) else updated


def _plainly_bound(statement: cst.CSTNode, name: str) -> bool:
    """Whether a name is bound by plain assignments alone."""
    plain = sum(
        1
        for found in m.findall(statement, m.Assign(targets=[m.AssignTarget(m.Name(name))]))
        if isinstance(found, cst.Assign)
    )
    every = sum(1 for kind in (m.AssignTarget(), m.AugAssign(), m.AnnAssign(), m.For(), m.AsName())
                for found in m.findall(statement, kind) if name in _targets(found))  # fmt: skip
    return plain == every


def _targets(node: cst.CSTNode) -> set[str]:
    target = getattr(node, "target", None) or getattr(node, "name", None)
    return {found.value for found in m.findall(target, m.Name())} if target is not None else set()  # type: ignore[attr-defined]


# --- packing: allocations that stand together ---


def _is_allocation(statement: cst.BaseStatement) -> str | None:
    small = only(statement)
    if not isinstance(small, cst.Assign) or len(small.targets) != 1 or not isinstance(small.value, cst.Call):
        return None
    target = small.targets[0].target
    makes = code(small.value.func).startswith(("wp.", "warp."))
    return target.value if makes and isinstance(target, cst.Name) else None


def _packing(name: str, head: str, make: str, reference: str) -> None:
    """Arrays that are allocated together and bound once go into one object; ``{n}`` is the name, ``{i}`` its place."""

    def change(module: cst.Module, random: Random) -> cst.Module | None:
        done: dict[str, cst.FunctionDef] = {}
        heads: list[str] = []
        for function in own_functions(module):
            body = body_of(function) or []
            names = movable(function)
            position = 0
            while position < len(body) and (_is_allocation(body[position]) not in names):
                position += 1
            end = position
            group: list[str] = []
            while end < len(body) and (found := _is_allocation(body[end])) in names and found not in group:
                group.append(found)  # type: ignore[arg-type]
                end += 1
            group = [n for n in group if sum(n in _all_targets(s) for s in body) == 1]
            if len(group) < 2:
                continue
            kind = f"_Pack{len(heads)}"
            heads.append(head.replace("KIND", kind).replace("NAMES", " ".join(group)).replace(
                "FIELDS", "\n".join(f"    {n}: object" for n in group)))  # fmt: skip
            given = make.replace("KIND", kind).replace("PAIRS", ", ".join(f"{n}={n}" for n in group)).replace(
                "PLAIN", ", ".join(group)).replace("ITEMS", ", ".join(f"{n!r}: {n}" for n in group))  # fmt: skip
            places = {n: expr(reference.replace("{n}", n).replace("{i}", str(i))) for i, n in enumerate(group)}
            rest = [substituted(statement, places) for statement in body[end:]]
            done[function.name.value] = with_body(function, [*body[:end], *block(given), *rest])
        if not done:
            return None
        made = module.with_changes(
            body=[done.get(s.name.value, s) if isinstance(s, cst.FunctionDef) else s for s in module.body]
        )
        text = "\n".join(heads)
        return with_head(made, text) if text.strip() else made

    register(name, change)


def _all_targets(statement: cst.CSTNode) -> set[str]:
    found: set[str] = set()
    for kind in (m.AssignTarget(), m.AugAssign(), m.AnnAssign(), m.For(), m.AsName()):
        for node in m.findall(statement, kind):
            found |= _targets(node)
    return found


_packing(
    "packed_in_namedtuple",
    "from typing import Any, NamedTuple\n\nclass KIND(NamedTuple):\nFIELDS\n",
    "_p = KIND(PAIRS)",
    "_p.{n}",
)
_packing(
    "packed_in_collections_namedtuple",
    "from collections import namedtuple\n\nKIND = namedtuple('KIND', 'NAMES')\n",
    "_p = KIND(PLAIN)",
    "_p.{n}",
)
_packing(
    "packed_in_namedtuple_by_index",
    "from collections import namedtuple\n\nKIND = namedtuple('KIND', 'NAMES')\n",
    "_p = KIND(PLAIN)",
    "_p[{i}]",
)
_packing(
    "packed_in_frozen_dataclass",
    "from dataclasses import dataclass\n\n@dataclass(frozen=True, slots=True)\nclass KIND:\nFIELDS\n",
    "_p = KIND(PAIRS)",
    "_p.{n}",
)
_packing("packed_and_replaced", "import dataclasses\n\n@dataclasses.dataclass\nclass KIND:\nFIELDS\n",
         "_p = dataclasses.replace(KIND(PAIRS))", "_p.{n}")  # fmt: skip
_packing("packed_and_copied", "import copy\n\nclass KIND:\n    def __init__(self, **parts):\n        self.__dict__.update(parts)\n",
         "_p = copy.copy(KIND(PAIRS))", "_p.{n}")  # fmt: skip
_packing("packed_by_setattr_loop", "class KIND:\n    def __init__(self, **parts):\n        for name, part in parts.items():\n            setattr(self, name, part)\n",
         "_p = KIND(PAIRS)", "_p.{n}")  # fmt: skip
_packing("packed_in_list", "", "_p = [PLAIN]", "_p[{i}]")
_packing("packed_in_tuple", "", "_p = (PLAIN,)", "_p[{i}]")
_packing("packed_in_dict", "", "_p = {ITEMS}", "_p['{n}']")
_packing("packed_in_ordered_dict", "from collections import OrderedDict\n", "_p = OrderedDict(PAIRS)", "_p['{n}']")
_packing(
    "packed_in_mapping_proxy", "from types import MappingProxyType\n", "_p = MappingProxyType({ITEMS})", "_p['{n}']"
)
_packing("packed_in_chain_map", "from collections import ChainMap\n", "_p = ChainMap({}, {ITEMS})", "_p['{n}']")
_packing("packed_dict_of_comprehension", "", "_p = {key: value for key, value in dict(PAIRS).items()}", "_p['{n}']")
_packing(
    "packed_in_typed_dict",
    "from typing import TypedDict\n\nclass KIND(TypedDict, total=False):\nFIELDS\n",
    "_p = KIND(PAIRS)",
    "_p['{n}']",
)
_packing("packed_in_generic", "from typing import Any, Generic, TypeVar\n\nT = TypeVar('T')\n\nclass KIND(Generic[T]):\n    def __init__(self, parts: T):\n        self.parts = parts\n",
         "_p = KIND({ITEMS})", "_p.parts['{n}']")  # fmt: skip
_packing("packed_with_delegation", "class _Inner:\n    def __init__(self, parts):\n        self.__dict__.update(parts)\n\n"
         "class KIND:\n    def __init__(self, inner):\n        self._inner = inner\n\n"
         "    def __getattr__(self, name):\n        return getattr(self._inner, name)\n",
         "_p = KIND(_Inner({ITEMS}))", "_p.{n}")  # fmt: skip
_packing("packed_in_iterable", "class KIND:\n    def __init__(self, *parts):\n        self.parts = parts\n\n    def __iter__(self):\n"
         "        return iter(self.parts)\n\n    def __getitem__(self, place):\n        return self.parts[place]\n\n    def __len__(self):\n        return len(self.parts)\n",
         "_p = [*KIND(PLAIN)]", "_p[{i}]")  # fmt: skip
_packing("packed_in_generator_iterable", "class KIND:\n    def __init__(self, *parts):\n        self.parts = parts\n\n    def __iter__(self):\n"
         "        for part in self.parts:\n            yield part\n",
         "_p = list(KIND(PLAIN))", "_p[{i}]")  # fmt: skip
_packing("packed_in_weak_registry", "_REGISTRY = {}\n\ndef _keep(**parts):\n    _REGISTRY.update(parts)\n    return _REGISTRY\n",
         "_p = _keep(PAIRS)", "_p['{n}']")  # fmt: skip
_packing("packed_in_pydantic_like", "class KIND:\n    def __init__(self, **data):\n        for name in self.__annotations__:\n            self.__dict__[name] = data[name]\n\nFIELDS\n",
         "_p = KIND(PAIRS)", "_p.{n}")  # fmt: skip
_packing(
    "packed_in_attribute_dict",
    "class KIND(dict):\n    def __getattr__(self, name):\n        return self[name]\n",
    "_p = KIND(PAIRS)",
    "_p.{n}",
)
_packing("packed_by_from_dict", "from dataclasses import dataclass\n\n@dataclass\nclass KIND:\nFIELDS\n\n    @classmethod\n    def from_dict(cls, given):\n        return cls(**given)\n",
         "_p = KIND.from_dict({ITEMS})", "_p.{n}")  # fmt: skip


# --- lists ---


def _listing(name: str, head: str, template: str) -> None:
    """Lists that a comprehension or display makes, and that are bound to a name or attribute, are something else."""

    def change(module: cst.Module, random: Random) -> cst.Module | None:
        def of_statement(statement: cst.BaseStatement) -> list[cst.BaseStatement] | None:
            small = only(statement)
            if not isinstance(small, cst.Assign) or not isinstance(small.value, (cst.ListComp, cst.List)):
                return None
            if isinstance(small.value, cst.List) and len(small.value.elements) < 1:
                return None
            made = small.with_changes(value=expr(template, LIST=small.value))
            return [statement.with_changes(body=[made])]

        made = statements(module, of_statement)
        return None if made is None else with_head(made, head) if head else made

    register(name, change)


_SEQUENCE = """
class _Seq:
    def __init__(self, items):
        self._items = list(items)

    def __getitem__(self, place):
        return self._items[place]

    def __setitem__(self, place, value):
        self._items[place] = value

    def __len__(self):
        return len(self._items)

    def __iter__(self):
        return iter(self._items)

    def append(self, item):
        self._items.append(item)
"""
_listing("list_in_sequence_class", _SEQUENCE, "_Seq(LIST)")
_listing("list_in_delegating_class", """
class _Seq:
    def __init__(self, items):
        self._items = items

    def __getattr__(self, name):
        return getattr(self._items, name)

    def __getitem__(self, place):
        return self._items[place]

    def __setitem__(self, place, value):
        self._items[place] = value

    def __len__(self):
        return len(self._items)
""", "_Seq(LIST)")  # fmt: skip
_listing(
    "list_in_subclass", "class _Seq(list):\n    @property\n    def last(self):\n        return self[-1]\n", "_Seq(LIST)"
)
_listing("list_in_user_list", "from collections import UserList\n", "UserList(LIST)")
_listing("list_in_mutable_sequence", """
from collections.abc import MutableSequence

class _Seq(MutableSequence):
    def __init__(self, items):
        self._items = list(items)

    def __getitem__(self, place):
        return self._items[place]

    def __setitem__(self, place, value):
        self._items[place] = value

    def __delitem__(self, place):
        del self._items[place]

    def __len__(self):
        return len(self._items)

    def insert(self, place, value):
        self._items.insert(place, value)
""", "_Seq(LIST)")  # fmt: skip
_listing("list_of_generator", "", "list(item for item in LIST)")
_listing("list_of_star", "", "[*LIST]")
_listing("list_of_map", "", "list(map(lambda item: item, LIST))")
_listing("list_copied", "import copy\n", "copy.copy(LIST)")
_listing("list_sliced", "", "LIST[:]")
_listing("list_chained", "import itertools\n", "list(itertools.chain(LIST, ()))")
_listing("list_of_accumulated", "", "sum([[item] for item in LIST], [])")
_listing("list_by_enumerate", "", "[item for place, item in enumerate(LIST)]")
_listing("list_by_dict_values", "", "list({place: item for place, item in enumerate(LIST)}.values())")
_listing(
    "list_by_zip",
    "",
    "[item for item, _ in zip(LIST, __import__('itertools').repeat(None))]".replace(
        "__import__('itertools').repeat(None)", "iter(int, 1)"
    ),
)
_listing(
    "list_by_generator_function", "def _each(items):\n    for item in items:\n        yield item\n", "list(_each(LIST))"
)
_listing("list_by_yield_from", "def _each(items):\n    yield from items\n", "[*_each(LIST)]")
_listing(
    "list_by_recursion",
    "def _all(items):\n    return [] if not items else [items[0], *_all(items[1:])]\n",
    "_all(LIST)",
)
_listing("list_filtered", "", "list(filter(lambda item: item is not None, LIST))")
_listing("list_reduced", "import functools\n", "functools.reduce(lambda made, item: made + [item], LIST, [])")


@of_module
def comprehension_as_loop(module: cst.Module, random: Random) -> cst.Module | None:
    """A list comprehension becomes a loop that appends."""

    def of_statement(statement: cst.BaseStatement) -> list[cst.BaseStatement] | None:
        small = only(statement)
        if not isinstance(small, cst.Assign) or len(small.targets) != 1 or not isinstance(small.value, cst.ListComp):
            return None
        comp = small.value.for_in
        if comp.ifs or comp.inner_for_in is not None or "#" in code(small):
            return None
        text = f"_made = []\nfor {code(comp.target)} in {code(comp.iter)}:\n    _made.append({code(small.value.elt)})"
        new = block(text)
        last = small.with_changes(value=cst.Name("_made"))
        return [*new, statement.with_changes(body=[last])]

    return statements(module, of_statement)


@of_module
def append_as_addition(module: cst.Module, random: Random) -> cst.Module | None:
    """``x.append(y)`` becomes ``x += [y]``, as far as x is a plain name."""

    def of_statement(statement: cst.BaseStatement) -> list[cst.BaseStatement] | None:
        small = only(statement)
        call = small.value if isinstance(small, cst.Expr) else None
        if not isinstance(call, cst.Call) or not m.matches(call.func, m.Attribute(m.Name(), m.Name("append"))):
            return None
        if "deque" in module.code or "global " in module.code or "nonlocal" in module.code:
            return None
        owner = code(call.func.value)  # type: ignore[attr-defined]
        return [statement.with_changes(body=block(f"{owner}.extend([ITEM])", ITEM=call.args[0].value)[0].body)]  # type: ignore[attr-defined]

    return statements(module, of_statement)
