"""Operators on complex numbers: which of the forms in `reading.py` are right for these, too."""

from __future__ import annotations

from collections.abc import Iterator

from scanopt.array.types import COMPLEX, TensorType
from scanopt.backends.kernels.complex_operations import PARTS
from scanopt.backends.kernels.nodes import Map, Single
from scanopt.program.ir import Compute

__all__ = ["fits_complex", "is_made_of_vectors", "parts_of_complex"]

_SAME = {
    *PARTS, "broadcast_to", "cast", "concatenate", "det", "dot", "expand_dims", "fft", "full", "full_like",
    "getitem", "given", "has_rows", "inv", "irfft", "matmul", "mean", "outer", "power", "prod", "repeat_rows",
    "reshape", "rfft", "setitem", "shape_i", "shaped_like", "solve", "spread_like", "squeeze", "stack", "sum", "sum_to",
    "swap_rows", "transpose", "when_runs", "where", "widen",
}  # fmt: skip
"""Operators whose own form is the same for complex numbers; all others round, or compare, in other ways."""


def fits_complex(step: Compute, types: dict[str, TensorType], by_ufunc: bool) -> bool:
    """Whether the form of an operator is right for the dtypes that it has here.

    by_ufunc: whether that is the form of all ufuncs.
    """
    dtypes = {types[name].dtype for name in (step.out, *step.args)}
    return by_ufunc or step.op.name in _SAME or dtypes.isdisjoint(COMPLEX)


def is_made_of_vectors(step: Compute, types: dict[str, TensorType]) -> bool:
    """Whether NumPy's inner loop takes many elements at once where compilers take them one by one."""
    return step.op.name == "absolute" and types[step.args[0]].dtype in COMPLEX and step.type.ndim > 0


def parts_of_complex(step: Compute, types: dict[str, TensorType]) -> Iterator[Single]:
    """A part of complex numbers, or their conjugates; of real numbers these are the numbers themselves."""
    (x,), op = step.args, step.op.name
    if types[x].dtype in COMPLEX:
        yield Map(step.out, step.args, op, (types[x].dtype,), step.type.dtype, step.out)
    elif op != "imag":
        yield Map(step.out, step.args, "copy", (types[x].dtype,), step.type.dtype, step.out)
