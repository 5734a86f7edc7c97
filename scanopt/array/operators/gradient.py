"""Identities that change gradients, which stop there, become zero, are clipped, or follow a rule of the user's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scanopt.array.batching import front, rows, spread
from scanopt.array.constants import as_tensor_variable, as_variable, is_weak, weak_constant
from scanopt.array.derivatives import no_gradient, zero_gradient
from scanopt.array.op import Gradient, Op, Operand, OpSpec, register
from scanopt.array.parameters import Parameter
from scanopt.array.registry import FUNCTIONS, public
from scanopt.array.shapes import broadcast
from scanopt.array.types import TensorType
from scanopt.array.variable import Constant, Variable, apply, describe

__all__ = ["GradientRule", "disconnected_grad", "grad_clip", "grad_scale", "with_gradient", "zero_grad"]

Flags = Sequence[bool]
Args = Sequence[Variable]


def _infer(x: Operand) -> TensorType:
    return x.type


def _infer_clip(x: Operand, lower: Operand, upper: Operand) -> TensorType:
    if len(broadcast(x.shape, lower.shape, upper.shape)) > x.ndim:
        raise ValueError(f"bounds {lower.type} and {upper.type} of a gradient have more axes than {x.type}")
    if "c" in {np.dtype(v.dtype).kind for v in (x, lower, upper)}:
        raise TypeError(f"a gradient within bounds is real, found {x.type}, {lower.type} and {upper.type}")
    return x.type


def _batch(op: Op, batched: Flags, args: Args) -> Variable:
    return apply(op, *args)


def _batch_clip(op: Op, batched: Flags, args: Args) -> Variable:
    x = args[0] if batched[0] else spread(args[0], rows(batched, args))
    bounds = (front(v, x.ndim - 1) if flag else v for v, flag in zip(args[1:], batched[1:], strict=True))
    return apply(op, x, *bounds)


def _gradient_clip(op: Op, args: Args, out: Variable, g: Variable) -> list[Variable | None]:
    return [FUNCTIONS["clip"](g, *args[1:]), None, None]


def _entry(name: str, infer: Any, batch: Any, gradient: Gradient, doc: str) -> None:
    register(
        OpSpec(
            name,
            lambda xp: lambda x, *bounds: x,
            infer,
            batch,
            batch_exact=True,
            cost="free",
            view=True,
            gradient=gradient,
            doc=doc,
        )
    )


GradientRule = Callable[[Sequence[Variable], Variable], Sequence[Variable | None]]
"""Takes the variables that a value depends on and the gradient by that value; returns the gradients by each."""


def _rule_of(op: Op, args: Args, out: Variable, g: Variable) -> list[Variable | None]:
    rule: Any = op.options["rule"]
    return [None, *rule(args[1:], g)]


register(
    OpSpec(
        "with_gradient",
        lambda xp, rule: lambda x, *of: x,
        lambda x, *of, rule: x.type,
        lambda op, batched, args: args[0] if batched[0] else spread(args[0], rows(batched, args)),
        batch_exact=True,
        cost="free",
        view=True,
        for_gradients=True,
        gradient=_rule_of,
        params={"rule": Parameter("a rule of gradients", callable)},
        doc="its first argument, whose gradients with respect to the others a rule of the user's says",
    )
)


def with_gradient(x: Variable, of: Args, rule: GradientRule) -> Variable:
    """x, computed from the variables `of`; `rule` gives the gradients by these in place of the graph of x."""
    return apply(Op.make("with_gradient", rule=rule), x, *of)


_entry("disconnected_grad", _infer, _batch, no_gradient, "its argument, which is constant to gradients")
_entry("zero_grad", _infer, _batch, zero_gradient, "its argument, with a gradient of zero")
_entry("grad_clip", _infer_clip, _batch_clip, _gradient_clip, "its argument, with a gradient within two bounds")


@public()
def disconnected_grad(x: Any) -> Variable:
    """x, treated as a constant by gradients: `grad` finds no connection through it.

    >>> from scanopt import grad, interpret, tensor as T
    >>> x = T.dscalar("x")
    >>> interpret(grad(x * disconnected_grad(x), x), {x: 3.0})
    array(3.)

    Source: the documents' `theano.gradient.disconnected_grad`.
    """
    return apply(Op.make("disconnected_grad"), as_variable(x))


@public("zero_grad", "consider_constant")
def zero_grad(x: Any) -> Variable:
    """x, with a gradient of zero: connected, unlike `disconnected_grad`.

    >>> from scanopt import grad, interpret, tensor as T
    >>> x = T.dscalar("x")
    >>> interpret(grad(zero_grad(x**2), x), {x: 3.0})
    array(0.)

    Source: the documents' `theano.gradient.zero_grad`.
    """
    return apply(Op.make("zero_grad"), as_variable(x))


@public()
def grad_clip(x: Any, lower_bound: Any, upper_bound: Any) -> Variable:
    """x; the gradient with respect to it is clipped to lie between two bounds.

    x: real.  lower_bound, upper_bound: real numbers, or arrays that broadcast to x.
    Raises TypeError for complex numbers, ValueError for bounds that leave nothing between.

    >>> from scanopt import grad, interpret, tensor as T
    >>> x = T.dscalar("x")
    >>> interpret(grad(10 * grad_clip(x, -1, 1), x), {x: 3.0})
    array(1.)

    Source: the documents' `theano.gradient.grad_clip`.
    """
    v = as_variable(x)
    lower, upper = (_bound(b, v) for b in (lower_bound, upper_bound))
    if isinstance(lower, Constant) and isinstance(upper, Constant) and (lower.data > upper.data).any():
        raise ValueError(
            f"grad_clip of {describe(v)}: the lower bound {lower.data} is above the upper one {upper.data}"
        )
    return apply(Op.make("grad_clip"), v, lower, upper)


def _bound(b: Any, x: Variable) -> Variable:
    """A bound cast to a dtype that does not change the dtype of a gradient with respect to x."""
    float_ = x.dtype if np.dtype(x.dtype).kind == "f" else "float64"
    if is_weak(b) and not isinstance(b, complex):
        return weak_constant(b, float_)
    given = as_tensor_variable(b)
    return given if np.dtype(given.dtype).kind == "c" else FUNCTIONS["cast"](given, float_)


def _times_factor(of: Args, g: Variable) -> list[Variable | None]:
    return [FUNCTIONS["mul"](g, of[1]), None]


@public()
def grad_scale(x: Any, multiplier: Any) -> Variable:
    """x, where the gradient with respect to it is multiplied: by -1 to turn it around, as adversarial training does.

    multiplier: a number, or an array that broadcasts to x; nothing flows to it.

    >>> from scanopt import grad, interpret, tensor as T
    >>> x = T.dscalar("x")
    >>> interpret(grad(grad_scale(x, -1) ** 2, x), {x: 3.0})
    array(-6.)

    Source: the documents' `theano.gradient.grad_scale`.
    """
    v = as_variable(x)
    return with_gradient(v, [v, FUNCTIONS["cast"](as_variable(multiplier), v.dtype)], _times_factor)
