"""All derivatives of functions: jacfwd, jacrev and hessian."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from scanopt.array.registry import FUNCTIONS
from scanopt.array.variable import Variable
from scanopt.gradient import hessian as hessian_of
from scanopt.gradient import jacobian as jacobian_of
from scanopt.loops.carry import loop
from scanopt.loops.trees import rebuilt
from scanopt.transforms.directions import moved
from scanopt.transforms.fresh import Fresh, chosen, fresh_call
from scanopt.transforms.gradients import function_of_arrays
from scanopt.transforms.jit import jit

__all__ = ["hessian", "jacfwd", "jacobian", "jacrev"]

Table = list[list[Variable]]
"""For each output a list with its derivatives with respect to each variable."""


def _backwards(call: Fresh) -> Table:
    return [jacobian_of(y, call.variables, disconnected_inputs="ignore") for y in call.outputs]


def _forwards(call: Fresh) -> Table:
    columns = [_column(call, i) for i in range(len(call.variables))]
    return [[column[k] for column in columns] for k in range(len(call.outputs))]


def _column(call: Fresh, i: int) -> Sequence[Variable]:
    """The derivatives of all outputs with respect to variable i: a loop over its entries."""
    x = call.variables[i]
    if not x.ndim:
        return moved(call, {i: FUNCTIONS["ones_like"](x)})
    count = x.size

    def entry(_: Any, k: Variable) -> tuple[None, list[Variable]]:
        unit = FUNCTIONS["eq"](FUNCTIONS["arange"](x.size), k).astype(x.dtype).reshape(x.shape, ndim=x.ndim)
        return None, moved(call, {i: unit})

    _, rows = loop(entry, None, FUNCTIONS["arange"](count), name="jacfwd")
    return [
        FUNCTIONS["moveaxis"](r, 0, -1).reshape((*y.shape, *x.shape), ndim=y.ndim + x.ndim)
        for r, y in zip(rows, call.outputs, strict=True)
    ]


def _transform(what: str, table: Callable[[Fresh], Table], f: Any, argnums: Any, has_aux: bool, options: Any) -> Any:
    function_of_arrays(what, f)

    @functools.wraps(f)
    def derivatives(*args: Any, **kwargs: Any) -> Any:
        places = chosen(f, what, argnums, len(args))
        call = fresh_call(f, what, args, kwargs, places, has_aux)
        rows = [call.like_points(row) for row in table(call)]
        if not isinstance(argnums, tuple | list):
            rows = [row[0] for row in rows]
        found, aux = call.back(([*rows], call.aux))
        result = rebuilt(call.result, iter(found).__next__)
        return (result, aux) if has_aux else result

    return jit(derivatives, **options)


def jacrev(f: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, **options: Any) -> Any:
    """A function that returns the Jacobian of f, computed backwards: a loop over the entries of the result.

    argnums, has_aux and further options as in `grad`, but f returns any arrays.  The Jacobian has the structure of f's
    result and, at each of its leaves, that of the arguments, with arrays of shape (*result.shape, *argument.shape).
    Raises as `grad` does.

    >>> import numpy as np
    >>> jacrev(lambda x: x**2)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])

    Source: `jax.jacrev`.
    """
    return _transform("jacrev", _backwards, f, argnums, has_aux, options)


def jacobian(f: Any, *args: Any, **options: Any) -> Any:
    """The Jacobian of a function, as a function: `jacrev`; or that of a symbolic array, as by `scanopt.tensor`.

    f: a function or a symbolic array; args and options are those of `jacrev` or of `scanopt.tensor.jacobian`.

    >>> import numpy as np
    >>> jacobian(np.cumsum)(np.array([1.0, 2.0]))
    array([[1., 0.],
           [1., 1.]])

    Source: `jax.jacobian`; the documents' `theano.gradient.jacobian`.
    """
    return jacobian_of(f, *args, **options) if isinstance(f, Variable) else jacrev(f, *args, **options)


def jacfwd(f: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, **options: Any) -> Any:
    """As `jacrev`, computed forwards: a loop over the entries of the arguments.

    f, argnums, has_aux and further options as in `jacrev`.

    >>> import numpy as np
    >>> jacfwd(np.cumsum)(np.array([1.0, 2.0]))
    array([[1., 0.],
           [1., 1.]])

    Source: `jax.jacfwd`.
    """
    return _transform("jacfwd", _forwards, f, argnums, has_aux, options)


def hessian(f: Any, argnums: Any = 0, has_aux: bool = False, **options: Any) -> Any:
    """A function that returns the second derivatives of f: `jacfwd` of `jacrev`.

    argnums, has_aux and further options as in `grad`.
    For a symbolic scalar, `hessian(cost, wrt)`: the second derivatives as by `scanopt.tensor.hessian`.

    >>> import numpy as np
    >>> hessian(lambda x: (x**3).sum())(np.array([1.0, 2.0]))
    array([[ 6.,  0.],
           [ 0., 12.]])

    Source: `jax.hessian`.
    """
    if isinstance(f, Variable):
        return hessian_of(f, options.pop("wrt", argnums), **options)
    return jacfwd(jacrev(f, argnums, has_aux), argnums, has_aux, **options)
