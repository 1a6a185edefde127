"""Arguments for a kernel's signature, drawn so that indices stay in range and values stay tame."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Any

import numpy as np
import warp as wp

from warplint.probe.worker.compat import array_class, types
from warplint.probe.worker.extents import RATIOS, Extents
from warplint.probe.worker.handles import Unsupported, group_roots, make_handle, make_texture, texture_rank
from warplint.probe.worker.packed import pack
from warplint.probe.worker.usage import Usage
from warplint.probe.worker.uses import Path, Use
from warplint.records import dataclass

# How long arrays of structs are whose elements hold arrays of their own.
_INSTANCES = 8
# How many threads are launched at most where a launch has several dimensions.
_THREADS = 64
_FLOATS = (wp.float16, wp.float32, wp.float64)
_INTS = (wp.int8, wp.uint8, wp.int16, wp.uint16, wp.int32, wp.uint32, wp.int64, wp.uint64)


@dataclass(frozen=True)
class Profile:
    """How one input set is drawn.

    ``threads`` is the launch size in each dimension; ``extent`` the size of one-dimensional arrays (others are
    smaller); ``limit`` bounds integers that index; ``count`` is the value of integers that bound loops;
    ``signs`` allows negative numbers; ``directed`` draws from special values (zeros, ties, large numbers);
    ``other``, where not 0, is the seed of the integers.
    ``mixed`` draws each integer that bounds a loop on its own, near what it is compared with, and leaves out arrays
    that the kernel can do without.
    The order of draws does not depend on ``jitter``, so that one seed with several jitters gives neighbouring inputs.
    """

    seed: int
    threads: int = 1
    extent: int = 12
    limit: int = 3
    count: int = 3
    signs: bool = False
    directed: bool = False
    mixed: bool = False
    other: int = 0
    jitter: int = 0  # another draw near the same values
    spread: float = 1.0  # scales all floats
    ordered: bool = False  # no element is stored to twice, nor after it was read
    ratios: bool = False  # numbers that are not in arrays differ much, and integers divide each other
    guard: int = 0  # rows of unused memory on both sides of every array


@dataclass
class Leaf:
    """A float array among the arguments: where it is, and whether its initial contents matter."""

    path: Path
    array: Any
    read: bool
    written: bool

    @property
    def label(self) -> str:
        """As a reader would write it: ``x``, ``state.q``."""
        return ".".join(step for step in self.path if step != "[]")


@dataclass
class Arguments:
    """Everything that one launch needs. ``keep`` holds what ids point to."""

    values: list[Any]
    dim: tuple[int, ...]
    leaves: list[Leaf] = field(default_factory=list)
    arrays: list[Any] = field(default_factory=list)
    written: set[int] = field(default_factory=set)  # ids of arrays that the kernel may change
    keep: list[Any] = field(default_factory=list)
    fixed: set[Path] = field(default_factory=set)  # floats that hold ids, and are not to be moved


def views(data: np.ndarray, prefix: str = "") -> Iterator[tuple[str, np.ndarray]]:
    """The float parts of an array's host data: one for plain data, one a field for structs."""
    if data.dtype.names:
        for name in data.dtype.names:
            yield from views(data[name], f"{prefix}.{name}")
    elif data.dtype in (np.float32, np.float64):
        yield prefix, data


@dataclass(frozen=True)
class Choice:
    """What ``Any`` stands for: numbers of ``number``; parameters that are indexed become arrays if ``arrays``.

    ``kinds`` are the types of all parameters where they are known (see ``generics``).
    """

    number: Any
    arrays: bool = True
    kinds: tuple[Any, ...] | None = None


def choices() -> list[Choice]:
    """What is tried for generic signatures, in order."""
    return [
        Choice(wp.float32),
        Choice(wp.vec3f),
        Choice(wp.float32, arrays=False),
        Choice(wp.vec3f, arrays=False),
        Choice(wp.mat33f),
    ]


def concrete(kind: Any, choice: Choice, use: Use | None = None) -> Any:
    """``kind`` with what is generic in it made concrete; ``use`` is how the argument (or the element) is used."""
    if not types.type_is_generic(kind):
        return kind
    if types.is_array(kind):
        return wp.array(dtype=concrete(kind.dtype, choice, use), ndim=kind.ndim)
    scalar = getattr(kind, "_wp_scalar_type_", None)
    if scalar is not None:
        hint = getattr(kind, "_wp_generic_type_str_", "")
        shape = tuple(size if isinstance(size, int) and size > 0 else 3 for size in kind._shape_)
        number = wp.float32 if types.type_is_generic(scalar) else scalar
        if scalar is getattr(types, "Int", None):
            number = wp.int32
        if hint == "quat_t":
            return types.quaternion(dtype=number)
        if hint == "transform_t":
            return types.transformation(dtype=number)
        return types.vector(shape[0], number) if len(shape) == 1 else types.matrix(shape, number)
    if kind is getattr(types, "Int", None) or (use is not None and (use.index_of or use.bound or use.bits)):
        return wp.int32
    if kind in (getattr(types, "Float", None), getattr(types, "Scalar", None)):
        return wp.float32
    if use is not None and use.subscripts and choice.arrays:
        return wp.array(dtype=choice.number, ndim=use.subscripts)
    return choice.number


class Draw:
    """Draws the arguments of one launch; without ``gradients`` of one that is not differentiated."""

    def __init__(self, usage: Usage, profile: Profile, device: str, gradients: bool = True) -> None:
        self.gradients = gradients
        self.usage = usage
        self.profile = profile
        self.device = device
        self.floats = np.random.default_rng(profile.seed * 7919 + 13)
        self.ints = np.random.default_rng((profile.other or profile.seed) * 104729 + 7)
        self.near = np.random.default_rng(profile.jitter)
        # whether queries may start inside a tree
        self.grouped = any(use.root is not None for use in usage.uses.values())
        self.keep: list[Any] = []
        self.leaves: list[Leaf] = []
        self.arrays: list[Any] = []
        # what arrays of structs were made from whose elements hold arrays
        self.instances: dict[int, list[Any]] = {}
        self.extents = Extents(usage, profile)
        self.written: set[int] = set()
        self.fixed: set[Path] = set()

    def arguments(self, types: dict[str, Any]) -> Arguments:
        """Values for parameters of the given types, in order."""
        values = [self.value((name,), kind) for name, kind in types.items()]
        # not too many in all: every thread costs time in every evaluation
        most = next(size for size in range(8, 0, -1) if size**self.usage.rank <= _THREADS)
        dim = (min(self.profile.threads, most),) * self.usage.rank
        if self.usage.tiles and self.usage.rank > 1:
            # the last number is often a thread's within its block, and blocks have one thread on the CPU device
            dim = (*dim[:-1], 1)
        return Arguments(values, dim, self.leaves, self.arrays, self.written, self.keep, self.fixed)

    def value(self, path: Path, kind: Any) -> Any:
        """One argument, or one field of a struct."""
        if types.is_array(kind):
            return self.array(path, kind)
        if hasattr(kind, "vars") and hasattr(kind, "cls"):
            instance = kind()
            for name, variable in kind.vars.items():
                setattr(instance, name, self.value((*path, name), variable.type))
            return instance
        if getattr(kind, "_wp_scalar_type_", None) is not None:
            packed = self.packed(path, kind, ())
            return kind(*np.ravel(self.composite(kind, ()) if packed is None else packed).tolist())
        if kind in (float, int, bool, *_FLOATS, *_INTS, wp.bool):
            return self.scalar(path, kind)
        if texture_rank(kind):
            texture = make_texture(kind, self.ints, self.device)
            self.keep.append(texture)
            return texture
        raise Unsupported(f"argument `{'.'.join(path)}` has the type {_name(kind)}, for which no value can be made")

    # --- scalars ---

    def scalar(self, path: Path, kind: Any) -> Any:
        use = self.usage.uses.get(path, Use())
        if kind in (float, *_FLOATS):
            size = 10.0 ** self.floats.uniform(-1.0, 1.5) if self.profile.ratios else 1.0
            return size * float(self.real(use, ()))
        if kind in (bool, wp.bool):
            return bool(self.ints.integers(0, 2))
        if use.handle is not None and not self.index_instead(use):
            return self.handle(use.handle)
        if self.profile.ratios and not use.root:
            return int(self.ints.choice(RATIOS))
        if self.compared_with_index(use) and self.ints.random() < 0.7:
            # a number that indices stay below: the fill value of a list, how many there are
            return self.extents.base
        if use.bound and not use.root:
            return int(self.bounds(use, ()))
        return int(self.integers(use, ()))

    def compared_with_index(self, use: Use) -> bool:
        """Whether this is no index itself, and is compared by order with something that is."""
        compared = (self.usage.uses.get(path, Use()) for path in use.above)
        return not use.index_of and any(other.index_of for other in compared)

    def index_instead(self, use: Use) -> bool:
        """Whether numbers that are ids in one branch and indices in another are indices this time."""
        return bool(use.index_of) and self.profile.mixed and self.ints.random() < 0.5

    def bounds(self, use: Use, shape: tuple[int, ...]) -> np.ndarray:
        """Integers that bound loops: all the same, or each on its own, some of them next to what they are compared
        with."""
        count = self.profile.count
        if not self.profile.mixed:
            return np.full(shape, count * use.scale)
        near = [int(constant) + side for constant in use.constants if constant.is_integer() for side in (0, 1)]
        near = sorted({*(-1 for side in use.sides if side == -1), *(n for n in near if 0 <= n <= self.extents.base)})
        values = self.ints.integers(0, count + 2, shape)
        if near:
            values = np.where(self.ints.random(shape) < 0.6, self.ints.choice(near, shape), values)
        if use.scale > 1:
            values = np.where(self.ints.random(shape) < 0.6, np.minimum(values, self.extents.base) * use.scale, values)
        return np.asarray(values)

    def handle(self, kind: str) -> Any:
        item = make_handle(kind, self.ints, self.device, self.grouped)
        self.keep.append(item)
        return item.id

    def integers(self, use: Use, shape: tuple[int, ...], path: Path = ()) -> np.ndarray:
        """Integers: what they are compared with, or small numbers; one of each where they index a store."""
        size = int(np.prod(shape, dtype=int))
        if path in self.extents.scattering:
            first = self.extents.scattering[path] * self.extents.base
            return (first + 1 + np.arange(size) % self.extents.base).reshape(shape)
        if path and self.extents.follows(use):
            place = np.indices(shape)[0] if shape else np.zeros(shape)
            before = np.floor(self.ints.random(shape) * (place + 1)).astype(int)
            return np.where((place == 0) & bool(use.sides & {-1, -2}), -1, before)
        if use.chained:
            # each element points to the one before it, and the first to none; or the other way round, for a few
            if self.profile.threads > 1:
                return (np.arange(size) - 1).reshape(shape)
            following = np.arange(size) + 1
            return np.where(following < min(size, 4), following, -1).reshape(shape)
        if use.offsets:
            step = max(1, min(self.profile.count - 1, 3))
            return (np.arange(size) * step).clip(0, self.extents.base - 1).reshape(shape)
        if use.begins is not None:
            # segments that follow each other
            step = max(1, min(self.profile.count - 1, 3))
            place = np.arange(size) + (0 if use.begins else 1)
            return (place * step).clip(0, self.extents.base - 1).reshape(shape)
        if use.root:
            return np.asarray(self.ints.choice([*group_roots(use.root, self.device) * 3, -1], shape))
        if use.bound and not use.index_of:
            return self.bounds(use, shape)
        limit = self.profile.limit
        order = self.ints.permutation(limit)
        # no number twice in a row, nor in a column
        values = order[np.indices(shape).sum(axis=0).ravel() % limit]
        constants = sorted(int(value) for value in use.constants if float(value).is_integer())
        if constants:
            near = sorted({*use.sides, *constants, *(value + 1 for value in constants)})
            if use.index_of:
                near = [value for value in near if -1 <= value < limit] or [0]
            chosen = self.ints.choice(near, size)
            values = np.where(self.ints.random(size) < (0.3 if use.index_of else 0.7), chosen, values)
        elif use.bits and not use.masks:
            values = self.ints.integers(0, 16, size)
        if use.masks and not use.index_of:
            # each of the bits that are asked for set or not, now and then others, or those of a comparison
            asked = np.zeros(size, dtype=np.int64)
            for mask in sorted(use.masks):
                asked |= np.where(self.ints.random(size) < 0.5, mask, 0)
            asked |= np.where(self.ints.random(size) < 0.2, self.ints.integers(0, 16, size), 0)
            values = np.where(self.ints.random(size) < (0.3 if constants else 0.0), values, asked)
        if use.divides:
            values = np.where(values == 0, 1, values)
        return np.asarray(values.reshape(shape))

    # --- floats ---

    def real(self, use: Use, shape: tuple[int, ...]) -> np.ndarray:
        values = self.floats.uniform(0.3, 1.5, shape)
        if self.profile.signs:
            values = values * self.floats.choice([-1.0, 1.0], shape)
        if self.profile.directed:
            special = [0.0, 0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -30.0, 100.0, -100.0, 1e-4]
            special += [number for constant in use.constants for number in (constant, -constant, 2.0 * constant)]
            if self.profile.seed % 4 == 1:
                # all at the same point: where several numbers have to vanish together, chance does not find it
                values = np.full(shape, special[(self.profile.seed // 4) % 3 * 2])
            else:
                values = np.where(self.floats.random(shape) < 0.7, self.floats.choice(special, shape), values)
        elif use.constants and self.floats.random() < 0.5:
            # on both sides of what the kernel compares with
            centre = float(self.floats.choice(sorted(use.constants)))
            if abs(centre) < 1e4:
                spread = max(abs(centre), 0.5) * 0.7
                values = centre + self.floats.uniform(0.1, 1.0, shape) * spread * self.floats.choice([-1.0, 1.0], shape)
        values = np.asarray(values) * self.profile.spread
        if self.profile.jitter:
            values = values * (1.0 + self.near.uniform(-0.04, 0.04, shape))
        return np.asarray(values)

    def composite(self, kind: Any, shape: tuple[int, ...], use: Use | None = None) -> np.ndarray:
        """Vectors, matrices, quaternions and transforms, with the value's own shape last."""
        inner = tuple(kind._shape_)
        scalar = kind._wp_scalar_type_
        if scalar not in (*_FLOATS, float):
            return self.integers(use or Use(), (*shape, *inner))
        values = self.real(use or Use(), (*shape, *inner))
        if self.profile.directed and self.floats.random() < 0.6:
            zero = self.floats.random(shape) < 0.3
            values[zero] = 0.0
            return values
        hint = getattr(kind, "_wp_generic_type_str_", "")
        if hint == "quat_t":
            # what is brought to unit length has another one, or nothing would be lost with it
            long = self.floats.uniform(0.5, 1.8, (*shape, 1)) if use is not None and use.normalized else 1.0
            return np.asarray(_unit(values, self.floats) * long)
        if hint == "transform_t":
            values[..., 3:] = _unit(values[..., 3:], self.floats)
        elif len(inner) == 2 and inner[0] == inner[1]:
            # close to the identity: invertible, and positive definite
            values = (
                np.eye(inner[0]) * self.floats.uniform(0.8, 1.5) + 0.2 * (values + values.swapaxes(-1, -2)) / inner[0]
            )
        return values

    def packed(self, path: Path, kind: Any, shape: tuple[int, ...]) -> np.ndarray | None:
        """The floats of an id, for floats that the kernel makes one of; None for others."""
        use = self.usage.uses.get(path)
        if use is None or use.packed is None or use.handle is None:
            return None
        item = make_handle(use.handle, self.ints, self.device, self.grouped)
        self.keep.append(item)
        self.fixed.add(path)
        size = int(kind._shape_[0])
        return np.broadcast_to(pack(use.packed, int(item.id), size), (*shape, size)).astype(np.float32)

    # --- arrays ---

    def array(self, path: Path, kind: Any) -> Any:
        if array_class(kind, wp.indexedarray):
            base = self.array(path, wp.array(dtype=kind.dtype, ndim=kind.ndim))
            indices = [wp.array(np.arange(n), dtype=int, device=self.device) for n in base.shape]
            return wp.indexedarray(base, indices)
        if not array_class(kind, wp.array):
            raise Unsupported(f"argument `{'.'.join(path)}` is a {type(kind).__name__}, for which no value can be made")
        if self.profile.mixed and self.usage.uses.get(path, Use()).tested and self.ints.random() < 0.5:
            return None
        shape = self.extents.shape(path, kind.ndim)
        dtype = kind.dtype
        if texture_rank(dtype):
            textures = [make_texture(dtype, self.ints, self.device) for _ in range(shape[0])]
            self.keep += textures
            return wp.array(textures, dtype=dtype, device=self.device)
        if _holds_objects(dtype):
            if kind.ndim != 1:
                raise Unsupported(
                    f"argument `{path[0]}` is a {kind.ndim}-dimensional array of structs that hold arrays"
                )
            instances = [self.value((*path, "[]"), dtype) for _ in range(min(shape[0], _INSTANCES))]
            array = wp.array(instances, dtype=dtype, device=self.device)
            self.instances[id(array)] = instances
            return array
        use = self.usage.uses.get(path, Use())
        element = (*path, "[]")
        data = self.contents(element, dtype, shape)
        reads = use.loads or any(
            one.loads for other, one in self.usage.uses.items() if other[: len(path)] == path and other != path
        )
        if use.accumulates and not reads:
            # sums of small numbers would drown in what they are added to
            data = np.zeros_like(data)
        if self.usage.tiles and kind.ndim >= 2 and dtype in (float, *_FLOATS) and self.profile.seed % 2 == 0:
            # what is done with tiles are often decompositions and solutions: of matrices that have them
            index = np.arange(min(shape[-2:]))
            data[..., index, index] += 1.5 * len(index)
        grows = self.gradients and _differentiable(dtype)
        array = self.allocate(data, dtype, grows)
        self.arrays.append(array)
        if use.stores or use.atomics:
            self.written.add(id(array))
        if grows:
            self.leaves.append(Leaf(path, array, reads, use.stores or use.atomics))
        return array

    def allocate(self, data: np.ndarray, dtype: Any, grows: bool) -> Any:
        """A Warp array with these contents; a slice of a larger one where a guard is asked for."""
        guard = self.profile.guard
        if not guard:
            # hundreds of these are made, and copying takes longer than all else about them
            data = np.ascontiguousarray(data)
            return wp.array(data, dtype=dtype, device=self.device, requires_grad=grows, copy=self.device != "cpu")
        wide = np.zeros((data.shape[0] + 2 * guard, *data.shape[1:]), dtype=data.dtype)
        wide[guard : guard + data.shape[0]] = data
        whole = wp.array(wide, dtype=dtype, device=self.device, requires_grad=grows)
        self.keep.append(whole)
        return whole[guard : guard + data.shape[0]]

    def contents(self, path: Path, dtype: Any, shape: tuple[int, ...]) -> np.ndarray:
        """Host data for elements of ``dtype``."""
        use = self.usage.uses.get(path, Use())
        if hasattr(dtype, "vars") and hasattr(dtype, "cls"):
            data = np.zeros(shape, dtype=dtype.numpy_dtype())
            for name, variable in dtype.vars.items():
                data[name] = self.contents((*path, name), variable.type, shape)
            return data
        packed = self.packed(path, dtype, shape)
        if packed is not None:
            return packed
        if getattr(dtype, "_wp_scalar_type_", None) is not None:
            return self.composite(dtype, shape, use).astype(_numpy(dtype._wp_scalar_type_))
        if dtype in (bool, wp.bool):
            return self.ints.integers(0, 2, shape).astype(bool)
        if dtype in (float, *_FLOATS):
            return self.real(use, shape).astype(_numpy(dtype))
        if dtype in (int, *_INTS):
            if use.handle is not None and not self.index_instead(use):
                return np.full(shape, int(self.handle(use.handle)), dtype=np.uint64)
            return self.integers(use, shape, path).astype(_numpy(dtype))
        raise Unsupported(f"argument `{path[0]}` has elements of type {_name(dtype)}, for which no value can be made")


def _holds_objects(dtype: Any) -> bool:
    """Whether elements are structs with arrays or textures in them, which no host array can hold."""
    if not (hasattr(dtype, "vars") and hasattr(dtype, "cls")):
        return False
    kinds = [variable.type for variable in dtype.vars.values()]
    return any(types.is_array(kind) or texture_rank(kind) or _holds_objects(kind) for kind in kinds)


def _differentiable(dtype: Any) -> bool:
    if hasattr(dtype, "vars") and hasattr(dtype, "cls"):
        return any(_differentiable(variable.type) for variable in dtype.vars.values())
    scalar = getattr(dtype, "_wp_scalar_type_", dtype)
    return scalar in (float, wp.float32, wp.float64)


def is_half(dtype: Any) -> bool:
    """Whether elements of this type hold numbers of half precision."""
    if hasattr(dtype, "vars") and hasattr(dtype, "cls"):
        return any(is_half(variable.type) for variable in dtype.vars.values())
    return getattr(dtype, "_wp_scalar_type_", dtype) in (wp.float16, getattr(wp, "bfloat16", wp.float16))


def _numpy(scalar: Any) -> Any:
    return types.warp_type_to_np_dtype.get({int: wp.int32, float: wp.float32}.get(scalar, scalar), np.float32)


def _unit(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    values = rng.normal(size=values.shape)
    return np.asarray(values / np.linalg.norm(values, axis=-1, keepdims=True))


def _name(kind: Any) -> str:
    return getattr(kind, "__name__", None) or str(kind)
