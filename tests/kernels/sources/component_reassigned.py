"""Components of local vectors and their like."""

import warp as wp

vec5 = wp.types.vector(5, float)


@wp.kernel
def filled_once(x: wp.array(dtype=float), o: wp.array(dtype=wp.vec3)):
    v = wp.vec3()
    v[0] = x[0]  # ok: WP102
    v[1] = x[1] * v[0]  # ok: WP102
    v.z = x[2]  # ok: WP102
    o[0] = v


@wp.kernel
def filled_by_static_loop(x: wp.array(dtype=float), o: wp.array(dtype=vec5)):
    v = vec5()
    for i in range(5):
        v[i] = x[i] * x[i]  # ok: WP102
    o[0] = v


@wp.kernel
def filled_by_dynamic_loop(x: wp.array(dtype=float), n: int, o: wp.array(dtype=vec5)):
    v = vec5()
    for i in range(n):
        v[i] = x[i]  # ok: WP102
    o[0] = v


@wp.kernel
def constant_first(x: wp.array(dtype=float), o: wp.array(dtype=wp.vec3)):
    v = wp.vec3(1.0, 2.0, 3.0)
    v[0] = x[0]  # ok: WP102
    o[0] = v


@wp.kernel
def both_arms(x: wp.array(dtype=float), o: wp.array(dtype=wp.vec3)):
    v = wp.vec3()
    if x[0] > 0.0:
        v[0] = x[0]  # ok: WP102
    else:
        v[0] = x[1]  # ok: WP102
    o[0] = v


@wp.kernel
def assigned_twice(x: wp.array(dtype=float), o: wp.array(dtype=wp.vec3)):
    v = wp.vec3()
    v[0] = x[0]
    v[0] = x[1]  # expect: WP102
    o[0] = v


@wp.kernel
def after_constructor(x: wp.array(dtype=float), o: wp.array(dtype=wp.vec3)):
    v = wp.vec3(x[0], 1.0, 2.0)
    v[1] = x[1]  # ok: WP102
    v[0] = 3.0  # expect: WP102
    o[0] = v


@wp.kernel
def by_attribute(x: wp.array(dtype=float), o: wp.array(dtype=wp.vec3)):
    v = wp.vec3(x[0], x[1], x[2])
    v.x = x[0] * 2.0  # expect: WP102
    o[0] = v


@wp.kernel
def loaded(x: wp.array(dtype=wp.vec3), o: wp.array(dtype=wp.vec3)):
    u = x[0]
    u[0] = 0.5  # expect: WP102
    o[0] = u


@wp.kernel
def copied(x: wp.array(dtype=float), o: wp.array(dtype=wp.vec3)):
    v = wp.vec3(x[0], x[1], x[2])
    u = v
    u[0] = x[3]  # expect: WP102
    o[0] = u


@wp.kernel
def multiplied(x: wp.array(dtype=float), o: wp.array(dtype=wp.vec3)):
    v = wp.vec3()
    v[0] = x[0]
    v[0] *= 2.0  # expect: WP102
    o[0] = v


@wp.kernel
def accumulated(x: wp.array(dtype=float), o: wp.array(dtype=wp.vec3)):
    v = wp.vec3(x[0], x[1], x[2])
    v[0] += x[3]  # ok: WP102
    v[1] -= x[3] * v[0]  # ok: WP102
    o[0] = v


@wp.kernel
def matrix_element(x: wp.array(dtype=float), o: wp.array(dtype=wp.mat22)):
    m = wp.mat22()
    m[0, 0] = x[0]  # ok: WP102
    m[0, 1] = x[1]  # ok: WP102
    m[0, 0] = m[0, 0] + x[2]  # expect: WP102
    o[0] = m


@wp.kernel
def matrix_row(x: wp.array(dtype=float), o: wp.array(dtype=wp.mat22)):
    m = wp.mat22(x[0], x[1], x[2], x[3])
    m[0] = wp.vec2(x[1], x[1])  # expect: WP102
    o[0] = m


@wp.kernel
def quaternion(x: wp.array(dtype=float), o: wp.array(dtype=wp.quat)):
    q = wp.quat(x[0], x[1], x[2], x[3])
    q[3] = 1.0  # expect: WP102
    o[0] = q


@wp.kernel
def default_then_branch(x: wp.array(dtype=float), o: wp.array(dtype=wp.vec3)):
    v = wp.vec3(x[0], x[1], x[2])
    if x[3] > 1.0:
        v[0] = x[3]  # expect: WP102
    o[0] = v


@wp.kernel
def rebuilt(x: wp.array(dtype=float), o: wp.array(dtype=wp.vec2)):
    v = wp.vec2(x[0], x[1])
    v = wp.vec2(wp.sin(v[0]), v[1])  # ok: WP102
    o[0] = v


@wp.kernel
def fresh_each_iteration(x: wp.array(dtype=float), n: int, o: wp.array(dtype=wp.vec2)):
    for i in range(n):
        v = wp.vec2()
        v[0] = x[i]  # ok: WP102
        v[1] = x[i] * x[i]  # ok: WP102
        o[i] = v


@wp.kernel
def same_each_iteration(x: wp.array(dtype=float), n: int, o: wp.array(dtype=wp.vec2)):
    v = wp.vec2()
    for i in range(n):
        v[0] = x[i]  # expect: WP102
    o[0] = v


@wp.func
def without_height(v: wp.vec3):
    v[2] = 0.0  # expect: WP102
    return v


@wp.kernel
def calls_without_height(x: wp.array(dtype=wp.vec3), o: wp.array(dtype=wp.vec3)):
    o[0] = without_height(x[0])


@wp.kernel
def elements(x: wp.array(dtype=float), o: wp.array(dtype=wp.vec3), m: wp.array(dtype=wp.mat22)):
    o[0][0] = x[0]  # ok: WP102
    o[0][0] = x[1]  # ok: WP102
    o[0].x = x[1]  # ok: WP102
    m[0][0, 1] = x[0]  # ok: WP102


@wp.kernel
def scalar_parameter(shift: wp.vec3, x: wp.array(dtype=float), o: wp.array(dtype=wp.vec3)):
    shift[0] = x[0]  # ok: WP102
    o[0] = shift


@wp.kernel
def integers(x: wp.array(dtype=wp.vec3i), o: wp.array(dtype=wp.vec3i)):
    v = x[0]
    v[0] = 3  # ok: WP102
    o[0] = v


@wp.kernel
def unused_afterwards(x: wp.array(dtype=wp.vec3), o: wp.array(dtype=int)):
    v = x[0]
    v[0] = 3.0  # ok: WP102
    o[0] = int(v[1])


@wp.kernel
def transform_parts(x: wp.array(dtype=wp.transform), o: wp.array(dtype=wp.transform), p: wp.array(dtype=wp.vec3)):
    t = wp.transform_identity()
    t.p = p[0]  # ok: WP102
    u = x[0]
    u.p = p[0]  # expect: WP102
    o[0] = t
    o[1] = u
