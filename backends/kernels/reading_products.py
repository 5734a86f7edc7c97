"""Products of the table as nodes: of matrices, of all pairs, over some axes; and systems of equations."""

from __future__ import annotations

from collections.abc import Iterator

from scanopt.array.types import TensorType
from scanopt.backends.kernels.forms import cast_is_known, in_c
from scanopt.backends.kernels.nodes import WHOLE, Contract, Map, Product, Reshape, Single, Solve, View
from scanopt.backends.kernels.numpy_loops import inner_loop
from scanopt.program.ir import Compute

__all__ = ["outer_nodes", "product_nodes", "solve_nodes", "tensordot_nodes"]

Types = dict[str, TensorType]


def outer_nodes(step: Compute, types: Types) -> Iterator[Single]:
    """Products of all pairs: as NumPy, which multiplies a column by a row."""
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
    """A product of matrices and vectors, by NumPy's inner loop."""
    dtype = step.type.dtype
    fits = all(types[a].ndim in (1, 2) and cast_is_known(types[a].dtype, dtype) for a in step.args)
    if fits and not step.op.params and inner_loop("matmul", (dtype,) * 3) is not None:
        yield Product(step.out, step.args, dtype, by_dot=step.op.name == "dot")


def solve_nodes(step: Compute, types: Types) -> Iterator[Single]:
    """A system of equations or an inverse, by NumPy's inner loop: np.linalg computes those of float32 in float64."""
    dtype, double = step.type.dtype, "float64"
    matrix, *right = (types[a] for a in step.args)
    fits = matrix.ndim == 2 and all(x.ndim in (1, 2) for x in right) and {x.dtype for x in (matrix, *right)} == {dtype}
    if not fits or inner_loop(step.op.name, (double,) * (len(step.args) + 1)) is None:
        return
    if dtype == double:
        yield Solve(step.out, step.args, step.op.name, double)
    elif dtype == "float32":
        wide = [f"{step.out}#w{i}" for i in range(len(step.args))]
        types.update({w: TensorType(double, types[a].shape) for w, a in zip(wide, step.args, strict=True)})
        types[out := f"{step.out}#w"] = TensorType(double, step.type.shape)
        for w, a in zip(wide, step.args, strict=True):
            yield Map(w, (a,), "copy", (double,), double, a)
        yield Solve(out, tuple(wide), step.op.name, double)
        yield Map(step.out, (out,), "copy", (dtype,), dtype, out)


def tensordot_nodes(step: Compute, types: Types) -> Iterator[Single]:
    """Where the axes summed over are the first or the last of both, in order: no copies are needed; else as it is."""
    (a, b), (ia, ib), dtype = step.args, step.op.options["axes"], step.type.dtype
    if not ia or {types[a].dtype, types[b].dtype} != {dtype} or inner_loop("matmul", (dtype,) * 3) is None:
        return
    nodes: list[Single] = []
    left, right = (_matrix(step, x, axes, i, types, nodes) for i, (x, axes) in enumerate(((a, ia), (b, ib))))
    if left is None or right is None:
        yield Contract(step.out, step.args, (tuple(ia), tuple(ib)), dtype)
        return
    yield from nodes
    out = f"{step.out}#d"
    types[out] = TensorType(dtype, (None, None))
    yield Product(out, (left, right), dtype, as_they_lie=True, by_dot=True)
    yield Reshape(step.out, (out,), dtype)


def _matrix(step: Compute, x: str, summed: tuple[int, ...], i: int, types: Types, nodes: list[Single]) -> str | None:
    """A factor as a matrix, what is summed over its columns on the left (i = 0), its rows on the right."""
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
