"""What recipes write, and where they write nothing. Whether it is right is for the probe to see."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from warplint.pipeline import run
from warplint.settings.options import Options
from warplint.source.edits import edited

HEAD = "import warp as wp\n\n\n"


def mended(folder: Path, code: str, rule: str) -> str | None:
    """``code`` with the fix of its finding by ``rule``, None where it has none."""
    path = folder / "a.py"
    path.write_text(HEAD + code, encoding="utf-8")
    report = run(Options((str(path),), isolated=True, probe=False, output_format="json")).report
    (found,) = [finding for finding in report.findings if finding.rule == rule]
    if found.fix is None:
        return None
    assert found.fix.applicability == "unsafe", "nothing was proved"
    return edited(HEAD + code, found.fix.edits).removeprefix(HEAD)


KERNELS = """\
@wp.kernel
def stretch(length: wp.array(dtype=float), strain: wp.array(dtype=float)):
    i = wp.tid()
    strain[i] = length[i] - 1.0


@wp.kernel
def energy(strain: wp.array(dtype=float), total: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(total, 0, 0.5 * strain[i] * strain[i])


"""
HOST = """\
def gradient(n):
    length = wp.ones(n, dtype=float, requires_grad=True)
    strain = ALLOCATION
    total = wp.zeros(1, dtype=float, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(stretch, dim=n, inputs=[length], outputs=[strain])
        wp.launch(energy, dim=n, inputs=[strain], outputs=[total])
    tape.backward(total)
    return length.grad.numpy()
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("wp.zeros(n, dtype=float)", "wp.zeros(n, dtype=float, requires_grad=True)"),
        ("wp.zeros((n))", "wp.zeros((n), requires_grad=True)"),
        ("wp.zeros(n, dtype=float, requires_grad=False)", "wp.zeros(n, dtype=float, requires_grad=True)"),
        (
            "wp.empty(\n        n,  # one each\n        dtype=float,  # strain\n    )",
            "wp.empty(\n        n,  # one each\n        dtype=float, requires_grad=True,  # strain\n    )",
        ),
        ("wp.zeros(shape=n, dtype=float) # é", "wp.zeros(shape=n, dtype=float, requires_grad=True) # é"),
    ],
)
def test_requires_grad(tmp_path: Path, before: str, after: str) -> None:
    code = KERNELS + HOST
    assert mended(tmp_path, code.replace("ALLOCATION", before), "WP301") == code.replace("ALLOCATION", after)


def test_requires_grad_in_positional_arguments_is_left_alone(tmp_path: Path) -> None:
    code = (KERNELS + HOST).replace("ALLOCATION", "wp.zeros(n, float, None, False)")
    assert mended(tmp_path, code, "WP301") is None


LIFT = """\
@wp.kernel
def lift(place: wp.array(dtype=wp.TYPE), rise: wp.array(dtype=float), out: wp.array(dtype=wp.TYPE)):
    i = wp.tid()
    p = place[i]
STORES
    out[i] = p
"""


@pytest.mark.parametrize(
    ("rule", "kind", "before", "after"),
    [
        ("WP108", "vec3", "    p.z += rise[i]  # up", "    p[2] += rise[i]  # up"),
        ("WP108", "quat", "    p.w -= rise[i]", "    p[3] -= rise[i]"),
        ("WP102", "vec2", "    p[1] = rise[i] * p[1]  # up", "    p = wp.vec2(p[0], rise[i] * p[1])  # up"),
        ("WP102", "vec3", "    p.y *= rise[i] + 1.0", "    p = wp.vec3(p[0], p[1] * (rise[i] + 1.0), p[2])"),
        ("WP102", "quat", "    p[3] = rise[i]", "    p = wp.quat(p[0], p[1], p[2], rise[i])"),
        # What follows directly goes into the same constructor, ...
        (
            "WP102",
            "vec3",
            "    p[0] *= rise[i]\n    p[2] *= p[1]",
            "    p = wp.vec3(p[0] * rise[i], p[1], p[2] * p[1])",
        ),
        # ... unless it reads what was stored just before, or somebody wrote a comment there.
        (
            "WP102",
            "vec2",
            "    p[0] *= rise[i]\n    p[1] *= p[0]",
            "    p = wp.vec2(p[0] * rise[i], p[1])\n    p = wp.vec2(p[0], p[1] * p[0])",
        ),
        (
            "WP102",
            "vec2",
            "    p[0] *= rise[i]\n    # then\n    p[1] *= 2.0",
            "    p = wp.vec2(p[0] * rise[i], p[1])\n    # then\n    p = wp.vec2(p[0], p[1] * 2.0)",
        ),
    ],
)
def test_components(tmp_path: Path, rule: str, kind: str, before: str, after: str) -> None:
    code = LIFT.replace("TYPE", kind)
    assert mended(tmp_path, code.replace("STORES", before), rule) == code.replace("STORES", after)


def test_components_that_are_chosen_at_run_time_are_left_alone(tmp_path: Path) -> None:
    code = LIFT.replace("TYPE", "vec3").replace("STORES", "    k = i % 3\n    p[k] *= rise[i]")
    assert mended(tmp_path, code, "WP102") is None


FUNC_GRAD = """\
@wp.func
def square(x: float):
    return x * x


@wp.func_grad(square)
def adj_square(x: float, adj_ret: float):
    STATEMENT


@wp.kernel
def polynomial(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    t = x[i]
    y[i] = square(t) + 3.0 * t
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("wp.adjoint[x] = 2.0 * x * adj_ret", "wp.adjoint[x] += 2.0 * x * adj_ret"),
        ("wp.adjoint[x]=(\n        2.0 * x\n    ) * adj_ret", "wp.adjoint[x]+=(\n        2.0 * x\n    ) * adj_ret"),
    ],
)
def test_adjoint(tmp_path: Path, before: str, after: str) -> None:
    code = FUNC_GRAD.replace("STATEMENT", before)
    assert mended(tmp_path, code, "WP601") == FUNC_GRAD.replace("STATEMENT", after)


FIT = """\
@wp.kernel
def misfit(weight: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(out, 0, weight[i] * weight[i])


@wp.kernel
def descend(weight: wp.array(dtype=float), slope: wp.array(dtype=float)):
    i = wp.tid()
    weight[i] = weight[i] - 0.1 * slope[i]


def fit(n):
    weight = wp.ones(n, dtype=float, requires_grad=True)
    for _ in range(3):
        out = wp.zeros(1, dtype=float, requires_grad=True)
        tape = wp.Tape()
        with tape:
            wp.launch(misfit, dim=n, inputs=[weight], outputs=[out])
        tape.backward(out)
        wp.launch(
            descend, dim=n, inputs=[weight, weight.grad]
        )  # one stepREST
    return weight.numpy()
"""


STEP = """\
        wp.launch(
            descend, dim=n, inputs=[weight, weight.grad]
        )  # one step"""
STEP_OF_A_VIEW = """\
        slopes = weight.grad.numpy()
        weight.assign(weight.numpy() - 0.1 * slopes)"""


def test_zero(tmp_path: Path) -> None:
    assert mended(tmp_path, FIT.replace("REST", ""), "WP402") == FIT.replace("REST", "\n        tape.zero()")


def test_zero_in_a_function_that_is_called_from_elsewhere(tmp_path: Path) -> None:
    code = FIT + "\n\nfit(4)\n"
    assert mended(tmp_path, code.replace("REST", ""), "WP402") == code.replace("REST", "\n        tape.zero()")


@pytest.mark.parametrize(
    "step",
    ["weight.assign(weight.numpy() - 0.1 * weight.grad.numpy())", "weight.assign(2.0 * (weight.grad.numpy() + 1.0))"],
)
def test_zero_after_what_numpy_computes_anew(tmp_path: Path, step: str) -> None:
    code = FIT.replace("REST", "").replace(STEP, f"        {step}  # one step")
    assert mended(tmp_path, code, "WP402") == code.replace("# one step", "# one step\n        tape.zero()")


@pytest.mark.parametrize(
    "code",
    [
        FIT.replace("REST", "\n        print(weight.grad)"),
        FIT.replace("REST", "").replace("    return weight.numpy()", "    return weight.grad.numpy()"),
        FIT.replace("REST", "").replace(
            "        tape = wp.Tape()", "        print(weight.grad)\n        tape = wp.Tape()"
        ),
        # A view of the gradient, which would be zeroed with it.
        FIT.replace("REST", "").replace(STEP, STEP_OF_A_VIEW),
        FIT.replace("REST", "") + "\n\ndef show(weight):\n    print(weight.grad)\n",
    ],
)
def test_gradients_that_are_looked_at_elsewhere_are_not_zeroed(tmp_path: Path, code: str) -> None:
    assert mended(tmp_path, code, "WP402") is None


READ = """\
@wp.kernel
def energy(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    wp.atomic_add(out, 0, x[wp.tid()] * x[wp.tid()])


@wp.kernel
def keep(slope: wp.array(dtype=float), kept: wp.array(dtype=float)):
    kept[wp.tid()] = slope[wp.tid()]


def slopes(n):
    x = wp.ones(n, dtype=float, requires_grad=True)
    kept = wp.zeros(n, dtype=float)
    out = wp.zeros(1, dtype=float, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(energy, dim=n, inputs=[x], outputs=[out])
    tape.backward(out)
LAST
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "    tape.zero()\n    return x.grad.numpy()",
            "    gradient = x.grad.numpy().copy()\n    tape.zero()\n    return gradient",
        ),
        (
            "    x.grad.zero_()\n    wp.launch(keep, dim=n, inputs=[x.grad], outputs=[kept])\n    return kept",
            "    wp.launch(keep, dim=n, inputs=[x.grad], outputs=[kept])\n    x.grad.zero_()\n    return kept",
        ),
        ("    tape.zero()\n    found = x.grad.numpy()\n    return found", None),
        ("    tape.zero()  # for the next\n    return x.grad.numpy()", None),
    ],
)
def test_reading_before_zeroing(tmp_path: Path, before: str, after: str | None) -> None:
    expected = None if after is None else READ.replace("LAST", after)
    assert mended(tmp_path, READ.replace("LAST", before), "WP403") == expected


DISTANCE = """\
@wp.kernel
def distances(a: wp.array(dtype=wp.vec3), b: wp.array(dtype=wp.vec3), distance: wp.array(dtype=float)):
    i = wp.tid()
    d = a[i] - b[i]
    distance[i] = ROOT + 1.0
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("wp.sqrt(wp.dot(d, d))", "wp.length(d)"),
        ("wp.sqrt(wp.length_sq(d))", "wp.length(d)"),
        ("wp.sqrt(d[0] * d[0])", "wp.abs(d[0])"),
        ("wp.sqrt((d[0] * d[0]) + d[1] * d[1])", "wp.length(wp.vec2(d[0], d[1]))"),
        ("wp.sqrt(2.0 * wp.length_sq(d))", None),
        ("wp.sqrt(wp.abs(d[0]))", None),
    ],
)
def test_root(tmp_path: Path, before: str, after: str | None) -> None:
    expected = None if after is None else DISTANCE.replace("ROOT", after)
    assert mended(tmp_path, DISTANCE.replace("ROOT", before), "WP502") == expected


OUTFLOW = """\
@wp.kernel
def outflow(head: wp.array(dtype=float), flow: wp.array(dtype=float)):
    i = wp.tid()
    h = head[i]
    flow[i] = CHOICE
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("wp.where(h > 0.0, wp.sqrt(h), 0.0)", "wp.sqrt(h) if h > 0.0 else 0.0"),
        ("1.0 + wp.where(h > 0.0, wp.sqrt(h), 0.0)", "1.0 + (wp.sqrt(h) if h > 0.0 else 0.0)"),
        (
            "wp.where(cond=h > 0.0, value_if_true=1.0 / h, value_if_false=0.0)",
            "1.0 / h if h > 0.0 else 0.0",
        ),
        ("wp.where(h > 0.0,  # wet\n        wp.sqrt(h), 0.0)", None),
    ],
)
def test_choice(tmp_path: Path, before: str, after: str | None) -> None:
    expected = None if after is None else OUTFLOW.replace("CHOICE", after)
    assert mended(tmp_path, OUTFLOW.replace("CHOICE", before), "WP501") == expected


def test_what_was_computed_before_is_not_helped_by_a_choice(tmp_path: Path) -> None:
    code = OUTFLOW.replace("    flow[i] = CHOICE", "    r = wp.sqrt(h)\n    flow[i] = wp.where(h > 0.0, 2.0 * r, 0.0)")
    assert mended(tmp_path, code, "WP501") is None


HOUSEKEEPING = """\
@wp.kernel
def energy(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    wp.atomic_add(out, 0, x[wp.tid()] * x[wp.tid()])


@wp.kernel
def clear(out: wp.array(dtype=float)):
    out[wp.tid()] = 0.0


def gradient(n):
    x = wp.ones(n, dtype=float, requires_grad=True)
    out = wp.zeros(1, dtype=float, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(energy, dim=n, inputs=[x], outputs=[out])
        # from here on nobody needs it
CLEAR
    tape.backward(out)
    return x.grad.numpy()
"""


def test_closing_the_tape(tmp_path: Path) -> None:
    inside = "        wp.launch(\n            clear,  # all\n            dim=1, inputs=[out]\n        )"
    outside = "    wp.launch(\n        clear,  # all\n        dim=1, inputs=[out]\n    )"
    assert mended(tmp_path, HOUSEKEEPING.replace("CLEAR", inside), "WP404") == HOUSEKEEPING.replace("CLEAR", outside)


def test_the_loss_goes_into_the_block_of_the_tape(tmp_path: Path) -> None:
    inside = (
        "        wp.launch(energy, dim=n, inputs=[x], outputs=[out])\n"
        "        # from here on nobody needs it\n"
        "        wp.launch(\n            energy, dim=n,  # once more\n            inputs=[x], outputs=[out]\n        )"
    )
    head, _, tail = HOUSEKEEPING.partition("        wp.launch(energy")
    tail = tail.partition("CLEAR")[2]
    before = "        wp.copy(y, x)\n" + textwrap.indent(textwrap.dedent(inside), "    ")
    after = "        wp.copy(y, x)\n" + inside.replace("        # from", "    # from")
    head = head.replace("    out =", "    y = wp.zeros_like(x)\n    out =")
    assert mended(tmp_path, head + before + tail, "WP409") == head + after + tail
    # What stands between them may not belong there.
    between = before.replace("    # from here on nobody needs it", "    n = 2 * n")
    assert mended(tmp_path, head + between + tail, "WP409") is None


GROWTH = """\
@wp.kernel
def grow(size: wp.array(dtype=float), rate: wp.array(dtype=float), grown: wp.array(dtype=float)):
    i = wp.tid()
    grown[i] = size[i] + rate[0] * size[i] * (1.0 - size[i])


@wp.kernel
def total(size: wp.array(dtype=float), out: wp.array(dtype=float)):
    wp.atomic_add(out, 0, size[wp.tid()])


def rate_gradient(start, device=None):
    rate = wp.array([0.3], dtype=float, requires_grad=True)
    size = wp.array(start, dtype=float, requires_grad=True)
    grown = wp.zeros_like(size)
    out = wp.zeros(1, dtype=float, requires_grad=True)
    tape = wp.Tape()
    with tape:
        for step in range(4):
            wp.launch(grow, dim=len(size), inputs=[size, rate], outputs=[grown])
            COPY
        wp.launch(total, dim=size.shape, inputs=[size], outputs=[out])
    tape.backward(out)
    print(size.numpy())
    return rate.grad.numpy()
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("wp.copy(size, grown)  # é", "size = wp.clone(grown)  # é"),
        ("wp.copy(\n                src=grown, dest=size\n            )", "size = wp.clone(grown)"),
        ("size.assign(grown); size.fill_(2.0)", "size = wp.clone(grown); size.fill_(2.0)"),
        ("wp.copy(size,  # the old one\n                grown)", None),
    ],
)
def test_rebinding(tmp_path: Path, before: str, after: str | None) -> None:
    expected = None if after is None else GROWTH.replace("COPY", after)
    assert mended(tmp_path, GROWTH.replace("COPY", before), "WP202") == expected


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # Something else has the array as well, ...
        ("    tape = wp.Tape()", "    states = [size]\n    tape = wp.Tape()"),
        ("    tape = wp.Tape()", "    first = size\n    tape = wp.Tape()"),
        ("    tape = wp.Tape()", "    watch(size)\n    tape = wp.Tape()"),
        ("    tape = wp.Tape()", "    seen = size.numpy()\n    tape = wp.Tape()"),
        ("    tape = wp.Tape()", "    show = lambda: print(size)\n    tape = wp.Tape()"),
        ("    print(size.numpy())\n    return rate.grad.numpy()", "    return rate.grad.numpy(), size"),
        # ... or had it before.
        ("(start, device=None):", "(start, size, device=None):"),
        ("size = wp.array(start, dtype=float, requires_grad=True)", "size = wp.array(ptr=start, shape=3, dtype=float)"),
        # The gradient of the array that the name stood for first is wanted.
        ("return rate.grad.numpy()", "return size.grad.numpy()"),
        # A clone is where its source is.
        ("grown = wp.zeros_like(size)", 'grown = wp.zeros_like(size, device="cpu")'),
        ("    tape = wp.Tape()", "    tape = wp.Tape()\n    print(wp.ScopedDevice)"),
    ],
)
def test_arrays_that_others_have_are_not_rebound(tmp_path: Path, before: str, after: str) -> None:
    code = GROWTH.replace("COPY", "wp.copy(size, grown)")
    assert code.count(before) == 1
    assert mended(tmp_path, code.replace(before, after), "WP202") is None


PRODUCT = """\
FOUR = 4


@wp.kernel
def product(x: wp.array(dtype=float), n: int, out: wp.array(dtype=float)):
    p = float(1.0)
    for i in RANGE:  # é
        p *= x[i]
    out[0] = p
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("range(FOUR - 1)", "range(wp.static(FOUR - 1))"),
        ("range(FOUR // 2, 2 * 4, 2)", "range(wp.static(FOUR // 2), wp.static(2 * 4), 2)"),
        ("range(\n        int(4)\n    )", "range(\n        wp.static(int(4))\n    )"),
        ("wp.range(FOUR)", "range(FOUR)"),
        # The number is not fixed, or is more than Warp unrolls.
        ("range(n - 1)", None),
        ("range(x.shape[0])", None),
        ("range(5 * FOUR)", None),
        ("range(17)", None),
        ("range(wp.min(FOUR, 3))", None),
        ("range(\n        FOUR  # all\n        - 1\n    )", None),
    ],
)
def test_unrolling(tmp_path: Path, before: str, after: str | None) -> None:
    expected = None if after is None else PRODUCT.replace("RANGE", after)
    assert mended(tmp_path, PRODUCT.replace("RANGE", before), "WP104") == expected


def test_a_loop_that_is_left_early_is_not_unrolled(tmp_path: Path) -> None:
    code = PRODUCT.replace("RANGE", "range(FOUR - 1)").replace(
        "*= x[i]", "*= x[i]\n        if x[i] < -1.0:\n            break"
    )
    assert mended(tmp_path, code, "WP104") is None


def test_a_number_of_the_kernel_is_not_one_of_the_module(tmp_path: Path) -> None:
    code = PRODUCT.replace("RANGE", "range(FOUR - 1)").replace("n: int", "FOUR: int")
    assert mended(tmp_path, code, "WP104") is None


TWICE = """\
@wp.kernel
def bend(load: wp.array(dtype=float), shape: wp.array(dtype=float)):
    i = wp.tid()
    shape[i] = load[i] * load[i]


@wp.kernel
def total(shape: wp.array(dtype=float), out: wp.array(dtype=float)):
    wp.atomic_add(out, 0, shape[wp.tid()])


def bent(n, load, shape):
BEND


def slopes(n):
    load = wp.ones(n, dtype=float, requires_grad=True)
    shape = wp.zeros(n, dtype=float, requires_grad=True, retain_grad=True)
    out = wp.zeros(1, dtype=float, requires_grad=True)
    tape = wp.Tape()
    with tape:
        # the shape
BODY
        wp.launch(total, dim=n, inputs=[shape], outputs=[out])
    tape.backward(out)
    return load.grad.numpy()
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{0}\n{0}", "{0}"),
        ("{0}  # é\n        # again\n{0}", "{0}  # é\n        # again"),
        ("{0}\n        wp.launch(\n            bend, dim=n,\n            inputs=[load, shape]\n        )", "{0}"),
        ("{0}\n{0}  # again", None),
        ("{0}; wp.launch(bend, dim=n, inputs=[load, shape])", None),
        # The text of the second is that of the first.
        ("        bent(n, load, shape)\n        bent(n, load, shape)", None),
        ("        for _ in range(2):\n    {0}", None),
        # One of them may not be made.
        ("        if n > 0:\n    {0}\n{0}", None),
    ],
)
def test_launching_once(tmp_path: Path, before: str, after: str | None) -> None:
    launch = "        wp.launch(bend, dim=n, inputs=[load], outputs=[shape])"
    code = TWICE.replace("BEND", launch[4:])
    expected = None if after is None else code.replace("BODY", after.format(launch))
    assert mended(tmp_path, code.replace("BODY", before.format(launch)), "WP406") == expected


SETTLE = """\
@wp.kernel
def settle(height: wp.array(dtype=float), sand: wp.array(dtype=float)):
    i = wp.tid()
STORE


def settled(n, height, sand):
    wp.launch(settle, dim=n, inputs=[height, sand])
"""


@pytest.mark.parametrize(
    ("rule", "before", "after"),
    [
        ("WP101", "    height[i] *= sand[i]  # é", "    height_out[i] = height[i] * sand[i]  # é"),
        ("WP101", "    height[i] /= sand[i] + 1.0", "    height_out[i] = height[i] / (sand[i] + 1.0)"),
        ("WP103", "    h = height[i]\n    height[i] = wp.sin(h)", "    h = height[i]\n    height_out[i] = wp.sin(h)"),
        ("WP103", "    height[i] = height[i] * sand[i]", "    height_out[i] = height[i] * sand[i]"),
        # What is read after that is the new value.
        ("WP103", "    height[i] = wp.sin(height[i])\n    sand[i] = height[i]", None),
        # Not every thread stores, or not the element with its number.
        ("WP103", "    if height[i] > sand[i]:\n        height[i] = sand[i] * height[i]", None),
        ("WP103", "    if sand[i] < 0.0:\n        return\n    height[i] = wp.sin(height[i])", None),
        ("WP103", "    height[2 * i] = wp.sin(height[2 * i])", None),
        # The array is stored to in another place as well.
        ("WP103", "    wp.atomic_add(height, i, 1.0)\n    height[i] = wp.sin(height[i])", None),
        # There is such a name.
        ("WP103", "    height_out = wp.sin(height[i])\n    height[i] = height_out", None),
    ],
)
def test_separate_output(tmp_path: Path, rule: str, before: str, after: str | None) -> None:
    expected = None
    if after is not None:
        expected = SETTLE.replace("STORE", after)
        expected = expected.replace(
            "sand: wp.array(dtype=float)", "sand: wp.array(dtype=float), height_out: wp.array(dtype=float)"
        )
    assert mended(tmp_path, SETTLE.replace("STORE", before), rule) == expected


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "(\n    a: wp.array(dtype=float),  # é\n)",
            "(\n    a: wp.array(dtype=float),  # é\n    a_out: wp.array(dtype=float),\n)",
        ),
        ("(\n    a: wp.array(dtype=float)\n)", "(\n    a: wp.array(dtype=float),\n    a_out: wp.array(dtype=float)\n)"),
        (
            "(\n    b: wp.array(dtype=float), a: wp.array(dtype=float)\n)",
            "(\n    b: wp.array(dtype=float), a: wp.array(dtype=float), a_out: wp.array(dtype=float)\n)",
        ),
    ],
)
def test_where_a_parameter_goes(tmp_path: Path, before: str, after: str) -> None:
    code = "@wp.kernel\ndef wave{}:\n    i = wp.tid()\n    {}[i] = wp.sin(a[i])\n"
    assert mended(tmp_path, code.format(before, "a"), "WP103") == code.format(after, "a_out")
