"""Linear algebra on matrices and stacks of matrices: systems, factors, inverses, determinants.

A factorization is one array, so that it can be computed once and passed into a loop.  `lu_factor` never raises;
`lu_solve` detects a singular matrix.  So factors may be computed before a loop that runs no step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from typing import Any

from scanopt.array.batching import align, dims_of, expand, rows, spread, transpose
from scanopt.array.gradients import linalg as gradients_of_linalg
from scanopt.array.numerics import factors
from scanopt.array.op import Gradient, Op, Operand, OpSpec, register
from scanopt.array.operators.lengths import times
from scanopt.array.operators.shaping import reshape
from scanopt.array.parameters import FLAG, Parameter, one_of
from scanopt.array.shapes import broadcast, same, shape_text
from scanopt.array.types import Dim, TensorType
from scanopt.array.variable import Variable, apply

__all__ = ["batch_stack", "infer_square", "square"]

Flags = Sequence[bool]
Args = Sequence[Variable]


# Types


def square(a: Operand) -> Dim:
    """The number of rows of a square matrix, or of each of a stack.  Raises ValueError if it is not square.

    >>> square(Operand("float64", (7, 3, None)))
    3
    """
    if a.ndim < 2:
        raise ValueError(f"expected a square matrix or a stack of them, found an array of shape {shape_text(a.shape)}")
    rows, columns = a.shape[-2:]
    return same(rows, columns, f"expected a square matrix, found one of shape {shape_text(a.shape)}")


def _system(a: Operand, b: Operand, n: Dim) -> TensorType:
    """The type of the solution of systems of n rows.  Raises ValueError where right sides do not fit."""
    if b.ndim == 0:
        raise ValueError("expected a right side with a row for each row of the matrix, found a scalar")
    what = f"the right side needs a row for each row of the matrix, found shapes {shape_text(a.shape)} and"
    rows = same(n, b.shape[-1 if b.ndim == 1 else -2], f"{what} {shape_text(b.shape)}")
    dtype = factors.dtype_of(a.dtype, b.dtype)
    if b.ndim == 1:
        return TensorType(dtype, (*a.shape[:-2], rows))
    return TensorType(dtype, (*broadcast(a.shape[:-2], b.shape[:-2]), rows, b.shape[-1]))


def _infer_system(a: Operand, b: Operand, **options: Any) -> TensorType:
    if options.get("trans", 0) not in (0, 1, 2):
        raise ValueError(f"trans is 0, 1 or 2, found {options['trans']!r}")
    return _system(a, b, square(a))


def _infer_lu_solve(a: Operand, b: Operand, trans: int) -> TensorType:
    if trans not in (0, 1, 2):
        raise ValueError(f"trans is 0, 1 or 2, found {trans!r}")
    return _system(a, b, _without_last_row(a))


def _without_last_row(a: Operand) -> Dim:
    if a.ndim < 2:
        raise ValueError(f"expected factors as lu_factor makes them, found an array of shape {shape_text(a.shape)}")
    rows, n = a.shape[-2:]
    what = f"expected factors of n + 1 rows of n, as lu_factor makes them, found shape {shape_text(a.shape)}"
    return same(None if rows is None else rows - 1, n, what)


def infer_square(a: Operand) -> TensorType:
    """The type of a square matrix computed from one, or of a stack of them."""
    n = square(a)
    return TensorType(factors.dtype_of(a.dtype), (*a.shape[:-2], n, n))


def _infer_number(a: Operand) -> TensorType:
    square(a)
    return TensorType(factors.dtype_of(a.dtype), a.shape[:-2])


def _infer_real_number(a: Operand) -> TensorType:
    dtype = _infer_number(a).dtype
    return TensorType({"complex64": "float32", "complex128": "float64"}.get(dtype, dtype), a.shape[:-2])


def _infer_more_rows(a: Operand, **options: Any) -> TensorType:
    n = square(a)
    return TensorType(factors.dtype_of(a.dtype), (*a.shape[:-2], None if n is None else n + 1, n))


# Batched forms


def _batch_system(op: Op, flags: Flags, args: Args) -> Variable:
    """Batch a solver: right sides for the same matrix become columns of one right side."""
    (a, b), (with_a, with_b) = args, flags
    vector = b.ndim - with_b == 1
    if not with_a and a.ndim == 2:
        if vector:
            return transpose(apply(op, a, transpose(b, (1, 0))), (1, 0))
        first = transpose(b, (b.ndim - 2, *range(b.ndim - 2), b.ndim - 1))
        dims = dims_of(first)
        columns = reduce(times, dims[1:], 1)
        found = reshape(apply(op, a, reshape(first, (dims[0], columns))), dims)
        return transpose(found, (*range(1, b.ndim - 1), 0, b.ndim - 1))
    found = apply(op, *align(flags, (a, expand(b, (b.ndim,)) if vector else b)))
    return apply(Op.make("squeeze", axis=(found.ndim - 1,)), found) if vector else found


def batch_stack(op: Op, flags: Flags, args: Args) -> Variable:
    """The operator itself: it takes stacks of matrices with any number of first axes."""
    return apply(op, args[0])


def _batch_checked(op: Op, flags: Flags, args: Args) -> Variable:
    """Batch `checked`: counts for each row get axes of length 1, so that they align with the stacks of the rows."""
    if not flags[-1]:
        return apply(op, *args)
    found = args[0] if flags[0] else spread(args[0], rows(flags, args))
    more = args[1:] and (expand(args[1], range(args[1].ndim, found.ndim - 2)),)
    return apply(op, found, *more)


# Entries

_NONE: dict[str, Parameter] = {}
_TRANS = one_of(0, 1, 2)
_LOWER = {"lower": FLAG}


def _entry(
    name: str, numpy: Callable[..., Any], infer: Any, gradient: Gradient | None,
    cost: str | Callable[[Op], str], doc: str, params: Mapping[str, Parameter] = _NONE, **more: Any
) -> None:  # fmt: skip
    system = infer in (_infer_system, _infer_lu_solve)
    batch = _batch_system if system else batch_stack
    register(
        OpSpec(
            name, numpy, infer, batch, batch_exact=not system, cost=cost, gradient=gradient, doc=doc, params=params,
            **more
        )
    )  # fmt: skip


def _named(name: str, part: int | None = None) -> Callable[..., Any]:
    """A binder of np.linalg's function `name`, or of number `part` of its results."""

    def bind(xp: Any) -> Any:
        function = factors.on(xp, getattr(xp.linalg, name))
        if part is None:
            return lambda a: xp.asarray(function(a))
        return lambda a: xp.asarray(function(a)[part])

    return bind


def _infer_checked(a: Operand, times: Operand | None = None) -> TensorType:
    if a.ndim < 2 or a.shape[-2] == 0:
        raise ValueError(f"expected a matrix with a row of flags, found an array of shape {shape_text(a.shape)}")
    if times is not None and times.ndim:
        broadcast(a.shape[:-2], times.shape)
    return TensorType(a.dtype, (*a.shape[:-2], None if a.shape[-2] is None else a.shape[-2] - 1, a.shape[-1]))


_entry(
    "solve", factors.solver, _infer_system, gradients_of_linalg.of_solve, "system",
    "x with a x = b, as np.linalg.solve", can_raise=True,
)  # fmt: skip
_entry(
    "solve_triangular",
    lambda xp, lower, trans, unit_diagonal: lambda a, b: factors.solve_triangular(
        xp, a, b, lower, trans, unit_diagonal
    ),
    _infer_system, gradients_of_linalg.of_solve_triangular, "solving",
    "x with a x = b for a triangular a; the other triangle is not read",
    {"lower": FLAG, "trans": _TRANS, "unit_diagonal": FLAG}, can_raise=True, by_layout=1,
)  # fmt: skip
_entry(
    "cho_solve", lambda xp, lower: lambda c, b: factors.cho_solve(xp, c, b, lower), _infer_system,
    gradients_of_linalg.of_cho_solve, "solving", "x with a x = b, a given by its Cholesky factor", _LOWER,
    by_layout=1,
)  # fmt: skip
_entry(
    "lu_factor", lambda xp: lambda a: factors.lu_factor(xp, a), _infer_more_rows, gradients_of_linalg.of_lu_factor,
    "factorization", "columns of L and U as rows, then a row of pivots",
)  # fmt: skip
_entry(
    "lu_solve", lambda xp, trans: lambda f, b: factors.lu_solve(xp, f, b, trans), _infer_lu_solve,
    gradients_of_linalg.of_lu_solve, "solving", "x with a x = b, a given by its lu_factor", {"trans": _TRANS},
    can_raise=True,
)  # fmt: skip
_entry(
    "cholesky", _named("cholesky"), infer_square, gradients_of_linalg.of_cholesky, "factorization",
    "lower triangular L with L L^H = a, of which the lower triangle is read", can_raise=True,
)  # fmt: skip
_entry("inv", _named("inv"), infer_square, gradients_of_linalg.of_inv, "system", "the inverse", can_raise=True)
_entry("det", _named("det"), _infer_number, gradients_of_linalg.of_det, "factorization", "the determinant")
_entry(
    "logabsdet", _named("slogdet", 1), _infer_real_number, gradients_of_linalg.of_logabsdet, "factorization",
    "the logarithm of the absolute value of the determinant",
)  # fmt: skip
_entry(
    "det_sign", _named("slogdet", 0), _infer_number, gradients_of_linalg.of_det_sign, "factorization",
    "the determinant divided by its absolute value, or 0",
)  # fmt: skip
_entry(
    "linalg_or_flag", lambda xp, function: lambda a: factors.flagged(xp, function, a),
    lambda a, function: _infer_more_rows(a), None,
    lambda op: "system" if op.options["function"] == "inv" else "factorization",
    "inv or cholesky, and a row of zeros, or of numbers that say why there is none",
    {"function": one_of(*factors.FLAGS)},
)  # fmt: skip
register(
    OpSpec(
        "unless_flagged",
        lambda xp: partial(factors.checked, xp),
        _infer_checked,
        _batch_checked,
        batch_exact=True,
        cost="free",
        can_raise=True,
        view=True,
        doc="all rows but the last; an error where that says so, and it is used a number of times that is not 0",
    )
)
