"""Array elements that are updated in place."""

import warp as wp

FACTOR = wp.constant(0.5)


@wp.kernel
def scaled(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    a[i] *= b[i]  # expect: WP101


@wp.kernel
def divided(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    t = b[i] + 1.0
    a[i] /= t  # expect: WP101


@wp.kernel
def squared(a: wp.array(dtype=float)):
    i = wp.tid()
    a[i] **= 2.0  # expect: WP101


@wp.kernel
def wrapped(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    a[i] %= b[i]  # expect: WP101


@wp.kernel
def two_dimensions(a: wp.array2d(dtype=float), b: wp.array(dtype=float)):
    a[0, 1] *= b[0]  # expect: WP101
    a[1][0] *= b[1]  # expect: WP101


@wp.kernel
def through_a_row(a: wp.array(dtype=float, ndim=2), b: wp.array(dtype=float)):
    row = a[0]
    row[1] *= b[0]  # expect: WP101


@wp.kernel
def vector_elements(v: wp.array[wp.vec3], s: wp.array[float]):
    i = wp.tid()
    v[i] *= s[i]  # expect: WP101


@wp.func
def shrink(a: wp.array(dtype=float), i: int, by: float):
    a[i] *= by  # expect: WP101


@wp.kernel
def calls_shrink(a: wp.array(dtype=float), by: wp.array(dtype=float)):
    shrink(a, wp.tid(), by[0])


@wp.func
def halve(a: wp.array(dtype=float), i: int, by: float):
    a[i] *= by  # ok: WP101


@wp.kernel
def calls_halve(a: wp.array(dtype=float), by: float):
    halve(a, wp.tid(), by)


@wp.kernel
def in_a_loop(a: wp.array(dtype=float), b: wp.array(dtype=float), n: int):
    for i in range(n):
        a[i] *= b[i]  # expect: WP101


@wp.kernel
def stored_first(a: wp.array(dtype=float), x: wp.array(dtype=float), w: wp.array(dtype=float)):
    i = wp.tid()
    a[i] = x[i]
    a[i] *= w[i]  # expect: WP101


@wp.kernel
def constant_factors(a: wp.array(dtype=float), k: float, n: int):
    i = wp.tid()
    a[i] *= 0.5  # ok: WP101
    a[i] /= 2.0  # ok: WP101
    a[i] *= FACTOR  # ok: WP101
    a[i] *= k  # ok: WP101
    a[i] *= float(n)  # ok: WP101
    a[i] *= wp.static(2.0 * 3.0)  # ok: WP101
    a[i] //= 2.0  # ok: WP101


@wp.kernel
def sums(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    a[i] += b[i] * b[i]  # ok: WP101
    a[i] -= wp.sin(b[i])  # ok: WP101


@wp.kernel
def integers(a: wp.array(dtype=int), b: wp.array(dtype=int)):
    i = wp.tid()
    a[i] *= b[i]  # ok: WP101


@wp.kernel
def rounded(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    a[i] *= wp.floor(b[i])  # ok: WP101


@wp.kernel
def locals_only(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    t = a[i]
    t *= b[i]  # ok: WP101
    v = wp.vec3(t, t, t)
    v *= b[i]  # ok: WP101
    a[i] = wp.length(v)  # expect: WP103


@wp.kernel(enable_backward=False)
def forward_only(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    a[i] *= b[i]  # ok: WP101


@wp.kernel(module="unique", module_options={"enable_backward": False})
def forward_only_by_options(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    a[i] *= b[i]  # ok: WP101


@wp.func
def forward_func(a: wp.array(dtype=float), i: int, by: float):
    a[i] *= by  # ok: WP101


@wp.kernel(enable_backward=False)
def calls_forward_func(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    forward_func(a, wp.tid(), b[0])
