"""Lowers products of stacks of matrices, one call of NumPy's inner loop along the last stack axis; and convolutions."""

from __future__ import annotations

from scanopt.backends.kernels.emit import written
from scanopt.backends.kernels.ir import INDEX, ONE, ZERO, Do, Expr, Inner, Point, Steps, Stmt, product, times
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import Convolve, NoForm, Products
from scanopt.backends.kernels.values import Axes, index, item_size

__all__: list[str] = []


@written.register(Products)
def _products(node: Products, w: Lowering) -> None:
    if w.device:
        raise NoForm("products of stacks of matrices")
    dtype, item = node.dtype, item_size(node.dtype)
    axes = [w.axes(a) for a in node.args]
    matrices = [_matrix(x, left) for x, left in zip(axes, (True, False), strict=True)]
    (rows, summed), (_, columns) = matrices
    pointers = [w.whole(w.value(a), x, dtype) for a, x in zip(node.args, axes, strict=True)]
    out = w.place(node.out)
    vectors = sum(len(x) == 1 for x in axes)
    stack = w.axes(node.out)[: len(w.axes(node.out)) - 2 + vectors]
    apart = [_apart(x[:-2], m, stack) for x, m in zip(axes, matrices, strict=True)]
    apart.append(_apart(stack, (rows, columns), stack))
    names, places = w.places(stack[:-1])
    body: list[Stmt] = []
    here = []
    for pointer, strides in zip((*pointers, out), apart, strict=True):
        here.append(w.pointer(dtype))
        body.append(Point(here[-1], pointer, index(ZERO, places, strides[:-1]), dtype))
    lengths = [times(n, item) for n in (summed, columns, columns)]
    inner = [x for n in lengths for x in (n, item)]
    dims = (stack[-1], rows, summed, columns)
    outer = [times(s[-1], item) for s in apart]
    body.append(Inner(w.slot("matmul", (dtype,) * 3), tuple(here), dims, (*outer, *inner)))
    for n, name in reversed(list(zip(stack[:-1], names, strict=True))):
        body = [Steps(name, n, tuple(body))]
    w.code += body


@written.register(Convolve)
def _convolve(node: Convolve, w: Lowering) -> None:
    if w.device:
        raise NoForm("a convolution")
    dtype = node.dtype
    n, m = (w.axes(a)[0] for a in node.args)
    x, y = (w.whole(w.value(a), w.axes(a), dtype) for a in node.args)
    turned = w.scratch(dtype, (Do("minimum", (n, m), INDEX, INDEX),))
    out = w.place(node.out)
    w.code.append(Inner(w.slot("convolve", (dtype,)), (x, y, turned, out), (n, m), ()))


def _matrix(axes: Axes, left: bool) -> tuple[Expr, Expr]:
    """The lengths of a matrix: a vector is one row on the left, one column on the right."""
    if len(axes) > 1:
        return axes[-2], axes[-1]
    return (ONE, axes[0]) if left else (axes[0], ONE)


def _apart(own: Axes, matrix: tuple[Expr, Expr], stack: Axes) -> Axes:
    """The strides from matrix to matrix of one factor, along the axes to which all stacks broadcast."""
    size = product(matrix)
    found = [times(product(own[i + 1 :]), size) if n != ONE else ZERO for i, n in enumerate(own)]
    return (*(ZERO for _ in stack[len(own) :]), *found)
