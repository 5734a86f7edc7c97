"""Facts about bools and bits, and about choices between updates of a state."""

from __future__ import annotations

from scanopt.calculus.condition import Body, Rules, fact, query, when
from scanopt.calculus.terms import Clock, Op, Text, Value, dtype, hold

__all__ = ["boolean", "minus_one", "negates", "on_bools", "picks", "picks_other", "unit"]


@query
def boolean(v: Value) -> Body:
    """v has dtype bool."""
    return (dtype(v).is_("bool"),)


@fact
def on_bools(op: Op, g: Op) -> None:
    """op(x, y) = g(x, y) for bools (given)."""


@fact
def minus_one(d: Text, k: Text, e: Value) -> None:
    """e, of key k, is the constant of dtype d with all bits set: -1 for integers, True for bools (given)."""


@fact
def negates(e: Value, d: Text, *, c: Clock, x: Value) -> Rules:
    """e is the number -1 of dtype d, outside of loops (given) or held by them."""
    yield when(e.is_(hold(c, x)), negates(x, d)).then(negates(e, d))


@fact
def unit(op: Op, d: Text, k: Text, e: Value) -> None:
    """e, of key k, is the constant of dtype d with op(x, e) = x, bit for bit; op is elementwise (given)."""


@fact
def picks(op: Op, g: Op) -> None:
    """where(op(x, y), x, y) = g(x, y) for integers of one dtype (given)."""


@fact
def picks_other(op: Op, g: Op) -> None:
    """where(op(x, y), y, x) = g(x, y) for integers of one dtype (given)."""
