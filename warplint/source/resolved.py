"""What names mean: things outside the project, modules, definitions, values. And what is never looked for in it."""

from __future__ import annotations

import re
import sys
from typing import Final, Union

from warplint.ir import syntax as ir
from warplint.records import dataclass
from warplint.source.modules import Definition, Module, Scope


@dataclass(frozen=True, slots=True)
class External:
    """Something outside the project, by its full dotted name (``warp.where``, ``numpy.zeros``, ``range``)."""

    name: str


@dataclass(frozen=True, slots=True)
class ModuleRef:
    """A module of the project."""

    module: Module


@dataclass(frozen=True, slots=True)
class Value:
    """A name that is assigned exactly once: the expression, and where it stands."""

    module: Module
    expr: ir.Expr
    scope: Scope


@dataclass(frozen=True, slots=True)
class ParameterRef:
    """A parameter of a function around the place."""

    function: ir.FunctionDef
    parameter: ir.Parameter


class Unknown:
    def __repr__(self) -> str:
        return "UNKNOWN"


#: What cannot be known; never a finding.
UNKNOWN: Final = Unknown()

Resolved = Union[External, ModuleRef, Definition, Value, ParameterRef, Unknown]

#: Packages that are never looked for in the project, even where it contains them: their names are the vocabulary.
ALWAYS_EXTERNAL = frozenset(sys.stdlib_module_names) | {"warp", "numpy", "torch", "jax"}

# Warp defines its public names in inner modules, which older code imports directly.
_WARP_INNER = re.compile(r"^warp\.(?:_src(?:\.\w+)*|types|context|codegen|tape|constants|lang)\.(?=\w+(?:\.dtype)?$)")


def canonical(name: str) -> str:
    """The public name of an external thing: ``warp.types.float32`` is ``warp.float32``."""
    return _WARP_INNER.sub("warp.", name)
