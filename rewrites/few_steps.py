"""Loops of zero, one (the documents' one_step_scan), two or three steps are unrolled."""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Clock, Int, Text, Value, as_row, const_at, on, ops, stack, tail, to_step
from scanopt.facts.few_steps import exact_steps, one_step, row_of_step
from scanopt.facts.loops import no_steps, within
from scanopt.facts.values import static_shape


def _steps(n: Any) -> Any:
    return lambda x: scanopt.scan(lambda s: T.exp(s) * 2, None, [x], n_steps=n)[0]


def _until(x: Any, n: int) -> Any:
    def step(s: Any) -> Any:
        new = T.exp(s) * 2
        return new, scanopt.until((new > 5.0).any())

    return scanopt.scan(step, None, [x], n_steps=n)[0]


@law(
    licence="exact",
    source="internal documentation of scan, the logical flow: one_step_scan",
    example=_steps(1),
    never=(_steps(2), _steps(0)),
)
def trace_of_one_step(c: Clock, v: Value) -> Equation:
    """The trace of a loop of one step is its value at step 0, with a new first axis."""
    row = as_row(on(to_step(c, 0), v))
    return Equation(stack(c, v), row, when=[one_step(c)])


@law(
    licence="exact",
    source="internal documentation of scan, the logical flow: one_step_scan",
    example=_steps(2),
    never=(_steps(1), _steps(3), lambda x: _until(x, 2)),
)
def trace_of_two_steps(c: Clock, v: Value) -> Equation:
    """The trace of a loop of two steps is the stack of its values at both."""
    rows = ops.stack(on(to_step(c, 0), v), on(to_step(c, 1), v), axis=0)
    return Equation(stack(c, v), rows, when=[exact_steps(c, 2)])


@law(
    licence="exact",
    source="internal documentation of scan, the logical flow: one_step_scan",
    example=_steps(3),
    never=(_steps(2), _steps(4), lambda x: _until(x, 3)),
)
def trace_of_three_steps(c: Clock, v: Value) -> Equation:
    """The trace of a loop of three steps is the stack of its values at all of them."""
    rows = ops.stack(on(to_step(c, 0), v), on(to_step(c, 1), v), on(to_step(c, 2), v), axis=0)
    return Equation(stack(c, v), rows, when=[exact_steps(c, 3)])


@law(
    licence="exact",
    example=(lambda x: _steps(3)(x)[1], lambda x: _steps(2)(x)[-1]),
    never=(lambda x: _steps(4)(x)[1], lambda x: _until(x, 3)[1]),
)
def row_of_few_steps(c: Clock, v: Value, k: Int, t: Int) -> Equation:
    """A row of the trace of a loop of two or three steps is the value at that step."""
    return Equation(stack(c, v)[k], on(to_step(c, t), v), when=[row_of_step(c, k, t)])


@law(
    licence="exact",
    example=lambda x: _steps(3)(x)[-1:],
    never=(lambda x: _steps(4)(x)[-1:], lambda x: _until(x, 3)[-1:]),
)
def last_of_few_steps(c: Clock, v: Value, t: Int) -> Equation:
    """The last row of the trace of a loop of two or three steps is the value at its last step."""
    row = as_row(on(to_step(c, t), v))
    return Equation(tail(c, v, 1), row, when=[row_of_step(c, -1, t)])


@law(
    licence="exact", stepwise=True, enabling=True, example=lambda x: _steps(1)(x)[-1], never=lambda x: _steps(4)(x)[-1]
)
def last_of_one(x: Value) -> Equation:
    """The last row of an array of one row is that row."""
    return Equation(as_row(x)[-1], x)


@law(licence="exact", stepwise=True, enabling=True, example=lambda x: _steps(1)(x)[0], never=lambda x: _steps(4)(x)[0])
def first_of_one(x: Value) -> Equation:
    """The first row of an array of one row is that row."""
    return Equation(as_row(x)[0], x)


@law(
    licence="exact",
    example=lambda a: _steps(0)(T.exp(a)),
    never=(lambda a: _steps(1)(T.exp(a)), lambda x: _steps(0)(x), lambda x: _steps(0)(x[0])),
)
def trace_of_no_steps(c: Clock, p: Clock, v: Value, shape: Text) -> Equation:
    """The trace of a loop of no steps is empty, with rows of the shape of its step."""
    empty = const_at(p, Text("+", ("empty:", shape)))
    return Equation(stack(c, v), empty, when=[no_steps(c), static_shape(v, shape), within(c, p)])
