"""Small Warp programs for tests of the whole command."""

from __future__ import annotations

#: WP101 on line 7, and nothing else.
IN_PLACE = """\
import warp as wp


@wp.kernel
def attenuate(light: wp.array(dtype=float), passed: wp.array(dtype=float)):
    i = wp.tid()
    light[i] *= passed[i]
"""

#: WP104 on line 8, and nothing else.
CARRIED = """\
import warp as wp


@wp.kernel
def compound(rate: wp.array(dtype=float), years: int, amount: wp.array(dtype=float)):
    factor = float(1.0)
    for year in range(years):
        factor = factor * (1.0 + rate[year])
    amount[0] = factor
"""

#: Right, and looks like the above.
CLEAN = """\
import warp as wp


@wp.kernel
def attenuate(light: wp.array(dtype=float), passed: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = light[i] * passed[i]
"""

#: One defect in three kernels: one on a tape, one launched outside tapes, one that nothing launches.
REACHED = """
import warp as wp


@wp.kernel
def on_tape(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] *= x[i]


@wp.kernel
def off_tape(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] *= x[i]


@wp.kernel
def nowhere(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] *= x[i]


def slope(start):
    x = wp.array(start, dtype=float, requires_grad=True)
    out = wp.ones_like(x)
    tape = wp.Tape()
    with tape:
        wp.launch(on_tape, dim=len(start), inputs=[x], outputs=[out])
    tape.backward(grads={out: wp.ones_like(out)})
    wp.launch(off_tape, dim=len(start), inputs=[x], outputs=[out])
    return x.grad.numpy()
"""
