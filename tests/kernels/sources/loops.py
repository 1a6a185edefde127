"""Loops of every kind that Warp's code generator unrolls or not. The test compares with Warp itself, loop for loop."""

import loops_constants as other
import warp as wp
from loops_constants import FEW, MANY

N = 4
SUM = 2 + 2
LIMIT = wp.constant(8)
TOO_MANY = 17


class Config:
    count = 5


vec6 = wp.types.vector(6, float)


@wp.kernel
def literals(o: wp.array(dtype=float)):
    for i in range(4):
        o[i] += 1.0
    for i in range(1, 4):
        o[i] += 1.0
    for i in range(3, -1, -1):
        o[i] += 1.0
    for i in range(0, 8, 3):
        o[i] += 1.0
    for i in range(16):
        o[i] += 1.0
    for i in range(17):
        o[i] += 1.0
    for i in range(0):
        o[i] += 1.0


@wp.kernel
def constants(o: wp.array(dtype=float)):
    for i in range(N):
        o[i] += 1.0
    for i in range(SUM):
        o[i] += 1.0
    for i in range(LIMIT):
        o[i] += 1.0
    for i in range(TOO_MANY):
        o[i] += 1.0
    for i in range(Config.count):
        o[i] += 1.0
    for i in range(FEW):
        o[i] += 1.0
    for i in range(MANY):
        o[i] += 1.0
    for i in range(other.FEW):
        o[i] += 1.0
    for i in range(-N, 0):
        o[i + 8] += 1.0


@wp.kernel
def expressions(n: int, o: wp.array(dtype=float)):
    for i in range(2 * 2):
        o[i] += 1.0
    for i in range(-1 + 4):
        o[i] += 1.0
    for i in range(N - 1):
        o[i] += 1.0
    for i in range(LIMIT * 2):
        o[i] += 1.0
    for i in range(int(4)):
        o[i] += 1.0
    for i in range(n):
        o[i] += 1.0
    for i in range(wp.min(n, 4)):
        o[i] += 1.0
    for i in range(o.shape[0]):
        o[i] += 1.0
    for i in range(len(o)):
        o[i] += 1.0


@wp.kernel
def local_counts(n: int, o: wp.array(dtype=float)):
    k = 4
    for i in range(k):
        o[i] += 1.0
    m = int(4)
    for i in range(m):
        o[i] += 1.0
    j = k
    for i in range(j):
        o[i] += 1.0
    for a in range(3):
        for b in range(a):
            o[b] += 1.0


@wp.kernel
def lengths(o: wp.array(dtype=float)):
    v = wp.vec3()
    for i in range(len(v)):
        o[i] += v[i]
    w = vec6()
    for i in range(w.length):
        o[i] += w[i]
    m = wp.mat22()
    for i in range(len(m)):
        o[i] += m[i, 0]


@wp.kernel
def statics(o: wp.array(dtype=float)):
    for i in range(wp.static(N * 2)):
        o[i] += 1.0
    for i in range(20):
        o[i] += wp.static(float(i))
    for i in range(20):
        o[i] += wp.static(4.0)


@wp.kernel
def jumps(n: int, o: wp.array(dtype=float)):
    for i in range(4):
        if o[i] > 1.0:
            break
        o[i] += 1.0
    for i in range(4):
        if o[i] > 1.0:
            continue
        o[i] += 1.0
    for i in range(4):
        for j in range(3):
            if o[j] > 1.0:
                break
            o[j] += 1.0
    for i in range(4):
        if o[i] > 1.0:
            return
        o[i] += 1.0


@wp.kernel(module="unique", module_options={"max_unroll": 4})
def smaller_limit(o: wp.array(dtype=float)):
    for i in range(4):
        o[i] += 1.0
    for i in range(5):
        o[i] += 1.0


@wp.func
def in_a_func(o: wp.array(dtype=float), n: int):
    for i in range(3):
        o[i] += 1.0
    for i in range(n):
        o[i] += 1.0
    return o[0]


@wp.kernel
def calls(n: int, o: wp.array(dtype=float)):
    o[0] = in_a_func(o, n)


def make(layers, width):
    inner = layers * 2

    @wp.kernel(module="unique")
    def closure_counts(o: wp.array(dtype=float)):
        for i in range(layers):
            o[i] += 1.0
        for i in range(width):
            o[i] += 1.0
        for i in range(inner):
            o[i] += 1.0

    return closure_counts


SMALL = make(3, width=TOO_MANY)
