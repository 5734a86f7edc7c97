"""What depends on non-sequences alone is computed once, before the loop (PushOutNonSeqScan)."""

import scanopt
import scanopt.tensor as T
from scanopt.calculus.facts import held, hoistable
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Args, Clock, Op, Text, apply, hold


@law(
    licence="exact",
    source="Theano scan internals, PushOutNonSeqScan",
    example=lambda x, y: scanopt.map(lambda v, w: v + T.exp(w), x, [y])[0],
    never=(
        lambda x: scanopt.map(lambda v: T.exp(v), x)[0],
        lambda x, y, n: scanopt.map(lambda v, w, i: v + w[i], x, [y, n])[0],
    ),
)
def invariant_of_loop(c: Clock, op: Op, args: Args, outer: Args, flags: Text) -> Equation:
    """An operator of values that never change never changes."""
    return Equation(apply(op, args), hold(c, apply(op, outer)), when=[held(c, args, outer, flags), hoistable(c, op)])
