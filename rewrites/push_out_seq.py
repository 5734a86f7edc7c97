"""A value that depends only on sequences is computed for all steps at once (PushOutSeqScan)."""

import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Args, Clock, Int, Op, Text, Value, ops, seq, stack, vmap
from scanopt.facts.lists import sliced
from scanopt.facts.loops import runs_all, same_entries
from scanopt.facts.raising import raises_alike
from scanopt.facts.traces import batchable
from scanopt.facts.values import at_least


@law(
    licence="exact",
    source="Theano scan internals, PushOutSeqScan",
    example=(
        lambda x, y: scanopt.scan(lambda v, s: T.tanh(s) + T.exp(v), x, [T.constant(1.0, dtype="float64")])[0],
        lambda X, W: scanopt.map(lambda v, w: T.dot(v, w), X, [W])[0],
    ),
    never=(
        lambda n: scanopt.scan(lambda s: T.exp(s), None, [T.constant(1.0, dtype="float64")], n_steps=n)[0],
        lambda p: scanopt.map(lambda i: T.arange(i).sum(), p)[0],
        lambda x, p, m: scanopt.map(lambda i, b, v: (v[i], scanopt.until(b)), [p, m], [x])[0],
    ),
)
def operator_of_sequences(c: Clock, op: Op, args: Args, outer: Args, flags: Text) -> Equation:
    """An operator of rows of sequences is a row of the batched operator."""
    return Equation(
        op(args),
        seq(c, vmap(op, flags)(outer)),
        when=[sliced(c, args, outer, flags), batchable(c, op, args), raises_alike(c, op, args)],
    )


@law(
    licence="exact",
    source="Theano scan internals, PushOutSeqScan (whole loop)",
    example=lambda x: scanopt.map(lambda v: v, x)[0],
    never=(
        lambda x: scanopt.scan(lambda v, s: T.tanh(v + s), x, [T.constant(0.0, dtype="float64")])[0],
        lambda x: scanopt.map(lambda v: (v, scanopt.until(v > 1)), x)[0],
    ),
)
def stack_of_sequence(c: Clock, X: Value) -> Equation:
    """The trace of a sequence is the sequence."""
    return Equation(stack(c, seq(c, X)), X, when=[runs_all(c)])


@law(
    licence="exact",
    enabling=True,
    example=lambda x: scanopt.scan(lambda v, s: T.tanh(s * T.neg(T.neg(v))), x, [0.0])[0],
    never=(
        lambda x, y: scanopt.map(lambda v, w: v * w, [x, y])[0],
        lambda p: scanopt.scan(lambda v, s: (T.tanh(s) + T.maximum(v, v), scanopt.until(s > 1)), p, [0.0])[0],
    ),
)
def equal_sequences(c: Clock, X: Value, Y: Value) -> Equation:
    """Sequences with equal rows are equal.

    Otherwise every form of a sequence would make a new form of each operator of it.
    """
    return Equation(X, Y, when=[same_entries(c, X, Y), runs_all(c)])


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    example=(
        lambda X: scanopt.map(lambda row: T.exp(row[0]), X[:, None])[0],
        lambda X: scanopt.map(lambda row: T.exp(row[:, 0]), T.expand_dims(X, 2))[0],
    ),
    never=lambda X: scanopt.map(lambda rows: T.exp(rows).sum(axis=0), X[None])[0],
)
def sequence_with_an_axis(c: Clock, X: Value, k: Int) -> Equation:
    """A row of an array with an axis more, which is not the first one, is a row with that axis."""
    row = ops.expand_dims(seq(c, X), axis=(k - 1,))
    return Equation(seq(c, ops.expand_dims(X, axis=(k,))), row, when=[at_least(k, 1)])
