"""Reads the products of the table as nodes: of matrices, outer products, convolutions, and sums over some axes."""

from __future__ import annotations

from collections.abc import Iterator

from scanopt.array.types import TensorType
from scanopt.backends.kernels.dtype_functions import dtype_function
from scanopt.backends.kernels.forms import X86, cast_is_known, in_c
from scanopt.backends.kernels.nodes import WHOLE, Contract, Convolve, Map, Product, Products, Reshape, Single, View
from scanopt.backends.kernels.numpy_loops import inner_loop
from scanopt.program.ir import Compute

__all__ = ["convolve_nodes", "outer_nodes", "product_nodes", "tensordot_nodes"]

Types = dict[str, TensorType]


def outer_nodes(step: Compute, types: Types) -> Iterator[Single]:
    """Read an outer product: as in NumPy, a column multiplied by a row."""
    (a, b), dtype = step.args, step.type.dtype
    column, row = f"{step.out}#a", f"{step.out}#b"
    types[column] = TensorType(types[a].dtype, (*types[a].shape, 1))
    types[row] = TensorType(types[b].dtype, (1, *types[b].shape))
    found = in_c("multiply", tuple(types[x].dtype for x in step.args))
    if found and found[-1] == dtype:
        yield View(column, (a,), ((0, WHOLE), None), (), types[a].dtype)
        yield View(row, (b,), (None, (0, WHOLE)), (), types[b].dtype)
        yield Map(step.out, (column, row), "multiply", found[:-1], dtype, step.out)


def product_nodes(step: Compute, types: Types) -> Iterator[Single]:
    """Read a product of matrices and vectors, by NumPy's inner loop."""
    dtype, ndims = step.type.dtype, [types[a].ndim for a in step.args]
    if step.op.params or not min(ndims) or inner_loop("matmul", (dtype,) * 3) is None:
        return
    if not all(cast_is_known(types[a].dtype, dtype) for a in step.args):
        return
    if max(ndims) < 3:
        yield Product(step.out, step.args, dtype, by_dot=step.op.name == "dot")
    elif step.op.name == "matmul":
        yield Products(step.out, step.args, dtype)


def convolve_nodes(step: Compute, types: Types) -> Iterator[Single]:
    """Read a convolution, only on x86: elsewhere NumPy's compiler may have contracted products with short vectors."""
    dtype = step.type.dtype
    known = all(cast_is_known(types[a].dtype, dtype) for a in step.args)
    if X86 and dtype != "bool" and known and dtype_function("convolve", dtype):
        yield Convolve(step.out, step.args, dtype)


def tensordot_nodes(step: Compute, types: Types) -> Iterator[Single]:
    """Read a tensordot: a product of matrices if the axes summed over come first or last, in order; else `Contract`."""
    (a, b), (ia, ib), dtype = step.args, step.op.options["axes"], step.type.dtype
    if not ia or {types[a].dtype, types[b].dtype} != {dtype} or inner_loop("matmul", (dtype,) * 3) is None:
        return
    nodes: list[Single] = []
    left, right = (_matrix(step, x, axes, i, types, nodes) for i, (x, axes) in enumerate(((a, ia), (b, ib))))
    if left is None or right is None:
        yield Contract(step.out, step.args, (tuple(ia), tuple(ib)), dtype)
        return
    yield from nodes
    out = step.out if step.type.ndim == 2 else f"{step.out}#d"
    types.setdefault(out, TensorType(dtype, (None, None)))
    yield Product(out, (left, right), dtype, as_they_lie=True, by_dot=True)
    if out != step.out:
        left_over = ((x, i) for x, summed in ((a, ia), (b, ib)) for i in range(types[x].ndim) if i not in summed)
        yield Reshape(step.out, (out,), dtype, equal=tuple(enumerate(left_over)))


def _matrix(step: Compute, x: str, summed: tuple[int, ...], i: int, types: Types, nodes: list[Single]) -> str | None:
    """A factor as a matrix: the axes summed over are its columns on the left (i = 0), its rows on the right."""
    n, m, dtype = types[x].ndim, len(summed), types[x].dtype
    first, last = summed == tuple(range(m)), summed == tuple(range(n - m, n))
    if not (first or last):
        return None
    cut = m if first else n - m
    flat = f"{step.out}#f{i}"
    types[flat] = TensorType(dtype, (None, None))
    nodes.append(Reshape(flat, (x,), dtype, (tuple(range(cut)), tuple(range(cut, n)))))
    if (first and not i) or (last and not first and i):
        turned = f"{step.out}#t{i}"
        types[turned] = TensorType(dtype, (None, None))
        nodes.append(View(turned, (flat,), ((1, WHOLE), (0, WHOLE)), (), dtype))
        return turned
    return flat
