"""What older versions of Warp differentiate otherwise: the marks say before which version, and what finds it."""

import warp as wp


@wp.struct
class Joint:
    stiffness: float
    axis: wp.vec3


@wp.kernel
def component(x: wp.array(dtype=float), v: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    v[i][0] = x[i]  # before 1.14: WP312


@wp.kernel
def attribute(x: wp.array(dtype=float), v: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    v[i].y = x[i] * x[i]  # before 1.14: WP312


@wp.kernel
def matrix(x: wp.array(dtype=float), m: wp.array(dtype=wp.mat33)):
    i = wp.tid()
    m[i][0, 1] = x[i]  # before 1.14: WP312


@wp.kernel
def member(x: wp.array(dtype=float), joints: wp.array(dtype=Joint)):
    i = wp.tid()
    joints[i].stiffness = x[i]  # before 1.14: WP312


@wp.kernel
def whole(x: wp.array(dtype=float), v: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    v[i] = wp.vec3(x[i], 0.0, 0.0)


@wp.kernel
def constant_component(v: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    v[i][0] = 1.0


@wp.kernel
def added(x: wp.array(dtype=float), v: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    v[i][0] += x[i]  # before 1.18: WP313
    v[i].z -= x[i]  # before 1.18: WP313


@wp.kernel
def whole_added(x: wp.array(dtype=float), v: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    v[i] += wp.vec3(x[i], 0.0, 0.0)


@wp.kernel
def constant_added(v: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    v[i][0] += 1.0


@wp.kernel
def twice(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]
    y[i] = 3.0 * x[i]  # before 1.13: WP413


@wp.kernel
def one_arm(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i]
    if x[i] > 1.0:
        y[i] = 2.0 * x[i]  # before 1.13: WP413


@wp.kernel
def two_arms(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    if x[i] > 1.0:
        y[i] = 2.0 * x[i]
    else:
        y[i] = x[i]


@wp.kernel
def returned(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    if x[i] > 1.0:
        y[i] = 2.0 * x[i]
        return
    y[i] = x[i]


@wp.kernel
def cleared(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 0.0
    y[i] = x[i]


@wp.kernel
def elsewhere(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i]
    y[i + 1] = 2.0 * x[i]


@wp.kernel
def read_and_stored(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 0.5 * y[i] + x[i]  # before 1.13: WP413


@wp.kernel
def read_and_added(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] += x[i]


@wp.kernel
def whole_numbers(count: wp.array(dtype=int)):
    i = wp.tid()
    count[i] = count[i] + 1


@wp.kernel
def chosen(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] if x[i] > 1.5 else 2.0  # since 1.11 before 1.17: WP314


@wp.kernel
def other_side(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 2.0 * x[i] if x[i] > 1.5 else x[i]  # since 1.11 before 1.17: WP314


@wp.kernel
def computed(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 3.0 * x[i] if x[i] > 1.5 else 2.0 * x[i]


@wp.kernel
def from_local(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    t = x[i]
    y[i] = t if t > 1.5 else 2.0 * t


@wp.kernel
def chosen_index(x: wp.array(dtype=float), n: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    k = n[i] if n[i] > 0 else 0
    y[i] = x[k]


@wp.kernel(enable_backward=False)
def forward(x: wp.array(dtype=float), v: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    v[i][0] = x[i]


@wp.func
def made(x: float):
    joint = Joint()
    joint.stiffness = x * x  # before 1.15: WP315
    return joint


@wp.kernel
def members(x: wp.array(dtype=float), given: Joint, y: wp.array(dtype=float)):
    i = wp.tid()
    joint = made(x[i])
    joint.axis = wp.vec3(x[i], x[i], 0.0)  # before 1.15: WP315
    joint.stiffness += x[i]  # before 1.15: WP315
    given.stiffness = x[i] * joint.stiffness  # before 1.15: WP315
    y[i] = wp.length(joint.axis) + given.stiffness


@wp.kernel
def constant_members(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    joint = Joint()
    joint.stiffness = 2.0
    joint.axis = wp.vec3(1.0, 0.0, 0.0)
    y[i] = joint.stiffness * x[i] + wp.length(joint.axis)


@wp.kernel
def unused_member(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    joint = Joint()
    joint.stiffness = x[i] * x[i]
    y[i] = x[i]


@wp.kernel(enable_backward=False)
def forward_member(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    joint = Joint()
    joint.stiffness = x[i] * x[i]
    y[i] = joint.stiffness
