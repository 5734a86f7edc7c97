"""cumaffine: the first-order linear recurrence along an axis; cumulative sums and products are special cases.

The gradients of cumulative products are such recurrences too; they divide by nothing, so zeros do no harm.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scanopt.array.batching import rows, spread
from scanopt.array.constants import promoted
from scanopt.array.op import Op, Operand, OpSpec, register
from scanopt.array.parameters import AXIS
from scanopt.array.registry import FUNCTIONS, public
from scanopt.array.shapes import axis_of, same, shape_text
from scanopt.array.types import COMPLEX, TensorType
from scanopt.array.variable import Variable, apply

__all__ = ["backwards", "cumaffine", "shifted"]

Args = Sequence[Variable]


def _infer(a: Operand, b: Operand, axis: int) -> TensorType:
    axis_of(axis, b)
    if a.dtype != b.dtype or np.dtype(b.dtype).kind not in "fc":
        raise TypeError(
            f"cumaffine takes floating point or complex numbers of one dtype, found {a.dtype} and {b.dtype}"
        )
    if a.ndim != b.ndim:
        raise ValueError(
            f"cumaffine takes two arrays of one shape, found {shape_text(a.shape)} and {shape_text(b.shape)}"
        )
    what = "cumaffine takes two arrays of one shape, found lengths"
    return TensorType(b.dtype, tuple(same(n, m, what) for n, m in zip(a.shape, b.shape, strict=True)))


def _bind(xp: Any, axis: int) -> Any:
    def cumaffine(a: Any, b: Any) -> Any:
        if a.shape != b.shape:
            raise ValueError(f"cumaffine takes two arrays of one shape, found {a.shape} and {b.shape}")
        sums = b.copy()
        s, factors = xp.moveaxis(sums, axis, 0), xp.moveaxis(a, axis, 0)
        for t in range(1, s.shape[0]):  # slices, since NumPy rounds products of complex scalars differently
            s[t : t + 1] += factors[t : t + 1] * s[t - 1 : t]
        return sums

    return cumaffine


def _batch(op: Op, batched: Sequence[bool], args: Args) -> Variable:
    n = rows(batched, args)
    a, b = (x if flag else spread(x, n) for x, flag in zip(args, batched, strict=True))
    return apply(Op.make("cumaffine", axis=op.options["axis"] + 1), a, b)


def _along(x: Variable, axis: int, part: slice) -> Variable:
    cut: Variable = x[(*(slice(None),) * axis, part)]
    return cut


def shifted(x: Variable, first: str, axis: int) -> Variable:
    """x moved one place further along an axis; the new first entry is 1 or 0: first is "ones_like" or "zeros_like"."""
    start = FUNCTIONS[first](_along(x, axis, slice(1)))
    moved: Variable = FUNCTIONS["concatenate"]([start, _along(x, axis, slice(-1))], axis)
    return moved


def backwards(a: Variable, g: Variable, axis: int) -> Variable:
    """The gradient with respect to b of cumaffine(a, b): l[t] = conj(a[t + 1]) l[t + 1] + g[t]."""
    if a.dtype.startswith("complex"):
        a = FUNCTIONS["conj"](a)
    factors = shifted(FUNCTIONS["flip"](a, axis), "zeros_like", axis)
    found: Variable = FUNCTIONS["flip"](cumaffine(factors, FUNCTIONS["flip"](g, axis), axis), axis)
    return found


def _gradient(op: Op, args: Args, out: Variable, g: Variable) -> list[Variable | None]:
    axis = op.options["axis"]
    by_b = backwards(args[0], g, axis)
    return [by_b * FUNCTIONS["conj"](shifted(out, "zeros_like", axis)), by_b]


register(
    OpSpec(
        "cumaffine",
        _bind,
        _infer,
        _batch,
        batch_exact=True,
        inexact=COMPLEX,
        by_layout=2,
        layout_kinds="c",
        cost="reduction",
        gradient=_gradient,
        doc="s[t] = a[t] s[t - 1] + b[t] along an axis, from s[0] = b[0]",
        params={"axis": AXIS},
    )
)


@public()
def cumaffine(a: Any, b: Any, axis: int = 0) -> Variable:
    """s[t] = a[t] * s[t - 1] + b[t] along an axis, from s[0] = b[0].

    a, b: floating point or complex, of one shape.  Raises TypeError for integers, ValueError for
    shapes that differ or an axis that they do not have.

    >>> from scanopt import interpret
    >>> interpret(cumaffine(np.array([0.0, 2.0, 3.0]), np.ones(3)))
    array([ 1.,  3., 10.])
    """
    x, y = promoted(a, b)
    return apply(Op.make("cumaffine", axis=axis_of(axis, y)), x, y)
