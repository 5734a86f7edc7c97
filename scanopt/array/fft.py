"""Discrete Fourier transforms of symbolic arrays: `scanopt.tensor.fft`, by the names of numpy.fft.

Lengths n and s may be ints or integer scalars; single precision stays, as in NumPy 2.

>>> from scanopt import function, tensor as T
>>> x = T.dvector("x")
>>> function([x], rfft(x))([1.0, 0.0, 0.0, 0.0])
array([1.+0.j, 1.+0.j, 1.+0.j])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from scanopt.absent import no_such_name
from scanopt.array.batching import dim
from scanopt.array.constants import as_variable
from scanopt.array.operators.creation import arange
from scanopt.array.operators.elementwise import cast, elementwise
from scanopt.array.operators.fft import NORMS, swapped_norm, transform
from scanopt.array.operators.selecting import roll
from scanopt.array.operators.shaping import as_dims
from scanopt.array.registry import NUMPY_FUNCTIONS
from scanopt.array.shapes import axes_of, axes_text, axis_of
from scanopt.array.variable import Variable, describe

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft", "irfft",
    "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip

if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise no_such_name("scanopt.tensor.fft", name, __all__)


Transform = Callable[..., Variable]


def _norm(norm: Any) -> str:
    if norm is not None and norm not in NORMS:
        raise ValueError(f"norm is 'backward', 'ortho' or 'forward', found {norm!r}")
    return norm or "backward"


def _one(name: str, x: Any, n: Any, axis: int, norm: Any, **more: Any) -> Variable:
    v = as_variable(x)
    if not v.ndim:
        raise ValueError(f"{name} takes an array of one axis or more, found {describe(v)}")
    points = None if n is None else as_dims((n,))[0]
    if isinstance(points, int) and points < 1:
        raise ValueError(f"{name} of {points} points: there must be one at least ({describe(v)})")
    return transform(name, v, axis_of(axis, v), points, _norm(norm), **more)


def fft(a: Any, n: Any = None, axis: int = -1, norm: str | None = None) -> Variable:
    """The discrete Fourier transform along an axis, as np.fft.fft.

    n: how many points, an int or an integer scalar; missing ones are zeros.  norm: "backward" (the default:
    the inverse transform is divided by n), "ortho" or "forward".  Raises ValueError for another norm, or no points.

    >>> import numpy as np
    >>> fft(np.ones((2, 5)), n=8).type
    TensorType(dtype='complex128', shape=(2, 8))
    """
    return _one("fft", a, n, axis, norm, inverse=False)


def ifft(a: Any, n: Any = None, axis: int = -1, norm: str | None = None) -> Variable:
    """The inverse of `fft`, as np.fft.ifft; arguments and errors as there."""
    return _one("fft", a, n, axis, norm, inverse=True)


def rfft(a: Any, n: Any = None, axis: int = -1, norm: str | None = None) -> Variable:
    """The first half of `fft` of real numbers, n // 2 + 1 of them, as np.fft.rfft.  Raises TypeError for others.

    >>> import numpy as np
    >>> rfft(np.ones((2, 5))).type.shape
    (2, 3)
    """
    return _one("rfft", a, n, axis, norm)


def irfft(a: Any, n: Any = None, axis: int = -1, norm: str | None = None) -> Variable:
    """The inverse of `rfft`, as np.fft.irfft.  n: how many real numbers (default 2 (m - 1) of m frequencies)."""
    return _one("irfft", a, n, axis, norm)


def hfft(a: Any, n: Any = None, axis: int = -1, norm: str | None = None) -> Variable:
    """The transform of a signal that is Hermitian in time, and so real in frequency, as np.fft.hfft."""
    return irfft(elementwise("conjugate", a), n, axis, swapped_norm(_norm(norm)))


def ihfft(a: Any, n: Any = None, axis: int = -1, norm: str | None = None) -> Variable:
    """The inverse of `hfft`, as np.fft.ihfft."""
    return elementwise("conjugate", rfft(a, n, axis, swapped_norm(_norm(norm))))


# Several axes


def _several(
    a: Any, s: Any, axes: Any, of_last: Transform | None, of_others: Transform, norm: Any, last_first: bool
) -> Variable:
    """One transform after the other, in NumPy's order; s may have -1 for the length of an axis."""
    x = as_variable(a)
    lengths: Sequence[Any] = [] if s is None else as_dims(s)
    if axes is None:
        axes = range(x.ndim) if s is None else range(x.ndim - len(lengths), x.ndim)
    places = [axis_of(i, x) for i in axes]
    if s is not None and len(lengths) != len(places):
        raise ValueError(f"s has {len(lengths)} lengths for {axes_text(len(places))}")
    if of_last is not None and not places:
        raise ValueError("at least one axis must be transformed")
    points = [None if not isinstance(n, Variable) and n == -1 else n for n in lengths] or [None] * len(places)
    order = [*zip(places, points, strict=True)]
    last = order.pop() if of_last is not None else None
    if last_first and of_last is not None and last is not None:
        x = of_last(x, last[1], last[0], norm)
    for axis, n in reversed(order) if last_first else order:
        x = of_others(x, n, axis, norm)
    if not last_first and of_last is not None and last is not None:
        x = of_last(x, last[1], last[0], norm)
    return x


def fftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Variable:
    """The transform along several axes (all by default), as np.fft.fftn.

    s: lengths along `axes`, ints or integer scalars; -1 for that of the array.  Raises ValueError for as many axes.

    >>> import numpy as np
    >>> fftn(np.ones((3, 4)), s=(5, -1), axes=(0, 1)).type.shape
    (5, 4)
    """
    return _several(a, s, axes, None, fft, norm, True)


def ifftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Variable:
    """The inverse of `fftn`, as np.fft.ifftn."""
    return _several(a, s, axes, None, ifft, norm, True)


def rfftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Variable:
    """The transform of real numbers: `rfft` along the last axis, `fft` along the others, as np.fft.rfftn."""
    return _several(a, s, axes, rfft, fft, norm, True)


def irfftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Variable:
    """The inverse of `rfftn`, as np.fft.irfftn."""
    return _several(a, s, axes, irfft, ifft, norm, False)


def fft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None) -> Variable:
    """`fftn` along the last two axes, as np.fft.fft2."""
    return fftn(a, s, axes, norm)


def ifft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None) -> Variable:
    """`ifftn` along the last two axes, as np.fft.ifft2."""
    return ifftn(a, s, axes, norm)


def rfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None) -> Variable:
    """`rfftn` along the last two axes, as np.fft.rfft2."""
    return rfftn(a, s, axes, norm)


def irfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None) -> Variable:
    """`irfftn` along the last two axes, as np.fft.irfft2."""
    return irfftn(a, s, axes, norm)


# Frequencies


def _count(n: Any) -> Any:
    (found,) = as_dims((n,))
    return found


def _scaled(places: Variable, whole: Any, dtype: Any) -> Variable:
    found = elementwise("multiply", places, 1.0 / whole)
    return found if dtype is None else cast(found, dtype)


def fftfreq(n: Any, d: Any = 1.0, *, dtype: Any = None, device: Any = None) -> Variable:
    """The frequencies of `fft` of n points at distance d, as np.fft.fftfreq.  n: an int or an integer scalar.

    >>> from scanopt import interpret
    >>> interpret(fftfreq(4))
    array([ 0.  ,  0.25, -0.5 , -0.25])
    """
    points = _count(n)
    half = points // 2
    turned = elementwise("subtract", elementwise("remainder", elementwise("add", arange(points), half), points), half)
    return _scaled(turned, points * d, dtype)


def rfftfreq(n: Any, d: Any = 1.0, *, dtype: Any = None, device: Any = None) -> Variable:
    """The frequencies of `rfft` of n points at distance d, as np.fft.rfftfreq.  n: an int or an integer scalar.

    >>> from scanopt import interpret
    >>> interpret(rfftfreq(4))
    array([0.  , 0.25, 0.5 ])
    """
    points = _count(n)
    return _scaled(arange(points // 2 + 1), points * d, dtype)


def _shifted(x: Any, axes: Any, sign: int) -> Variable:
    v = as_variable(x)
    for i in axes_of(axes, v):
        n = dim(v, i)
        half = n // 2
        v = roll(v, half if sign > 0 else -half if isinstance(half, int) else elementwise("negative", half), i)
    return v


def fftshift(x: Any, axes: Any = None) -> Variable:
    """x with the first entry of each axis moved to its middle, as np.fft.fftshift.

    >>> import numpy as np
    >>> from scanopt import interpret
    >>> interpret(fftshift(np.arange(5)))
    array([3, 4, 0, 1, 2])
    """
    return _shifted(x, axes, 1)


def ifftshift(x: Any, axes: Any = None) -> Variable:
    """The inverse of `fftshift`, as np.fft.ifftshift."""
    return _shifted(x, axes, -1)


# They stand in for NumPy's, given a symbolic array: np.fft.fft(x).
NUMPY_FUNCTIONS.update({f"fft.{name}": globals()[name] for name in __all__})
