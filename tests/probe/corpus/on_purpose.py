"""Custom gradients that are something else than the derivative of their func on purpose."""

import warp as wp


@wp.func
def quantized(x: float):
    return wp.round(4.0 * x) * 0.25


@wp.func_grad(quantized)
def straight_through(x: float, adj_ret: float):
    wp.adjoint[x] += adj_ret


@wp.func
def spike(x: float):
    return wp.step(-x)


@wp.func_grad(spike)
def surrogate(x: float, adj_ret: float):
    wp.adjoint[x] += adj_ret / (1.0 + 25.0 * x * x)


@wp.func
def bounded(x: float):
    return wp.clamp(x, -1.0, 1.0)


@wp.func_grad(bounded)
def through_the_bounds(x: float, adj_ret: float):
    wp.adjoint[x] += adj_ret


@wp.func
def kept(x: wp.vec3):
    return x


@wp.func_grad(kept)
def reversed_gradient(x: wp.vec3, adj_ret: wp.vec3):
    wp.adjoint[x] += -0.1 * adj_ret


@wp.func
def doubled(x: float):
    return 2.0 * x


@wp.func_grad(doubled)
def clipped(x: float, adj_ret: float):
    limited = wp.clamp(2.0 * adj_ret, -1.0, 1.0)
    wp.adjoint[x] += limited


@wp.func
def tripled(x: float):
    return 3.0 * x


@wp.func_grad(tripled)
def dropped_if_large(x: float, adj_ret: float):
    if wp.abs(adj_ret) < 10.0:
        wp.adjoint[x] += 3.0 * adj_ret


@wp.func
def stopped(x: float):
    return x * x


@wp.func_grad(stopped)
def nothing(x: float, adj_ret: float):
    pass
