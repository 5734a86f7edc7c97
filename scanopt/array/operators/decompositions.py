"""Decompositions of matrices, pseudo-inverses, least squares, exponentials: entries of the operator table.

A result with several parts, such as U, S and Vh, is one array, so that it is computed once; `svd_parts` and the like
take it apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from scanopt.array.batching import expand, front, rows, spread
from scanopt.array.gradients import decompositions as gradients
from scanopt.array.gradients.linalg import times
from scanopt.array.numerics import decompositions, factors
from scanopt.array.op import Gradient, Op, Operand, OpSpec, register
from scanopt.array.operators.linalg import batch_stack, infer_square, square
from scanopt.array.parameters import FLAG, Parameter, one_of, optional
from scanopt.array.shapes import broadcast, same, shape_text
from scanopt.array.types import Dim, TensorType
from scanopt.array.variable import Variable, apply

__all__: list[str] = []

Flags = Sequence[bool]
Args = Sequence[Variable]


# Types


def _matrix(a: Operand) -> tuple[Dim, Dim]:
    """The numbers of rows and columns of a matrix.  Raises for anything else."""
    if a.ndim < 2:
        raise ValueError(f"expected a matrix or a stack of them, found an array of shape {shape_text(a.shape)}")
    return a.shape[-2], a.shape[-1]


def _sum(*lengths: Dim) -> Dim:
    known = [n for n in lengths if n is not None]
    return sum(known) if len(known) == len(lengths) else None


def _smaller(m: Dim, n: Dim) -> Dim:
    return 0 if 0 in (m, n) else None if m is None or n is None else min(m, n)


def _infer_svd(a: Operand, full: bool) -> TensorType:
    m, n = _matrix(a)
    greater = None if m is None or n is None else max(m, n)
    columns = greater if full else _smaller(m, n)
    return TensorType(factors.dtype_of(a.dtype), (*a.shape[:-2], _sum(1, m, n), columns))


def _infer_qr(a: Operand, complete: bool) -> TensorType:
    m, n = _matrix(a)
    return TensorType(factors.dtype_of(a.dtype), (*a.shape[:-2], _sum(m, n), m if complete else _smaller(m, n)))


def _complex(dtype: str) -> str:
    return decompositions.COMPLEX_OF.get(dtype, dtype)


def _real(dtype: str) -> str:
    return {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)


def _infer_eigh(a: Operand, lower: bool) -> TensorType:
    n = square(a)
    return TensorType(factors.dtype_of(a.dtype), (*a.shape[:-2], _sum(1, n), n))


def _infer_eig(a: Operand) -> TensorType:
    n = square(a)
    return TensorType(_complex(factors.dtype_of(a.dtype)), (*a.shape[:-2], _sum(1, n), n))


def _infer_spectrum(a: Operand, of: str) -> TensorType:
    n = _smaller(*_matrix(a)) if of == "svd" else square(a)
    dtype = factors.dtype_of(a.dtype)
    return TensorType(_complex(dtype) if of == "eig" else _real(dtype), (*a.shape[:-2], n))


def _infer_pinv(a: Operand, rcond: Operand, hermitian: bool, cut: bool = False) -> TensorType:
    m, n = _matrix(a)
    if hermitian:
        square(a)
    if rcond.ndim > a.ndim - 2:
        raise ValueError(f"rcond has one number for each matrix, found {rcond.type} for {a.type}")
    broadcast(a.shape[:-2], rcond.shape)
    return TensorType(factors.dtype_of(a.dtype), (*a.shape[:-2], n, m))


def _infer_lstsq(a: Operand, b: Operand, rcond: Operand, cut: bool = False) -> TensorType:
    if a.ndim != 2 or b.ndim not in (1, 2):
        raise ValueError(
            f"expected a matrix and a vector or matrix, found shapes {shape_text(a.shape)} and {shape_text(b.shape)}"
        )
    what = f"the right side needs a row for each row of the matrix, found shapes {shape_text(a.shape)} and"
    same(a.shape[0], b.shape[0], f"{what} {shape_text(b.shape)}")
    if rcond.ndim:
        raise ValueError(f"rcond is one number, found {rcond.type}")
    return TensorType(factors.dtype_of(a.dtype, b.dtype), (a.shape[1], *b.shape[1:]))


# Batched forms


def _batch_pinv(op: Op, flags: Flags, args: Args) -> Variable:
    """Batch pinv: an rcond for each row gets axes of length 1, so that it aligns with the stacks of the rows."""
    a = args[0] if flags[0] else spread(args[0], rows(flags, args))
    return apply(op, a, front(args[1], a.ndim - 3) if flags[1] else args[1])


def _batch_lstsq(op: Op, flags: Flags, args: Args) -> Variable:
    """Batch lstsq: multiply by pseudo-inverses."""
    a, b, rcond = args
    inverse = Op.make("pinv", hermitian=False, **op.options)
    if flags[0] or flags[2]:
        p = _batch_pinv(inverse, (flags[0], flags[2]), (a, rcond))
    else:
        p = expand(apply(inverse, a, rcond), (0,))
    right = b if flags[1] else spread(b, rows(flags, args))
    if right.ndim == 3:
        return times(p, right)
    return apply(Op.make("squeeze", axis=(2,)), times(p, expand(right, (2,))))


# Entries

_NONE: dict[str, Parameter] = {}
_CUT = {"cut": optional(FLAG)}  # cut: whether singular values other than 0 may count as 0, which changes the gradient


def _entry(
    name: str, infer: Callable[..., TensorType], gradient: Gradient, doc: str,
    params: Mapping[str, Parameter] = _NONE, batch: Any = batch_stack, **more: Any,
) -> None:  # fmt: skip
    function = getattr(decompositions, name)
    register(
        OpSpec(
            name,
            lambda xp, **options: lambda *args: function(xp, *args, **options),
            infer,
            batch,
            cost="decomposition",
            gradient=gradient,
            doc=doc,
            params=params,
            **{"batch_exact": True, "can_raise": True, **more},
        )
    )  # fmt: skip


_entry(
    "svd", _infer_svd, gradients.of_svd, "singular values as a row, then rows of U, then rows of Vh transposed",
    {"full": FLAG},
)  # fmt: skip
_entry(
    "qr", _infer_qr, gradients.of_qr, "rows of Q, then rows of R transposed", {"complete": FLAG}, can_raise=False
)  # fmt: skip
_entry(
    "eigh", _infer_eigh, gradients.of_eigh, "eigenvalues as a row, then rows of the eigenvectors (as columns)",
    {"lower": FLAG},
)  # fmt: skip
_entry("eig", _infer_eig, gradients.of_eig, "the same of any square matrix, always complex")
_entry(
    "spectrum", _infer_spectrum, gradients.of_spectrum, "singular values or eigenvalues",
    {"of": one_of("svd", "eig", "eigvalsh_lower", "eigvalsh_upper")},
)  # fmt: skip
_entry(
    "pinv", _infer_pinv, gradients.of_pinv, "the pseudo-inverse, as np.linalg.pinv", {"hermitian": FLAG, **_CUT},
    _batch_pinv, batch_exact=False,
)  # fmt: skip
_entry(
    "lstsq", _infer_lstsq, gradients.of_lstsq, "least squares, as the first result of np.linalg.lstsq",
    _CUT, _batch_lstsq, batch_exact=False,
)  # fmt: skip
_entry("expm", infer_square, gradients.of_expm, "the exponential of a matrix, as scipy.linalg.expm", can_raise=False)
