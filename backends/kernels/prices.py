"""The cost model of kernels, used by extraction: nanoseconds of one evaluation of each operator where loops run as C.

An operator without a form in C has the price of its array step plus `broken`, because its loop then runs as array
steps, or its program as more than one kernel.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, lru_cache

import numpy as np

from scanopt.array.op import Op
from scanopt.array.types import TensorType
from scanopt.backends.kernels.body import nodes_of_operator
from scanopt.backends.kernels.nodes import (
    AffineRows,
    Call,
    Contract,
    Convolve,
    Nested,
    NoForm,
    Product,
    Products,
    Reduce,
    Running,
    Transform,
)  # fmt: skip
from scanopt.backends.kernels.numpy_loops import DTYPES
from scanopt.backends.kernels.small_systems import MOST_ROWS
from scanopt.extraction.cost import CACHE, NUMPY, CostTable, Work, bytes_of, elements
from scanopt.program.ir import Compute
from scanopt.records import dataclass

__all__ = ["KERNELS", "MOST_SCRATCH", "KernelCosts"]


MOST_SCRATCH = 1 << 27
"""The most bytes of intermediate values: beyond that array steps run, which free each value after its last use."""
BESIDE = 0.7
"""The part of the price of an operation that it costs on numbers: steps mostly wait for the step before, and what does
not depend on that is computed meanwhile."""
TOO_LARGE = 4.0
"""Nanoseconds per byte of one value beyond half of `MOST_SCRATCH`, since array steps run then."""
CALLING = (Call, Contract, Convolve, Product, Products, Reduce, Running, Transform)
"""The nodes that call NumPy's inner loops."""
_KINDS = {"steps": "cumulative", "eights": "eights", "running": "running"}
"""The classes of cost of forms that are written in a special way."""


@dataclass(frozen=True)
class KernelCosts(CostTable):
    """Nanoseconds of operators in kernels; of those without a form, as array steps plus `broken`.

    far: per byte of a value beyond `CACHE`: what does not stay in the cache is written to memory and read again.
    """

    broken: float = 5000.0
    far: float = 0.0

    @cached_property
    def at_hand(self) -> KernelCosts:
        """The model for the sizes of an actual call; only for these are costs of the cache counted."""
        return replace(self, far=0.1)

    def __call__(self, work: Work) -> float:
        """Price one evaluation, in nanoseconds."""
        op = work.op
        if any(x.dtype not in DTYPES for x in (work.out, *work.args)):
            return NUMPY(work)  # there is no kernel for these dtypes, so none is broken
        if op is None:
            return self.kind[work.kind] + (
                self.element["stack"] * bytes_of(work.out) / 8 if work.kind == "stack" else 0
            )
        known = op.cost != "cumulative"  # a form of a recurrence may depend on lengths known from types
        types = (x.type if known else TensorType(x.dtype, (None,) * x.ndim) for x in (work.out, *work.args))
        out, *args = types
        form = _form(op, tuple(args), out)
        if form == "none":
            return NUMPY(work) + self.broken
        kind = _KINDS.get(form, op.cost if op.cost in self.call else "arith")
        if kind == "free" and op.view and not work.out.ndim:
            kind = "entry"  # other views are no work: whatever uses them reads other places
        if kind == "system" and 0 < (work.args[0].shape[-1] or 0) <= MOST_ROWS:
            return self.element["small system"] * elements(work, kind)
        call, each = self.rates(op, kind)
        inner = self.call["inner"] if form == "inner" else 0.0
        numbers = not work.out.ndim and not any(x.ndim for x in work.args)
        if kind == "division" and (numbers or np.dtype(work.out.dtype).kind in "iu"):
            each = self.element["single division"]  # processors do not divide several integers at once
        if numbers:
            return (BESIDE * each if kind == "arith" else each) + inner
        call = max(call, inner)
        if kind == "product" and _has_vector(work):  # its factors are read from memory, no loop computes their elements
            each = self.element["product of a vector"]
            call += self.far * sum(max(0.0, bytes_of(x) - CACHE) for x in work.args)
        if kind == "gather" and op.name == "getitem" and len(op.options["index"]) < work.args[0].ndim:
            each = self.element["gathered row"]  # its elements lie side by side
        if kind == "arith" and form == "plain":
            each *= max([1.0, *(_itemsize(x.dtype) / _itemsize(work.out.dtype) for x in work.args)])
        return call + each * elements(work, kind) + (self.kind["step"] * _steps(work) if kind == "cumulative" else 0.0)

    def of_varying_lengths(self, work: Work) -> float:
        """The further price of an operator on arrays whose lengths differ from step to step."""
        if not isinstance(work.op, Op) or any(x.dtype not in DTYPES for x in (work.out, *work.args)):
            return 0.0
        form = _form(work.op, tuple(TensorType(x.dtype, (None,) * x.ndim) for x in work.args), work.out.type)
        recurrence = form == "eights" or (form == "steps" and work.op.name in ("lfilter", "linear_recurrence"))
        return self.broken if recurrence else 0.0

    def of_bytes(self, nbytes: float) -> float:
        """Price holding one value of `nbytes` bytes, in nanoseconds."""
        beyond = TOO_LARGE * max(0.0, nbytes - MOST_SCRATCH / 2) if self.far else 0.0
        return self.held * nbytes + self.far * max(0.0, nbytes - CACHE) + beyond


@lru_cache(maxsize=64)
def _itemsize(dtype: str) -> int:
    """The number of bytes of an element."""
    return np.dtype(dtype).itemsize


def _has_vector(work: Work) -> bool:
    """Whether a factor of a product is a vector: each element of the other one is then used only once."""
    return any(x.ndim == 1 or 1 in x.shape[-2:] for x in work.args)


def _steps(work: Work) -> float:
    """The number of steps of the loop that an operator stands for; two operators would share the steps of one loop."""
    rows = work.out if work.out.ndim == work.args[0].ndim else work.args[-1]
    return float(rows.shape[0] or 0 if rows.ndim else 1)


@lru_cache(maxsize=20_000)
def _form(op: Op, args: tuple[TensorType, ...], out: TensorType) -> str:
    """The form of an operator in a kernel: "plain", "steps", "eights" (eight steps at once), "running" (along the last
    axis), "inner" (NumPy's inner loops), or "none"."""
    names = tuple(f"a{i}" for i in range(len(args)))
    types = {**dict(zip(names, args, strict=True)), "out": out}
    try:
        nodes = nodes_of_operator(Compute("out", op, names, out), types)
    except (NoForm, ValueError, TypeError, LookupError):
        return "none"
    if any(isinstance(n, AffineRows) for n in nodes):
        return "eights"
    if any(isinstance(n, Running) and n.axis == out.ndim - 1 for n in nodes):
        return "running"
    by_steps = any(isinstance(n, Nested) for n in nodes)
    return "steps" if by_steps else "inner" if any(isinstance(n, CALLING) for n in nodes) else "plain"


KERNELS = KernelCosts(
    call={
        "arith": 1.5, "division": 1.5, "transcendental": 8.0, "free": 0.05, "entry": 0.5,
        "product": 60.0, "memory": 4.0, "gather": 3.0, "reduction": 12.0, "cumulative": 5.0, "eights": 40.0,
        "running": 12.0, "sort": 2000.0,
        "system": 2500.0, "factorization": 5000.0, "solving": 6000.0, "decomposition": 12_000.0, "inner": 8.0,
    },
    element={
        "free": 0.0, "entry": 0.0, "arith": 0.25, "division": 0.6, "single division": 1.2, "transcendental": 6.0,
        "reduction": 0.3,
        "memory": 0.3, "gather": 0.8, "gathered row": 0.1, "sort": 30.0, "product": 0.06, "product of a vector": 0.1,
        "stack": 0.1, "cumulative": 1.0, "eights": 0.6, "running": 0.85,
        "system": 0.13, "small system": 1.5, "factorization": 0.12, "solving": 0.2, "decomposition": 0.12,
    },
    kind={
        "seq": 0.3, "delay": 0.1, "hold": 0.0, "input": 0.0, "const": 0.0, "loop": 20.0,
        "step": 1.5, "stack": 0.5, "tail": 0.3, "at": 0.3,
    },
    operators={"var": (12.0, 1.35), "std": (12.0, 1.35)},
    held=0.002,
)  # fmt: skip
"""The prices, in nanoseconds, which suit most machines."""
