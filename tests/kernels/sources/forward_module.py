"""A module without adjoints, and one kernel in it that has one all the same."""

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.kernel
def quiet(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    a[i] *= b[i]  # ok: WP101


@wp.func
def product(x: wp.array(dtype=float), n: int):
    p = float(1.0)
    for i in range(n):
        p *= x[i]  # ok: WP104
    return p


@wp.kernel(enable_backward=True)
def loud(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    a[i] *= b[i]  # expect: WP101
