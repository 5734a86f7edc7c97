"""Loops of one step and of none are no loops (the documents' one_step_scan)."""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.facts import no_steps, one_step, static_shape, within
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Clock, Text, Value, apply, const_at, first_step, item, on, prim, stack


def _steps(n: Any) -> Any:
    return lambda x: scanopt.scan(lambda s: T.exp(s) * 2, None, [x], n_steps=n)[0]


@law(
    licence="exact",
    source="internal documentation of scan, the logical flow: one_step_scan",
    example=_steps(1),
    never=(_steps(2), _steps(0)),
)
def trace_of_one_step(c: Clock, v: Value) -> Equation:
    """The trace of a loop of one step is its value at step 0, with an axis in front."""
    row = apply(prim('expand_dims{"axis":[0]}'), on(first_step(c), v))
    return Equation(stack(c, v), row, when=[one_step(c)])


@law(licence="exact", stepwise=True, example=lambda x: _steps(1)(x)[-1], never=lambda x: _steps(2)(x)[-1])
def last_of_one(x: Value) -> Equation:
    """The last row of one row."""
    return Equation(apply(item(-1), apply(prim('expand_dims{"axis":[0]}'), x)), x)


@law(licence="exact", stepwise=True, example=lambda x: _steps(1)(x)[0], never=lambda x: _steps(2)(x)[0])
def first_of_one(x: Value) -> Equation:
    """The first row of one row."""
    return Equation(apply(item(0), apply(prim('expand_dims{"axis":[0]}'), x)), x)


@law(
    licence="exact",
    example=lambda a: _steps(0)(T.exp(a)),
    never=(lambda a: _steps(1)(T.exp(a)), lambda x: _steps(0)(x)),
)
def trace_of_no_steps(c: Clock, p: Clock, v: Value, shape: Text) -> Equation:
    """The trace of a loop of no steps is empty, of the shape of its step."""
    empty = const_at(p, Text("+", ("empty:", shape)))
    return Equation(stack(c, v), empty, when=[no_steps(c), static_shape(v, shape), within(c, p)])
