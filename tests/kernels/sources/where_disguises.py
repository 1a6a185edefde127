"""Guards by ``wp.where`` in other clothes; each verdict was taken from Warp's gradients at and beside the boundary."""

import warp as wp


@wp.func
def bump(r: float):
    edge = 1.0 - r * r
    inside = r < 1.0
    return wp.where(inside, wp.exp(-1.0 / edge), 0.0)  # expect: WP501


@wp.kernel
def smooth_edge(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    o[i] = bump(x[i])


@wp.kernel
def two_sided_edge(x: wp.array(dtype=float), h: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    q = x[i] / h[i]
    o[i] = wp.where(x[i] < h[i], 1.0 / (1.0 - q * q), 0.0)  # expect: WP501


@wp.kernel
def not_zero(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    t = x[i]
    o[i] = wp.where(t != 0.0, (1.0 - wp.cos(t)) / t, 0.0)  # expect: WP501


@wp.kernel
def is_zero(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    t = x[i]
    o[i] = wp.where(t == 0.0, 1.0, wp.sin(t) / t)  # expect: WP501


@wp.kernel
def not_small(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    t = x[i]
    small = wp.abs(t) < 1.0e-5
    o[i] = wp.where(not small, wp.tan(t) / t, 1.0)  # expect: WP501


@wp.kernel
def sine_from_cosine(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    c = x[i]
    o[i] = wp.where(c < 1.0, wp.sqrt(1.0 - c * c), 0.0)  # expect: WP501


@wp.kernel
def closed_guard(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    o[i] = wp.where(x[i] >= 0.0, wp.sqrt(x[i]), 0.0)  # expect: WP501


@wp.kernel
def gamma_curve(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    c = x[i]
    low = c * 12.92
    high = 1.055 * wp.pow(c, 1.0 / 2.4) - 0.055
    o[i] = wp.where(c < 0.0031308, low, high)  # expect: WP501


@wp.kernel
def log_of_ratio(p: wp.array(dtype=float), q: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    o[i] = wp.where(p[i] > 0.0, p[i] * wp.log(p[i] / q[i]), 0.0)  # expect: WP501


@wp.kernel
def direction(v: wp.array(dtype=wp.vec3), o: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    d = v[i]
    moving = wp.length(d) > 0.0
    o[i] = wp.where(moving, d / wp.length(d), wp.vec3())  # expect: WP501


@wp.kernel
def squared_length(v: wp.array(dtype=wp.vec3), o: wp.array(dtype=float)):
    i = wp.tid()
    s = wp.dot(v[i], v[i])
    o[i] = wp.where(s > 0.0, wp.sqrt(s), 0.0)  # expect: WP501


@wp.func
def usable(a: float):
    return wp.abs(a) > 1.0e-6


@wp.kernel
def mask_from_a_func(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    o[i] = wp.where(usable(x[i]), 1.0 / x[i], 0.0)  # expect: WP501


@wp.kernel
def shifted(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    excess = x[i] - 2.5
    o[i] = wp.where(x[i] > 2.5, excess * wp.sqrt(excess), 0.0)  # expect: WP501


@wp.kernel
def three_halves(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    depth = wp.max(x[i], 0.0)
    o[i] = wp.where(depth > 0.0, wp.sqrt(depth) * depth, 0.0)  # ok: WP501, `max` passes no gradient on


@wp.kernel
def poles_beside(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    t = x[i]
    o[i] = wp.where(t > 0.0, 1.0 / (t * (t - 3.0)), 0.0)  # expect: WP501


# --- look-alikes whose gradients are right ---


@wp.kernel
def guarded_inside(x: wp.array(dtype=float), v: wp.array(dtype=wp.vec3), o: wp.array(dtype=float)):
    i = wp.tid()
    t = x[i]
    o[i] = wp.where(wp.abs(t) < 1.0, wp.acos(t), 0.0)  # ok: WP501
    o[i] += wp.where(t < 1.0, wp.asin(t), 0.0)  # ok: WP501
    o[i] += wp.where(wp.length(v[i]) > 0.0, wp.length(v[i]), 0.0)  # ok: WP501
    o[i] += wp.where(t != 0.0, wp.atan2(t, t), 0.0)  # ok: WP501


@wp.kernel
def closed_logarithm(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    t = x[i]
    o[i] = wp.where(t >= 0.01, wp.log(wp.max(t, 0.01)), -4.6)  # ok: WP501
    o[i] += wp.where(t > 0.0, wp.log(1.0 + t * t), 0.0)  # ok: WP501


@wp.kernel
def denominators_apart(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    t = x[i]
    safe = wp.where(t != 0.0, t, 1.0)
    o[i] = wp.where(t != 0.0, wp.sin(t) / safe, 1.0)  # ok: WP501
    o[i] += wp.where(t < 1.0, wp.exp(-1.0 / (1.5 + t * t)), 0.0)  # ok: WP501
    o[i] += wp.where(t > 0.0, 1.0 / (1.0 + wp.exp(-wp.abs(t))), 0.0)  # ok: WP501
    o[i] += wp.where(t > 0.0, wp.pow(t, 2.0), 0.0)  # ok: WP501


@wp.kernel
def even_root(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    c = x[i]
    o[i] = wp.where(c < 1.0, wp.sqrt(wp.max(1.0 - c * c, 1.0e-6)), 0.0)  # ok: WP501
    o[i] += wp.where(c < 0.5, wp.sqrt(1.0 + c * c), 0.0)  # ok: WP501


@wp.kernel
def constant_denominator(x: wp.array(dtype=float), h: float, o: wp.array(dtype=float)):
    i = wp.tid()
    o[i] = wp.where(x[i] < h, x[i] / h, 0.0)  # ok: WP501
    o[i] += wp.where(x[i] > 0.0, 3.0, x[i])  # ok: WP501


@wp.kernel
def real_branch_before(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    t = x[i]
    if t <= 0.0:
        return
    o[i] = wp.where(t > 0.0, wp.sqrt(t), 0.0)  # ok: WP501


@wp.kernel
def integer_guard(x: wp.array(dtype=float), n: wp.array(dtype=int), o: wp.array(dtype=float)):
    i = wp.tid()
    k = wp.max(n[i], 1)
    o[i] = wp.where(n[i] > 0, x[i] / float(k), 0.0)  # ok: WP501
