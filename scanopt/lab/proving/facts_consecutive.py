"""Meanings of facts about loops in parts: what is computed alike is of one type."""

from __future__ import annotations

from scanopt.calculus.terms import Clock, Value
from scanopt.lab.proving.facts import fact
from scanopt.lab.proving.model import Model

__all__: list[str] = []


@fact
def goes_on(m: Model, c: Clock, v: Value, d: Clock, w: Value) -> None:
    x, y = m.value(v, {c: None}), m.value(w, {d: None})
    m.assume((x.dtype, x.shape) == (y.dtype, y.shape))


@fact
def joined(m: Model, c: Clock, v: Value, d: Clock, w: Value) -> None:
    goes_on(m, c, v, d, w)


@fact
def followed_by(m: Model, c: Clock, v: Value, w: Value) -> None:
    x, y = m.value(v, {c: None}), m.value(w, {})
    m.assume((x.dtype, x.shape) == (y.dtype, y.shape))


@fact
def preceded_by(m: Model, c: Clock, v: Value, w: Value) -> None:
    followed_by(m, c, v, w)
