"""Convolutions and pooling of symbolic arrays, written with sliding windows, products and reductions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scanopt.array.batching import dim, dims_of, transpose
from scanopt.array.constants import as_variable, promoted
from scanopt.array.operators.creation import full
from scanopt.array.operators.elementwise import elementwise
from scanopt.array.operators.products import batched_tensordot, tensordot
from scanopt.array.operators.reductions import reduce
from scanopt.array.operators.shaping import reshape
from scanopt.array.operators.specify_shape import specify_shape
from scanopt.array.operators.subtensor import set_subtensor
from scanopt.array.operators.windows import windows
from scanopt.array.registry import public
from scanopt.array.variable import Variable, describe

__all__ = ["avg_pool", "conv1d", "conv2d", "conv3d", "max_pool", "sliding_window_view"]

Length = int | Variable


def _each(x: Any, count: int, what: str) -> tuple[int, ...]:
    """x as one positive int for each of `count` axes.  Raises ValueError for anything else; what: its name."""
    many = tuple(x) if isinstance(x, Sequence) and not isinstance(x, str) else (x,) * count
    if len(many) != count or not all(isinstance(n, int | np.integer) and n > 0 for n in many):
        raise ValueError(f"{what} is a positive int, or {count} of them, found {x!r}")
    return tuple(int(n) for n in many)


# Padding


def _paddings(mode: Any, x: Variable, sizes: Sequence[Length], steps: Sequence[int], dilations: Sequence[int]) -> Any:
    """How many padding entries come before and after along each of the last axes."""
    count = len(sizes)
    reach = [(k - 1) * d for k, d in zip(sizes, dilations, strict=True)]
    if mode == "same":
        lengths = dims_of(x)[x.ndim - count :]
        return [_same(n, r, s) for n, r, s in zip(lengths, reach, steps, strict=True)]
    if isinstance(mode, str):
        if mode not in _MODES:
            raise ValueError(f"padding is 'valid', 'full', 'half', 'same', ints or pairs of ints, found {mode!r}")
        return [(_MODES[mode](r),) * 2 for r in reach]
    many = mode if isinstance(mode, Sequence) else (mode,) * count
    pairs = [tuple(p) if isinstance(p, Sequence) else (p, p) for p in many]
    if len(pairs) != count or not all(len(p) == 2 and all(isinstance(n, int) and n >= 0 for n in p) for p in pairs):
        raise ValueError(f"padding is an int, or an int or a pair of ints for each of {count} axes, found {mode!r}")
    return pairs


_MODES: dict[str, Callable[[Any], Any]] = {
    "valid": lambda reach: 0,
    "half": lambda reach: (reach + 1) // 2,
    "full": lambda reach: reach,
}
"""By the name of a padding a function from the reach of a filter to the number of entries added on each side."""


def _same(n: Length, reach: Length, step: int) -> tuple[Length, Length]:
    """The padding with which there are ceil(n / step) results; an odd one has one more entry behind than in front."""
    needed = ((n + step - 1) // step - 1) * step + reach + 1 - n
    both = max(needed, 0) if isinstance(needed, int) else elementwise("maximum", needed, 0)
    return both // 2, both - both // 2


def _padded(x: Variable, pairs: Sequence[tuple[Length, Length]], value: Any = 0) -> Variable:
    """x padded with `value` along its last axes."""
    if all(isinstance(n, int) and n == 0 for pair in pairs for n in pair):
        return x
    lengths, lead = dims_of(x), x.ndim - len(pairs)
    inner = [n + low + high for n, (low, high) in zip(lengths[lead:], pairs, strict=True)]
    place = [slice(low, low + n) for n, (low, _) in zip(lengths[lead:], pairs, strict=True)]
    around = full([*lengths[:lead], *inner], value, x.dtype)
    return set_subtensor(around[(Ellipsis, *place)], x)


# Convolutions


def _slid(x: Variable, sizes: Sequence[Length], steps: Sequence[int], dilations: Sequence[int]) -> Variable:
    """Windows along the last axes, as new last axes."""
    first = x.ndim - len(sizes)
    for i, options in enumerate(zip(sizes, steps, dilations, strict=True)):
        x = windows(x, first + i, *options)
    return x


def _convolution(
    count: int, x: Any, w: Any, shapes: Any, border_mode: Any, subsample: Any, filter_flip: bool, filter_dilation: Any,
    num_groups: int,
) -> Variable:  # fmt: skip
    name = f"conv{count}d"
    images, filters = (
        v if shape is None else specify_shape(v, tuple(shape)) for v, shape in zip(promoted(x, w), shapes, strict=True)
    )
    for v, what in ((images, "images (batch, channels, ...)"), (filters, "filters (outputs, channels, ...)")):
        if v.ndim != count + 2:
            raise ValueError(f"{name} takes {what} of {count + 2} axes, found {describe(v)}")
    steps, dilations = _each(subsample, count, "subsample"), _each(filter_dilation, count, "filter_dilation")
    have, need = images.type.shape[1], filters.type.shape[1]
    if have is not None and need is not None and have != need * num_groups:
        raise ValueError(
            f"{name} takes filters of as many channels as the images have, divided by num_groups={num_groups}, "
            f"found {describe(images)} and {describe(filters)}"
        )
    sizes = dims_of(filters)[2:]
    if filter_flip:
        filters = filters[(slice(None), slice(None), *[slice(None, None, -1)] * count)]
    images = _padded(images, _paddings(border_mode, images, sizes, steps, dilations))
    parts = _slid(images, sizes, steps, dilations)
    summed = (1, *range(count + 2, 2 * count + 2)), (1, *range(2, count + 2))
    if num_groups == 1:
        return transpose(tensordot(parts, filters, summed), (0, count + 1, *range(1, count + 1)))
    return _in_groups(parts, filters, num_groups, count, summed)


def _in_groups(parts: Variable, filters: Variable, groups: int, count: int, summed: Any) -> Variable:
    """Contract each group of filters with its own channels: the groups become one more axis in front."""
    n, _, *inner = dims_of(parts)
    outputs, each, *sizes = dims_of(filters)
    if isinstance(outputs, int) and outputs % groups:
        raise ValueError(f"num_groups={groups} does not divide the {outputs} filters")
    split = reshape(parts, (n, groups, each, *inner))
    split = transpose(split, (1, 0, *range(2, split.ndim)))
    kernels = reshape(filters, (groups, outputs // groups, each, *sizes))
    found = batched_tensordot(split, kernels, [[i + 1 for i in axes] for axes in summed])  # groups, batch, ..., outputs
    found = transpose(found, (1, 0, count + 2, *range(2, count + 2)))
    return reshape(found, (n, outputs, *dims_of(found)[3:]))


def conv2d(
    input: Any, filters: Any, input_shape: Any = None, filter_shape: Any = None, border_mode: Any = "valid",
    subsample: Any = (1, 1), filter_flip: bool = True, filter_dilation: Any = (1, 1), num_groups: int = 1,
    image_shape: Any = None,
) -> Variable:  # fmt: skip
    """Convolutions of images with filters, as Theano's conv2d.

    input: (batch, channels, rows, columns).  filters: (outputs, channels / num_groups, rows, columns).
    input_shape (or image_shape), filter_shape: promises of their lengths, None for one that is not known.
    border_mode: zeros around the images: "valid" (none), "full", "half", "same" (as many results as there are rows
    and columns, divided by subsample), an int, two of them, or two pairs.  subsample: steps between results.
    filter_flip: filters are turned around, as a convolution has it; False for the cross-correlation that JAX and
    PyTorch compute.  filter_dilation: steps between entries of a filter.  num_groups: channels and outputs are
    split into this many groups.  Raises ValueError for other shapes and modes.

    >>> conv2d(np.ones((2, 3, 8, 8)), np.ones((5, 3, 3, 3)), subsample=2).type.shape
    (2, 5, 3, 3)
    """
    shapes = input_shape or image_shape, filter_shape
    return _convolution(2, input, filters, shapes, border_mode, subsample, filter_flip, filter_dilation, num_groups)


def conv1d(
    input: Any, filters: Any, input_shape: Any = None, filter_shape: Any = None, border_mode: Any = "valid",
    subsample: Any = 1, filter_flip: bool = True, filter_dilation: Any = 1, num_groups: int = 1,
) -> Variable:  # fmt: skip
    """`conv2d` with one axis in place of rows and columns: input (batch, channels, n), filters (outputs, channels, k).

    >>> conv1d(np.ones((2, 3, 8)), np.ones((5, 3, 3)), border_mode="half").type.shape
    (2, 5, 8)
    """
    shapes = input_shape, filter_shape
    return _convolution(1, input, filters, shapes, border_mode, subsample, filter_flip, filter_dilation, num_groups)


def conv3d(
    input: Any, filters: Any, input_shape: Any = None, filter_shape: Any = None, border_mode: Any = "valid",
    subsample: Any = (1, 1, 1), filter_flip: bool = True, filter_dilation: Any = (1, 1, 1), num_groups: int = 1,
) -> Variable:  # fmt: skip
    """`conv2d` with three axes in place of rows and columns."""
    shapes = input_shape, filter_shape
    return _convolution(3, input, filters, shapes, border_mode, subsample, filter_flip, filter_dilation, num_groups)


# Pooling


def _pooled(name: str, x: Any, size: Any, stride: Any, padding: Any, value: Any) -> tuple[Variable, Any, Any, Any]:
    v = as_variable(x)
    count = len(size) if isinstance(size, Sequence) else 1
    sizes = _each(size, count, "size")
    if not 0 < count <= v.ndim:
        raise ValueError(f"{name} of {count} axes, found {describe(v)}")
    steps = sizes if stride is None else _each(stride, count, "stride")
    pairs = _paddings(padding, v, sizes, steps, (1,) * count)
    return _slid(_padded(v, pairs, value), sizes, steps, (1,) * count), pairs, sizes, steps


def max_pool(x: Any, size: Any, stride: Any = None, padding: Any = "valid") -> Variable:
    """The greatest entries of windows along the last axes of x.

    size: how long windows are, an int for the last axis or one for each of the last axes.  stride: steps between
    windows (default: their size).  padding: as border_mode of `conv2d`, with values that are never the greatest.

    >>> max_pool(np.ones((2, 3, 8, 8)), (2, 2)).type.shape
    (2, 3, 4, 4)
    """
    kind = np.dtype(as_variable(x).dtype)
    least: Any = -np.inf if kind.kind == "f" else False if kind.kind == "b" else np.iinfo(kind).min
    parts, _, sizes, _ = _pooled("max_pool", x, size, stride, padding, least)
    return reduce("max", parts, tuple(range(-len(sizes), 0)), False)


def avg_pool(x: Any, size: Any, stride: Any = None, padding: Any = "valid", count_padding: bool = False) -> Variable:
    """The averages of windows along the last axes of x; arguments as `max_pool`.

    count_padding: zeros of the padding count as entries.

    >>> avg_pool(np.ones((2, 8)), 4, stride=2).type.shape
    (2, 3)
    """
    parts, pairs, sizes, steps = _pooled("avg_pool", x, size, stride, padding, 0)
    axes = tuple(range(-len(sizes), 0))
    mean = reduce("mean", parts, axes, False)
    if count_padding or all(isinstance(n, int) and n == 0 for pair in pairs for n in pair):
        return mean
    v = as_variable(x)
    ones = full(dims_of(v)[v.ndim - len(sizes) :], 1, mean.dtype)
    there = reduce("mean", _slid(_padded(ones, pairs), sizes, steps, (1,) * len(sizes)), axes, False)
    return mean / there


@public(numpy=("sliding_window_view",))
def sliding_window_view(x: Any, window_shape: Any, axis: Any = None) -> Variable:
    """Windows along axes as new last axes, as np.lib.stride_tricks.sliding_window_view: a view that is not written to.

    window_shape: an int for each axis.  Raises ValueError where it is known to be longer than the axis; where that is
    found out when the function runs only, there are no windows.

    >>> sliding_window_view(np.ones((4, 5)), 3, axis=1).type.shape
    (4, 3, 3)
    """
    v = as_variable(x)
    sizes = tuple(window_shape) if isinstance(window_shape, Sequence) else (window_shape,)
    axes = range(v.ndim) if axis is None else tuple(axis) if isinstance(axis, Sequence) else (axis,)
    if len(sizes) != len(axes):
        raise ValueError(f"window_shape has {len(sizes)} lengths for {len(axes)} axes of {describe(v)}")
    places = [i % v.ndim if -v.ndim <= i < v.ndim else i for i in axes]
    for size, i in zip(_each(sizes, len(sizes), "window_shape"), places, strict=True):
        n = dim(v, i) if i < v.ndim else None
        if isinstance(n, int) and size > n:
            raise ValueError(f"windows of {size} along axis {i} of {describe(v)}, which has {n} entries")
        v = windows(v, i, size)
    return v
