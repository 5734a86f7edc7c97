"""Constants are folded, and constant sequences become non-sequences (remove_constants_and_unused_inputs_scan).

Unused inputs, outputs and states need no law: extraction takes only what results and end conditions need.
"""

import scanopt
import scanopt.tensor as T
from scanopt.calculus.condition import Rules, fact, when
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Args, Clock, Op, Text, Value, hold, ndim, ops, seq
from scanopt.facts.lists import constants, held, held_constants
from scanopt.facts.loops import tells_no_length
from scanopt.facts.operators import safe
from scanopt.facts.values import equal_rows


@fact
def fills_vector(op: Op) -> None:
    """op(e, ...) is a vector with e in each place (given)."""


@fact
def fills(op: Op, g: Op) -> None:
    """Every row of op(e, *lengths), an array of several axes, is g(e, *lengths) (given)."""


@fact
def fills_counted(op: Op, g: Op) -> None:
    """Every row of op(e, n, *lengths), an array of several axes, is g(e, *lengths) (given)."""


@fact
def full_rows(Y: Value, x: Value, *, e: Value, g: Op, m: Value, op: Op, r: Args, xs: Args) -> Rules:
    """Every row of Y equals x, and Y is filled with one value."""
    yield when(fills(op, g), Y.is_(op(xs))).then(full_rows(Y, g(xs)))
    yield when(fills_counted(op, g), Y.is_(op(e, m, r))).then(full_rows(Y, g(e, r)))
    yield when(fills_vector(op), Y.is_(op(e, r))).then(full_rows(Y, e))
    yield when(Y.is_(ops.full_like(x, e)), ndim(Y).is_(1), ndim(e).is_(0)).then(full_rows(Y, e))
    yield when(full_rows(Y, x)).then(equal_rows(Y, x))


@law(
    licence="exact",
    stepwise=True,
    source="Theano scan internals, remove_constants_and_unused_inputs_scan",
    folds=True,
    example=(
        lambda x: scanopt.map(lambda v: v * T.exp(T.constant(2.0)), x)[0],
        lambda x: T.constant([1.0, 2.0])[T.constant(1)] + x,
    ),
    never=lambda x: T.exp(x),
)
def constant_folding(op: Op, args: Args) -> Equation:
    """An operator of constants is a constant, if it does not raise."""
    return Equation(op(args), op(args), when=[constants(args)])


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    source="Theano scan internals, remove_constants_and_unused_inputs_scan",
    example=(
        lambda X: scanopt.map(lambda row: scanopt.map(lambda v: v * T.exp(T.constant(2.0)), row)[0], X)[0],
        lambda x: scanopt.map(lambda v: v * T.exp(T.constant(2.0)), x)[0],
    ),
    never=(
        lambda x, a: scanopt.map(lambda v: v * T.exp(a), x)[0],
        lambda x: scanopt.map(lambda v: T.linalg.solve_triangular(T.constant([[0.0]]), T.constant([1.0])), x)[0],
        lambda x, a: scanopt.map(lambda v, a: v * T.arctan2(a, 2.0), x, a)[0],
        lambda X, a: scanopt.map(lambda r, a: scanopt.map(lambda v, a: v * T.exp(a), r, a)[0], X, a)[0],
    ),
)
def held_constant_folding(c: Clock, op: Op, args: Args, outer: Args, flags: Text) -> Equation:
    """Inside a loop too, an operator of constants is a constant."""
    when = [held(c, args, outer, flags), held_constants(outer), safe(op)]
    return Equation(op(args), hold(c, op(outer)), when=when)


@law(
    licence="exact",
    stepwise=True,
    source="Theano scan internals, remove_constants_and_unused_inputs_scan",
    example=(
        lambda X: scanopt.map(lambda v, w: v * w, [X, T.constant([2.0, 2.0, 2.0])])[0],
        lambda X, x, n: scanopt.map(lambda v, w: v * w, [X, scanopt.scan(lambda u: u, None, None, [x], n_steps=n)[0]])[
            0
        ],
        lambda x, a: scanopt.scan(lambda v, w, s: v * s + T.exp(w), [x, T.full((x.shape[0],), a)], [0.0])[0],
        lambda X, Y: scanopt.map(lambda v, w: v + T.exp(w), [X, T.zeros(Y.shape)])[0],
        lambda x, y, a: scanopt.scan(lambda v, w, s: v * s + T.exp(w), [x, T.ones_like(y)], [0.0])[0],
    ),
    never=(
        lambda X: scanopt.map(lambda v, w: v * w, [X, T.constant([2.0, 2.0, 3.0])])[0],
        lambda X, Y: scanopt.map(lambda v, w: v * w, [X, T.zeros_like(Y)])[0],
        lambda x, n: scanopt.map(lambda i, v: v[:i], T.full((x.shape[0],), n), [x])[0],
    ),
)
def sequence_of_equal_entries(c: Clock, X: Value, x: Value) -> Equation:
    """A sequence whose rows are all equal is a non-sequence."""
    return Equation(seq(c, X), hold(c, x), when=[equal_rows(X, x), tells_no_length(c, seq(c, X))])
