"""Reads linear algebra as nodes: systems, inverses, determinants, also of stacks of matrices, and factorizations."""

from __future__ import annotations

from collections.abc import Iterator

from scanopt.array.types import COMPLEX, TensorType
from scanopt.backends.kernels.lapack import lapack_function
from scanopt.backends.kernels.matrix_nodes import LOOPS_OF_TWO
from scanopt.backends.kernels.nodes import Decomposed, Factored, Map, Single, Solve
from scanopt.backends.kernels.numpy_loops import inner_loop
from scanopt.program.ir import Compute

__all__ = ["decomposed_nodes", "factored_nodes", "solve_nodes"]

Types = dict[str, TensorType]

_DECOMPOSITIONS = {
    # operator and its options: NumPy's inner loop, and how many arrays it takes and gives
    ("eigh", True): ("eigh_lo", 3), ("eigh", False): ("eigh_up", 3), ("svd", False): ("svd_s", 4),
    ("svd", True): ("svd_f", 4), ("qr", False): ("qr_r_raw", 2), ("spectrum", "svd"): ("svd", 2),
    ("spectrum", "eigvalsh_lower"): ("eigvalsh_lo", 2), ("spectrum", "eigvalsh_upper"): ("eigvalsh_up", 2),
}  # fmt: skip
"""Decompositions of real matrices that have a form in kernels."""


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


def decomposed_nodes(step: Compute, types: Types) -> Iterator[Single]:
    """Read decompositions of one matrix, which np.linalg computes in double precision."""
    (a,), dtype = step.args, step.type.dtype
    (option,) = step.op.options.values()
    name, arrays = _DECOMPOSITIONS.get((step.op.name, option), ("", 0))
    fits = types[a].ndim == 2 and types[a].dtype == dtype and dtype in ("float32", "float64")
    if fits and name and inner_loop(name, ("float64",) * arrays) is not None:
        yield Decomposed(step.out, step.args, dtype, name)
