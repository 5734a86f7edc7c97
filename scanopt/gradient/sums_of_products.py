"""Gradients of sums of products as products: `(v[:, None] * W).sum(axis=0)` is `v @ W` and passes back the same.

An axis of length 1 that was broadcast is widened, as in `rewrites/sums_of_products.py`.
"""

from __future__ import annotations

import numpy as np

from scanopt.array.constants import as_variable
from scanopt.array.lengths import length
from scanopt.array.op import Op
from scanopt.array.operators.sum_to import sum_to
from scanopt.array.registry import FUNCTIONS
from scanopt.array.variable import Apply, Node, Variable, apply

__all__ = ["factors", "product_gradient"]


def factors(node: Node) -> tuple[Variable, Variable, list[Variable]] | None:
    """The vector and the matrix whose product an operator computes as a sum, and the variables in between."""
    if not isinstance(node, Apply) or node.op.name != "sum" or node.op.options["keepdims"]:
        return None
    product = node.inputs[0]
    made, out = product.owner, node.outputs[0]
    if not isinstance(made, Apply) or made.op.name != "multiply" or product.ndim != 2:
        return None
    if np.dtype(out.dtype).kind != "f" or any(x.dtype != out.dtype for x in made.inputs):
        return None
    for v, W in (made.inputs, made.inputs[::-1]):
        column = v.owner if isinstance(v.owner, Apply) else None
        if node.op.options["axis"] == (1,) and (v.ndim, W.ndim) == (1, 2):
            return v, W, [product]
        if column is None or column.op != Op.make("expand_dims", axis=(1,)) or W.ndim != 2 or W is v:
            continue
        if node.op.options["axis"] == (0,):
            return column.inputs[0], W, [product, v]
    return None


def product_gradient(node: Apply, v: Variable, W: Variable, g: Variable) -> list[tuple[Variable, Variable]]:
    """Pairs of v and W with the gradient by each, for the product of vector v and matrix W over the summed axis."""
    (axis,) = node.op.options["axis"]
    wide_v, wide_W = _widened(v, 0, W, axis), _widened(W, axis, v, 0)
    outer = FUNCTIONS["outer"]
    by_v = FUNCTIONS["dot"](wide_W, g) if axis == 0 else FUNCTIONS["dot"](g, wide_W)
    by_W = outer(wide_v, g) if axis == 0 else outer(g, wide_v)
    return [(v, sum_to(by_v, v, [0])), (W, sum_to(by_W, W, [axis]))]


def _widened(x: Variable, axis: int, y: Variable, other: int) -> Variable:
    """x widened along `axis`, if its length there may be 1, to the length of y along axis `other`."""
    if x.type.shape[axis] not in (1, None):
        return x
    return apply(Op.make("widen", axis=axis), x, as_variable(length(y, other)))
