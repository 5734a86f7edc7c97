"""Contractions of two arrays as one product of matrices, with as little copied as possible.

NumPy's own function copies every argument whose axes are not in the order that it wants, and copies element by
element if it wants columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["contraction"]

SMALL = 10_000
"""Up to this many elements in all, copying costs less than finding out how to avoid it."""

Axes = tuple[tuple[int, ...], tuple[int, ...]]


def contraction(xp: Any, axes: Axes) -> Callable[[Any, Any], Any]:
    """The function np.tensordot over these pairs of axes.

    Of two factors that share memory BLAS would compute one half, and round otherwise: whether they do, laws decide.

    >>> import numpy as np
    >>> contraction(np, ((0,), (1,)))(np.arange(3.0), np.ones((2, 3)))
    array([3., 3.])
    """
    if xp.__name__ != "numpy":
        return lambda a, b: xp.tensordot(a, b, axes=axes)

    def tensordot(a: Any, b: Any) -> Any:
        if a.ndim > 1 and b.ndim > 1 and xp.may_share_memory(a, b):
            b = b.copy(order="K")
        if a.size + b.size <= SMALL:
            return xp.tensordot(a, b, axes)
        ia, ib = map(list, axes)
        kept_a = [i for i in range(a.ndim) if i not in ia]
        kept_b = [i for i in range(b.ndim) if i not in ib]
        if len(ia) > 1:  # in the order in which they lie in the memory of a
            order = sorted(range(len(ia)), key=lambda k: -abs(a.strides[ia[k]]))
            ia, ib = [ia[k] for k in order], [ib[k] for k in order]
        out = xp.dot(_matrix(xp, a, kept_a, ia), _matrix(xp, b, ib, kept_b))
        return out.reshape([a.shape[i] for i in kept_a] + [b.shape[i] for i in kept_b])

    return tensordot


def _matrix(xp: Any, x: Any, rows: Sequence[int], columns: Sequence[int]) -> Any:
    """x as a matrix, with some axes as its rows and the others as its columns: a view where possible."""
    if not (_lie_together(x, rows) and _lie_together(x, columns)):
        x = xp.array(x, order="K")  # backwards or with gaps: a copy that only moves whole rows
    shape = tuple(math.prod([x.shape[i] for i in axes]) for axes in (rows, columns))
    if len(columns) and (not len(rows) or abs(x.strides[columns[0]]) > abs(x.strides[rows[0]])):
        return x.transpose(*columns, *rows).reshape(shape[::-1]).T
    return x.transpose(*rows, *columns).reshape(shape)


def _lie_together(x: Any, axes: Sequence[int]) -> bool:
    """Whether these axes, in this order, can be joined to a single axis with a positive stride, without a copy."""
    step = 0
    for i in reversed(axes):
        n, s = x.shape[i], x.strides[i]
        if n != 1:
            if s <= 0 or step not in (0, s):
                return False
            step = n * s
    return True
