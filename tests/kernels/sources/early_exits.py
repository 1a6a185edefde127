"""Exits that cannot be run: the backward kernel never ends, because it skips the update of the counter."""

import warp as wp


@wp.kernel
def return_in_while(x: wp.array(dtype=float), n: int, out: wp.array(dtype=float)):
    i = int(0)
    while i < 8:
        j = i
        i += 1
        if i == n:
            return  # expect: WP107
        out[j] = x[j] * x[j]
