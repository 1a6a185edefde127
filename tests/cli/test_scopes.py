"""Where adjoints are switched off: by the process, a module or a kernel, each of which beats the one before it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from command import Command

PROGRAM = """
import warp as wp

{head}


@wp.func
def squared(x: float):
    return x * x


@wp.kernel{options}
def bend(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = {body}


@wp.kernel(enable_backward=True, module="total")
def total(y: wp.array(dtype=float), loss: wp.array(dtype=float)):
    wp.atomic_add(loss, 0, y[wp.tid()])


def slope(start):
    x = wp.array(start, dtype=float, requires_grad=True)
    y = wp.zeros_like(x)
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(bend, dim=len(start), inputs=[x], outputs=[y])
        wp.launch(total, dim=len(start), inputs=[y], outputs=[loss])
    tape.backward(loss)
    return x.grad.numpy()
"""
PROCESS = "wp.config.enable_backward = False"
#: The spellings of a module's option. A kernel with a module of its own is told as its decorator says it.
MODULE = {
    "wp.set_module_options": ('wp.set_module_options({"enable_backward": OFF})', ""),
    "wp.get_module": ('wp.get_module(__name__).options["enable_backward"] = OFF', ""),
    "module=": ('wp.get_module("own").options["enable_backward"] = OFF', '(module="own")'),
}


def found(lint: Command, folder: Path, warp: str = "1.19", **parts: str) -> list[tuple[str, str]]:
    """The rules and messages of the findings in a program."""
    parts = {"head": "", "options": "", "body": "x[i] * x[i]", **parts}
    (folder / "scoped.py").write_text(PROGRAM.format(**parts))
    done = lint("--warp-version", warp, "scoped.py")
    return re.findall(r"(WP\d{3}) \[\w+(?:, \w+)?\] (.*)", done.stdout)


def test_nothing_is_switched_off(lint: Command, tmp_path: Path) -> None:
    assert found(lint, tmp_path) == []


@pytest.mark.parametrize(
    ("head", "options", "level"),
    [
        (PROCESS, "", "`wp.config.enable_backward`"),
        (MODULE["wp.set_module_options"][0].replace("OFF", "False"), "", "an option of its module"),
        (MODULE["wp.get_module"][0].replace("OFF", "False"), "", "an option of its module"),
        (MODULE["module="][0].replace("OFF", "False"), MODULE["module="][1], "an option of its module"),
        ("", "(enable_backward=False)", "an option of the kernel"),
    ],
)
def test_what_switched_it_off_is_named(lint: Command, tmp_path: Path, head: str, options: str, level: str) -> None:
    (one,) = found(lint, tmp_path, head=head, options=options)
    assert one[0] == "WP302"
    assert one[1].startswith(level), one


@pytest.mark.parametrize("spelling", MODULE)
def test_a_module_beats_the_process(lint: Command, tmp_path: Path, spelling: str) -> None:
    head, options = MODULE[spelling]
    assert found(lint, tmp_path, head=f"{PROCESS}\n{head.replace('OFF', 'True')}", options=options) == []


@pytest.mark.parametrize("spelling", MODULE)
def test_a_kernel_beats_its_module(lint: Command, tmp_path: Path, spelling: str) -> None:
    head, options = MODULE[spelling]
    on = f"{options[:-1]}, enable_backward=True)" if options else "(enable_backward=True)"
    assert found(lint, tmp_path, head=head.replace("OFF", "False"), options=on) == []
    off = on.replace("True", "False")
    (one,) = found(lint, tmp_path, head=head.replace("OFF", "True"), options=off)
    assert one[0] == "WP302" and one[1].startswith("an option of the kernel")


@pytest.mark.parametrize("warp", ["1.5", "1.8", "1.17", "1.18", "1.19"])
def test_funcs_follow_their_module_before_1_18(lint: Command, tmp_path: Path, warp: str) -> None:
    parts = {
        "head": MODULE["wp.set_module_options"][0].replace("OFF", "False"),
        "options": "(enable_backward=True)",
        "body": "squared(x[i])",
    }
    rules = [rule for rule, _ in found(lint, tmp_path, warp, **parts)]
    assert rules == (["WP303"] if warp in ("1.5", "1.8", "1.17") else [])


CALLED = """
import warp as wp


@wp.func
def product(x: wp.array(dtype=float), n: int):
    p = float(1.0)
    for k in range(n):
        p = p * x[k]
    return p


@wp.func
def scaled(x: wp.array(dtype=float), n: int):
    return 2.0 * product(x, n)


@wp.kernel(enable_backward=False)
def forward(x: wp.array(dtype=float), n: int, out: wp.array(dtype=float)):
    out[wp.tid()] = scaled(x, n)
"""
CALLS = {
    "by no kernel with an adjoint": ("", []),
    "by one, through another func": (
        """

@wp.kernel
def both(x: wp.array(dtype=float), n: int, out: wp.array(dtype=float)):
    out[wp.tid()] = scaled(x, n)
""",
        ["WP104"],
    ),
    "by `wp.grad()` in a kernel without": (
        """

@wp.func
def power(x: float, n: int):
    p = float(1.0)
    for k in range(n):
        p = p * x
    return p


@wp.kernel(enable_backward=False)
def slopes(x: wp.array(dtype=float), n: int, out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.grad(power)(x[i], n)[0]
""",
        ["WP104"],
    ),
}


@pytest.mark.parametrize("called", CALLS)
def test_funcs_have_the_adjoints_that_are_called_for(lint: Command, tmp_path: Path, called: str) -> None:
    addition, expected = CALLS[called]
    (tmp_path / "called.py").write_text(CALLED + addition)
    assert re.findall(r"WP\d{3}", lint("called.py").stdout) == expected


SILENT = """
import warp as wp

{head}


@wp.struct
class State:
    v: wp.vec3


@wp.kernel
def everything(
    x: wp.array(dtype=float), n: int, v: wp.array(dtype=wp.vec3), y: wp.array(dtype=float), out: wp.array(dtype=float)
):
    i = wp.tid()
    out[i] *= x[i]
    p = float(1.0)
    for k in range(n):
        p = p * x[k]
    out[i] = p
    s = State()
    s.v[0] = x[i] * x[i]
    u = v[i]
    u[0] = x[i]
    u.x += x[i]
    y[i] = wp.round(x[i])
    out[i] = out[i] + s.v[0] * u[0] + wp.where(x[i] > 0.0, wp.sqrt(x[i]), 0.0)
    out[i] += wp.sqrt(wp.dot(u, u))
"""


@pytest.mark.parametrize("spelling", ["wp.set_module_options", "wp.get_module"])
def test_nothing_about_gradients_in_a_module_that_runs_forward_only(
    lint: Command, tmp_path: Path, spelling: str
) -> None:
    found = {}
    for state in ("True", "False"):
        (tmp_path / "silent.py").write_text(SILENT.format(head=MODULE[spelling][0].replace("OFF", state)))
        done = lint("--select", "ALL", "--min-severity", "info", "silent.py")
        found[state] = set(re.findall(r"(WP\d)\d\d \[", done.stdout))
    assert {"WP1", "WP3", "WP5"} <= found["True"]
    assert found["False"] <= {"WP7"}


RECORDED = """
import warp as wp


@wp.kernel(enable_backward=False)
def bend(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


@wp.kernel(enable_backward=False)
def bend_back(x: wp.array(dtype=float), slope: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] += 2.0 * x[i] * slope[i]


@wp.kernel
def total(y: wp.array(dtype=float), loss: wp.array(dtype=float)):
    wp.atomic_add(loss, 0, y[wp.tid()])


def slope(start):
    x = wp.array(start, dtype=float, requires_grad=True)
    y = wp.zeros_like(x)
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(bend, dim=len(start), inputs=[x], outputs=[y]{launched})
        {recorded}
        wp.launch(total, dim=len(start), inputs=[y], outputs=[loss])
    tape.backward(loss)
    return x.grad.numpy()
"""
BY_HAND = """tape.record_func(
            lambda: wp.launch(bend_back, dim=len(start), inputs=[x, y.grad], outputs=[x.grad]), [x, y]
        )"""


@pytest.mark.parametrize(
    ("launched", "recorded", "rules"),
    [
        ("", "pass", ["WP302"]),
        ("", BY_HAND, []),
        (", record_tape=False", BY_HAND, []),
        (", record_tape=False", "pass", ["WP309"]),
    ],
)
def test_a_recorded_function_takes_the_place_of_an_adjoint(
    lint: Command, tmp_path: Path, launched: str, recorded: str, rules: list[str]
) -> None:
    text = RECORDED.replace("{launched}", launched).replace("{recorded}", recorded)
    (tmp_path / "recorded.py").write_text(text)
    assert re.findall(r"WP\d{3}", lint("recorded.py").stdout) == rules


REACHED = """
import warp as wp


@wp.kernel
def on_tape(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    wp.atomic_add(out, 0, x[wp.tid()] * x[wp.tid()])


@wp.kernel
def off_tape(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] + 1.0


@wp.kernel(enable_backward=False)
def said(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] + 1.0


@wp.kernel
def nowhere(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] + 1.0


def slope(start):
    x = wp.array(start, dtype=float, requires_grad=True)
    out = wp.zeros(1, dtype=float, requires_grad=True)
    wp.launch(off_tape, dim=len(start), inputs=[x])
    wp.launch(said, dim=len(start), inputs=[x])
    tape = wp.Tape()
    with tape:
        wp.launch(on_tape, dim=len(start), inputs=[x], outputs=[out])
    tape.backward(out)
    return x.grad.numpy()
"""


def test_adjoints_that_no_tape_reaches_are_told_where_that_is_asked_for(warplint: Command, tmp_path: Path) -> None:
    (tmp_path / "reached.py").write_text(REACHED)
    arguments = ("--no-probe", "--output-format", "json", "--min-severity", "info", "reached.py")
    assert json.loads(warplint(*arguments).stdout)["findings"] == [], "it is off where nobody selects it"
    (one,) = json.loads(warplint("--select", "WP711", *arguments).stdout)["findings"]
    assert (one["rule"], one["severity"]) == ("WP711", "info")
    assert one["message"].startswith("`off_tape` is compiled with an adjoint")
