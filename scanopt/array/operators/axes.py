"""Functions that reorder, add and drop axes, written with transpose, expand_dims and squeeze."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from scanopt.array import batching
from scanopt.array.batching import expand
from scanopt.array.constants import as_variable
from scanopt.array.op import Op
from scanopt.array.operators.shaping import expand_dims
from scanopt.array.registry import public
from scanopt.array.shapes import axis_of
from scanopt.array.variable import Variable, apply

__all__ = ["dimshuffle", "moveaxis", "swapaxes"]


@public("dimshuffle")
def dimshuffle(x: Any, *pattern: Any) -> Variable:
    """Theano's rearrangement: for each axis of the result an axis of x, or "x" for a new one.

    Axes of x that are left out must have length 1.

    >>> dimshuffle([[1, 2, 3], [4, 5, 6]], 1, "x", 0).type.shape
    (3, 1, 2)
    """
    v = as_variable(x)
    order = pattern[0] if len(pattern) == 1 and isinstance(pattern[0], list | tuple) else pattern
    axes = tuple(axis_of(i, v) for i in order if i != "x")
    if len(set(axes)) < len(axes):
        raise ValueError(f"dimshuffle {order} uses an axis twice")
    dropped = tuple(i for i in range(v.ndim) if i not in axes)
    if dropped:
        v = apply(Op.make("squeeze", axis=dropped), v)
        axes = tuple(i - sum(d < i for d in dropped) for i in axes)
    return expand(batching.transpose(v, axes), [i for i, p in enumerate(order) if p == "x"])


@public("swapaxes", numpy=("swapaxes",))
def swapaxes(x: Any, axis1: int, axis2: int) -> Variable:
    """x with two axes exchanged."""
    v = as_variable(x)
    axes = list(range(v.ndim))
    i, j = axis_of(axis1, v), axis_of(axis2, v)
    axes[i], axes[j] = j, i
    return batching.transpose(v, axes)


@public("moveaxis", numpy=("moveaxis",))
def moveaxis(x: Any, source: Any, destination: Any) -> Variable:
    """x with some axes moved to other places; the remaining axes keep their order."""
    v = as_variable(x)
    many = [a if isinstance(a, Iterable) else (a,) for a in (source, destination)]
    src, dst = ([axis_of(i, v) for i in a] for a in many)
    if len(src) != len(dst) or len(set(src)) < len(src) or len(set(dst)) < len(dst):
        raise ValueError(f"moveaxis from {source} to {destination}")
    axes = [i for i in range(v.ndim) if i not in src]
    for place, i in sorted(zip(dst, src, strict=True)):
        axes.insert(place, i)
    return batching.transpose(v, axes)


@public("shape_padleft")
def shape_padleft(x: Any, n_ones: int = 1) -> Variable:
    """x with `n_ones` axes of length 1 in front."""
    return expand(as_variable(x), range(n_ones))


@public("shape_padright")
def shape_padright(x: Any, n_ones: int = 1) -> Variable:
    """x with `n_ones` axes of length 1 behind."""
    v = as_variable(x)
    return expand(v, range(v.ndim, v.ndim + n_ones))


@public("shape_padaxis")
def shape_padaxis(x: Any, axis: int) -> Variable:
    """x with a new axis of length 1 at place `axis`."""
    return expand_dims(x, axis)


@public("atleast_1d", numpy=("atleast_1d",))
def atleast_1d(*arys: Any) -> Any:
    """An array with at least one axis; several arrays give a tuple."""
    return _atleast(1, arys)


@public("atleast_2d", numpy=("atleast_2d",))
def atleast_2d(*arys: Any) -> Any:
    """An array with at least two axes, new ones in front; several arrays give a tuple."""
    return _atleast(2, arys)


def _atleast(ndim: int, arrays: tuple[Any, ...]) -> Any:
    found = tuple(expand(v, range(ndim - v.ndim)) for v in map(as_variable, arrays))
    return found[0] if len(found) == 1 else found
