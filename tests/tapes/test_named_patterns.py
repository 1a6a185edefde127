"""The patterns that the catalogue names, each run by Warp: its gradient is wrong exactly where something is marked."""

from __future__ import annotations

from pathlib import Path

import pytest
from judged import judge

from warplint.catalogue.loading import load_catalogue

#: The facts about tapes, but for those that are asked for by name.
KINDS = {
    rule.select.fact
    for rule in load_catalogue()[0].rules
    if rule.id[:3] in ("WP2", "WP4") or rule.id in ("WP301", "WP302", "WP307", "WP308", "WP309", "WP311")
} - {"unconverged-solver", "copy-before-reader"}
END = """
tape.backward(loss)
print(x.grad.numpy())
"""
PATTERNS = {
    "201 two structs and one array": """
s, t = State(), State()
s.q, s.v, t.q, t.v = x, wp.zeros_like(x), a, b
p = wp.array([0.5], dtype=float, requires_grad=True)
with tape:
    wp.launch(square, dim=n, inputs=[x, s.v])
    wp.launch(move, dim=n, inputs=[s, x, t])
    wp.launch(halve, dim=n, inputs=[t.q, s.v])  # expect: WP201
    wp.launch(total, dim=n, inputs=[t.q, loss])
""",
    "201 structs of their own": """
s, t = State(), State()
s.q, s.v, t.q, t.v = x, wp.zeros_like(x), a, b
with tape:
    wp.launch(square, dim=n, inputs=[x, s.v])
    wp.launch(move, dim=n, inputs=[s, x, t])
    wp.launch(halve, dim=n, inputs=[t.q, t.v])
    wp.launch(total, dim=n, inputs=[t.v, loss])
""",
    "202 a copy over what was read": """
with tape:
    wp.launch(square, dim=n, inputs=[x, a])
    wp.launch(square, dim=n, inputs=[a, b])
    wp.copy(a, b)  # expect: WP202
    wp.launch(total, dim=n, inputs=[a, loss])
""",
    "202 a copy into fresh memory": """
with tape:
    wp.launch(square, dim=n, inputs=[x, a])
    wp.launch(square, dim=n, inputs=[a, b])
    fresh = wp.zeros_like(a)
    wp.copy(fresh, b)
    a = fresh
    wp.launch(total, dim=n, inputs=[a, loss])
""",
    "203 host data over what was read": """
with tape:
    wp.launch(square, dim=n, inputs=[x, a])
    wp.launch(square, dim=n, inputs=[a, b])
    a.assign(np.zeros(n))  # expect: WP203
    wp.launch(total, dim=n, inputs=[b, loss])
""",
    "203 host data before the tape": """
a.assign(np.ones(n))
loss.zero_()
with tape:
    wp.launch(square, dim=n, inputs=[x, b])
    wp.launch(distance, dim=n, inputs=[b, a, loss])
""",
    "204 attributes that become one array": """
class Pair:
    pass

pair = Pair()
pair.now, pair.then = a, b
pair.now = pair.then  # expect: WP204
with tape:
    wp.launch(square, dim=n, inputs=[x, pair.now])
    wp.launch(square, dim=n, inputs=[pair.now, pair.then])
    wp.launch(total, dim=n, inputs=[pair.then, loss])
""",
    "204 an attribute that is bound to fresh memory": """
class Pair:
    pass

pair = Pair()
pair.now, pair.then = a, b
pair.now = wp.clone(pair.then)
with tape:
    wp.launch(square, dim=n, inputs=[x, pair.now])
    wp.launch(square, dim=n, inputs=[pair.now, pair.then])
    wp.launch(total, dim=n, inputs=[pair.then, loss])
""",
    "205 an alias by pointer": """
alias = wp.array(ptr=a.ptr, dtype=float, shape=n)
with tape:
    wp.launch(square, dim=n, inputs=[x, a])
    wp.launch(square, dim=n, inputs=[a, b])
    wp.launch(total, dim=n, inputs=[b, loss])
alias.fill_(2.0)  # expect: WP205
""",
    "205 one element after the other, all limited": """
@wp.kernel
def first(x: wp.array(dtype=float), w: wp.array(dtype=float)):
    w[0] = 0.9 * x[0]

@wp.kernel
def after(w: wp.array(dtype=float), k: int):
    w[k + 1] = w[k] * w[k]

@wp.kernel
def limit(w: wp.array(dtype=float), most: float):
    i = wp.tid()
    if w[i] > most:
        w[i] = most

w = wp.zeros(4, dtype=float, requires_grad=True)
with tape:
    wp.launch(first, dim=1, inputs=[x, w])
    for k in range(3):
        wp.launch(after, dim=1, inputs=[w, k])
    wp.launch(total, dim=4, inputs=[w, loss])
wp.launch(limit, dim=4, inputs=[w, 0.1])  # expect: WP205
""",
    "205 one element after the other, others set": """
@wp.kernel
def first(x: wp.array(dtype=float), w: wp.array(dtype=float)):
    w[0] = 0.9 * x[0]

@wp.kernel
def after(w: wp.array(dtype=float), k: int):
    w[k + 1] = w[k] * w[k]

@wp.kernel
def behind(w: wp.array(dtype=float)):
    w[wp.tid() + 4] = 0.5

@wp.kernel
def third(w: wp.array(dtype=float)):
    w[3] = 0.5

@wp.kernel
def put(w: wp.array(dtype=float), k: int):
    w[k] = 0.5

w = wp.zeros(8, dtype=float, requires_grad=True)
with tape:
    wp.launch(first, dim=1, inputs=[x, w])
    for k in range(3):
        wp.launch(after, dim=1, inputs=[w, k])
    wp.launch(total, dim=4, inputs=[w, loss])
wp.launch(behind, dim=4, inputs=[w])
wp.launch(third, dim=1, inputs=[w])
wp.launch(put, dim=1, inputs=[w, 6])
""",
    "205 a slice": """
with tape:
    wp.launch(square, dim=n, inputs=[x, a])
    wp.launch(square, dim=n, inputs=[a, b])
    wp.launch(total, dim=n, inputs=[b, loss])
a[1:].zero_()  # expect: WP205
""",
    "205 another shape": """
flat = a.reshape((1, n))
with tape:
    wp.launch(square, dim=n, inputs=[x, a])
    wp.launch(square, dim=n, inputs=[a, b])
    wp.launch(total, dim=n, inputs=[b, loss])
flat.fill_(0.1)  # expect: WP205
""",
    "205 a clone": """
with tape:
    wp.launch(square, dim=n, inputs=[x, a])
    wp.launch(square, dim=n, inputs=[a, b])
    wp.launch(total, dim=n, inputs=[b, loss])
kept = wp.clone(a)
kept.zero_()
""",
    "301 an array that is made full": """
a = wp.full(n, 0.0, dtype=float)  # expect: WP301
with tape:
    wp.launch(square, dim=n, inputs=[x, a])
    wp.launch(total, dim=n, inputs=[a, loss])
""",
    "301 an array that is made of ones": """
a = wp.ones(n, dtype=float)  # expect: WP301
with tape:
    wp.launch(square, dim=n, inputs=[x, a])
    wp.launch(total, dim=n, inputs=[a, loss])
""",
    "301 an array from numpy": """
a = wp.from_numpy(np.zeros(n, dtype=np.float32), dtype=float)  # expect: WP301
with tape:
    wp.launch(square, dim=n, inputs=[x, a])
    wp.launch(total, dim=n, inputs=[a, loss])
""",
    "301 a member of a struct": """
s, t = State(), State()
s.q, s.v = x, x
t.q, t.v = wp.empty(n, dtype=float), b  # expect: WP301
with tape:
    wp.launch(move, dim=n, inputs=[s, x, t])
    wp.launch(rate, dim=n, inputs=[t, loss])
""",
    "301 like something that has one": """
a, b = wp.empty_like(x), wp.full_like(x, 0.5)
with tape:
    wp.launch(square, dim=n, inputs=[x, a])
    wp.launch(square, dim=n, inputs=[a, b])
    wp.launch(total, dim=n, inputs=[b, loss])
""",
    "301 targets and indices": """
target = wp.array(np.zeros(n), dtype=float)
index = wp.array(np.arange(n), dtype=int)
with tape:
    wp.launch(square, dim=n, inputs=[x, a])
    wp.launch(gather, dim=n, inputs=[a, index, b])
    wp.launch(distance, dim=n, inputs=[b, target, loss])
""",
    "302 the kernel's option beats the module's": """
@wp.kernel(enable_backward=False, module="unique")
def cube(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i] * x[i]

with tape:
    wp.launch(cube, dim=n, inputs=[x, a])  # expect: WP302
    wp.launch(total, dim=n, inputs=[a, loss])
""",
    "307 a number that is read back": """
with tape:
    wp.launch(square, dim=n, inputs=[x, a])
    wp.launch(total, dim=n, inputs=[a, loss])
    p = wp.array([float(loss.numpy()[0])], dtype=float, requires_grad=True)  # expect: WP307
    wp.launch(combine, dim=n, inputs=[x, p, b])
    last_one = wp.zeros(1, dtype=float, requires_grad=True)
    wp.launch(total, dim=n, inputs=[b, last_one])
print(float(last_one.numpy()[0]))
loss = last_one
""",
    "307 only written down": """
with tape:
    wp.launch(square, dim=n, inputs=[x, a])
    seen = [float(value) for value in a.numpy()]
    wp.launch(total, dim=n, inputs=[a, loss])
""",
    "308 before the struct": """
s, t = State(), State()
v = wp.ones(n, dtype=float)
v.requires_grad = True
s.q, s.v, t.q, t.v = x, v, a, b
with tape:
    wp.launch(move, dim=n, inputs=[s, x, t])
    wp.launch(rate, dim=n, inputs=[t, loss])
""",
    "309 a command inside the tape": """
command = wp.launch(square, dim=n, inputs=[x, a], record_cmd=True)
with tape:
    command.launch()  # expect: WP309
    wp.launch(total, dim=n, inputs=[a, loss])
""",
    "309 a command before the tape": """
command = wp.launch(fill, dim=n, inputs=[b], record_cmd=True)
command.launch()
with tape:
    wp.launch(square, dim=n, inputs=[x, a])
    wp.launch(distance, dim=n, inputs=[a, b, loss])
""",
    "309 a command whose arguments change": """
c = wp.zeros_like(x)
command = wp.launch(square, dim=n, inputs=[c, c], record_cmd=True)
command.set_param_at_index(0, x)
command.set_param_by_name("y", a)
with tape:
    command.launch()  # expect: WP309
    wp.launch(total, dim=n, inputs=[a, loss])
""",
    "309 a command with other arguments": """
command = wp.launch(square, dim=n, inputs=[a, b], record_cmd=True)
c = wp.zeros_like(x)
command.set_params([wp.ones_like(x), c])
with tape:
    wp.launch(square, dim=n, inputs=[x, a])
    command.launch()
    wp.launch(total, dim=n, inputs=[a, loss])
    wp.launch(distance, dim=n, inputs=[a, c, loss])
""",
    "311 a captured graph": """
with wp.ScopedCapture() as capture:
    wp.launch(square, dim=n, inputs=[x, a])
with tape:
    wp.capture_launch(capture.graph)  # expect: WP311
    wp.launch(total, dim=n, inputs=[a, loss])
""",
    "311 a graph between the ends of a capture": """
wp.capture_begin()
wp.launch(square, dim=n, inputs=[x, a])
graph = wp.capture_end()
with tape:
    wp.capture_launch(graph)  # expect: WP311
    wp.launch(total, dim=n, inputs=[a, loss])
""",
    "311 a graph that was captured under the tape": """
with tape:
    with wp.ScopedCapture() as capture:
        wp.launch(square, dim=n, inputs=[x, a])
    wp.capture_launch(capture.graph)
    wp.launch(total, dim=n, inputs=[a, loss])
""",
    "311 an inner product": """
with tape:
    wp.launch(square, dim=n, inputs=[x, a])
    wp.utils.array_inner(a, x, out=loss)  # expect: WP311
""",
    "311 outside of the tape": """
with tape:
    wp.launch(square, dim=n, inputs=[x, a])
    wp.launch(total, dim=n, inputs=[a, loss])
seen = wp.zeros(1, dtype=float)
wp.utils.array_sum(a, out=seen)
""",
    "403 read after all is zeroed": """
with tape:
    wp.launch(square, dim=n, inputs=[x, a])
    wp.launch(total, dim=n, inputs=[a, loss])
tape.backward(loss)
tape.zero()
print(x.grad.numpy())  # expect: WP403
""",
    "404 a reset": """
with tape:
    wp.launch(square, dim=n, inputs=[x, a])
    wp.launch(total, dim=n, inputs=[a, loss])
    print(float(loss.numpy()[0]))
    wp.launch(fill, dim=1, inputs=[loss])  # expect: WP404
""",
    "404 what a loop does in every round": """
state = x
with tape:
    for _ in range(3):
        then, shown = wp.zeros_like(x), wp.zeros_like(x)
        wp.launch(square, dim=n, inputs=[state, then])
        wp.launch(total, dim=n, inputs=[then, loss])
        wp.launch(halve, dim=n, inputs=[then, shown])
        state = shown
""",
    "405 written once": """
a = wp.zeros(n, dtype=float, requires_grad=True, retain_grad=True)
with tape:
    wp.launch(square, dim=n, inputs=[x, a])
    wp.launch(total, dim=n, inputs=[a, loss])
""",
    "406 added up twice on purpose": """
with tape:
    wp.launch(square, dim=n, inputs=[x, a])
    wp.launch(add, dim=n, inputs=[a, b])
    wp.launch(add, dim=n, inputs=[a, b])
    wp.launch(total, dim=n, inputs=[b, loss])
""",
    "407 ones for a mean": """
with tape:
    wp.launch(square, dim=n, inputs=[x, a])
tape.backward(grads={a: wp.full(n, 1.0, dtype=float)})  # expect: WP407
print(float(np.mean(a.numpy())))
print(x.grad.numpy())
""",
    "407 the derivative of a mean": """
with tape:
    wp.launch(square, dim=n, inputs=[x, a])
tape.backward(grads={a: wp.full_like(a, 1.0 / n)})
print(float(np.mean(a.numpy())))
print(x.grad.numpy())
""",
    "409 an array that only holds what was computed elsewhere": """
other = wp.zeros(1, dtype=float, requires_grad=True)
with tape:
    wp.launch(square, dim=n, inputs=[x, a])
    wp.launch(total, dim=n, inputs=[a, loss])
tape.backward(other)  # expect: WP409
print(float(loss.numpy()[0]))
print(x.grad.numpy())
""",
    "411 two sweeps with zeroing between": """
with tape:
    wp.launch(square, dim=n, inputs=[x, a])
    wp.launch(total, dim=n, inputs=[a, loss])
tape.backward(loss)
tape.zero()
""",
    "412 entered again after a reset": """
for _ in range(2):
    loss.zero_()
    tape.reset()
    x.grad.zero_()
    with tape:
        wp.launch(square, dim=n, inputs=[x, a])
        wp.launch(total, dim=n, inputs=[a, loss])
    tape.backward(loss)
print(x.grad.numpy())
""",
    "205 a struct that a func is given whole": """
@wp.func
def product(s: State, i: int):
    return s.q[i] * s.v[i]

@wp.kernel
def weigh(s: State, out: wp.array(dtype=float)):
    wp.atomic_add(out, 0, product(s, wp.tid()))

s = State()
s.q, s.v = x, wp.ones(n, dtype=float)
with tape:
    wp.launch(weigh, dim=n, inputs=[s, loss])
s.v.zero_()  # expect: WP205
""",
    "301 a function that a factory is called with": """
@wp.func
def cube(value: float):
    return value * value * value

def make(function):
    @wp.kernel(module="unique")
    def each(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = function(x[i])

    return each

a = wp.zeros(n, dtype=float)  # expect: WP301
with tape:
    wp.launch(make(cube), dim=n, inputs=[x, a])
    wp.launch(total, dim=n, inputs=[a, loss])
""",
    "201 a function that is known when the kernel is made": """
@wp.func
def cube(value: float):
    return value * value * value

def make(function):
    @wp.kernel(module="unique")
    def each(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = wp.static(function)(x[i])

    return each

each = make(cube)
with tape:
    wp.launch(halve, dim=n, inputs=[x, a])
    wp.launch(each, dim=n, inputs=[a, b])
    wp.launch(halve, dim=n, inputs=[b, a])  # expect: WP201
    wp.launch(total, dim=n, inputs=[a, loss])
""",
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_pattern(tmp_path: Path, pattern: str) -> None:
    body = PATTERNS[pattern]
    judge(tmp_path, body if "print(x.grad" in body else body + END, KINDS, measured=True)
