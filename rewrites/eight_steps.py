"""Affine recurrences of one number become operators that do eight steps at once.

A loop of single steps is slow because each step depends on the one before and has little else to do.
"""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Value, ops
from scanopt.facts.values import float_vector


def _trace(step: Any, x: Any, start: Any, *more: Any) -> Any:
    return scanopt.scan(step, x, start, list(more), n_steps=500)[0]


def _two(y: Any) -> Any:
    """A state with two taps."""
    return dict(initial=y[:2], taps=[-2, -1])


@law(
    licence="reassoc",
    source="prefix sums [Kogge and Stone 1973]",
    example=lambda x, a: _trace(lambda v, s: s + v, x, a),
    never=(
        lambda X, y: _trace(lambda v, s: s + v, X, y),
        lambda p, n: _trace(lambda v, s: s + v, p, n),
        lambda x, a: _trace(lambda v, s: T.maximum(s, v), x, a),
    ),
)
def sums_of_eight(init: Value, x: Value) -> Equation:
    """Running sums of a vector are sums of its elements among eight, and what comes before these."""
    left = ops.accumulate(init, x, ufunc="add")
    return Equation(left, ops.regrouped_sum(init, x), when=[float_vector(left)])


@law(
    licence="reassoc",
    source="impulse responses",
    example=lambda x, a, b: _trace(lambda v, s, b: s * b + v, x, a, b),
    never=(
        lambda X, y, b: _trace(lambda v, s, b: s * b + v, X, y, b),
        lambda x, a, b: _trace(lambda v, s, b: T.tanh(s) * b + v, x, a, b),
    ),
)
def filter_of_eight(init: Value, x: Value, a: Value) -> Equation:
    """Eight steps of a filter of one number are responses to what comes in among them, and to the state before."""
    left = ops.lfilter(init, x, a)
    return Equation(left, ops.regrouped_filter(init, x, a), when=[float_vector(left)])


@law(
    licence="reassoc",
    source="exponential smoothing, by impulse responses",
    example=lambda x, a, b: _trace(lambda v, s, b: s + b * (v - s), x, a, b),
    never=(
        lambda X, y, b: _trace(lambda v, s, b: s + b * (v - s), X, y, b),
        lambda x, y, a: _trace(lambda v, w, s: s + w * (v - s), [x, y], a),
    ),
)
def smoothing_of_eight(init: Value, x: Value, a: Value, n: Value) -> Equation:
    """Eight steps of a smoothing with one factor are responses to what comes in, and to the state before."""
    left = ops.smoothing(init, ops.repeat_rows(a, n), x)
    return Equation(left, ops.regrouped_smoothing(init, x, a), when=[float_vector(left)])


@law(
    licence="reassoc",
    source="impulse responses",
    example=lambda x, y, a, b: _trace(lambda v, r, s, a, b: a * s + b * r + v, x, _two(y), a, b),
    never=(
        lambda X, Y, a, b: _trace(lambda v, r, s, a, b: a * s + b * r + v, X, _two(Y), a, b),
        lambda x, y, a, b: _trace(lambda v, r, s, a, b: T.tanh(a * s + b * r) + v, x, _two(y), a, b),
    ),
)
def filter2_of_eight(init: Value, x: Value, a: Value, b: Value) -> Equation:
    """The same of a filter that looks back at two rows."""
    left = ops.lfilter2(init, x, a, b)
    return Equation(left, ops.regrouped_filter2(init, x, a, b), when=[float_vector(left)])
