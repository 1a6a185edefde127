"""Numbers and flags of host code that come from somewhere else."""

from __future__ import annotations

import re
from random import Random

import libcst as cst
import libcst.matchers as m

from .syntax import Host, code, expr, expressions, register, warp_name, with_head

_MAKERS = {"zeros", "zeros_like", "ones", "ones_like", "array", "full", "empty", "empty_like", "clone", "from_numpy"}


def _sizes(name: str, head: str, template: str) -> None:
    """Whole numbers from 2 to 64 that host code writes down come from elsewhere; ``N`` is the number."""

    def change(module: cst.Module, random: Random) -> cst.Module | None:
        class Numbers(Host):
            inside = 0
            changed = False
            used: set[int] = set()

            def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
                if not super().visit_FunctionDef(node):
                    return False
                self.inside += 1
                return True

            def leave_FunctionDef(self, original: cst.FunctionDef, updated: cst.FunctionDef) -> cst.FunctionDef:
                if super().visit_FunctionDef(original):
                    self.inside -= 1
                return updated

            def visit_Subscript(self, node: cst.Subscript) -> bool:
                return False

            def visit_Parameters(self, node: cst.Parameters) -> bool:
                return False

            def visit_Decorator(self, node: cst.Decorator) -> bool:
                return False

            def visit_MatchCase(self, node: cst.MatchCase) -> bool:
                return False

            def visit_FormattedString(self, node: cst.FormattedString) -> bool:
                return False

            def leave_Integer(self, original: cst.Integer, updated: cst.Integer) -> cst.BaseExpression:
                value = int(original.value, 0)
                if not self.inside or not 2 <= value <= 64:
                    return updated
                self.changed = True
                self.used = self.used | {value}
                return expr(re.sub(r"N(?![a-z])", str(value), template.replace("None", "@")).replace("@", "None"))

        look = Numbers()
        made = module.visit(look)
        if not look.changed:
            return None
        used = sorted(look.used)
        text = head.replace("FIELDS", "\n".join(f"    n{k}: int = {k}" for k in used))
        text = text.replace("PAIRS", ", ".join(f"n{k}={k}" for k in used))
        text = text.replace("ITEMS", ", ".join(f"'n{k}': {k}" for k in used))
        text = text.replace("ASSIGN", "\n".join(f"_k{k} = {k}" for k in used))
        text = text.replace("ARGS", "\n".join(f"_parser.add_argument('--n{k}', type=int, default={k})" for k in used))
        text = text.replace(
            "FLAGS",
            "\n".join(f"_parser.add_argument('-n{k}', '--number-{k}', type=int, default={k}, help='n')" for k in used),
        )
        text = text.replace("MEMBERS", "\n".join(f"    n{k} = {k}" for k in used))
        return with_head(made, text) if text else made

    register(name, change)


_sizes("sizes_module_constant", "ASSIGN\n", "_kN")
_sizes("sizes_dict", "_CONFIG = {ITEMS}\n", "_CONFIG['nN']")
_sizes("sizes_dict_get", "_CONFIG = dict(PAIRS)\n", "_CONFIG.get('nN', N)")
_sizes(
    "sizes_dataclass",
    "from dataclasses import dataclass\n\n@dataclass\nclass _Config:\nFIELDS\n\n_config = _Config()\n",
    "_config.nN",
)
_sizes(
    "sizes_frozen_dataclass",
    "from dataclasses import dataclass\n\n@dataclass(frozen=True)\nclass _Config:\nFIELDS\n\n_config = _Config(**{ITEMS})\n",
    "_config.nN",
)
_sizes(
    "sizes_replaced",
    "import dataclasses\n\n@dataclasses.dataclass\nclass _Config:\nFIELDS\n\n_config = dataclasses.replace(_Config(), **{})\n",
    "_config.nN",
)
_sizes("sizes_namespace", "from types import SimpleNamespace\n_config = SimpleNamespace(PAIRS)\n", "_config.nN")
_sizes("sizes_class", "class _Config:\nFIELDS\n", "_Config.nN")
_sizes("sizes_namedtuple", "from typing import NamedTuple\n\nclass _Config(NamedTuple):\nFIELDS\n", "_Config().nN")
_sizes("sizes_int_enum", "import enum\n\nclass _Config(enum.IntEnum):\nMEMBERS\n", "_Config.nN")
_sizes("sizes_enum_value", "import enum\n\nclass _Config(enum.Enum):\nMEMBERS\n", "_Config.nN.value")
_sizes(
    "sizes_argparse",
    "import argparse\n_parser = argparse.ArgumentParser()\nARGS\n_args = _parser.parse_args([])\n",
    "_args.nN",
)
_sizes(
    "sizes_argparse_vars",
    "import argparse\n_parser = argparse.ArgumentParser()\nARGS\n_args = vars(_parser.parse_args([]))\n",
    "_args['nN']",
)
_sizes(
    "sizes_argparse_known",
    "import argparse\n_parser = argparse.ArgumentParser()\nFLAGS\n_args, _rest = _parser.parse_known_args([])\n",
    "_args.number_N",
)
_sizes(
    "sizes_argparse_defaults",
    "import argparse\n_parser = argparse.ArgumentParser()\n_parser.set_defaults(PAIRS)\n_args = _parser.parse_args([])\n",
    "_args.nN",
)
_sizes(
    "sizes_argparse_function",
    "import argparse\n\ndef _read(argv=()):\n    _parser = argparse.ArgumentParser()\n    for name, value in {ITEMS}.items():\n        _parser.add_argument(f'--{name}', type=int, default=value)\n    return _parser.parse_args(list(argv))\n\n_args = _read()\n",
    "_args.nN",
)
_sizes("sizes_environment", "import os\n", "int(os.environ.get('_not_set', 'N'))")
_sizes("sizes_product", "import numpy as _np\n", "int(_np.prod((N, 1)))")
_sizes("sizes_math_product", "import math\n", "math.prod([N, 1])")
_sizes("sizes_len", "", "len([None] * N)")
_sizes("sizes_len_range", "", "len(range(N))")
_sizes("sizes_len_text", "", "len('x' * N)")
_sizes("sizes_shape", "import numpy as _np\n", "_np.zeros((N, 2)).shape[0]")
_sizes("sizes_size", "import numpy as _np\n", "_np.zeros(N).size")
_sizes("sizes_shape_unpacked", "import numpy as _np\n", "(lambda rows, columns: rows)(*_np.ones((N, 3)).shape)")
_sizes("sizes_len_linspace", "import numpy as _np\n", "len(_np.linspace(0.0, 1.0, N))")
_sizes("sizes_len_arange", "import numpy as _np\n", "_np.arange(N).shape[0]")
_sizes("sizes_sum", "", "sum(1 for _ in range(N))")
_sizes("sizes_max", "", "max(1, N)")
_sizes("sizes_ceil", "import math\n", "math.ceil(N - 0.5)")
_sizes("sizes_floor_division", "", "((N * 4) // 4)")
_sizes("sizes_divmod", "", "divmod(N * 3, 3)[0]")
_sizes("sizes_round", "", "int(round(N / 1.0))")
_sizes("sizes_int_text", "", "int('N')")
_sizes("sizes_json", "import json\n", "json.loads('{\"n\": N}')['n']")
_sizes("sizes_shift", "", "((N << 1) >> 1)")
_sizes("sizes_lambda", "", "(lambda: N)()")
_sizes("sizes_walrus", "", "(_n := N)")
_sizes("sizes_warp_constant", "import warp as _wp\n", "int(_wp.constant(N))")
_sizes(
    "sizes_property",
    "class _Config:\n    def __getattr__(self, name):\n        return int(name[1:])\n\n_config = _Config()\n",
    "_config.nN",
)
_sizes("sizes_conditional", "", "(N if True else 0)")
_sizes("sizes_or", "", "(None or N)")
_sizes("sizes_index", "", "(N, 0)[0]")
_sizes("sizes_reduce", "import functools, operator\n", "functools.reduce(operator.mul, (N, 1), 1)")


def _flags(name: str, head: str, template: str) -> None:
    """``requires_grad=True`` comes from elsewhere; ``FLAG`` is the written value."""

    def change(module: cst.Module, random: Random) -> cst.Module | None:
        def of_call(call: cst.Call) -> cst.BaseExpression | None:
            if code(call.func).rpartition(".")[2] not in _MAKERS:
                return None
            args = []
            found = False
            for arg in call.args:
                if (
                    arg.keyword is not None
                    and arg.keyword.value == "requires_grad"
                    and m.matches(arg.value, m.OneOf(m.Name("True"), m.Name("False")))
                ):
                    found = True
                    arg = arg.with_changes(value=expr(template, FLAG=arg.value))
                args.append(arg)
            return call.with_changes(args=args) if found else None

        made = expressions(module, of_call)
        return None if made is None else with_head(made, head) if head else made

    register(name, change)


_flags("flag_bool", "", "bool(FLAG)")
_flags("flag_not_not", "", "not (not FLAG)")
_flags("flag_int", "", "bool(int(FLAG))")
_flags("flag_dict", "_OPTIONS = {True: True, False: False}\n", "_OPTIONS[FLAG]")
_flags("flag_class", "class _Options:\n    grads = {True: True, False: False}\n", "_Options.grads[FLAG]")
_flags("flag_function", "def _wants(flag):\n    return flag\n", "_wants(FLAG)")
_flags(
    "flag_default",
    "def _wants(flag, default=True):\n    if flag is None:\n        return default\n    return flag\n",
    "_wants(FLAG)",
)
_flags("flag_compare", "", "(FLAG == True)")
_flags("flag_and", "", "(FLAG and True)")
_flags("flag_in", "", "(FLAG in (True,))")
_flags("flag_any", "", "any([FLAG])")
_flags("flag_all", "", "all([FLAG, True])")
_flags("flag_conditional", "", "(True if FLAG else False)")
_flags("flag_lambda", "", "(lambda: FLAG)()")
_flags("flag_text", "", "(str(FLAG) == 'True')")
_flags("flag_isinstance", "", "(isinstance(1, int) and FLAG)")


def _options(name: str, head: str, template: str) -> None:
    """The keywords of allocations come out of a dict; ``ITEMS`` and ``PAIRS`` are the keywords."""

    def change(module: cst.Module, random: Random) -> cst.Module | None:
        def of_call(call: cst.Call) -> cst.BaseExpression | None:
            function = code(call.func)
            warp = warp_name(module)
            if warp is None or not function.startswith(f"{warp}.") or function.rpartition(".")[2] not in _MAKERS:
                return None
            words = [arg for arg in call.args if arg.keyword is not None]
            if not words or any(arg.star for arg in call.args) or "#" in code(call):
                return None
            pairs = ", ".join(f"{a.keyword.value}={code(a.value)}" for a in words)  # type: ignore[union-attr]
            items = ", ".join(f"{a.keyword.value!r}: {code(a.value)}" for a in words)  # type: ignore[union-attr]
            plain = ", ".join(code(a.value) for a in call.args if a.keyword is None)
            text = template.replace("PAIRS", pairs).replace("ITEMS", items).replace("PLAIN", plain)
            text = text.replace("FUNCTION", function)
            return expr(text.replace("(, ", "("))

        made = expressions(module, of_call)
        return None if made is None else with_head(made, head) if head else made

    register(name, change)


_options("allocation_options_dict", "", "FUNCTION(PLAIN, **{ITEMS})")
_options("allocation_options_call", "", "FUNCTION(PLAIN, **dict(PAIRS))")
_options("allocation_options_merged", "", "FUNCTION(PLAIN, **({} | {ITEMS}))")
_options("allocation_options_star", "", "FUNCTION(*(PLAIN,), **{**{}, **{ITEMS}})")
_options("allocation_partial", "import functools\n", "functools.partial(FUNCTION, PAIRS)(PLAIN)")
_options(
    "allocation_helper",
    "def _new(make, *args, **kwargs):\n    return make(*args, **kwargs)  # moved\n",
    "_new(FUNCTION, PLAIN, PAIRS)",
)
_options("allocation_lambda", "", "(lambda make: make(PLAIN, PAIRS))(FUNCTION)")
_options("allocation_getattr", "import warp as _wp\n", "getattr(_wp, 'FUNCTION'.rpartition('.')[2])(PLAIN, PAIRS)")
_options("allocation_factory_class", "class _Factory:\n    def __init__(self, **options):\n        self.options = options\n\n    def __call__(self, make, *args):\n        return make(*args, **self.options)  # moved\n",
         "_Factory(PAIRS)(FUNCTION, PLAIN)")  # fmt: skip
_options(
    "allocation_filtered_options",
    "",
    "FUNCTION(PLAIN, **{key: value for key, value in dict(PAIRS).items() if value is not None})",
)
_options("allocation_popped_options", "def _new(make, *args, options):\n    options = dict(options)\n    flag = options.pop('requires_grad', False)\n    return make(*args, requires_grad=flag, **options)  # moved\n",
         "_new(FUNCTION, PLAIN, options={ITEMS})")  # fmt: skip
_options("allocation_flag_later", "def _new(make, *args, options):\n    options = dict(options)\n    flag = options.pop('requires_grad', None)\n    made = make(*args, **options)  # moved\n    if flag:\n        made.requires_grad = flag\n    return made\n",
         "_new(FUNCTION, PLAIN, options={ITEMS})")  # fmt: skip
_options("allocation_from_method", "class _Pool:\n    def __init__(self):\n        self.made = []\n\n    def get(self, make, *args, **options):\n        self.made.append(make(*args, **options))  # moved\n        return self.made[-1]\n\n_pool = _Pool()\n",
         "_pool.get(FUNCTION, PLAIN, PAIRS)")  # fmt: skip
