"""pad: an array with more entries on both sides of its axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from scanopt.array.batching import broadcast_to, dim, dims_of, expand
from scanopt.array.constants import as_variable, is_weak, weak_constant
from scanopt.array.functions.arguments import is_zero, length_of, limited, minus, plus
from scanopt.array.functions.grids import linspace
from scanopt.array.operators.creation import arange
from scanopt.array.operators.elementwise import cast, elementwise, where
from scanopt.array.operators.joining import concatenate
from scanopt.array.operators.lengths import times
from scanopt.array.operators.selecting import flip
from scanopt.array.operators.subtensor import along
from scanopt.array.registry import FUNCTIONS, public
from scanopt.array.shapes import axis_of
from scanopt.array.variable import Constant, Variable, describe

__all__ = ["pad"]

Pair = tuple[Any, Any]


_STATISTICS = {"maximum": "max", "minimum": "min", "mean": "mean", "median": "median"}
"""Modes, and the functions that make the entries to put beside an array."""
_OPTIONS = {
    "constant": "constant_values", "linear_ramp": "end_values", "reflect": "reflect_type",
    "symmetric": "reflect_type", **dict.fromkeys(_STATISTICS, "stat_length"), "edge": None, "wrap": None, "empty": None,
}  # fmt: skip


def _pairs(given: Any, ndim: int, what: str) -> list[Pair]:
    """Read an argument as a pair (before, after) per axis: it is one value, a pair, or one or a pair for each axis."""
    if isinstance(given, Constant):
        given = given.data
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if not isinstance(given, list | tuple):
        return [(given, given)] * ndim
    rows = [list(x) if isinstance(x, list | tuple | np.ndarray) else x for x in given]
    if not any(isinstance(x, list) for x in rows):
        sides = rows * 2 if len(rows) == 1 else rows
        if len(sides) != 2:
            raise ValueError(f"{what} is one, a pair, or a pair for each of {ndim} axes, found {given!r}")
        return [(sides[0], sides[1])] * ndim
    pairs = [x * 2 if isinstance(x, list) and len(x) == 1 else x for x in rows]
    pairs = pairs * ndim if len(pairs) == 1 else pairs
    if len(pairs) != ndim or any(not isinstance(x, list) or len(x) != 2 for x in pairs):
        raise ValueError(f"{what} is one, a pair, or a pair for each of {ndim} axes, found {given!r}")
    return [(x[0], x[1]) for x in pairs]


def _widths(pad_width: Any, v: Variable) -> list[Pair]:
    if isinstance(pad_width, dict):
        sides: list[Pair] = [(0, 0)] * v.ndim
        for axis, width in pad_width.items():
            sides[axis_of(axis, v)] = tuple(width) if isinstance(width, tuple | list) else (width, width)
    else:
        sides = _pairs(pad_width, v.ndim, "pad_width")
    found = [(length_of(low, "pad_width"), length_of(high, "pad_width")) for low, high in sides]
    if any(isinstance(n, int) and n < 0 for pair in found for n in pair):
        raise ValueError(f"pad_width must not be negative, found {pad_width!r}")
    return found


@public("pad", numpy=("pad",))
def pad(array: Any, pad_width: Any, mode: str = "constant", **kwargs: Any) -> Variable:
    """An array with more entries on both sides of its axes.

    pad_width: how many on each side: one for all, a pair, a pair for each axis, or a dict of pairs by axis; ints or
    integer scalars.  mode: "constant" (`constant_values`), "edge", "linear_ramp" (`end_values`), "maximum", "minimum",
    "mean", "median" (`stat_length`), "reflect", "symmetric" (`reflect_type` "even" or "odd"), "wrap", or "empty"
    (zeros).
    Raises ValueError for other modes, arguments or shapes; in modes that repeat entries an axis needs some.

    >>> pad([1, 2], 1).eval()
    array([0, 1, 2, 0])
    """
    v = as_variable(array)
    if callable(mode) or mode not in _OPTIONS:
        raise ValueError(f"the mode of pad is one of {', '.join(_OPTIONS)}, found {mode!r}")
    name = _OPTIONS[mode]
    if extra := sorted(set(kwargs) - {name}):
        raise ValueError(f"pad with mode {mode!r} takes no {', '.join(extra)}")
    given = kwargs.get(name) if name else None
    if mode in ("reflect", "symmetric"):
        if given not in (None, "even", "odd"):
            raise ValueError(f"reflect_type is 'even' or 'odd', found {given!r}")
        if given == "odd" and v.dtype == "bool":
            raise TypeError(
                f"reflect_type 'odd' takes differences, which bools do not have, found {describe(v)}: cast it"
            )
        options: list[Any] = [given == "odd"] * v.ndim
    else:
        default = None if mode in _STATISTICS else 0
        options = _pairs(default if given is None else given, v.ndim, name or mode)
    for axis, (width, option) in enumerate(zip(_widths(pad_width, v), options, strict=True)):
        if not all(map(is_zero, width)):
            v = _AXIS[mode](v, axis, width, option)
    return v


def _beside(v: Variable, axis: int, width: Pair, sides: tuple[Variable, Variable]) -> Variable:
    """v between `sides` along an axis, which are broadcast to `width` entries before and after it."""
    parts = []
    for side, n in zip(sides, width, strict=True):
        lengths = [n if i == axis else m for i, m in enumerate(dims_of(v))]
        parts.append(broadcast_to(side, lengths))
    kept = [part for part, n in zip((parts[0], v, parts[1]), (width[0], 1, width[1]), strict=True) if not is_zero(n)]
    return concatenate(kept, axis)


def _constant(v: Variable, axis: int, width: Pair, values: Pair) -> Variable:
    sides = [weak_constant(x, v.dtype, (v,)) if is_weak(x) and _fits(x, v.dtype) else cast(as_variable(x), v.dtype)
             for x in values]  # fmt: skip
    return _beside(v, axis, width, (sides[0], sides[1]))


def _fits(x: Any, dtype: str) -> bool:
    return np.dtype(dtype).kind in "fc" or isinstance(x, int)


def _edge(v: Variable, axis: int, width: Pair, _: Any) -> Variable:
    return _beside(v, axis, width, (along(v, axis, slice(None, 1)), along(v, axis, slice(-1, None))))


def _ramp(v: Variable, axis: int, width: Pair, ends: Pair) -> Variable:
    ramps = [
        linspace(end, along(v, axis, place), n, endpoint=False, dtype=v.dtype, axis=axis)
        for end, place, n in zip(ends, (0, -1), width, strict=True)
    ]
    return _beside(v, axis, width, (ramps[0], flip(ramps[1], axis)))


def _statistic(name: str) -> Callable[..., Variable]:
    def padded(v: Variable, axis: int, width: Pair, counts: Pair) -> Variable:
        if is_zero(dim(v, axis)):
            raise ValueError(f"pad with mode {name!r} needs entries along axis {axis}, found {describe(v)}")
        sides = []
        for count, first in zip(counts, (True, False), strict=True):
            part = v if count is None else along(v, axis, _first(count) if first else _last(v, axis, count))
            side: Variable = FUNCTIONS[_STATISTICS[name]](part, axis=axis, keepdims=True)
            whole = np.dtype(v.dtype).kind in "iu" and np.dtype(side.dtype).kind == "f"
            sides.append(cast(elementwise("rint", side) if whole else side, v.dtype))
        return _beside(v, axis, width, (sides[0], sides[1]))

    return padded


def _first(count: Any) -> slice:
    return slice(None, length_of(count, "stat_length"))


def _last(v: Variable, axis: int, count: Any) -> slice:
    return slice(limited(minus(dim(v, axis), length_of(count, "stat_length")), 0), None)


def _places(v: Variable, axis: int, width: Pair) -> tuple[Variable, Any]:
    """The place of each entry of the result, counted from the start of v (negative before it); and the length of v."""
    n = dim(v, axis)
    return elementwise("subtract", arange(plus(plus(width[0], n), width[1])), width[0]), n


def _wrap(v: Variable, axis: int, width: Pair, _: Any) -> Variable:
    places, n = _places(v, axis, width)
    return along(v, axis, elementwise("remainder", places, n))


def _mirrored(edge_twice: bool) -> Callable[..., Variable]:
    """A function that pads by reading v back and forth; if `odd`, it mirrors values at the end values at each turn."""

    def padded(v: Variable, axis: int, width: Pair, odd: bool) -> Variable:
        if v.type.shape[axis] == 1:
            return _edge(v, axis, width, None)
        places, n = _places(v, axis, width)
        period = n if edge_twice else limited(minus(n, 1), 1)
        turns, rest = elementwise("floor_divide", places, period), elementwise("remainder", places, period)
        back = elementwise("not_equal", elementwise("remainder", turns, 2), 0)
        top = minus(period, 1) if edge_twice else period
        read = where(back, elementwise("subtract", top, rest), rest)
        last = minus(n, 1)  # one entry has only one place
        found = along(v, axis, read if isinstance(n, int) else elementwise("minimum", read, last))
        return _other_side(v, axis, found, turns, back) if odd else found

    return padded


def _other_side(v: Variable, axis: int, found: Variable, turns: Variable, back: Variable) -> Variable:
    """The entries `found`, mirrored at the values of the ends: after the first turn 2 end - entry, and so on."""
    turns, back = (expand(x, [i for i in range(v.ndim) if i != axis]) for x in (turns, back))
    low, high = along(v, axis, slice(None, 1)), along(v, axis, slice(-1, None))
    many = elementwise("absolute", turns)
    more, less = elementwise("floor_divide", elementwise("add", many, 1), 2), elementwise("floor_divide", many, 2)
    after = elementwise("greater", turns, 0)
    near, far = where(after, high, low), where(after, low, high)
    shift = elementwise("multiply", near, cast(times(2, more), v.dtype))
    moved = elementwise("subtract", shift, elementwise("multiply", far, cast(times(2, less), v.dtype)))
    shift = where(elementwise("greater", less, 0), moved, shift)
    mirrored = where(back, elementwise("subtract", shift, found), elementwise("add", shift, found))
    return where(elementwise("equal", turns, 0), found, mirrored)


_AXIS: dict[str, Callable[..., Variable]] = {
    "constant": _constant, "empty": _constant, "edge": _edge, "linear_ramp": _ramp, "wrap": _wrap,
    "reflect": _mirrored(False), "symmetric": _mirrored(True),
    **{mode: _statistic(mode) for mode in _STATISTICS},
}  # fmt: skip
