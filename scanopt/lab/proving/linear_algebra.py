"""Factors, inverses and systems of real matrices of up to two rows, by Cramer's rule.

The matrix itself stands for the factors that `lu_factor` makes, since only `lu_solve` reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scanopt.array.op import Op
from scanopt.lab.proving.arrays import SymbolicArray, filled, known
from scanopt.lab.proving.entries import disjunction, lifted, symbol, unknown_function, z3
from scanopt.lab.proving.model import Model
from scanopt.lab.proving.operators import applied, meaning, result_type, unknown_whole

__all__: list[str] = []

Matrix = list[list[Any]]
Shape = tuple[int, ...]
Exact = Callable[[Model, Op, Sequence[SymbolicArray], Shape], SymbolicArray]


def _matrix(x: SymbolicArray) -> Matrix:
    return [[lifted(e, x.dtype) for e in row] for row in x.data]


def _meaning(*names: str) -> Callable[[Exact], Exact]:
    """The meaning of operators on one real matrix of up to two rows; of other arguments they are unknown functions."""

    def named(exact: Exact) -> Exact:
        def of(m: Model, op: Op, xs: Sequence[SymbolicArray]) -> SymbolicArray:
            dtype, shape = result_type(m, op, xs)
            xs = [x.cast(dtype) for x in xs]
            if not _small(dtype, xs) or op.options.get("unit_diagonal"):
                return unknown_whole(m, op, dtype, shape or (), xs)
            return exact(m, op, xs, shape or ())

        meaning(*names)(of)
        return exact

    return named


def _small(dtype: str, xs: Sequence[SymbolicArray]) -> bool:
    a, *right = xs
    return dtype == "real" and a.data.ndim == 2 and min(a.shape) <= 2 and all(b.data.ndim <= 2 for b in right)


def _inverse(m: Model, a: Matrix) -> Matrix:
    """The inverse; an error where there is none."""
    n = len(a)
    det = z3().RealVal(1) if n == 0 else a[0][0] if n == 1 else a[0][0] * a[1][1] - a[0][1] * a[1][0]
    if n:
        m.raises(det == 0)
    if n == 2:
        return [[a[1][1] / det, -a[0][1] / det], [-a[1][0] / det, a[0][0] / det]]
    return [[1 / det]] if n == 1 else []


def _solved(m: Model, a: Matrix, b: SymbolicArray, shape: Shape) -> SymbolicArray:
    inverse = _inverse(m, a)
    columns = b.data.reshape(b.shape[0], -1) if b.data.size else np.empty((0, 0), object)
    if not b.data.size:
        return filled("real", shape, [])
    out = [
        sum((x * lifted(columns[i, j], "real") for i, x in enumerate(row)), z3().RealVal(0))
        for row in inverse
        for j in range(columns.shape[1])
    ]
    return filled("real", shape, out)


def _transposed(a: Matrix) -> Matrix:
    return [list(column) for column in zip(*a, strict=True)]


@_meaning("inv")
def _inv(m: Model, op: Op, xs: Sequence[SymbolicArray], shape: Shape) -> SymbolicArray:
    return filled("real", shape, [x for row in _inverse(m, _matrix(xs[0])) for x in row])


@_meaning("solve")
def _solve(m: Model, op: Op, xs: Sequence[SymbolicArray], shape: Shape) -> SymbolicArray:
    return _solved(m, _matrix(xs[0]), xs[1], shape)


@_meaning("lu_factor")
def _lu_factor(m: Model, op: Op, xs: Sequence[SymbolicArray], shape: Shape) -> SymbolicArray:
    return filled("real", shape, [*xs[0].entries, *[z3().RealVal(0)] * xs[0].shape[1]])


@_meaning("lu_solve")
def _lu_solve(m: Model, op: Op, xs: Sequence[SymbolicArray], shape: Shape) -> SymbolicArray:
    a = _matrix(xs[0])[:-1]
    return _solved(m, _transposed(a) if op.options["trans"] else a, xs[1], shape)


@_meaning("solve_triangular", "cho_solve")
def _triangular(m: Model, op: Op, xs: Sequence[SymbolicArray], shape: Shape) -> SymbolicArray:
    n, lower = xs[0].shape[0], bool(op.options["lower"])
    zero = z3().RealVal(0)
    a = [
        [x if (j <= i if lower else j >= i) else zero for j, x in enumerate(row)]
        for i, row in enumerate(_matrix(xs[0]))
    ]
    if op.name == "cho_solve":
        first, second = (a, _transposed(a)) if lower else (_transposed(a), a)
        return _substituted(second, _substituted(first, xs[1], True), False)
    if n:
        m.raises(disjunction(*(a[i][i] == 0 for i in range(n))))
    transposed = bool(op.options["trans"])
    return _substituted(_transposed(a) if transposed else a, xs[1], lower != transposed)


def _substituted(a: Matrix, b: SymbolicArray, lower: bool) -> SymbolicArray:
    """The solution of a triangular system, row by row."""
    columns = [[lifted(e, "real") for e in row] for row in b.data.reshape(b.shape[0], -1)] if b.data.size else []
    found: dict[int, list[Any]] = {}
    for i in range(len(columns)) if lower else reversed(range(len(columns))):
        row = columns[i]
        for j in found:
            row = [x - a[i][j] * y for x, y in zip(row, found[j], strict=True)]
        found[i] = [x / a[i][i] for x in row]
    return filled("real", b.shape, [x for i in range(len(columns)) for x in found[i]])


# Flags: a last row that says whether there was no inverse


def _flag(x: Any, dtype: str) -> Any:
    return unknown_function("flags an error", (dtype,), "bool")(lifted(x, dtype))


@meaning("linalg_or_flag")
def _or_flag(m: Model, op: Op, xs: Sequence[SymbolicArray]) -> SymbolicArray:
    dtype, shape = result_type(m, op, xs)
    before = m.errors
    m.errors = []
    found = applied(m, Op.make(op.options["function"]), xs)
    fails = disjunction(*(e.when for e in m.errors))
    m.errors = before
    told = f"flag of {op.options['function']} of {' '.join(map(str, xs[0].entries))}"
    row = [symbol(f"{told} {i}", dtype) for i in range(found.shape[-1])]
    for x in row:
        m.assume(_flag(x, dtype) == lifted(fails, "bool"))
    return filled(dtype, shape or (), [*found.entries, *row])


@meaning("unless_flagged")
def _unless_flagged(m: Model, op: Op, xs: Sequence[SymbolicArray]) -> SymbolicArray:
    dtype, shape = result_type(m, op, xs)
    times = known(xs[1]) if len(xs) > 1 else None
    if times is None or int(times):
        m.raises(disjunction(*(_flag(x, xs[0].dtype) for x in xs[0].data[-1])))
    return filled(dtype, shape or (), list(xs[0].data[:-1].reshape(-1)))


@meaning("outer")
def _outer(m: Model, op: Op, xs: Sequence[SymbolicArray]) -> SymbolicArray:
    x, y = xs
    dtype, shape = result_type(m, op, xs)
    if shape is None or x.data.ndim != 1 or y.data.ndim != 1:
        return unknown_whole(m, op, dtype, shape or (), xs)
    return applied(m, Op.make("multiply"), [applied(m, Op.make("expand_dims", axis=(1,)), [x]), y])
