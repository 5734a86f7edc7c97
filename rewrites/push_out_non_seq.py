"""Loop-invariant code motion: a value that depends only on non-sequences is computed once, before the loop
(PushOutNonSeqScan)."""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Args, Clock, Int, Op, State, Text, Value, delay, hold, on, seq, steps, to_step
from scanopt.facts.lists import held
from scanopt.facts.loops import same_value, some_steps
from scanopt.facts.operators import guarded_by
from scanopt.facts.raising import always, hoistable, invariant
from scanopt.facts.shapes import same_length


@law(
    licence="exact",
    stepwise=True,
    source="Theano scan internals, PushOutNonSeqScan",
    example=lambda x, y: scanopt.map(lambda v, w: v + T.exp(w), x, [y])[0],
    never=(
        lambda x: scanopt.map(lambda v: T.exp(v), x)[0],
        lambda x, y, n: scanopt.map(lambda v, w, i: v + w[i], x, [y, n])[0],
    ),
)
def invariant_of_loop(c: Clock, op: Op, args: Args, outer: Args, flags: Text) -> Equation:
    """An operator of loop-invariant arguments is loop-invariant."""
    when = [held(c, args, outer, flags), hoistable(c, op, args)]
    return Equation(op(args), hold(c, op(outer)), when=when)


def _first_of(x: Any, a: Any, n: Any) -> Any:
    return scanopt.scan(lambda s, a: T.tanh(s) * a[0], None, [x], [a], n_steps=n)[0]


@law(
    licence="exact",
    example=lambda x, y, n: _first_of(x, y, n),
    never=(
        lambda x, n: scanopt.scan(lambda s: T.tanh(s), None, [x], n_steps=n)[0],
        lambda x, m, y: scanopt.map(lambda v, b, y: T.ifelse(b, v * y[0], v), [x, m], [y])[0],
    ),
)
def guarded_invariant(c: Clock, op: Op, guarded: Op, args: Args, outer: Args, flags: Text) -> Equation:
    """A loop-invariant operator that may raise is computed before the loop, guarded: it runs only if the loop takes
    a step."""
    when = [held(c, args, outer, flags), guarded_by(op, guarded), always(op(args))]
    return Equation(op(args), hold(c, guarded(steps(c), outer)), when=when)


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    example=lambda X: scanopt.map(lambda row: row.sum() / row.shape[0], X)[0],
    never=lambda X: scanopt.map(lambda row: row.sum(), X)[0],
)
def length_of_entry(c: Clock, X: Value, k: Int) -> Equation:
    """All rows of a sequence have the same shape, also if a law made the sequence."""
    return Equation(seq(c, X).shape[k], hold(c, X.shape[k + 1]))


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    example=lambda X, n: scanopt.scan(lambda s: s / s.shape[0], None, [X[0]], n_steps=n)[0],
    never=lambda x, n: scanopt.scan(lambda s: T.tanh(s), None, [x], n_steps=n)[0],
)
def length_of_state(c: Clock, init: Value, s: State, j: Int, k: Int) -> Equation:
    """A state keeps its initial shape, also in a loop that a law made."""
    return Equation(delay(c, init, s, j).shape[k], hold(c, init.shape[k + 1]))


@law(
    licence="exact",
    example=lambda X, W: scanopt.map(lambda row, W: T.zeros(T.tanh(T.dot(row, W)).shape[0]) + 1.0, X, W)[0],
    never=lambda X, W, n: scanopt.map(lambda row, n: T.zeros(row[:n].shape[0]) + 1.0, X, n)[0],
)
def length_from_outside(v: Value, w: Value) -> Equation:
    """A length that follows from shapes alone is a length of an array further out, or a constant."""
    return Equation(v, w, when=[same_length(v, w)])


def _reduced(v: Any) -> Any:
    return scanopt.scan(lambda v, s: T.tanh(s + v), v, [T.constant(0.0, dtype="float64")])[0].sum()


@law(
    licence="exact",
    example=(
        lambda x, y: scanopt.scan(lambda v, s, y: T.tanh(s * _reduced(y) + v), x, [x[0]], [y])[0],
        lambda X, x: scanopt.map(lambda r, x: scanopt.map(lambda v, x: T.tanh(_reduced(x) * v), r, [x])[0], X, [x])[0],
        lambda X: scanopt.map(lambda r: scanopt.map(lambda v, r: T.tanh(_reduced(r) * v), r, [r])[0], X)[0],
    ),
    never=(
        lambda X, a: scanopt.scan(lambda r, s: T.tanh(s * _reduced(r)), X, [a])[0],
        lambda x: scanopt.scan(lambda s: s * _reduced(s), None, [x], n_steps=5)[0],
        lambda x, X, Y: scanopt.scan(
            lambda v, s, X, Y: s * scanopt.scan(lambda r, z: T.tanh(z + r), X, [Y[7]])[0].sum() + v, x, [x[0]], [X, Y]
        )[0],
    ),
)
def loop_that_changes_nothing(c: Clock, V: Value) -> Equation:
    """A loop inside c that reads nothing that changes in c runs once, before c."""
    return Equation(V, hold(c, on(to_step(c, 0), V)), when=[invariant(c, V)])


def _added(x: Any, n: Any) -> Any:
    return scanopt.scan(lambda s, v: s + v * T.ones_like(v), None, [x], [x], n_steps=n)[0]


@law(
    licence="exact",
    enabling=True,
    example=lambda x: _added(x, 5),
    never=(lambda x, n: _added(x, n), lambda x, y: scanopt.scan(lambda v, w: v * w, None, None, [x, y], n_steps=5)[0]),
)
def equal_invariants(c: Clock, x: Value, y: Value) -> Equation:
    """Non-sequences that are equal inside a loop of at least one step are equal outside it.

    Otherwise every form of a non-sequence would make a new form of each operator of it.
    """
    return Equation(x, y, when=[same_value(c, x, y), some_steps(c)])
