"""Operands of ``wp.where`` that are not finite where they are not selected."""

import warp as wp


@wp.kernel
def root(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    t = x[i]
    o[i] = wp.where(t > 0.0, wp.sqrt(t), 0.0)  # expect: WP501


@wp.kernel
def root_of_element(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    o[i] = wp.where(x[i] > 0.0, wp.sqrt(x[i]), 0.0)  # expect: WP501


@wp.kernel
def logarithm_before(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    t = x[i]
    y = wp.log(t)
    o[i] = wp.where(t <= 0.0, 0.0, y)  # expect: WP501


@wp.kernel
def quotient(x: wp.array(dtype=float), y: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    o[i] = wp.where(y[i] != 0.0, x[i] / y[i], 0.0)  # expect: WP501


@wp.kernel
def normalised(v: wp.array(dtype=wp.vec3), o: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    size = wp.length(v[i])
    o[i] = wp.where(size > 0.0, v[i] / size, wp.vec3(0.0, 0.0, 0.0))  # expect: WP501


@wp.kernel
def sinc(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    t = x[i]
    o[i] = wp.where(wp.abs(t) > 1.0e-6, wp.sin(t) / t, 1.0)  # expect: WP501


@wp.kernel
def fractional_power(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    t = x[i]
    o[i] = wp.where(t > 0.0, wp.pow(t, 0.5), 0.0)  # expect: WP501


@wp.kernel
def overflow(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    t = x[i]
    o[i] = wp.where(t > 10.0, t, wp.log(1.0 + wp.exp(t)))  # expect: WP501


@wp.func
def logarithm(x: float):
    return wp.log(x)


@wp.kernel
def through_a_func(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    t = x[i]
    o[i] = wp.where(t > 0.0, logarithm(t), 0.0)  # expect: WP501


@wp.func
def guarded_logarithm(x: float):
    if x > 0.0:
        return wp.log(x)
    return 0.0


@wp.kernel
def guard_inside_the_func(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    t = x[i]
    o[i] = wp.where(t > 0.0, guarded_logarithm(t), 0.0)  # ok: WP501


@wp.kernel
def double_where(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    t = x[i]
    safe = wp.where(t > 0.0, t, 1.0)
    o[i] = wp.where(t > 0.0, wp.sqrt(safe), 0.0)  # ok: WP501


@wp.kernel
def clamped(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    t = x[i]
    o[i] = wp.where(t > 0.0, wp.sqrt(wp.max(t, 1.0e-6)), 0.0)  # ok: WP501
    o[i] += wp.where(t > 0.0, wp.log(t * t + 0.1), 0.0)  # ok: WP501
    o[i] += wp.where(t > 0.0, 1.0 / (wp.abs(t) + 0.01), 0.0)  # ok: WP501
    o[i] += wp.where(t > 0.0, wp.sqrt(wp.clamp(t, 0.01, 1.0)), 0.0)  # ok: WP501


@wp.kernel
def real_branches(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    t = x[i]
    o[i] = wp.sqrt(t) if t > 0.0 else 0.0  # ok: WP501
    if t > 0.0:
        o[i] += wp.log(t)  # ok: WP501


@wp.kernel
def unrelated_condition(x: wp.array(dtype=float), mass: wp.array(dtype=float), kind: int, o: wp.array(dtype=float)):
    i = wp.tid()
    o[i] = wp.where(kind == 1, x[i] / mass[i], 0.0)  # ok: WP501
    o[i] += wp.where(x[i] > 0.0, x[i] / mass[i], 0.0)  # ok: WP501


@wp.kernel
def no_guard_meant(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    t = x[i]
    o[i] = wp.where(t > -5.0, wp.sqrt(t), 0.0)  # ok: WP501


@wp.kernel
def guarded_by_warp(v: wp.array(dtype=wp.vec3), x: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    size = wp.length(v[i])
    o[i] = wp.where(size > 0.0, wp.normalize(v[i])[0], 0.0)  # ok: WP501
    o[i] += wp.where(x[i] < 1.0, wp.acos(x[i]), 0.0)  # ok: WP501
    o[i] += wp.where(x[i] > 0.0, x[i] * x[i] / 3.0, 0.0)  # ok: WP501


@wp.kernel
def constants_only(k: float, n: int, x: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    scale = wp.where(k > 0.0, wp.sqrt(k), 0.0)  # ok: WP501
    o[i] = x[i] * scale
