"""Gradients of functions: grad and value_and_grad."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from scanopt.array.variable import Variable
from scanopt.gradient import grad as gradient_of
from scanopt.loops.site import show
from scanopt.loops.trees import tree_leaves
from scanopt.transforms.calls import title
from scanopt.transforms.fresh import Fresh, chosen, fresh_call
from scanopt.transforms.jit import jit

__all__ = ["grad", "scalar", "value_and_grad"]


def scalar(f: Callable[..., Any], what: str, call: Fresh) -> Variable:
    """The result of a call, which must be a single real scalar.  Raises TypeError."""
    leaves = list(tree_leaves(call.result, "result"))
    if len(leaves) != 1 or leaves[0][0] != "result":
        raise TypeError(
            f"{what} needs a function that returns one scalar, found {show(call.result)} of {title(f)}: "
            "with has_aux=True it may return (scalar, what is beside it)"
        )
    cost: Variable = call.result
    if cost.ndim or not cost.dtype.startswith("float"):
        raise TypeError(
            f"{what} needs a function that returns a real scalar, found {cost.type} of {title(f)}: take its sum or "
            "mean, or use jacrev for all its entries"
        )
    return cost


def function_of_arrays(what: str, f: Any) -> None:
    """Raise TypeError if f is no Python function."""
    if not callable(f) or getattr(f, "is_compiled", False):
        raise TypeError(f"{what} takes a Python function of arrays, found {show(f)}")


def _gradients(
    f: Callable[..., Any], what: str, argnums: Any, has_aux: bool, args: Any, kwargs: Any
) -> tuple[Any, Any, Any]:
    """The value, the auxiliary output, and the gradients."""
    places = chosen(f, what, argnums, len(args))
    call = fresh_call(f, what, args, kwargs, places, has_aux)
    cost = scalar(f, what, call)
    parts = gradient_of(cost, call.variables, disconnected_inputs="ignore") if call.variables else []
    trees = call.like_points(parts)
    value, aux, found = call.back((cost, call.aux, trees))
    return value, aux, found if isinstance(argnums, tuple | list) else found[0]


def value_and_grad(f: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, **options: Any) -> Any:
    """A function that returns the pair of f's value and its gradient, as by `grad`.

    argnums and further options as in `grad`.  With has_aux it returns ((value, aux), gradient).

    >>> import numpy as np
    >>> value_and_grad(lambda x: (x**2).sum())(np.array([1.0, 2.0]))
    (array(5.), array([2., 4.]))

    Source: `jax.value_and_grad`.
    """
    function_of_arrays("value_and_grad", f)

    @functools.wraps(f)
    def both(*args: Any, **kwargs: Any) -> Any:
        value, aux, found = _gradients(f, "value_and_grad", argnums, has_aux, args, kwargs)
        return ((value, aux) if has_aux else value), found

    return jit(both, **options)


def gradient_function(f: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, **options: Any) -> Any:
    """A function that returns the gradient of f."""
    function_of_arrays("grad", f)

    @functools.wraps(f)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        _, aux, found = _gradients(f, "grad", argnums, has_aux, args, kwargs)
        return (found, aux) if has_aux else found

    return jit(gradient, **options)


def grad(cost: Any = None, wrt: Any = None, *args: Any, **kwargs: Any) -> Any:
    """The gradient of a function, as a function; or that of a symbolic scalar, as by `scanopt.tensor.grad`.

    For a symbolic scalar, `grad(cost, wrt)`: cost, wrt, args and kwargs are those of `scanopt.tensor.grad`.
    For a function, `grad(f, argnums=0, has_aux=False)`: a function of the same arguments.
    f: takes arrays, and tuples, lists and dicts of them, and returns a real scalar; with has_aux it returns
        (scalar, aux), and the gradient is returned as (gradient, aux).
    argnums: the argument that the gradient is with respect to, or several; gradients have their structure.
    Further options are those of `jit`.  Called with symbolic arrays, or while another function is traced, it is part
    of that graph; called with arrays it is compiled as by `jit`.  Arguments that f does not depend on have gradient
    0; for complex numbers the gradient is dL/dRe + i dL/dIm.
    Raises TypeError, ValueError for a function that returns no real scalar and arguments that are not floats.

    >>> import numpy as np
    >>> grad(lambda w, x: np.sum(w["a"] * x))({"a": 2.0}, np.array([1.0, 2.0]))
    {'a': array(3.)}

    Source: `jax.grad`; the documents' `theano.grad`.
    """
    if callable(cost):
        if wrt is not None:
            kwargs["argnums"] = wrt
        return gradient_function(cost, *args, **kwargs)
    return gradient_of(cost, wrt, *args, **kwargs)
