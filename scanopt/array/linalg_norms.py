"""Norms of symbolic vectors and matrices, and condition numbers, as in numpy.linalg."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from scanopt.array.batching import dims_of
from scanopt.array.constants import as_variable
from scanopt.array.linalg_decompositions import svdvals
from scanopt.array.linalg_systems import inv, slogdet
from scanopt.array.operators.axes import moveaxis
from scanopt.array.operators.creation import eye, full
from scanopt.array.operators.elementwise import cast, elementwise, imag, real, where
from scanopt.array.operators.joining import concatenate
from scanopt.array.operators.reductions import reduce
from scanopt.array.operators.shaping import expand_dims, reshape, squeeze, transpose
from scanopt.array.registry import public
from scanopt.array.shapes import axes_of, axis_of
from scanopt.array.variable import Variable, describe

__all__ = ["cond", "matrix_norm", "norm", "norm_of_elements", "vector_norm"]

_ORDERS = "None, 'fro', 'nuc', 1, -1, 2, -2, inf or -inf"


def _inexact(x: Any) -> Variable:
    v = as_variable(x)
    return cast(v, "float64") if np.dtype(v.dtype).kind in "biu" else v


@public()
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Variable:
    """The norm of a vector or matrix, as np.linalg.norm.

    x: any array; integers count as float64.  axis: None for the whole of x (without `ord` as one vector), an int for
    vectors along an axis, a pair of ints for matrices.  ord: of vectors any number, inf, -inf; of matrices "fro",
    "nuc" (the sum of singular values), 1, -1, inf, -inf (sums of rows and columns), 2, -2 (singular values).
    Raises ValueError for other orders and axes.

    >>> from scanopt import interpret
    >>> interpret([norm(np.array([3.0, 4.0])), norm(np.eye(2), "nuc")])
    [array(5.), array(2.)]
    """
    v = _inexact(x)
    if axis is None:
        if ord is None:
            return _root_of_squares(v, None, keepdims)
        if v.ndim not in (1, 2):
            raise ValueError(f"norm of order {ord!r} of {v.ndim} axes: name one or two in axis ({describe(v)})")
        axis = tuple(range(v.ndim))
    axes = tuple(axis_of(i, v) for i in (axis if isinstance(axis, Iterable) else (axis,)))
    if len(axes) == 1:
        return _of_vectors(v, ord, axes[0], keepdims)
    if len(axes) != 2 or axes[0] == axes[1]:
        raise ValueError(f"norm over axis {axis!r}: expected one axis, or two different ones ({describe(v)})")
    return _of_matrices(v, ord, *axes, keepdims)


@public("norm_of_elements")
def norm_of_elements(x: Any, L: Any = 2, axis: Any = None, keepdims: bool = False) -> Variable:
    """Theano's `x.norm(L)`: (abs(x) ** L).sum(axis) ** (1 / L), of all elements where no axis is given.

    Of a matrix, `norm(x, 2)` is the greatest singular value; this is the root of the sum of squares.

    >>> x = as_variable(np.ones((2, 2)))
    >>> norm_of_elements(x, 2).eval(), x.norm(1).eval()
    (array(2.), array(4.))
    """
    v = _inexact(x)
    if isinstance(L, str):
        return norm(v, L, axis, keepdims)
    if L is None or L == 2:
        return _root_of_squares(v, axis, keepdims)
    if abs(L) == np.inf:
        return reduce("max" if L > 0 else "min", abs(v), axis, keepdims)
    return elementwise("power", reduce("sum", elementwise("power", abs(v), L), axis, keepdims), 1 / L)


def _root_of_squares(v: Variable, axis: Any, keepdims: bool) -> Variable:
    return elementwise("sqrt", reduce("sum", _squares(v), axis, keepdims))


def _squares(v: Variable) -> Variable:
    """Squares of absolute values."""
    if np.dtype(v.dtype).kind != "c":
        return elementwise("square", v)
    return elementwise("square", real(v)) + elementwise("square", imag(v))


def _greatest(sizes: Variable, axis: int, keepdims: bool) -> Variable:
    """The greatest of nonnegative numbers along an axis, 0 if there are none."""
    if not sizes.type.shape[axis]:
        lengths = [1 if i == axis else n for i, n in enumerate(dims_of(sizes))]
        sizes = concatenate([sizes, full(lengths, 0, sizes.dtype)], axis)
    return reduce("max", sizes, axis, keepdims)


def _of_vectors(v: Variable, ord: Any, axis: int, keepdims: bool) -> Variable:
    if isinstance(ord, str):
        raise ValueError(f"norm of order {ord!r} of vectors: expected a number, inf or -inf")
    if ord is None or (not isinstance(ord, Variable) and ord == 2):
        return _root_of_squares(v, axis, keepdims)
    sizes = elementwise("absolute", v)
    if not isinstance(ord, Variable):
        if ord in (np.inf, -np.inf):
            return _greatest(sizes, axis, keepdims) if ord > 0 else reduce("min", sizes, axis, keepdims)
        if ord == 0:
            return reduce("sum", cast(elementwise("not_equal", v, 0), sizes.dtype), axis, keepdims)
        if ord == 1:
            return reduce("sum", sizes, axis, keepdims)
    power = cast(ord, sizes.dtype)
    return elementwise("power", reduce("sum", sizes**power, axis, keepdims), 1 / power)


def _of_matrices(v: Variable, ord: Any, row: int, column: int, keepdims: bool) -> Variable:
    if ord in (None, "fro", "f"):
        found = _root_of_squares(v, (row, column), True)
    elif ord in ("nuc", 2, -2):
        s = svdvals(moveaxis(v, (row, column), (-2, -1)))
        last = s.ndim - 1
        found = reduce("sum", s, last, False) if ord == "nuc" else _greatest(s, last, False) if ord == 2 else s[..., -1]
        found = expand_dims(found, tuple(sorted((row, column))))
    elif not isinstance(ord, str) and ord in (1, -1, np.inf, -np.inf):
        summed, kept = (row, column) if abs(ord) == 1 else (column, row)
        sums = reduce("sum", elementwise("absolute", v), summed, True)
        found = _greatest(sums, kept, True) if ord > 0 else reduce("min", sums, kept, True)
    else:
        raise ValueError(f"norm of order {ord!r} of matrices: expected {_ORDERS}")
    return found if keepdims else squeeze(found, (row, column))


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Variable:
    """The norm of vectors along axis (several: of all their elements; None: of x as one), as np.linalg.vector_norm.

    >>> from scanopt import interpret
    >>> interpret(vector_norm(np.array([[3.0], [4.0]])))
    array(5.)
    """
    v = _inexact(x)
    axes = axes_of(axis, v)
    if len(axes) == 1:
        return _of_vectors(v, ord, axes[0], keepdims)
    rest = [i for i in range(v.ndim) if i not in axes]
    lengths = dims_of(v)
    flat = reshape(transpose(v, (*rest, *axes)), (*(lengths[i] for i in rest), -1))
    found = _of_vectors(flat, ord, len(rest), False)
    return expand_dims(found, axes) if keepdims else found


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Variable:
    """The norm of the matrices in the last two axes, as np.linalg.matrix_norm; orders as `norm`.

    >>> matrix_norm(np.ones((5, 3, 4)), ord="nuc").type.shape
    (5,)
    """
    return norm(x, ord, (-2, -1), keepdims)


def cond(x: Any, p: Any = None) -> Variable:
    """The condition number of matrices, as np.linalg.cond: infinite for a singular one.

    x: (..., m, n); square unless p is None, 2 or -2.  p: an order as of `norm`.  Raises ValueError for other shapes.

    >>> from scanopt import interpret
    >>> interpret([cond(np.diag([2.0, 1.0])), cond(np.ones((2, 2)), 1)])
    [array(2.), array(inf)]
    """
    v = _inexact(x)
    if v.ndim < 2 or 0 in v.type.shape[-2:]:
        raise ValueError(f"cond takes matrices with elements, found {describe(v)}")
    if p in (None, 2, -2):
        s = svdvals(v)
        r = s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    else:
        singular = elementwise("equal", slogdet(v).logabsdet, -np.inf)
        place = expand_dims(singular, (-2, -1))
        regular = where(place, eye(v.shape[-1], dtype=v.dtype), v)
        r = where(singular, np.inf, matrix_norm(v, ord=p) * matrix_norm(inv(regular), ord=p))
    given = reduce("any", elementwise("isnan", v), (-2, -1), False)
    return where(elementwise("isnan", r) & elementwise("logical_not", given), np.inf, r)
