"""Operators that join and repeat arrays (concatenate, stack, repeat) and functions composed of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scanopt.array.batching import broadcast_to, dim, dims_of, expand, rows, spread
from scanopt.array.constants import as_variable, promoted
from scanopt.array.derivatives import fitting, smooth
from scanopt.array.op import Op, Operand, OpSpec, register
from scanopt.array.operators.axes import atleast_1d, atleast_2d, shape_padleft
from scanopt.array.operators.elementwise import cast
from scanopt.array.operators.lengths import times
from scanopt.array.operators.rows import repeat_rows
from scanopt.array.operators.shaping import as_dims, flatten, reshape_to
from scanopt.array.parameters import AXIS
from scanopt.array.registry import FUNCTIONS, public
from scanopt.array.shapes import axes_text, axis_of, common_dtype, same, shape_text
from scanopt.array.types import Dim, TensorType
from scanopt.array.variable import Variable, apply, describe

__all__ = ["concatenate", "stack"]

Flags = Sequence[bool]
Args = Sequence[Variable]
Shape = tuple[Dim, ...]
FULL: Any = ("slice", None, None, None)


def _infer_concatenate(*xs: Operand, axis: int) -> TensorType:
    if not xs:
        raise ValueError("need at least one array to concatenate")
    shape = list(xs[0].shape)
    axis_of(axis, len(shape))
    for x in xs[1:]:
        if x.ndim != len(shape):
            raise ValueError(f"arrays to concatenate have {len(shape)} and {axes_text(x.ndim)}")
        for i, n in enumerate(x.shape):
            if i != axis:
                shape[i] = same(
                    shape[i], n, f"lengths of axis {i} differ: {shape_text(xs[0].shape)} and {shape_text(x.shape)}"
                )
    lengths = [x.shape[axis] for x in xs]
    shape[axis] = None if None in lengths else sum(n for n in lengths if n is not None)
    return TensorType(common_dtype(tuple(x.dtype for x in xs)), tuple(shape))


def _infer_stack(*xs: Operand, axis: int) -> TensorType:
    if not xs:
        raise ValueError("need at least one array to stack")
    shape: Shape = xs[0].shape
    for x in xs[1:]:
        if x.ndim != len(shape):
            raise ValueError(f"arrays to stack have {len(shape)} and {axes_text(x.ndim)}")
        what = f"shapes to stack differ: {shape_text(xs[0].shape)} and {shape_text(x.shape)}"
        shape = tuple(same(a, b, what) for a, b in zip(shape, x.shape, strict=True))
    if axis_of(axis, len(shape) + 1) != axis:
        raise ValueError(f"the axis along which arrays are stacked counts from the first one, found {axis}")
    dtype = common_dtype(tuple(x.dtype for x in xs))
    return TensorType(dtype, (*shape[:axis], len(xs), *shape[axis:]))


def _infer_repeat(x: Operand, repeats: Operand, axis: int) -> TensorType:
    if np.dtype(repeats.dtype).kind not in "iu" or repeats.ndim > 1:
        raise TypeError(f"repeats must be an integer or a vector of them, found {repeats.type}")
    n = x.shape[axis_of(axis, x)]
    if repeats.ndim and repeats.shape[0] != 1:
        n = same(n, repeats.shape[0], "the axis and the repeats differ in length")
    total: Dim = None
    if repeats.value is not None and n is not None:
        counts = np.maximum(repeats.value, 0)  # a single count is not broadcast: n may be huge
        total = n * int(counts.item()) if counts.size == 1 else int(counts.sum())
    return TensorType(x.dtype, (*x.shape[:axis], total, *x.shape[axis + 1 :]))


def _refuse_repeat(x: Operand, repeats: Operand, axis: int) -> None:
    if repeats.value is not None and (repeats.value < 0).any():
        raise ValueError("repeats may not be negative")


# Batched forms


def _batch_join(op: Op, batched: Flags, args: Args) -> Variable:
    n = rows(batched, args)
    xs = [x if b else spread(x, n) for x, b in zip(args, batched, strict=True)]
    return apply(Op.make(op.name, axis=op.options["axis"] + 1), *xs)


def _batch_repeat(op: Op, batched: Flags, args: Args) -> Variable | None:
    if batched[1]:
        return None
    return apply(Op.make("repeat", axis=op.options["axis"] + 1), *args)


# Gradients


def _gradient_concatenate(op: Op, args: Args, out: Variable, g: Variable) -> list[Variable | None]:
    """The gradient with respect to each array: its part of g."""
    axis = op.options["axis"]
    lengths = [dim(x, axis) for x in args]
    parts: list[Variable | None] = []
    start: Any = 0
    for i, (x, n) in enumerate(zip(args, lengths, strict=True)):
        stop = start + n if i else n
        place = slice(start, None if i == len(args) - 1 else stop)
        part = FUNCTIONS["getitem"](g, (*[slice(None)] * axis, place)) if smooth(x) else None
        parts.append(None if part is None else fitting(_known_as(part, x), x))
        start = stop
    return parts


def _known_as(part: Variable, x: Variable) -> Variable:
    """A part that has the shape of x, with the lengths that are known of x made known of the part too."""
    unsure = any(n is None and m is not None for n, m in zip(part.type.shape, x.type.shape, strict=True))
    return reshape_to(part, dims_of(x)) if unsure else part


def _gradient_stack(op: Op, args: Args, out: Variable, g: Variable) -> list[Variable | None]:
    before = [slice(None)] * op.options["axis"]
    return [
        fitting(_known_as(FUNCTIONS["getitem"](g, (*before, i)), x), x) if smooth(x) else None
        for i, x in enumerate(args)
    ]


def _gradient_repeat(op: Op, args: Args, out: Variable, g: Variable) -> list[Variable | None]:
    """The gradient with respect to each entry: the sum of g over its copies."""
    x, repeats = args
    i, dims = op.options["axis"], dims_of(x)
    if repeats.type.shape in ((), (1,)):
        count = FUNCTIONS["getitem"](repeats, 0) if repeats.ndim else repeats
        apart = reshape_to(g, (*dims[: i + 1], count, *dims[i + 1 :]))
        return [apply(Op.make("sum", axis=(i + 1,), keepdims=False), apart), None]
    origin = apply(Op.make("repeat", axis=0), FUNCTIONS["arange"](dims[i]), repeats)
    taken = Op.make("setitem", index=(*[FULL] * i, "array"), mode="inc")
    return [apply(taken, FUNCTIONS["zeros_like"](x), g, origin), None]


# The entries


def _bind_repeat(xp: Any, axis: int) -> Callable[..., Any]:
    def repeat(x: Any, repeats: Any) -> Any:
        return xp.repeat(x, repeats.tolist(), axis=axis)

    return repeat


def _entry(name: str, numpy: Any, infer: Any, batch: Any, **more: Any) -> None:
    register(OpSpec(name, numpy, infer, batch, batch_exact=True, **more))


_entry(
    "concatenate",
    lambda xp, axis: lambda *xs: xp.concatenate(xs, axis=axis),
    _infer_concatenate,
    _batch_join,
    cost="memory",
    gradient=_gradient_concatenate,
    doc="arrays one after the other",
    params={"axis": AXIS},
)
_entry(
    "stack",
    lambda xp, axis: lambda *xs: xp.stack(xs, axis=axis),
    _infer_stack,
    _batch_join,
    cost="memory",
    gradient=_gradient_stack,
    doc="arrays along a new axis",
    params={"axis": AXIS},
)
_entry(
    "repeat",
    _bind_repeat,
    _infer_repeat,
    _batch_repeat,
    cost="memory",
    can_raise=True,
    data_shape=True,
    gradient=_gradient_repeat,
    refuse=_refuse_repeat,
    doc="each entry along an axis so many times",
    params={"axis": AXIS},
)


# Public functions


def _cast(arrays: Any, dtype: Any, casting: Any) -> tuple[Variable, ...]:
    """Arrays as operands, cast to dtype if given.  Raises TypeError where the rule `casting` does not allow it."""
    xs = promoted(*arrays)
    if dtype is None:
        return xs
    for x in xs:
        if not np.can_cast(x.dtype, dtype, casting):
            raise TypeError(f"cannot cast {describe(x)} to {np.dtype(dtype)} by the rule {casting!r}: give casting=")
    return tuple(cast(x, dtype) for x in xs)


@public("concatenate", "concat", numpy=("concatenate",))
def concatenate(arrays: Any, axis: int | None = 0, *, dtype: Any = None, casting: Any = "same_kind") -> Variable:
    """Arrays one after the other along an axis (flattened where it is None), cast to dtype if given.

    Raises ValueError when the other lengths differ.

    >>> concatenate([np.ones((2, 3)), np.ones((4, 3))]).type.shape
    (6, 3)
    """
    xs = _cast(arrays, dtype, casting)
    if axis is None:
        xs, axis = tuple(flatten(x) for x in xs), 0
    if not xs:
        raise ValueError("need at least one array to concatenate")
    return apply(Op.make("concatenate", axis=axis_of(axis, xs[0])), *xs)


@public("join")
def join(axis: int, *arrays: Any) -> Variable:
    """Theano's name for `concatenate(arrays, axis)`."""
    return concatenate(arrays, axis)


@public("stack", numpy=("stack",))
def stack(arrays: Any, axis: Any = 0, *more: Any, dtype: Any = None, casting: Any = "same_kind") -> Variable:
    """Arrays of one shape along a new axis, cast to dtype if given.  Raises ValueError when shapes differ.

    more: as older programs for Theano write it, stack(x, y, z) is stack([x, y, z]).

    >>> stack([np.ones(3), np.ones(3)], axis=1).type.shape
    (3, 2)
    """
    if isinstance(arrays, Variable) and (more or isinstance(axis, Variable)):
        arrays, axis = (arrays, axis, *more), 0
    xs = _cast(arrays, dtype, casting)
    if not xs:
        raise ValueError("need at least one array to stack")
    return apply(Op.make("stack", axis=axis_of(axis, xs[0].ndim + 1)), *xs)


@public("vstack", "row_stack", numpy=("vstack",))
def vstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Variable:
    """Arrays under each other."""
    return concatenate([atleast_2d(x) for x in tup], 0, dtype=dtype, casting=casting)


@public("hstack", numpy=("hstack",))
def hstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Variable:
    """Arrays beside each other."""
    xs = [atleast_1d(x) for x in tup]
    return concatenate(xs, 0 if xs and xs[0].ndim == 1 else 1, dtype=dtype, casting=casting)


@public("repeat", numpy=("repeat",))
def repeat(x: Any, repeats: Any, axis: int | None = None) -> Variable:
    """Each entry of x along an axis, repeated (axis None: x is flattened).

    repeats: an integer, an integer scalar, or one per entry.

    >>> repeat(np.ones((2, 3)), 2, axis=0).type.shape
    (4, 3)
    """
    v = as_variable(x)
    if axis is None:
        v, axis = flatten(v), 0
    i = axis_of(axis, v)
    if not isinstance(repeats, int | np.integer):
        return apply(Op.make("repeat", axis=i), v, as_variable(repeats))
    if repeats < 0:
        raise ValueError(f"repeats may not be negative, found {repeats}")
    if repeats == 1:
        return v
    if i == 0 and v.type.shape[0] == 1:
        return repeat_rows(apply(Op.make("squeeze", axis=(0,)), v), as_variable(np.int64(repeats)))
    dims, repeats = dims_of(v), int(repeats)
    wide = broadcast_to(expand(v, (i + 1,)), (*dims[: i + 1], repeats, *dims[i + 1 :]))
    return reshape_to(wide, (*dims[:i], times(dims[i], repeats), *dims[i + 1 :]))


@public("tile", numpy=("tile",))
def tile(x: Any, reps: Any, ndim: int | None = None) -> Variable:
    """x repeated along each axis.  ndim: how many axes the result has at least.

    >>> tile(np.ones((2, 3)), (2, 1, 2)).type.shape
    (2, 2, 6)
    """
    counts = as_dims(reps)
    counts = (1,) * ((ndim or 0) - len(counts)) + counts
    v = as_variable(x)
    v = shape_padleft(v, max(len(counts) - v.ndim, 0))
    counts = (1,) * (v.ndim - len(counts)) + counts
    if all(isinstance(n, int) and n == 1 for n in counts):
        return v
    if v.ndim and v.type.shape[0] == 1 and all(isinstance(n, int) and n == 1 for n in counts[1:]):
        return repeat(v, counts[0], 0)
    dims = dims_of(v)
    pairs = [n for pair in zip(counts, dims, strict=True) for n in pair]
    wide = broadcast_to(expand(v, range(0, 2 * v.ndim, 2)), pairs)
    return reshape_to(wide, [times(c, n) for c, n in zip(counts, dims, strict=True)])
