"""Selections in dynamic loops, and composites of which a loop changes a part; from random kernels that ran."""

import warp as wp


@wp.kernel
def greatest_of_fixed_values(x: wp.array(dtype=float), n: int, o: wp.array(dtype=float)):
    s = x[0]
    k = int(0)
    while k < n:
        k += 1
        s = wp.max(s, x[1])  # ok: WP104
        s = wp.max(s, x[2])  # ok: WP104
    o[0] = s


@wp.kernel
def greatest_in_nested_loops(x: wp.array(dtype=float), n: int, o: wp.array(dtype=float)):
    s = x[0]
    for _i in range(n):
        for _j in range(n):
            s = wp.max(s, x[1])  # ok: WP104
    o[0] = s


@wp.kernel
def greatest_of_all(x: wp.array(dtype=float), n: int, o: wp.array(dtype=float)):
    s = x[0]
    for i in range(n):
        s = wp.max(s, x[i])  # expect: WP104
    o[0] = s


@wp.kernel
def greatest_of_a_growing_value(x: wp.array(dtype=float), n: int, o: wp.array(dtype=float)):
    s = x[0]
    for i in range(n):
        s = s + x[i]
        for _j in range(n):
            s = wp.max(s, x[1])  # expect: WP104
    o[0] = s


@wp.kernel
def one_choice(x: wp.array(dtype=float), n: int, o: wp.array(dtype=float)):
    s = x[0] + wp.sin(x[0])
    k = int(0)
    while k < n:
        j = k
        k += 1
        s = wp.where(x[j] > 0.4, x[1], s)  # ok: WP104
    o[0] = s


@wp.kernel
def one_choice_of_its_own(x: wp.array(dtype=float), n: int, o: wp.array(dtype=float)):
    s = x[0] + wp.sin(x[0])
    for _i in range(n):
        s = wp.where(s > 0.4, x[2], s)  # ok: WP104
    o[0] = s


@wp.kernel
def last_choice(x: wp.array(dtype=float), n: int, o: wp.array(dtype=float)):
    s = x[0]
    k = int(0)
    while k < n:
        j = k
        k += 1
        s = wp.where(x[j] > 0.4, x[j], s)  # expect: WP104
    o[0] = s


@wp.kernel
def other_component(x: wp.array(dtype=float), w: wp.array(dtype=float), n: int, o: wp.array(dtype=float)):
    v = wp.vec3(x[0], x[1], x[2])
    for i in range(n):
        v[0] += v[1] * w[i]  # ok: WP104
    o[0] = v[0] + v[1]


@wp.kernel
def same_component(x: wp.array(dtype=float), w: wp.array(dtype=float), n: int, o: wp.array(dtype=float)):
    v = wp.vec3(x[0], x[1], x[2])
    for i in range(n):
        v[0] += v[0] * w[i]  # expect: WP104
    o[0] = v[0] + v[1]


@wp.kernel
def constant_component(x: wp.array(dtype=float), c: wp.array(dtype=float), n: int, o: wp.array(dtype=float)):
    v = wp.vec3(0.5, x[0], x[1])
    c[0] *= v[0]  # ok: WP101
    c[1] *= v[1]  # expect: WP101
    s = float(0.0)
    for i in range(n):
        u = wp.vec3(s, x[i], 1.0)
        if u[1] > 0.5:  # ok: WP104
            s += u[1]
    o[0] = s


@wp.kernel
def replaced_by_an_unchanging_value(x: wp.array(dtype=float), n: int, o: wp.array(dtype=float)):
    s = x[0]
    k = int(0)
    while k < n:
        k += 1
        s = x[1] / (2.0 + x[1] * x[1])  # ok: WP104
    o[0] = s


@wp.kernel
def element_changed_in_the_loop(x: wp.array(dtype=float), c: wp.array(dtype=float), n: int, o: wp.array(dtype=float)):
    s = x[0]
    k = int(0)
    while k < n:
        k += 1
        c[0] = c[0] * 0.5 + x[k]  # expect: WP104
        s = wp.where(x[0] > 0.4, c[0], s)  # expect: WP104
    o[0] = s
