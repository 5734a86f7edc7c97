"""Reads averages and variances along axes as nodes: sums, which NumPy divides in its own way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from scanopt.array.op import Op
from scanopt.array.types import TensorType
from scanopt.backends.kernels.forms import in_c
from scanopt.backends.kernels.nodes import WHOLE, Length, Map, Reduce, Single, View, Within
from scanopt.program.ir import Compute

__all__ = ["mean_nodes", "spread_nodes"]

Types = dict[str, TensorType]
Reader = Callable[[Compute, Types], Iterator[Single]]

MOST_COUNTED, FARTHEST = 2**20, 2**32
"""The most integers that are averaged, and their greatest size: then all sums are exact as floats, in any order."""


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


def spread_nodes(root: bool) -> Callable[[Compute, Types], Iterator[Single]]:
    """Reads variances along axes, or their square roots."""

    def spread(step: Compute, types: Types) -> Iterator[Single]:
        options, (a,), dtype = step.op.options, step.args, step.type.dtype
        less = options.get("ddof", 0)
        if np.dtype(dtype).kind != "f" or less != int(less) or not options["axis"]:
            return
        total, average, apart, squares = (f"{step.out}#{x}" for x in "tmds")
        gone = {j % types[a].ndim for j in options["axis"]}
        left = [i for i in range(types[a].ndim) if i not in gone]
        types[total] = TensorType(dtype, tuple(types[a].shape[i] for i in left))
        types[average] = TensorType(dtype, tuple(1 if i in gone else n for i, n in enumerate(types[a].shape)))
        types[apart] = types[squares] = TensorType(dtype, types[a].shape)
        means = _means(total, step, types)
        if not means:
            return
        yield from means
        places = tuple(None if i in gone else (left.index(i), WHOLE) for i in range(types[a].ndim))
        yield View(average, (total,), places, (), dtype)
        yield Map(apart, (a, average), "subtract", (dtype, dtype), dtype, a)
        yield Map(squares, (apart, apart), "multiply", (dtype, dtype), dtype, a)
        found = f"{step.out}#v" if options["keepdims"] else step.out
        variance = f"{step.out}#r" if root else found
        types |= dict.fromkeys((variance, found), types[total])
        yield Reduce(variance, (squares,), "add", tuple(sorted(gone)), dtype, counted=True, less=int(less))
        if root:
            yield Map(found, (variance,), "sqrt", (dtype,), dtype, variance)
        if options["keepdims"]:
            yield View(step.out, (found,), places, (), dtype)

    return spread


def _means(out: str, step: Compute, types: Types) -> list[Single]:
    """The nodes that average what a variance is of, its axes dropped; none where they are not known."""
    (a,), axis = step.args, step.op.options["axis"]
    if np.dtype(types[a].dtype).kind in "biu":
        mean = Compute(out, Op.make("mean", axis=axis, keepdims=False), (a,), types[out])
        return [*_mean_of_integers(mean, types)]
    if types[a].dtype != step.type.dtype:
        return []
    return [Reduce(out, (a,), "add", tuple(sorted(i % types[a].ndim for i in axis)), step.type.dtype, counted=True)]
