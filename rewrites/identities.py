"""Operators that only change gradients: in a program they return their argument."""

import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Value, ops
from scanopt.facts.raising import silent


@law(licence="exact", stepwise=True, example=lambda x: T.disconnected_grad(x) * 2.0, never=lambda x: x * 2.0)
def nothing_flows_through(x: Value) -> Equation:
    """disconnected_grad(x) = x: gradients are built before the program is optimized."""
    return Equation(ops.disconnected_grad(x), x)


@law(licence="exact", stepwise=True, example=lambda x: T.zero_grad(x) * 2.0, never=lambda x: T.zeros_like(x) * 2.0)
def zeros_flow_through(x: Value) -> Equation:
    """zero_grad(x) = x."""
    return Equation(ops.zero_grad(x), x)


@law(
    licence="exact",
    stepwise=True,
    example=lambda x: T.grad_clip(x, -1.0, 1.0) * 2.0,
    never=(
        lambda x: T.clip(x, -1.0, 1.0) * 2.0,
        lambda x, a, m: T.grad_clip(x, scanopt.check(m, "not so", a), 1.0) * 2.0,
        lambda x, a, m: T.grad_clip(x, -1.0, scanopt.check(m, "not so", a)) * 2.0,
    ),
)
def gradients_within_bounds(x: Value, lower: Value, upper: Value) -> Equation:
    """grad_clip(x, lower, upper) = x."""
    return Equation(ops.grad_clip(x, lower, upper), x, when=[silent(lower), silent(upper)])


@law(licence="exact", stepwise=True, example=lambda x: +x * 2.0, never=lambda x: -x * 2.0)
def positive_is_itself(x: Value) -> Equation:
    """+x = x."""
    return Equation(ops.positive(x), x)
