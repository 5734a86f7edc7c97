"""Control flow under the names of `jax.lax`.

With symbolic arrays, and while a function is traced, these are parts of the graph; with arrays alone they run at
once, by the reference interpreter.
"""

from typing import Any

from scanopt.absent import no_such_name
from scanopt.lax.branches import cond, select, select_n, switch
from scanopt.lax.cumulative import associative_scan, cumlogsumexp, cummax, cummin, cumprod, cumsum
from scanopt.lax.loops import fori_loop, map, scan, while_loop
from scanopt.lax.slices import (
    dynamic_index_in_dim,
    dynamic_slice,
    dynamic_slice_in_dim,
    dynamic_update_index_in_dim,
    dynamic_update_slice,
    dynamic_update_slice_in_dim,
    stop_gradient,
)

__all__ = [
    "associative_scan", "cond", "cumlogsumexp", "cummax", "cummin", "cumprod", "cumsum", "dynamic_index_in_dim",
    "dynamic_slice", "dynamic_slice_in_dim", "dynamic_update_index_in_dim", "dynamic_update_slice",
    "dynamic_update_slice_in_dim", "fori_loop", "map", "scan", "select", "select_n", "stop_gradient", "switch",
    "while_loop",
]  # fmt: skip

_ELSEWHERE = {
    "clamp": "T.clip(x, low, high)",
    "conv": "T.nnet.conv2d(x, filters, filter_flip=False)",
    "conv_general_dilated": "T.nnet.conv2d(x, filters, filter_flip=False)",
    "convert_element_type": "x.astype(dtype)",
    "div": "x / y",
    "dot_general": "T.tensordot(x, y, axes) or np.einsum",
    "batch_matmul": "x @ y",
    "gather": "x[index]",
    "iota": "T.arange(size, dtype=dtype)",
    "is_finite": "T.isfinite(x)",
    "integer_pow": "x ** k",
    "lgamma": "T.gammaln(x)",
    "logistic": "T.sigmoid(x)",
    "ne": "x != y",
    "population_count": "T.bitwise_count(x)",
    "rem": "T.fmod(x, y)",
    "rev": "T.flip(x, axes)",
    "rsqrt": "1 / T.sqrt(x)",
    "reduce_window": "T.nnet.max_pool or T.nnet.avg_pool",
    "shift_left": "x << k",
    "shift_right_arithmetic": "x >> k",
    "shift_right_logical": "x >> k of an unsigned x",
    "top_k": "T.sort(x)[-k:][::-1], or T.argsort(x)[-k:][::-1] for the places",
}  # fmt: skip
"""Functions of jax.lax on whole arrays, where they have another name here: what to write."""


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from scanopt import tensor as T

    there = _ELSEWHERE.get(name) or next((f"T.{n}" for n in (name, name.rstrip("_")) if hasattr(T, n)), "")
    if not there and name.startswith(("reduce_", "scatter_")):
        way, _, function = name.partition("_")
        there = f"T.{function}(x, axis)" if way == "reduce" else f"x.at[index].{function}(y)"
    raise no_such_name(__name__, name, __all__, there)
