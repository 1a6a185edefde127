"""Small programs for rules whose examples do not show by themselves what is wrong with them, for every version.

The answer is ``wrong`` where the defect of the rule is there. In the form of ``tools/versions_experiments.py``.
"""

from __future__ import annotations

#: By name: the rule, what is asked, and the program.
PROGRAMS: dict[str, tuple[str, str, str]] = {}


def _add(name: str, rule: str, text: str, body: str) -> None:
    PROGRAMS[name] = (rule, f"{text} ({rule})" if rule else text, body.lstrip("\n"))


_TWICE = """
x, z, a, b, loss = leaf(1.0, 2.0), leaf(3.0, 4.0), zeros(2), zeros(2), zeros(1)
with wp.Tape() as tape:
    wp.launch(store, dim=2, inputs=[x], outputs=[a])
    wp.launch(store, dim=2, inputs=[a], outputs=[b])
    OVERWRITE
    wp.launch(total, dim=2, inputs=[b], outputs=[loss])
tape.backward(loss)
answer = judged(x.grad.numpy(), [4.0, 32.0])
"""
_add(
    "array-overwritten",
    "WP201",
    "a launch that writes what an earlier one read",
    _TWICE.replace("OVERWRITE", "wp.launch(store, dim=2, inputs=[z], outputs=[a])"),
)
_add("copy-over-read", "WP202", "`wp.copy` onto what a launch read", _TWICE.replace("OVERWRITE", "wp.copy(a, z)"))
_add("fill-over-read", "WP203", "`zero_()` of what a launch read", _TWICE.replace("OVERWRITE", "a.zero_()"))
_add(
    "state-alias",
    "WP204",
    "a launch that reads and writes one array under two names",
    """
x, a, loss = leaf(1.0, 2.0), zeros(2), zeros(1)
states = [a, zeros(2)]
states[1] = states[0]
with wp.Tape() as tape:
    wp.launch(store, dim=2, inputs=[x], outputs=[states[0]])
    wp.launch(store, dim=2, inputs=[states[0]], outputs=[states[1]])
    wp.launch(total, dim=2, inputs=[states[1]], outputs=[loss])
tape.backward(loss)
answer = judged(x.grad.numpy(), [4.0, 32.0])
""",
)
_add(
    "written-before-backward",
    "WP205",
    "an array that is written between the tape and `backward()`",
    """
x, y, loss = leaf(1.0, 2.0), zeros(2), zeros(1)
with wp.Tape() as tape:
    wp.launch(store, dim=2, inputs=[x], outputs=[y])
    wp.launch(total, dim=2, inputs=[y], outputs=[loss])
x.assign(np.array([5.0, 6.0], dtype=np.float32))
tape.backward(loss)
answer = judged(x.grad.numpy(), [2.0, 4.0])
""",
)
_add(
    "flag-after-struct",
    "WP308",
    "`requires_grad` set after the array went into a struct",
    """
@wp.struct
class Beam:
    load: wp.array(dtype=float)


@wp.kernel
def bend(beam: Beam, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = beam.load[i] * beam.load[i]


x, y, loss = wp.array([1.0, 2.0], dtype=float), zeros(2), zeros(1)
beam = Beam()
beam.load = x
x.requires_grad = True
with wp.Tape() as tape:
    wp.launch(bend, dim=2, inputs=[beam], outputs=[y])
    wp.launch(total, dim=2, inputs=[y], outputs=[loss])
tape.backward(loss)
answer = judged(x.grad.numpy(), [2.0, 4.0])
""",
)
_add(
    "gradient-not-zeroed",
    "WP402",
    "two sweeps into one gradient, with a tape each",
    """
x = leaf(1.0, 2.0)
for _ in range(2):
    y, loss = zeros(2), zeros(1)
    with wp.Tape() as tape:
        wp.launch(store, dim=2, inputs=[x], outputs=[y])
        wp.launch(total, dim=2, inputs=[y], outputs=[loss])
    tape.backward(loss)
answer = judged(x.grad.numpy(), [2.0, 4.0])
""",
)
_add(
    "gradient-read-late",
    "WP403",
    "a gradient that is read after `tape.zero()`",
    """
x, y, loss = leaf(1.0, 2.0), zeros(2), zeros(1)
with wp.Tape() as tape:
    wp.launch(store, dim=2, inputs=[x], outputs=[y])
    wp.launch(total, dim=2, inputs=[y], outputs=[loss])
tape.backward(loss)
tape.zero()
answer = judged(x.grad.numpy(), [2.0, 4.0])
""",
)

_KERNEL = """
@wp.kernel
def work(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    BODY


x, y, loss = leaf(START), leaf(0.0, 0.0), zeros(1)
with wp.Tape() as tape:
    wp.launch(work, dim=2, inputs=[x], outputs=[y])
    wp.launch(total, dim=2, inputs=[y], outputs=[loss])
tape.backward(loss)
answer = judged(x.grad.numpy(), EXPECTED)
"""


def _kernel(
    name: str, rule: str, text: str, lines: str, expected: str, start: str = "1.0, 2.0", before: str = ""
) -> None:
    body = _KERNEL.replace("BODY", lines.replace("\n", "\n    ")).replace("EXPECTED", expected)
    _add(name, rule, text, before + body.replace("START", start))


_kernel(
    "element-overwritten",
    "WP103",
    "an element that is squared and then stored to",
    "y[i] = x[i] * x[i]\nx[i] = 7.0",
    "[2.0, 4.0]",
)
_kernel("rounded", "WP306", "`wp.round`, as if it were what it rounds", "y[i] = wp.round(x[i])", "[1.0, 1.0]")
_kernel(
    "root-of-dot",
    "WP502",
    "the root of a scalar product at zero",
    "v = wp.vec3(x[i], 0.0, 0.0)\ny[i] = wp.sqrt(wp.dot(v, v))",
    "[0.0, 0.0]",
    "0.0, 0.0",
)
_kernel(
    "struct-component",
    "WP109",
    "a component of a vector in a local struct that is stored to",
    "s = Pair()\ns.v[0] = x[i] * x[i]\ny[i] = s.v[0]",
    "[2.0, 4.0]",
    before="""@wp.struct
class Pair:
    v: wp.vec3

""",
)
_kernel(
    "custom-adjoint",
    "WP602",
    "a hand-written adjoint that forgets a factor",
    "y[i] = bent(x[i])",
    "[2.0, 4.0]",
    before="""@wp.func
def bent(x: float):
    return x * x


@wp.func_grad(bent)
def adj_bent(x: float, adj_ret: float):
    wp.adjoint[x] += x * adj_ret

""",
)
_add(
    "replayed",
    "WP606",
    "a func that adds to an array, after the sweep",
    """
@wp.func
def note(a: wp.array(dtype=float), v: float):
    a[0] += v
    return v


@wp.kernel
def work(x: wp.array(dtype=float), a: wp.array(dtype=float), loss: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(loss, 0, note(a, x[i] * x[i]))


x, a, loss = leaf(1.0, 2.0), zeros(1), zeros(1)
with wp.Tape() as tape:
    wp.launch(work, dim=2, inputs=[x, a], outputs=[loss])
tape.backward(loss)
answer = judged(a.numpy(), [5.0])
""",
)
_add(
    "negative-remainder",
    "WP707",
    "`%` of a negative number, against Python's",
    """
@wp.kernel
def work(n: int, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = float((i - 1) % n)


y = zeros(2)
wp.launch(work, dim=2, inputs=[3], outputs=[y])
answer = judged(y.numpy(), [2.0, 0.0])
""",
)
_RAISES = """
try:
    CALL
    answer = "right"
except Exception as error:
    answer = f"wrong: {type(error).__name__}: {str(error).splitlines()[0][:120]}"
"""
_add(
    "jacobian-without-adjoint",
    "WP703",
    "`wp.autograd.jacobian` of a kernel without an adjoint, an error",
    """
import warp.autograd


@wp.kernel(enable_backward=False)
def bent(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


x, y = leaf(1.0, 2.0), zeros(2)
"""
    + _RAISES.replace("CALL", "wp.autograd.jacobian(bent, dim=2, inputs=[x], outputs=[y])"),
)
for _name, _text, _call in (
    ("launch-count", "a launch with an argument too few, an error", "wp.launch(store, dim=2, inputs=[x])"),
    (
        "launch-dtype",
        "a launch with an array of another dtype, an error",
        "wp.launch(store, dim=2, inputs=[wp.zeros(2, dtype=int), x])",
    ),
    (
        "launch-rank",
        "a launch with an array of another rank, an error",
        "wp.launch(store, dim=2, inputs=[wp.zeros((2, 2), dtype=float), x])",
    ),
):
    _add(_name, "WP708", _text, "\nx = leaf(1.0, 2.0)\n" + _RAISES.replace("CALL", _call))
_ELEMENTS = """
@wp.struct
class Pair:
    first: float
    second: float


@wp.kernel
def part(x: wp.array(dtype=float), m: wp.array(dtype=wp.mat22), p: wp.array(dtype=Pair), a: wp.array(dtype=float)):
    i = wp.tid()
    BODY


@wp.kernel
def added(m: wp.array(dtype=wp.mat22), p: wp.array(dtype=Pair), a: wp.array(dtype=float), loss: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(loss, 0, m[i][0, 1] + p[i].first + a[i])


x, a, loss = leaf(1.0, 2.0), zeros(2), zeros(1)
m, p = wp.zeros(2, dtype=wp.mat22, requires_grad=True), wp.zeros(2, dtype=Pair, requires_grad=True)
with wp.Tape() as tape:
    wp.launch(store, dim=2, inputs=[x], outputs=[a])
    wp.launch(part, dim=2, inputs=[x], outputs=[m, p, a])
    wp.launch(added, dim=2, inputs=[m, p, a], outputs=[loss])
tape.backward(loss)
answer = judged(x.grad.numpy(), EXPECTED)
"""
for _name, _rule, _text, _line, _expected in (
    ("matrix-store", "WP312", "`m[i][0, 1] = x[i]` on an array of matrices", "m[i][0, 1] = x[i]", "[3.0, 5.0]"),
    ("matrix-add", "WP313", "`m[i][0, 1] += x[i]` on an array of matrices", "m[i][0, 1] += x[i]", "[3.0, 5.0]"),
    ("member-store", "WP312", "`p[i].first = x[i]` on an array of structs", "p[i].first = x[i]", "[3.0, 5.0]"),
    ("stored-over-read", "WP413", "an element that is read and then stored", "a[i] = 0.5 * a[i]", "[1.0, 2.0]"),
):
    _add(_name, _rule, _text, _ELEMENTS.replace("BODY", _line).replace("EXPECTED", _expected))
_add(
    "race",
    "WP709",
    "threads that read an element which another one writes, in one order and in the other",
    """
@wp.kernel
def upward(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = 0.5 * (x[i] + x[i + 1])


@wp.kernel
def downward(x: wp.array(dtype=float), last: int):
    i = last - wp.tid()
    x[i] = 0.5 * (x[i] + x[i + 1])


x, y = leaf(1.0, 2.0, 5.0), leaf(1.0, 2.0, 5.0)
wp.launch(upward, dim=2, inputs=[x])
wp.launch(downward, dim=2, inputs=[y, 1])
answer = judged(x.numpy(), y.numpy())
""",
)
_CHECKED = """
import warp.autograd


@wp.struct
class Load:
    x: wp.array(dtype=float)


@wp.func
def half(x: float):
    return x * x


@wp.func_grad(half)
def adj_half(x: float, adj_ret: float):
    wp.adjoint[x] += x * adj_ret


@wp.kernel(enable_backward=False)
def without(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


@wp.kernel
def bent(load: Load, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = half(load.x[i])


x, y = leaf(1.0, 2.0), zeros(2)
load = Load()
load.x = x
with wp.Tape() as tape:
    RECORDED
if not hasattr(wp.autograd, "gradcheck_tape"):
    answer = "missing: this version has no `gradcheck_tape`"
else:
    answer = "wrong: True" if wp.autograd.gradcheck_tape(tape, raise_exception=False) else "right"
"""
for _name, _text, _line in (
    ("without-adjoint", "a kernel without an adjoint", "wp.launch(without, dim=2, inputs=[x], outputs=[y])"),
    (
        "struct",
        "a wrong adjoint with respect to an array in a struct",
        "wp.launch(bent, dim=2, inputs=[load], outputs=[y])",
    ),
    ("function", "a recorded function that does nothing", "tape.record_func(lambda: None, [x, y])"),
):
    _add(
        f"checked-{_name}",
        "WP704",
        f"`gradcheck_tape` of {_text}: it finds nothing",
        _CHECKED.replace("RECORDED", _line),
    )
_MEMBERS = """@wp.struct
class Joint:
    load: float
    axis: wp.vec3


@wp.func
def loaded(x: float):
    joint = Joint()
    joint.load = x * x
    return joint


"""
for _name, _text, _lines in (
    ("number", "a number", "joint = Joint()\njoint.load = x[i] * x[i]\ny[i] = joint.load"),
    ("vector", "a whole vector", "joint = Joint()\njoint.axis = wp.vec3(x[i] * x[i], 0.0, 0.0)\ny[i] = joint.axis[0]"),
    ("added", "a number with `+=`", "joint = Joint()\njoint.load += x[i] * x[i]\ny[i] = joint.load"),
    ("returned", "a number, in a func that returns the struct", "joint = loaded(x[i])\ny[i] = joint.load"),
):
    _kernel(
        f"member-{_name}",
        "WP315",
        f"{_text} that is stored in a member of a local struct",
        _lines,
        "[2.0, 4.0]",
        before=_MEMBERS,
    )
