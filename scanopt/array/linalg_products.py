"""Products, powers and axes of symbolic matrices as in numpy.linalg, which uses the last axes where np's own differ."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from scanopt.array.batching import dims_of
from scanopt.array.constants import as_variable, promoted
from scanopt.array.functions.arguments import plus
from scanopt.array.linalg_systems import inv, solve
from scanopt.array.operators import products
from scanopt.array.operators import reductions as ops_reductions
from scanopt.array.operators import selecting as ops_selecting
from scanopt.array.operators.axes import moveaxis, shape_padleft, swapaxes
from scanopt.array.operators.broadcasting import broadcast_to
from scanopt.array.operators.creation import eye
from scanopt.array.operators.joining import concatenate, stack
from scanopt.array.operators.lengths import times
from scanopt.array.operators.shaping import reshape, transpose
from scanopt.array.operators.specify_shape import specify_shape
from scanopt.array.registry import FUNCTIONS, public
from scanopt.array.variable import Variable, describe

__all__ = [
    "block_diag", "cross", "diagonal", "matmul", "matrix_power", "matrix_transpose", "multi_dot", "outer", "tensordot",
    "tensorinv", "tensorsolve", "trace", "vecdot",
]  # fmt: skip


# Products


def matmul(x1: Any, x2: Any, /) -> Variable:
    """The product of stacks of matrices, as the operator @."""
    return products.matmul(x1, x2)


def tensordot(a: Any, b: Any, /, *, axes: Any = 2) -> Variable:
    """The sum of products over pairs of axes, as `scanopt.tensor.tensordot`."""
    return products.tensordot(a, b, axes)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Variable:
    """The sum of conj(x1) * x2 over an axis, counted from the last one; other axes broadcast.

    >>> import numpy as np
    >>> vecdot(np.ones((3, 5)), np.ones((3, 1)), axis=-2).type.shape
    (5,)
    """
    return products.vecdot(x1, x2, axis=axis)


def outer(x1: Any, x2: Any, /) -> Variable:
    """All products of elements of two vectors, as np.linalg.outer.  Raises ValueError for anything but vectors."""
    a, b = promoted(x1, x2)
    if a.ndim != 1 or b.ndim != 1:
        raise ValueError(f"linalg.outer takes vectors, found {describe(a)} and {describe(b)}: scanopt.tensor.outer "
                         "takes any arrays")  # fmt: skip
    return products.outer(a, b)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Variable:
    """The vector products of vectors of three numbers along an axis, as np.linalg.cross.

    Raises ValueError where an axis has another length.

    >>> import numpy as np
    >>> from scanopt import interpret
    >>> interpret(cross(np.array([1, 2, 3]), np.array([4, 5, 6])))
    array([-3,  6, -3])
    """
    a, b = (moveaxis(x, axis, 0) for x in promoted(x1, x2))
    for x in (a, b):
        if x.type.shape[0] not in (3, None):
            raise ValueError(f"cross takes vectors of 3 numbers along axis {axis}, found {describe(x)}")
    a, b = (specify_shape(x, (3, *[None] * (x.ndim - 1))) for x in (a, b))
    if a.dtype == "bool":
        raise TypeError("cross of booleans: cast them first")
    parts = [a[i] * b[j] - a[j] * b[i] for i, j in ((1, 2), (2, 0), (0, 1))]
    return moveaxis(stack(parts), 0, axis)


def multi_dot(arrays: Sequence[Any]) -> Variable:
    """The product of two or more matrices, as np.linalg.multi_dot; the first and the last may be vectors.

    Multiplied in the order of the fewest multiplications where all lengths are known, else from the left.
    Raises ValueError for fewer than two, or other numbers of axes.

    >>> import numpy as np
    >>> multi_dot([np.ones((2, 30)), np.ones((30, 4)), np.ones(4)]).type.shape
    (2,)
    """
    xs = [as_variable(x) for x in arrays]
    if len(xs) < 2:
        raise ValueError(f"multi_dot takes two or more arrays, found {len(xs)}")
    for i, x in enumerate(xs):
        if x.ndim != 2 and not (x.ndim == 1 and i in (0, len(xs) - 1)):
            raise ValueError(f"multi_dot takes matrices (vectors first and last), found {describe(x)} at place {i}")
    known = all(n is not None for x in xs for n in x.type.shape)
    return _product(xs, _order(xs), 0, len(xs) - 1) if known else reduce(products.dot, xs)


def _order(xs: Sequence[Variable]) -> dict[tuple[int, int], int]:
    """For each product of arrays i to j the array k after which to split it, for the fewest multiplications."""
    first = xs[0].type.shape[0] if xs[0].ndim == 2 else 1
    lengths = [int(first or 0), *(int((x.type.shape[-1] if x.ndim == 2 else 1) or 0) for x in xs[1:])]
    lengths.insert(1, int(xs[0].type.shape[-1] or 0))
    costs = {(i, i): 0 for i in range(len(xs))}
    cuts: dict[tuple[int, int], int] = {}
    for span in range(1, len(xs)):
        for i in range(len(xs) - span):
            j = i + span
            costs[i, j], cuts[i, j] = min(
                (costs[i, k] + costs[k + 1, j] + lengths[i] * lengths[k + 1] * lengths[j + 1], k) for k in range(i, j)
            )
    return cuts


def _product(xs: Sequence[Variable], cuts: dict[tuple[int, int], int], i: int, j: int) -> Variable:
    if i == j:
        return xs[i]
    k = cuts[i, j]
    return products.dot(_product(xs, cuts, i, k), _product(xs, cuts, k + 1, j))


def matrix_power(a: Any, n: Any) -> Variable:
    """The n-th power of square matrices, as np.linalg.matrix_power; of the inverse where n is negative.

    a: (..., k, k).  n: an int.  Raises TypeError for another n, ValueError for other shapes; LinAlgError at run time
    where n is negative and a is singular.

    >>> import numpy as np
    >>> from scanopt import interpret
    >>> interpret(matrix_power(np.array([[1, 1], [0, 1]]), 5))
    array([[1, 5],
           [0, 1]])
    """
    x = as_variable(a)
    if x.ndim < 2 or len({x.type.shape[-1], x.type.shape[-2]} - {None}) > 1:
        raise ValueError(f"matrix_power takes square matrices, found {describe(x)}")
    if isinstance(n, Variable):
        raise TypeError(
            f"matrix_power takes an int, found {describe(n)}: a power that is known when the function runs is a loop, "
            "scanopt.scan(lambda p, a: p @ a, outputs_info=eye, non_sequences=a, n_steps=n)"
        )
    try:
        power = operator.index(n)
    except TypeError:
        raise TypeError(f"matrix_power takes an int, found {n!r}") from None
    if power == 0:
        one = eye(x.shape[-1], dtype=x.dtype)
        return one if x.ndim == 2 else broadcast_to(one, dims_of(x))
    return _power(inv(x), -power) if power < 0 else _power(x, power)


def _power(x: Variable, n: int) -> Variable:
    """The n-th power by repeated squaring, in the order in which NumPy multiplies."""
    if n == 3:
        return products.matmul(products.matmul(x, x), x)
    square, result = x, None
    while n:
        n, bit = divmod(n, 2)
        if bit:
            result = square if result is None else products.matmul(result, square)
        square = products.matmul(square, square) if n else square
    assert result is not None
    return result


# Systems of tensors


def tensorsolve(a: Any, b: Any, axes: Sequence[int] | None = None) -> Variable:
    """x with tensordot(a, x, x.ndim) = b, as np.linalg.tensorsolve.

    a: as many elements in its last axes as in its first ones, which are those of b.  axes: axes of a to move to the
    end first.  LinAlgError at run time where a, as a matrix, is singular.

    >>> import numpy as np
    >>> tensorsolve(np.eye(6).reshape(2, 3, 6), np.ones((2, 3))).type.shape
    (6,)
    """
    x, right = as_variable(a), as_variable(b)
    if axes is not None:
        moved = [i % x.ndim for i in axes]
        x = transpose(x, (*(i for i in range(x.ndim) if i not in moved), *moved))
    if x.ndim <= right.ndim:
        raise ValueError(f"tensorsolve takes an array of more axes than its right side, found {describe(x)} and "
                         f"{describe(right)}")  # fmt: skip
    last = dims_of(x)[right.ndim :]
    size = reduce(times, last, 1)
    return reshape(solve(reshape(x, (size, size)), reshape(right, (-1,))), last)


def block_diag(*arrs: Any) -> Variable:
    """A matrix with these matrices on its diagonal and zeros elsewhere, as scipy.linalg.block_diag.

    A vector is a matrix of one row, a number one of one element.  Raises ValueError for more axes, or no array.

    >>> block_diag([[1, 2]], 3).eval()
    array([[1, 2, 0],
           [0, 0, 3]])
    """
    blocks = [as_variable(x) for x in arrs]
    for v in blocks:
        if v.ndim > 2:
            raise ValueError(f"block_diag takes matrices, found {describe(v)}")
    if not blocks:
        raise ValueError("block_diag takes at least one matrix")
    blocks = [shape_padleft(v, 2 - v.ndim) for v in blocks]
    dtype = np.result_type(*(v.dtype for v in blocks)).name
    widths = [dims_of(v)[1] for v in blocks]
    return concatenate([_in_row(v, widths[:i], widths[i + 1 :], dtype) for i, v in enumerate(blocks)], 0)


def _in_row(v: Variable, before: list[Any], after: list[Any], dtype: str) -> Variable:
    """The rows of a block-diagonal matrix that hold v: v between zeros as wide as the blocks before and after it."""
    n = dims_of(v)[0]
    left, right = ([FUNCTIONS["zeros"]((n, reduce(plus, x)), dtype)] if x else [] for x in (before, after))
    return concatenate([*left, v, *right], 1)


def tensorinv(a: Any, ind: int = 2) -> Variable:
    """The inverse for tensordot(., ., ind), as np.linalg.tensorinv.

    a: as many elements in its first `ind` axes as in the others.  Raises ValueError for another ind.

    >>> import numpy as np
    >>> tensorinv(np.eye(6).reshape(2, 3, 6)).type.shape
    (6, 2, 3)
    """
    x = as_variable(a)
    if not 0 < ind < x.ndim + 1:
        raise ValueError(f"tensorinv takes an ind from 1 to the number of axes, found {ind} for {describe(x)}")
    dims = dims_of(x)
    size = reduce(times, dims[ind:], 1)
    return reshape(inv(reshape(x, (size, size))), (*dims[ind:], *dims[:ind]))


# Axes


@public(numpy=("matrix_transpose",))
def matrix_transpose(x: Any, /) -> Variable:
    """The last two axes exchanged.  Raises ValueError for fewer axes.

    >>> import numpy as np
    >>> matrix_transpose(np.ones((5, 2, 3))).type.shape
    (5, 3, 2)
    """
    v = as_variable(x)
    if v.ndim < 2:
        raise ValueError(f"matrix_transpose takes a matrix or a stack of them, found {describe(v)}")
    return swapaxes(v, -1, -2)


def diagonal(x: Any, /, *, offset: int = 0) -> Variable:
    """The diagonal of the matrices in the last two axes, as np.linalg.diagonal.

    >>> import numpy as np
    >>> diagonal(np.ones((5, 2, 3))).type.shape
    (5, 2)
    """
    return ops_selecting.diagonal(x, offset, -2, -1)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Variable:
    """The sum of the diagonal of the matrices in the last two axes, as np.linalg.trace.

    >>> import numpy as np
    >>> trace(np.ones((5, 2, 3))).type.shape
    (5,)
    """
    return ops_reductions.reduce("sum", diagonal(x, offset=offset), -1, False, dtype)
