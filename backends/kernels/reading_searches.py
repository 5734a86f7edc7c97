"""Reads searches as nodes: places of extremes, places in sorted vectors, sorting."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from scanopt.array.types import TensorType
from scanopt.backends.kernels.dtype_functions import dtype_function
from scanopt.backends.kernels.forms import cast_is_known
from scanopt.backends.kernels.nodes import Extreme, Map, Search, Single, Sort
from scanopt.backends.kernels.numpy_loops import DTYPES
from scanopt.program.ir import Compute

__all__ = ["digitize_nodes", "extreme_nodes", "search_nodes", "sort_nodes"]

Types = dict[str, TensorType]


def extreme_nodes(op: str) -> Callable[[Compute, Types], Iterator[Single]]:
    """Reads the place of an extreme.  op: the comparison that is true for a more extreme element."""

    def extreme(step: Compute, types: Types) -> Iterator[Single]:
        axis, ndim = step.op.options["axis"], types[step.args[0]].ndim
        if set(step.op.options) == {"axis"} and isinstance(axis, int) and ndim and step.type.dtype == "int64":
            yield Extreme(step.out, step.args, op, axis % ndim)

    return extreme


def search_nodes(step: Compute, types: Types) -> Iterator[Single]:
    """Read `searchsorted`: places in a sorted vector."""
    yield from _search(step, types, step.op.options["side"] == "right", rising=False)


def digitize_nodes(step: Compute, types: Types) -> Iterator[Single]:
    """Read `digitize` for rising edges; for falling ones array steps run, which report edges that do neither."""
    yield from _search(step, types, not step.op.options["right"], rising=True)


def _search(step: Compute, types: Types, right: bool, rising: bool) -> Iterator[Single]:
    """Read a search, as in NumPy in the dtype to which both arguments are promoted."""
    dtype = np.result_type(*(types[a].dtype for a in step.args)).name
    if types[step.args[0]].ndim != 1 or dtype not in DTYPES:
        return
    args = list(step.args)
    for i, a in enumerate(step.args):
        if types[a].dtype != dtype:
            if not cast_is_known(types[a].dtype, dtype):
                return
            args[i] = f"{step.out}#{i}"
            types[args[i]] = TensorType(dtype, types[a].shape)
            yield Map(args[i], (a,), "copy", (dtype,), dtype, a)
    yield Search(step.out, tuple(args), right, rising)


def sort_nodes(step: Compute, types: Types) -> Iterator[Single]:
    """Read `sort` and `argsort`."""
    options, x = step.op.options, types[step.args[0]]
    op = f"{step.op.name} {options.get('kind') or 'quicksort'}"
    if x.ndim and dtype_function(op, x.dtype):
        yield Sort(step.out, step.args, op, options["axis"] % x.ndim, step.type.dtype)
