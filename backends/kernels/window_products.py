"""Lowers products of a vector and windows x[i:i+k] of an array, for several steps at once (`windows_together.py`)."""

from __future__ import annotations

from collections.abc import Collection

from scanopt.backends.kernels.ir import INDEX, ONE, ZERO, Do, Expr, Inner, Lit, times
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import Node, Product
from scanopt.backends.kernels.recipe import Given, Number, Tiling
from scanopt.backends.kernels.values import item_size

__all__ = ["is_window_product", "may_be_made", "product_of_windows"]


def is_window_product(node: Node, made: Collection[str], w: Lowering) -> bool:
    """Whether a node is a product of a window and a vector from outside that may be made without BLAS."""
    if not isinstance(node, Product) or not w.tiles or node.dtype not in ("float32", "float64"):
        return False
    axes = [w.axes(a) for a in node.args]
    fits = axes[0] == axes[1] and len(axes[0]) == 1 and axes[0] != (ONE,) and not w.grows(axes[0][0])
    return fits and {w.dtype(a) for a in node.args} == {node.dtype} and sum(a in made for a in node.args) == 1


def may_be_made(node: Product, made: Collection[str], w: Lowering) -> Expr:
    """The test whether a plan finds that the product without BLAS has the same bits, and the vector is packed."""
    (k,), item = w.axes(node.args[0]), item_size(node.dtype)
    tiling = Tiling(node.dtype, (ONE, k, ONE), (times(k, item), item), (item, item), False, -1)
    test = Do("not_equal", (w.number(Number("tiled", tiling=tiling)), ZERO), "bool", INDEX)
    vector = _vector(node, made)
    if not _as_it_lies(vector, w):
        return test
    packed = Do("equal", (w.number(Number("stride in bytes", (vector, 0))), item), "bool", INDEX)
    return Do("logical_and", (test, packed), "bool", "bool")


def product_of_windows(node: Product, x: str, made: Collection[str], out: str, count: int, w: Lowering) -> Inner:
    """The call that makes the products of `count` consecutive windows, the first of which begins at x."""
    vector, (k,) = _vector(node, made), w.axes(node.args[0])
    y = w.give(Given("strided", node.dtype, vector)) if _as_it_lies(vector, w) else w.packed_before(vector, node.dtype)
    return Inner(w.slot("dots", (node.dtype,)), (x, y, out), (k, Lit(count)), ())


def _vector(node: Product, made: Collection[str]) -> str:
    return next(a for a in node.args if a not in made)


def _as_it_lies(name: str, w: Lowering) -> bool:
    """Whether array steps leave a vector its own stride: an argument of a program that is not exact."""
    return not w.body.exact and name in w.body.outer
