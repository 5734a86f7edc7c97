"""Checks that always hold are dropped; guards of values that are errors if a loop takes no step are moved outward."""

from typing import Any

import scanopt
import scanopt.loops.require  # an operator of its own, beside those of the table
import scanopt.tensor as T
from scanopt.calculus.condition import fact
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Args, Op, Value, ops
from scanopt.facts.numbers import differ
from scanopt.facts.operators import by_element
from scanopt.facts.parts import is_a_part_of_rows
from scanopt.facts.recurrences import recurrent
from scanopt.facts.values import positive, scalar


@fact
def holds_of_equals(op: Op) -> None:
    """op(n, n) is n: a check that holds of any number and itself (given)."""


def _steps(x: Any, n: Any) -> Any:
    return scanopt.scan(lambda v, s: T.tanh(s + v), x, x[0], n_steps=n)[0]


def _sums(x: Any, start: Any) -> Any:
    return scanopt.scan(lambda v, s: s + v, x, start)[0]


def _halves(x: Any, start: Any) -> Any:
    """Running sums by two loops, one for each half of x."""
    n = x.shape[0] // 2
    first = _sums(x[:n], start)
    return T.concatenate([first, _sums(x[n:], first[-1])])


def _with_the_one_before(step: Any, x: Any) -> Any:
    """step of each entry and the one before, which a state hands on."""
    return scanopt.scan(lambda v, before: [v, step(v, before)], x[1:], [x[0], None])[0][1]


@law(
    licence="exact",
    stepwise=True,
    example=lambda x: _steps(x, x.shape[0]),
    never=(lambda x, n: _steps(x, n), lambda p: (p - p) * 2),
)
def number_checked_against_itself(op: Op, n: Value) -> Equation:
    """A number is as large as itself: nothing is left to check."""
    return Equation(op(n, n), n, when=[holds_of_equals(op)])


@law(
    licence="exact",
    enabling=True,
    example=(lambda x, a: _halves(x, a), lambda x: _with_the_one_before(lambda v, before: T.tanh(v - before), x)),
    never=(lambda x: x[-1:] * 2.0, lambda x: x[: x[1:].shape[0]] * 2.0, lambda X: T.cumprod(_row_sums(X), axis=0)),
)
def rows_of_given(op: Op, x: Value, n: Value, r: Args) -> Equation:
    """Rows of what is given if n is not 0 are given so."""
    return Equation(op(ops.given(x, n), r), ops.given(op(x, r), n), when=[is_a_part_of_rows(op)])


def _summed(n: Any) -> Any:
    """A step that adds up numbers, at least one, in a loop of n steps."""
    start = T.constant(0.0, dtype="float64")

    def step(v: Any, s: Any, *held: Any) -> Any:
        added = lambda i, a: a + T.tanh(s * T.cast(i, "float64"))  # noqa: E731
        return T.tanh(v + scanopt.scan(added, T.arange(*held or [n]), [start])[0][-1])

    return step


def _row_sums(X: Any) -> Any:
    return scanopt.scan(lambda v, s: s + v, X, T.zeros_like(X[0]))[0]


def _running_products(X: Any, start: Any) -> Any:
    return scanopt.scan(lambda v, s: s * v, X, start)[0]


@law(
    licence="exact",
    enabling=True,
    example=(
        lambda k: scanopt.scan(lambda s: T.maximum(s, s), None, [k], n_steps=2)[0][-1],
        lambda x: scanopt.scan(_summed(3), x, [x[0]])[0],
    ),
    never=(lambda X: T.exp(_row_sums(X)), lambda x, n: scanopt.scan(_summed(n), x, [x[0]], [n])[0]),
)
def given_in_any_case(x: Value, n: Value) -> Equation:
    """What is given if a number is not 0 is given if that is a positive constant."""
    return Equation(ops.given(x, n), x, when=[positive(n)])


@law(
    licence="exact",
    enabling=True,
    example=lambda X: T.exp(_row_sums(X)),
    never=(lambda X: T.cumprod(_row_sums(X), axis=0), lambda X: T.exp(X)),
)
def function_of_given(op: Op, x: Value, n: Value) -> Equation:
    """A function of elements, of what is given if n is not 0, is given so."""
    return Equation(op(ops.given(x, n)), ops.given(op(x), n), when=[by_element(op)])


@law(
    licence="exact",
    enabling=True,
    example=lambda X: _row_sums(X) * 2.0,
    never=(
        lambda X, n: T.repeat(_row_sums(X), n, axis=0),
        lambda X, y: _row_sums(X) * y,
        lambda k: scanopt.scan(lambda s: T.maximum(s, s), None, [k], n_steps=2)[0][-1],
    ),
)
def given_and_number(op: Op, x: Value, n: Value, a: Value) -> Equation:
    """The same beside a number, unless that changes nothing."""
    left = op(ops.given(x, n), a)
    when = [by_element(op), scalar(a), differ(left, ops.given(x, n))]
    return Equation(left, ops.given(op(x, a), n), when=when)


@law(
    licence="exact",
    enabling=True,
    example=lambda X, y: _running_products(_row_sums(X), y),
    never=lambda X: T.concatenate([X, _row_sums(X)]),
)
def recurrence_of_given(op: Op, init: Value, x: Value, n: Value) -> Equation:
    """A recurrence over rows that are given if n is not 0 is given so."""
    return Equation(op(init, ops.given(x, n)), ops.given(op(init, x), n), when=[recurrent(op)])


@law(
    licence="exact",
    enabling=True,
    example=(lambda x: _halves(x, T.zeros(())), lambda x: _halves(x, T.ones(()))),
    never=lambda X: T.concatenate([_row_sums(X), X]),
)
def recurrence_from_given(op: Op, init: Value, n: Value, r: Args) -> Equation:
    """A recurrence from a start that is given if n is not 0 is given so."""
    return Equation(op(ops.given(init, n), r), ops.given(op(init, r), n), when=[recurrent(op)])


@law(
    licence="exact",
    enabling=True,
    example=lambda x: x[: x.shape[0] // 2].shape[0] * 2,
    never=(
        lambda x: x[: x.shape[0] // -2].shape[0] * 2,
        lambda x, y: x[: y.shape[0] // 2].shape[0] * 2,
        lambda x: x[: x.shape[0] * 2].shape[0] * 2,
    ),
)
def length_of_part(X: Value, k: Value) -> Equation:
    """The first half of an array is half as long, and so is any other part of its length."""
    n = ops.floor_divide(X.shape[0], k)
    return Equation(X[:n].shape[0], n, when=[positive(k)])
