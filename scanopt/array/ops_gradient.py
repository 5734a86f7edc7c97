"""Identities that gradients see: what nothing flows through, or only zeros, or gradients within bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scanopt.array.constants import as_variable
from scanopt.array.derivatives import no_gradient, zero_gradient
from scanopt.array.op import Gradient, Op, Operand, OpSpec, register
from scanopt.array.types import TensorType
from scanopt.array.variable import FUNCTIONS, Variable, apply, describe, public

__all__ = ["disconnected_grad", "grad_clip", "zero_grad"]


def _infer(x: Operand, **bounds: float) -> TensorType:
    return x.type


def _bind(xp: Any, **bounds: float) -> Callable[..., Any]:
    return lambda x: x


def _batch(op: Op, flags: Sequence[bool], args: Sequence[Variable]) -> Variable:
    return apply(op, *args)


def _clipped(op: Op, args: Sequence[Variable], out: Variable, g: Variable) -> list[Variable | None]:
    return [FUNCTIONS["clip"](g, op.options["lower"], op.options["upper"])]


def _entry(name: str, gradient: Gradient, doc: str) -> None:
    register(OpSpec(name, _bind, _infer, _batch, batch_exact=True, cost="free", view=True, gradient=gradient, doc=doc))


_entry("disconnected_grad", no_gradient, "its argument, which is constant to gradients")
_entry("zero_grad", zero_gradient, "its argument, with a gradient of zero")
_entry("grad_clip", _clipped, "its argument, with a gradient within bounds")


@public("disconnected_grad", "consider_constant")
def disconnected_grad(x: Any) -> Variable:
    """x, which is constant to gradients: nothing flows through, and `grad` says so.

    >>> from scanopt import grad, interpret, tensor as T
    >>> x = T.dscalar("x")
    >>> interpret(grad(x * disconnected_grad(x), x), {x: 3.0})
    array(3.)

    Source: the documents' `theano.gradient.disconnected_grad`.
    """
    return apply(Op.make("disconnected_grad"), as_variable(x))


@public()
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
def grad_clip(x: Any, lower_bound: float, upper_bound: float) -> Variable:
    """x, where the gradient with respect to it is cut to lie between two numbers.

    x: real.  Raises TypeError for complex numbers, ValueError for bounds that leave nothing between.

    >>> from scanopt import grad, interpret, tensor as T
    >>> x = T.dscalar("x")
    >>> interpret(grad(10 * grad_clip(x, -1, 1), x), {x: 3.0})
    array(1.)

    Source: the documents' `theano.gradient.grad_clip`.
    """
    v, lower, upper = as_variable(x), float(lower_bound), float(upper_bound)
    if np.dtype(v.dtype).kind == "c":
        raise TypeError(f"grad_clip needs real numbers, found {describe(v)}: complex ones have no order")
    if not lower <= upper:
        raise ValueError(f"grad_clip needs a lower bound and an upper one that is not below it, found {lower}, {upper}")
    return apply(Op.make("grad_clip", lower=lower, upper=upper), v)
