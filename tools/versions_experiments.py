"""Experiments on what Warp changed from version to version; runs with the Warp that is beside it, on the CPU device.

Each experiment is a small program that sets ``answer``: a few words on what this Warp does. ``tools/versions.py`` runs
them in every environment and puts the answers into ``docs/versions.md``. An exception is an answer as well, in the
words of Warp.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from versions_defects import PROGRAMS
from versions_together import definitions, forked, said, shares, together
from versions_volumes import VOLUMES

#: The time that one experiment may take.
_SECONDS = 150


@dataclass(frozen=True)
class Question:
    """What an experiment asks, its program, and the rules whose defect it shows where the answer is ``wrong``."""

    text: str
    program: str
    about: tuple[str, ...] = ()


QUESTIONS: dict[str, Question] = {}

#: The rules that an experiment is about. The others show what surrounds them.
_ABOUT = {
    "copy-first": ("WP206",),
    "clone-first": ("WP206",),
    "assign-first": ("WP206",),
    "clone-filled": ("WP207",),
    "retain-grad": ("WP405",),
    "in-place-multiply": ("WP101",),
    "in-place-divide": ("WP101",),
    "in-place-power": ("WP101",),
    "in-place-modulo": ("WP101",),
    "element-multiply": ("WP101",),
    "component-store": ("WP312",),
    "attribute-store": ("WP312",),
    "component-add": ("WP313",),
    "attribute-add": ("WP313",),
    "two-stores": ("WP413",),
    "conditional-guard": ("WP314",),
    "conditional-element": ("WP314",),
    "conditional-same-element": ("WP314",),
    "local-component-store": ("WP102",),
    "local-attribute-add": ("WP108",),
    "break-in-short-loop": ("WP107",),
    "where-square-root": ("WP501",),
    "fraction": ("WP310",),
    "backward-kernel-with-func": ("WP303",),
    "backward-global-with-func": ("WP303",),
    "disabled-global": ("WP302",),
    "disabled-get-module": ("WP302",),
    "disabled-module": ("WP302",),
    "disabled-kernel": ("WP302",),
}

# What the programs share: compiled once, before any of them runs.
_HEAD = """import numpy as np
import warp as wp


@wp.kernel
def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(y, i, x[i] * x[i])


@wp.kernel
def store(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


@wp.kernel
def total(x: wp.array(dtype=float), loss: wp.array(dtype=float)):
    wp.atomic_add(loss, 0, x[wp.tid()])


def leaf(*values):
    return wp.array(np.array(values, dtype=np.float32), dtype=float, requires_grad=True)


def zeros(n):
    return wp.zeros(n, dtype=float, requires_grad=True)


def judged(gradient, expected):
    gradient = [round(float(value), 3) for value in np.asarray(gradient).ravel()]
    word = "right" if np.allclose(gradient, expected, atol=2e-3) else "wrong"
    return f"{word}: {gradient}, should be {expected}" if word == "wrong" else "right"
"""


def _question(name: str, text: str, body: str) -> None:
    QUESTIONS[name] = Question(text, body.lstrip("\n"), _ABOUT.get(name, ()))


_question(
    "copy-first",
    "`wp.copy` whose source is read by a launch after it",
    """
x, a, b, loss = leaf(1.0, 2.0), zeros(2), zeros(2), zeros(1)
with wp.Tape() as tape:
    wp.copy(a, x)
    wp.launch(square, dim=2, inputs=[x], outputs=[b])
    wp.launch(total, dim=2, inputs=[a], outputs=[loss])
    wp.launch(total, dim=2, inputs=[b], outputs=[loss])
tape.backward(loss)
answer = judged(x.grad.numpy(), [3.0, 5.0])
""",
)
_question(
    "copy-last",
    "`wp.copy` that is the last to read its source",
    """
x, a, b, loss = leaf(1.0, 2.0), zeros(2), zeros(2), zeros(1)
with wp.Tape() as tape:
    wp.launch(square, dim=2, inputs=[x], outputs=[b])
    wp.copy(a, x)
    wp.launch(total, dim=2, inputs=[a], outputs=[loss])
    wp.launch(total, dim=2, inputs=[b], outputs=[loss])
tape.backward(loss)
answer = judged(x.grad.numpy(), [3.0, 5.0])
""",
)
_question(
    "clone-first",
    "`wp.clone` whose source is read by a launch after it",
    """
x, b, loss = leaf(1.0, 2.0), zeros(2), zeros(1)
with wp.Tape() as tape:
    a = wp.clone(x)
    wp.launch(square, dim=2, inputs=[x], outputs=[b])
    wp.launch(total, dim=2, inputs=[a], outputs=[loss])
    wp.launch(total, dim=2, inputs=[b], outputs=[loss])
tape.backward(loss)
answer = judged(x.grad.numpy(), [3.0, 5.0])
""",
)
_question(
    "assign-first",
    "`array.assign` of an array that is read by a launch after it",
    """
x, a, b, loss = leaf(1.0, 2.0), zeros(2), zeros(2), zeros(1)
with wp.Tape() as tape:
    a.assign(x)
    wp.launch(square, dim=2, inputs=[x], outputs=[b])
    wp.launch(total, dim=2, inputs=[a], outputs=[loss])
    wp.launch(total, dim=2, inputs=[b], outputs=[loss])
tape.backward(loss)
answer = judged(x.grad.numpy(), [3.0, 5.0])
""",
)
_question(
    "copy-over-written",
    "`wp.copy` onto an array that was written before: gradients of what was overwritten",
    """
x, z, a, loss = leaf(1.0, 2.0), leaf(3.0, 4.0), zeros(2), zeros(1)
with wp.Tape() as tape:
    wp.launch(store, dim=2, inputs=[x], outputs=[a])
    wp.copy(a, z)
    wp.launch(total, dim=2, inputs=[a], outputs=[loss])
tape.backward(loss)
answer = judged([*x.grad.numpy(), *z.grad.numpy()], [0.0, 0.0, 1.0, 1.0])
""",
)
_question(
    "clone-filled",
    "a clone that is filled with zeros and added to (WP207)",
    """
x, loss = leaf(1.0, 2.0), zeros(1)
with wp.Tape() as tape:
    a = wp.clone(x)
    a.zero_()
    wp.launch(square, dim=2, inputs=[x], outputs=[a])
    wp.launch(total, dim=2, inputs=[a], outputs=[loss])
tape.backward(loss)
answer = judged(x.grad.numpy(), [2.0, 4.0])
""",
)
_question(
    "clone-stored",
    "a clone all of whose elements a launch stores, source read by that launch",
    """
x, loss = leaf(1.0, 2.0), zeros(1)
with wp.Tape() as tape:
    a = wp.clone(x)
    wp.launch(store, dim=2, inputs=[x], outputs=[a])
    wp.launch(total, dim=2, inputs=[a], outputs=[loss])
tape.backward(loss)
answer = judged(x.grad.numpy(), [2.0, 4.0])
""",
)
_question(
    "duplicate-launch",
    "the same storing launch recorded twice (WP406)",
    """
x, a, loss = leaf(1.0, 2.0), zeros(2), zeros(1)
with wp.Tape() as tape:
    wp.launch(store, dim=2, inputs=[x], outputs=[a])
    wp.launch(store, dim=2, inputs=[x], outputs=[a])
    wp.launch(total, dim=2, inputs=[a], outputs=[loss])
tape.backward(loss)
answer = judged(x.grad.numpy(), [2.0, 4.0])
""",
)
_question(
    "two-stores",
    "an element that one kernel stores twice",
    """
@wp.kernel
def twice(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]
    y[i] = 3.0 * x[i]


x, a, loss = leaf(1.0, 2.0), zeros(2), zeros(1)
with wp.Tape() as tape:
    wp.launch(twice, dim=2, inputs=[x], outputs=[a])
    wp.launch(total, dim=2, inputs=[a], outputs=[loss])
tape.backward(loss)
answer = judged(x.grad.numpy(), [3.0, 3.0])
""",
)
_question(
    "retain-grad",
    "an element stored twice in an array with `retain_grad`",
    """
@wp.kernel
def twice(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]
    y[i] = 3.0 * x[i]


x, loss = leaf(1.0, 2.0), zeros(1)
a = wp.zeros(2, dtype=float, requires_grad=True, retain_grad=True)
with wp.Tape() as tape:
    wp.launch(twice, dim=2, inputs=[x], outputs=[a])
    wp.launch(total, dim=2, inputs=[a], outputs=[loss])
tape.backward(loss)
answer = judged(x.grad.numpy(), [3.0, 3.0])
""",
)

_COMPONENTS = """
@wp.kernel
def part(x: wp.array(dtype=float), v: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    BODY


@wp.kernel
def added(v: wp.array(dtype=wp.vec3), loss: wp.array(dtype=float)):
    w = v[wp.tid()]
    wp.atomic_add(loss, 0, 2.0 * w[0] + w[1] + w[2])


x, loss = leaf(1.0, 2.0), zeros(1)
v = wp.array(np.full((2, 3), 0.5, dtype=np.float32), dtype=wp.vec3, requires_grad=True)
with wp.Tape() as tape:
    wp.launch(part, dim=2, inputs=[x], outputs=[v])
    wp.launch(added, dim=2, inputs=[v], outputs=[loss])
tape.backward(loss)
answer = judged(x.grad.numpy(), EXPECTED)
"""


def _component(name: str, text: str, line: str, expected: str = "[2.0, 2.0]") -> None:
    body = _COMPONENTS.replace("BODY", line).replace("EXPECTED", expected)
    _question(name, text, body)


_component("component-store", "`v[i][0] = x[i]` on an array of vectors", "v[i][0] = x[i]")
_component("attribute-store", "`v[i].x = x[i]` on an array of vectors", "v[i].x = x[i]")
_component("component-add", "`v[i][0] += x[i]` on an array of vectors", "v[i][0] += x[i]")
_component("attribute-add", "`v[i].x += x[i]` on an array of vectors", "v[i].x += x[i]")
_component("attribute-multiply", "`v[i].x *= x[i]` on an array of vectors", "v[i].x *= x[i]", "[1.0, 1.0]")
_component("component-divide", "`v[i][0] /= x[i]` on an array of vectors", "v[i][0] /= x[i]", "[-1.0, -0.25]")
_component(
    "component-scale",
    "`v[i][0] *= 3.0` on an array of vectors",
    "v[i][0] *= 3.0; v[i] += wp.vec3(x[i])".replace("; ", "\n    "),
    "[4.0, 4.0]",
)
_component("component-multiply", "`v[i][0] *= x[i]` on an array of vectors", "v[i][0] *= x[i]", "[1.0, 1.0]")
_component("element-multiply", "`v[i] *= x[i]` on an array of vectors", "v[i] *= x[i]", "[2.0, 2.0]")
_component(
    "local-component-store",
    "a component of a local vector stored over a loaded one (WP102)",
    "u = v[i]; u[0] = x[i]; u[0] = 2.0 * x[i]; v[i] = u".replace("; ", "\n    "),
    "[4.0, 4.0]",
)
_component(
    "local-attribute-add",
    "`u.x += x[i]` twice on a local vector (WP108)",
    "u = wp.vec3(); u.x += x[i] * x[i]; u.x += x[i]; v[i] = u".replace("; ", "\n    "),
    "[6.0, 10.0]",
)

_SCALARS = """
@wp.kernel
def work(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    BODY


x, y, loss = leaf(1.0, 2.0), leaf(0.5, 0.25), zeros(1)
with wp.Tape() as tape:
    wp.launch(work, dim=2, inputs=[x], outputs=[y])
    wp.launch(total, dim=2, inputs=[y], outputs=[loss])
tape.backward(loss)
answer = judged(x.grad.numpy(), EXPECTED)
"""


def _scalar(name: str, text: str, lines: str, expected: str) -> None:
    _question(name, text, _SCALARS.replace("BODY", lines.replace("\n", "\n    ")).replace("EXPECTED", expected))


_scalar(
    "conditional-shared-load",
    "a conditional expression whose two sides share a load",
    "y[i] = x[i] * 3.0 if x[i] > 1.5 else x[i] * 2.0",
    "[2.0, 3.0]",
)
_scalar(
    "conditional-shared-local",
    "a conditional expression on a value that is used again",
    "t = x[i]\ny[i] = (t * t if t > 1.5 else t) + t",
    "[2.0, 5.0]",
)
_scalar(
    "conditional-guard",
    "a conditional expression that guards a square root",
    "y[i] = wp.sqrt(x[i] - 1.0) if x[i] > 1.5 else x[i]",
    "[1.0, 0.5]",
)
_scalar(
    "conditional-element",
    "a conditional expression one side of which is an element of an array as it is",
    "y[i] = x[i] if x[i] > 1.5 else 2.0 * x[i]",
    "[2.0, 1.0]",
)
_scalar(
    "conditional-same-element",
    "a conditional expression both sides of which are one element of an array",
    "t = float(i)\ny[i] = x[i] if t > 0.5 else x[i]",
    "[1.0, 1.0]",
)
_scalar(
    "conditional-components",
    "a conditional expression that chooses between components of a local vector",
    "v = wp.vec2(x[i], 2.0 * x[i])\ny[i] = v[0] if x[i] > 1.5 else v[1]",
    "[2.0, 1.0]",
)
_scalar(
    "branch-element",
    "the same as a branch: an element of an array as it is in one of its arms",
    "t = 2.0 * x[i]\nif x[i] > 1.5:\n    t = x[i]\ny[i] = t",
    "[2.0, 1.0]",
)
_scalar("in-place-multiply", "`y[i] *= x[i]` (WP101)", "y[i] *= x[i]", "[0.5, 0.25]")
_scalar("in-place-divide", "`y[i] /= x[i]` (WP101)", "y[i] /= x[i]", "[-0.5, -0.0625]")
_scalar("in-place-power", "`y[i] **= x[i]` (WP101)", "y[i] **= x[i]", "[-0.3466, -0.0866]")
_scalar("in-place-modulo", "`y[i] %= 0.2 * x[i]` (WP101)", "y[i] %= 0.2 * x[i]", "[-0.4, 0.0]")
_scalar("in-place-add", "`y[i] += x[i]`", "y[i] += x[i]", "[1.0, 1.0]")
_scalar("in-place-subtract", "`y[i] -= x[i]`", "y[i] -= x[i]", "[-1.0, -1.0]")
_scalar(
    "continue-in-short-loop",
    "`continue` in a loop that Warp unrolls otherwise (WP107)",
    "s = float(1.0)\nfor k in range(3):\n    if k == 1:\n        continue\n    s = s * x[i]\ny[i] = s",
    "[2.0, 4.0]",
)
_scalar(
    "break-in-short-loop",
    "`break` in a loop of three rounds",
    "s = float(0.0)\nfor k in range(3):\n    if k == 2:\n        break\n    s = s + x[i] * float(k + 1)\ny[i] = s",
    "[3.0, 3.0]",
)
_scalar(
    "where-square-root",
    "`wp.where` with a root that is not chosen",
    "y[i] = wp.where(x[i] > 1.5, wp.sqrt(x[i] - 1.0), x[i])",
    "[1.0, 0.5]",
)
_scalar(
    "length-at-zero",
    "`wp.length` of a zero vector",
    "y[i] = wp.length(wp.vec3(x[i] - x[i], 0.0, 0.0)) + x[i]",
    "[1.0, 1.0]",
)
_scalar("fraction", "`wp.frac`", "y[i] = wp.frac(x[i] * 0.3)", "[0.3, 0.3]")

_BACKWARD = """
wp.set_module_options({"enable_backward": False})


@wp.func
def bent(x: float):
    return x * x


@wp.kernel(enable_backward=True)
def work(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = BODY


@wp.kernel(enable_backward=True)
def own_total(x: wp.array(dtype=float), loss: wp.array(dtype=float)):
    wp.atomic_add(loss, 0, x[wp.tid()])


x, y, loss = leaf(1.0, 2.0), zeros(2), zeros(1)
with wp.Tape() as tape:
    wp.launch(work, dim=2, inputs=[x], outputs=[y])
    wp.launch(own_total, dim=2, inputs=[y], outputs=[loss])
tape.backward(loss)
answer = judged(x.grad.numpy(), [2.0, 4.0])
"""
_question(
    "backward-kernel-with-func",
    "a kernel with an adjoint that calls a func, in a module without (WP303)",
    _BACKWARD.replace("BODY", "bent(x[i])"),
)
_question(
    "backward-kernel-alone",
    "the same kernel without a func",
    _BACKWARD.replace("BODY", "x[i] * x[i]"),
)
_question(
    "backward-global-with-func",
    "the same with `wp.config.enable_backward = False` instead of the module's option",
    _BACKWARD.replace('wp.set_module_options({"enable_backward": False})', "wp.config.enable_backward = False").replace(
        "BODY", "bent(x[i])"
    ),
)
_question(
    "backward-module-on",
    "`wp.config.enable_backward = False` and the module's option on",
    _BACKWARD.replace(
        'wp.set_module_options({"enable_backward": False})',
        'wp.config.enable_backward = False\nwp.set_module_options({"enable_backward": True})',
    )
    .replace("BODY", "bent(x[i])")
    .replace("(enable_backward=True)", ""),
)

_DISABLED = """
OPTION


@wp.kernelARGUMENT
def bent(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


x, y, loss = leaf(1.0, 2.0), zeros(2), zeros(1)
with wp.Tape() as tape:
    wp.launch(bent, dim=2, inputs=[x], outputs=[y])
    wp.launch(total, dim=2, inputs=[y], outputs=[loss])
tape.backward(loss)
answer = judged(x.grad.numpy(), [2.0, 4.0])
"""


def _disabled(name: str, text: str, option: str = "", argument: str = "") -> None:
    _question(name, text, _DISABLED.replace("OPTION", option).replace("ARGUMENT", argument).lstrip("\n"))


_OFF = '{"enable_backward": False}'
_disabled("disabled-kernel", "a kernel with `enable_backward=False` on a tape (WP302)", "", "(enable_backward=False)")
_disabled("disabled-module", "the same by `wp.set_module_options` (WP302)", f"wp.set_module_options({_OFF})")
_disabled(
    "disabled-get-module",
    "the same by `wp.get_module(...).options` (WP302)",
    'wp.get_module(__name__).options["enable_backward"] = False',
)
_disabled("disabled-global", "the same by `wp.config.enable_backward` (WP302)", "wp.config.enable_backward = False")
_disabled(
    "disabled-module-of-its-own",
    'options of the module it stands in, and a kernel with `module="unique"`',
    f"wp.set_module_options({_OFF})",
    '(module="unique")',
)
_disabled(
    "disabled-beaten",
    "options of the module, beaten by that of the kernel",
    f"wp.set_module_options({_OFF})",
    "(enable_backward=True)",
)
for _name, _text, _recorded in (
    ("record-func", "a kernel without an adjoint, not recorded, with a `record_func` in its place", "False"),
    ("record-func-beside", "the same with the launch recorded as well", "True"),
):
    _question(
        _name,
        _text,
        """
@wp.kernel(enable_backward=False)
def bent(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


x, y, loss = leaf(1.0, 2.0), zeros(2), zeros(1)


def back():
    x.grad.assign(x.grad.numpy() + 2.0 * x.numpy() * y.grad.numpy())


with wp.Tape() as tape:
    wp.launch(bent, dim=2, inputs=[x], outputs=[y], record_tape=RECORDED)
    tape.record_func(back, arrays=[x, y])
    wp.launch(total, dim=2, inputs=[y], outputs=[loss])
tape.backward(loss)
answer = judged(x.grad.numpy(), [2.0, 4.0])
""".replace("RECORDED", _recorded),
    )
_question(
    "grad-in-disabled-module",
    "`wp.grad()` of a func, in a module without adjoints: its value",
    """
wp.set_module_options({"enable_backward": False})


@wp.func
def bent(x: float):
    return x * x


@wp.kernel
def slope(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.grad(bent)(x[i])


x, y = leaf(1.0, 2.0), zeros(2)
wp.launch(slope, dim=2, inputs=[x], outputs=[y])
answer = judged(y.numpy(), [2.0, 4.0])
""",
)

for _name, (_rule, _text, _body) in (PROGRAMS | VOLUMES).items():
    QUESTIONS[_name] = Question(_text, _body, (_rule,) if _rule else ())


def ask(body: str, scope: dict[str, Any], folder: Path) -> str:
    """What the rest of an experiment answers, whose definitions are in ``scope``."""
    with (folder / "body.errors").open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    try:
        exec(compile(body, scope["__file__"], "exec", dont_inherit=True), scope)
    except Exception as error:
        return "refused: " + said(error)
    return str(scope["answer"])


def alone(name: str, shared: dict[str, Any], folder: Path) -> str:
    """The answer of an experiment that has options of its own."""
    module = ModuleType(f"experiment_{name.replace('-', '_')}")
    path = folder / f"{module.__name__}.py"
    path.write_text(QUESTIONS[name].program, encoding="utf-8")
    sys.modules[module.__name__] = module
    scope = vars(module)
    scope |= {key: value for key, value in shared.items() if not key.startswith("__")}
    scope["__file__"] = str(path)
    return ask(QUESTIONS[name].program, scope, folder)


def answers(names: list[str], shared: dict[str, Any], folder: Path) -> Iterator[tuple[str, str]]:
    """Every experiment by its name, and its answer; each has a process of its own that has what they share."""
    programs = {name: QUESTIONS[name].program for name in names}
    parts = {name: definitions(text) for name, text in programs.items() if shares(text)}
    texts = {name: first for name, (first, _) in parts.items()}
    # the C++ compiler of some versions refuses what is made of volumes, and with it all that stands beside it
    volumes = [name for name, text in texts.items() if "Volume" in text]
    defined = together({name: text for name, text in texts.items() if name not in volumes}, folder, shared)
    for name in volumes:
        defined |= together({name: texts[name]}, folder, shared)
    for name in names:
        if name not in defined:
            answer = forked(lambda: alone(name, shared, folder), _SECONDS)  # noqa: B023
        elif defined[name].refused:
            answer = f"refused: {defined[name].refused}"
        else:
            program = defined[name]
            scope = program.scope | {old: program.scope[new] for old, new in program.names.items()}
            answer = forked(lambda: ask(parts[name][1], scope, folder), _SECONDS)  # noqa: B023
        yield name, answer or "crash, or it does not end"


def main(names: list[str]) -> None:
    """Print one JSON object a line: the name of an experiment and its answer."""
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    written = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    os.dup2(2, 1)  # what Warp prints must not look like answers
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        wp = importlib.import_module("warp")
        wp.config.quiet = True
        wp.init()
        wp.set_device("cpu")
        shared = together({"shared": _HEAD}, folder)["shared"]
        scope = shared.scope | {old: shared.scope[new] for old, new in shared.names.items()}
        for name, answer in answers(names or list(QUESTIONS), scope, folder):
            print(json.dumps({"experiment": name, "answer": answer}), file=written)


if __name__ == "__main__":
    main(sys.argv[1:])
