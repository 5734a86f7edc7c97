"""Gradients of reductions, cumulative sums and products, sorting, softmax."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scanopt.array.batching import broadcast_to, expand
from scanopt.array.constants import as_variable
from scanopt.array.derivatives import fitting
from scanopt.array.lengths import length, lengths
from scanopt.array.op import Op
from scanopt.array.operators.cumaffine import backwards, shifted
from scanopt.array.registry import FUNCTIONS
from scanopt.array.variable import Variable, apply

__all__ = [
    "of_cumprod", "of_cumsum", "of_extremum", "of_mean", "of_prod", "of_running_extremum", "of_softmax", "of_sort",
    "of_std", "of_sum", "of_var",
]  # fmt: skip

Args = Sequence[Variable]
Parts = list[Variable | None]


def _kept(op: Op, x: Variable) -> Variable:
    """A result or its gradient with the reduced axes kept as axes of length 1."""
    return x if op.options["keepdims"] else expand(x, op.options["axis"])


def _count(op: Op, x: Variable, less: float = 0) -> Any:
    """The number of elements of x reduced to one of the result, minus `less`, as a real scalar of x's precision."""
    count: Any = 1
    for i in op.options["axis"]:
        count = count * length(x, i)
    dtype = x.dtype.replace("complex128", "float64").replace("complex64", "float32")
    n = FUNCTIONS["cast"](as_variable(count), dtype)
    return FUNCTIONS["maximum"](n - less, 0) if less else n


def _conj(x: Variable) -> Variable:
    return FUNCTIONS["conj"](x) if x.dtype.startswith("complex") else x


def of_sum(op: Op, args: Args, out: Variable, g: Variable) -> Parts:
    """g for each element of the sum."""
    (x,) = args
    return [broadcast_to(fitting(_kept(op, g), x), lengths(x))]


def of_mean(op: Op, args: Args, out: Variable, g: Variable) -> Parts:
    """g divided by the number of elements, for each element."""
    return of_sum(op, args, out, g / _count(op, args[0]))


def of_prod(op: Op, args: Args, out: Variable, g: Variable) -> Parts:
    """g times the product of all other elements, axis by axis without a division, so right where there are zeros."""
    x, axes = args[0], op.options["axis"]
    levels = [FUNCTIONS["cast"](x, out.dtype)]
    for i in axes[:-1]:
        levels.append(apply(Op.make("prod", axis=(i,), keepdims=True), levels[-1]))
    part = _kept(op, g)
    for factors, i in zip(levels[::-1], axes[::-1], strict=False):
        part = part * _conj(_others(factors, i))
    return [fitting(part, x)]


def _others(x: Variable, axis: int) -> Variable:
    """For each entry the product of all others along an axis."""
    flip = FUNCTIONS["flip"]
    before = shifted(FUNCTIONS["cumprod"](x, axis), "ones_like", axis)
    after = flip(shifted(FUNCTIONS["cumprod"](flip(x, axis), axis), "ones_like", axis), axis)
    others: Variable = before * after
    return others


def of_var(op: Op, args: Args, out: Variable, g: Variable) -> Parts:
    """2 (x - mean) / divisor: the contributions by way of the mean sum to zero."""
    (x,) = args
    return [_centred(op, x) * (2 * _kept(op, g) / _count(op, x, op.options.get("ddof", 0)))]


def of_std(op: Op, args: Args, out: Variable, g: Variable) -> Parts:
    """(x - mean) / (divisor * deviation); 0 where the deviation is 0."""
    (x,) = args
    size = FUNCTIONS["where"](FUNCTIONS["eq"](out, 0), 1, out)
    return [_centred(op, x) * _kept(op, g / (size * _count(op, x, op.options.get("ddof", 0))))]


def _centred(op: Op, x: Variable) -> Variable:
    return x - apply(Op.make("mean", axis=op.options["axis"], keepdims=True), x)


def of_extremum(op: Op, args: Args, out: Variable, g: Variable) -> Parts:
    """g goes to the element that is the extremum; several equal ones get equal shares."""
    (x,) = args
    chosen = FUNCTIONS["eq"](x, _kept(op, out))
    number = FUNCTIONS["cast"](FUNCTIONS["sum"](chosen, op.options["axis"], keepdims=True), g.dtype)
    return [FUNCTIONS["where"](chosen, _kept(op, g) / number, 0)]


def of_cumsum(op: Op, args: Args, out: Variable, g: Variable) -> Parts:
    """Each element occurs in all sums from its place on, so it gets the sum of their gradients."""
    axis, flip = op.options["axis"], FUNCTIONS["flip"]
    return [fitting(flip(apply(Op.make("cumsum", axis=axis), flip(g, axis)), axis), args[0])]


def of_cumprod(op: Op, args: Args, out: Variable, g: Variable) -> Parts:
    """y[t] = x[t] y[t - 1], backwards: without a division, so right where there are zeros."""
    axis = op.options["axis"]
    x = FUNCTIONS["cast"](args[0], out.dtype)
    part = backwards(x, g, axis) * _conj(shifted(out, "ones_like", axis))
    return [fitting(part, args[0])]


def of_running_extremum(op: Op, args: Args, out: Variable, g: Variable) -> Parts:
    """g goes to the last element so far that is the running extremum."""
    (x,), axis = args, op.options["axis"]
    steps = expand(FUNCTIONS["arange"](length(x, axis)), [i for i in range(x.ndim) if i != axis])
    found = apply(Op.make("cummax", axis=axis), FUNCTIONS["where"](FUNCTIONS["eq"](x, out), steps, 0))
    return [FUNCTIONS["inc_subtensor"](FUNCTIONS["take_along_axis"](FUNCTIONS["zeros_like"](x), found, axis), g)]


def of_sort(op: Op, args: Args, out: Variable, g: Variable) -> Parts:
    """g goes back to the places that the elements came from."""
    axis, back = op.options["axis"], Op.make("argsort", **op.options)
    places = apply(Op.make("argsort", axis=axis), apply(back, args[0]))
    return [FUNCTIONS["take_along_axis"](g, places, axis)]


def of_softmax(op: Op, args: Args, out: Variable, g: Variable) -> Parts:
    """out (g - sum(g out)) along the axis."""
    weighed = g * out
    return [weighed - out * apply(Op.make("sum", axis=(op.options["axis"],), keepdims=True), weighed)]
