"""Matrices and products of several axes: diagflat, vander, kron, cross."""

from __future__ import annotations

from typing import Any

import numpy as np

from scanopt.array.batching import dim, dims_of, expand
from scanopt.array.constants import as_arrays, as_variable, promoted
from scanopt.array.functions.arguments import expect_axes, length_of
from scanopt.array.operators.axes import moveaxis
from scanopt.array.operators.creation import arange
from scanopt.array.operators.elementwise import cast, elementwise, where
from scanopt.array.operators.joining import stack
from scanopt.array.operators.lengths import times
from scanopt.array.operators.selecting import diag, flip
from scanopt.array.operators.shaping import flatten, reshape_to
from scanopt.array.operators.subtensor import getitem
from scanopt.array.registry import FUNCTIONS, public
from scanopt.array.variable import Variable, describe

__all__ = ["cross", "kron", "vander"]


@public("diagflat", numpy=("diagflat",))
def diagflat(v: Any, k: Any = 0) -> Variable:
    """The elements of an array as diagonal k of a square matrix."""
    return diag(flatten(as_variable(v)), k)


@public("vander", numpy=("vander",))
def vander(x: Any, N: Any = None, increasing: bool = False) -> Variable:
    """The powers of the elements of a vector in rows: from N - 1 down to 0, or from 0 up.

    N: how many, an int or an integer scalar (as many as elements if None).
    Raises ValueError for another number of axes.

    >>> vander([2, 3], 3).eval()
    array([[4, 2, 1],
           [9, 3, 1]])
    """
    v = expect_axes("vander", x, 1, 1)
    v = cast(v, np.result_type(v.dtype, "int64"))
    count = dim(v, 0) if N is None else length_of(N, "the number of powers")
    base = expand(v, (1,))
    later = elementwise("greater", arange(count), 0)
    rows = FUNCTIONS["cumprod"](where(later, base, cast(as_variable(1), v.dtype)), 1)
    return rows if increasing else flip(rows, 1)


@public("kron", numpy=("kron",))
def kron(a: Any, b: Any) -> Variable:
    """The Kronecker product: each element of a times b, in place of the element.

    >>> kron(np.ones((2, 1)), np.ones((3, 4))).type.shape
    (6, 4)
    """
    x, y = as_arrays(a, b)
    ndim = max(x.ndim, y.ndim)
    x, y = (expand(v, range(ndim - v.ndim)) for v in (x, y))
    blocks = elementwise("multiply", expand(x, range(1, 2 * ndim, 2)), expand(y, range(0, 2 * ndim, 2)))
    return reshape_to(blocks, [times(n, m) for n, m in zip(dims_of(x), dims_of(y), strict=True)])


def _components(name: str, v: Variable) -> tuple[Variable, ...]:
    """The two or three entries along the last axis."""
    n = v.type.shape[-1]
    if n not in (2, 3):
        found = "is not known before the run" if n is None else f"is {n}"
        raise ValueError(
            f"cross needs vectors of 2 or 3 entries, but the length of the vectors {name} {found}: {describe(v)}"
            + ("; say it with T.tensor(shape=...) or reshape to it" if n is None else "")
        )
    return tuple(getitem(v, (Ellipsis, i)) for i in range(n))


@public("cross", numpy=("cross",))
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Variable:
    """The cross products of vectors with 2 or 3 entries, which lie along an axis; other axes broadcast.

    axisa, axisb: of the vectors; axisc: of the result; axis: all three.  For two vectors with 2 entries the result is
    the third entry alone.  Raises ValueError for other lengths, and where they are not known before the run.

    >>> cross([1, 0, 0], [0, 1, 0]).eval()
    array([0, 0, 1])
    """
    axisa, axisb, axisc = (axisa, axisb, axisc) if axis is None else (axis,) * 3
    x, y = promoted(a, b)
    dtype = np.result_type(x.dtype, y.dtype)
    x, y = (cast(moveaxis(expect_axes("cross", v, 1), i, -1), dtype) for v, i in ((x, axisa), (y, axisb)))
    xs, ys = _components("a", x), _components("b", y)
    third = _minor(xs[0], ys[1], xs[1], ys[0])
    if len(xs) == len(ys) == 2:
        return third
    if len(xs) == len(ys) == 3:
        first, second = _minor(xs[1], ys[2], xs[2], ys[1]), _minor(xs[2], ys[0], xs[0], ys[2])
    elif len(xs) == 2:
        first, second = xs[1] * ys[2], -(xs[0] * ys[2])
    else:
        first, second = -(xs[2] * ys[1]), xs[2] * ys[0]
    return moveaxis(stack([first, second, third], -1), -1, axisc)


def _minor(a: Variable, b: Variable, c: Variable, d: Variable) -> Variable:
    return elementwise("subtract", elementwise("multiply", a, b), elementwise("multiply", c, d))
