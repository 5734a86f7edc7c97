"""Products of matrices and vectors: dot, matmul, tensordot, outer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from scanopt.array.batching import align, dims_of, expand, transpose
from scanopt.array.constants import as_arrays, as_variable, promoted
from scanopt.array.gradients.products import (
    conj,
    gradient_of_dot,
    gradient_of_matmul,
    gradient_of_outer,
    gradient_of_tensordot,
)
from scanopt.array.numerics.contractions import contraction
from scanopt.array.op import Op, Operand, OpSpec, Traits, register
from scanopt.array.operators.elementwise import elementwise
from scanopt.array.operators.lengths import times
from scanopt.array.operators.shaping import flatten, reshape
from scanopt.array.parameters import PAIRS
from scanopt.array.registry import FUNCTIONS, public
from scanopt.array.shapes import axes_text, axis_of, broadcast, common_dtype, same, shape_text
from scanopt.array.types import COMPLEX, TensorType
from scanopt.array.variable import Variable, apply, describe

__all__ = ["dot", "matmul", "tensordot"]

Flags = Sequence[bool]
Args = Sequence[Variable]


def _dtype(a: Operand, b: Operand) -> str:
    return common_dtype((a.dtype, b.dtype))


def _contracted(a: Operand, b: Operand, i: int, j: int) -> None:
    same(a.shape[i], b.shape[j], f"lengths to sum over differ in {shape_text(a.shape)} and {shape_text(b.shape)}")


def _infer_dot(a: Operand, b: Operand) -> TensorType:
    if not (a.ndim in (1, 2) and b.ndim in (1, 2)):
        raise ValueError(f"dot of {a.ndim} and {axes_text(b.ndim)}: use matmul or tensordot")
    _contracted(a, b, -1, 0)
    return TensorType(_dtype(a, b), a.shape[:-1] + b.shape[1:])


def _infer_matmul(a: Operand, b: Operand) -> TensorType:
    if a.ndim == 0 or b.ndim == 0:
        raise ValueError("matmul of a scalar: use multiply")
    _contracted(a, b, -1, max(b.ndim - 2, 0))
    outer = broadcast(a.shape[:-2], b.shape[:-2])
    return TensorType(_dtype(a, b), (*outer, *a.shape[-2:-1], *b.shape[-1:][: b.ndim - 1]))


def _infer_outer(a: Operand, b: Operand) -> TensorType:
    if a.ndim != 1 or b.ndim != 1:
        raise ValueError(f"outer of {a.ndim} and {axes_text(b.ndim)}: both must be vectors")
    return TensorType(_dtype(a, b), a.shape + b.shape)


Axes = tuple[tuple[int, ...], tuple[int, ...]]


def _infer_tensordot(a: Operand, b: Operand, axes: Axes) -> TensorType:
    for i, j in zip(*axes, strict=True):
        _contracted(a, b, i, j)
    return TensorType(_dtype(a, b), _kept(a.shape, axes[0]) + _kept(b.shape, axes[1]))


def _kept(items: Sequence[Any], without: Sequence[int]) -> tuple[Any, ...]:
    return tuple(x for i, x in enumerate(items) if i not in without)


# Batched forms.  One batched operand: a single product with more rows; both: matmul.


def _batch_matmul(op: Op, batched: Flags, args: Args) -> Variable:
    (a, b), (with_a, with_b) = args, batched
    na, nb = a.ndim - with_a, b.ndim - with_b
    if not with_b and na <= 2 and nb <= 2:
        return _one_product(a, b)
    if not with_a and nb == 1 and na <= 2:
        return apply(Op.make("dot"), b, a if na == 1 else transpose(a, (1, 0)))
    if na == 1:
        a = expand(a, (a.ndim - 1,))
    if nb == 1:
        b = expand(b, (b.ndim,))
    result = apply(Op.make("matmul"), *align(batched, (a, b)))
    drop = ((result.ndim - 2,) if na == 1 else ()) + ((result.ndim - 1,) if nb == 1 else ())
    return apply(Op.make("squeeze", axis=drop), result) if drop else result


def _one_product(a: Variable, b: Variable) -> Variable:
    """Multiply all rows of a (of 1 or 2 axes each) by the same b in one product."""
    if a.ndim == 2:
        return apply(Op.make("dot"), a, b)
    return apply(Op.make("tensordot", axes=((2,), (0,))), a, b)


def _batch_outer(op: Op, batched: Flags, args: Args) -> Variable:
    a, b = (x if flag else expand(x, (0,)) for x, flag in zip(args, batched, strict=True))
    return elementwise("multiply", expand(a, (2,)), expand(b, (1,)))


def _batch_tensordot(op: Op, batched: Flags, args: Args) -> Variable:
    (a, b), (ia, ib) = args, op.options["axes"]
    if batched[0] and batched[1]:
        return _paired_tensordot(a, b, ia, ib)
    axes = tuple(tuple(i + flag for i in axis) for axis, flag in zip((ia, ib), batched, strict=True))
    result = apply(Op.make("tensordot", axes=axes), a, b)
    if batched[0]:
        return result
    place = a.ndim - len(ia)  # the axis of b's rows comes after the axes kept of a
    return transpose(result, (place, *_kept(range(result.ndim), (place,))))


def _paired_tensordot(a: Variable, b: Variable, ia: Sequence[int], ib: Sequence[int]) -> Variable:
    """Contract a and b row by row: make both stacks of matrices, do one matmul, restore the kept axes."""
    keep_a = tuple(i for i in range(1, a.ndim) if i - 1 not in ia)
    keep_b = tuple(i for i in range(1, b.ndim) if i - 1 not in ib)
    sum_a, sum_b = tuple(i + 1 for i in ia), tuple(i + 1 for i in ib)
    da, db = dims_of(a), dims_of(b)

    def count(dims: Sequence[Any], axes: Sequence[int]) -> Any:
        return reduce(times, (dims[i] for i in axes), 1)

    k = count(da, sum_a)
    left = reshape(transpose(a, (0, *keep_a, *sum_a)), (da[0], count(da, keep_a), k))
    right = reshape(transpose(b, (0, *sum_b, *keep_b)), (db[0], k, count(db, keep_b)))
    result = apply(Op.make("matmul"), left, right)
    return reshape(result, (da[0], *(da[i] for i in keep_a), *(db[i] for i in keep_b)))


def _entry(name: str, numpy: Callable[..., Any], infer: Any, batch: Any, **more: Any) -> None:
    register(OpSpec(name, numpy, infer, batch, cost="product", by_layout=2, **more))


def _with_out(name: str) -> Callable[..., Any]:
    def bind(xp: Any) -> Callable[..., Any]:
        f = getattr(xp, name)
        return lambda a, b, out=None: f(a, b, out=out)

    return bind


_entry(
    "dot",
    _with_out("dot"),
    _infer_dot,
    _batch_matmul,
    out=True,
    gradient=gradient_of_dot,
    doc="product of vectors and matrices",
)
_entry(
    "matmul",
    _with_out("matmul"),
    _infer_matmul,
    _batch_matmul,
    out=True,
    ufunc="matmul",
    gradient=gradient_of_matmul,
    doc="products of stacks of matrices",
)
_entry(
    "tensordot",
    contraction,
    _infer_tensordot,
    _batch_tensordot,
    gradient=gradient_of_tensordot,
    doc="sum of products over given pairs of axes",
    params={"axes": PAIRS},
)
register(
    OpSpec(
        "outer",
        _with_out("outer"),
        _infer_outer,
        _batch_outer,
        batch_exact=True,
        inexact=COMPLEX,
        cost="arith",
        out=True,
        by_layout=2,
        layout_kinds="c",
        traits=Traits(),
        gradient=gradient_of_outer,
        doc="products of all pairs",
    )
)


@public("dot", numpy=("dot",))
def dot(a: Any, b: Any) -> Variable:
    """np.dot: the sum over the last axis of a and the second to last (or only) axis of b.

    Raises ValueError when the lengths of those axes differ.

    >>> import numpy as np
    >>> dot(np.ones((2, 3)), np.ones((3, 4))).type.shape
    (2, 4)
    """
    x, y = as_arrays(a, b)
    if x.ndim == 0 or y.ndim == 0:
        return elementwise("multiply", x, y)
    if x.ndim <= 2 and y.ndim <= 2:
        return apply(Op.make("dot"), x, y)
    return tensordot(x, y, ((x.ndim - 1,), (max(y.ndim - 2, 0),)))


@public("matmul", numpy=("matmul",))
def matmul(a: Any, b: Any) -> Variable:
    """np.matmul, the operator @: stacks of matrices broadcast against each other.

    Raises ValueError for scalars and for shapes that do not fit.

    >>> import numpy as np
    >>> matmul(np.ones((5, 2, 3)), np.ones(3)).type.shape
    (5, 2)
    """
    x, y = as_variable(a), as_variable(b)
    small = 1 <= x.ndim <= 2 and 1 <= y.ndim <= 2
    return apply(Op.make("dot" if small else "matmul"), x, y)


@public("tensordot", numpy=("tensordot",))
def tensordot(a: Any, b: Any, axes: Any = 2) -> Variable:
    """np.tensordot: the sum of products over pairs of axes.

    axes: how many last axes of a meet first axes of b, or (axes of a, axes of b).

    >>> import numpy as np
    >>> tensordot(np.ones((2, 3, 4)), np.ones((4, 3)), ((2, 1), (0, 1))).type.shape
    (2,)
    """
    x, y = as_variable(a), as_variable(b)
    if isinstance(axes, int):
        if not 0 <= axes <= min(x.ndim, y.ndim):
            raise ValueError(f"tensordot over {axes} axes of arrays with {x.ndim} and {y.ndim}")
        pairs: Any = (range(x.ndim - axes, x.ndim), range(axes))
    else:
        pairs = tuple((p,) if isinstance(p, int) else p for p in axes)
    ia = tuple(axis_of(i, x) for i in pairs[0])
    ib = tuple(axis_of(i, y) for i in pairs[1])
    if len(ia) != len(ib) or len(set(ia)) < len(ia) or len(set(ib)) < len(ib):
        raise ValueError(f"tensordot axes {ia} and {ib} do not pair up")
    return apply(Op.make("tensordot", axes=(ia, ib)), x, y)


@public("outer", numpy=("outer",))
def outer(a: Any, b: Any) -> Variable:
    """All products of an element of a and an element of b (both flattened): len(a) x len(b).

    >>> import numpy as np
    >>> outer(np.ones(2), np.ones(3)).type.shape
    (2, 3)
    """
    x, y = (flatten(v) for v in as_arrays(a, b))
    return apply(Op.make("outer"), x, y)


@public("inner", numpy=("inner",))
def inner(a: Any, b: Any) -> Variable:
    """The sum of products over the last axes of both."""
    x, y = as_arrays(a, b)
    if x.ndim == 0 or y.ndim == 0:
        return elementwise("multiply", x, y)
    return dot(x, y) if y.ndim == 1 else tensordot(x, y, ((x.ndim - 1,), (y.ndim - 1,)))


@public("vdot", numpy=("vdot",))
def vdot(a: Any, b: Any) -> Variable:
    """The sum of conj(a) * b over all elements."""
    x, y = (flatten(v) for v in as_arrays(a, b))
    return dot(conj(x), y)


def _rowwise(op: Op, a: Any, b: Any) -> Variable:
    x, y = as_variable(a), as_variable(b)
    for v in (x, y):
        if v.ndim < 1:
            raise ValueError(f"expected an array of rows, found {v!r}")
    same(x.type.shape[0], y.type.shape[0], "the numbers of rows differ")
    batch: Any = op.spec.batch
    result: Variable = batch(op, (True, True), (x, y))
    return result


@public("batched_dot")
def batched_dot(a: Any, b: Any) -> Variable:
    """dot(a[i], b[i]) for every i, stacked.

    >>> import numpy as np
    >>> batched_dot(np.ones((5, 2, 3)), np.ones((5, 3, 4))).type.shape
    (5, 2, 4)
    """
    return _rowwise(Op.make("dot"), a, b)


@public("batched_tensordot")
def batched_tensordot(a: Any, b: Any, axes: Sequence[Sequence[int]]) -> Variable:
    """tensordot(a[i], b[i]) for every i, stacked; axes count the first axis of a and b as 0."""
    pairs = tuple(tuple(i - 1 for i in axis) for axis in axes)
    return _rowwise(Op.make("tensordot", axes=pairs), a, b)


@public("vecdot", numpy=("vecdot",))
def vecdot(a: Any, b: Any, *, axis: int = -1) -> Variable:
    """The sum of conj(a) * b over an axis, the last one by default; other axes broadcast.

    >>> import numpy as np
    >>> vecdot(np.ones((3, 5)), np.ones((3, 1)), axis=-2).type.shape
    (5,)
    """
    x, y = (FUNCTIONS["moveaxis"](v, axis, -1) if axis != -1 else v for v in promoted(a, b))
    x = conj(x)
    if x.ndim == 1 and y.ndim == 1:
        return dot(x, y)
    result = matmul(expand(x, (x.ndim - 1,)), expand(y, (y.ndim,)))
    return apply(Op.make("squeeze", axis=(result.ndim - 2, result.ndim - 1)), result)


def _expect(function: str, what: str, x: Variable, ndim: int) -> None:
    if x.ndim < ndim:
        raise ValueError(f"{function} takes {what}, found {describe(x)}")


@public("matvec", numpy=("matvec",))
def matvec(a: Any, v: Any) -> Variable:
    """Stacks of matrices times stacks of vectors.  Raises ValueError for too few axes."""
    x, y = promoted(a, v)
    _expect("matvec", "matrices", x, 2)
    _expect("matvec", "vectors", y, 1)
    result = matmul(x, expand(y, (y.ndim,)))
    return apply(Op.make("squeeze", axis=(result.ndim - 1,)), result)


@public("vecmat", numpy=("vecmat",))
def vecmat(v: Any, a: Any) -> Variable:
    """Stacks of (conjugated) vectors times stacks of matrices.  Raises ValueError for too few axes."""
    x, y = promoted(v, a)
    _expect("vecmat", "vectors", x, 1)
    _expect("vecmat", "matrices", y, 2)
    result = matmul(expand(conj(x), (x.ndim - 1,)), y)
    return apply(Op.make("squeeze", axis=(result.ndim - 2,)), result)
