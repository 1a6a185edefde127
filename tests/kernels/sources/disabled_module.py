"""A module without adjoints, and kernels in it that ask for one: their funcs have none before Warp 1.18."""

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.struct
class Spring:
    stiffness: float
    rest: float


@wp.func
def square(x: float):
    return x * x


@wp.func
def fourth(x: float):
    return square(x) * square(x)


@wp.func
def store_square(x: wp.array(dtype=float), i: int, out: wp.array(dtype=float)):
    out[i] = x[i] * x[i]


@wp.func
def pull(spring: Spring, x: float):
    return spring.stiffness * (x - spring.rest)


@wp.func
def nearest(x: float):
    return int(wp.round(x))


@wp.func
def custom(x: float):
    return x * x


@wp.func_grad(custom)
def adj_custom(x: float, adj_ret: float):
    wp.adjoint[x] += 2.0 * x * adj_ret


@wp.kernel(enable_backward=True)
def returned(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = 3.0 * square(x[i])  # expect: WP303


@wp.kernel(enable_backward=True)
def in_steps(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    y = x[i] + 1.0
    z = square(y)  # expect: WP303
    out[i] = z + x[i]


@wp.kernel(enable_backward=True)
def two_deep(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = fourth(x[i])  # expect: WP303


@wp.kernel(enable_backward=True)
def stored(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    store_square(x, wp.tid(), out)  # expect: WP303


@wp.kernel(enable_backward=True)
def with_struct(spring: Spring, x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = pull(spring, x[i])  # expect: WP303


@wp.kernel(module="unique", module_options={"enable_backward": True})
def in_a_module_of_its_own(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = square(x[i])  # ok: WP303


@wp.kernel(enable_backward=True)
def no_func(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = x[i] * x[i]  # ok: WP303


@wp.kernel(enable_backward=True)
def of_a_constant(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = x[i] * square(2.0)  # ok: WP303


@wp.kernel(enable_backward=True)
def as_an_index(x: wp.array(dtype=float), table: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = table[nearest(x[i])]  # ok: WP303


@wp.kernel(enable_backward=True)
def with_an_adjoint_of_its_own(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = custom(x[i])  # ok: WP303


@wp.kernel
def quiet(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = square(x[i])  # ok: WP303
