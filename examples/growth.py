"""How the size of a plant depends on the light of every day. Two things are wrong with the gradient."""

import numpy as np
import warp as wp


@wp.kernel
def grow(light: wp.array(dtype=float), days: int, size: wp.array(dtype=float)):
    now = float(1.0)
    for day in range(days):
        now = now * (1.0 + 0.1 * light[day])
    size[0] = now


@wp.kernel
def shortfall(size: wp.array(dtype=float), wanted: float, loss: wp.array(dtype=float)):
    missing = wanted - size[0]
    loss[0] = missing * missing


def loss_and_gradient(light_of_days, wanted=2.0):
    days = len(light_of_days)
    light = wp.array(light_of_days, dtype=float, requires_grad=True)
    size = wp.zeros(1, dtype=float)
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(grow, dim=1, inputs=[light, days], outputs=[size])
        wp.launch(shortfall, dim=1, inputs=[size, wanted], outputs=[loss])
    tape.backward(loss)
    return float(loss.numpy()[0]), light.grad.numpy()


if __name__ == "__main__":
    print(loss_and_gradient(np.array([1.0, 2.0, 0.5], dtype=np.float32)))
