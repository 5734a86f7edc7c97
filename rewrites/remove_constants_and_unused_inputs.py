"""Constants are folded, constant sequences are non-sequences; what nothing needs is never reached.

Unused inputs need no law: only what the results reach is extracted.
"""

import scanopt
import scanopt.tensor as T
from scanopt.calculus.facts import constants, equal_rows, safe
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Args, Clock, Op, Value, apply, hold, seq


@law(
    licence="exact",
    stepwise=True,
    source="Theano scan internals, remove_constants_and_unused_inputs_scan",
    folds=True,
    example=lambda x: scanopt.map(lambda v: v * T.exp(T.constant(2.0)), x)[0],
    never=(lambda x: T.exp(x), lambda x: T.constant([1.0, 2.0])[T.constant(1)] + x),
)
def constant_folding(op: Op, args: Args) -> Equation:
    """An operator of constants is a constant."""
    return Equation(apply(op, args), apply(op, args), when=[constants(args), safe(op)])


@law(
    licence="exact",
    stepwise=True,
    source="Theano scan internals, remove_constants_and_unused_inputs_scan",
    example=(
        lambda X: scanopt.map(lambda v, w: v * w, [X, T.constant([2.0, 2.0, 2.0])])[0],
        lambda X, x, n: scanopt.map(lambda v, w: v * w, [X, scanopt.scan(lambda u: u, None, None, [x], n_steps=n)[0]])[
            0
        ],
    ),
    never=lambda X: scanopt.map(lambda v, w: v * w, [X, T.constant([2.0, 2.0, 3.0])])[0],
)
def sequence_of_equal_entries(c: Clock, X: Value, x: Value) -> Equation:
    """A sequence whose entries are all the same is a non-sequence."""
    return Equation(seq(c, X), hold(c, x), when=[equal_rows(X, x)])
