"""Products that share an operand are one product: the four of an LSTM, with their weights joined outside the loop.

The documents' "Optimizing Scan's performance" describes it as what Theano cannot do.
"""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.facts_products import beside
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Clock, Op, Value, hold, ops


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
    """A product is some columns of the product with all matrices side by side."""
    stop = n + W.shape[1]
    return Equation(
        ops.dot(x, hold(c, W)), op(ops.dot(x, hold(c, C)), hold(c, n), hold(c, stop)), when=[beside(c, x, W, C, n, op)]
    )
