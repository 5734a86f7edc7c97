"""Few values stacked to be added or multiplied: sums and products of small vectors are those of their numbers."""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Text, Value, ops
from scanopt.facts.raising import fits
from scanopt.facts.values import floating, of_dtype, scalar


def _pair(*xs: Any) -> Any:
    return T.stack(xs)


def _narrow(x: Any) -> Any:
    return T.cast(x, "float32")


def _whole(x: Any) -> Any:
    return T.cast(x, "int8")


@law(
    licence="reassoc",
    stepwise=True,
    example=(lambda a, b: _pair(a, b).sum(), lambda x: _pair(T.exp(x), x).sum(axis=0)),
    never=(
        lambda a, b: _pair(a, b).prod(),
        lambda x: _pair(T.exp(x), x).sum(axis=1),
        lambda n: _pair(_whole(n), _whole(-n)).sum(),
        lambda a, b: _pair(_narrow(a), b).sum(),
        lambda x, y: _pair(x, y).sum(axis=0),
    ),
)
def sum_of_two_stacked(x: Value, y: Value, d: Text) -> Equation:
    """stack(x, y).sum(axis=0) = x + y."""
    pair = ops.stack(x, y, axis=0)
    when = [floating(x), of_dtype(x, d), of_dtype(y, d), fits(pair)]
    return Equation(ops.sum(pair, axis=(0,), keepdims=False), x + y, when=when)


@law(
    licence="reassoc",
    stepwise=True,
    example=(lambda a, b: _pair(a, b, a * b).sum(), lambda x: _pair(T.exp(x), x, T.tanh(x)).sum(axis=0)),
    never=(
        lambda a, b: _pair(a, b, a).prod(),
        lambda n: _pair(_whole(n), _whole(-n), _whole(n)).sum(),
        lambda a, b: _pair(_narrow(a), b, b).sum(),
        lambda a, b: _pair(a, _narrow(b), b).sum(),
        lambda a, b: _pair(a, b, _narrow(b)).sum(),
        lambda x, y: _pair(x, y, x).sum(axis=0),
    ),
)
def sum_of_three_stacked(x: Value, y: Value, z: Value, d: Text) -> Equation:
    """stack(x, y, z).sum(axis=0) = x + y + z."""
    three = ops.stack(x, y, z, axis=0)
    when = [floating(x), of_dtype(x, d), of_dtype(y, d), of_dtype(z, d), fits(three)]
    return Equation(ops.sum(three, axis=(0,), keepdims=False), x + y + z, when=when)


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    example=lambda a, b, x: (_pair(a, b) * _pair(b, T.exp(a)))[0] * x,
    never=(
        lambda a, b, x, y: _pair(a, b) * _pair(x, y),
        lambda x, y, a, b: _pair(x, y) * _pair(a, b),
        lambda a, b: _pair(a, b) + _pair(b, a),
        lambda a, b, n: _pair(a, n) * _pair(b, a),
        lambda a, b, n: _pair(n, a) * _pair(b, a),
        lambda a, b, n: _pair(b, a) * _pair(a, n),
        lambda a, b, n: _pair(b, a) * _pair(n, a),
    ),
)
def product_of_stacked(a: Value, b: Value, x: Value, y: Value, d: Text) -> Equation:
    """stack(a, b) * stack(x, y) = stack(a * x, b * y) for numbers."""
    left = ops.stack(a, b, axis=0) * ops.stack(x, y, axis=0)
    same = [of_dtype(v, d) for v in (a, b, x, y)]
    return Equation(left, ops.stack(a * x, b * y, axis=0), when=[scalar(a), scalar(x), *same])


@law(
    licence="reassoc",
    stepwise=True,
    example=lambda x, a, b: scanopt.scan(
        lambda v, s, r: T.dot(_pair(a, b), _pair(s, r)) + v, x, dict(initial=_pair(a, b), taps=[-1, -2])
    )[0],
    never=(
        lambda a, b, x: T.dot(_pair(a, b), x[:2]),
        lambda a, b, x, y: T.dot(_pair(a, b), _pair(x, y)),
        lambda a, b, x, y: T.dot(_pair(x, y), _pair(a, b)),
        lambda n, k: T.dot(_pair(_whole(n), _whole(k)), _pair(_whole(k), _whole(n))),
        lambda a, b: T.dot(_pair(_narrow(a), b), _pair(a, b)),
        lambda a, b: T.dot(_pair(a, _narrow(b)), _pair(a, b)),
        lambda a, b: T.dot(_pair(a, b), _pair(_narrow(a), b)),
        lambda a, b: T.dot(_pair(a, b), _pair(a, _narrow(b))),
    ),
)
def product_of_two_pairs(a: Value, b: Value, x: Value, y: Value, d: Text) -> Equation:
    """stack(a, b) @ stack(x, y) = a * x + b * y for numbers."""
    left = ops.dot(ops.stack(a, b, axis=0), ops.stack(x, y, axis=0))
    same = [of_dtype(v, d) for v in (a, b, x, y)]
    return Equation(left, a * x + b * y, when=[scalar(a), scalar(x), floating(a), *same])


@law(
    licence="reassoc",
    stepwise=True,
    example=lambda a, b: T.dot(_pair(a, b, a * b), _pair(b, a, a + b)),
    never=(
        lambda a, b, x, y: T.dot(_pair(a, b, a), _pair(x, y, x)),
        lambda a, b, x, y: T.dot(_pair(x, y, x), _pair(a, b, a)),
        lambda X, x, y: T.dot(_pair(x, y, x), X),
        lambda n, k: T.dot(_pair(_whole(n), _whole(k), _whole(n)), _pair(_whole(k), _whole(n), _whole(n))),
        lambda a, b: T.dot(_pair(_narrow(a), b, a), _pair(a, b, a)),
        lambda a, b: T.dot(_pair(a, _narrow(b), a), _pair(a, b, a)),
        lambda a, b: T.dot(_pair(a, b, _narrow(a)), _pair(a, b, a)),
        lambda a, b: T.dot(_pair(a, b, a), _pair(_narrow(a), b, a)),
        lambda a, b: T.dot(_pair(a, b, a), _pair(a, _narrow(b), a)),
        lambda a, b: T.dot(_pair(a, b, a), _pair(a, b, _narrow(a))),
    ),
)
def product_of_two_triples(a: Value, b: Value, c: Value, x: Value, y: Value, z: Value, d: Text) -> Equation:
    """stack(a, b, c) @ stack(x, y, z) = a * x + b * y + c * z for numbers."""
    left = ops.dot(ops.stack(a, b, c, axis=0), ops.stack(x, y, z, axis=0))
    same = [of_dtype(v, d) for v in (a, b, c, x, y, z)]
    return Equation(left, a * x + b * y + c * z, when=[scalar(a), scalar(x), floating(a), *same])
