"""Jacobians and Hessians: a loop over the entries of the expression, one gradient each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from scanopt.array.constants import as_tensor_variable
from scanopt.array.registry import FUNCTIONS
from scanopt.array.variable import Variable, describe
from scanopt.gradient.arguments import Asked, like_given, scalar_cost
from scanopt.gradient.grad import row_times_jacobian
from scanopt.loops.derived import map as loop_map
from scanopt.loops.graph import dependencies, schedule
from scanopt.loops.rebuild import rebuild

__all__ = ["hessian", "jacobian"]


def jacobian(
    expression: Variable,
    wrt: Any,
    consider_constant: Sequence[Variable] | None = None,
    disconnected_inputs: str = "raise",
    vectorize: bool = False,
) -> Any:
    """The derivatives of all entries of an expression with respect to wrt, one variable or a list.

    vectorize: accepted and without effect: the loop over entries leaves where that pays.
    Returns arrays of shape (*expression.shape, *x.shape) for x in wrt.  Raises as `grad`.

    >>> from scanopt import interpret, tensor as T
    >>> x = T.dvector("x")
    >>> interpret(jacobian(x**2, x), {x: [1.0, 2.0]})
    array([[2., 0.],
           [0., 4.]])

    Source: the documents' `theano.gradient.jacobian`.
    """
    asked = Asked.of("jacobian", wrt, consider_constant, disconnected_inputs)
    y = asked.site.array(expression, "the expression")
    if np.dtype(y.dtype).kind == "c":
        raise asked.site.error(
            TypeError, f"jacobian needs real values, found {describe(y)}: take those of its T.real(...) and T.imag(...)"
        )
    return like_given(wrt, _jacobians(y, asked))


def _jacobians(y: Variable, asked: Asked) -> list[Variable]:
    """The derivatives of all entries of y."""
    if not (y.ndim and asked.wrt):
        return row_times_jacobian(asked, [y], [as_tensor_variable(np.ones((), y.dtype))])
    seed = Variable(y.type, "seed")
    rows = row_times_jacobian(asked, [y], [seed])
    held = _without(rows, seed)
    count = y.size

    def one(i: Variable, like: Variable, *values: Variable) -> list[Variable]:
        unit = FUNCTIONS["eq"](FUNCTIONS["arange"](like.size), i).astype(y.dtype).reshape(like.shape, ndim=y.ndim)
        inner = dict(zip(held, values, strict=True))
        return rebuild([v.astype(v.dtype) for v in rows], {**inner, seed: unit})

    found, _ = loop_map(one, FUNCTIONS["arange"](count), [y, *held], name="jacobian")
    found = found if isinstance(found, list) else [found]
    return [r.reshape((*y.shape, *x.shape), ndim=y.ndim + x.ndim) for r, x in zip(found, asked.wrt, strict=True)]


def _without(results: Sequence[Variable], seed: Variable) -> list[Variable]:
    """The variables computed without the seed that `results` need: they are the same for every entry."""
    depends = {seed}
    border: dict[Variable, None] = {}
    for node in schedule(results):
        needs = dependencies(node)
        if any(v in depends for v in needs):
            depends.update(node.outputs)
            border.update((v, None) for v in needs if v.owner is not None and v not in depends)
    return list(border)


def hessian(
    cost: Variable, wrt: Any, consider_constant: Sequence[Variable] | None = None, disconnected_inputs: str = "raise"
) -> Any:
    """The second derivatives of a scalar with respect to wrt, one variable or a list, each by itself.

    Returns arrays of shape (*x.shape, *x.shape) for x in wrt.  Raises as `grad`.

    >>> from scanopt import interpret, tensor as T
    >>> x = T.dvector("x")
    >>> interpret(hessian((x**3).sum(), x), {x: [1.0, 2.0]})
    array([[ 6.,  0.],
           [ 0., 12.]])

    Source: the documents' `theano.gradient.hessian`.
    """
    asked = Asked.of("hessian", wrt, consider_constant, disconnected_inputs)
    y = scalar_cost(asked.site, cost)
    out: list[Variable] = []
    for x in asked.wrt:
        one = asked.alone(x)
        (g,) = row_times_jacobian(one, [y], [as_tensor_variable(np.ones((), y.dtype))])
        out += _jacobians(g, replace(one, disconnected="ignore"))  # the derivatives of a constant gradient are 0
    return like_given(wrt, out)
