# ruff: noqa: UP018 - `float(0.0)` is how a local that a dynamic loop changes is made in Warp
"""Kernels whose adjoints are wrong in Warp 1.19. `# flagged` ends the line that is wrong; a check other than the
gradient follows it."""

import warp as wp


@wp.func
def product_in_func(x: wp.array(dtype=float), i: int, n: int) -> float:
    total = float(1.0)
    for k in range(n):
        total = total * x[i + k]  # flagged
    return total


@wp.func
def vector_argument(v: wp.vec3, s: float) -> wp.vec3:
    v[0] = s * v[1]  # flagged
    return v


@wp.kernel
def element_times(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    a[i] *= b[i]  # flagged


@wp.kernel
def element_divided(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    a[i] /= b[i]  # flagged


@wp.kernel
def element_written_out(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    a[i] = a[i] * b[i]  # flagged


@wp.kernel
def element_squared(a: wp.array(dtype=float)):
    i = wp.tid()
    a[i] = a[i] * a[i]  # flagged


@wp.kernel
def element_blended(a: wp.array(dtype=float), w: wp.array(dtype=float), x: wp.array(dtype=float)):
    i = wp.tid()
    a[i] = (1.0 - w[i]) * a[i] + w[i] * x[i]  # flagged


@wp.kernel
def accumulated_product(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    a[i] += a[i] * b[i]  # flagged


@wp.kernel
def matrix_element(a: wp.array2d(dtype=float), b: wp.array(dtype=float)):
    i, j = wp.tid()
    a[i, j] *= b[i]  # flagged


@wp.kernel
def read_then_overwritten(a: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.sin(a[i]) * a[i]
    a[i] = 1.0  # flagged


@wp.kernel
def component_twice(x: wp.array(dtype=float), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    v = wp.vec3()
    v[0] = x[i]
    v[0] = x[i] * x[i]  # flagged
    out[i] = v


@wp.kernel
def component_after_constructor(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    v = wp.vec3(x[i], 2.0 * x[i], 1.0)
    v[0] = x[i] * x[i]  # flagged
    out[i] = v[0] + v[1] + v[2]


@wp.kernel
def component_of_load(a: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    u = a[i]
    u[1] = u[0] * 2.0  # flagged
    out[i] = u


@wp.kernel
def component_scaled(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    v = wp.vec2(x[i], x[i] * x[i])
    v[0] *= 0.6  # flagged
    out[i] = v[0] + v[1]


@wp.kernel
def attribute_accumulated(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    v = wp.vec2(x[i], 1.0)
    v.x += x[i] * x[i]  # flagged
    out[i] = v.x * v.y


@wp.kernel
def loop_product(x: wp.array(dtype=float), n: int, out: wp.array(dtype=float)):
    i = wp.tid()
    total = float(1.0)
    for k in range(n):
        total *= x[i + k]  # flagged
    out[i] = total


@wp.kernel
def loop_horner(c: wp.array(dtype=float), x: wp.array(dtype=float), n: int, out: wp.array(dtype=float)):
    i = wp.tid()
    value = float(0.0)
    for k in range(n):
        value = value * x[i] + c[k]  # flagged
    out[i] = value


@wp.kernel
def loop_maximum(x: wp.array(dtype=float), n: int, out: wp.array(dtype=float)):
    i = wp.tid()
    best = float(-100.0)
    for k in range(n):
        best = wp.max(best, x[k] * x[k])  # flagged
    out[i] = best


@wp.kernel
def loop_time(x: wp.array(dtype=float), dt: wp.array(dtype=float), n: int, out: wp.array(dtype=float)):
    i = wp.tid()
    t = float(0.0)
    total = float(0.0)
    for k in range(n):
        total += x[k] * t  # flagged
        t += dt[i]
    out[i] = total


@wp.kernel
def while_newton(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    guess = float(1.0)
    step = int(0)
    while step < 4:
        guess = 0.5 * (guess + wp.abs(x[i]) / guess)  # flagged
        step += 1
    out[i] = guess


@wp.kernel
def while_index(x: wp.array(dtype=float), n: int, out: wp.array(dtype=float)):
    i = wp.tid()
    total = float(0.0)
    k = int(0)
    while k < n:
        total += x[k] * x[k]  # flagged
        k += 1
    out[i] = total


@wp.kernel
def loop_break(x: wp.array(dtype=float), n: int, out: wp.array(dtype=float)):
    i = wp.tid()
    total = float(0.0)
    for k in range(n):
        if k > 1:
            break  # flagged
        total += x[k] * x[k]
    out[i] = total


@wp.kernel
def loop_result_squared(x: wp.array(dtype=float), n: int, out: wp.array(dtype=float)):
    i = wp.tid()
    total = float(0.0)
    for k in range(n):
        total += x[k]
    out[i] = total * total  # flagged


@wp.kernel
def clamp_in_place(a: wp.array(dtype=float)):
    i = wp.tid()
    if a[i] > 0.9:
        a[i] = 0.5 * a[i] * a[i]  # flagged


@wp.kernel
def where_root(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.where(x[i] > 0.0, wp.sqrt(x[i]), 0.0)  # flagged finite-adjoint


@wp.kernel
def where_quotient(x: wp.array(dtype=float), n: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.where(x[i] != 0.0, n[i] / x[i], 0.0)  # flagged finite-adjoint


@wp.kernel
def where_logarithm(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    safe = wp.where(x[i] > 0.0, wp.log(x[i]), 0.0)  # flagged finite-adjoint
    out[i] = safe * x[i]


@wp.func
def cube(x: float) -> float:
    return x * x * x


@wp.func_grad(cube)
def adjoint_of_cube(x: float, adj_ret: float):
    wp.adjoint[x] += 2.9 * x * x * adj_ret  # the factor is 3


@wp.kernel
def custom_adjoint(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = cube(x[i])  # flagged
