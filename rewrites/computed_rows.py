"""Parts of traces with computed bounds: the loop keeps only the rows that are read and runs only the steps they need.

If a loop runs all its steps, the rows that a part reads are known before the loop begins.  If it may end early, a bound
that counts from the start limits its steps, and a bound that counts from the end limits the last rows that it keeps.
"""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Args, Clock, Op, Value, args, hold, on, recent, stack, steps, tail, to_upto, upto
from scanopt.facts.loops import runs_all
from scanopt.facts.parts import reads_rows, takes_row, takes_rows, written_bounds


def _decay(x: Any, n: Any) -> Any:
    return scanopt.scan(lambda s: T.tanh(s), None, [x], n_steps=n)[0]


def _decay_until(x: Any, n: Any) -> Any:
    return scanopt.scan(lambda s: (T.tanh(s), scanopt.until((s < 0.1).all())), None, [x], n_steps=n)[0]


def _over(trace: Any, x: Any) -> Any:
    """A loop over the rows of a trace."""
    return scanopt.scan(lambda v, s: T.tanh(s + v), trace, [x])[0]


@law(
    licence="exact",
    source="Theano scan internals, ScanSaveMem (a computed index)",
    example=(lambda x, n, k: _decay(x, n)[k], lambda x, n: _decay(x, n)[n // 2]),
    never=(lambda x, n, k: _decay_until(x, n)[k], lambda x, n, k: _decay(x, n)[k:]),
)
def row_at_computed_place(c: Clock, v: Value, op: Op, k: Args, g: Op) -> Equation:
    """Row k of a trace is the last row of a loop that stops after step k."""
    rows = args(steps(c), k)
    last = tail(upto(c, g(rows)), on(to_upto(c, g(rows)), v), 1)
    return Equation(op(stack(c, v), k), last[-1], when=[takes_row(op, g), runs_all(c)])


@law(
    licence="exact",
    source="Theano scan internals, ScanSaveMem (computed bounds)",
    example=(lambda x, n, k: _decay(x, n)[-k:], lambda x, n, k: _decay(x, n)[1:k]),
    never=(
        lambda x, n, k: _decay_until(x, n)[-k:],
        lambda x, n, k: _decay(x, n)[k::2],
        lambda x, n: _over(_decay(x, n), x)[2],
    ),
)
def rows_between_computed_bounds(c: Clock, v: Value, op: Op, bounds: Args, g: Op, h: Op) -> Equation:
    """Consecutive rows of a trace are the last rows of a loop that stops after them."""
    rows = args(steps(c), bounds)
    d = upto(c, g(rows))
    kept = recent(d, on(to_upto(c, g(rows)), v), hold(d, h(rows)))
    part = op(stack(c, v), bounds)
    return Equation(part, kept, when=[takes_rows(op, g, h), runs_all(c), written_bounds(bounds)])


@law(
    licence="exact",
    source="Theano scan internals, ScanSaveMem (computed bounds, while loops)",
    example=(lambda x, n, k: _decay_until(x, n)[k], lambda x, n, k: _decay_until(x, n)[-k:]),
    never=(lambda x, n, k: _decay(x, n)[k::-1], lambda x, n: _over(_decay_until(x, n), x)[2]),
)
def part_of_rows_near(c: Clock, v: Value, op: Op, bounds: Args, g: Op, h: Op) -> Equation:
    """A part that reads only among the first n rows, or the last m, needs only these steps and these rows."""
    rows = args(steps(c), bounds)
    d = upto(c, g(rows))
    kept = recent(d, on(to_upto(c, g(rows)), v), hold(d, h(rows)))
    part = op(stack(c, v), bounds)
    return Equation(part, op(kept, bounds), when=[reads_rows(op, g, h), written_bounds(bounds)])
