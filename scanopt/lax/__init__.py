"""Control flow under the names of `jax.lax`.

With symbolic arrays, and while a function is traced, these are parts of the graph; with arrays alone they run at
once, by the reference interpreter.
"""

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
