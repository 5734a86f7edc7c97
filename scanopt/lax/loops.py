"""scan, fori_loop, while_loop and map, as `jax.lax` has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import scanopt.loops.carry as carried
from scanopt.lax.at_once import at_once
from scanopt.loops.location import user_location
from scanopt.loops.site import Site, show
from scanopt.loops.trees import tree_leaves

__all__ = ["fori_loop", "map", "scan", "while_loop"]

_MOST = 2**63 - 1
"""A limit that no loop reaches."""


@at_once
def scan(
    f: Callable[..., Any], init: Any, xs: Any = None, length: Any = None, reverse: bool = False, unroll: Any = 1
) -> tuple[Any, Any]:
    """A loop over the first axis of xs that carries a value along: (last carry, results).

    f: from (carry, x) to (carry, y).  init, xs, y: arrays in any structure; arguments as in `scanopt.loop`.
    unroll: accepted but without effect: laws unroll loops where that pays.  Raises as `scanopt.loop` does.

    >>> import numpy as np
    >>> scan(lambda c, x: (c + x, c), 0.0, np.array([1.0, 2.0, 4.0]))
    (array(7.), array([0., 1., 3.]))

    Source: `jax.lax.scan`.
    """
    return carried.loop(f, init, xs, length, reverse)


@at_once
def fori_loop(lower: Any, upper: Any, body_fun: Callable[..., Any], init_val: Any, unroll: Any = None) -> Any:
    """The value after `value = body_fun(i, value)` for i from lower to upper - 1; the bounds may be computed.

    unroll: accepted and without effect.  Raises as `scanopt.loop` does.

    >>> fori_loop(1, 5, lambda i, product: i * product, 1)
    array(24)

    Source: `jax.lax.fori_loop`.
    """
    return carried.fori_loop(lower, upper, body_fun, init_val)


@at_once
def while_loop(
    cond_fun: Callable[..., Any], body_fun: Callable[..., Any], init_val: Any, max_steps: Any = _MOST
) -> Any:
    """The value after `value = body_fun(value)` for as long as cond_fun(value) holds.

    max_steps: the loop ends after at most this many steps.  Gradients need the rows of all steps that ran.
    Raises as `scanopt.loop` does.

    >>> while_loop(lambda n: n < 45, lambda n: 2 * n, 1)
    array(64)

    Source: `jax.lax.while_loop`.
    """
    return carried.while_loop(cond_fun, body_fun, init_val, max_steps)


@at_once
def map(f: Callable[..., Any], xs: Any, batch_size: Any = None) -> Any:
    """Apply f to each entry along the first axis of xs, arrays in any structure.

    batch_size: accepted but without effect: laws compute entries together.  Raises as `scanopt.loop` does.

    >>> import numpy as np
    >>> map(np.sum, np.ones((2, 3)))
    array([3., 3.])

    Source: `jax.lax.map`.
    """
    if not list(tree_leaves(xs, "xs")):
        raise Site("map", user_location()).error(ValueError, f"map needs an array to map over, found {show(xs)}")
    return carried.loop(lambda _, x: (None, f(x)), None, xs)[1]
