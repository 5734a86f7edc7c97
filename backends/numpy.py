"""The executor of NumPy arrays: it runs all loops as array steps, without kernels.

A few operators have shorter functions here, with the same bits and less Python around NumPy's call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from scanopt.array.op import Op
from scanopt.backends.compiled import Compiled, compile_steps
from scanopt.program.ir import Program
from scanopt.records import dataclass

__all__ = ["NumPy", "make"]

ONE = {char: np.ones((), char) for char in np.typecodes["AllFloat"]}  # by dtype.char
REDUCE = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}


@dataclass(frozen=True)
class NumPy:
    """Runs programs on NumPy arrays."""

    name: str = "numpy"
    description: str = "array steps on NumPy"

    @property
    def xp(self) -> Any:
        """NumPy."""
        return np

    def compile(self, program: Program) -> Compiled:
        """Compile the program as array steps.

        Raises ValueError when the program contradicts itself, as with a state whose update has another
        dtype.
        """
        return compile_steps(program, np, bind)


def bind(op: Op) -> Callable[..., Any]:
    """Return the function of an op: the table's, or one with the same results and less Python around it."""
    options = op.options
    if op.name in ("dot", "matmul") and not options:
        plain: Callable[..., Any] = getattr(np, op.name)
        return plain
    if op.name in REDUCE and set(options) <= {"axis", "keepdims", "dtype"}:
        return _reduction(REDUCE[op.name].reduce, **options)
    if op.name == "sigmoid":
        return _sigmoid
    return op.bind(np)


def _reduction(
    reduce: Callable[..., Any], axis: tuple[int, ...], keepdims: bool = False, dtype: str | None = None
) -> Callable[..., Any]:
    return lambda x, out=None: reduce(x, axis, dtype, out, keepdims)


def _sigmoid(x: Any, out: Any = None) -> Any:
    """Compute 1 / (1 + exp(-x)) with at most one temporary.  Overflow is silent during a call."""
    t = np.negative(x, out)
    if t.ndim == 0:
        return np.reciprocal(np.add(np.exp(t), ONE[t.dtype.char]))
    np.exp(t, t)
    np.add(t, ONE[t.dtype.char], t)
    return np.reciprocal(t, t)


def make() -> NumPy:
    """Make the executor."""
    return NumPy()
