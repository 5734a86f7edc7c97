"""A row and the rows behind it: what a state that hands a sequence on reads is the sequence, one row earlier."""

import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Int, Value, as_row, ops
from scanopt.facts.values import at_least


@law(
    licence="exact",
    example=(
        lambda x: T.concatenate([T.exp(x)[0][None], T.exp(x)[1:]]),
        lambda X: T.concatenate([X[2][None], X[3:]]) * 2.0,
    ),
    never=(
        lambda X: T.concatenate([X[1][None], X[1:]]) * 2.0,
        lambda X, Y: T.concatenate([X[0][None], Y[1:]]) * 2.0,
        lambda X: T.concatenate([X[0][None], X[2:]]) * 2.0,
        lambda X: T.concatenate([X[-1][None], X[0:]]) * 2.0,
    ),
)
def row_and_those_behind(X: Value, k: Int) -> Equation:
    """Row k and the rows behind it are the rows from k on, of which there is one at least."""
    rows = X[k:]
    left = ops.concatenate(as_row(X[k]), X[k + 1 :], axis=0)
    return Equation(left, ops.given(rows, rows.shape[0]), when=[at_least(k, 0)])


@law(
    licence="exact",
    enabling=True,
    example=(lambda x: x[: x[1:].shape[0]] * 2.0, lambda X: X[: X[3:].shape[0]] * 2.0),
    never=(
        lambda x, y: x[: y[1:].shape[0]] * 2.0,
        lambda x: x[: x[:-1].shape[0]] * 2.0,
        lambda x: x[: x[0:].shape[0]] * 2.0,
    ),
)
def all_rows_but_so_many(X: Value, k: Int) -> Equation:
    """X[:len(X[k:])] = X[:-k]."""
    return Equation(X[: X[k:].shape[0]], X[:-k], when=[at_least(k, 1)])
