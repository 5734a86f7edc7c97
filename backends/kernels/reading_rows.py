"""Reads operators on rows as nodes: running sums, powers, affine recurrences, and averages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from scanopt.array.types import TensorType
from scanopt.backends.kernels.forms import cast_is_known, in_c
from scanopt.backends.kernels.nodes import AffineRows, Length, Map, Powers, Reduce, Running, Single, Within
from scanopt.backends.kernels.numpy_loops import inner_loop
from scanopt.program.ir import Compute

__all__ = ["AFFINE_NAMES", "affine_nodes", "mean_nodes", "powers_nodes", "running_nodes"]

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


Reader = Callable[[Compute, Types], Iterator[Single]]


def mean_nodes(of_floats: Reader) -> Reader:
    """Reads averages, those of floats as sums that NumPy's way of dividing belongs to."""

    def read(step: Compute, types: Types) -> Iterator[Single]:
        kind = np.dtype(types[step.args[0]].dtype).kind
        return (_mean_of_integers if kind in "biu" else _mean_of_complex if kind == "c" else of_floats)(step, types)

    return read


def _mean_of_complex(step: Compute, types: Types) -> Iterator[Single]:
    """Read averages of complex numbers: NumPy divides the sum by the number of elements, in double precision."""
    (a,), options, dtype, double = step.args, step.op.options, step.type.dtype, "complex128"
    axes = tuple(sorted(i % types[a].ndim for i in options["axis"]))
    if dtype != types[a].dtype or not axes or options["keepdims"] or in_c("divide", (double, double)) is None:
        return
    types[total := f"{step.out}#t"] = step.type
    types[wide := f"{step.out}#w"] = TensorType(double, step.type.shape)
    yield Reduce(total, (a,), "add", axes, dtype)
    counting, count = _count(step, axes, types)
    yield from counting
    yield Map(wide, (total, count), "divide", (double, double), double, total)
    yield Map(step.out, (wide,), "copy", (dtype,), dtype, total)


def _count(step: Compute, axes: Sequence[int], types: Types) -> tuple[list[Single], str]:
    """Make the nodes that multiply the lengths of some axes of the argument; return them and the product's name."""
    nodes, product, count = list[Single](), "", f"{step.out}#c"
    for i in axes:
        length, more = f"{count}{i}", f"{count}#{i}"
        types[length] = types[more] = TensorType("int64", ())
        nodes.append(Length(length, step.args[:1], i))
        if product:
            nodes.append(Map(more, (product, length), "multiply", ("int64",) * 2, "int64", length))
        product = more if product else length
    return nodes, product


def _mean_of_integers(step: Compute, types: Types) -> Iterator[Single]:
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
    counting, product = _count(step, axes, types)
    yield from counting
    types[count] = TensorType("int64", ())
    yield Within(count, (product,), 1, MOST_COUNTED, False, False, "int64")
    yield Map(step.out, (total, count), "divide", ("float64", "float64"), "float64", total)
