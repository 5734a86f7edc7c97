"""Polynomials given by vectors of coefficients, the highest power first."""

from __future__ import annotations

from typing import Any

import numpy as np

from scanopt import features
from scanopt.array.batching import dim, expand
from scanopt.array.constants import as_variable, promoted
from scanopt.array.functions.arguments import expect_axes, known_int, limited, minus, plus
from scanopt.array.functions.signals import convolve
from scanopt.array.linalg_decompositions import eigvals, lstsq
from scanopt.array.operators.axes import atleast_1d
from scanopt.array.operators.creation import arange, full, full_like
from scanopt.array.operators.elementwise import cast, elementwise, where
from scanopt.array.operators.joining import concatenate
from scanopt.array.operators.reductions import reduce
from scanopt.array.operators.specify_shape import specify_shape
from scanopt.array.operators.subtensor import getitem, inc_subtensor
from scanopt.array.registry import FUNCTIONS, public
from scanopt.array.variable import Variable, describe

__all__ = ["polyval"]


def _coefficients(function: str, p: Any) -> Variable:
    return expect_axes(function, atleast_1d(p), 1, 1)


@public("polyval", numpy=("polyval",))
def polyval(p: Any, x: Any) -> Variable:
    """The value of a polynomial at each element of x, by Horner's rule.

    p: coefficients, the highest power first; a loop where their number is not known before the run.

    >>> polyval([3, 0, 1], 5).eval()
    array(76)
    """
    coefficients, at = expect_axes("polyval", p, 1, 1), as_variable(x)
    start = full_like(at, 0)
    n = coefficients.type.shape[0]
    if n is not None:
        found = start
        for k in range(n):
            found = elementwise("add", elementwise("multiply", found, at), getitem(coefficients, k))
        return found
    start = cast(start, np.result_type(coefficients.dtype, at.dtype))
    coefficients = _after_zero(coefficients)  # a step for the loop where there are no coefficients
    found, _ = features.foldl(
        lambda c, total, at: cast(total * at + c, start.dtype), coefficients, start, non_sequences=[at]
    )
    return as_variable(found)


def _of_one_length(p: Variable, q: Variable) -> tuple[Variable, Variable]:
    """The coefficients of both, with zeros put in front of the shorter one so that they are equally long."""
    n, m = dim(p, 0), dim(q, 0)
    short = [(p, minus(m, n)), (q, minus(n, m))]
    first, second = (
        v if isinstance(k, int) and k <= 0 else concatenate([full((limited(k, 0),), cast(0, v.dtype)), v])
        for v, k in short
    )
    return first, second


@public("polyadd", numpy=("polyadd",))
def polyadd(a1: Any, a2: Any) -> Variable:
    """The coefficients of the sum of two polynomials."""
    return elementwise("add", *_of_one_length(_coefficients("polyadd", a1), _coefficients("polyadd", a2)))


@public("polysub", numpy=("polysub",))
def polysub(a1: Any, a2: Any) -> Variable:
    """The coefficients of the difference of two polynomials."""
    return elementwise("subtract", *_of_one_length(_coefficients("polysub", a1), _coefficients("polysub", a2)))


def _after_zero(p: Variable) -> Variable:
    return concatenate([full((1,), cast(0, p.dtype)), p])


def _without_leading_zeros(p: Variable) -> Variable:
    """The coefficients from the first nonzero one on, as NumPy keeps them; one zero where all are 0."""
    p = _after_zero(p)
    some = elementwise("not_equal", p, 0)
    last = minus(dim(p, 0), 1)
    return getitem(p, slice(where(reduce("any", some, None, False), FUNCTIONS["argmax"](some), last), None))


@public("polymul", numpy=("polymul",))
def polymul(a1: Any, a2: Any) -> Variable:
    """The coefficients of the product of two polynomials, whose leading zeros are left out, as NumPy does.

    >>> polymul([1, 2], [0, 1, -1]).eval()
    array([ 1,  1, -2])
    """
    p, q = (_without_leading_zeros(v) for v in promoted(_coefficients("polymul", a1), _coefficients("polymul", a2)))
    return convolve(p, q)


def _order(m: Any, function: str) -> int:
    times = known_int(m)
    if times is None or times < 0:
        raise ValueError(f"the order of {function} is an integer from 0 on, known before the run, found {m!r}")
    return times


def _powers(p: Variable) -> Variable:
    """The numbers from the number of coefficients down to 1."""
    n = dim(p, 0)
    return arange(n, 0, -1) if isinstance(n, int) else elementwise("subtract", n, arange(n))


@public("polyder", numpy=("polyder",))
def polyder(p: Any, m: int = 1) -> Variable:
    """The coefficients of the m-th derivative of a polynomial.

    >>> polyder([1, 1, 1, 1]).eval()
    array([3, 2, 1])
    """
    v = expect_axes("polyder", p, 1, 1)
    for _ in range(_order(m, "polyder")):
        v = getitem(v, slice(None, -1))
        v = elementwise("multiply", v, _powers(v))
    return v


@public("polyfit", numpy=("polyfit",))
def polyfit(
    x: Any, y: Any, deg: int, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False
) -> Variable:
    """The coefficients of the polynomial of degree deg that is nearest to the points (x, y), by least squares.

    x: a vector.  y: a vector, or a matrix with points in columns.  rcond: of `T.linalg.lstsq`.  w: weights of the
    points.  Raises TypeError for full= and cov=, which ask for more.

    >>> np.round(polyfit([0.0, 1.0, 2.0], [1.0, 3.0, 5.0], 1).eval(), 6)
    array([2., 1.])
    """
    if full or cov is not False:
        raise TypeError(
            "polyfit of symbolic arrays takes no full= and cov=: use T.linalg.lstsq of T.vander(x, deg + 1)"
        )
    at, values = expect_axes("polyfit", x, 1, 1), expect_axes("polyfit", y, 1, 2)
    powers = FUNCTIONS["vander"](at + 0.0, _order(deg, "polyfit") + 1)
    values = values + 0.0
    if w is not None:
        weights = specify_shape(expect_axes("polyfit", w, 1, 1), (dim(at, 0),)) + 0.0
        powers, values = (
            powers * expand(weights, (1,)),
            values * (expand(weights, (1,)) if values.ndim == 2 else weights),
        )
    scale = elementwise("sqrt", reduce("sum", elementwise("multiply", powers, powers), 0, False))
    found = lstsq(powers / scale, values, rcond)[0]
    return found / (expand(scale, (1,)) if values.ndim == 2 else scale)


@public("poly", numpy=("poly",))
def poly(seq_of_zeros: Any) -> Variable:
    """The coefficients of the polynomial with these zeros, a vector whose length is known before the run.

    Raises ValueError where it is not, TypeError for complex zeros: NumPy's dtype depends on the values.
    """
    zeros = expect_axes("poly", atleast_1d(seq_of_zeros), 1, 1)
    n = zeros.type.shape[0]
    if n is None:
        raise ValueError(f"poly needs a number of zeros that is known before the run, found {describe(zeros)}")
    if np.dtype(zeros.dtype).kind == "c":
        raise TypeError(f"poly of complex zeros has a dtype that depends on their values, found {describe(zeros)}")
    zeros = zeros if np.dtype(zeros.dtype).kind == "f" else cast(zeros, "float64")
    found = full((1,), 1, zeros.dtype)
    for k in range(n):
        found = convolve(found, concatenate([full((1,), 1, zeros.dtype), -getitem(zeros, slice(k, k + 1))]))
    return found


@public("polyint", numpy=("polyint",))
def polyint(p: Any, m: int = 1, k: Any = None) -> Variable:
    """The coefficients of the m-th antiderivative of a polynomial.

    k: the constants of integration, a number or one for each time, 0 unless given.  Raises ValueError for too few.

    >>> polyint([3.0, 2.0, 1.0], k=7).eval()
    array([1., 1., 1., 7.])
    """
    v, times = expect_axes("polyint", p, 1, 1), _order(m, "polyint")
    constants = as_variable(0.0) if k is None else as_variable(k)
    if constants.ndim and (n := constants.type.shape[0]) is not None and n != 1 and n < times:
        raise ValueError(f"polyint needs a constant for each of {times} times, found {describe(constants)}")
    for i in range(times):
        alone = constants.ndim == 0 or constants.type.shape[0] == 1
        constant = atleast_1d(constants) if alone else getitem(constants, slice(i, i + 1))
        v = concatenate([elementwise("divide", v, _powers(v)), constant])
    return v


@public("polydiv", numpy=("polydiv",))
def polydiv(u: Any, v: Any) -> tuple[Variable, Variable]:
    """The quotient and the remainder of two polynomials, as vectors of coefficients; the first of `v` is not 0.

    Leading coefficients of the remainder that are 0 up to rounding are left out, as in NumPy.

    >>> [c.eval().tolist() for c in polydiv([3.0, 5.0, 2.0], [2.0, 1.0])]
    [[1.5, 1.75], [0.25]]
    """
    top, by = (_coefficients("polydiv", p) + 0.0 for p in (u, v))
    top = cast(top, np.result_type(top.dtype, by.dtype))
    scale, width = elementwise("divide", cast(1.0, by.dtype), by[0]), dim(by, 0)
    steps = limited(minus(plus(dim(top, 0), 1), width), 0)

    def divided(k: Variable, rest: Variable, by: Variable, scale: Variable) -> tuple[Variable, Variable]:
        factor = elementwise("multiply", scale, rest[k])
        return inc_subtensor(rest[k : k + by.shape[0]], -elementwise("multiply", factor, by)), factor

    (rests, factors), _ = features.scan(divided, arange(steps), [top, None], [by, scale])
    rest = concatenate([expand(top, (0,)), rests], 0)[-1]
    nothing = elementwise("less_equal", elementwise("absolute", rest[:-1]), 1e-8)  # as np.allclose: a NaN is not 0
    some = concatenate([elementwise("logical_not", nothing), full((1,), True)], 0)
    quotient = concatenate([factors, full((1,), cast(0, top.dtype))], 0)
    return quotient[: limited(steps, 1)], rest[FUNCTIONS["argmax"](some) :]


@public("roots", numpy=("roots",))
def roots(p: Any) -> Variable:
    """The zeros of a polynomial, complex: eigenvalues of its companion matrix, and a 0 for each trailing 0 in p.

    The result has as many entries as the polynomial has zeros; leading coefficients of 0 add none.

    >>> roots([1.0, 0.0, 4.0]).eval().imag.round(9).tolist()
    [2.0, -2.0]
    """
    v = _coefficients("roots", p)
    v = v if np.dtype(v.dtype).kind in "fc" else cast(v, "float64")
    some = elementwise("not_equal", v, 0)
    n, argmax = dim(v, 0), FUNCTIONS["argmax"]
    any_ = reduce("any", some, None, False)
    first = where(any_, argmax(concatenate([some, full((1,), True)])), n)
    zeros = where(any_, argmax(concatenate([some[::-1], full((1,), True)])), 0)
    kept = v[first : elementwise("subtract", n, zeros)]
    degree = limited(minus(dim(kept, 0), 1), 0)
    row = -elementwise("divide", kept[1:], kept[:1])
    below = FUNCTIONS["eye"](degree, dtype=v.dtype)[: limited(minus(degree, 1), 0)]
    companion = concatenate([expand(row, (0,)), below], 0)[:degree]
    found = eigvals(companion)
    return concatenate([found, full((zeros,), cast(0, found.dtype))], 0)
