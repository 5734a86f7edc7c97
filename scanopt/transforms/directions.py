"""Derivatives of functions along a direction: jvp, vjp and linearize."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from scanopt.array.constants import as_variable
from scanopt.array.derivatives import smooth
from scanopt.array.variable import Constant, Variable
from scanopt.gradient import Lop
from scanopt.gradient.arguments import vector
from scanopt.gradient.pullback import zeros_like
from scanopt.gradient.pushforward import push
from scanopt.loops.location import user_location
from scanopt.loops.site import Site, show
from scanopt.loops.tracing import pending
from scanopt.loops.trees import rebuilt, same_structure, structure, tree_leaves
from scanopt.transforms.calls import is_symbolic, leaf_type, title
from scanopt.transforms.fresh import Fresh, fresh_call
from scanopt.transforms.gradients import function_of_arrays
from scanopt.transforms.jit import jit

__all__ = ["jvp", "linearize", "moved", "vjp"]


def _all(f: Callable[..., Any], what: str, primals: Any, has_aux: bool) -> Fresh:
    return fresh_call(f, what, primals, {}, range(len(primals)), has_aux, still=True)


def _tangents(f: Callable[..., Any], what: str, primals: Any, tangents: Any) -> dict[int, Variable]:
    """The checked tangents of the leaves that can move, by the number of such a leaf.  Raises TypeError, ValueError."""
    if not same_structure(tuple(primals), tuple(tangents)):
        raise TypeError(
            f"the tangents of {what} of {title(f)} are {structure(tuple(tangents))}, but the primals are "
            f"{structure(tuple(primals))}: give one array for each array"
        )
    site = Site(what, user_location())
    found: dict[int, Variable] = {}
    points = list(tree_leaves(tuple(primals), "primals"))
    given = dict(tree_leaves(tuple(tangents), "primals"))
    moving = [(path, as_variable(x)) for path, x in points if isinstance(x, Variable) or leaf_type(x) is not None]
    for i, (path, x) in enumerate((path, x) for path, x in moving if smooth(x)):
        t = as_variable(given[path])
        if t.ndim != x.ndim or (not np.can_cast(t.dtype, x.dtype, "same_kind")):
            raise TypeError(
                f"the tangent of {path} of {title(f)} is {t.type}, but the primal is {x.type}: it must have its shape "
                "and a dtype that converts to it"
            )
        found[i] = vector(site, f"the tangent of {path} of {title(f)}", x, t)
    return found


def moved(call: Fresh, tangents: dict[int, Variable]) -> list[Variable]:
    """The derivatives of the outputs along tangents of the call's variables, given by number; 0 where constant."""
    found = push(call.outputs, {call.variables[i]: t for i, t in tangents.items()})
    return [zeros_like(y) if t is None else t for y, t in zip(call.outputs, found, strict=True)]


def _sequence(what: str, name: str, x: Any) -> tuple[Any, ...]:
    if not isinstance(x, tuple | list):
        raise TypeError(f"{name} of {what} must be a tuple with one entry for each argument, found {show(x)}")
    return tuple(x)


@functools.lru_cache(maxsize=128)
def _along(f: Callable[..., Any], has_aux: bool) -> Any:
    def along(primals: Any, tangents: Any) -> Any:
        directions = _tangents(f, "jvp", primals, tangents)
        call = _all(f, "jvp", primals, has_aux)
        speeds = rebuilt(call.result, iter(moved(call, directions)).__next__)
        found = call.back((call.result, speeds, call.aux))
        return found if has_aux else found[:2]

    return jit(along)


def jvp(f: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool = False) -> Any:
    """The pair (f(*primals), its derivative along the tangents).

    primals: a tuple with the arguments of f.  tangents: the same structure; those of integers are ignored.
    has_aux: f returns (result, aux), and aux comes third.  Raises TypeError, ValueError for tangents that do not fit.

    >>> import numpy as np
    >>> jvp(lambda x: x**2, (np.array([1.0, 2.0]),), (np.array([1.0, 0.5]),))
    (array([1., 4.]), array([2., 2.]))

    Source: `jax.jvp`.
    """
    function_of_arrays("jvp", f)
    primals, tangents = _sequence("jvp", "primals", primals), _sequence("jvp", "tangents", tangents)
    _tangents(f, "jvp", primals, tangents)
    return _along(f, bool(has_aux))(primals, tangents)


@functools.lru_cache(maxsize=128)
def _linear(f: Callable[..., Any]) -> Any:
    return jit(lambda primals, tangents: _along(f, False)(primals, tangents)[1])


def linearize(f: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The pair (f(*primals), a function from tangents to the derivative of f along them).

    Raises as `jvp` does.  Each call of the function computes f again.

    >>> import numpy as np
    >>> value, speed = linearize(np.sin, np.array(0.0))
    >>> value, speed(np.array(2.0))
    (array(0.), array(2.))

    Source: `jax.linearize`.
    """
    function_of_arrays("linearize", f)

    def speed(*tangents: Any) -> Any:
        _tangents(f, "linearize", primals, tangents)
        return _linear(f)(primals, tangents)

    return _forwards(f)(*primals), speed


@functools.lru_cache(maxsize=128)
def _forwards(f: Callable[..., Any]) -> Any:
    return jit(f)


def _back(f: Callable[..., Any], call: Fresh, cotangents: Any) -> Any:
    """The cotangents of the arguments for given cotangents of the results.  Raises TypeError where they do not fit."""
    if not same_structure(call.result, cotangents):
        raise TypeError(
            f"the cotangents of vjp of {title(f)} are {structure(cotangents)}, but it returns "
            f"{structure(call.result)}: give one array for each array"
        )
    given = dict(tree_leaves(cotangents, ""))
    pairs = [(y, as_variable(given[path])) for path, y in tree_leaves(call.result, "") if smooth(y)]
    parts: Any = [zeros_like(x) for x in call.variables]
    if pairs and call.variables:
        outputs, rows = zip(*pairs, strict=True)
        parts = Lop(list(outputs), call.variables, list(rows), disconnected_inputs="ignore")
    feed = iter(parts)

    def one(x: Any) -> Any:
        v = as_variable(x) if isinstance(x, Variable) or leaf_type(x) is not None else Constant(np.zeros(()))
        return next(feed) if smooth(v) and (isinstance(x, Variable) or leaf_type(x) is not None) else zeros_like(v)

    leaves = [one(x) for _, x in tree_leaves(call.points, "")]
    return call.back(call.like_points(leaves))


@functools.lru_cache(maxsize=128)
def _pulled(f: Callable[..., Any], has_aux: bool) -> Any:
    return jit(lambda primals, cotangents: _back(f, _all(f, "vjp", primals, has_aux), cotangents))


def vjp(f: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The pair (f(*primals), a function from a cotangent of the result to a tuple of the primals' cotangents).

    has_aux: f returns (result, aux), and aux comes third.  Integers get zeros.  With arrays each call of the function
    computes f anew.  Raises TypeError for cotangents that do not fit.

    >>> import numpy as np
    >>> value, back = vjp(lambda x, y: x * y, np.array(2.0), np.array(3.0))
    >>> value, back(np.array(1.0))
    (array(6.), (array(3.), array(2.)))

    Source: `jax.vjp`.
    """
    function_of_arrays("vjp", f)
    if pending() is None and not is_symbolic(primals):
        value = _forwards(f)(*primals)
        value, aux = value if has_aux else (value, None)
        if not is_symbolic(value):
            found = value, lambda cotangents: _pulled(f, bool(has_aux))(primals, cotangents)
            return (*found, aux) if has_aux else found
    call = _all(f, "vjp", primals, has_aux)
    value, aux = call.back((call.result, call.aux))
    return (value, lambda ct: _back(f, call, ct), aux) if has_aux else (value, lambda ct: _back(f, call, ct))
