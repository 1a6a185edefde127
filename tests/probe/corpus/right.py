# ruff: noqa: UP018 - `float(0.0)` is how a local that a dynamic loop changes is made in Warp
"""Kernels whose adjoints are right in Warp 1.19, many of them hard for finite differences. `# flagged` ends the line
that somebody might suspect; a check other than the gradient follows it."""

import warp as wp

STIFFNESS = wp.constant(1.0e5)
COUNT = 4


@wp.struct
class Spring:
    stiffness: float
    rest: float
    anchor: wp.vec3


@wp.func
def accumulate(x: wp.array(dtype=float), n: int) -> float:
    total = float(0.0)
    for k in range(n):
        total += x[k] * x[k]  # flagged
    return total


@wp.func
def several(x: float, v: wp.vec3):
    w = v * x  # flagged
    return wp.length(w), w


@wp.kernel
def element_scaled_by_constant(a: wp.array(dtype=float)):
    i = wp.tid()
    a[i] *= 0.5  # flagged


@wp.kernel
def element_added(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    a[i] += b[i] * b[i]  # flagged


@wp.kernel
def separate_output(a: wp.array(dtype=float), b: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = a[i] * b[i]  # flagged


@wp.kernel
def local_scaled(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    a = x[i]
    a *= x[i + 1]  # flagged
    a /= 2.0 + x[i] * x[i]
    out[i] = a


@wp.kernel
def component_once(x: wp.array(dtype=float), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    v = wp.vec3()
    v[0] = x[i]
    v[1] = x[i] * x[i]  # flagged
    out[i] = v


@wp.kernel
def component_per_branch(x: wp.array(dtype=float), out: wp.array(dtype=wp.vec2)):
    i = wp.tid()
    v = wp.vec2()
    if x[i] > 0.8:
        v[0] = x[i]
    else:
        v[0] = x[i] * x[i]  # flagged
    out[i] = v


@wp.kernel
def component_added(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    v = wp.vec2(x[i], 1.0)
    v[0] += x[i] * x[i]  # flagged
    out[i] = v[0] * v[1]


@wp.kernel
def loop_sum(x: wp.array(dtype=float), n: int, out: wp.array(dtype=float)):
    i = wp.tid()
    total = float(0.0)
    for k in range(n):
        total += wp.sin(x[k]) * x[k]  # flagged
    out[i] = 0.5 * total


@wp.kernel
def loop_unrolled_product(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    total = float(1.0)
    for k in range(COUNT):
        total *= x[i + k]  # flagged
    out[i] = total


@wp.kernel
def loop_damped(x: wp.array(dtype=float), n: int, out: wp.array(dtype=float)):
    i = wp.tid()
    total = float(0.0)
    for k in range(n):
        total = 0.5 * total + x[k]  # flagged
    out[i] = total


@wp.kernel
def loop_offsets(start: wp.array(dtype=int), x: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    total = wp.vec3()
    for k in range(start[i], start[i + 1]):
        total += x[k]  # flagged
    out[i] = total[0] + 2.0 * total[1] - total[2]


@wp.kernel
def scatter(index: wp.array(dtype=int), x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[index[i]] = x[i] * x[i]  # flagged


@wp.kernel
def gather_atomic(index: wp.array(dtype=int), x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(out, index[i], wp.exp(-x[i]))  # flagged


@wp.kernel
def stiff_contact(gap: wp.array(dtype=float), force: wp.array(dtype=float)):
    i = wp.tid()
    depth = 0.9 - gap[i]
    if depth > 0.0:
        force[i] = STIFFNESS * depth * wp.sqrt(depth)  # flagged
    else:
        force[i] = 0.0


@wp.kernel
def steep(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.exp(20.0 * x[i])  # flagged


@wp.kernel
def cancelling(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = (1.0e3 + x[i]) - (1.0e3 - x[i] * x[i])  # flagged


@wp.kernel
def kinked(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.abs(x[i] - 1.0) + wp.max(x[i], 0.7) + wp.clamp(x[i], 0.5, 1.2)  # flagged


@wp.kernel
def quaternions(q: wp.array(dtype=wp.quat), v: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    out[i] = wp.quat_rotate(wp.normalize(q[i]), v[i])  # flagged


@wp.kernel
def transforms(t: wp.array(dtype=wp.transform), p: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    out[i] = wp.transform_point(t[i], p[i])  # flagged


@wp.kernel
def matrices(m: wp.array(dtype=wp.mat33), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.determinant(m[i]) + wp.trace(wp.inverse(m[i]))  # flagged


@wp.kernel
def springs(spring: wp.array(dtype=Spring), x: wp.array(dtype=wp.vec3), energy: wp.array(dtype=float)):
    i = wp.tid()
    s = spring[i]
    stretch = wp.length(x[i] - s.anchor) - s.rest
    wp.atomic_add(energy, 0, 0.5 * s.stiffness * stretch * stretch)  # flagged


@wp.kernel
def doubles(x: wp.array(dtype=wp.float64), out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    out[i] = x[i] * wp.exp(-x[i] * x[i])  # flagged


@wp.kernel
def generic(x: wp.array(dtype=wp.Float), out: wp.array(dtype=wp.Float)):
    i = wp.tid()
    out[i] = x[i] * x[i] * x[i]  # flagged


@wp.kernel
def overwritten_after_linear_read(a: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = 3.0 * a[i]
    a[i] = 1.0  # flagged


@wp.kernel
def branch_root(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    if x[i] > 0.0:
        out[i] = wp.sqrt(x[i])  # flagged finite-adjoint
    else:
        out[i] = 0.0


@wp.kernel
def where_guarded(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    safe = wp.max(x[i], 0.01)
    out[i] = wp.where(x[i] > 0.01, wp.sqrt(safe), 0.0)  # flagged finite-adjoint


@wp.kernel
def where_length(v: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.where(v[i][0] > 0.0, wp.length(v[i]), 0.0)  # flagged finite-adjoint
