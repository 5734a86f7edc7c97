"""Operators that create arrays: full, full_like, arange, eye, and functions composed of them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scanopt.array import batching
from scanopt.array.batching import dim, dims_of, expand, front, int_constant, split_dims, spread, takes_lengths
from scanopt.array.constants import as_tensor_variable, as_variable, is_weak, weak_constant
from scanopt.array.derivatives import no_gradient, smooth
from scanopt.array.op import Op, Operand, OpSpec, register
from scanopt.array.operators.elementwise import cast, elementwise, where
from scanopt.array.operators.shaping import as_dims
from scanopt.array.operators.sum_to import sum_to
from scanopt.array.parameters import DTYPE, SHAPE
from scanopt.array.registry import public
from scanopt.array.shapes import broadcast, fill, filled, lengths, not_negative, shape_text
from scanopt.array.types import Dim, TensorType, dtype_name
from scanopt.array.variable import Constant, Variable, apply, describe
from scanopt.config import config

__all__ = ["arange", "eye", "full", "full_like", "offset_of", "on_diagonal"]

Flags = Sequence[bool]
Args = Sequence[Variable]
Shape = tuple[Dim, ...]


def _infer_full(value: Operand, *dims: Operand, shape: Shape) -> TensorType:
    if value.ndim:
        raise ValueError(f"the value to fill with must be a scalar, found {value.type}")
    return TensorType(value.dtype, lengths(filled(shape, dims)))


def _refuse_full(value: Operand, *dims: Operand, shape: Shape) -> None:
    not_negative(filled(shape, dims))


def _infer_full_like(x: Operand, value: Operand) -> TensorType:
    shape = broadcast(x.shape, value.shape)
    pairs = list(zip(x.shape, shape, strict=False))
    if len(shape) != x.ndim or any(a is not None and b is not None and a != b for a, b in pairs):
        raise ValueError(f"{shape_text(value.shape)} does not broadcast to {shape_text(x.shape)}")
    return TensorType(value.dtype, tuple(b if a is None else a for a, b in pairs))


def _scalars(what: str, kinds: str, *xs: Operand) -> None:
    for x in xs:
        if x.ndim or np.dtype(x.dtype).kind not in kinds:
            raise TypeError(f"{what} takes scalars, found {x.type}")


def _infer_arange(start: Operand, stop: Operand, step: Operand, dtype: str) -> TensorType:
    _scalars("arange", "iuf", start, stop, step)
    return TensorType(dtype, (_numbers_between(start, stop, step),))


def _numbers_between(start: Operand, stop: Operand, step: Operand) -> Dim:
    """The number of entries of arange, None if a bound is unknown, 0 if there is no such number (step 0, NaN)."""
    if start.value is None or stop.value is None or step.value is None:
        return None
    first, last, by = start.value.item(), stop.value.item(), step.value.item()
    try:
        count: int = math.ceil((last - first) / by)
    except (ZeroDivisionError, ValueError, OverflowError):  # a step of 0, NaN, infinities
        return 0
    return max(count, 0)


def _refuse_arange(start: Operand, stop: Operand, step: Operand, dtype: str) -> None:
    if step.value is not None and step.value.item() == 0:
        raise ZeroDivisionError("arange with step 0")


def _infer_eye(n: Operand, m: Operand, k: Operand, dtype: str) -> TensorType:
    _scalars("eye", "iu", n, m, k)
    return TensorType(dtype, lengths([None if x.value is None else int(x.value) for x in (n, m)]))


def _refuse_eye(n: Operand, m: Operand, k: Operand, dtype: str) -> None:
    not_negative([None if x.value is None else int(x.value) for x in (n, m)])


def _bind_full(xp: Any, shape: Shape) -> Callable[..., Any]:
    if None not in shape:
        return lambda value: xp.full(shape, value, dtype=value.dtype)
    return lambda value, *dims: xp.full(fill(shape, dims), value, dtype=value.dtype)


def _bind_full_like(xp: Any) -> Callable[..., Any]:
    return lambda x, value: xp.full(x.shape, value, dtype=value.dtype)


def _bind_arange(xp: Any, dtype: str) -> Callable[..., Any]:
    return lambda *bounds: xp.arange(*(b.item() for b in bounds), dtype=dtype)


def _bind_eye(xp: Any, dtype: str) -> Callable[..., Any]:
    return lambda n, m, k: xp.eye(int(n), int(m), int(k), dtype=dtype)


def _batch_full(op: Op, batched: Flags, args: Args) -> Variable | None:
    if any(batched[1:]):
        return None
    shape, rest = op.options["shape"], iter(args[1:])
    value = front(args[0], len(shape))
    dims = [next(rest) if n is None else n for n in shape]
    return batching.broadcast_to(value, (dim(value, 0), *dims))


def _batch_full_like(op: Op, batched: Flags, args: Args) -> Variable:
    x, value = args
    if not batched[0]:
        x = spread(x, dim(value, 0))
    if batched[1]:
        value = front(value, x.ndim - 1)
    return apply(Op.make("full_like"), x, value)


def _batch_eye(op: Op, batched: Flags, args: Args) -> Variable | None:
    n, m, k = args
    if batched[0] or batched[1]:
        return None
    return cast(on_diagonal(n, m, expand(k, (1, 2)), "equal"), op.options["dtype"])


def on_diagonal(n: Any, m: Any, k: Any, compare: str) -> Variable:
    """An n x m matrix of bools: whether `compare` holds for column j and i + k, with i the row."""
    i, j = expand(arange(n), (1,)), arange(m)
    return elementwise(compare, j, elementwise("add", i, k))


def _gradient_full(op: Op, args: Args, out: Variable, g: Variable) -> list[Variable | None]:
    return [sum_to(g, args[0]), *(None for _ in args[1:])]


def _gradient_full_like(op: Op, args: Args, out: Variable, g: Variable) -> list[Variable | None]:
    return [None, sum_to(g, args[1])]


def _gradient_arange(op: Op, args: Args, out: Variable, g: Variable) -> list[Variable | None]:
    """Entry i is start + i * step; it does not depend on `stop`, which only limits how many entries there are."""
    start, _, step = args
    by_step = sum_to(elementwise("multiply", g, arange(dim(out, 0), dtype=g.dtype)), step)
    return [sum_to(g, start), None, by_step if smooth(step) else None]


def _entry(name: str, numpy: Any, infer: Any, batch: Any, doc: str, **more: Any) -> None:
    register(OpSpec(name, numpy, infer, batch, batch_exact=True, cost="memory", doc=doc, **more))


_entry(
    "full",
    _bind_full,
    _infer_full,
    _batch_full,
    "an array of one value",
    can_raise=takes_lengths,
    data_shape=takes_lengths,
    gradient=_gradient_full,
    refuse=_refuse_full,
    params={"shape": SHAPE},
)
_entry(
    "full_like",
    _bind_full_like,
    _infer_full_like,
    _batch_full_like,
    "a value in the shape of another array, with the dtype of the value",
    gradient=_gradient_full_like,
)
_entry(
    "arange",
    _bind_arange,
    _infer_arange,
    None,
    "numbers at equal distances",
    can_raise=True,
    data_shape=True,
    gradient=_gradient_arange,
    refuse=_refuse_arange,
    params={"dtype": DTYPE},
)
_entry(
    "eye",
    _bind_eye,
    _infer_eye,
    _batch_eye,
    "ones on a diagonal, else zeros",
    can_raise=True,
    data_shape=True,
    gradient=no_gradient,
    refuse=_refuse_eye,
    params={"dtype": DTYPE},
)


# Public functions


def _value(value: Any, dtype: Any) -> Variable:
    if dtype is None and not (is_weak(value) and isinstance(value, float)):
        return as_variable(value)
    name = dtype_name(dtype or config.floatX)
    return weak_constant(value, name) if is_weak(value) else cast(value, name)


@public()
def full(shape: Any, fill_value: Any, dtype: Any = None) -> Variable:
    """An array of this shape (ints and integer scalars) filled with one value, or with values that broadcast to it.

    dtype: by default that of the values, for a Python float `config.floatX`.

    Raises ValueError where the values do not broadcast to the shape.

    >>> full((2, 3), 1.5).type
    TensorType(dtype='float64', shape=(2, 3))
    """
    value, dims = _value(fill_value, dtype), as_dims(shape)
    if value.ndim:
        return batching.broadcast_to(value, dims)
    placeholders, inputs = split_dims(dims)
    return apply(Op.make("full", shape=placeholders), value, *inputs)


@public("full_like", numpy=("full_like",))
def full_like(x: Any, fill_value: Any, dtype: Any = None, *, shape: Any = None) -> Variable:
    """An array filled with a value, with the shape and the dtype of x unless others are given."""
    v = as_variable(x)
    if shape is not None:
        return full(shape, fill_value, dtype or v.dtype)
    return apply(Op.make("full_like"), v, _value(fill_value, dtype or v.dtype))


@public("fill")
def fill_with(x: Any, value: Any) -> Variable:
    """Theano's `fill`: value, with its own dtype, broadcast to the shape of x."""
    return apply(Op.make("full_like"), as_variable(x), as_variable(value))


def _constant_function(name: str, value: int) -> None:
    def new(shape: Any, dtype: Any = None) -> Variable:
        return full(shape, value, dtype or config.floatX)

    def like(x: Any, dtype: Any = None, *, shape: Any = None) -> Variable:
        return full_like(x, value, dtype, shape=shape)

    new.__name__ = new.__qualname__ = name
    new.__doc__ = f"An array of {name} in a shape of ints and integer scalars (`config.floatX`)."
    like.__name__ = like.__qualname__ = f"{name}_like"
    like.__doc__ = f"An array of {name} in the shape and the dtype of x, unless others are given."
    public(name)(new)
    public(f"{name}_like", numpy=(f"{name}_like",))(like)


_constant_function("zeros", 0)
_constant_function("ones", 1)


@public("empty_like", numpy=("empty_like",))
def empty_like(x: Any, dtype: Any = None, *, shape: Any = None) -> Variable:
    """As `zeros_like`: symbolic arrays have no arbitrary values."""
    return full_like(x, 0, dtype, shape=shape)


@public()
def alloc(value: Any, *shape: Any) -> Variable:
    """Theano's `alloc`: value broadcast to a shape, given as several arguments or one."""
    return full(shape[0] if len(shape) == 1 else shape, value)


@public()
def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Variable:
    """Numbers from start (or 0) up to, but not including, stop, at distance step.

    Integers give int64, others float64, unless `dtype` says otherwise, as np.arange.
    Raises TypeError for arguments that are not scalars.

    >>> arange(2, 7, 2).type
    TensorType(dtype='int64', shape=(3,))
    """
    first, last = (0, start) if stop is None else (start, stop)
    bounds = [as_variable(b) for b in (first, last, step)]
    if dtype is None:
        kinds = {np.dtype(b.dtype).kind for b in bounds}
        dtype = "float64" if "f" in kinds else "int64"
        if any(b.dtype == "uint64" for b in bounds):
            dtype = np.result_type(np.int64, *(b.dtype for b in bounds))
    found = dtype_name(dtype)
    if count := _count_in_floats(bounds, found):
        return cast(apply(Op.make("arange", dtype="int64"), *count), found)
    return apply(Op.make("arange", dtype=found), *bounds)


def _count_in_floats(bounds: Sequence[Variable], dtype: str) -> Sequence[Variable] | None:
    """The bounds of a range of int64 whose entries are exactly the floats of this range; None if they may differ.

    NumPy computes float number i as start + i * step and rounds after each operation.  In float64 nothing is rounded
    if start and step are whole.  In float32 large numbers are rounded, and just once, as a cast does, only for the
    range 0, 1, 2 ...
    """
    first, last, step = bounds
    start, by = first.operand.value, step.operand.value
    if dtype not in ("float32", "float64") or np.dtype(last.dtype).kind != "i" or start is None or by is None:
        return None
    whole = all(float(x).is_integer() and not (x == 0 and np.signbit(x)) and abs(x) < 2.0**31 for x in (start, by))
    if not whole or by == 0 or (dtype == "float32" and not (start == 0 and by == 1)):
        return None
    return [int_constant(int(start)), last, int_constant(int(by))]


def _count(n: Any) -> Variable:
    if isinstance(n, Variable):
        return n
    if not isinstance(n, int | np.integer):
        raise TypeError(f"expected an integer, found {n!r}")
    return int_constant(int(n))


@public()
def eye(n: Any, m: Any = None, k: Any = 0, dtype: Any = None) -> Variable:
    """An n x m matrix (m = n if None) with ones where column - row is k, else zeros.

    >>> eye(3, dtype="float32").type
    TensorType(dtype='float32', shape=(3, 3))
    """
    name = dtype_name(dtype or config.floatX)
    return apply(Op.make("eye", dtype=name), _count(n), _count(n if m is None else m), _count(k))


@public()
def identity_like(x: Any) -> Variable:
    """The identity matrix in the shape and dtype of x."""
    v = as_tensor_variable(x, ndim=2)
    n, m = dims_of(v)
    return eye(n, m, dtype=v.dtype)


def _triangle(x: Any, k: Any, compare: str) -> Variable:
    v = as_variable(x)
    if v.ndim < 2:
        raise ValueError(f"expected at least 2 axes, found {describe(v)}")
    n, m = dims_of(v)[-2:]
    zero = Constant(np.zeros((), v.dtype))
    return where(on_diagonal(n, m, _count(k), compare), v, zero)


@public("tril", numpy=("tril",))
def tril(x: Any, k: Any = 0) -> Variable:
    """The lower triangle of the last two axes: zeros above diagonal k."""
    return _triangle(x, k, "less_equal")


@public("triu", numpy=("triu",))
def triu(x: Any, k: Any = 0) -> Variable:
    """The upper triangle of the last two axes: zeros below diagonal k."""
    return _triangle(x, k, "greater_equal")


def offset_of(k: Any) -> int | Variable:
    """The offset k of a diagonal from the main one: an int where it is known.  Raises TypeError for anything else."""
    if not isinstance(k, Variable) or isinstance(k, Constant):
        try:
            return operator.index(k)
        except TypeError:
            raise TypeError(f"a diagonal is counted by an integer, found {k!r}") from None
    if k.ndim or np.dtype(k.dtype).kind not in "iu":
        raise TypeError(f"a diagonal is counted by an integer scalar, found {describe(k)}")
    return cast(k, "int64")
