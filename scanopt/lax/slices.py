"""Slices that begin at a computed place; as in `jax.lax`, one that would reach beyond the array is moved inside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scanopt.array.batching import dim
from scanopt.array.constants import as_variable, weak_constant
from scanopt.array.operators.shaping import reshape_to
from scanopt.array.registry import FUNCTIONS
from scanopt.array.shapes import axes_text, axis_of
from scanopt.array.variable import Variable, describe
from scanopt.lax.at_once import at_once
from scanopt.loops.location import user_location
from scanopt.loops.site import Site, is_bare, show
from scanopt.loops.trees import mapped_leaves

__all__ = [
    "dynamic_index_in_dim", "dynamic_slice", "dynamic_slice_in_dim", "dynamic_update_index_in_dim",
    "dynamic_update_slice", "dynamic_update_slice_in_dim", "stop_gradient",
]  # fmt: skip

Length = int | Variable


def _starts(site: Site, x: Variable, start_indices: Any, sizes: Sequence[Length]) -> list[Any]:
    """The start of a slice along each axis, moved so that the slice lies within x."""
    given = start_indices if isinstance(start_indices, list | tuple) else list(as_variable(start_indices))
    if len(given) != x.ndim:
        raise site.error(ValueError, f"{len(given)} start indices for {describe(x)}, which has {axes_text(x.ndim)}")
    return [_inside(site, i, dim(x, axis), size) for axis, (i, size) in enumerate(zip(given, sizes, strict=True))]


def _inside(site: Site, start: Any, n: Length, size: Length) -> Any:
    """The start of a slice of this size, moved to lie within n entries; a negative start counts from the end."""
    if isinstance(start, int) and isinstance(n, int) and isinstance(size, int):
        return min(max(start + n if start < 0 else start, 0), max(n - size, 0))
    i = site.array(start, "a start index")
    if i.ndim or np.dtype(i.dtype).kind not in "iu":
        raise site.error(TypeError, f"a start index must be an integer scalar, found {describe(i)}")
    at = i if i.dtype == "int64" else i.astype("int64")
    at = FUNCTIONS["where"](FUNCTIONS["lt"](at, 0), at + n, at)
    return FUNCTIONS["maximum"](FUNCTIONS["minimum"](at, as_variable(n) - size), 0)


def _sizes(site: Site, x: Variable, slice_sizes: Any) -> list[int]:
    sizes = list(slice_sizes) if isinstance(slice_sizes, Sequence) else slice_sizes
    if not isinstance(sizes, list) or not all(isinstance(n, int | np.integer) and n >= 0 for n in sizes):
        raise site.error(TypeError, f"slice_sizes must be numbers known before the run, found {show(slice_sizes)}")
    if len(sizes) != x.ndim:
        raise site.error(ValueError, f"{len(sizes)} slice_sizes for {describe(x)}, which has {axes_text(x.ndim)}")
    for axis, (size, n) in enumerate(zip(sizes, x.type.shape, strict=True)):
        if n is not None and size > n:
            raise site.error(ValueError, f"a slice of {size} entries along axis {axis} of {describe(x)}, which has {n}")
    return [int(n) for n in sizes]


def _cut(x: Variable, starts: Sequence[Any], sizes: Sequence[Length]) -> Variable:
    whole = [isinstance(i, int) and i == 0 and x.type.shape[k] == n for k, (i, n) in enumerate(zip(starts, sizes))]  # noqa: B905  # fmt: skip
    index = tuple(
        slice(None) if all_ else slice(i, i + n) for all_, i, n in zip(whole, starts, sizes, strict=True)
    )  # fmt: skip
    part: Variable = x[index]
    return reshape_to(part, sizes)


@at_once
def dynamic_slice(operand: Any, start_indices: Any, slice_sizes: Any) -> Any:
    """The part of an array of a known size that begins at indices that may be computed.

    operand: an array.  start_indices: an integer for each axis, negative ones from the end; a slice that would reach
    beyond the array is moved inside.  slice_sizes: ints.  Raises TypeError, ValueError for arguments that do not fit.

    >>> import numpy as np
    >>> dynamic_slice(np.arange(5), (4,), (3,))
    array([2, 3, 4])

    Source: `jax.lax.dynamic_slice`.
    """
    site = Site("dynamic_slice", user_location())
    x = site.array(operand, "operand")
    sizes = _sizes(site, x, slice_sizes)
    return _cut(x, _starts(site, x, start_indices, sizes), sizes)


@at_once
def dynamic_update_slice(operand: Any, update: Any, start_indices: Any) -> Any:
    """An array with a part of it replaced by `update`, which has as many axes; indices as in `dynamic_slice`.

    Raises TypeError, ValueError for what does not fit.

    >>> import numpy as np
    >>> dynamic_update_slice(np.zeros(5), np.ones(2), (9,))
    array([0., 0., 0., 1., 1.])

    Source: `jax.lax.dynamic_update_slice`.
    """
    site = Site("dynamic_update_slice", user_location())
    x = site.array(operand, "operand")
    return _updated(site, x, _fitting(site, update, x), start_indices)


def _fitting(site: Site, update: Any, x: Variable) -> Variable:
    y = weak_constant(update, x.dtype, [x]) if is_bare(update) else site.array(update, "update")
    if y.dtype != x.dtype:
        raise site.error(TypeError, f"update is {describe(y)}, but operand {describe(x)}: cast it")
    return y


def _updated(site: Site, x: Variable, y: Variable, start_indices: Any) -> Variable:
    if y.ndim != x.ndim:
        raise site.error(ValueError, f"update is {describe(y)}, but operand {describe(x)}: as many axes are needed")
    for axis, (n, m) in enumerate(zip(y.type.shape, x.type.shape, strict=True)):
        if n is not None and m is not None and n > m:
            raise site.error(ValueError, f"update is {describe(y)}, longer along axis {axis} than {describe(x)}")
    sizes = [dim(y, k) for k in range(y.ndim)]
    starts = _starts(site, x, start_indices, sizes)
    index = tuple(slice(i, i + n) for i, n in zip(starts, sizes, strict=True))
    made: Variable = FUNCTIONS["set_subtensor"](x[index] if index else x[()], y)
    return made


def _along(site: Site, x: Variable, axis: Any, start: Any) -> tuple[int, list[Any]]:
    """The axis counted from the front, and a start index for each axis: `start` along it, 0 along others."""
    if not x.ndim:
        raise site.error(ValueError, f"operand is {describe(x)}: it has no axes")
    try:
        k = axis_of(axis, x)
    except (TypeError, ValueError) as error:
        raise site.error(type(error), str(error)) from None
    return k, [start if i == k else 0 for i in range(x.ndim)]


@at_once
def dynamic_slice_in_dim(operand: Any, start_index: Any, slice_size: int, axis: int = 0) -> Any:
    """`dynamic_slice` along one axis; the other axes are taken whole.

    >>> import numpy as np
    >>> dynamic_slice_in_dim(np.arange(6).reshape(2, 3), 1, 2, axis=1)
    array([[1, 2],
           [4, 5]])

    Source: `jax.lax.dynamic_slice_in_dim`.
    """
    site = Site("dynamic_slice_in_dim", user_location())
    return _slice_along(site, site.array(operand, "operand"), start_index, slice_size, axis)


def _slice_along(site: Site, x: Variable, start: Any, size: Any, axis: Any) -> Variable:
    k, _ = _along(site, x, axis, start)
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 0:
        raise site.error(TypeError, f"slice_size must be a number known before the run, found {show(size)}")
    n = x.type.shape[k]
    if n is not None and size > n:
        raise site.error(ValueError, f"a slice of {size} entries along axis {k} of {describe(x)}, which has {n}")
    at = _inside(site, start, dim(x, k), int(size))
    part: Variable = x[tuple(slice(at, at + int(size)) if i == k else slice(None) for i in range(x.ndim))]
    return reshape_to(part, [int(size) if i == k else dim(x, i) for i in range(x.ndim)])


@at_once
def dynamic_index_in_dim(operand: Any, index: Any, axis: int = 0, keepdims: bool = True) -> Any:
    """One entry along an axis, which is kept with length 1 unless keepdims is False; index as in `dynamic_slice`.

    >>> import numpy as np
    >>> dynamic_index_in_dim(np.array([3, 4, 5]), 7, keepdims=False)
    array(5)

    Source: `jax.lax.dynamic_index_in_dim`.
    """
    site = Site("dynamic_index_in_dim", user_location())
    x = site.array(operand, "operand")
    k, _ = _along(site, x, axis, index)
    at = _inside(site, index, dim(x, k), 1)
    row = x[tuple(at if i == k else slice(None) for i in range(x.ndim))]
    return FUNCTIONS["expand_dims"](row, k) if keepdims else row


@at_once
def dynamic_update_slice_in_dim(operand: Any, update: Any, start_index: Any, axis: int) -> Any:
    """`dynamic_update_slice` along one axis; along the others the update begins at the first entry.

    >>> import numpy as np
    >>> dynamic_update_slice_in_dim(np.zeros(4), np.ones(2), 1, axis=0)
    array([0., 1., 1., 0.])

    Source: `jax.lax.dynamic_update_slice_in_dim`.
    """
    site = Site("dynamic_update_slice_in_dim", user_location())
    x = site.array(operand, "operand")
    return _updated(site, x, _fitting(site, update, x), _along(site, x, axis, start_index)[1])


@at_once
def dynamic_update_index_in_dim(operand: Any, update: Any, index: Any, axis: int) -> Any:
    """An array with one entry along an axis replaced; update may have that axis, of length 1, or not.

    >>> import numpy as np
    >>> dynamic_update_index_in_dim(np.zeros(3), 5.0, 1, axis=0)
    array([0., 5., 0.])

    Source: `jax.lax.dynamic_update_index_in_dim`.
    """
    site = Site("dynamic_update_index_in_dim", user_location())
    x = site.array(operand, "operand")
    k, starts = _along(site, x, axis, index)
    y = _fitting(site, update, x)
    return _updated(site, x, FUNCTIONS["expand_dims"](y, k) if y.ndim == x.ndim - 1 else y, starts)


def stop_gradient(x: Any) -> Any:
    """x, which counts as a constant in gradients: an array, or arrays in any structure.

    >>> from scanopt import grad
    >>> grad(lambda x: x * stop_gradient(x))(3.0)
    array(3.)

    Source: `jax.lax.stop_gradient`.
    """
    return mapped_leaves(lambda v: FUNCTIONS["disconnected_grad"](v) if isinstance(v, Variable) else v, x)
