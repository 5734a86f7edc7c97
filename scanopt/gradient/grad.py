"""grad: the gradient of a scalar, as in Theano's documents; Lop: the same from arrays with given cotangents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from scanopt.array.constants import as_tensor_variable
from scanopt.array.variable import Variable
from scanopt.gradient import through_scan as _rule  # registers the rule for gradients through loops
from scanopt.gradient.arguments import (
    Asked,
    choice,
    known_gradients,
    like_given,
    scalar_cost,
    variables,
    vector,
    vectors,
)  # fmt: skip
from scanopt.gradient.captured import with_copies
from scanopt.gradient.pullback import pull, zeros_like

__all__ = ["Lop", "grad", "row_times_jacobian"]

assert _rule


def grad(
    cost: Variable | None,
    wrt: Any,
    consider_constant: Sequence[Variable] | None = None,
    disconnected_inputs: str = "raise",
    add_names: bool = True,
    known_grads: Mapping[Variable, Any] | None = None,
    return_disconnected: str = "zero",
    null_gradients: str = "raise",
) -> Any:
    """The gradient of a scalar with respect to one variable, or a list of them.

    cost: a float scalar; None when `known_grads` says where to start.
    wrt: inputs, shared variables or computed ones, one or a list: any float or complex arrays.
    consider_constant: variables that count as constants.
    disconnected_inputs: what to do where the cost does not depend smoothly on an entry of wrt:
        "raise", "warn" or "ignore"; an integer or bool is never depended on smoothly.
    known_grads: variable -> the whole gradient with respect to it, an array of its shape; other
        contributions of the variable to the cost are not added.
    add_names: name the results "d(cost)/d(x)".  return_disconnected: the result for an entry without
        a gradient: "zero", "none" or "disconnected" (None too).  null_gradients: "raise" or "return":
        the same here.
    Returns gradients of the shapes and dtypes of wrt, a list for a list.
    Raises TypeError for a cost that is not a float scalar or an entry that is not a variable, ValueError for
    lengths that do not fit, DisconnectedInputError, NullTypeGradError where an operator on the way has
    no gradient.

    >>> from scanopt import interpret, tensor as T
    >>> x = T.dscalar("x")
    >>> interpret(grad(x**3, x), {x: 2.0})
    array(12.)

    Source: the documents' `theano.grad`; for complex numbers dL/dRe + i dL/dIm.
    """
    asked = Asked.of("grad", wrt, consider_constant, disconnected_inputs)
    missing = choice(asked.site, "return_disconnected", return_disconnected, ("zero", "none", "disconnected"))
    choice(asked.site, "null_gradients", null_gradients, ("raise", "return"))
    known = known_gradients(asked.site, known_grads)
    starts = list(known)
    if cost is not None:
        cost = scalar_cost(asked.site, cost)
        if cost not in dict(known):
            starts.insert(0, (cost, as_tensor_variable(np.ones((), cost.dtype))))
    elif not starts:
        raise asked.site.error(ValueError, "grad without a cost needs known_grads to start from")
    found = _pullback(asked, starts, [v for v, _ in known])
    named = starts[0][0]
    out: list[Variable | None] = []
    for x, g in zip(asked.wrt, found, strict=True):
        if g is None:
            asked.say(named, x)
            g = zeros_like(x) if missing == "zero" else None
        elif add_names and g.name is None and named.name and x.name and g.owner is not None and x not in dict(known):
            g.name = f"d({named.name})/d({x.name})"
        out.append(g)
    return like_given(wrt, out)


def _pullback(
    asked: Asked, starts: Sequence[tuple[Variable, Variable]], known: Sequence[Variable] = ()
) -> list[Variable | None]:
    """The gradients with respect to asked.wrt of the sum of all variables times their cotangents.

    None where not connected.  known: the last variables of `starts`, to whose cotangents nothing is added.
    Computed variables that steps of loops use without being passed them are followed into the loops.
    """
    outputs, wrt, constant = with_copies([v for v, _ in starts], asked.wrt, asked.constant)
    return pull(outputs, [g for _, g in starts], wrt, constant, known=outputs[len(starts) - len(known) :])


def Lop(  # noqa: N802  the documented name
    f: Any, wrt: Any, eval_points: Any, consider_constant: Any = None, disconnected_inputs: str = "raise"
) -> Any:
    """The product of a row vector and the Jacobian: gradients of sum(f * eval_points) with respect to wrt.

    f: an array or a list of them.  eval_points: for each of f an array of its shape.  wrt: one
    variable or a list.  consider_constant, disconnected_inputs: as in `grad`.  Raises as `grad`.

    >>> from scanopt import interpret, tensor as T
    >>> x = T.dvector("x")
    >>> interpret(Lop(x**2, x, T.ones_like(x)), {x: [1.0, 2.0]})
    array([2., 4.])

    Source: the documents' `theano.gradient.Lop`.
    """
    asked = Asked.of("Lop", wrt, consider_constant, disconnected_inputs)
    outputs = variables(asked.site, "f", f)
    if not outputs:
        raise asked.site.error(ValueError, "f is an empty list: there is nothing to start from")
    points = vectors(asked.site, outputs, eval_points, "outputs")
    labels = [
        f"eval_points[{i}]" if isinstance(eval_points, list | tuple) else "eval_points" for i in range(len(points))
    ]
    known = [vector(asked.site, label, v, g) for label, v, g in zip(labels, outputs, points, strict=True)]
    return like_given(wrt, row_times_jacobian(asked, outputs, known))


def row_times_jacobian(asked: Asked, outputs: Sequence[Variable], rows: Sequence[Variable]) -> list[Variable]:
    """The gradients of the sum of outputs times rows; zeros where not connected, if that is not an error."""
    found = _pullback(asked, list(zip(outputs, rows, strict=True)))
    out: list[Variable] = []
    for x, part in zip(asked.wrt, found, strict=True):
        if part is None:
            asked.say(outputs[0], x)
        out.append(zeros_like(x) if part is None else part)
    return out
