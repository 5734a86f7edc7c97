"""New arrays: array, asarray and their relatives, empty, identity, tri, fromfunction.

Arguments about where an array lies in memory (`copy`, `order`, `device`, `like`) have no effect on symbolic arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scanopt.array.batching import expand
from scanopt.array.constants import as_variable
from scanopt.array.functions.arguments import length_of
from scanopt.array.functions.grids import indices
from scanopt.array.operators.creation import eye, full, on_diagonal
from scanopt.array.operators.elementwise import cast
from scanopt.array.registry import FUNCTIONS, NUMPY_FUNCTIONS, public
from scanopt.array.variable import Variable
from scanopt.config import config

__all__ = ["array", "asarray"]

for _name in ("zeros", "ones", "full", "eye", "arange"):  # np.zeros(3, like=x)
    NUMPY_FUNCTIONS[_name] = FUNCTIONS[_name]
NUMPY_FUNCTIONS["astype"] = FUNCTIONS["astype"]


@public("array", numpy=("array",))
def array(
    object: Any, dtype: Any = None, *, copy: Any = True, order: Any = "K", subok: bool = False, ndmin: int = 0,
    ndmax: int = 0, like: Any = None,
) -> Variable:  # fmt: skip
    """A symbolic array of numbers, symbolic arrays, or lists of them in lists.

    dtype: that of the result, by a cast.  ndmin: the least number of axes; missing ones are added in front.
    Raises ValueError where parts have different shapes, TypeError for anything but an array of numbers.

    >>> array([1, 2.5]).type
    TensorType(dtype='float64', shape=(2,))
    """
    v = as_variable(object)
    v = v if dtype is None else cast(v, dtype)
    if ndmax and v.ndim > ndmax:
        raise ValueError(f"array expected at most {ndmax} axes, found {v!r}")
    return expand(v, range(ndmin - v.ndim))


@public("asarray", "asanyarray", numpy=("asarray", "asanyarray"))
def asarray(
    a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: Any = None, like: Any = None
) -> Variable:
    """A symbolic array as it is, anything else as by `array`.

    >>> asarray([1, 2], "float32").type
    TensorType(dtype='float32', shape=(2,))
    """
    return array(a, dtype)


@public("ascontiguousarray", "asfortranarray", numpy=("ascontiguousarray", "asfortranarray"))
def ascontiguousarray(a: Any, dtype: Any = None, *, like: Any = None) -> Variable:
    """As `asarray`, with at least one axis."""
    return array(a, dtype, ndmin=1)


@public("empty", numpy=("empty",))
def empty(shape: Any, dtype: Any = None) -> Variable:
    """As `zeros`: symbolic arrays have no arbitrary values."""
    return full(shape, 0, dtype or config.floatX)


@public("identity", numpy=("identity",))
def identity(n: Any, dtype: Any = None) -> Variable:
    """The identity matrix of n rows, an int or an integer scalar (dtype `config.floatX` unless given)."""
    return eye(length_of(n, "the number of rows"), dtype=dtype)


@public("tri", numpy=("tri",))
def tri(N: Any, M: Any = None, k: Any = 0, dtype: Any = None) -> Variable:
    """An N x M matrix (M = N if None) of ones at and below diagonal k, else zeros.

    >>> tri(2, 3).eval()
    array([[1., 0., 0.],
           [1., 1., 0.]])
    """
    n = length_of(N, "the number of rows")
    m = n if M is None else length_of(M, "the number of columns")
    return cast(on_diagonal(n, m, as_variable(length_of(k, "the diagonal")), "less_equal"), dtype or config.floatX)


@public("fromfunction", numpy=("fromfunction",))
def fromfunction(
    function: Callable[..., Any], shape: Any, *, dtype: Any = float, like: Any = None, **kwargs: Any
) -> Variable:
    """function of the index arrays of a shape, one for each axis.

    >>> fromfunction(lambda i, j: i + j, (2, 2)).eval()
    array([[0., 1.],
           [1., 2.]])
    """
    grids = indices(shape, dtype)
    return as_variable(function(*(grids[i] for i in range(grids.ndim - 1)), **kwargs))
