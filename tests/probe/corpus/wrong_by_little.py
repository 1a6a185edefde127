# ruff: noqa: UP018 - `float(0.0)` is how a local that a dynamic loop changes is made in Warp
"""More kernels whose adjoints are wrong: by a known factor, in sign, in one component, in one branch, only at large
counts (all by a custom adjoint), and by what Warp 1.19 does with overwritten values. `# flagged` ends the line."""

import warp as wp


@wp.func
def factor_tiny_func(x: float) -> float:
    return wp.sin(x)


@wp.func_grad(factor_tiny_func)
def factor_tiny_adjoint(x: float, adj_ret: float):
    wp.adjoint[x] += 1.02 * wp.cos(x) * adj_ret


@wp.kernel
def factor_tiny(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = factor_tiny_func(x[i])  # flagged


@wp.func
def factor_small_func(x: float) -> float:
    return x * x


@wp.func_grad(factor_small_func)
def factor_small_adjoint(x: float, adj_ret: float):
    wp.adjoint[x] += 1.05 * 2.0 * x * adj_ret


@wp.kernel
def factor_small(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = factor_small_func(x[i])  # flagged


@wp.func
def factor_short_func(x: float) -> float:
    return wp.exp(-x)


@wp.func_grad(factor_short_func)
def factor_short_adjoint(x: float, adj_ret: float):
    wp.adjoint[x] += 0.97 * (-wp.exp(-x)) * adj_ret


@wp.kernel
def factor_short(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = factor_short_func(x[i])  # flagged


@wp.func
def factor_less_func(x: float) -> float:
    return x * x * x


@wp.func_grad(factor_less_func)
def factor_less_adjoint(x: float, adj_ret: float):
    wp.adjoint[x] += 0.9 * 3.0 * x * x * adj_ret


@wp.kernel
def factor_less(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = factor_less_func(x[i])  # flagged


@wp.func
def factor_more_func(x: float) -> float:
    return wp.sqrt(wp.abs(x) + 1.0)


@wp.func_grad(factor_more_func)
def factor_more_adjoint(x: float, adj_ret: float):
    wp.adjoint[x] += 1.2 * 0.5 * wp.sign(x) / wp.sqrt(wp.abs(x) + 1.0) * adj_ret


@wp.kernel
def factor_more(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = factor_more_func(x[i])  # flagged


@wp.func
def factor_half_more_func(x: float) -> float:
    return 1.0 / (1.0 + x * x)


@wp.func_grad(factor_half_more_func)
def factor_half_more_adjoint(x: float, adj_ret: float):
    wp.adjoint[x] += 1.5 * (-2.0 * x / ((1.0 + x * x) * (1.0 + x * x))) * adj_ret


@wp.kernel
def factor_half_more(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = factor_half_more_func(x[i])  # flagged


@wp.func
def factor_double_func(x: float) -> float:
    return 1.0e4 * x * x


@wp.func_grad(factor_double_func)
def factor_double_adjoint(x: float, adj_ret: float):
    wp.adjoint[x] += 2.0 * 2.0e4 * x * adj_ret


@wp.kernel
def factor_double(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = factor_double_func(x[i])  # flagged


@wp.func
def factor_tenfold_func(x: float) -> float:
    return wp.tanh(3.0 * x)


@wp.func_grad(factor_tenfold_func)
def factor_tenfold_adjoint(x: float, adj_ret: float):
    wp.adjoint[x] += 10.0 * 3.0 * (1.0 - wp.tanh(3.0 * x) * wp.tanh(3.0 * x)) * adj_ret


@wp.kernel
def factor_tenfold(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = factor_tenfold_func(x[i])  # flagged


@wp.func
def factor_reversed_func(x: float) -> float:
    return wp.cos(2.0 * x)


@wp.func_grad(factor_reversed_func)
def factor_reversed_adjoint(x: float, adj_ret: float):
    wp.adjoint[x] += (-1.0) * (-2.0 * wp.sin(2.0 * x)) * adj_ret


@wp.kernel
def factor_reversed(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = factor_reversed_func(x[i])  # flagged


@wp.func
def factor_none_func(x: float) -> float:
    return 0.1 * x


@wp.func_grad(factor_none_func)
def factor_none_adjoint(x: float, adj_ret: float):
    wp.adjoint[x] += 0.0 * 0.1 * adj_ret


@wp.kernel
def factor_none(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = factor_none_func(x[i])  # flagged


@wp.func
def one_component_func(v: wp.vec3) -> float:
    return wp.dot(v, v)


@wp.func_grad(one_component_func)
def one_component_adjoint(v: wp.vec3, adj_ret: float):
    wp.adjoint[v] += adj_ret * wp.vec3(2.0 * v[0], 2.0 * v[1], 1.8 * v[2])


@wp.kernel
def one_component(v: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = one_component_func(v[i])  # flagged


@wp.func
def missing_input_func(x: float, y: float) -> float:
    return x * y


@wp.func_grad(missing_input_func)
def missing_input_adjoint(x: float, y: float, adj_ret: float):
    wp.adjoint[x] += y * adj_ret


@wp.kernel
def missing_input(x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = missing_input_func(x[i], y[i])  # flagged


@wp.func
def swapped_inputs_func(x: float, y: float) -> float:
    return x * x * y


@wp.func_grad(swapped_inputs_func)
def swapped_inputs_adjoint(x: float, y: float, adj_ret: float):
    wp.adjoint[x] += x * x * adj_ret
    wp.adjoint[y] += 2.0 * x * y * adj_ret


@wp.kernel
def swapped_inputs(x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = swapped_inputs_func(x[i], y[i])  # flagged


@wp.func
def one_branch_func(x: float) -> float:
    return x * x


@wp.func_grad(one_branch_func)
def one_branch_adjoint(x: float, adj_ret: float):
    if x > 1.1:
        wp.adjoint[x] += 1.7 * x * adj_ret
    else:
        wp.adjoint[x] += 2.0 * x * adj_ret


@wp.kernel
def one_branch(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = one_branch_func(x[i])  # flagged


@wp.func
def negative_branch_func(x: float) -> float:
    return x * x * x


@wp.func_grad(negative_branch_func)
def negative_branch_adjoint(x: float, adj_ret: float):
    if x < 0.0:
        wp.adjoint[x] -= 3.0 * x * x * adj_ret
    else:
        wp.adjoint[x] += 3.0 * x * x * adj_ret


@wp.kernel
def negative_branch(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = negative_branch_func(x[i])  # flagged


@wp.func
def large_counts_func(x: float, n: int) -> float:
    return float(n) * x * x


@wp.func_grad(large_counts_func)
def large_counts_adjoint(x: float, n: int, adj_ret: float):
    if n > 3:
        wp.adjoint[x] += 2.0 * float(n - 1) * x * adj_ret
    else:
        wp.adjoint[x] += 2.0 * float(n) * x * adj_ret


@wp.kernel
def large_counts(x: wp.array(dtype=float), n: wp.array(dtype=int), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = large_counts_func(x[i], 2 + n[i] * 2)  # flagged


@wp.func
def transposed_func(m: wp.mat33, v: wp.vec3) -> wp.vec3:
    return m * v


@wp.func_grad(transposed_func)
def transposed_adjoint(m: wp.mat33, v: wp.vec3, adj_ret: wp.vec3):
    wp.adjoint[m] += wp.outer(v, adj_ret)
    wp.adjoint[v] += m * adj_ret


@wp.kernel
def transposed(m: wp.array(dtype=wp.mat33), v: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    out[i] = transposed_func(m[i] + wp.outer(v[i], wp.vec3(1.0, 0.0, 0.5)), v[i])  # flagged


@wp.func
def rotated_the_wrong_way_func(q: wp.quat, v: wp.vec3) -> wp.vec3:
    return wp.quat_rotate(q, v)


@wp.func_grad(rotated_the_wrong_way_func)
def rotated_the_wrong_way_adjoint(q: wp.quat, v: wp.vec3, adj_ret: wp.vec3):
    wp.adjoint[v] += wp.quat_rotate(q, adj_ret)


@wp.kernel
def rotated_the_wrong_way(q: wp.array(dtype=wp.quat), v: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    out[i] = rotated_the_wrong_way_func(q[i], v[i])  # flagged


@wp.func
def offset_func(x: float) -> float:
    return wp.sin(x)


@wp.func_grad(offset_func)
def offset_adjoint(x: float, adj_ret: float):
    wp.adjoint[x] += (wp.cos(x) + 0.05) * adj_ret


@wp.kernel
def offset(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = offset_func(x[i])  # flagged


@wp.func
def stiff_func(gap: float) -> float:
    return 1.0e5 * wp.max(0.9 - gap, 0.0) * wp.max(0.9 - gap, 0.0)


@wp.func_grad(stiff_func)
def stiff_adjoint(gap: float, adj_ret: float):
    wp.adjoint[gap] -= 1.06 * 2.0e5 * wp.max(0.9 - gap, 0.0) * adj_ret


@wp.kernel
def stiff(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = stiff_func(x[i])  # flagged


@wp.kernel
def matrix_component(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    m = wp.mat22(x[i], 1.0, 2.0 * x[i], 3.0)
    m[0, 0] = x[i] * x[i]  # flagged
    out[i] = m[0, 0] + m[1, 0]


@wp.kernel
def nested_loops(x: wp.array(dtype=float), n: int, out: wp.array(dtype=float)):
    i = wp.tid()
    total = float(1.0)
    for j in range(n):
        for k in range(n):
            total *= x[j] + 0.1 * x[k]  # flagged
    out[i] = total


@wp.kernel
def carried_vector(x: wp.array(dtype=float), n: int, out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    v = wp.vec3(1.0, 2.0, 3.0)
    for k in range(n):
        v = wp.cross(v, wp.vec3(x[k], 1.0, v[0]))  # flagged
    out[i] = v


@wp.kernel
def carried_rotation(q: wp.array(dtype=wp.quat), n: int, out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    r = wp.quat_identity()
    for k in range(n):
        r = r * q[k]  # flagged
    out[i] = wp.quat_rotate(r, wp.vec3(1.0, 2.0, 3.0))


@wp.kernel
def carried_square(x: wp.array(dtype=float), n: int, out: wp.array(dtype=float)):
    i = wp.tid()
    s = float(0.3)
    for k in range(n):
        s = s * s + x[k]  # flagged
    out[i] = s


@wp.kernel
def exchange(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    t = a[i]
    a[i] = b[i] * t
    b[i] = t * t  # flagged


@wp.kernel
def running_squares(x: wp.array(dtype=float), n: int, out: wp.array(dtype=float)):
    i = wp.tid()
    total = float(0.0)
    s = float(0.0)
    for k in range(n):
        total += x[k]
        s += total * total  # flagged
    out[i] = s


@wp.kernel
def branch_on_carried(x: wp.array(dtype=float), n: int, out: wp.array(dtype=float)):
    i = wp.tid()
    total = float(0.2)
    for k in range(n):
        if total < 1.0:
            total += x[k] * total  # flagged
        else:
            total -= 0.3 * total
    out[i] = total


@wp.kernel
def vector_element_scaled(v: wp.array(dtype=wp.vec3), s: wp.array(dtype=float)):
    i = wp.tid()
    v[i] = v[i] * (s[i] * v[i][0])  # flagged


@wp.kernel
def matrix_of_load(m: wp.array(dtype=wp.mat33), out: wp.array(dtype=float)):
    i = wp.tid()
    a = m[i]
    a[0, 1] = a[0, 0] * a[1, 1]  # flagged
    out[i] = a[0, 1] * a[0, 1]


@wp.kernel
def carried_cosine(x: wp.array(dtype=float), n: int, out: wp.array(dtype=float)):
    i = wp.tid()
    s = float(0.4)
    for k in range(n):
        s = wp.cos(s) + 0.5 * s * s + x[k]  # flagged
    out[i] = s
