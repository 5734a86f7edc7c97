"""Reads linear algebra as nodes: systems, inverses and determinants, also of stacks of matrices, and factorizations."""

from __future__ import annotations

from collections.abc import Iterator

from scanopt.array.types import COMPLEX, TensorType
from scanopt.backends.kernels.lapack import lapack_function
from scanopt.backends.kernels.matrix_nodes import LOOPS_OF_TWO
from scanopt.backends.kernels.nodes import Factored, Map, Single, Solve
from scanopt.backends.kernels.numpy_loops import inner_loop
from scanopt.program.ir import Compute

__all__ = ["factored_nodes", "solve_nodes"]

Types = dict[str, TensorType]


def solve_nodes(step: Compute, types: Types) -> Iterator[Single]:
    """Read what NumPy's inner loops compute of matrices; for single precision in double, as np.linalg does."""
    dtype = step.type.dtype
    double = "complex128" if dtype in COMPLEX else "float64"
    matrix, *right = (types[a] for a in step.args)
    alike = all(x.ndim == matrix.ndim or (x.ndim, matrix.ndim) == (1, 2) for x in right)
    fits = matrix.ndim >= 2 and alike and {x.dtype for x in (matrix, *right)} == {dtype}
    name = {"cholesky": "cholesky_lo"}.get(step.op.name, step.op.name)
    loop, count = LOOPS_OF_TWO.get(name, name), len(step.args) + 1 + (name in LOOPS_OF_TWO)
    if not fits or inner_loop(loop, (double,) * count) is None:
        return
    if dtype == double:
        yield Solve(step.out, step.args, name, double)
    elif dtype in ("float32", "complex64"):
        wide = [f"{step.out}#w{i}" for i in range(len(step.args))]
        types.update({w: TensorType(double, types[a].shape) for w, a in zip(wide, step.args, strict=True)})
        types[out := f"{step.out}#w"] = TensorType(double, step.type.shape)
        for w, a in zip(wide, step.args, strict=True):
            yield Map(w, (a,), "copy", (double,), double, a)
        yield Solve(out, tuple(wide), name, double)
        yield Map(step.out, (out,), "copy", (dtype,), dtype, out)


def factored_nodes(step: Compute, types: Types) -> Iterator[Single]:
    """Read factorizations and solutions by them, by the same LAPACK routines as `scanopt.array.numerics.factors`."""
    name, options, dtype = step.op.name, step.op.options, step.type.dtype
    matrix, *right = (types[a] for a in step.args)
    fits = matrix.ndim == 2 and all(x.ndim in (1, 2) for x in right) and {x.dtype for x in (matrix, *right)} == {dtype}
    triangle = "U" if options.get("lower") else "L"  # of the transpose
    letters = {
        "lu_factor": "", "lu_solve": "NTT"[options.get("trans", 0)], "cho_solve": triangle,
        "solve_triangular": triangle + "TN "[options.get("trans", 0)] + "NU"[options.get("unit_diagonal", False)],
    }[name]  # fmt: skip
    if fits and " " not in letters and lapack_function(name, dtype):
        yield Factored(step.out, step.args, name, letters, dtype)
