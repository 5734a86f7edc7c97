"""A value that no later step needs is computed from traces, after the loop (PushOutScanOutput)."""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Args, Clock, Int, Op, Text, Value, hold, ops, seq, stack, steps, tail, vmap
from scanopt.facts.loops import runs_all
from scanopt.facts.traces import traced_all


def _rnn(X: Any, W: Any) -> Any:
    zero = T.zeros_like(W[0])
    step = lambda v, h, w: [T.tanh(v + h), T.dot(T.tanh(v + h), w)]  # noqa: E731
    return scanopt.scan(step, X, [zero, None], [W])[0]


def _beside(X: Any) -> Any:
    """An output that is computed from a state and not fed back."""
    return scanopt.scan(lambda v, h: [v + T.tanh(h), T.exp(v + T.tanh(h))], X, [T.zeros_like(X[0]), None])[0][1]


def _same_until(x: Any, n: Any) -> Any:
    """The value x at every step, until a counter ends the loop."""
    return scanopt.scan(lambda k, v: (v, k + 1, scanopt.until(k > 1)), None, [None, 0], [x], n_steps=n)[0][0]


@law(
    licence="exact",
    source="Theano scan internals, PushOutScanOutput",
    example=lambda X, W: _rnn(X, W)[1],
    never=lambda X, W: _rnn(X, W)[0],
)
def trace_of_operator(c: Clock, op: Op, args: Args, outer: Args, flags: Text) -> Equation:
    """The trace of an operator is the batched operator of traces."""
    return Equation(stack(c, op(args)), vmap(op, flags)(outer), when=[traced_all(c, 0, op, args, outer, flags)])


@law(
    licence="exact",
    source="Theano scan internals, PushOutScanOutput",
    example=(lambda X, W: _rnn(X, W)[1][-1], lambda X: _beside(X)[-2:]),
    never=(lambda X, W: _rnn(X, W)[0][-1], lambda x, p: scanopt.map(lambda i, x: x[i], p, [x])[0][-1:]),
)
def last_of_operator(c: Clock, op: Op, k: Int, args: Args, outer: Args, flags: Text) -> Equation:
    """The last rows of an operator are the batched operator of last rows."""
    return Equation(tail(c, op(args), k), vmap(op, flags)(outer), when=[traced_all(c, k, op, args, outer, flags)])


@law(
    licence="exact",
    example=lambda x: scanopt.map(lambda v: T.exp(v), x)[0][-1],
    never=(
        lambda x: scanopt.scan(lambda v, s: v + T.tanh(s), x, [T.constant(0.0, dtype="float64")])[0][-1],
        lambda x: scanopt.map(lambda v: (v, scanopt.until(v > 1)), x)[0][-1],
    ),
)
def last_of_sequence(c: Clock, X: Value, k: Int) -> Equation:
    """The last rows of the trace of a sequence are last rows of the sequence."""
    return Equation(tail(c, seq(c, X), k), X[-k:], when=[runs_all(c)])


@law(
    licence="exact",
    example=lambda x, n: scanopt.scan(lambda v: v * 2, None, None, [x], n_steps=n)[0],
    never=(lambda x: scanopt.map(lambda v: v, x)[0], lambda x, n: _same_until(x, n)),
)
def trace_of_invariant(c: Clock, x: Value) -> Equation:
    """The trace of a loop-invariant value is that value, repeated."""
    return Equation(stack(c, hold(c, x)), ops.repeat_rows(x, steps(c)), when=[runs_all(c)])


@law(
    licence="exact",
    enabling=True,
    example=lambda X: scanopt.scan(lambda v, s: [T.tanh(s + v), (s * v)[:, None]], X, [X[0], None])[0][1],
    never=(
        lambda X: scanopt.scan(lambda v, s: [T.tanh(s + v), s * v], X, [X[0], None])[0][1],
        lambda X: scanopt.scan(lambda v, s: [T.tanh(s + v), (s * v)[None]], X, [X[0], None])[0][1],
    ),
)
def trace_of_columns(c: Clock, v: Value) -> Equation:
    """The trace of columns is the trace of their entries, with a new axis."""
    return Equation(stack(c, ops.expand_dims(v, axis=(1,))), ops.expand_dims(stack(c, v), axis=(2,)))
