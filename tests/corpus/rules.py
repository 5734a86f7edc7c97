"""Functions with derivatives of their own, for random programs: what they compute, and that it is differentiated right.

`corpus.plain` has what they compute without scanopt, under the same names.
"""

from __future__ import annotations

from typing import Any

import scanopt
import scanopt.tensor as T

__all__ = ["bent", "rooted", "turned"]


@scanopt.custom_vjp
def rooted(x: Any) -> Any:
    """sqrt(x² + 1)."""
    return T.sqrt(T.sqr(x) + 1)


rooted.defvjp(lambda x: (rooted.fun(x), x), lambda x, g: (g * x / T.sqrt(T.sqr(x) + 1),))


@scanopt.custom_vjp
def bent(x: Any, y: Any) -> Any:
    """tanh(x)·y, of arrays of one shape."""
    return T.tanh(x) * y


bent.defvjp(lambda x, y: (bent.fun(x, y), (T.tanh(x), y)), lambda r, g: (g * (1 - r[0] * r[0]) * r[1], g * r[0]))


@scanopt.custom_jvp
def turned(x: Any) -> Any:
    """sin(x)·cos(x)."""
    return T.sin(x) * T.cos(x)


turned.defjvps(lambda t, y, x: t * T.cos(2 * x))
