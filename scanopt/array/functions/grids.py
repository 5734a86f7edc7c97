"""Numbers at equal distances and grids of them: linspace and the like, meshgrid, ix_, indices, broadcast_shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scanopt.array.batching import broadcast_to, dim, dims_of, expand
from scanopt.array.constants import as_variable
from scanopt.array.functions.arguments import as_given, expect_axes, length_of, limited, minus
from scanopt.array.operators.axes import moveaxis
from scanopt.array.operators.creation import arange, full
from scanopt.array.operators.elementwise import cast, elementwise, where
from scanopt.array.operators.joining import concatenate, stack
from scanopt.array.operators.shaping import as_dims, flatten
from scanopt.array.operators.subtensor import getitem
from scanopt.array.registry import public
from scanopt.array.types import dtype_name
from scanopt.array.variable import Constant, Variable

__all__ = ["broadcast_shapes", "common_lengths", "indices", "linspace"]


def _number_of(num: Any) -> Any:
    """The number of samples, an int or an integer scalar.  Raises ValueError where it is known to be negative."""
    n = length_of(num, "the number of samples")
    if isinstance(n, int) and n < 0:
        raise ValueError(f"the number of samples must not be negative, found {n}")
    return n


def _inexact(*xs: Any) -> str:
    """The dtype of numbers between the given ones: floating point or complex."""
    return np.result_type(*(x.dtype if isinstance(x, Variable) else x for x in xs), 0.0).name


def _ends(start: Any, stop: Any) -> tuple[Variable, Variable, str]:
    """Both ends cast to the dtype of the numbers between them, and that dtype."""
    given = as_given(start), as_given(stop)
    dtype = _inexact(*given)
    first, last = (cast(as_variable(x), dtype) for x in given)
    return first, last, dtype


@public("linspace", numpy=("linspace",))
def linspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None,
    axis: int = 0,
) -> Any:  # fmt: skip
    """num numbers at equal distances from start to stop (without it where not `endpoint`).

    start, stop: numbers or arrays, which broadcast.  num: an int or an integer scalar.  axis: where the numbers of
    arrays go.  With retstep the pair with the distance.  Raises ValueError for a negative num.

    >>> linspace(0, 1, 5).type
    TensorType(dtype='float64', shape=(5,))
    """
    n = _number_of(num)
    first, last, floating = _ends(start, stop)
    delta = elementwise("subtract", last, first)
    count = minus(n, 1) if endpoint else n
    divisor = limited(count, 1) if isinstance(count, int) else cast(limited(count, 1), floating)
    step = elementwise("divide", delta, divisor)
    steps = expand(arange(n, dtype=_real(floating)), range(1, 1 + delta.ndim))
    steps = cast(steps, floating)
    rows = where(  # where the distance rounds to 0, the numbers need not
        elementwise("equal", step, 0),
        elementwise("multiply", elementwise("divide", steps, divisor), delta),
        elementwise("multiply", steps, step),
    )
    rows = _with_end(elementwise("add", rows, first), last, n) if endpoint else elementwise("add", rows, first)
    rows = moveaxis(rows, 0, axis) if axis else rows
    if dtype is not None and np.dtype(dtype_name(dtype)).kind in "iu":
        rows = elementwise("floor", rows)
    found = rows if dtype is None else cast(rows, dtype)
    if not retstep:
        return found
    if isinstance(count, int):
        return found, (step if count > 0 else as_variable(np.nan))
    return found, where(elementwise("greater", count, 0), step, np.nan)


def _real(dtype: str) -> str:
    return {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)


def _with_end(rows: Variable, last: Variable, n: Any) -> Variable:
    """Replace the last of n rows by `last`, so that it is exact; n: their number, if at least 2."""
    if isinstance(n, int) and n < 2:
        return rows
    end = expand(last, range(rows.ndim - last.ndim))
    if isinstance(n, int):
        return concatenate([getitem(rows, slice(None, -1)), broadcast_to(end, (1, *dims_of(rows)[1:]))], 0)
    places = expand(arange(n), range(1, rows.ndim))
    at_end = elementwise("equal", places, elementwise("maximum", minus(n, 1), 1))
    return where(at_end, end, rows)


@public("logspace", numpy=("logspace",))
def logspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0
) -> Variable:
    """base to the powers `linspace(start, stop)`; arguments as there, base a number or an array."""
    given = as_given(base)
    if isinstance(given, Variable) and given.ndim:
        start, stop = as_variable(start), as_variable(stop)
        ndim = max(start.ndim, stop.ndim, given.ndim)
        start, stop, given = (expand(v, range(ndim - v.ndim)) for v in (start, stop, given))
        given = expand(given, (axis % (ndim + 1),))
    found = elementwise("power", given, linspace(start, stop, num, endpoint, axis=axis))
    return found if dtype is None else cast(found, dtype)


@public("geomspace", numpy=("geomspace",))
def geomspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Variable:
    """num numbers from start to stop, each the same multiple of the one before; arguments as of `linspace`.

    Raises ValueError for an end that is known to be 0 (one that is 0 in the run gives NaN).
    """
    n = _number_of(num)
    ends = [x if isinstance(x, Variable) else np.asarray(x) for x in (start, stop)]
    values = [x.data if isinstance(x, Constant) else x for x in ends]
    if any(isinstance(x, np.ndarray) and (x == 0).any() for x in values):
        raise ValueError("a geometric sequence cannot include zero")
    floating = np.result_type(*(x.dtype for x in ends), 0.0, np.dtype(dtype_name(dtype or "float64"))).name
    first, last = (cast(as_variable(x), floating) for x in ends)
    sign = elementwise("sign", first)
    first, last = elementwise("divide", first, sign), elementwise("divide", last, sign)
    rows = cast(logspace(elementwise("log10", first), elementwise("log10", last), n, endpoint), floating)
    places = expand(arange(n), range(1, rows.ndim))
    rows = where(elementwise("equal", places, 0), first, rows)
    if endpoint:
        rows = where(elementwise("equal", places, elementwise("maximum", minus(n, 1), 1)), last, rows)
    rows = elementwise("multiply", rows, sign)
    rows = moveaxis(rows, 0, axis) if axis else rows
    return rows if dtype is None else cast(rows, dtype)


@public("meshgrid", numpy=("meshgrid",))
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[Variable, ...]:
    """Vectors as arrays that hold the coordinates of a grid: as many arrays, and as many axes.

    sparse: of length 1 along the other axes.  indexing: "ij" for the axes in order, "xy" with the first two exchanged.
    Raises ValueError for another indexing.

    >>> [x.type.shape for x in meshgrid([1, 2], [1, 2, 3])]
    [(3, 2), (3, 2)]
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid knows indexing 'xy' and 'ij', found {indexing!r}")
    vectors = [flatten(as_variable(x)) for x in xi]
    axes = list(range(len(vectors)))
    if indexing == "xy" and len(vectors) > 1:
        axes[:2] = 1, 0
    dims = [dim(v, 0) for v in vectors]
    lengths = [dims[axes[i]] for i in range(len(dims))]  # exchanging two axes is its own inverse
    grids = [expand(v, [j for j in range(len(axes)) if j != axis]) for v, axis in zip(vectors, axes, strict=True)]
    return tuple(grids if sparse else (broadcast_to(grid, lengths) for grid in grids))


@public("ix_", numpy=("ix_",))
def ix_(*args: Any) -> tuple[Variable, ...]:
    """Vectors of indices or masks, each along its own axis: `x[ix_(rows, columns)]` has these rows and these columns.

    Raises ValueError for an argument that is not a vector.
    """
    found = []
    for k, x in enumerate(args):
        v = expect_axes("ix_", x, 1, 1)
        if v.dtype == "bool":
            v = getitem(arange(dim(v, 0)), v)
        elif v.type.shape == (0,):
            v = cast(v, "int64")
        found.append(expand(v, [j for j in range(len(args)) if j != k]))
    return tuple(found)


@public("indices")
def indices(dimensions: Any, dtype: Any = int, sparse: bool = False) -> Any:
    """The indices of an array of this shape: one array for each axis, stacked; with sparse a tuple, not spread.

    dimensions: ints and integer scalars.

    >>> indices((2, 3)).type
    TensorType(dtype='int64', shape=(2, 2, 3))
    """
    dims = as_dims(dimensions)
    count = len(dims)
    grids = [expand(arange(n, dtype=dtype), [j for j in range(count) if j != i]) for i, n in enumerate(dims)]
    if sparse:
        return tuple(grids)
    return stack([broadcast_to(grid, dims) for grid in grids]) if grids else full((0,), 0, dtype)


def common_lengths(shapes: Sequence[Sequence[Any]]) -> list[Any]:
    """The lengths that shapes of ints and integer scalars broadcast to.

    Raises ValueError where known lengths do not fit; others raise in the run.
    """
    ndim = max((len(s) for s in shapes), default=0)
    return [_common([s[i - ndim + len(s)] for s in shapes if i >= ndim - len(s)]) for i in range(ndim)]


def _common(lengths: list[Any]) -> Any:
    known = {n for n in lengths if isinstance(n, int)}
    several = sorted(known - {1})
    if len(several) > 1:
        raise ValueError(f"shapes do not broadcast: lengths {' and '.join(map(str, several))}")
    open_ = list(dict.fromkeys(n for n in lengths if not isinstance(n, int)))
    if not open_:
        return several[0] if several else 1
    if len(open_) == 1 and not several:
        return open_[0]
    rows = [full((n,), False) for n in (*open_, *several)]  # which raise where the lengths do not fit
    total = rows[0]
    for row in rows[1:]:
        total = elementwise("logical_or", total, row)
    return dim(total, 0)


@public("broadcast_arrays", numpy=("broadcast_arrays",))
def broadcast_arrays(*args: Any) -> tuple[Variable, ...]:
    """The arrays broadcast to their common shape.  Raises ValueError where known lengths do not fit."""
    arrays = [as_variable(x) for x in args]
    lengths = common_lengths([dims_of(v) for v in arrays])
    return tuple(broadcast_to(v, lengths) for v in arrays)


@public("broadcast_shapes")
def broadcast_shapes(*args: Any) -> tuple[Any, ...]:
    """The shape that shapes broadcast to: ints where they are known, else int64 scalars.

    args: shapes of ints and integer scalars.  Raises ValueError where known lengths do not fit.

    >>> broadcast_shapes((3, 1), (4,), ())
    (3, 4)
    """
    return tuple(common_lengths([as_dims(s) for s in args]))
