"""Many small programs in one module of Warp, so that an old version, which needs seconds to read its own headers, reads
them once. Runs with the Warp that is beside it, whichever that is, and needs nothing else.

Each program is run for its definitions in a namespace of its own, under names of its own. First every program is put
through the code generator by itself, which takes no time and says what Warp refuses in its own words. What is left is
compiled together. Where the C++ compiler refuses something, its messages tell whose it is, and the rest is compiled
without that; where they do not, in ever smaller parts.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import json
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

#: Programs with options of their own for a module, or for the process, cannot share a module.
_OPTIONS = re.compile(r"set_module_options|get_module\(|wp\.config\.|module=")


#: Error texts of what an older Warp does not know, as against what it knows and refuses.
MISSING = re.compile(
    r"has no attribute|undefined symbol|[Uu]nknown (attribute|function)|unexpected keyword|Could not find function"
    r"|not supported in this version|is not subscriptable|cannot import name|No module named"
)

#: Tells the names of one call from those of others.
_calls = itertools.count()


@dataclass
class Program:
    """A program that was put into a module: its ``names`` (by those in its text), and what is defined there.

    ``refused`` is what Warp says where it does not take it; ``error`` is then the exception.
    """

    text: str
    names: dict[str, str]
    scope: dict[str, Any] = field(default_factory=dict)
    refused: str = ""
    error: BaseException | None = None

    def kernels(self) -> Iterator[Any]:
        """The kernels that it defines."""
        return (self.scope[name] for name in self.names.values() if type(self.scope.get(name)).__name__ == "Kernel")


def shares(text: str) -> bool:
    """Whether a program can stand in a module with others."""
    return not _OPTIONS.search(text)


def renamed(text: str, mark: str) -> tuple[str, dict[str, str]]:
    """A program whose top-level functions and classes have names of its own, and these by the old ones."""
    tree = ast.parse(text)
    names = {
        node.name: f"{node.name}_{mark}" for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = names.get(node.id, node.id)
    for top in tree.body:
        if isinstance(top, (ast.FunctionDef, ast.ClassDef)):
            top.name = names[top.name]
    return ast.unparse(tree), names


def definitions(text: str) -> tuple[str, str]:
    """A program up to its last definition, and the rest of it."""
    tree = ast.parse(text)
    last = max(
        (at for at, node in enumerate(tree.body) if isinstance(node, (ast.FunctionDef, ast.ClassDef))), default=-1
    )
    parts = tree.body[: last + 1], tree.body[last + 1 :]
    first, second = (ast.unparse(ast.Module(part, [])) for part in parts)
    return first, second


def together(
    texts: Mapping[str, str], folder: Path, shared: Mapping[str, Any] | None = None, compiled: bool = True
) -> dict[str, Program]:
    """Every program by its name, compiled (where that is asked for) where Warp takes it. ``shared`` is what their text
    may use besides."""
    mark = f"x{next(_calls)}n"
    programs: dict[str, Program] = {}
    for number, (name, text) in enumerate(texts.items()):
        own, names = renamed(text, f"{mark}{number}")
        program = programs[name] = Program(own, names)
        try:
            _defined(program, f"single_{mark}{number}", folder, shared)
            generated(_warp().get_module(f"single_{mark}{number}"))
        except Exception as error:
            program.refused, program.error = said(error), error
    waiting = [[name for name, program in programs.items() if not program.refused]] if compiled else []
    while waiting:
        part = waiting.pop()
        if not part:
            continue
        module = f"together_{mark}_{len(part)}_{part[0].replace('-', '_')}"
        try:
            with _errors(folder) as errors:
                for name in part:
                    _defined(programs[name], module, folder, shared)
                load(_warp().get_module(module))
        except Exception as error:
            text = errors.read_text(errors="replace")
            told = dict(reversed(list(blamed(text, mark))))  # the first message of each
            blame = {name: words for name in part if (words := told.get(_number(programs[name], mark)))}
            if len(part) == 1:
                found = re.search(r"error: (.{0,160})", text)
                blame = {part[0]: found[1] if found else ""}
            for name, words in blame.items():
                programs[name].error = error
                programs[name].refused = f"C++ error: {words}" if words else said(error)
            if blame:
                waiting.append([name for name in part if name not in blame])
            else:
                middle = len(part) // 2
                waiting += [part[middle:], part[:middle]]
    return programs


def blamed(errors: str, mark: str) -> Iterator[tuple[int, str]]:
    """The numbers of the programs that messages of the C++ compiler are about, and their words.

    A message names a line of the source that Warp made; the last name before it that ends in ``mark`` and a number
    tells whose that is.
    """
    for path, line, words in re.findall(r"^(\S+\.cpp):(\d+):\d+: error: (.{0,160})", errors, re.M):
        try:
            before = Path(path).read_text(encoding="utf-8", errors="replace").split("\n")[: int(line)]
        except OSError:
            continue
        for above in reversed(before):
            found = re.findall(rf"_{mark}(\d+)", above)
            if found:
                yield int(found[-1]), words
                break


def _number(program: Program, mark: str) -> int:
    """What a program's names end in."""
    return int(next(iter(program.names.values()), f"_{mark}-1").rpartition(mark)[2])


def generated(module: Any) -> None:
    """Puts a module of Warp through its code generator. Raises what Warp raises where it refuses something."""
    context = sys.modules.get("warp._src.context") or sys.modules["warp.context"]
    options = dict(module.options)
    if hasattr(type(module), "resolve_options"):
        sized = "block_dim" in inspect.signature(type(module).resolve_options).parameters
        options = dict(module.resolve_options(_warp().config, **({"block_dim": 1} if sized else {})))
    options.update(output_arch=None, block_dim=1)
    named = inspect.signature(context.ModuleBuilder.__init__).parameters
    builder = context.ModuleBuilder(module, options, **({"target": "cpu"} if "target" in named else {}))
    builder.codegen("cpu")


def load(module: Any) -> None:
    """Compiles a module of Warp. Raises where Warp refuses it."""
    device = _warp().get_device("cpu")
    try:
        loaded = module.load(device, 1)
    except TypeError:  # before blocks of threads
        loaded = module.load(device)
    if loaded is None or loaded is False:
        raise RuntimeError("the C++ compiler refuses what Warp makes of it")


def said(error: BaseException) -> str:
    """What Warp says; it quotes the line of source first, and what is wrong with it comes behind a semicolon."""
    lines = [line.strip() for line in str(error).rpartition("\n;")[2].splitlines() if line.strip()]
    return lines[-1][:200] if lines else type(error).__name__


def forked(answer: Callable[[], Any], seconds: int) -> Any:
    """What ``answer`` returns in a process of its own; None where that crashes or takes longer than ``seconds``."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(seconds)
        try:
            os.write(write, json.dumps(answer()).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as answers:
        text = answers.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else None


def _defined(program: Program, module: str, folder: Path, shared: Mapping[str, Any] | None) -> None:
    """Runs the text of a program in ``module``: Warp goes by the name of the module that a function says it is in."""
    if module not in sys.modules:
        made = sys.modules[module] = ModuleType(module)
        made.__dict__.update(wp=_warp(), warp=_warp())  # the annotations of structs are looked up there by 1.5
    path = folder / f"{module}_{next(iter(program.names.values()), '')}.py"
    path.write_text(program.text, encoding="utf-8")
    program.scope = {**(shared or {}), "__name__": module, "__file__": str(path)}
    exec(compile(program.text, str(path), "exec", dont_inherit=True), program.scope)


class _errors:
    """What the C++ compiler writes goes into a file meanwhile."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "compiler.errors"

    def __enter__(self) -> Path:
        self._before = os.dup(2), os.dup(1)
        with self._path.open("w") as file:
            os.dup2(file.fileno(), 2)
            os.dup2(file.fileno(), 1)
        return self._path

    def __exit__(self, *_: object) -> None:
        for kept, number in zip(self._before, (2, 1), strict=True):
            os.dup2(kept, number)
            os.close(kept)


def _warp() -> Any:
    import warp

    return warp
