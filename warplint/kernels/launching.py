"""Launches, and calls of Warp's checkers, against what the kernel that they name is declared to take.

This reads host code as text, not as a run: a launch counts where its arguments are written out, or are locals that one
assignment makes. What is certain is enough to say that ``wp.launch`` refuses it (``pack_arg`` and ``launch`` of
``warp/_src/context.py``), or runs other indices than the kernel asks for.
"""

from __future__ import annotations

import bisect
import json
import re
from collections.abc import Iterator, Sequence
from functools import partial

from warplint.ir import syntax as ir
from warplint.ir.facts import Fact, Label
from warplint.ir.programs import DefinitionRef, KernelProgram
from warplint.ir.spans import Location, Span
from warplint.kernels.knowledge import Knowledge
from warplint.kernels.refusals import differ, spelled
from warplint.kernels.types import Type, array, literal
from warplint.records import dataclass
from warplint.source.bindings import bound_names
from warplint.source.project import Definition, Module, Scope
from warplint.source.regions import Region

#: Functions that make an array of a shape; ``array`` takes contents.
_SHAPED = frozenset({"zeros", "ones", "empty", "full"})
_CHECKERS = frozenset({"jacobian", "gradcheck"})


@dataclass(frozen=True, slots=True)
class Host:
    """A place in host code: its module, the definitions around it, and whether it runs more than once."""

    module: Module
    scope: Scope
    looped: bool = False


@dataclass(frozen=True, slots=True)
class Given:
    """What is passed: its type (``kind`` unknown where it is not certain), and the device that it was made on."""

    type: Type
    device: str = ""


_UNKNOWN = Given(Type("unknown"))


#: The kinds of the facts that are made here.
KINDS = frozenset({"launch-contract", "option-conflict"})

#: Everything that is looked for, by its last name.
_SOUGHT = frozenset({"launch", *_CHECKERS})
_CALLED = re.compile(r"\b(?:launch|jacobian|gradcheck)\s*\(|@\s*(?:\w+\s*\.\s*)*kernel\b")
_TID = re.compile(r"\btid\b")
#: Where it is given another name, by an import or by an assignment.
_SPOKEN_OF = re.compile(r"\b(?:launch|jacobian|gradcheck)\b(?!\s*\()")
_RENAMED = re.compile(r"\b(\w+)\s+as\s+(\w+)|^[ \t]*(\w+)\s*=\s*(?:\w+\s*\.\s*)*(\w+)[ \t]*(?:#|$)", re.MULTILINE)


def _renamed(text: str) -> tuple[tuple[str, str], ...]:
    """The names that imports and plain assignments of a text make, and the last name of what they stand for."""
    return tuple((found[2] or found[3], found[1] or found[4]) for found in _RENAMED.finditer(text))


def _is_spoken_of(text: str) -> bool:
    return _SPOKEN_OF.search(text) is not None


def _aliases(module: Module) -> frozenset[str]:
    """The names that a module gives to what is looked for."""
    if not any(module.of_text(region, _is_spoken_of) for region in module.regions):
        return frozenset()
    pairs = [pair for region in module.regions for pair in module.of_text(region, _renamed)]
    found, before = set(_SOUGHT), 0
    while len(found) > before:
        before = len(found)
        found.update(name for name, meant in pairs if meant in found)
    return frozenset(found - _SOUGHT)


def _offsets(text: str, pattern: re.Pattern[str]) -> tuple[int, ...]:
    """How many lines below the first one each match of a pattern starts."""
    found, line, counted = [], 0, 0
    for match in pattern.finditer(text):
        line += text.count("\n", counted, match.start())
        counted = match.start()
        found.append(line)
    return tuple(found)


def _called(text: str) -> tuple[int, ...]:
    return _offsets(text, _CALLED)


def _asking(text: str) -> tuple[int, ...]:
    return _offsets(text, _TID)


def _is_on(node: ir.Node, lines: Sequence[int]) -> bool:
    """Whether a node, with its decorators, reaches over one of ``lines``, which are in order."""
    first = node.span.line
    if isinstance(node, (ir.FunctionDef, ir.ClassDef)) and node.decorators:
        first = min(first, node.decorators[0].span.line)
    nearest = bisect.bisect_left(lines, first)
    return nearest < len(lines) and lines[nearest] <= node.span.end_line


def _on(node: ir.Node, lines: Sequence[int]) -> Iterator[ir.Node]:
    """A node and what is in it, as far as it stands on ``lines``."""
    yield node
    for child in ir.children(node):
        if _is_on(child, lines):
            yield from _on(child, lines)


class Launching:
    """Makes the facts about the launches of a project's modules."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge
        self._project = knowledge.project
        self._renaming: tuple[Module | None, frozenset[str]] = None, frozenset()
        self._wanted: dict[tuple[Module, str, int], tuple[list[Type], frozenset[int]]] = {}

    def regions(self, module: Module) -> Iterator[Region]:
        """The regions of a module that can hold a fact, in order."""
        names = self._aliases(module)
        for region in module.regions:
            if region.kind != "import" and (module.of_text(region, _called) or (names and self._lines(module, region))):
                yield region

    def facts(self, module: Module, only: Region | None = None) -> Iterator[Fact]:
        """All of them, or those in one region."""
        for region in self.regions(module) if only is None else (only,):
            lines = self._lines(module, region)
            for statement in module.read(region):
                if _is_on(statement, lines):
                    yield from self._in(statement, Host(module, ()), lines)

    def _lines(self, module: Module, region: Region) -> list[int]:
        """The lines of a region that can hold a fact."""
        offsets = module.of_text(region, _called)
        names = self._aliases(module)
        if names:
            others = re.compile(rf"\b(?:{'|'.join(sorted(names))})\s*\(")
            offsets = (*offsets, *_offsets(module.region_text(region), others))
        return sorted({region.line + offset for offset in offsets})

    def _aliases(self, module: Module) -> frozenset[str]:
        if self._renaming[0] is not module:
            self._renaming = module, _aliases(module)
        return self._renaming[1]

    def _in(self, node: ir.Node, host: Host, lines: Sequence[int]) -> Iterator[Fact]:
        """The facts about a node and what is in it, as far as it stands on the ``lines`` that can hold any."""
        if isinstance(node, ir.FunctionDef):
            yield from self._definition(node, host)
        if isinstance(node, ir.Call):
            name = self._named(node.func, host)
            if name == "warp.launch":
                yield from self._launch(node, host)
            elif name.startswith("warp.autograd.") and name.rpartition(".")[2] in _CHECKERS:
                yield from self._checker(node, name.rpartition(".")[2], host)
        if isinstance(node, (ir.FunctionDef, ir.ClassDef)):
            host = Host(host.module, (*host.scope, node))
        elif isinstance(node, (ir.For, ir.While)) and not host.looped:
            host = Host(host.module, host.scope, looped=True)
        for child in ir.children(node):
            if _is_on(child, lines):
                yield from self._in(child, host, lines)

    def _named(self, func: ir.Expr, host: Host) -> str:
        """What is called, where it can be a launch or a check: nearly all calls are of something else."""
        if isinstance(func, ir.Attribute):
            sought = func.attr in _SOUGHT
        else:
            sought = isinstance(func, ir.Name) and (func.id in _SOUGHT or func.id in self._aliases(host.module))
        return (self._project.external(host.module, func, host.scope) or "") if sought else ""

    # --- definitions ---

    def _definition(self, node: ir.FunctionDef, host: Host) -> Iterator[Fact]:
        definition = Definition(host.module, node, host.scope)
        decorators = [item for item in node.decorators if isinstance(item, ir.Call)]
        plain = [item.func if isinstance(item, ir.Call) else item for item in node.decorators]
        if not any(self._project.external(host.module, item, host.scope) == "warp.kernel" for item in plain):
            return
        if host.looped:
            said = "it is made, hashed and looked up in every round, and compiled for each other value it closes over"
            yield self._about(node.name_span, host, definition, "kernel-in-loop", said, None)
        for decorator in decorators:
            reason = self._conflict(decorator, host)
            if reason is not None:
                question: dict[str, object] = {"ask": "options", "options": ", ".join(_written(decorator))}
                attributes: dict[str, object] = {"what": "options", "reason": reason}
                yield self._fact("option-conflict", host, decorator.span, definition, attributes, question)

    def _conflict(self, decorator: ir.Call, host: Host) -> str | None:
        if any(keyword.name is None for keyword in decorator.keywords):
            return None
        value = {str(keyword.name): keyword.value for keyword in decorator.keywords}
        backward = value.get("enable_backward")
        abi = value.get("entry_point_abi")
        is_external = isinstance(abi, ir.Constant) and abi.value == "external_constant_params"
        is_on = backward is None or (isinstance(backward, ir.Constant) and backward.value is not False)
        if is_external and is_on:
            return '`entry_point_abi="external_constant_params"` has no adjoint: it needs `enable_backward=False`'
        module = value.get("module")
        unique = isinstance(module, ir.Constant) and module.value == "unique"
        options = value.get("module_options")
        if isinstance(options, ir.Dict) and (module is None or (isinstance(module, ir.Constant) and not unique)):
            return '`module_options` go with `module="unique"`'
        if "cuda_max_registers" in value and "launch_bounds" in value:
            return "`cuda_max_registers` and `launch_bounds` exclude each other"
        return None

    # --- checkers ---

    def _checker(self, node: ir.Call, checker: str, host: Host) -> Iterator[Fact]:
        kernel = self._kernel(node.keyword("function") or (node.args[0] if node.args else None), host)
        if kernel is None or self._knowledge.decorations.options(kernel).backward is not False:
            return
        reason = f"`{kernel.node.name}` has no adjoint, which `{checker}` needs; `jacobian_fd` does without"
        question: dict[str, object] = {"ask": "jacobian", "checker": checker, "kernel": kernel.node.name}
        attributes: dict[str, object] = {"what": "no-adjoint", "reason": reason}
        yield self._fact("option-conflict", host, node.span, kernel, attributes, question)

    # --- launches ---

    def _kernel(self, expr: ir.Expr | None, host: Host) -> Definition | None:
        found = self._project.resolve(host.module, expr, host.scope) if expr is not None else None
        if isinstance(found, Definition) and self._knowledge.decorations.role(found) == "kernel":
            return found
        return None

    def _launch(self, node: ir.Call, host: Host) -> Iterator[Fact]:
        if any(isinstance(argument, ir.Starred) for argument in node.args):
            return
        if any(keyword.name is None for keyword in node.keywords):
            return
        given = dict(zip(("kernel", "dim", "inputs", "outputs"), node.args, strict=False))
        given.update({str(keyword.name): keyword.value for keyword in node.keywords})
        kernel = self._kernel(given.get("kernel"), host)
        if kernel is None or not isinstance(kernel.node, ir.FunctionDef):
            return
        parameters = kernel.node.parameters
        if any(parameter.default is not None for parameter in parameters):
            return
        dim = self._dim(given.get("dim"), host)
        values = self._values(given)
        if values is not None:
            yield from self._arguments(node, host, kernel, values, dim, _text(given.get("device")))
        if dim is not None:
            yield from self._indices(node, host, kernel, dim)

    def _values(self, given: dict[str, ir.Expr]) -> list[ir.Expr] | None:
        found: list[ir.Expr] = []
        for key in ("inputs", "outputs"):
            display = given.get(key)
            if display is None:
                continue
            if not isinstance(display, (ir.List, ir.Tuple)):
                return None
            if any(isinstance(element, ir.Starred) for element in display.elements):
                return None
            found.extend(display.elements)
        return found

    def _arguments(
        self,
        node: ir.Call,
        host: Host,
        kernel: Definition,
        values: list[ir.Expr],
        dim: list[int | None] | None,
        device: str,
    ) -> Iterator[Fact]:
        assert isinstance(kernel.node, ir.FunctionDef)
        parameters = kernel.node.parameters
        wanted, _ = self._asked(kernel)
        passed = [self._given(value, host) for value in values]
        extents = [extent or 1 for extent in dim or [1]]
        shown = [_as_json(one.type) for one in passed]
        question: dict[str, object] = {
            "ask": "launch",
            "kernel": kernel.node.name,
            "dim": extents,
            "arguments": shown,
        }
        if len(values) != len(parameters):
            count = f"it takes {len(parameters)} arguments, and {len(values)} are passed"
            question["arguments"] = [{"value": 0}] * len(values)
            yield self._about(node.span, host, kernel, "count", count, question)
            return
        for number, (parameter, type_, one) in enumerate(zip(parameters, wanted, passed, strict=True)):
            reason = _refused(parameter.name, type_, one.type)
            if reason is not None:
                # what else is passed does not matter to this one
                fitting = [_as_json(other) for other in wanted]
                fitting[number] = shown[number]
                asked = {**question, "arguments": fitting} if None not in fitting else None
                yield self._about(values[number].span, host, kernel, "argument", reason, asked)
            elif device and one.device and _family(device) != _family(one.device):
                where = f"`{parameter.name}` is on {one.device}, and the launch on {device}"
                yield self._about(values[number].span, host, kernel, "device", where, None)

    def _indices(self, node: ir.Call, host: Host, kernel: Definition, dim: list[int | None]) -> Iterator[Fact]:
        _, counts = self._asked(kernel)
        if len(counts) != 1:
            return
        (count,) = counts
        if count == len(dim):
            return
        if count > len(dim):
            which = "index is" if count - len(dim) == 1 else f"{count - len(dim)} indices are"
            reason = (
                f"it asks for {count} thread indices, and the launch has {len(dim)} dimension(s): the last {which} 0"
            )
        else:
            reason = f"it asks for {count} of {len(dim)} thread indices: threads share them"
        question = {"ask": "dimensions", "dim": [extent or 3 for extent in dim], "indices": count}
        yield self._about(node.span, host, kernel, "dimensions", reason, question)

    def _asked(self, kernel: Definition) -> tuple[list[Type], frozenset[int]]:
        """The types of a kernel's parameters, and how many thread indices it asks for, each time that it does."""
        assert isinstance(kernel.node, ir.FunctionDef)
        key = (kernel.module, kernel.qualname, kernel.node.span.line)
        if key not in self._wanted:
            annotation = self._knowledge.types.annotation
            types = [annotation(kernel.module, one.annotation, kernel.scope) for one in kernel.node.parameters]
            self._wanted[key] = types, frozenset(self._unpacked(kernel))
        return self._wanted[key]

    def _unpacked(self, kernel: Definition) -> Iterator[int]:
        """How many indices each ``wp.tid()`` of a kernel gives."""
        region = kernel.module.region_at(kernel.node.span.line)
        if region is None:
            return
        lines = [region.line + offset for offset in kernel.module.of_text(region, _asking)]
        nodes = [inner for part in kernel.node.body if _is_on(part, lines) for inner in _on(part, lines)]
        external = partial(self._project.external, kernel.module, scope=kernel.scope)
        calls = {id(one) for one in nodes if isinstance(one, ir.Call) and external(one.func) == "warp.tid"}
        for inner in nodes:
            if isinstance(inner, ir.Assign) and id(inner.value) in calls:
                target = inner.targets[0]
                if isinstance(target, (ir.Tuple, ir.List)):
                    calls.discard(id(inner.value))
                    yield len(target.elements)
        yield from (1 for _ in calls)

    # --- values of the host ---

    def _dim(self, expr: ir.Expr | None, host: Host) -> list[int | None] | None:
        """The extents of a launch, None for those that are not known; None where their number is not known."""
        expr = self._local(expr, host)
        if isinstance(expr, ir.Constant) and type(expr.value) is int:
            return [expr.value]
        if isinstance(expr, (ir.Tuple, ir.List)):
            if any(isinstance(element, ir.Starred) for element in expr.elements) or not expr.elements:
                return None
            constants = [element.value if isinstance(element, ir.Constant) else None for element in expr.elements]
            return [value if type(value) is int and 0 < value <= 64 else None for value in constants]
        if isinstance(expr, ir.Call) and self._project.external(host.module, expr.func, host.scope) == "len":
            return [None]
        return None

    def _local(self, expr: ir.Expr | None, host: Host) -> ir.Expr | None:
        """What a local of the function stands for, where one assignment makes it; else the expression itself."""
        functions = [node for node in host.scope if isinstance(node, ir.FunctionDef)]
        if not isinstance(expr, ir.Name) or not functions or host.scope[-1] is not functions[-1]:
            return expr
        binders = bound_names(functions[-1]).get(expr.id, ())
        if len(binders) == 1 and isinstance(binders[0], ir.Assign) and binders[0].targets == (binders[0].targets[0],):
            return binders[0].value if isinstance(binders[0].targets[0], ir.Name) else expr
        return expr

    def _given(self, expr: ir.Expr, host: Host) -> Given:
        expr = self._local(expr, host) or expr
        if isinstance(expr, ir.Constant):
            return Given(literal(expr.value) or Type("unknown"))
        if not isinstance(expr, ir.Call):
            return _UNKNOWN
        name = self._project.external(host.module, expr.func, host.scope) or ""
        short = name.removeprefix("warp.")
        if not name.startswith("warp.") or short not in {*_SHAPED, "array"}:
            return _UNKNOWN
        dtype = expr.keyword("dtype")
        if dtype is None and (short == "array" or len(expr.args) > (2 if short == "full" else 1)):
            return _UNKNOWN
        element = Type("float", exact="float32")
        if dtype is not None:
            element = self._knowledge.types.annotation(host.module, dtype, host.scope)
        elif short == "full":
            return _UNKNOWN
        rank = None
        if short in _SHAPED:
            shape = self._dim(expr.keyword("shape") or (expr.args[0] if expr.args else None), host)
            rank = None if shape is None else len(shape)
        return Given(array(element, rank), _text(expr.keyword("device")))

    # --- facts ---

    def _about(
        self, span: Span, host: Host, kernel: Definition, what: str, reason: str, question: dict[str, object] | None
    ) -> Fact:
        return self._fact("launch-contract", host, span, kernel, {"what": what, "reason": reason}, question)

    def _fact(
        self,
        kind: str,
        host: Host,
        span: Span,
        kernel: Definition,
        attributes: dict[str, object],
        question: dict[str, object] | None,
    ) -> Fact:
        path = host.module.path
        location = Location(path, span)
        labels = [Label(location, "launched here" if kind == "launch-contract" else "asked for here")]
        if kernel.module.path != path or kernel.node.name_span != span:
            labels.append(Label(Location(kernel.module.path, kernel.node.name_span), "declared here"))
        program = KernelProgram(
            DefinitionRef(kernel.module.path, kernel.qualname),
            (location,),
            question="" if question is None else json.dumps(question),
        )
        names = ".".join(node.name for node in host.scope) or "<module>"
        whole = {"kernel": kernel.node.name, **attributes}
        return Fact(kind, location, whole, tuple(labels), names, "taped", program)


def _refused(name: str, wanted: Type, given: Type) -> str | None:
    """Why an argument is not taken: arrays of another element or rank, a number for an array, an array for a number."""
    if given.kind == "unknown" or wanted.kind in ("unknown", "generic", "handle", "struct", "tile"):
        return None
    if wanted.kind == "array":
        if given.kind != "array":
            return f"`{name}` is an array, and {spelled(given)} is passed"
        if wanted.element is not None and given.element is not None and differ(wanted.element, given.element):
            return f"`{name}` is an array of {spelled(wanted.element)}, and one of {spelled(given.element)} is passed"
        if wanted.ndim is not None and given.ndim is not None and wanted.ndim != given.ndim:
            return f"`{name}` has {wanted.ndim} dimension(s), and an array of {given.ndim} is passed"
        return None
    if given.kind == "array":
        return f"`{name}` is {spelled(wanted)}, and an array is passed"
    if wanted.kind == "int" and given.kind == "float":
        return f"`{name}` is {spelled(wanted)}, and {spelled(given)} is passed"
    return None


def _written(decorator: ir.Call) -> Iterator[str]:
    """The options of a decorator that are written out, as source text."""
    for keyword in decorator.keywords:
        value = keyword.value
        if isinstance(value, ir.Constant):
            yield f"{keyword.name}={value.value!r}"
        elif isinstance(value, ir.Dict):
            pairs = zip(value.keys, value.values, strict=True)
            plain = {k.value: v.value for k, v in pairs if isinstance(k, ir.Constant) and isinstance(v, ir.Constant)}
            yield f"{keyword.name}={plain!r}"


def _as_json(type_: Type) -> dict[str, object] | None:
    """An argument of a type for the probe, None where it cannot be made up."""
    if type_.kind in ("float", "int", "bool"):
        return {"value": {"float": 0.5, "int": 1, "bool": True}[type_.kind]}
    element = type_.element
    if type_.kind != "array" or element is None or element.exact is None:
        return None
    sizes = "".join(str(size) for size in element.shape)
    suffix = {"float32": "f", "float64": "d", "float16": "h", "int32": "i"}.get(element.exact, "")
    names = {"float": element.exact, "int": element.exact, "bool": "bool", "quat": f"quat{suffix}"}
    names |= {"vec": f"vec{sizes}{suffix}", "mat": f"mat{sizes}{suffix}", "transform": f"transform{suffix}"}
    dtype = names.get(element.kind)
    return None if dtype is None else {"dtype": dtype, "rank": type_.ndim or 1}


def _text(expr: ir.Expr | None) -> str:
    return expr.value if isinstance(expr, ir.Constant) and isinstance(expr.value, str) else ""


def _family(device: str) -> str:
    return device.partition(":")[0]
