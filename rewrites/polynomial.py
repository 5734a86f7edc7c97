"""Polynomials: Horner's scheme as a loop, and powers of one base, one per step."""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Clock, State, Value, delay, hold, one_row, ops, tail, vmap
from scanopt.facts.loops import runs_all, within
from scanopt.facts.recurrences import entries
from scanopt.facts.states import becomes
from scanopt.facts.values import floating, integer, scalar, vector


def _horner(step: Any, x: Any, start: Any, a: Any) -> Any:
    return scanopt.scan(step, x, start, [a], n_steps=5000)[0]


@law(
    licence="reassoc",
    source="the polynomial of the documents, by Horner's scheme",
    example=lambda a, b: _horner(lambda v, s, b: s * b + v, T.arange(5000.0), a, b)[-1],
    never=(
        lambda x, a, b: _horner(lambda v, s, b: T.tanh(s) * b + v, x, a, b)[-1],
        lambda x, a, b: _horner(lambda v, s, b: [s + v, s * b + v], x, [a, None], b)[1][-1],
        lambda x, a, b: _horner(lambda v, s, b: (s * b + v, scanopt.until(s > 1)), x, a, b)[-1],
        lambda p, n, k: _horner(lambda v, s, k: s * k + v, p, n, k)[-1],
    ),
)
def horner(c: Clock, init: Value, s: State, x: Value, y: Value, Y: Value, p: Clock) -> Equation:
    """The last value of s·x + y, with a fixed x, is a polynomial in x."""
    new = delay(c, init, s, 1) * hold(c, x) + y
    last = ops.polynomial(init[-1:], x, Y)
    row = one_row(c, last, p)
    return Equation(
        tail(c, new, 1), row, when=[becomes(s, new), entries(c, y, Y), floating(new), runs_all(c), within(c, p)]
    )


def _terms(f: Any, x: Any, *more: Any) -> Any:
    return scanopt.map(f, x, list(more))[0].sum(axis=0)


@law(
    licence="reassoc",
    source="the polynomial of the documents, term by term",
    example=lambda x: _terms(lambda i, x: i * x**i, T.arange(500), x),
    never=(
        lambda x, y, a: _terms(lambda v, w, a: v * a**w, [x, y], a),
        lambda x, a: _terms(lambda v, i, a: v * a**i, [x, T.arange(x.shape[0])], T.cast(a, "complex64")).real,
        lambda X, a: _terms(lambda v, w, a: v * a**w, [X, T.cast(T.abs(X), "int64")], a),
        lambda p, q, n: _terms(lambda v, i, n: v * n**i, [p, q], n),
    ),
)
def powers_of_one_base(x: Value, E: Value) -> Equation:
    """Powers of one base with a vector of integer exponents are computed together."""
    left = vmap(ops.power, "01")(x, E)
    return Equation(left, ops.powers(x, E), when=[floating(x), integer(E), vector(E)])


@law(
    licence="reassoc",
    source="the polynomial of the documents, by powers of all terms",
    example=lambda a: (a ** T.arange(5000)).sum(),
    never=(
        lambda a, x: (x * a**x).sum(),
        lambda x, p: (x**p).sum(),
        lambda n, p: (p * n**p).sum(),
        lambda a, X: (a ** T.cast(X, "int64")).sum(),
    ),
)
def powers_of_a_number(x: Value, E: Value) -> Equation:
    """Powers of a number with a vector of integer exponents are computed together."""
    return Equation(ops.power(x, E), ops.powers(x, E), when=[floating(x), scalar(x), integer(E), vector(E)])
