"""Sums of arrays of zeros with something added to a part of each become one array to which all of it is added.

Gradients of several parts of one array are such sums.
"""

from typing import Any

import scanopt.tensor as T
from scanopt.calculus.condition import Rules, fact, when
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Args, Op, Text, Value, args
from scanopt.facts.parts import adds_to_part, adds_to_parts
from scanopt.facts.values import like, nothing, of_dtype


@fact
def filled_up(x: Value, Z: Value, *, op: Op, r: Args, w: Value) -> Rules:
    """x is Z, an array of zeros, with something added to parts of it: no element is -0.0 that was 0.0."""
    yield when(x.is_(op(args(Z, r))), adds_to_part(op), nothing(Z)).then(filled_up(x, Z))
    yield when(x.is_(op(args(w, r))), adds_to_part(op), filled_up(w, Z)).then(filled_up(x, Z))


def _part(v: Any, of: Any) -> Any:
    """Zeros in the shape of the array `of`, with v added to the first rows."""
    return T.inc_subtensor(T.zeros_like(of)[: v.shape[0]], v)


def _narrow(x: Any) -> Any:
    return T.cast(x, "float32")


@law(
    licence="exact",
    source="gradients of several parts of one array",
    stepwise=True,
    example=lambda x, y, z: _part(T.exp(x[:2]), z) + T.inc_subtensor(T.zeros_like(z)[1:2], T.tanh(y[:1])),
    never=(
        lambda x, y, z: _part(T.exp(x[:2]), z) + T.inc_subtensor(T.ones_like(z)[1:2], T.tanh(y[:1])),
        lambda x, y, z: T.exp(z) + T.inc_subtensor(T.zeros_like(z)[1:2], T.tanh(y[:1])),
        lambda x, z: (
            T.inc_subtensor(T.zeros_like(z)[:1], x[:1]) + T.inc_subtensor(T.zeros_like(z)[T.arange(3) * 0], x[:3])
        ),
        lambda x, y, z: T.inc_subtensor(T.exp(z)[:1], x[:1]) + T.inc_subtensor(T.exp(z)[1:2], y[:1]),
        lambda x, z: T.zeros_like(z)[:1] + T.inc_subtensor(T.zeros_like(z)[1:2], x[:1]),
        lambda x, z: _part(x[:1], z)[:1] + T.inc_subtensor(T.zeros_like(z)[1:2], x[:1]),
    ),
)
def part_of_zeros_added(x: Value, Z: Value, y: Value, r: Args, op: Op) -> Equation:
    """What is added to a part of zeros, and this to zeros of which others were, is added to that part of these."""
    when = [filled_up(x, Z), adds_to_part(op)]
    return Equation(x + op(args(Z, args(y, r))), op(args(x, args(y, r))), when=when)


@law(
    licence="reassoc",
    source="gradients of a part of an array that is read elsewhere too",
    stepwise=True,
    example=(
        lambda x, y: T.exp(x) + _part(T.tanh(y[:1]), T.exp(x)),
        lambda x, p: T.exp(x) + T.inc_subtensor(T.zeros_like(T.exp(x))[p % 2], T.tanh(x[0])),
    ),
    never=(
        lambda x, y: T.exp(x) + T.inc_subtensor(T.ones_like(x)[:1], T.tanh(y[:1])),
        lambda x, y: x + _part(T.tanh(y[:1]), y),
        lambda x, y: T.exp(x) + T.set_subtensor(T.zeros_like(T.exp(x))[:1], T.tanh(y[:1])),
        lambda x, y: _narrow(x) + T.inc_subtensor(T.zeros_like(_narrow(x), dtype="float64")[:1], T.tanh(y[:1])),
    ),
)
def part_added_to_all(x: Value, Z: Value, e: Value, y: Value, r: Args, op: Op, d: Text) -> Equation:
    """What is added to a part of zeros, and this to an array, is added to that part of the array (-0.0 aside)."""
    when = [like(Z, x, e), nothing(e), adds_to_parts(op), of_dtype(x, d), of_dtype(Z, d)]
    return Equation(x + op(args(Z, args(y, r))), op(args(x, args(y, r))), when=when)
