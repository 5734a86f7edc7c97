"""Functions that only Theano has under these names, composed of operators of the table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from scanopt.array.batching import broadcast_to, dim, dims_of
from scanopt.array.constants import as_tensor_variable, as_variable, assigned
from scanopt.array.operators.creation import arange, eye
from scanopt.array.operators.elementwise import as_float, cast, clip, elementwise, round_, where
from scanopt.array.operators.products import dot
from scanopt.array.operators.special import special
from scanopt.array.registry import FUNCTIONS, public
from scanopt.array.variable import Variable, describe
from scanopt.config import config

__all__ = ["NotScalarConstantError", "mgrid", "ogrid"]


class NotScalarConstantError(ValueError):
    """A value that is asked for before the run is not known then."""


@public("horizontal_stack")
def horizontal_stack(*args: Any) -> Variable:
    """Matrices beside each other."""
    return FUNCTIONS["concatenate"]([as_variable(x) for x in args], 1)  # type: ignore[no-any-return]


@public("vertical_stack")
def vertical_stack(*args: Any) -> Variable:
    """Matrices under each other."""
    return FUNCTIONS["concatenate"]([as_variable(x) for x in args], 0)  # type: ignore[no-any-return]


@public("iround")
def iround(x: Any, mode: str | None = None) -> Variable:
    """x rounded to whole numbers, as int64; mode: as of `round`."""
    return cast(round_(x, mode=mode), "int64")


@public("round_half_away_from_zero")
def round_half_away_from_zero(x: Any) -> Variable:
    """x rounded to whole numbers, halves away from zero.

    >>> round_half_away_from_zero(np.array([0.5, -2.5, 1.4])).eval()
    array([ 1., -3.,  1.])
    """
    v = as_variable(x)
    whole = elementwise("trunc", v)
    return where(abs(v - whole) >= 0.5, whole + elementwise("sign", v), whole)


@public("ceil_intdiv")
def ceil_intdiv(a: Any, b: Any) -> Variable:
    """a / b of integers, rounded up."""
    return elementwise("negative", elementwise("floor_divide", elementwise("negative", as_variable(a)), b))


@public("stacklists")
def stacklists(tensor_list: Any) -> Variable:
    """Nested lists of arrays of one shape as one array, an axis for each level of lists.

    >>> from scanopt import tensor as T
    >>> a, b = T.dscalars("a", "b")
    >>> stacklists([[a, b], [b, a]]).type.shape
    (2, 2)
    """
    if isinstance(tensor_list, list | tuple):
        stacked: Variable = FUNCTIONS["stack"]([stacklists(x) for x in tensor_list])
        return stacked
    return as_tensor_variable(tensor_list)


@public("inverse_permutation")
def inverse_permutation(perm: Any) -> Variable:
    """The inverse of a permutation, or of each row's permutation."""
    found: Variable = FUNCTIONS["argsort"](as_variable(perm), -1)
    return found


@public("nonzero_values")
def nonzero_values(a: Any) -> Variable:
    """The entries that are not 0, as a vector."""
    v = as_variable(a)
    found: Variable = v[elementwise("not_equal", v, 0)]
    return found


@public("shape_i")
def shape_i(x: Any, i: int) -> Any:
    """The length of one axis: x.shape[i]."""
    return as_variable(x).shape[i]


@public("complex")
def complex_(real: Any, imag: Any) -> Variable:
    """real + 1j * imag."""
    return elementwise("add", as_float(real), elementwise("multiply", as_float(imag), 1j))


@public("complex_from_polar")
def complex_from_polar(abs: Any, angle: Any) -> Variable:
    """The complex numbers of these absolute values and angles."""
    size, turn = as_float(abs), as_float(angle)
    return complex_(size * elementwise("cos", turn), size * elementwise("sin", turn))


@public("to_one_hot")
def to_one_hot(y: Any, nb_class: Any, dtype: Any = None) -> Variable:
    """For each number in y a row of nb_class zeros with a 1 at that place."""
    v = as_variable(y)
    return cast(elementwise("equal", FUNCTIONS["expand_dims"](v, -1), arange(nb_class)), dtype or config.floatX)


@public("fill_diagonal_offset")
def fill_diagonal_offset(a: Any, val: Any, offset: Any) -> Variable:
    """The matrix a with val on the diagonal where column - row is offset.  Raises ValueError unless a is a matrix."""
    v = as_variable(a)
    if v.ndim != 2:
        raise ValueError(f"fill_diagonal takes a matrix, found {describe(v)}")
    n, m = dims_of(v)
    return where(eye(n, m, offset, dtype="bool"), assigned(val, v), v)


@public("matrix_dot")
def matrix_dot(*args: Any) -> Variable:
    """The product of all arguments, from the left.

    >>> matrix_dot(np.ones((2, 3)), np.ones((3, 4)), np.ones(4)).type.shape
    (2,)
    """
    return reduce(dot, map(as_variable, args))


@public("hard_sigmoid")
def hard_sigmoid(x: Any) -> Variable:
    """0.2 x + 0.5, limited to [0, 1]: a sigmoid of straight lines."""
    return clip(as_float(x) * 0.2 + 0.5, 0, 1)  # type: ignore[no-any-return]


@public("softsign")
def softsign(x: Any) -> Variable:
    """x / (1 + |x|)."""
    v = as_float(x)
    return elementwise("divide", v, 1 + abs(v))


@public("log1mexp")
def log1mexp(x: Any) -> Variable:
    """log(1 - exp(x)) for x <= 0, without losing digits where x is near 0 or far from it.

    >>> log1mexp(np.array([-1e-30, -50.0])).eval()
    array([-6.90775528e+01, -1.92874985e-22])
    """
    v, middle = as_float(x), -np.log(2.0)
    # Each formula sees only values of its own side, so that it adds no infinity to the gradient of the other side.
    near = elementwise("log", elementwise("negative", elementwise("expm1", elementwise("maximum", v, middle))))
    far = elementwise("log1p", elementwise("negative", elementwise("exp", elementwise("minimum", v, middle))))
    return where(elementwise("greater", v, middle), near, far)


@public("get_scalar_constant_value", "get_underlying_scalar_constant_value")
def get_scalar_constant_value(v: Any) -> np.ndarray[Any, Any]:
    """The value of a scalar that is known before the run.  Raises NotScalarConstantError for one that is not."""
    x = as_variable(v)
    value = x.operand.value
    if value is None or np.ndim(value):
        raise NotScalarConstantError(f"{describe(x)} has no value that is known before the run")
    return np.asarray(value)


@public("get_vector_length")
def get_vector_length(v: Any) -> int:
    """The length of a vector, which must be known before the run.  Raises ValueError for other arrays.

    >>> from scanopt import tensor as T
    >>> get_vector_length(T.stack(T.dscalars("x", "y")))
    2
    """
    x = as_variable(v)
    if x.ndim != 1 or x.type.shape[0] is None:
        raise ValueError(f"the length of {describe(x)} is not known before the run")
    return x.type.shape[0]


@public("atleast_Nd")
def atleast_Nd(arry: Any, *, n: int = 1, left: bool = True) -> Variable:  # noqa: N802
    """x with n axes at least; those that are added have length 1, and are the first ones or else the last."""
    v = as_variable(arry)
    added: Variable = FUNCTIONS["shape_padleft" if left else "shape_padright"](v, max(n - v.ndim, 0))
    return added


# Functions that are made of those of scipy.special


@public("xlogx")
def xlogx(x: Any) -> Variable:
    """x log(x), which is 0 where x is 0.

    >>> xlogx(np.array([0.0, 1.0])).eval()
    array([0., 0.])
    """
    v = as_float(x)
    return special("xlogy", v, v)


@public("log1pexp")
def log1pexp(x: Any) -> Variable:
    """log(1 + exp(x)), without overflow: `softplus`."""
    return FUNCTIONS["softplus"](x)  # type: ignore[no-any-return]


@public("tri_gamma")
def tri_gamma(x: Any) -> Variable:
    """The second derivative of the logarithm of the gamma function."""
    return special("zeta", 2, x)


@public("gammau")
def gammau(k: Any, x: Any) -> Variable:
    """The upper incomplete gamma function, not divided by gamma(k) as `gammaincc` is."""
    return FUNCTIONS["gammaincc"](k, x) * FUNCTIONS["gamma"](k)  # type: ignore[no-any-return]


@public("gammal")
def gammal(k: Any, x: Any) -> Variable:
    """The lower incomplete gamma function, not divided by gamma(k) as `gammainc` is."""
    return FUNCTIONS["gammainc"](k, x) * FUNCTIONS["gamma"](k)  # type: ignore[no-any-return]


@public("chi2sf")
def chi2sf(x: Any, k: Any) -> Variable:
    """How likely a number above x is, of a chi squared distribution of k degrees of freedom."""
    return FUNCTIONS["gammaincc"](as_float(k) / 2, as_float(x) / 2)  # type: ignore[no-any-return]


class _Grid:
    """np.mgrid and np.ogrid with symbolic bounds."""

    def __init__(self, name: str, arrange: Callable[[Sequence[Variable]], Any]) -> None:
        self.__name__ = name
        self.__doc__ = f"np.{name} of symbolic bounds: T.{name}[0:n, 0:m]."
        self._arrange = arrange

    def __getitem__(self, index: Any) -> Any:
        slices = index if isinstance(index, tuple) else (index,)
        if not all(isinstance(s, slice) and s.stop is not None for s in slices):
            raise IndexError(f"T.{self.__name__} takes slices with a stop, as in T.{self.__name__}[0:n, 0:m]")
        if any(isinstance(s.step, complex) for s in slices):
            raise IndexError(f"T.{self.__name__} takes no numbers of points (5j): use T.linspace for each axis")
        rows = [arange(s.start or 0, s.stop, 1 if s.step is None else s.step) for s in slices]
        if not isinstance(index, tuple):
            return rows[0]
        shapes = [tuple(-1 if i == k else 1 for i in range(len(rows))) for k in range(len(rows))]
        return self._arrange([row.reshape(shape, ndim=len(rows)) for row, shape in zip(rows, shapes, strict=True)])


def _dense(parts: Sequence[Variable]) -> Variable:
    lengths = [dim(part, i) for i, part in enumerate(parts)]
    whole: Variable = FUNCTIONS["stack"]([broadcast_to(part, lengths) for part in parts])
    return whole


mgrid, ogrid = _Grid("mgrid", _dense), _Grid("ogrid", list)
