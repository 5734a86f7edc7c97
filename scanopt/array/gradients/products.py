"""The gradients of products of matrices: products too, with the other argument conjugated and transposed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scanopt.array.batching import expand, transpose
from scanopt.array.derivatives import fitting, smooth
from scanopt.array.op import Op
from scanopt.array.operators.sum_to import sum_to
from scanopt.array.registry import FUNCTIONS
from scanopt.array.variable import Variable, apply

__all__ = ["conj", "gradient_of_dot", "gradient_of_matmul", "gradient_of_outer", "gradient_of_tensordot"]

Args = Sequence[Variable]


def conj(x: Variable) -> Variable:
    """The conjugate of complex numbers; real ones as they are."""
    conjugate: Variable = FUNCTIONS["conj"](x) if np.dtype(x.dtype).kind == "c" else x
    return conjugate


def _swapped(x: Variable) -> Variable:
    """x, conjugated, with its last two axes exchanged."""
    n = x.ndim
    return transpose(conj(x), (*range(n - 2), n - 1, n - 2))


def _dot(a: Variable, b: Variable) -> Variable:
    return apply(Op.make("dot"), a, b)


def _contract(a: Variable, b: Variable, over_a: Sequence[int], over_b: Sequence[int]) -> Variable:
    return apply(Op.make("tensordot", axes=(tuple(over_a), tuple(over_b))), a, b)


def _outer(a: Variable, b: Variable) -> Variable:
    return apply(Op.make("outer"), a, b)


def gradient_of_dot(op: Op, args: Args, out: Variable, g: Variable) -> list[Variable | None]:
    """The gradient of `dot` of two arrays of one or two axes each."""
    a, b = args
    return [
        fitting(_dot_by_left(a, b, g), a) if smooth(a) else None,
        fitting(_dot_by_right(a, b, g), b) if smooth(b) else None,
    ]


def _dot_by_left(a: Variable, b: Variable, g: Variable) -> Variable:
    if b.ndim == 1:
        return g * conj(b) if a.ndim == 1 else _outer(g, conj(b))
    return _dot(conj(b), g) if a.ndim == 1 else _dot(g, _swapped(b))


def _dot_by_right(a: Variable, b: Variable, g: Variable) -> Variable:
    if a.ndim == 1:
        return conj(a) * g if b.ndim == 1 else _outer(conj(a), g)
    return _dot(_swapped(a), g)


def gradient_of_outer(op: Op, args: Args, out: Variable, g: Variable) -> list[Variable | None]:
    """The gradient of `outer`: for each vector the product of g with the other one."""
    a, b = args
    return [fitting(_dot(g, conj(b)), a) if smooth(a) else None, fitting(_dot(conj(a), g), b) if smooth(b) else None]


def gradient_of_matmul(op: Op, args: Args, out: Variable, g: Variable) -> list[Variable | None]:
    """The gradient of `matmul`: a stack of products for a stack; one contraction over the stack for a single matrix."""
    a, b = args
    if a.ndim <= 2 and b.ndim <= 2:
        return gradient_of_dot(op, args, out, g)
    return [fitting(_by_left(a, b, g), a) if smooth(a) else None, fitting(_by_right(a, b, g), b) if smooth(b) else None]


def _by_left(a: Variable, b: Variable, g: Variable) -> Variable:
    """The gradient with respect to a.  g: (..., m, n), without m where a is a vector, without n where b is one."""
    if a.ndim <= 2:
        stack = range(b.ndim - 2)
        return _contract(g, conj(b), (*stack, g.ndim - 1), (*stack, b.ndim - 1))
    if b.ndim == 1:
        return expand(g, (g.ndim,)) * conj(b)
    return sum_to(FUNCTIONS["matmul"](g, _swapped(b)), a)


def _by_right(a: Variable, b: Variable, g: Variable) -> Variable:
    if b.ndim <= 2:
        rows = range(a.ndim - 1)
        return _contract(conj(a), g, rows, rows)
    if a.ndim == 1:
        return expand(conj(a), (1,)) * expand(g, (g.ndim - 1,))
    return sum_to(FUNCTIONS["matmul"](_swapped(a), g), b)


def gradient_of_tensordot(op: Op, args: Args, out: Variable, g: Variable) -> list[Variable | None]:
    """The gradient of `tensordot`; g has the axes that were kept of a, then those kept of b."""
    (a, b), (ia, ib) = args, op.options["axes"]
    kept_a = [i for i in range(a.ndim) if i not in ia]
    kept_b = [i for i in range(b.ndim) if i not in ib]
    by_a = by_b = None
    if smooth(a):
        part = _contract(g, conj(b), range(len(kept_a), g.ndim), kept_b)
        axes = [*kept_a, *(ia[ib.index(j)] for j in sorted(ib))]
        by_a = fitting(transpose(part, [axes.index(i) for i in range(a.ndim)]), a)
    if smooth(b):
        part = _contract(conj(a), g, kept_a, range(len(kept_a)))
        axes = [*(ib[ia.index(i)] for i in sorted(ia)), *kept_b]
        by_b = fitting(transpose(part, [axes.index(j) for j in range(b.ndim)]), b)
    return [by_a, by_b]
