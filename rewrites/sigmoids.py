"""The logistic function, written out."""

from typing import Any

import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Text, Value, ops
from scanopt.facts.values import of_dtype, power_of_two

_ONE = T.constant(1.0, dtype="float64")


def _small(x: Any) -> Any:
    return T.cast(x, "float32")


@law(
    licence="reassoc",
    stepwise=True,
    example=lambda x: 1.0 / (1.0 + T.exp(-x)) * 2.0,
    never=(
        lambda x: 2.0 / (1.0 + T.exp(-x)),
        lambda x: 1.0 / (2.0 + T.exp(-x)),
        lambda x: _ONE / (1.0 + T.exp(-_small(x))),
    ),
)
def sigmoid_written_out(x: Value, a: Value, e: Value, d: Text) -> Equation:
    """1 / (1 + exp(-x)) is the sigmoid of x."""
    left = a / (e + ops.exp(-x))
    when = [power_of_two(a, "0"), power_of_two(e, "0"), of_dtype(left, d), of_dtype(x, d)]
    return Equation(left, ops.sigmoid(x), when=when)


@law(
    licence="reassoc",
    stepwise=True,
    example=lambda x: 1.0 / (T.exp(-x) + 1.0) * 2.0,
    never=(
        lambda x: 2.0 / (T.exp(-x) + 1.0),
        lambda x: 1.0 / (T.exp(-x) + 2.0),
        lambda x: _ONE / (T.exp(-_small(x)) + 1.0),
    ),
)
def sigmoid_written_out_backwards(x: Value, a: Value, e: Value, d: Text) -> Equation:
    """1 / (exp(-x) + 1) is the sigmoid of x."""
    left = a / (ops.exp(-x) + e)
    when = [power_of_two(a, "0"), power_of_two(e, "0"), of_dtype(left, d), of_dtype(x, d)]
    return Equation(left, ops.sigmoid(x), when=when)
