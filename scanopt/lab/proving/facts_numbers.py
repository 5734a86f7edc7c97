"""The meanings of facts about constant numbers: zeros, powers of two, and small integers."""

from __future__ import annotations

import numpy as np

from scanopt.calculus.terms import Term, Text
from scanopt.lab.proving.arrays import array, filled
from scanopt.lab.proving.entries import same
from scanopt.lab.proving.facts import fact, say
from scanopt.lab.proving.model import Model

__all__: list[str] = []


def _is(m: Model, v: Term, number: float) -> None:
    """Assume that all entries of a value, outside of loops, are this number."""
    found = m.value(v, {})
    for e in found.entries:
        m.assume(same(e, number, found.dtype))


@fact
def nothing(m: Model, v: Term) -> None:
    if v.head in m.types:
        _is(m, v, 0)
    else:
        say(m, v, lambda at: array(0))


@fact
def power_of_two(m: Model, v: Term, k: Text | str) -> None:
    _is_power(m, v, _exponent(m, k))


@fact
def reciprocal_of_power(m: Model, v: Term, k: Text | str) -> None:
    _is_power(m, v, -_exponent(m, k))


def _exponent(m: Model, k: Text | str) -> int:
    return int(k if isinstance(k, str) else m.texts.setdefault(k.head, m.choose(f"the exponent {k}", ("-1", "1"))))


def _is_power(m: Model, v: Term, exponent: int) -> None:
    dtype, shape = m.type_of(v)
    m.assume(m.kind(dtype) == "float" and shape == ())
    _is(m, v, 2.0**exponent)


@fact
def moderate(m: Model, v: Term) -> None:
    dtype, shape = m.type_of(v)
    m.assume(m.kind(dtype) == "float" and shape == ())
    _is(m, v, m.choose(f"the number {v}", (-2.0, 0.5)))


@fact
def above_zero(m: Model, v: Term) -> None:
    dtype, shape = m.type_of(v)
    m.assume(m.kind(dtype) == "float" and shape == ())
    _is(m, v, m.choose(f"the number {v}", (2.0, 0.5)))


@fact
def exponent(m: Model, v: Term, k: Text | str) -> None:
    m.assume(m.kind(m.dtypes[0]) == "float")
    say(m, v, lambda at: filled(m.dtypes[0], (), [float(str(k))]))


@fact
def small_integer(m: Model, v: Term) -> None:
    number = m.choose(f"the number {v}", (-1, 0, 1))
    say(m, v, lambda at: array(np.int64(number)))


@fact
def positive(m: Model, v: Term) -> None:
    number = m.choose(f"the number {v}", (1, 2))
    say(m, v, lambda at: array(np.int64(number)))
