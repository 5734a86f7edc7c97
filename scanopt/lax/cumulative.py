"""Running values along an axis: associative_scan, and cumulative sums, products, extremes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from scanopt.array.registry import FUNCTIONS
from scanopt.array.shapes import axes_text, axis_of
from scanopt.array.variable import Variable, describe
from scanopt.lax.at_once import at_once
from scanopt.loops.carry import loop_over
from scanopt.loops.location import user_location
from scanopt.loops.site import Site
from scanopt.loops.trees import aligned, rebuilt, tree_leaves

__all__ = ["associative_scan", "cumlogsumexp", "cummax", "cummin", "cumprod", "cumsum"]


def _axis(site: Site, x: Variable, axis: Any, path: str) -> int:
    try:
        return axis_of(axis, x)
    except (TypeError, ValueError):
        raise site.error(
            ValueError, f"axis {axis} of {path}, which is {describe(x)}: it has {axes_text(x.ndim)}"
        ) from None


def _turned(x: Variable, axis: int, reverse: bool) -> Variable:
    return FUNCTIONS["flip"](x, axis) if reverse else x


@at_once
def associative_scan(fn: Callable[..., Any], elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """x[0], fn(x[0], x[1]), fn(fn(x[0], x[1]), x[2]), ... along an axis.

    fn: from two structures like elems to one, of arrays that have the axis; it should be associative, since others
        may compute it in another order.  elems: arrays in any structure, equally long along the axis.
    reverse: from the last entry to the first.
    This is a loop, for which laws find closed forms: sums, products, extremes and linear recurrences run without a
    Python step.  Others run step by step, and not in log(n) rounds.
    Raises TypeError, ValueError for a fn that changes the structure, dtypes or shapes.

    >>> import numpy as np
    >>> associative_scan(np.maximum, np.array([1, 3, 2]))
    array([1, 3, 3])

    Source: `jax.lax.associative_scan`.
    """
    return _associative(Site("associative_scan", user_location()), fn, elems, reverse, axis)


def _associative(site: Site, fn: Callable[..., Any], elems: Any, reverse: bool, axis: Any) -> Any:
    if not callable(fn):
        raise site.error(TypeError, f"fn must be a function of two structures like elems, found {fn!r}")
    labels = [path for path, _ in tree_leaves(elems, "elems")]
    arrays = [site.array(x, path) for path, x in tree_leaves(elems, "elems")]
    if not arrays:
        raise site.error(ValueError, "elems holds no array")
    axes = [_axis(site, x, axis, path) for path, x in zip(labels, arrays, strict=True)]
    lengths = [(path, n) for path, x, k in zip(labels, arrays, axes, strict=True) if (n := x.type.shape[k]) is not None]
    for path, n in lengths[1:]:
        if n != lengths[0][1]:
            text = f"{lengths[0][0]} has length {lengths[0][1]} along the axis, but {path} has {n}"
            raise site.error(ValueError, f"{text}: all must be equally long")
    rows = [FUNCTIONS["moveaxis"](_turned(x, k, reverse), k, 0) for x, k in zip(arrays, axes, strict=True)]
    entries = [FUNCTIONS["expand_dims"](x, k + 1) for x, k in zip(rows, axes, strict=True)]

    def step(carry: list[Variable], x: list[Variable]) -> tuple[list[Variable], list[Variable]]:
        found = fn(rebuilt(elems, iter(carry).__next__), rebuilt(elems, iter(x).__next__))
        new = [site.array(v, "a result of fn") for v in aligned(site, elems, found, "elems")]
        return new, new

    first = [FUNCTIONS["expand_dims"](_first(x), k) for x, k in zip(rows, axes, strict=True)]
    later = [x[1:] for x in entries]
    _, rest = loop_over(site, step, first, later, None, labels, "associative_scan", whole=rows)
    joined = [
        FUNCTIONS["concatenate"]([x[:1], FUNCTIONS["squeeze"](y, k + 1)], 0)
        for x, y, k in zip(rows, rest, axes, strict=True)
    ]
    back = [_turned(FUNCTIONS["moveaxis"](x, 0, k), k, reverse) for x, k in zip(joined, axes, strict=True)]
    return rebuilt(elems, iter(back).__next__)


def _first(x: Variable) -> Variable:
    """The first row; where x has no row, and the loop no step, still an array of its shape."""
    if x.type.shape[0]:
        row: Variable = x[0]
        return row
    alone = {"b": "any", "c": "sum"}.get(np.dtype(x.dtype).kind, "prod")  # of a single entry: that entry, bit for bit
    found: Variable = FUNCTIONS[alone](x[:1], axis=0).astype(x.dtype)
    return found


def _cumulative(name: str, operand: Any, axis: Any, reverse: bool, fn: Callable[..., Any]) -> Any:
    site = Site(name, user_location())
    x = site.array(operand, "operand")
    if x.dtype == "bool":
        raise site.error(TypeError, f"{name} is of numbers, found {describe(x)}: cast it")
    k = _axis(site, x, axis, "operand")
    return fn(site, x, k, reverse)


def _extreme(f: str) -> Callable[..., Any]:
    return lambda site, x, k, reverse: _associative(site, FUNCTIONS[f], x, reverse, k)


def _sums(f: str) -> Callable[..., Any]:
    def run(site: Site, x: Variable, k: int, reverse: bool) -> Variable:
        found: Variable = FUNCTIONS[f](_turned(x, k, reverse), axis=k).astype(x.dtype)
        return _turned(found, k, reverse)

    return run


@at_once
def cumsum(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Running sums along an axis, in the dtype of the operand; reverse: from the end.

    >>> import numpy as np
    >>> cumsum(np.array([1, 2, 3]), reverse=True)
    array([6, 5, 3])

    Source: `jax.lax.cumsum`.
    """
    return _cumulative("cumsum", operand, axis, reverse, _sums("cumsum"))


@at_once
def cumprod(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Running products along an axis, in the dtype of the operand; reverse: from the end.

    >>> import numpy as np
    >>> cumprod(np.array([1, 2, 3]))
    array([1, 2, 6])

    Source: `jax.lax.cumprod`.
    """
    return _cumulative("cumprod", operand, axis, reverse, _sums("cumprod"))


@at_once
def cummax(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """The greatest so far along an axis; reverse: from the end.

    >>> import numpy as np
    >>> cummax(np.array([1, 3, 2]))
    array([1, 3, 3])

    Source: `jax.lax.cummax`.
    """
    return _cumulative("cummax", operand, axis, reverse, _extreme("maximum"))


@at_once
def cummin(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """The least so far along an axis; reverse: from the end.

    >>> import numpy as np
    >>> cummin(np.array([3, 1, 2]))
    array([3, 1, 1])

    Source: `jax.lax.cummin`.
    """
    return _cumulative("cummin", operand, axis, reverse, _extreme("minimum"))


@at_once
def cumlogsumexp(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Logarithms of running sums of exponentials along an axis; reverse: from the end.  operand: floats.

    >>> import numpy as np
    >>> cumlogsumexp(np.log([1.0, 1.0, 2.0])).round(6)
    array([0.      , 0.693147, 1.386294])

    Source: `jax.lax.cumlogsumexp`.
    """
    site = Site("cumlogsumexp", user_location())
    x = site.array(operand, "operand")
    if np.dtype(x.dtype).kind != "f":
        raise site.error(TypeError, f"cumlogsumexp is of floats, found {describe(x)}: cast it")
    return _cumulative("cumlogsumexp", x, axis, reverse, _extreme("logaddexp"))
