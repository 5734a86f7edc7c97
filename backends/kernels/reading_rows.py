"""Reads operators on rows as nodes: running sums, powers, affine recurrences, and averages of integers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from scanopt.array.types import TensorType
from scanopt.backends.kernels.forms import cast_is_known, in_c
from scanopt.backends.kernels.nodes import AffineRows, Length, Map, Powers, Reduce, Running, Single, Within
from scanopt.backends.kernels.numpy_loops import inner_loop
from scanopt.program.ir import Compute

__all__ = ["AFFINE_NAMES", "affine_nodes", "integer_mean_nodes", "powers_nodes", "running_nodes"]

Types = dict[str, TensorType]

AFFINE_NAMES = (
    "linear_recurrence", "smoothing", "regrouped_sum", "regrouped_filter", "regrouped_smoothing", "regrouped_filter2",
)  # fmt: skip


def running_nodes(op: str) -> Callable[[Compute, Types], Iterator[Single]]:
    """Reads cumulative sums, products and extremes."""

    def running(step: Compute, types: Types) -> Iterator[Single]:
        dtype, (a,) = step.type.dtype, step.args
        if in_c(op, (dtype, dtype)) and cast_is_known(types[a].dtype, dtype) and types[a].ndim and dtype != "bool":
            yield Running(step.out, (a,), op, step.op.options["axis"] % types[a].ndim, dtype)

    return running


def powers_nodes(step: Compute, types: Types) -> Iterator[Single]:
    """Read the powers of a number to many integer exponents."""
    (x, e), dtype = step.args, step.type.dtype
    fits = types[x].dtype == dtype == "float64" and not types[x].ndim and types[e].dtype == "int64"
    if fits and inner_loop("power", (dtype,) * 3) is not None:
        yield Powers(step.out, step.args, dtype)


def affine_nodes(step: Compute, types: Types) -> Iterator[Single]:
    """Read an affine recurrence of numbers, if all arguments have its dtype: else array steps add in another order."""
    dtype = step.type.dtype
    if dtype in ("float32", "float64") and step.type.ndim == 1 and all(types[a].dtype == dtype for a in step.args):
        yield AffineRows(step.out, step.args, step.op.name, dtype)


MOST_COUNTED, FARTHEST = 2**20, 2**32
"""The most integers that are averaged, and their greatest size: then all sums are exact as floats, in any order."""


def integer_mean_nodes(step: Compute, types: Types) -> Iterator[Single]:
    """Read averages of integers or truth values: integers are added up here, where NumPy adds floats, and then divided.

    For more or larger integers, whose sums NumPy rounds, array steps run.
    """
    (a,), options = step.args, step.op.options
    ndim, shape = types[a].ndim, types[a].shape
    axes = tuple(sorted(i % ndim for i in options["axis"]))
    if step.type.dtype != "float64" or types[a].dtype == "uint64" or not axes or options["keepdims"]:
        return
    whole, total, count = (f"{step.out}#{x}" for x in "wtc")
    types[whole] = TensorType("int64", shape)
    types[total] = TensorType("int64", tuple(n for i, n in enumerate(shape) if i not in axes))
    if types[a].dtype == "int64":
        whole = a
    else:
        yield Map(whole, (a,), "copy", ("int64",), "int64", a)
    if np.dtype(types[a].dtype).itemsize > 2:
        near = f"{step.out}#near"
        types[near] = types[whole]
        yield Within(near, (whole,), -FARTHEST, FARTHEST, False, False, "int64")
        whole = near
    yield Reduce(total, (whole,), "add", axes, "int64")
    product = ""
    for i in axes:
        length, more = f"{count}{i}", f"{count}#{i}"
        types[length] = types[more] = TensorType("int64", ())
        yield Length(length, (a,), i)
        if product:
            yield Map(more, (product, length), "multiply", ("int64",) * 2, "int64", length)
        product = more if product else length
    types[count] = TensorType("int64", ())
    yield Within(count, (product,), 1, MOST_COUNTED, False, False, "int64")
    yield Map(step.out, (total, count), "divide", ("float64", "float64"), "float64", total)
