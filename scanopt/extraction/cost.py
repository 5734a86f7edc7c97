"""The default cost model: nanoseconds of one evaluation as array steps on NumPy.

A cost model is a function of `Work`; extraction multiplies its price by how often the work is done.  If a model has a
number `held`, each byte that a program holds costs that much, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import field
from difflib import get_close_matches
from functools import cache

import numpy as np

from scanopt.array.op import Op, Operand
from scanopt.extensions import load_extensions
from scanopt.records import dataclass

__all__ = [
    "CACHE",
    "NUMPY",
    "CostModel",
    "CostTable",
    "Work",
    "at_hand",
    "bytes_of",
    "cost_of_holding",
    "cost_of_rows_in_between",
    "cost_of_varying_lengths",
    "elements",
    "is_its_argument",
    "multiply_adds",
    "numpy_cost",
    "register_cost",
    "registered_cost",
]


@dataclass(frozen=True)
class Work:
    """A piece of work with a price.

    kind: "apply" (op of args giving out), "seq" (a row read from args[0]), "delay" (a state
    read), "stack" (a row kept of the whole trace), "tail" and "at" (a row kept for the last steps
    only), "hold", "input", "const", "loop" (entering a loop) or "step" (one turn of a loop).
    Shapes are of the example, static or assumed lengths.
    """

    kind: str
    op: Op | None = None
    args: tuple[Operand, ...] = ()
    out: Operand = field(default_factory=lambda: Operand("bool", ()))


CostModel = Callable[[Work], float]


@dataclass(frozen=True)
class CostTable:
    """A cost model given by tables of nanoseconds.

    call, element: of one call and of each element (of a product: of each multiply and add), by the
    class of cost of the operator.  operators: both of them, for operators known better than by their
    class.  kind: of one row or step, by the kind of work that is no operator; element["stack"] is paid
    for each element of a row kept.  held: of each byte that is held, once for all steps.
    """

    call: Mapping[str, float]
    element: Mapping[str, float]
    kind: Mapping[str, float]
    operators: Mapping[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])
    held: float = 0.001

    def __call__(self, work: Work) -> float:
        """Nanoseconds of one evaluation."""
        op = work.op
        if op is None:
            each = self.element["stack"] * _size(work.out) if work.kind == "stack" else 0.0
            return self.kind[work.kind] + each
        kind = op.cost
        # A class of cost that the tables do not know is priced as arithmetic.
        call, element = self.rates(op, kind if kind in self.call else "arith")
        return call + element * elements(work, kind)

    def rates(self, op: Op, kind: str) -> tuple[float, float]:
        """Nanoseconds of a call of an operator of this class of cost, and of an element."""
        return self.operators.get(op.name) or (self.call[kind], self.element[kind])

    def of_bytes(self, nbytes: float) -> float:
        """Nanoseconds of holding one value of `nbytes` bytes."""
        return self.held * nbytes


NUMPY = CostTable(
    call={
        "arith": 450.0, "division": 450.0, "transcendental": 450.0, "free": 250.0, "sort": 2000.0,
        "product": 900.0, "memory": 1200.0, "gather": 1500.0, "reduction": 2500.0, "cumulative": 7000.0,
        "system": 4500.0, "factorization": 5000.0, "solving": 6000.0, "decomposition": 12_000.0,
    },
    element={
        "free": 0.0, "arith": 0.35, "division": 0.9, "transcendental": 6.0, "reduction": 0.35,
        "memory": 0.5, "gather": 0.3, "sort": 30.0, "product": 0.06, "stack": 0.3, "cumulative": 4.0,
        "system": 0.13, "factorization": 0.12, "solving": 0.2, "decomposition": 0.12,
    },
    kind={
        "seq": 60.0, "delay": 5.0, "hold": 0.0, "input": 0.0, "const": 0.0, "loop": 3000.0,
        "step": 60.0, "stack": 80.0, "tail": 20.0, "at": 20.0,
    },
    operators={
        "lfilter": (8_000.0, 6.5), "lfilter2": (8_000.0, 7.5), "linear_recurrence": (30_000.0, 20.0),
        "masked_flips": (40_000.0, 8.0),
        "smoothing": (30_000.0, 20.0), "raised_sum": (80_000.0, 15.0), "capped_sum": (80_000.0, 15.0),
        "clamped_sum": (80_000.0, 18.0), "fold_in_order": (8_000.0, 3.5), "forward_fill": (18_000.0, 4.0),
        "segmented": (60_000.0, 15.0), "powers": (15_000.0, 2.0), "geometric": (14_000.0, 6.0),
        "regrouped_sum": (30_000.0, 15.0), "regrouped_filter": (40_000.0, 15.0),
        "regrouped_smoothing": (40_000.0, 15.0), "regrouped_filter2": (50_000.0, 30.0),
        "affine_power": (45_000.0, 150.0), "var": (7_500.0, 1.5), "std": (8_000.0, 1.5),
        "polynomial": (25_000.0, 2.0), "solve_triangular": (2_500.0, 0.08),
        "cho_solve": (2_500.0, 0.2), "linalg_or_flag": (9_000.0, 0.13), "unless_flagged": (1_500.0, 0.0),
    },
)  # fmt: skip
"""Nanoseconds that suit most machines."""


CACHE = 1 << 18
"""A value of at most this many bytes stays in a cache beside others."""

MATRIX_IN_A_STACK = 200.0
"""The multiply-adds that take as long as one more product of a stack of matrices."""

BY_ONE = 12.0
"""The multiply-adds that take as long as one in a product that adds nothing up, which is no work for BLAS."""

IN_A_STACK = 8000.0
"""The multiply-adds that take as long as one more call of LAPACK, for the next matrix of a stack."""


def numpy_cost(work: Work) -> float:
    """Nanoseconds of one evaluation on NumPy, array steps.

    >>> numpy_cost(Work("hold"))
    0.0
    """
    return NUMPY(work)


def cost_of_holding(model: CostModel, nbytes: float) -> float:
    """The price of a value of `nbytes` bytes that a program holds: by the model's number `held`, 0 if it has none.

    >>> cost_of_holding(numpy_cost, 1e6) == 1e6 * NUMPY.held, cost_of_holding(lambda work: 1.0, 1e6)
    (True, 0.0)
    """
    if isinstance(table := NUMPY if model is numpy_cost else model, CostTable):
        return table.of_bytes(nbytes)
    return float(getattr(model, "held", 0.0)) * nbytes


def cost_of_rows_in_between(model: CostModel) -> float:
    """What it costs that a loop which may end early keeps all its rows for others than the results: the model's number
    `broken` for the kernel of the loop and for the array steps after it, 0 if it has none.

    >>> cost_of_rows_in_between(numpy_cost)
    0.0
    """
    return 2 * float(getattr(model, "broken", 0.0))


def cost_of_varying_lengths(model: CostModel, work: Work) -> float:
    """What it costs more that the lengths of arguments differ from step to step: by the model's `of_varying_lengths`.

    >>> cost_of_varying_lengths(numpy_cost, Work("hold"))
    0.0
    """
    found: Callable[[Work], float] | None = getattr(model, "of_varying_lengths", None)
    return 0.0 if found is None else found(work)


def at_hand(model: CostModel) -> CostModel:
    """The model for the sizes of a call, if `model` has another one for these than for sizes that are assumed."""
    found: CostModel = getattr(model, "at_hand", model)
    return found


_REGISTERED: dict[str, CostModel] = {"default": numpy_cost, "numpy": numpy_cost}
"""Cost models by name; for "default", `function` takes that of the executor, if it has one."""


def register_cost(name: str, model: CostModel) -> None:
    """Make a cost model known by a name, for `function(..., cost=name)` and `config.cost`.

    Raises TypeError for anything but a function, ValueError for a name that another one has.

    >>> register_cost("default", lambda work: 1.0)
    Traceback (most recent call last):
    ValueError: there is already a cost model named 'default'
    """
    if not callable(model):
        raise TypeError(f"a cost model is a function of Work that returns a number, found {model!r}")
    if _REGISTERED.setdefault(name, model) is not model:
        raise ValueError(f"there is already a cost model named {name!r}")


def registered_cost(name: str) -> CostModel:
    """The cost model of this name.  Raises ValueError, which suggests close names, if there is none.

    >>> registered_cost("default") is numpy_cost
    True
    """
    if name not in _REGISTERED:
        load_extensions()
    if name not in _REGISTERED:
        near = get_close_matches(name, [*_REGISTERED, "calibrated"], 3) or [*_REGISTERED, "calibrated"]
        raise ValueError(
            f"no cost model is named {name!r}; near: {', '.join(near)}; a file of measured costs has a name that "
            "ends in .json"
        )
    return _REGISTERED[name]


def elements(work: Work, kind: str) -> float:
    """How many elements an operator of this class of cost works on; for products, how many multiply-adds, other work
    counted as those that take as long."""
    out = _size(work.out)
    if is_its_argument(work):
        return 0.0
    if kind == "product":
        return _of_products(work)
    if kind == "cumulative":
        # One element after the other where rows are short; where they are long, as slowly as a loop.
        rows, lanes = work.out if work.out.ndim == work.args[0].ndim else work.args[-1], _size(work.args[0])
        return float(rows.shape[0] or 0 if rows.ndim else 1) * min(lanes, 200 + lanes / 6)
    if kind in ("decomposition", "factorization", "solving", "system"):
        return _of_matrices(work, kind, out)
    weight = _bytes(work.out.dtype) / 8
    return (out if kind in ("memory", "gather") else max([out, *map(_size, work.args)])) * weight


def multiply_adds(work: Work) -> float:
    """The multiply-adds of a product: one for each pair of numbers that it multiplies.

    >>> x = Operand("float64", (10, 20))
    >>> multiply_adds(Work("apply", Op.make("dot"), (x, Operand("float64", (20,))), Operand("float64", (10,))))
    200.0
    """
    assert work.op is not None
    pairs, out, k = math.prod(map(_size, work.args)), _size(work.out), _contracted(work)
    if work.op.name == "convolve":
        return pairs
    if k is None:  # |a| |b| = |out| k^2
        return out * math.sqrt(max(1.0, pairs / max(out, 1.0)))
    return out * k if work.op.name == "matmul" else pairs / max(k, 1.0)


def _contracted(work: Work) -> float | None:
    """The length that a product adds up along, None where nothing says it."""
    assert work.op is not None
    match work.op.name, work.args:
        case "dot" | "matmul", (a, b):  # where only one of both is known, the other one is a guess, maybe larger
            return float(max(a.shape[-1] or 0, b.shape[-2 if b.ndim > 1 else -1] or 0))
        case "tensordot", (a, _):
            return math.prod(float(a.shape[i] or 0) for i in work.op.options["axes"][0])
    return None


def _of_products(work: Work) -> float:
    """Multiply-adds of a product, and the time of further matrices of a stack, in multiply-adds."""
    assert work.op is not None
    stacks = (x.shape[:-2] for x in work.args if work.op.name == "matmul")
    matrices = max((math.prod(float(n or 0) for n in lengths) for lengths in stacks), default=1.0)
    each = multiply_adds(work) * (BY_ONE if _contracted(work) == 1 else 1.0)
    return each + max(matrices - 1.0, 0.0) * MATRIX_IN_A_STACK


def is_its_argument(work: Work) -> bool:
    """Whether an operator returns its argument as it is, like a sum over stretched axes where none is stretched."""
    if work.op is None or not work.op.view:
        return False
    x, *_ = work.args
    return (work.out.dtype, work.out.shape) == (x.dtype, x.shape)


def _of_matrices(work: Work, kind: str, out: float) -> float:
    """Multiply-adds of linear algebra: n^3 / 3 for factors of a matrix, n^2 for each right side, 12 n^3 for values."""
    n, last = float(work.args[0].shape[-1] or 0), work.args[-1]
    if kind in ("decomposition", "factorization"):
        matrices, each = _size(work.args[0]) / max(n * n, 1.0), n**3 * (1 / 3 if kind == "factorization" else 12)
        return matrices * each + max(matrices - 1, 0.0) * IN_A_STACK
    columns = float(last.shape[-1] or 0) if last.ndim > 1 else 1.0
    matrices = out / max(n * columns, 1.0)
    return out * n + (matrices * n**3 / 3 if kind == "system" else max(matrices - 1, 0.0) * IN_A_STACK)


def bytes_of(x: Operand) -> float:
    """The bytes of an array; a length that is not known counts as 0."""
    return _size(x) * _bytes(x.dtype)


@cache
def _bytes(dtype: str) -> int:
    return np.dtype(dtype).itemsize


def _size(x: Operand) -> float:
    size = 1.0
    for n in x.shape:
        size *= n or 0
    return size
