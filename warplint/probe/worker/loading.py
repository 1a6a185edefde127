"""Turning a slice of source text into Warp kernels, compiled for a device."""

from __future__ import annotations

import hashlib
import importlib.util
import linecache
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import warp as wp

from warplint.probe.worker.clock import SPENT
from warplint.probe.worker.compat import builder, building_once, types
from warplint.probe.worker.handles import Unsupported
from warplint.probe.worker.inputs import Choice, concrete
from warplint.probe.worker.usage import Usage


class DoesNotCompile(Exception):
    """Warp refuses the slice; the message is Warp's own."""


def admit(plan: Mapping[str, Any]) -> None:
    """Lets the script of a plan import from the folders that the plan names, if it names any.

    What is imported there may define native functions; unless the plan allows those as well, it cannot.
    """
    folders = plan.get("folders") or ()
    if not folders:
        return
    sys.path[:0] = [folder for folder in folders if folder not in sys.path]

    def refused(*arguments: object, **options: object) -> None:
        raise RuntimeError("what is imported defines a native snippet")

    if not plan["native"]:
        wp.func_native = refused


def load_script(text: str, scratch: Path, suffix: str = "") -> ModuleType:
    """Imports the slice as a module. Its name comes from its text, so that Warp's kernel cache finds it again."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    name = f"probe_{digest}{suffix}"
    path = scratch / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    linecache.checkcache(str(path))
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise DoesNotCompile(f"Warp refuses the definitions: {first_line(error)}") from error
    return module


def watch_compiler() -> None:
    """Counts the runs of the C++ compiler in ``SPENT``."""
    module = builder()
    usual = module.build_cpu

    def counted(*arguments: Any, **options: Any) -> None:
        SPENT["compilations"] += 1
        usual(*arguments, **options)

    module.build_cpu = counted


def compile_kernel(kernel: Any, device: str) -> None:
    """Builds and loads the module of ``kernel``; raises DoesNotCompile with Warp's message."""
    begun = time.process_time()
    try:
        # The CPU device launches with a block of one, and that is part of the module's identity.
        blocks = 1 if device == "cpu" else None
        kernel.module.load(wp.get_device(device), blocks)
    except Exception as error:
        raise DoesNotCompile(
            f"Warp does not compile `{kernel.key}`: {_compiler_error() or first_line(error)}"
        ) from error
    finally:
        SPENT["modules"] += 1
        SPENT["compiling"] += time.process_time() - begun


def _compiler_error() -> str:
    """The first error that the C++ compiler printed, where this process's error output is a file."""
    try:
        text = Path("/proc/self/fd/2").read_text(errors="replace")
    except OSError:
        return ""
    found = re.search(r"error: (.+)", text)
    return f"C++ error: {found[1][:200]}" if found else ""


def first_line(error: BaseException) -> str:
    """The part of an error message that says what is wrong."""
    # Warp quotes the line of source first; what is wrong with it comes behind a semicolon of its own.
    text = str(error).rpartition("\n;")[2]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith(("Error while parsing", "Traceback", "^"))] or lines
    return lines[0][:300] if lines else type(error).__name__


def overload(kernel: Any, choice: Choice) -> Any:
    """A concrete instance of a generic kernel, with ``choice`` for every ``Any``."""
    kinds = list(_here(choice.kinds or (), kernel.adj.func))
    if not kinds:
        uses = Usage(kernel).uses
        for argument in kernel.adj.args:
            path = (argument.label, "[]") if types.is_array(argument.type) else (argument.label,)
            kinds.append(concrete(argument.type, choice, uses.get(path)))
    try:
        return wp.overload(kernel, kinds)
    except Exception as error:
        raise DoesNotCompile(f"Warp has no instance of `{kernel.key}`: {first_line(error)}") from error


def _here(kinds: Iterable[Any], function: Any) -> Iterator[Any]:
    """``kinds`` with the structs of the script that ``function`` is in, instead of those of another copy of it."""
    for kind in kinds:
        own = function.__globals__.get(kind.key) if hasattr(kind, "vars") and hasattr(kind, "cls") else None
        yield kind if own is None else own


# The kernels that ``wrap`` made, with their source text and the types that it names.
_WRAPPERS: dict[int, tuple[Any, str, dict[str, Any]]] = {}


def wrapper(kernel: Any) -> tuple[str, dict[str, Any]] | None:
    """The source of a kernel that ``wrap`` made around a func called ``probed_``, and the types that it names.

    None for other kernels.
    """
    found = _WRAPPERS.get(id(kernel))
    return found[1:] if found is not None else None


def wrap(function: Any, choice: Choice, scratch: Path, suffix: str = "", last: int | None = None) -> Any:
    """A kernel that calls the Warp function once a thread and stores what it returns; in reverse order from the thread
    ``last``, if that is given.

    Float arguments are read from arrays, so that they can be differentiated; integers stay launch arguments.
    """
    overloads = list(getattr(function, "user_overloads", {}).values()) or list(function.user_templates.values())
    function = overloads[0] if overloads else function
    if choice.kinds is not None:
        kinds = dict(zip(function.input_types, _here(choice.kinds, function.func), strict=True))
    else:
        kinds = {name: concrete(kind, choice) for name, kind in function.input_types.items()}
    if _generic(function):
        instance = function.get_overload(list(kinds.values()), {})
        if instance is None:
            raise Unsupported(f"no instance of the generic func `{function.key}` could be made")
        function = instance
    returned = _returns(function)
    scope: dict[str, Any] = {"warp": wp, "probed_": function}
    parameters: list[str] = []
    passed: list[str] = []
    for number, (name, kind) in enumerate(kinds.items()):
        kind, by_element = _parameter(function, name, kind)
        scope[f"T{number}"] = kind
        parameters.append(f"{name}: T{number}")
        passed.append(f"{name}[thread_]" if by_element else name)
    results = [f"result_{number}_" for number in range(len(returned))]
    thread = "warp.tid()" if last is None else f"{last} - warp.tid()"
    lines = ["@warp.kernel", "def KERNEL(PARAMETERS):", f"    thread_ = {thread}"]
    call = f"probed_({', '.join(passed)})"
    lines.append(f"    {', '.join(results)} = {call}" if results else f"    {call}")
    for number, kind in enumerate(returned):
        if not _stored(kind):
            continue
        scope[f"R{number}"] = wp.array(dtype=kind)
        parameters.append(f"returned_{number}: R{number}" if len(returned) > 1 else f"returned: R{number}")
        target = parameters[-1].partition(":")[0]
        lines.append(f"    {target}[thread_] = {results[number]}")
    name = f"call_{re.sub(r'[^0-9A-Za-z_]', '_', function.key)}"
    text = "\n".join(lines).replace("KERNEL", name).replace("PARAMETERS", ", ".join(parameters)) + "\n"
    digest = hashlib.sha256((text + function.module.name).encode()).hexdigest()[:8]
    path = scratch / f"{name}_{digest}{suffix}.py"
    path.write_text(text, encoding="utf-8")
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    module.__dict__.update(scope)
    sys.modules[path.stem] = module
    exec(compile(text, str(path), "exec"), module.__dict__)
    kernel = module.__dict__[name]
    _WRAPPERS[id(kernel)] = (kernel, text, {key: kind for key, kind in scope.items() if key not in ("warp", "probed_")})
    kernel.module.options.update(
        {key: value for key, value in function.module.options.items() if key in kernel.module.options}
    )
    return kernel


def _generic(function: Any) -> bool:
    return any(types.type_is_generic(kind) for kind in function.input_types.values())


def _parameter(function: Any, name: str, kind: Any) -> tuple[Any, bool]:
    """The kernel parameter for one func parameter: its type, and whether it is indexed by thread."""
    if types.is_array(kind):
        return kind, False
    if hasattr(kind, "vars") and hasattr(kind, "cls"):
        arrays = any(types.is_array(variable.type) for variable in kind.vars.values())
        return (kind, False) if arrays else (wp.array(dtype=kind), True)
    if _stored(kind):
        return wp.array(dtype=kind), True
    if kind in (int, bool, wp.bool) or kind in types.scalar_types:
        return kind, False
    if getattr(kind, "_wp_scalar_type_", None) is not None:
        return wp.array(dtype=kind), True
    raise Unsupported(f"parameter `{name}` of `{function.key}` has a type for which no value can be made")


def _stored(kind: Any) -> bool:
    """Whether a value of this type carries derivatives."""
    if hasattr(kind, "vars") and hasattr(kind, "cls"):
        return not any(types.is_array(variable.type) for variable in kind.vars.values())
    scalar = getattr(kind, "_wp_scalar_type_", kind)
    return scalar in (float, wp.float16, wp.float32, wp.float64)


def _returns(function: Any) -> list[Any]:
    """The types that a func returns, found by building its adjoint."""
    try:
        with building_once():
            function.build(None, function.module.options)
    except TypeError:
        function.build(None)
    except Exception as error:
        raise DoesNotCompile(f"Warp does not compile `{function.key}`: {first_line(error)}") from error
    return [variable.type for variable in function.adj.return_var or ()]


def forward_only(kernel: Any) -> None:
    """Leaves out the adjoint of a kernel that is only launched forward: half the time to compile."""
    kernel.options["enable_backward"] = False
    kernel.module.options["enable_backward"] = False


def backward_disabled(kernel: Any) -> bool:
    """Whether the kernel has no adjoint (its own option beats the module's)."""
    own = kernel.options.get("enable_backward")
    return (own if own is not None else kernel.module.options.get("enable_backward", True)) is False
