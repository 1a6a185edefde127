"""Values that dynamic loops carry from one iteration to the next."""

import warp as wp


@wp.kernel
def product(x: wp.array(dtype=float), n: int, o: wp.array(dtype=float)):
    p = float(1.0)
    for i in range(n):
        p *= x[i]  # expect: WP104
    o[0] = p


@wp.kernel
def product_spelled_out(x: wp.array(dtype=float), n: int, o: wp.array(dtype=float)):
    p = float(1.0)
    for i in range(n):
        t = p
        p = t * x[i]  # expect: WP104
    o[0] = p


@wp.kernel
def plain_sum(x: wp.array(dtype=float), n: int, o: wp.array(dtype=float)):
    a = float(0.0)
    b = float(0.0)
    for i in range(n):
        a += x[i] * x[i]  # ok: WP104
        b = b + wp.sin(x[i])  # ok: WP104
        a += b  # ok: WP104
    o[0] = a


@wp.kernel
def constant_coefficients(x: wp.array(dtype=float), k: float, n: int, o: wp.array(dtype=float)):
    a = float(0.0)
    b = float(1.0)
    p = float(0.0)
    v = float(0.0)
    for i in range(n):
        a = a * 0.5 + x[i]  # ok: WP104
        b *= k  # ok: WP104
        v = v + 0.1 * (x[i] - p)  # ok: WP104
        p = p + 0.1 * v  # ok: WP104
    o[0] = a
    o[1] = p


@wp.kernel
def differentiated_coefficient(x: wp.array(dtype=float), w: wp.array(dtype=float), n: int, o: wp.array(dtype=float)):
    a = float(0.0)
    for i in range(n):
        a = a * (1.0 - w[0]) + x[i]  # expect: WP104
    o[0] = a


@wp.kernel
def horner(c: wp.array(dtype=float), x: wp.array(dtype=float), n: int, o: wp.array(dtype=float)):
    y = float(0.0)
    for i in range(n):
        y = y * x[0] + c[i]  # expect: WP104
    o[0] = y


@wp.kernel
def running_maximum(x: wp.array(dtype=float), n: int, o: wp.array(dtype=float)):
    best = float(-1.0e6)
    for i in range(n):
        best = wp.max(best, x[i])  # expect: WP104
    o[0] = best


@wp.kernel
def running_maximum_by_branch(x: wp.array(dtype=float), n: int, o: wp.array(dtype=float)):
    best = float(-1.0e6)
    for i in range(n):
        if x[i] > best:  # expect: WP104
            best = x[i]
    o[0] = best


@wp.kernel
def running_maximum_by_where(x: wp.array(dtype=float), n: int, o: wp.array(dtype=float)):
    best = float(-1.0e6)
    for i in range(n):
        best = wp.where(x[i] > best, x[i], best)  # expect: WP104
    o[0] = best


@wp.kernel
def nearest_index(x: wp.array(dtype=float), n: int, o: wp.array(dtype=int)):
    best = float(-1.0e6)
    which = int(0)
    for i in range(n):
        if x[i] > best:  # ok: WP104
            best = x[i]
            which = i
    o[0] = which


@wp.kernel
def alternating(x: wp.array(dtype=float), n: int, o: wp.array(dtype=float)):
    a = float(0.0)
    s = float(1.0)
    for i in range(n):
        a += s * x[i]  # expect: WP104
        s = -s
    o[0] = a


@wp.kernel
def growing_time(x: wp.array(dtype=float), dt: float, n: int, o: wp.array(dtype=float)):
    a = float(0.0)
    t = float(0.0)
    for i in range(n):
        a += x[i] * t  # expect: WP104
        t += dt
    o[0] = a


@wp.kernel
def nonlinear_temporaries(x: wp.array(dtype=float), n: int, o: wp.array(dtype=float)):
    a = float(0.0)
    for i in range(n):
        t = x[i] * x[i]
        u = wp.exp(t) * t
        a += u  # ok: WP104
    o[0] = a


@wp.kernel
def stored_per_iteration(x: wp.array(dtype=float), n: int, o: wp.array(dtype=float)):
    for i in range(n):
        o[i + 1] = o[i] * x[i]  # ok: WP104


@wp.kernel
def static_loop(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    p = float(1.0)
    for i in range(4):
        p *= x[i]  # ok: WP104
    o[0] = p


@wp.kernel
def static_inside_dynamic(x: wp.array(dtype=float), n: int, o: wp.array(dtype=float)):
    for i in range(n):
        p = float(1.0)
        for j in range(3):
            p *= x[i + j]  # ok: WP104
        o[i] = p


@wp.kernel
def nested(x: wp.array(dtype=float), n: int, o: wp.array(dtype=float)):
    p = float(1.0)
    for i in range(n):
        for j in range(i):
            p *= x[j]  # expect: WP104
    o[0] = p


@wp.kernel
def while_product(x: wp.array(dtype=float), n: int, o: wp.array(dtype=float)):
    p = float(1.0)
    i = int(0)
    while i < n:
        j = i
        i += 1
        p *= x[j]  # expect: WP104
    o[0] = p


@wp.kernel
def while_sum(x: wp.array(dtype=float), n: int, o: wp.array(dtype=float)):
    p = float(0.0)
    i = int(0)
    while i < n:
        j = i
        i += 1
        p += x[j] * x[j]  # ok: WP104
    o[0] = p


@wp.kernel
def while_moving_average(x: wp.array(dtype=float), n: int, o: wp.array(dtype=float)):
    # right in a ``for``: a ``while`` is reversed in forward order
    a = float(0.0)
    i = int(0)
    while i < n:
        j = i
        i += 1
        a = a * 0.5 + x[j]  # expect: WP104
    o[0] = a


@wp.func
def chain(x: wp.array(dtype=float), n: int):
    p = float(1.0)
    for i in range(n):
        p = wp.sin(p) + x[i]  # expect: WP104
    return p


@wp.kernel
def calls_chain(x: wp.array(dtype=float), n: int, o: wp.array(dtype=float)):
    o[0] = chain(x, n)


@wp.func
def power(k: float, n: int):
    p = float(1.0)
    for _ in range(n):
        p *= k  # ok: WP104
    return p


@wp.kernel
def calls_power(x: wp.array(dtype=float), k: float, n: int, o: wp.array(dtype=float)):
    o[0] = x[0] * power(k, n)


@wp.kernel
def integers_only(x: wp.array(dtype=int), n: int, o: wp.array(dtype=int)):
    p = int(1)
    for i in range(n):
        p *= x[i]  # ok: WP104
    o[0] = p


@wp.kernel
def result_unused(x: wp.array(dtype=float), n: int, o: wp.array(dtype=int)):
    p = float(1.0)
    for i in range(n):
        p *= x[i]  # ok: WP104
    o[0] = int(p)


@wp.kernel
def vectors(x: wp.array(dtype=wp.vec3), n: int, o: wp.array(dtype=float)):
    v = wp.vec3(1.0, 0.0, 0.0)
    for i in range(n):
        v = wp.cross(v, x[i])  # expect: WP104
    o[0] = v[0]


@wp.kernel
def skipping(x: wp.array(dtype=float), n: int, o: wp.array(dtype=float)):
    a = float(0.0)
    for i in range(n):
        if x[i] < 0.0:
            continue
        a += x[i] * x[i]  # ok: WP104
    o[0] = a


@wp.kernel
def prefix_sums(x: wp.array(dtype=float), n: int, o: wp.array(dtype=float)):
    s = float(0.0)
    for i in range(n):
        s += x[i]
        o[i] = s  # ok: WP104


@wp.kernel
def while_prefix_sums(x: wp.array(dtype=float), n: int, o: wp.array(dtype=float)):
    s = float(0.0)
    i = int(0)
    while i < n:
        j = i
        i += 1
        s += x[j]
        o[j] = s  # expect: WP104


@wp.kernel
def while_momentum(x: wp.array(dtype=float), n: int, o: wp.array(dtype=float)):
    p = float(0.0)
    v = float(0.0)
    i = int(0)
    while i < n:
        j = i
        i += 1
        v = v + x[j]
        p = p + 0.1 * v  # expect: WP104
    o[0] = p


@wp.kernel
def query_sum(grid: wp.uint64, x: wp.array(dtype=float), o: wp.array(dtype=float)):
    a = float(0.0)
    for i in wp.hash_grid_query(grid, wp.vec3(), 1.0):
        a += x[i] * x[i]  # ok: WP104
    o[0] = a


@wp.kernel
def query_average(grid: wp.uint64, x: wp.array(dtype=float), o: wp.array(dtype=float)):
    a = float(0.0)
    for i in wp.hash_grid_query(grid, wp.vec3(), 1.0):
        a = a * 0.5 + x[i]  # expect: WP104
    o[0] = a


def make_product(count):
    @wp.kernel
    def closure_product(x: wp.array(dtype=float), o: wp.array(dtype=float)):
        p = float(1.0)
        for i in range(count):
            p *= x[i]  # ok: WP104
        o[0] = p

    return closure_product


def make_long_product(count):
    @wp.kernel
    def long_product(x: wp.array(dtype=float), o: wp.array(dtype=float)):
        p = float(1.0)
        for i in range(count):
            p *= x[i]  # expect: WP104
        o[0] = p

    return long_product


PRODUCTS = [make_product(4), make_product(count=8), make_long_product(20)]


@wp.struct
class Running:
    total: float
    largest: float


@wp.kernel
def struct_fields(x: wp.array(dtype=float), n: int, o: wp.array(dtype=float)):
    r = Running()
    for i in range(n):
        r.total = r.total + x[i]  # ok: WP104
    o[0] = r.total


@wp.kernel
def struct_field_product(x: wp.array(dtype=float), n: int, o: wp.array(dtype=float)):
    r = Running()
    for i in range(n):
        r.total *= x[i]  # expect: WP104
    o[0] = r.total
