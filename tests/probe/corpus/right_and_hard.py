# ruff: noqa: UP018 - `float(0.0)` is how a local that a dynamic loop changes is made in Warp
"""More kernels whose adjoints are right in Warp 1.19 and hard for finite differences: stiff ones, large constants,
cancellation, kinks, atomics, quaternions, sorting, contact. `# flagged` ends the line that somebody might suspect."""

import warp as wp


@wp.func
def smooth_step(x: float) -> float:
    t = wp.clamp(x, 0.0, 1.0)
    return t * t * (3.0 - 2.0 * t)


@wp.func
def barrier(d: float, near: float) -> float:
    if d < near:
        return -(d - near) * (d - near) * wp.log(d / near)
    return 0.0


@wp.kernel
def sorted_three(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    a = wp.min(x[i], x[i + 1])
    b = wp.max(x[i], x[i + 1])
    c = wp.min(b, x[i + 2])
    out[i] = a + 2.0 * wp.max(a, c) + 3.0 * wp.max(b, x[i + 2])  # flagged


@wp.kernel
def median(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    high = wp.max(wp.min(x[i], x[i + 1]), wp.min(wp.max(x[i], x[i + 1]), x[i + 2]))
    out[i] = high * high  # flagged


@wp.kernel
def barrier_energy(d: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = 1.0e3 * barrier(wp.abs(d[i]) + 0.01, 1.0)  # flagged


@wp.kernel
def penalty_contact(p: wp.array(dtype=wp.vec3), v: wp.array(dtype=wp.vec3), force: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    depth = 0.8 - p[i][2]
    f = wp.vec3()
    if depth > 0.0:
        f = wp.vec3(-0.5 * v[i][0], -0.5 * v[i][1], 1.0e4 * depth - 30.0 * v[i][2])  # flagged
    force[i] = f


@wp.kernel
def friction_cone(v: wp.array(dtype=wp.vec3), load: wp.array(dtype=float), force: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    slip = wp.vec3(v[i][0], v[i][1], 0.0)
    size = wp.length(slip) + 1.0e-3
    force[i] = -wp.min(0.5 * load[i], 10.0 * size) * slip / size  # flagged


@wp.kernel
def quaternion_product(
    q: wp.array(dtype=wp.quat), r: wp.array(dtype=wp.quat), v: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3)
):
    i = wp.tid()
    out[i] = wp.quat_rotate(wp.normalize(q[i] * wp.quat_inverse(r[i]) * q[i]), v[i])  # flagged


@wp.kernel
def axis_and_angle(
    axis: wp.array(dtype=wp.vec3),
    angle: wp.array(dtype=float),
    v: wp.array(dtype=wp.vec3),
    out: wp.array(dtype=wp.vec3),
):
    i = wp.tid()
    out[i] = wp.quat_rotate(wp.quat_from_axis_angle(wp.normalize(axis[i]), 5.0 * angle[i]), v[i])  # flagged


@wp.kernel
def quaternion_matrix(q: wp.array(dtype=wp.quat), out: wp.array(dtype=float)):
    i = wp.tid()
    m = wp.quat_to_matrix(q[i])
    out[i] = m[0, 1] * m[1, 2] + m[2, 0]  # flagged


@wp.kernel
def interpolated_rotation(
    q: wp.array(dtype=wp.quat), r: wp.array(dtype=wp.quat), t: wp.array(dtype=float), out: wp.array(dtype=wp.vec3)
):
    i = wp.tid()
    out[i] = wp.quat_rotate(wp.normalize(q[i] * (1.0 - t[i]) + r[i] * t[i]), wp.vec3(1.0, 2.0, 3.0))  # flagged


@wp.kernel
def large_offset(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = x[i] * x[i] + 1.0e5  # flagged


@wp.kernel
def difference_of_squares(x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = (x[i] + 100.0) * (x[i] + 100.0) - (y[i] + 100.0) * (y[i] + 100.0)  # flagged


@wp.kernel
def expanded_polynomial(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    t = x[i]
    out[i] = t * t * t * t - 4.0 * t * t * t + 6.0 * t * t - 4.0 * t + 1.0  # flagged


@wp.kernel
def log_sum_exp(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    m = wp.max(x[i], wp.max(x[i + 1], x[i + 2]))
    s = wp.exp(x[i] - m) + wp.exp(x[i + 1] - m) + wp.exp(x[i + 2] - m)
    out[i] = m + wp.log(s)  # flagged


@wp.kernel
def soft_maximum(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    a = wp.exp(8.0 * x[i])
    b = wp.exp(8.0 * x[i + 1])
    out[i] = (x[i] * a + x[i + 1] * b) / (a + b)  # flagged


@wp.kernel
def steep_decay(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.exp(-15.0 * x[i] * x[i])  # flagged


@wp.kernel
def steep_switch(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.tanh(25.0 * (x[i] - 0.9)) + 1.0 / (1.0 + wp.exp(-12.0 * x[i]))  # flagged


@wp.kernel
def hinges(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.max(0.0, x[i] - 0.5) + wp.max(0.0, 0.9 - x[i]) + wp.abs(x[i] - 1.1)  # flagged


@wp.kernel
def triangle_wave(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.abs(x[i] * 3.0 - wp.floor(x[i] * 3.0) - 0.5)  # flagged


@wp.kernel
def signed_square(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.sign(x[i]) * x[i] * x[i]  # flagged


@wp.kernel
def smooth_steps(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = smooth_step(x[i]) + smooth_step(2.0 * x[i] - 1.0)  # flagged


@wp.kernel
def atomic_energy(x: wp.array(dtype=float), y: wp.array(dtype=float), total: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(total, 0, x[i] * y[i] * y[i])
    wp.atomic_sub(total, 1, wp.sin(x[i]))  # flagged


@wp.kernel
def atomic_vectors(index: wp.array(dtype=int), x: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    wp.atomic_add(out, index[i], wp.cross(x[i], x[i + 1]))  # flagged


@wp.kernel
def gathered_twice(index: wp.array(dtype=int), x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = x[index[i]] * x[index[i + 1]]  # flagged


@wp.kernel
def small_lengths(v: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.length(v[i] * 1.0e-3) + wp.length(v[i] - v[i + 1])  # flagged


@wp.kernel
def angles(v: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.atan2(v[i][1], v[i][0] + 2.5) + wp.acos(wp.clamp(0.3 * v[i][2], -0.9, 0.9))  # flagged


@wp.kernel
def powers(x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.pow(wp.abs(x[i]) + 0.1, 2.5) * wp.cbrt(wp.abs(y[i]) + 0.2)  # flagged


@wp.kernel
def elastic_energy(m: wp.array(dtype=wp.mat33), out: wp.array(dtype=float)):
    i = wp.tid()
    f = m[i]
    det = wp.max(wp.abs(wp.determinant(f)), 0.05)
    out[i] = wp.trace(wp.transpose(f) * f) - 3.0 - 2.0 * wp.log(det)  # flagged


@wp.kernel
def solved_system(m: wp.array(dtype=wp.mat33), v: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    out[i] = wp.inverse(m[i] + 3.0 * wp.identity(3, dtype=float)) * v[i]  # flagged


@wp.kernel
def unrolled_iteration(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    r = float(1.0)
    for _ in range(4):
        r = 0.5 * (r + (x[i] * x[i] + 1.0) / r)  # flagged
    out[i] = r


@wp.kernel
def spheres_in_contact(p: wp.array(dtype=wp.vec3), radius: wp.array(dtype=float), force: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    d = p[i] - p[i + 1]
    gap = wp.length(d) - 2.0 * radius[i]
    if gap < 0.0:
        f = -1.0e4 * gap * wp.normalize(d)
        wp.atomic_add(force, i, f)
        wp.atomic_sub(force, i + 1, f)  # flagged


@wp.kernel
def logistic_map(x: wp.array(dtype=float), n: int, out: wp.array(dtype=float)):
    i = wp.tid()
    s = float(x[i])
    for _ in range(n):
        s = 2.5 * s * (1.0 - 0.3 * s)  # flagged
    out[i] = s


@wp.kernel
def nested_sums(x: wp.array(dtype=float), n: int, out: wp.array(dtype=float)):
    i = wp.tid()
    total = float(0.0)
    for j in range(n):
        for k in range(n):
            total += x[j] * wp.cos(x[k])  # flagged
    out[i] = total
