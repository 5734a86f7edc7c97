"""Reads operators on rows as nodes: running sums, powers, and affine recurrences."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from scanopt.array.types import TensorType
from scanopt.backends.kernels.forms import cast_is_known, in_c
from scanopt.backends.kernels.nodes import AffineRows, Powers, Running, Single
from scanopt.backends.kernels.numpy_loops import inner_loop
from scanopt.program.ir import Compute

__all__ = ["AFFINE_NAMES", "affine_nodes", "powers_nodes", "running_nodes"]

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
