"""What Warp's compiler says of each kernel in a folder of sources, and what warplint says without running anything."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import warp as wp
from warp._src import context

from warplint.analysis import analyse_files
from warplint.frontend import open_project
from warplint.ir.facts import Fact

#: The facts that say that the compiler refuses something.
REFUSALS = frozenset({"unsupported-in-kernel", "constant-mutated-in-loop", "volume-gradient-shape"})

SOURCES = Path(__file__).parent.parent / "fixtures" / "contracts"


@dataclass(frozen=True)
class Verdict:
    """``refused``: Warp's message, empty where it compiles the kernel. ``found``: warplint's reasons."""

    file: str
    kernel: str
    refused: str
    found: tuple[str, ...]

    @property
    def agree(self) -> bool:
        """Whether both say the same."""
        return bool(self.refused) == bool(self.found)


def verdicts(paths: Iterable[Path]) -> list[Verdict]:
    """One verdict for each kernel that is not generic, in the order of the sources."""
    wp.init()
    files = sorted(paths)
    facts = [
        fact
        for analysis in analyse_files(files, open_project((SOURCES,)), {}, jobs=1)
        for fact in analysis.facts
        if fact.kind in REFUSALS
    ]
    found = []
    for path in files:
        module = imported(path)
        kernels = [item for item in vars(module).values() if isinstance(item, wp.Kernel) and not item.is_generic]
        said = compiled(kernels)
        own = [fact for fact in facts if fact.location.path == path]
        for kernel in kernels:
            found.append(Verdict(path.stem, kernel.key, said[kernel.key], tuple(_about(kernel, own))))
    return found


def imported(path: Path) -> ModuleType:
    """The module in a file."""
    spec = importlib.util.spec_from_file_location(f"contract_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    return module


def compiled(kernels: list[wp.Kernel]) -> dict[str, str]:
    """Why Warp refuses each kernel, empty where it does not.

    Most refusals come when code is generated, which takes no time. What is left is compiled together, and one by one
    where that fails.
    """
    said = {kernel.key: _generated(kernel) for kernel in kernels}
    left = [kernel for kernel in kernels if not said[kernel.key]]
    if left and _built(left):
        said |= {kernel.key: _built([kernel]) for kernel in left}
    return said


def _alone(kernels: list[wp.Kernel], name: str) -> Any:
    module = context.Module(name, None)
    module.options.update(kernels[0].module.options)
    for kernel in kernels:
        context.Kernel(kernel.func, key=kernel.key, module=module, options=kernel.options)
    return module


def _generated(kernel: wp.Kernel) -> str:
    try:
        module = _alone([kernel], f"generated_{kernel.key}")
        options = module.resolve_options(wp.config, block_dim=1) | {"output_arch": None, "block_dim": 1}
        context.ModuleBuilder(module, options, target="cpu").codegen("cpu")
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def _built(kernels: list[wp.Kernel]) -> str:
    try:
        loaded = _alone(kernels, f"built_{kernels[0].key}_{len(kernels)}").load("cpu", 1)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "" if loaded is not None else "it does not load"


def _about(kernel: wp.Kernel, facts: list[Fact]) -> Iterator[str]:
    """The reasons that hold for a kernel: its own, and those of the funcs of its file that it calls."""
    names = {kernel.key}
    queue = [kernel.func]
    while queue:
        code = queue.pop().__code__
        for name in code.co_names:
            item = kernel.func.__globals__.get(name)
            if isinstance(item, context.Function) and name not in names:
                names.add(name)
                queue.append(item.func)
    for fact in facts:
        if fact.definition.split(".")[0] in names:
            yield str(fact.attributes["reason"])
