"""Sums, products, means and extremes of symbolic arrays: along one axis they combine its entries in order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from scanopt.array.op import Op
from scanopt.lab.proving.arrays import SymbolicArray, arranged, filled
from scanopt.lab.proving.choices import NoProgramError
from scanopt.lab.proving.model import Model
from scanopt.lab.proving.operators import Run, applied, meaning, pointwise, result_type, total, unknown_whole

__all__: list[str] = []

_COMBINED = {"max": "maximum", "min": "minimum", "prod": "multiply"}


def _with_axes_kept(reduced: Run) -> Run:
    """The meaning of a reduction that keeps its axes, with length 1, if asked to; `reduced` drops them."""

    def kept(m: Model, op: Op, xs: Sequence[SymbolicArray]) -> SymbolicArray:
        if not op.options["keepdims"]:
            return reduced(m, op, xs)
        found = reduced(m, Op.make(op.name, **{**op.options, "keepdims": False}), xs)
        return applied(m, Op.make("expand_dims", axis=op.options["axis"]), [found])

    return kept


@meaning("sum")
@_with_axes_kept
def _sum(m: Model, op: Op, xs: Sequence[SymbolicArray]) -> SymbolicArray:
    (x,), (dtype, shape) = xs, result_type(m, op, xs)
    if _of_one(op, x):
        return _the_one(m, op, xs)
    if shape is None or m.rounds(dtype) or not op.options["axis"]:
        return unknown_whole(m, op, dtype, shape or (), xs)
    *first, last = sorted(op.options["axis"])
    if first:  # along several axes: along the last one, then along the others
        rows = _sum(m, Op.make("sum", **{**op.options, "axis": (last,)}), xs)
        return _sum(m, Op.make("sum", **{**op.options, "axis": tuple(first)}), [rows])
    return total(m, _entries(op, x), dtype, shape)


@meaning("mean")
@_with_axes_kept
def _mean(m: Model, op: Op, xs: Sequence[SymbolicArray]) -> SymbolicArray:
    """The mean of real numbers: their sum divided by their number.  Of none it is no real number."""
    (x,), (dtype, shape) = xs, result_type(m, op, xs)
    if _of_one(op, x):
        return _the_one(m, op, xs)
    if not _along_one(op) or shape is None or dtype != "real":
        return unknown_whole(m, op, dtype, shape or (), xs)
    rows = _entries(op, x)
    if not rows:
        raise NoProgramError("the mean of nothing is no real number")
    return pointwise(m, "divide", total(m, rows, dtype, shape), filled(dtype, (), [float(len(rows))]))


@meaning("max", "min", "prod")
@_with_axes_kept
def _reduction(m: Model, op: Op, xs: Sequence[SymbolicArray]) -> SymbolicArray:
    (x,), (dtype, shape) = xs, result_type(m, op, xs)
    if _of_one(op, x):
        return _the_one(m, op, xs)
    if op.name == "prod" and _along_one(op) and shape is not None and not x.data.size:
        return filled(dtype, shape, [1] * int(np.prod(shape, dtype=int)))
    if not _along_one(op) or not x.data.size or (op.name == "prod" and m.rounds(dtype)):
        return unknown_whole(m, op, dtype, shape or (), xs)
    rows = (row.cast(dtype) for row in _entries(op, x))
    return reduce(lambda found, row: pointwise(m, _COMBINED[op.name], found, row), rows)


@meaning("any", "all")
@_with_axes_kept
def _of_truth_values(m: Model, op: Op, xs: Sequence[SymbolicArray]) -> SymbolicArray:
    """Combine truth values: of no values, `any` is False and `all` is True."""
    (x,), (dtype, shape) = xs, result_type(m, op, xs)
    if not _along_one(op) or shape is None or x.dtype != "bool":
        return unknown_whole(m, op, dtype, shape or (), xs)
    start = filled(dtype, shape, [op.name == "all"] * int(np.prod(shape, dtype=int)))
    together = "logical_and" if op.name == "all" else "logical_or"
    return reduce(lambda found, row: pointwise(m, together, found, row), _entries(op, x), start)


@meaning("var")
@_with_axes_kept
def _variance(m: Model, op: Op, xs: Sequence[SymbolicArray]) -> SymbolicArray:
    """The variance of real numbers: the mean of the squares of what they differ from their mean."""
    (x,), (dtype, shape) = xs, result_type(m, op, xs)
    if not _along_one(op) or shape is None or dtype != "real" or op.options["ddof"]:
        return unknown_whole(m, op, dtype, shape or (), xs)
    mean = Op.make("mean", axis=op.options["axis"], keepdims=False)
    middle = applied(m, Op.make("expand_dims", axis=op.options["axis"]), [_mean(m, mean, xs)])
    return _mean(m, mean, [applied(m, Op.make("square"), [pointwise(m, "subtract", x, middle)])])


@meaning("std")
def _deviation(m: Model, op: Op, xs: Sequence[SymbolicArray]) -> SymbolicArray:
    """The square root of the variance."""
    return applied(m, Op.make("sqrt"), [applied(m, Op.make("var", **op.options), xs)])


def _along_one(op: Op) -> bool:
    """Whether an operator reduces exactly one axis."""
    return len(op.options["axis"] or ()) == 1


def _of_one(op: Op, x: SymbolicArray) -> bool:
    """Whether an operator reduces exactly one axis, of length 1."""
    return _along_one(op) and x.shape[op.options["axis"][0]] == 1


def _the_one(m: Model, op: Op, xs: Sequence[SymbolicArray]) -> SymbolicArray:
    (x,) = xs
    dtype, _ = result_type(m, op, xs)
    return arranged(lambda e: np.squeeze(e, op.options["axis"]), x.dtype, [x], []).cast(dtype)


def _entries(op: Op, x: SymbolicArray) -> list[SymbolicArray]:
    """The arrays that a reduction along one axis combines, in order."""
    rows = arranged(lambda e: np.moveaxis(e, op.options["axis"][0], 0), x.dtype, [x], [])
    return [rows.row(t) for t in range(rows.shape[0])]
