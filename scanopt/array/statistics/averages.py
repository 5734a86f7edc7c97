"""Averages with weights, covariances and correlations."""

from __future__ import annotations

from typing import Any

import numpy as np

from scanopt.array.batching import dim, dims_of, transpose
from scanopt.array.constants import as_variable
from scanopt.array.functions.arguments import expect_axes
from scanopt.array.operators.elementwise import cast, elementwise
from scanopt.array.operators.joining import concatenate
from scanopt.array.operators.products import dot
from scanopt.array.operators.reductions import reduce
from scanopt.array.operators.shaping import expand_dims, squeeze
from scanopt.array.operators.specify_shape import specify_shape
from scanopt.array.registry import FUNCTIONS, public
from scanopt.array.shapes import axes_of
from scanopt.array.types import dtype_name
from scanopt.array.variable import Variable, describe

__all__ = ["average", "beside", "corrcoef", "cov"]


@public("average", numpy=("average",))
def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False) -> Any:
    """The mean of the elements of `a` along axis, each with a weight.

    weights: of the shape of `a`, or of its lengths along `axis`.  returned: also the sum of weights.  Where weights add
    up to 0 the result is NaN or infinite, where NumPy raises.  Raises ValueError for weights that do not fit.

    >>> average([1.0, 2.0], weights=[3.0, 1.0]).eval()
    array(1.25)
    """
    v = as_variable(a)
    if weights is None:
        found = reduce("mean", v, axis, keepdims)
        count = elementwise("divide", FUNCTIONS["size"](v), elementwise("maximum", FUNCTIONS["size"](found), 1))
        return (found, FUNCTIONS["full_like"](found, count)) if returned else found
    w = beside(v, as_variable(weights), axis)
    dtype = np.result_type(v.dtype, w.dtype, *(["float64"] if np.dtype(v.dtype).kind in "biu" else [])).name
    spread = elementwise("add", w, FUNCTIONS["zeros_like"](v, w.dtype)) if w.dtype != "bool" else w
    total = reduce("sum", cast(spread, dtype), axis, keepdims)
    weighted = reduce("sum", elementwise("multiply", cast(v, dtype), cast(w, dtype)), axis, keepdims)
    found = elementwise("divide", weighted, total)
    return (found, total) if returned else found


def beside(v: Variable, w: Variable, axis: Any) -> Variable:
    """Weights w with axes added so that they broadcast against v.  Raises ValueError where they do not fit."""
    if w.ndim == v.ndim:
        return specify_shape(w, dims_of(v))
    axes = () if axis is None else axes_of(axis, v)
    if axis is None or w.ndim != len(axes):
        raise ValueError(
            f"weights must be of the shape of {describe(v)}, or of its lengths along axis={axis!r}, found {describe(w)}"
        )
    given = [int(axis)] if np.ndim(axis) == 0 else [i % v.ndim for i in axis]
    w = specify_shape(w, [dim(v, i % v.ndim) for i in given])
    w = transpose(w, tuple(int(i) for i in np.argsort([i % v.ndim for i in given])))
    return expand_dims(w, tuple(i for i in range(v.ndim) if i not in axes))


def _rows(x: Any, name: str, rowvar: bool) -> Variable:
    """Observations as a matrix with a row for each variable."""
    v = expect_axes(name, x, 0, 2)
    if v.ndim == 2:
        return v if rowvar else transpose(v, (1, 0))
    return expand_dims(v, tuple(range(2 - v.ndim)))


@public("cov", numpy=("cov",))
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Variable:
    """The matrix of covariances of the rows of m (of its columns with rowvar=False); a scalar for one variable.

    y: further variables.  ddof: is subtracted from the number of observations; by default 1, or 0 with bias.
    fweights, aweights: how often each observation occurs, and its weight.
    Raises ValueError for arrays of more than two axes, and for other than one weight per observation.

    >>> cov([1.0, 2.0, 3.0]).eval()
    array(1.)
    """
    x = _rows(m, "cov", rowvar)
    if y is not None:
        x = concatenate([x, _rows(y, "cov", rowvar)], 0)
    x = cast(x, dtype_name(dtype) if dtype is not None else np.result_type(x.dtype, "float64").name)
    if ddof is not None and ddof != int(ddof):
        raise ValueError(f"ddof must be an integer, found {ddof!r}")
    off = (0 if bias else 1) if ddof is None else int(ddof)
    w: Variable | None = None
    for given in (fweights, aweights):
        if given is not None:
            one = expect_axes("cov", given, 1, 1)
            if given is fweights and np.dtype(one.dtype).kind not in "iu":
                raise TypeError(f"fweights must be integers, found {describe(one)}: give such weights as aweights")
            one = specify_shape(one, (dim(x, 1),))
            w = one if w is None else elementwise("multiply", w, one)
    if w is None:
        mean, divisor = reduce("mean", x, 1, True), elementwise("subtract", as_variable(dim(x, 1)), off)
    else:
        total = reduce("sum", w, None, False)
        mean = reduce("sum", elementwise("multiply", x, w), 1, True) / total
        divisor = total - off
        if aweights is not None and off:
            divisor = total - off * reduce("sum", w * as_variable(aweights), None, False) / total
    away = elementwise("subtract", x, mean)
    other = away if w is None else elementwise("multiply", away, w)
    product = dot(away, elementwise("conjugate", transpose(other, (1, 0))))
    inverse = elementwise("divide", 1, elementwise("maximum", cast(divisor, "float64"), 0.0))
    found = elementwise("multiply", product, cast(inverse, product.dtype))
    return squeeze(found, (0, 1)) if found.type.shape == (1, 1) else found


@public("corrcoef", numpy=("corrcoef",))
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Variable:
    """The matrix of correlations of the rows of x (of its columns with rowvar=False): see `cov`.

    >>> corrcoef([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]).eval().round(6)
    array([[1., 1.],
           [1., 1.]])
    """
    c = cov(x, y, rowvar, dtype=dtype)
    if not c.ndim:
        return c / c
    deviations = elementwise("sqrt", FUNCTIONS["real"](FUNCTIONS["diagonal"](c)))
    scaled = c / expand_dims(deviations, (1,)) / expand_dims(deviations, (0,))
    if np.dtype(scaled.dtype).kind != "c":
        limited: Variable = FUNCTIONS["clip"](scaled, -1, 1)
        return limited
    parts = [FUNCTIONS["clip"](FUNCTIONS[part](scaled), -1, 1) for part in ("real", "imag")]
    return cast(parts[0] + 1j * parts[1], scaled.dtype)
