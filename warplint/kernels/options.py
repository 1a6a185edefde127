"""Which definitions are compiled with an adjoint, and with which options.

Decorators, module options, global settings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from warplint.ir import syntax as ir
from warplint.kernels.constants import Constants
from warplint.records import dataclass
from warplint.source.project import UNKNOWN, Definition, Module, Project, Scope, Value, blocks
from warplint.source.regions import Region

Role = Literal["kernel", "func", "func_grad", "func_replay", "func_native"]

#: Where an option is set: the narrower one counts.
Level = Literal["kernel", "module", "config", "default"]

_ROLES: dict[str, Role] = {
    "warp.kernel": "kernel",
    "warp.func": "func",
    "warp.func_grad": "func_grad",
    "warp.func_replay": "func_replay",
    "warp.func_native": "func_native",
}

#: The options that matter here, with Warp's own defaults.
_DEFAULTS: dict[str, object] = {
    "enable_backward": True,
    "max_unroll": 16,
    "enable_vector_component_overwrites": False,
}


_ALIASES = re.compile(
    r"\b(?:kernel|func)\s+as\s+(?P<imported>\w+)|^\s*(?P<assigned>\w+)\s*=\s*[\w.]*\b(?:kernel|func)\s*$", re.MULTILINE
)


def decorated(module: Module) -> re.Pattern[str]:
    """Finds the regions of a module that can hold a kernel or func: by the decorators' names, aliases included."""
    kept, key = module.project.kept, (decorated, module)
    found = kept.get(key)
    if not isinstance(found, re.Pattern):
        found = kept[key] = _decorated(module)
    return found


def _decorated(module: Module) -> re.Pattern[str]:
    names = {"kernel", "func", "func_grad", "func_replay", "func_native"}
    for region in module.regions:
        if region.kind in ("import", "assign"):
            for match in _ALIASES.finditer(module.text, region.start, region.end):
                names.add(match["imported"] or match["assigned"])
    return re.compile(rf"@\s*(?:\w+\s*\.\s*)*(?:{'|'.join(sorted(names))})\b")


def decorated_regions(module: Module) -> Iterator[Region]:
    """The regions of a module that can hold a kernel or func, in order."""
    yield from _decorated_regions(module).values()


def is_decorated(module: Module, region: Region) -> bool:
    """Whether a region can hold a kernel or func."""
    return region.line in _decorated_regions(module)


def _decorated_regions(module: Module) -> dict[int, Region]:
    known = module.kept.get(decorated_regions)
    if isinstance(known, dict):
        return known
    found: dict[int, Region] = {}
    if "@" in module.text:
        for region in module.regions_matching(decorated(module)):
            if region.kind not in ("import", "assign"):
                found[region.line] = region
    module.kept[decorated_regions] = found
    return found


def decorated_definitions(module: Module) -> Iterator[Definition]:
    """Every function in the regions of a module that can hold a kernel or func."""
    for region in decorated_regions(module):
        yield from module.within(region)


_OVERWRITES = "enable_vector_component_overwrites"
_SET_LATER = re.compile(rf"\bconfig\.{_OVERWRITES}\s*=")


@dataclass(frozen=True, slots=True)
class Options:
    """How one definition is compiled. None: not known. ``backward``: with an adjoint.

    ``level`` is what says so: ``kernel``, ``module``, ``config`` (the setting of the process), or ``default``.
    """

    backward: bool | None
    max_unroll: int | None
    component_overwrites: bool | None
    level: Level = "default"


#: So many modules are walked through by their imports, whatever stands in them.
_FEW = 60


def _sets(module: Module) -> bool:
    """Whether the text of a module says something about global settings."""
    return "config." in module.text and any(f"config.{name}" in module.text for name in _DEFAULTS)


class Decorations:
    """Reads decorators and module options."""

    def __init__(self, project: Project, constants: Constants) -> None:
        self._project = project
        self._constants = constants
        self._modules: dict[Module, dict[str, object]] = {}
        # The modules that lead to one which changes global settings, of how many; None: not looked for yet.
        self._leading: tuple[int, set[Module]] | None = None
        self._edges: dict[Module, tuple[Module, ...]] = {}
        self._levels: dict[Module, Level] = {}
        # What a file sets for the whole process, and for Warp modules by their names.
        self._configured: dict[Module, dict[str, object]] = {}
        self._named: dict[Module, dict[str, dict[str, object]]] = {}
        self._served: dict[tuple[Module, str], tuple[tuple[Definition, str], ...]] = {}

    def role(self, definition: Definition) -> Role | None:
        """What a function is to Warp, None if it is plain Python."""
        if not isinstance(definition.node, ir.FunctionDef):
            return None
        for decorator in definition.node.decorators:
            expr = decorator.func if isinstance(decorator, ir.Call) else decorator
            name = self._project.external(definition.module, expr, definition.scope)
            if name in _ROLES:
                return _ROLES[name]
        return None

    def backward_by_default(self, module: Module) -> bool | None:
        """Whether kernels of a module that say nothing themselves get an adjoint; None: not known."""
        value = self._module_options(module)["enable_backward"]
        return None if value is UNKNOWN else bool(value)

    def options(self, definition: Definition) -> Options:
        """The options of a kernel or func: decorator before module before global setting.

        A kernel that names a Warp module of its own (``module="unique"``, ``module="name"``) has the options of that
        one, and none of those that are set for the module that it stands in.
        """
        values = dict(self._module_options(definition.module))
        level = self._levels[definition.module]
        assert isinstance(definition.node, ir.FunctionDef)
        for decorator in definition.node.decorators:
            if isinstance(decorator, ir.Call):
                own = decorator.keyword("module")
                if own is not None and not (isinstance(own, ir.Constant) and own.value is None):
                    values, level = self._options_of(definition.module, own)
                made = self._set_beside(definition, own)
                values.update(made)
                level = "module" if "enable_backward" in made else level
                given = self._decorator_options(definition, decorator)
                values.update(given)
                level = "kernel" if "enable_backward" in given else level
        backward = values["enable_backward"]
        unroll = values["max_unroll"]
        overwrites = values["enable_vector_component_overwrites"]
        return Options(
            None if backward is UNKNOWN else bool(backward),
            unroll if isinstance(unroll, int) else None,
            None if overwrites is UNKNOWN else bool(overwrites),
            level,
        )

    def _options_of(self, module: Module, own: ir.Expr) -> tuple[dict[str, object], Level]:
        """The options of the Warp module that a decorator names, as far as this file sets them."""
        self._module_options(module)
        values: dict[str, object] = {**_DEFAULTS, **self._configured[module]}
        level: Level = "config" if "enable_backward" in self._configured[module] else "default"
        name = own.value if isinstance(own, ir.Constant) and isinstance(own.value, str) else None
        if name is None and self._named[module]:  # it may be one of those
            return {**values, "enable_backward": UNKNOWN, "max_unroll": UNKNOWN}, level
        given = self._named[module].get(name or "", {}) if name != "unique" else {}
        return {**values, **given}, "module" if "enable_backward" in given else level

    def _set_beside(self, definition: Definition, own: ir.Expr | None) -> dict[str, object]:
        """What a factory sets for the Warp module of a kernel that it makes, at any place of its own body.

        ``module.options.update({...})`` or ``wp.set_module_options({...}, module=module)`` for a kernel made with
        ``module=module``, and ``wp.set_module_options({...}, module=kernel.module)``.
        """
        holder = definition.scope[-1] if definition.scope else None
        if own is None or not isinstance(holder, ir.FunctionDef):
            return {}
        module, scope = definition.module, definition.scope
        found: dict[str, object] = {}
        for statement in holder.body:
            call = statement.value if isinstance(statement, ir.ExprStmt) else None
            if not isinstance(call, ir.Call):
                continue
            if isinstance(call.func, ir.Attribute) and call.func.attr == "update" and len(call.args) == 1:
                owner = call.func.value
                target = owner.value if isinstance(owner, ir.Attribute) and owner.attr == "options" else None
                given: ir.Expr | None = call.args[0]
            elif self._project.external(module, call.func, scope) == "warp.set_module_options":
                target = call.keyword("module") or (call.args[1] if len(call.args) > 1 else None)
                given = call.keyword("options") or (call.args[0] if call.args else None)
            else:
                continue
            if isinstance(target, ir.Attribute) and target.attr == "module":
                same = isinstance(target.value, ir.Name) and target.value.id == definition.node.name
            else:
                same = isinstance(target, ir.Name) and isinstance(own, ir.Name) and target.id == own.id
            if same and given is not None:
                found.update(self._mapping(module, given, scope))
        found.pop(_OVERWRITES, None)
        return found

    def explicit(self, definition: Definition) -> bool:
        """Whether a kernel's own decorator switches its adjoint on."""
        assert isinstance(definition.node, ir.FunctionDef)
        return any(
            isinstance(decorator, ir.Call)
            and self._decorator_options(definition, decorator).get("enable_backward") is True
            for decorator in definition.node.decorators
        )

    def _decorator_options(self, definition: Definition, decorator: ir.Call) -> dict[str, object]:
        values: dict[str, object] = {}
        module, scope = definition.module, definition.scope
        options = decorator.keyword("module_options")
        if options is not None:
            values.update(self._mapping(module, options, scope))
        direct = decorator.keyword("enable_backward")
        if direct is not None:
            value = self._constants.evaluate(module, direct, scope)
            if value is not None:
                values["enable_backward"] = value
        if any(keyword.name is None for keyword in decorator.keywords):
            values = dict.fromkeys(_DEFAULTS, UNKNOWN)
        values.pop(_OVERWRITES, None)
        return values

    def _module_options(self, module: Module) -> dict[str, object]:
        known = self._modules.get(module)
        if known is None:
            options: dict[str, object] = {}
            configured: dict[str, object] = {}
            named = self._named[module] = {}
            if "set_module_options" in module.text or "config." in module.text or ".options" in module.text:
                for region in module.regions:
                    if region.kind in ("def", "class", "import"):
                        continue
                    text = module.region_text(region)
                    if (
                        "set_module_options" in text
                        or ".options" in text
                        or any(f"config.{name}" in text for name in _DEFAULTS)
                    ):
                        for statement in module.read(region):
                            self._collect(module, statement, configured, options, named)
            # The builder takes this one from the global setting alone (Module.resolve_options in warp/_src/context.py).
            options.pop(_OVERWRITES, None)
            known = {**_DEFAULTS, **self._imported(module), **configured, **options}
            if _OVERWRITES not in configured and _OVERWRITES in module.text and _SET_LATER.search(module.text):
                # Something sets it at run time; Warp looks at it when the module is built.
                known[_OVERWRITES] = UNKNOWN
            self._modules[module] = known
            self._configured[module] = configured
            level: Level = "config" if "enable_backward" in configured else "default"
            self._levels[module] = "module" if "enable_backward" in options else level
        return known

    def _imported(self, module: Module) -> dict[str, object]:
        """The global settings that are made by what a module imports, so before its own kernels are defined."""
        modules = self._project.modules()
        if len(modules) > _FEW:  # all are loaded, and few of them lead to one that sets anything
            if self._leading is None or self._leading[0] != len(modules):
                self._leading = (len(modules), self._lead_to_setters(modules))
            if module not in self._leading[1]:
                return {}
        found: dict[str, object] = {}
        seen, left = {module}, [module]
        while left:
            for other in self._imports(left.pop()):
                if other in seen:
                    continue
                seen.add(other)
                left.append(other)
                if _sets(other):
                    for region in other.regions:
                        if region.kind not in ("def", "class", "import"):
                            for statement in other.read(region):
                                self._collect(other, statement, found, {}, {})
        return found

    def _lead_to_setters(self, modules: Sequence[Module]) -> set[Module]:
        """The modules that import one which changes a global setting, directly or through others.

        Who imports a module names it, or is in the package that it is; only the imports of those are read.
        """
        left = [module for module in modules if _sets(module)]
        found: set[Module] = set()
        imports = {
            module: "".join(module.region_text(region) for region in module.regions if region.kind == "import")
            for module in modules
        }
        while left:
            target = left.pop()
            name = target.name.rpartition(".")[2] or target.path.stem
            inside = target.path.parent if target.is_package else None
            for other in modules:
                if other in found or not (
                    name in imports[other] or (inside is not None and inside in other.path.parents)
                ):
                    continue
                if target in self._imports(other):
                    found.add(other)
                    left.append(other)
        return found

    def _imports(self, module: Module) -> tuple[Module, ...]:
        if module not in self._edges:
            self._edges[module] = tuple(dict.fromkeys(self._imports_of(module)))
        return self._edges[module]

    def _imports_of(self, module: Module) -> Iterator[Module]:
        """The modules of the project that the import statements at the top level of a module name."""
        for region in module.regions:
            if region.kind != "import":
                continue
            for statement in module.read(region):
                if isinstance(statement, ir.ImportFrom):
                    source = self._project.absolute(statement, module)
                    names = [f"{source}.{name}" for name, _ in statement.names] if source else []
                    sought = [(name, statement.level > 0) for name in (source, *names) if name]
                elif isinstance(statement, ir.Import):
                    sought = [(name, False) for name, _ in statement.names]
                else:
                    continue
                for name, relative in sought:
                    found = self._project.find(name, module, relative)
                    if found is not None:
                        yield found

    def _collect(
        self,
        module: Module,
        statement: ir.Stmt,
        configured: dict[str, object],
        options: dict[str, object],
        named: dict[str, dict[str, object]],
    ) -> None:
        if isinstance(statement, (ir.FunctionDef, ir.ClassDef)):
            return
        if isinstance(statement, ir.ExprStmt) and isinstance(statement.value, ir.Call):
            call = statement.value
            if self._project.external(module, call.func) == "warp.set_module_options":
                given = call.keyword("options") or (call.args[0] if call.args else None)
                if given is not None and call.keyword("module") is None and len(call.args) < 2:
                    options.update(self._mapping(module, given, ()))
        elif isinstance(statement, ir.Assign) and len(statement.targets) == 1:
            target = self._project.external(module, statement.targets[0]) or ""
            name = target.removeprefix("warp.config.")
            if target.startswith("warp.config.") and name in _DEFAULTS:
                configured[name] = self._constants.evaluate(module, statement.value, ())
            self._collect_item(module, statement, options, named)
        for block in blocks(statement):
            for inner in block:
                self._collect(module, inner, configured, options, named)

    def _collect_item(
        self, module: Module, statement: ir.Assign, options: dict[str, object], named: dict[str, dict[str, object]]
    ) -> None:
        """``wp.get_module(name).options[key] = value``."""
        target = statement.targets[0]
        if not (isinstance(target, ir.Subscript) and isinstance(target.index, ir.Constant)):
            return
        owner = target.value
        if not (isinstance(owner, ir.Attribute) and owner.attr == "options" and isinstance(owner.value, ir.Call)):
            return
        call = owner.value
        key = target.index.value
        if (
            self._project.external(module, call.func) != "warp.get_module"
            or len(call.args) != 1
            or key not in _DEFAULTS
        ):
            return
        value = self._constants.evaluate(module, statement.value, ())
        whose = call.args[0]
        if isinstance(whose, ir.Name) and whose.id == "__name__":
            options[str(key)] = value
        elif isinstance(whose, ir.Constant) and isinstance(whose.value, str):
            named.setdefault(whose.value, {})[str(key)] = value

    def _mapping(self, module: Module, expr: ir.Expr, scope: Scope) -> Mapping[str, object]:
        """The options that a dict display gives; every option is unknown where the dict is not a display."""
        if isinstance(expr, ir.Name):
            found = self._project.resolve(module, expr, scope)
            if isinstance(found, Value) and isinstance(found.expr, ir.Dict):
                expr, module, scope = found.expr, found.module, found.scope
        if isinstance(expr, ir.Constant) and expr.value is None:
            return {}
        if not isinstance(expr, ir.Dict):
            return dict.fromkeys(_DEFAULTS, UNKNOWN)
        values: dict[str, object] = {}
        for key, value in zip(expr.keys, expr.values, strict=True):
            if key is None:
                values.update(self._mapping(module, value, scope))
            elif isinstance(key, ir.Constant) and key.value in _DEFAULTS:
                values[str(key.value)] = self._constants.evaluate(module, value, scope)
        return values

    def custom_adjoint(self, definition: Definition) -> Definition | None:
        """The ``func_grad`` that replaces the adjoint of a func, None without one."""
        return self._companion(definition, "func_grad")

    def custom_replay(self, definition: Definition) -> Definition | None:
        """The ``func_replay`` of a func."""
        return self._companion(definition, "func_replay")

    def _companion(self, definition: Definition, role: str) -> Definition | None:
        module = definition.module
        for candidate, target in self.companions(module, role):
            if target == definition.node.name and candidate.scope == definition.scope:
                return candidate
        return None

    def companions(self, module: Module, role: str) -> tuple[tuple[Definition, str], ...]:
        """The functions of a module with the given role, and the name of the func that each serves."""
        known = self._served.get((module, role))
        if known is None:
            found = self._companions(module, role) if role in module.text else ()
            known = self._served[module, role] = tuple(found)
        return known

    def _companions(self, module: Module, role: str) -> Iterator[tuple[Definition, str]]:
        for candidate in decorated_definitions(module):
            assert isinstance(candidate.node, ir.FunctionDef)
            for decorator in candidate.node.decorators:
                if isinstance(decorator, ir.Call) and decorator.args and isinstance(decorator.args[0], ir.Name):
                    name = self._project.external(module, decorator.func, candidate.scope)
                    if name == f"warp.{role}":
                        yield candidate, decorator.args[0].id
