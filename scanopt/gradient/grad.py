"""grad: the gradient of a scalar, as the documents have it; and the same backwards from any arrays (`Lop`)."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from scanopt.array.constants import as_tensor_variable
from scanopt.array.derivatives import smooth
from scanopt.array.variable import Constant, Variable, describe
from scanopt.gradient import through_scan as _rule  # says how gradients go through loops
from scanopt.gradient.captured import with_copies
from scanopt.gradient.errors import DisconnectedInputError, DisconnectedInputWarning
from scanopt.gradient.pullback import pull, zeros_like
from scanopt.loops.location import user_location
from scanopt.loops.site import show

__all__ = ["Lop", "grad", "like_given", "pullback", "variables"]

assert _rule


def grad(
    cost: Variable | None,
    wrt: Any,
    consider_constant: Sequence[Variable] | None = None,
    disconnected_inputs: str = "raise",
    add_names: bool = True,
    known_grads: Mapping[Variable, Any] | None = None,
    return_disconnected: str = "zero",
) -> Any:
    """The gradient of a scalar with respect to one variable, or a list of them.

    cost: a float scalar; None when `known_grads` says where to start.
    wrt: inputs, shared variables or computed ones, one or a list: any float or complex arrays.
    consider_constant: variables through which nothing flows.
    disconnected_inputs: what to do where the cost does not depend smoothly on an entry of wrt:
        "raise", "warn" or "ignore"; an integer or bool is never depended on smoothly.
    known_grads: variable -> the gradient with respect to it, to start from besides the cost.
    add_names: name the results "d(cost)/d(x)".  return_disconnected: what stands for them: "zero",
        "none" or "disconnected" (None too).
    Returns gradients of the shapes and dtypes of wrt, a list for a list.
    Raises TypeError for a cost that is no float scalar or an entry that is no variable,
    DisconnectedInputError, NullTypeGradError where an operator on the way has no gradient.

    >>> from scanopt import interpret, tensor as T
    >>> x = T.dscalar("x")
    >>> interpret(grad(x**3, x), {x: 2.0})
    array(12.)

    Source: the documents' `theano.grad`; for complex numbers dL/dRe + i dL/dIm.
    """
    if disconnected_inputs not in ("raise", "warn", "ignore"):
        raise ValueError(f"disconnected_inputs is 'raise', 'warn' or 'ignore', found {disconnected_inputs!r}")
    if return_disconnected not in ("zero", "none", "disconnected"):
        raise ValueError(f"return_disconnected is 'zero', 'none' or 'disconnected', found {return_disconnected!r}")
    starts = _known(known_grads)
    if cost is not None:
        cost = _cost(cost)
        starts = [(cost, as_tensor_variable(np.ones((), cost.dtype))), *starts]
    elif not starts:
        raise ValueError("grad without a cost needs known_grads to start from")
    asked = variables("wrt", wrt)
    found = pullback([v for v, _ in starts], [g for _, g in starts], asked, consider_constant)
    named = starts[0][0]
    out: list[Variable | None] = []
    for x, g in zip(asked, found, strict=True):
        if g is None:
            _disconnected(named, x, disconnected_inputs)
            g = zeros_like(x) if return_disconnected == "zero" else None
        elif add_names and g.name is None and named.name and x.name and g.owner is not None:
            g.name = f"d({named.name})/d({x.name})"
        out.append(g)
    return like_given(wrt, out)


def _cost(cost: Any) -> Variable:
    v = as_tensor_variable(cost)
    if v.ndim:
        raise TypeError(
            f"grad needs a scalar cost, found {describe(v)}: take its sum or mean, or use jacobian for all its entries"
        )
    if np.dtype(v.dtype).kind != "f":
        raise TypeError(f"grad needs a real floating point cost, found {describe(v)}: cast it if that is meant")
    return v


def _known(known: Mapping[Variable, Any] | None) -> list[tuple[Variable, Variable]]:
    out: list[tuple[Variable, Variable]] = []
    for v, g in (known or {}).items():
        if not isinstance(v, Variable):
            raise TypeError(f"known_grads is keyed by symbolic arrays, found {show(v)}")
        given = as_tensor_variable(g)
        if given.ndim != v.ndim:
            raise TypeError(f"known_grads gives {describe(given)} for {describe(v)}: the numbers of axes differ")
        out.append((v, given))
    return out


def _disconnected(cost: Variable, x: Variable, what: str) -> None:
    if what == "ignore":
        return
    if isinstance(x, Constant):
        reason = "it is a constant"
    elif not smooth(x):
        reason = f"it is of dtype {x.dtype}, and only floats and complex numbers have gradients: cast it before its use"
    else:
        reason = (
            "it is no part of the graph, or only by way of integers, comparisons, shapes or what is considered constant"
        )
    text = (
        f"{describe(cost)} has no gradient with respect to {describe(x)}: {reason} (grad at {user_location()}); "
        "disconnected_inputs='ignore' gives zeros"
    )
    if what == "raise":
        raise DisconnectedInputError(text)
    warnings.warn(text, DisconnectedInputWarning, stacklevel=4)


def variables(argument: str, given: Any) -> list[Variable]:
    """What the user gave as `argument`: one variable or several.  Raises TypeError."""
    many: Iterable[Any] = given if isinstance(given, list | tuple) else [given]
    out = list(many)
    for v in out:
        if not isinstance(v, Variable):
            raise TypeError(f"{argument} must be symbolic arrays, found {show(v)}")
    return out


def like_given(given: Any, results: Sequence[Any]) -> Any:
    """Results as the user asked for them: a list or tuple for one, else the one."""
    if isinstance(given, list | tuple):
        return type(given)(results) if type(given) in (list, tuple) else list(results)
    return results[0]


def pullback(
    outputs: Sequence[Variable], cotangents: Sequence[Variable], wrt: Sequence[Variable], consider_constant: Any = None
) -> list[Variable | None]:
    """The gradients with respect to `wrt` of the sum of outputs times cotangents; None where not connected.

    Steps of loops may use computed variables of wrt, outputs or consider_constant that they were not
    passed: these are followed into the loops.
    """
    constant = [] if consider_constant is None else variables("consider_constant", consider_constant)
    return pull(*with_copies(outputs, cotangents, wrt, constant))


def Lop(  # noqa: N802  the documented name
    f: Any, wrt: Any, eval_points: Any, consider_constant: Any = None, disconnected_inputs: str = "raise"
) -> Any:
    """The product of a row vector and the Jacobian: gradients of sum(f * eval_points) with respect to wrt.

    f: an array or a list of them.  eval_points: for each of f an array of its shape.  wrt: one
    variable or a list.  Raises as `grad`.

    >>> from scanopt import interpret, tensor as T
    >>> x = T.dvector("x")
    >>> interpret(Lop(x**2, x, T.ones_like(x)), {x: [1.0, 2.0]})
    array([2., 4.])

    Source: the documents' `theano.gradient.Lop`.
    """
    outputs = variables("f", f)
    many = eval_points if isinstance(eval_points, list | tuple) else [eval_points]
    if len(many) != len(outputs):
        raise ValueError(f"Lop needs one evaluation point for each of {len(outputs)} outputs, found {len(many)}")
    known = [(v, as_tensor_variable(g)) for v, g in zip(outputs, many, strict=True)]
    for v, g in known:
        if g.ndim != v.ndim:
            raise TypeError(
                f"the evaluation point {describe(g)} does not fit {describe(v)}: the numbers of axes differ"
            )
    asked = variables("wrt", wrt)
    found = pullback(outputs, [g for _, g in known], asked, consider_constant)
    out: list[Variable] = []
    for x, part in zip(asked, found, strict=True):
        if part is None:
            _disconnected(outputs[0], x, disconnected_inputs)
        out.append(zeros_like(x) if part is None else part)
    return like_given(wrt, out)
