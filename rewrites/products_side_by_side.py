"""Products that share an operand are one product: the four gates of an LSTM, with weights joined outside the loop.

The documents' "Optimizing Scan's performance" describes this as something that Theano cannot do.
"""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.condition import Rules, fact, when
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Args, Clock, Int, Op, Value, args, const_at, hold, ops
from scanopt.facts.loops import within
from scanopt.facts.products import last_beside, numbered_beside


@fact
def side_by_side(g: Int, k: Int, xs: Args, *, c: Clock, op: Op, W: Value, x: Value) -> Rules:
    """The matrices of group g from number k on, as a list."""
    yield when(last_beside(W, g, k)).then(side_by_side(g, k, args(W)))
    yield when(numbered_beside(c, x, W, op, g, k), side_by_side(g, k + 1, xs)).then(side_by_side(g, k, args(W, xs)))


@fact
def begins_at(g: Int, k: Int, n: Value, *, c: Clock, op: Op, p: Clock, V: Value, W: Value, x: Value) -> Rules:
    """In the joined matrix of group g, matrix number k begins at column n."""
    yield when(numbered_beside(c, x, W, op, g, 0), within(c, p)).then(begins_at(g, 0, const_at(p, "int64:0")))
    yield when(numbered_beside(c, x, V, op, g, k), begins_at(g, k, n)).then(begins_at(g, k + 1, n + V.shape[1]))


@fact
def beside(c: Clock, x: Value, W: Value, C: Value, n: Value, op: Op, *, g: Int, k: Int, xs: Args) -> Rules:
    """x is multiplied by W and by other loop-invariant matrices in c; C joins their columns, those of W start at n.

    op takes columns of a product.
    """
    yield when(numbered_beside(c, x, W, op, g, k), side_by_side(g, 0, xs), begins_at(g, k, n)).then(
        beside(c, x, W, ops.concatenate(xs, axis=1), n, op)
    )


def _gates(X: Any, W: Any) -> Any:
    def step(x: Any, h: Any, w: Any, v: Any) -> Any:
        return T.tanh(x + T.dot(h, w)) * T.sigmoid(T.dot(h, v))

    return scanopt.scan(step, X, [T.zeros_like(W[0])], [W, T.exp(W)])[0]


@law(
    licence="reassoc",
    source="user guide of scan, Optimizing Scan's performance: Graph optimizations (the LSTM)",
    example=_gates,
    never=lambda X, W: scanopt.scan(lambda x, h, w: T.tanh(x + T.dot(h, w)), X, [T.zeros_like(W[0])], [W])[0],
)
def product_with_columns(c: Clock, x: Value, W: Value, C: Value, n: Value, op: Op) -> Equation:
    """A product with one matrix is a range of columns of the product with all matrices joined."""
    stop = n + W.shape[1]
    return Equation(
        ops.dot(x, hold(c, W)), op(ops.dot(x, hold(c, C)), hold(c, n), hold(c, stop)), when=[beside(c, x, W, C, n, op)]
    )
