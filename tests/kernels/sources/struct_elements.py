"""Members of struct elements, stored after another member, or the same, was read; on the tape they were measured so."""

import warp as wp


@wp.struct
class Pick:
    local: wp.vec3
    world: wp.vec3


@wp.kernel
def another_member(picks: wp.array(dtype=Pick), frame: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    at = wp.cross(frame[i], picks[i].local)
    picks[i].world = at  # ok: WP103
    out[i] = wp.dot(at, at)


@wp.kernel
def the_same_member(picks: wp.array(dtype=Pick), frame: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    at = wp.cross(frame[i], picks[i].local)
    picks[i].local = at  # expect: WP103
    out[i] = wp.dot(at, at)
