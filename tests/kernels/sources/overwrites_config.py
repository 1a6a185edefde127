"""Component overwrites switched on where Warp looks for it: in its global configuration."""

import warp as wp

wp.config.enable_vector_component_overwrites = True


@wp.kernel
def handled_by_warp(x: wp.array(dtype=float), o: wp.array(dtype=wp.vec3)):
    v = wp.vec3(x[0], x[1], x[2])
    v[0] = x[3]  # ok: WP102
    o[0] = v
