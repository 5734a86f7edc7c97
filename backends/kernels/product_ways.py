"""Writes both ways of a product of matrices or vectors: NumPy's loop, or functions of ours; a plan chooses one.

Ours (`tiles.py`) are chosen where a trial finds that they have NumPy's bits and are faster.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from scanopt.backends.kernels.ir import ONE, Do, Expr, If, Inner, Lit, Stmt, Var, plus, times
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import Product
from scanopt.backends.kernels.recipe import Number, Tiling
from scanopt.backends.kernels.tiles import SPACE
from scanopt.backends.kernels.values import item_size, packed

__all__ = ["by_tiles", "chosen", "dotted", "few_by_matrix", "matrix_by_column", "row_by_matrix", "tiled", "tiling_of"]

Strides = tuple[Expr, ...]


def tiling_of(node: Product, strides: tuple[tuple[Expr, Expr], tuple[Expr, Expr]], w: Lowering) -> Tiling:
    """Describe a product for a plan, which may make it of tiles, and allocate memory for its panels.

    strides: of the factors that NumPy's loop would be given, in bytes.
    """
    a, (k, n) = (w.axes(x) for x in node.args)
    m = a[0] if len(a) == 2 else ONE
    w.scratch(node.dtype, (k, plus(n, Lit(SPACE // np.dtype(node.dtype).itemsize))))
    return Tiling(node.dtype, (m, k, n), *strides, w.before(node.args[1]) is not None, len(w.given) - 1)


def _planned(w: Lowering, name: str, strides: Strides, dtype: str) -> tuple[Expr, Expr]:
    """The strides for which a plan decides; for an argument that keeps its own, those of C order."""
    known = {v for v, n in zip(w.number_names, w.numbers, strict=True) if n.kind == "stride in bytes"}
    if any(isinstance(s, Var) and s.name in known for s in strides):
        axes = w.axes(name)
        strides = tuple(times(s, item_size(dtype)) for s in packed(axes if len(axes) == 2 else (ONE, *axes)))
    return strides[0], strides[1]


def chosen(tiling: Tiling, strides: Strides, w: Lowering) -> Expr:
    """The test whether the plan chose tiles, and the factors have the strides that it assumed."""
    test: Expr = w.number(Number("tiled", tiling=tiling))
    for planned, found in zip((*tiling.left, *tiling.right), strides, strict=True):
        if planned != found:
            test = Do("bitwise_and", (test, Do("equal", (planned, found), "bool", "int64")), "int64", "int64")
    return test


def by_tiles(
    node: Product,
    arrays: tuple[str, str, str],
    strides: tuple[Strides, Strides],
    plain: Stmt,
    w: Lowering,
    rows: Expr | None = None,
) -> Stmt:
    """A product of matrices, by tiles where the plan says so, else by a plain statement.

    rows: of the whole product, for which a plan decides, if this one has only some of them.
    """
    left, right = (_planned(w, x, s, node.dtype) for x, s in zip(node.args, strides, strict=True))
    tiling = tiling_of(node, (left, right), w)
    whole = tiling if rows is None else replace(tiling, dims=(rows, *tiling.dims[1:]))
    return tiled(node, arrays, strides, tiling, chosen(whole, (*strides[0], *strides[1]), w), plain, w)


def tiled(
    node: Product,
    arrays: tuple[str, str, str],
    strides: tuple[Strides, Strides],
    tiling: Tiling,
    test: Expr,
    plain: Stmt,
    w: Lowering,
) -> Stmt:
    """A product by tiles where the plan says so; a right matrix that a loop does not change is laid out before it."""
    (left, right, out), (m, k, n) = arrays, tiling.dims
    panels = f"g{tiling.panels}"
    lay = Inner(w.slot("panels", (node.dtype,)), (right, panels), (k, n), strides[1])
    multiply = Inner(w.slot("product", (node.dtype,)), (left, panels, out), (m, k, n), strides[0])
    before = w.before(node.args[1])
    if before is None:
        return If(test, (lay, multiply), (plain,))
    before.append(If(test, (lay,)))
    return If(test, (multiply,), (plain,))


def dotted(
    node: Product, arrays: tuple[str, str, str], strides: tuple[Strides, Strides], plain: Stmt, w: Lowering
) -> Stmt:
    """The product of two packed vectors, without BLAS where a plan finds the same bits."""
    k, item = w.axes(node.args[0])[-1], item_size(node.dtype)
    tiling = Tiling(node.dtype, (ONE, k, ONE), (times(k, item), item), (item, item), False, -1)
    test = chosen(tiling, (tiling.left[0], strides[0][-1], strides[1][0], item), w)
    return If(test, (Inner(w.slot("dot", (node.dtype,)), arrays, (k,), ()),), (plain,))


def row_by_matrix(
    node: Product, arrays: tuple[str, str, str], strides: tuple[Strides, Strides], plain: Stmt, w: Lowering
) -> Stmt:
    """The product of a packed row and a matrix, without BLAS where a plan finds the same bits."""
    left, right = (_planned(w, x, s, node.dtype) for x, s in zip(node.args, strides, strict=True))
    k, n = w.axes(node.args[1])
    tiling = Tiling(node.dtype, (ONE, k, n), left, right, False, -1)
    test = chosen(tiling, (left[0], strides[0][-1], *strides[1]), w)
    return If(test, (Inner(w.slot("row", (node.dtype,)), arrays, (k, n), strides[1][:1]),), (plain,))


def few_by_matrix(
    dtype: str, arrays: tuple[str, str, str], dims: tuple[Expr, Expr, Expr], plain: Stmt, w: Lowering
) -> Stmt:
    """The product of few packed rows and a packed matrix, without panels where a plan finds the same bits."""
    (_, k, n), item = dims, item_size(dtype)
    left, right = (times(k, item), item), (times(n, item), item)
    test = w.number(Number("tiled", tiling=Tiling(dtype, dims, left, right, False, -1, as_it_lies=True)))
    return If(test, (Inner(w.slot("few", (dtype,)), arrays, dims, (*left, right[0])),), (plain,))


def matrix_by_column(
    node: Product, arrays: tuple[str, str, str], strides: tuple[Strides, Strides], plain: Stmt, w: Lowering
) -> Stmt:
    """The product of a matrix and a packed column, without BLAS where a plan finds the same bits."""
    (m, k), item = w.axes(node.args[0]), item_size(node.dtype)
    left = _planned(w, node.args[0], strides[0], node.dtype)
    tiling = Tiling(node.dtype, (m, k, ONE), left, (item, item), False, -1)
    test = chosen(tiling, (*strides[0], strides[1][0], item), w)
    return If(test, (Inner(w.slot("column", (node.dtype,)), arrays, (m, k), strides[0][:1]),), (plain,))
