"""What a slice imports from the project where the user allows that, instead of refusing it."""

from __future__ import annotations

from pathlib import Path

from warplint.ir import syntax as ir
from warplint.source.project import Definition, Module, Value


class Imports:
    """Writes import statements, and remembers where Python has to look for the modules.

    Importing runs all of a module, and of what it imports in turn: that is what the user allows with it.
    """

    def __init__(self) -> None:
        self._folders: dict[Path, None] = {}

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders that the imported modules and packages are in; empty where nothing is imported."""
        return tuple(map(str, self._folders))

    def definition(self, definition: Definition, alias: str) -> str | None:
        """A statement that binds ``alias`` to a definition; None for one that only a function call makes."""
        if any(isinstance(outer, ir.FunctionDef) for outer in definition.scope):
            return None
        first, *rest = definition.qualname.split(".")
        self.need(definition.module)
        statement = self._member(definition.module, first, alias)
        return f"{statement}\n{alias} = {'.'.join([alias, *rest])}" if rest else statement

    def value(self, value: Value, alias: str) -> str | None:
        """A statement that binds ``alias`` to what a module-level name stands for; None for other values."""
        if value.scope:
            return None
        for name in value.module.names():
            for binder in value.module.bindings(name):
                if isinstance(binder, (ir.Assign, ir.AnnAssign)) and binder.value is value.expr:
                    return self._member(value.module, name, alias)
        return None

    def need(self, module: Module) -> None:
        """The module is imported: note the folder that it, or its outermost package, is in."""
        folder = module.path.parent
        for _ in range(module.name.count(".") + (1 if module.is_package else 0)):
            folder = folder.parent
        self._folders[folder] = None

    def _member(self, module: Module, name: str, alias: str) -> str:
        return f"from {module.name} import {name} as {alias}"
