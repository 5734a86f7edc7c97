"""Operators of matrices under JAX: systems of equations, inverses, factors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from scanopt.array.op import Op
from scanopt.bridges.jaxprs.operators import Operators, rule_for

__all__: list[str] = []


@rule_for("solve_triangular")
def _solve_triangular(m: Operators, op: Op, a: Any, b: Any) -> Any:
    o = {**op.options, "trans": int(op.options["trans"])}
    return _right_sides(m, lambda a, b: m.jax.scipy.linalg.solve_triangular(a, b, **o), a, b)


@rule_for("cho_solve")
def _cho_solve(m: Operators, op: Op, a: Any, b: Any) -> Any:
    return _right_sides(m, lambda a, b: m.jax.scipy.linalg.cho_solve((a, op.options["lower"]), b), a, b)


@rule_for("solve")
def _solve(m: Operators, op: Op, a: Any, b: Any) -> Any:
    return _right_sides(m, m.jax.numpy.linalg.solve, a, b)


@rule_for("inv", "det", "cholesky", "pinv")
def _matrix(m: Operators, op: Op, a: Any, *rest: Any) -> Any:
    return getattr(m.jax.numpy.linalg, op.name)(a, *rest)


def _right_sides(m: Operators, f: Callable[..., Any], a: Any, b: Any) -> Any:
    """f(a, b) for matrices a and a vector or matrices b, whose stacks are broadcast against each other."""
    jnp = m.jax.numpy
    if np.ndim(b) == 1:
        b = jnp.asarray(b)[:, None]
        return _right_sides(m, f, a, b)[..., 0]
    lead = np.broadcast_shapes(np.shape(a)[:-2], np.shape(b)[:-2])
    a, b = (jnp.broadcast_to(x, (*lead, *np.shape(x)[-2:])) for x in (a, b))
    return f(a, b)


@rule_for("lu_factor")
def _lu_factor(m: Operators, op: Op, a: Any) -> Any:
    """LU factors in the layout of our operator: columns of the factors as rows, then the pivots."""
    jnp = m.jax.numpy
    lu, pivots = m.jax.scipy.linalg.lu_factor(a)
    return jnp.concatenate([jnp.swapaxes(lu, -1, -2), pivots[..., None, :].astype(lu.dtype)], axis=-2)
