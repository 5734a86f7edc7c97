"""Gradients of linear algebra: the gradient of solving with a matrix solves with its transpose.

Source: M. Giles, "An extended collection of matrix derivative results for forward and reverse mode
algorithmic differentiation", 2008; for complex numbers every transpose is a conjugate one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scanopt.array.batching import expand, transpose
from scanopt.array.derivatives import fitting, smooth
from scanopt.array.gradients.products import conj
from scanopt.array.op import Op
from scanopt.array.operators.sum_to import sum_to
from scanopt.array.registry import FUNCTIONS
from scanopt.array.variable import Variable, apply

__all__ = [
    "adjoint", "exchanged", "half_below", "of_cho_solve", "of_cholesky", "of_det", "of_det_sign", "of_inv",
    "of_logabsdet", "of_lu_factor", "of_lu_solve", "of_solve", "of_solve_triangular", "part_of", "swapped", "times",
    "triangles", "triangular",
]  # fmt: skip

Args = Sequence[Variable]
Parts = list[Variable | None]


# Helpers for formulas


def swapped(x: Variable) -> Variable:
    """The transpose of matrices."""
    return transpose(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def adjoint(x: Variable) -> Variable:
    """The conjugate transpose of matrices."""
    return swapped(conj(x))


def times(a: Variable, b: Variable) -> Variable:
    """The product of matrices."""
    product: Variable = FUNCTIONS["matmul"](a, b)
    return product


def _below(x: Variable, k: int = 0) -> Variable:
    part: Variable = FUNCTIONS["tril"](x, k)
    return part


def _above(x: Variable) -> Variable:
    part: Variable = FUNCTIONS["triu"](x)
    return part


def half_below(x: Variable) -> Variable:
    """The lower triangle, with the diagonal halved."""
    return (_below(x) + _below(x, -1)) / 2


def triangular(a: Variable, b: Variable, lower: bool, adjoint: bool = False, unit: bool = False) -> Variable:
    """Solve with one triangle of a, or with the adjoint of that triangle."""
    trans = 0 if not adjoint else 2 if np.dtype(a.dtype).kind == "c" else 1
    return apply(Op.make("solve_triangular", lower=lower, trans=trans, unit_diagonal=unit), a, b)


def _products(w: Variable, x: Variable) -> Variable:
    """w x^H, of two vectors or of two matrices of columns."""
    product: Variable = FUNCTIONS["outer"](w, conj(x)) if w.ndim == 1 else times(w, adjoint(x))
    return product


def _alone(a: Variable, b: Variable) -> bool:
    """Whether the right side is one vector for a stack of matrices."""
    return b.ndim == 1 and a.ndim > 2


def _columns(x: Variable, vector: bool) -> Variable:
    """A right side or a solution as columns of a matrix; `vector`: as a single column."""
    return expand(x, (x.ndim,)) if vector else x


def part_of(x: Variable, like: Variable, vector: bool = False) -> Variable:
    """The gradient x as one with respect to `like`, summed over the stack; vector: `like` is a vector, x a column."""
    x = apply(Op.make("squeeze", axis=(x.ndim - 1,)), x) if vector else x
    return sum_to(fitting(x, like), like, range(like.ndim - (1 if vector else 2)))


def _parts(args: Args, by_a: Variable, by_b: Variable, vector: bool) -> Parts:
    a, b = args
    return [part_of(by_a, a) if smooth(a) else None, part_of(by_b, b, vector) if smooth(b) else None]


# Systems


def of_solve(op: Op, args: Args, out: Variable, g: Variable) -> Parts:
    """a^H w = g: w by the right side, - w x^H by the matrix."""
    a, b = args
    vector = _alone(a, b)
    g, x = _columns(g, vector), _columns(out, vector)
    w = apply(op, adjoint(a), g)
    return _parts(args, -_products(w, x), w, vector)


def of_solve_triangular(op: Op, args: Args, out: Variable, g: Variable) -> Parts:
    """As `of_solve`, with 0 for the entries of the matrix that are not read."""
    a, b = args
    lower, trans, unit = (op.options[k] for k in ("lower", "trans", "unit_diagonal"))
    vector = _alone(a, b)
    g, x = _columns(g, vector), _columns(out, vector)
    w = triangular(conj(a) if trans == 1 else a, g, lower, trans == 0, unit)
    by_a = -_products(w, x)  # with respect to a, a^T or a^H
    by_a = by_a if trans == 0 else swapped(by_a) if trans == 1 else adjoint(by_a)
    return _parts(args, _read(by_a, lower, unit), w, vector)


def _read(x: Variable, lower: bool, unit: bool = False) -> Variable:
    """The gradient of the part of a matrix that is read: one triangle, without the diagonal if `unit`."""
    if lower:
        return _below(x, -1 if unit else 0)
    part: Variable = FUNCTIONS["triu"](x, 1 if unit else 0)
    return part


def of_cho_solve(op: Op, args: Args, out: Variable, g: Variable) -> Parts:
    """With respect to a = c c^H it is - w x^H; c occurs twice in a, so its gradient is the sum of two products."""
    c, b = args
    lower, vector = op.options["lower"], _alone(c, b)
    g, x = _columns(g, vector), _columns(out, vector)
    w = apply(op, c, g)
    by_a = -_products(w, x)
    both, c = by_a + adjoint(by_a), _read(c, lower)
    return _parts(args, _read(times(both, c) if lower else times(c, both), lower), w, vector)


# Factors


def of_cholesky(op: Op, args: Args, out: Variable, g: Variable) -> Parts:
    """L^-H half(L^H g) L^-1, as a gradient of the lower triangle, which stands for both."""
    half = triangular(out, half_below(times(adjoint(out), g)), True, adjoint=True)
    both = adjoint(triangular(out, adjoint(half), True, adjoint=True))
    return [fitting(half_below(both + adjoint(both)), args[0])]


def _matrix(packed: Variable) -> Variable:
    """L and U in one matrix, from the packed result of lu_factor."""
    rows: Variable = packed[(..., slice(-1), slice(None))]
    return swapped(rows)


def _packed(x: Variable, like: Variable) -> Variable:
    """A gradient of L and U in one matrix as a gradient of the packed result of lu_factor: the pivots' is 0."""
    rows, last = like[(..., slice(-1), slice(None))], like[(..., slice(-1, None), slice(None))]
    joined: Variable = FUNCTIONS["concatenate"](
        [part_of(swapped(x), rows), FUNCTIONS["zeros_like"](last)], like.ndim - 2
    )
    return joined


def of_lu_factor(op: Op, args: Args, out: Variable, g: Variable) -> Parts:
    """P L^-H (lower(L^H g) + upper(g U^H)) U^-H."""
    lu, g = _matrix(out), _matrix(g)
    lower, upper = triangles(out)
    middle = _below(times(adjoint(lower), _below(g, -1)), -1) + _above(times(_above(g), adjoint(upper)))
    left = triangular(lu, middle, True, adjoint=True, unit=True)
    both = adjoint(triangular(lu, adjoint(left), False))
    return [fitting(exchanged(out, both), args[0])]


def triangles(packed: Variable) -> tuple[Variable, Variable]:
    """L, with ones on its diagonal, and U, from the packed result of lu_factor."""
    lu = _matrix(packed)
    return _unit(lu), _above(lu)


def exchanged(packed: Variable, x: Variable) -> Variable:
    """P x for the P of lu_factor's result: solve with the transpose of a matrix whose L and U are the identity."""
    pivots, rows = packed[(..., slice(-1, None), slice(None))], packed[(..., slice(-1), slice(None))]
    alone = FUNCTIONS["concatenate"]([_unit(FUNCTIONS["zeros_like"](rows)), pivots], packed.ndim - 2)
    return apply(Op.make("lu_solve", trans=1), alone, x)


def _unit(x: Variable) -> Variable:
    """The lower triangle of a matrix with ones on its diagonal."""
    n = x.shape[-1]
    lower: Variable = _below(x, -1) + FUNCTIONS["eye"](n, dtype=x.dtype)
    return lower


def of_lu_solve(op: Op, args: Args, out: Variable, g: Variable) -> Parts:
    """With respect to L and U: from the vector between the two triangular solves, which no pivot affects."""
    packed, b = args
    trans, vector = op.options["trans"], _alone(packed, b)
    kind = np.dtype(packed.dtype).kind
    g, x, right = (_columns(v, vector) for v in (g, out, b))
    if trans == 1 and kind == "c":  # a^T x = b is the conjugate of a system with a^H
        g, x, right = conj(g), conj(x), conj(right)
    w = apply(Op.make("lu_solve", trans=(2 if kind == "c" else 1) if trans == 0 else 0), packed, g)
    start, end = (g, x) if trans == 0 else (right, w)
    lu = _matrix(packed)
    upper = _above(lu)
    middle = triangular(lu, start, False, adjoint=True)
    outer = triangular(lu, middle, True, adjoint=True, unit=True)
    by_lower = _below(_products(outer, times(upper, end)), -1)
    by_upper = _above(_products(middle, end))
    if trans == 1 and kind == "c":
        w = conj(w)
    by_b = part_of(w, b, vector) if smooth(b) else None
    return [_packed(-(by_lower + by_upper), packed) if smooth(packed) else None, by_b]


# Inverse and determinants


def of_inv(op: Op, args: Args, out: Variable, g: Variable) -> Parts:
    """- a^-H g a^-H."""
    other = adjoint(out)
    return [fitting(-times(times(other, g), other), args[0])]


def _with_inverse(factor: Variable, a: Variable) -> Parts:
    """`factor` times a^-H: raises where a is singular."""
    spread = expand(factor, (factor.ndim, factor.ndim + 1))
    return [fitting(spread * adjoint(apply(Op.make("inv"), a)), a)]


def of_det(op: Op, args: Args, out: Variable, g: Variable) -> Parts:
    """det(a) a^-H; a singular matrix has no such gradient and raises."""
    return _with_inverse(g * conj(out), args[0])


def of_logabsdet(op: Op, args: Args, out: Variable, g: Variable) -> Parts:
    """a^-H."""
    return _with_inverse(g, args[0])


def of_det_sign(op: Op, args: Args, out: Variable, g: Variable) -> Parts:
    """0 for a real matrix; for a complex one the sign turns with the imaginary part of tr(a^-1 da)."""
    if np.dtype(out.dtype).kind != "c":
        return [FUNCTIONS["zeros_like"](args[0])]
    turn: Variable = FUNCTIONS["imag"](conj(g) * out)
    return _with_inverse(-1j * turn, args[0])
