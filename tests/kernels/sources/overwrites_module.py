"""Component overwrites switched on where Warp does not look for it: a module option is overridden by the global setting."""

import warp as wp

wp.set_module_options({"enable_vector_component_overwrites": True})


@wp.kernel
def not_handled(x: wp.array(dtype=float), o: wp.array(dtype=wp.vec3)):
    v = wp.vec3(x[0], x[1], x[2])
    v[0] = x[3]  # expect: WP102
    o[0] = v
