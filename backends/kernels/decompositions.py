"""Lowers decompositions of matrices: calls NumPy's inner loops, and puts the parts of a result under one another."""

from __future__ import annotations

from collections.abc import Sequence

from scanopt.backends.kernels.emit import written
from scanopt.backends.kernels.ir import INDEX, ONE, ZERO, Cast, Do, Expr, If, Inner, Lit, Store, plus, product, times
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import Decomposed, NoForm
from scanopt.backends.kernels.systems import failing_at_nan
from scanopt.backends.kernels.values import Array, Axes, Scalar, index, item_size, nest, packed

__all__: list[str] = []

DOUBLE = "float64"


@written.register(Decomposed)
def _decomposed(node: Decomposed, w: Lowering) -> None:
    if w.device:
        raise NoForm("a decomposition is a routine of LAPACK")
    dims, axes = w.axes(node.args[0]), w.axes(node.out)
    (m, n), least = dims, axes[-1]
    if node.op == "qr_r_raw":
        _orthogonal(node, w)
        return
    a, out = _packed(w.whole(w.value(node.args[0]), dims, DOUBLE), dims), w.place(node.out)
    if len(axes) == 1:
        values = _made(w, axes)
        _call(w, node.op, (a, values), (m,) if node.op.startswith("eig") else (m, n, least))
        w.code += w.copied(values, out, ZERO, axes, node.dtype)
    elif node.op.startswith("svd"):
        full = node.op == "svd_f"
        rank = Do("minimum", (m, n), INDEX, INDEX) if full else least
        u, vh = _made(w, (m, m if full else least)), _made(w, (n if full else least, n))
        values = _packed(w.scratch(DOUBLE, (least,)), (rank,))
        _call(w, node.op, (a, u, values, vh), (m, n, rank))
        if full:
            w.code += w.copied(Scalar(Lit(0.0, node.dtype), node.dtype), out, ZERO, axes)
        turned = Array(vh.pointer, vh.axes[::-1], vh.strides[::-1], DOUBLE)
        _put(w, out, (values, u, turned), least, node.dtype)
    else:
        values, vectors = _made(w, (n,)), _made(w, dims)
        _call(w, node.op, (a, values, vectors), (m,))
        _put(w, out, (values, vectors), n, node.dtype)
    w.code.append(failing_at_nan(out, axes, node.dtype, w))


def _orthogonal(node: Decomposed, w: Lowering) -> None:
    """Write the rows of Q, then those of R transposed, as np.linalg.qr makes them: R in place, above reflections."""
    dims, axes = w.axes(node.args[0]), w.axes(node.out)
    (m, n), least = dims, axes[-1]
    a, factors, q = _made(w, dims), _made(w, (least,)), _made(w, (m, least))
    w.code += w.copied(w.value(node.args[0]), a.pointer, ZERO, dims, DOUBLE)
    out = w.place(node.out)
    _call(w, "qr_r_raw", (a, factors), (m, n, least))
    _call(w, "qr_reduced", (a, factors, q), (m, n, least))
    w.code += w.copied(q, out, ZERO, q.axes, node.dtype)
    (i, j), (row, column) = w.places((n, least))
    into = index(times(m, least), (row, column), packed((n, least)))
    turned = Array(a.pointer, (n, least), (ONE, n), DOUBLE)
    found = turned.at((row, column), turned.axes)
    above = Do("less_equal", (column, row), "bool", INDEX)
    store = Store(out, into, found if node.dtype == DOUBLE else Cast(found, node.dtype))
    w.code += nest((n, least), [i, j], (If(above, (store,), (Store(out, into, Lit(0.0, node.dtype)),)),))


def _made(w: Lowering, axes: Axes) -> Array:
    return _packed(w.scratch(DOUBLE, axes), axes)


def _packed(pointer: str, axes: Axes) -> Array:
    return Array(pointer, axes, packed(axes), DOUBLE)


def _call(w: Lowering, loop: str, arrays: Sequence[Array], lengths: Axes) -> None:
    """Write a call of an inner loop for one matrix.  lengths: those that its signature names, in order."""
    strides = (times(s, item_size(DOUBLE)) for x in arrays for s in x.strides)
    slot = w.slot(loop, (DOUBLE,) * len(arrays))
    pointers = tuple(x.pointer for x in arrays)
    w.code.append(Inner(slot, pointers, (ONE, *lengths), (*(ZERO for _ in arrays), *strides)))


def _put(w: Lowering, out: str, parts: Sequence[Array], columns: Expr, dtype: str) -> None:
    """Write a copy of a vector and matrices under one another, into rows of so many columns."""
    start: Expr = ZERO
    for part in parts:
        w.code += w.copied(part, out, start, part.axes, dtype, packed((*part.axes[:-1], columns)))
        start = plus(start, times(product(part.axes[:-1]), columns))
