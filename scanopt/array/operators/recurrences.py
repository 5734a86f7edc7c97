"""Recurrences as operators: a loop over one state, computed for all steps at once.

They occur in no graph of a user: laws replace loops by them.  The first argument is the
state before the first step, with a first axis of length 1 (or of the number of earlier states
that a step reads); sequences have a row for each step, and all other arguments broadcast to a row.
Results have the dtype and the shape of rows of the state: one row for each step, or (`last`) only
the row of the last step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from scanopt.array.batching import broadcast_to, dims_of, expand, rows, transpose
from scanopt.array.numerics import chunked, filters, powers, regrouped, running
from scanopt.array.op import Op, Operand, OpSpec, register
from scanopt.array.parameters import one_of
from scanopt.array.shapes import broadcast, changed_state, same, shape_text, ufunc_dtypes
from scanopt.array.types import COMPLEX, FLOATS, Dim, TensorType
from scanopt.array.variable import Variable, apply
from scanopt.records import dataclass

__all__ = ["accumulator", "folder"]

Flags = Sequence[bool]
Args = Sequence[Variable]


@dataclass(frozen=True)
class ArgumentKinds:
    """The kinds of a recurrence's arguments: "i" the state before, "s" a sequence, "m" one of bools, "p" a parameter.

    "n" is a number of steps.  rows: the number of rows of the state before.  last: the result is one
    row.  ufunc: whether a ufunc, a parameter of the op, takes states and sequences and decides on dtypes.
    """

    arguments: str
    rows: int = 1
    last: bool = False
    ufunc: bool = False

    def infer(self, *operands: Operand, ufunc: str | None = None) -> TensorType:
        """The type of the result.  Raises ValueError or TypeError for operands that do not fit."""
        if self.ufunc and ufunc not in running.ACCUMULATED:
            raise ValueError(f"no ufunc that accumulates is named {ufunc!r}")
        state = operands[0]
        same(state.shape[0], self.rows, f"the state before has {state.shape[0]} rows, not {self.rows}")
        row, steps = state.shape[1:], self._steps(operands)
        for kind, x in zip(self.arguments[1:], operands[1:], strict=True):
            shape = x.shape if kind in "pn" else x.shape[1:]
            if len(shape) > len(row) or not _fits(row, shape):
                raise ValueError(f"{shape_text(shape)} does not fit the state of shape {shape_text(row)}")
            self._check(kind, x.dtype, state.dtype, ufunc)
        return TensorType(state.dtype, row if self.last else (steps, *row))

    def _steps(self, operands: Sequence[Operand]) -> Dim:
        steps: Dim = None
        for kind, x in zip(self.arguments, operands, strict=True):
            if kind in "sm":
                steps = same(steps, x.shape[0], f"sequences of {steps} and {x.shape[0]} rows")
        return steps

    def _check(self, kind: str, dtype: str, state: str, ufunc: str | None) -> None:
        if kind == "m" and dtype != "bool":
            raise TypeError(f"a mask must be bool, found {dtype}")
        if kind == "n" and np.dtype(dtype).kind not in "iu":
            raise TypeError(f"a number of steps must be an integer, found {dtype}")
        found = ufunc_dtypes(ufunc, (state, dtype))[-1] if ufunc and kind == "s" else np.result_type(state, dtype).name
        if kind in "sp" and found != state:
            raise TypeError(f"a state of {state} cannot take up {dtype}")

    def batch(self, op: Op, flags: Flags, args: Args) -> Variable:
        """The batched form: the batch becomes one more axis of every row."""
        n, ndim = rows(flags, args), args[0].ndim - flags[0] - 1
        lanes = [self._lanes(kind, x, b, n, ndim) for kind, x, b in zip(self.arguments, args, flags, strict=True)]
        out = apply(op, *lanes)
        return out if self.last else transpose(out, (1, 0, *range(2, ndim + 2)))

    def _lanes(self, kind: str, x: Variable, batched: bool, n: Any, ndim: int) -> Variable:
        if kind in "pn":
            return expand(x, range(1, 1 + ndim - (x.ndim - 1))) if batched else x
        if batched:
            swapped = transpose(x, (1, 0, *range(2, x.ndim)))
            return expand(swapped, range(2, 2 + ndim - (x.ndim - 2)))
        if kind != "i":
            return x
        length, *row = dims_of(x)
        return broadcast_to(expand(x, (1,)), (length, n, *row))


def _fits(row: Sequence[Dim], shape: Sequence[Dim]) -> bool:
    """Whether the shape broadcasts to the row."""
    try:
        broadcast(tuple(row), tuple(shape))
    except ValueError:
        return False
    pairs = zip(reversed(row), reversed(shape), strict=False)
    return all(n != 1 or m in (1, None) for n, m in pairs)


def _wider(arguments: str, args: Sequence[Any]) -> ValueError | None:
    """The error for steps that broadcast the state to another shape; None if there is no such step."""
    start = args[0].shape[1:]
    taken = [(kind, x.shape) for kind, x in zip(arguments, args, strict=True) if kind in "smp"]
    shapes = [shape if kind == "p" else shape[1:] for kind, shape in taken]
    try:
        row = reduce(broadcast, shapes, start)
    except ValueError:
        return None
    return None if row == start else changed_state(start, row)


def _products(op: Op) -> tuple[str, ...]:
    """Dtypes for which a batched form rounds differently: NumPy multiplies long complex rows with other code."""
    return COMPLEX if op.options["ufunc"] == "multiply" else ()


def _entry(
    name: str, arguments: str, kernel: Callable[..., Any], doc: str, cost: str, *, exact: bool = True,
    inexact: Sequence[str] = (), rows: int = 1, last: bool = False, ufunc: bool = False,
) -> None:  # fmt: skip
    signature = ArgumentKinds(arguments, rows, last, ufunc)
    several = sum(kind in "sm" for kind in arguments) > 1

    def bind(xp: Any, **options: Any) -> Callable[..., Any]:
        def run(*args: Any) -> Any:
            if args[0].shape[0] != rows:
                raise ValueError(f"{name}: the state before has {args[0].shape[0]} rows, not {rows}")
            if several and len({x.shape[0] for kind, x in zip(arguments, args, strict=True) if kind in "sm"}) > 1:
                raise ValueError(f"{name}: the sequences differ in length")
            try:
                with np.errstate(all="ignore"):
                    found = kernel(xp, *options.values(), *args)
            except ValueError as error:
                raise _wider(arguments, args) or error from None
            row = found.shape if last else found.shape[1:]
            if row != args[0].shape[1:]:
                raise changed_state(args[0].shape[1:], row)
            return found

        return run

    register(
        OpSpec(
            name, bind, signature.infer, signature.batch, batch_exact=exact, inexact=_products if ufunc else inexact,
            by_layout=len(arguments) if exact else 0, layout_kinds="c", cost=cost, gradient=None, doc=doc,
            params={"ufunc": one_of(*running.ACCUMULATED)} if ufunc else {},
        )
    )  # fmt: skip


def _raised(xp: Any, init: Any, x: Any, low: Any) -> Any:
    return chunked.clamped_sum(xp, init, x, low, None)


def _capped(xp: Any, init: Any, x: Any, high: Any) -> Any:
    return chunked.clamped_sum(xp, init, x, None, high)


_entry("accumulate", "is", running.accumulate, "f(s, x) step by step, with f a ufunc", "cumulative", ufunc=True)
_entry(
    "fold", "is", running.fold, "the last of f(s, x), with f a ufunc", "reduction",
    exact=False, last=True, ufunc=True,
)  # fmt: skip
_entry(
    "fold_in_order", "is", running.fold_in_order, "the last of f(s, x), with f a ufunc, bit for bit", "cumulative",
    last=True, ufunc=True,
)  # fmt: skip
_entry("forward_fill", "ims", running.forward_fill, "x where the mask holds, else the state before", "cumulative")
_entry(
    "segmented", "imss", running.segmented, "y where the mask holds, else f(s, x), with f a ufunc", "cumulative",
    ufunc=True,
)  # fmt: skip
_entry("lfilter", "isp", filters.lfilter, "s * a + x step by step", "cumulative", inexact=COMPLEX)
_entry(
    "lfilter2", "ispp", filters.lfilter, "(s * a + r * b) + x step by step, r before s", "cumulative", rows=2,
    inexact=COMPLEX,
)  # fmt: skip
_entry("regrouped_sum", "is", regrouped.regrouped_sum, "s + x step by step", "cumulative", exact=False)
_entry("regrouped_filter", "isp", regrouped.regrouped_filter, "s * a + x step by step", "cumulative", exact=False)
_entry(
    "regrouped_smoothing", "isp", chunked.regrouped_smoothing, "s + (x - s) * a step by step", "cumulative", exact=False
)
_entry(
    "regrouped_filter2", "ispp", regrouped.regrouped_filter, "(s * a + r * b) + x step by step, r before s",
    "cumulative", rows=2, exact=False,
)  # fmt: skip
_entry(
    "linear_recurrence", "iss", chunked.linear_recurrence, "s * a + x step by step", "cumulative",
    inexact=(*FLOATS, *COMPLEX),
)  # fmt: skip
_entry("masked_flips", "iss", chunked.masked_flips, "(s & a) ^ x step by step, bit by bit", "cumulative")
_entry("smoothing", "iss", chunked.smoothing, "s + (x - s) * a step by step", "cumulative", exact=False)
_entry("raised_sum", "iss", _raised, "max(s + x, low) step by step", "cumulative", exact=False)
_entry("capped_sum", "iss", _capped, "min(s + x, high) step by step", "cumulative", exact=False)
_entry("clamped_sum", "isss", chunked.clamped_sum, "min(max(s + x, low), high) step by step", "cumulative", exact=False)
_entry("geometric", "ipn", powers.geometric, "s * a, n times over", "transcendental", exact=False, last=True)
_entry(
    "affine_power", "ippn", powers.affine_power, "s * a + b, n times over", "transcendental", exact=False, last=True
)  # fmt: skip
_entry("polynomial", "ips", powers.polynomial, "s * x + c for every c", "cumulative", exact=False, last=True)


def accumulator(ufunc: str) -> Op:
    """The op that accumulates a ufunc and gives all rows."""
    return Op.make("accumulate", ufunc=ufunc)


def folder(ufunc: str) -> Op:
    """The op that accumulates a ufunc and gives the last row."""
    return Op.make("fold", ufunc=ufunc)


# Powers of one base


def _infer_powers(x: Operand, exponents: Operand) -> TensorType:
    if np.dtype(x.dtype).kind != "f" or np.dtype(exponents.dtype).kind not in "iu" or exponents.ndim != 1:
        raise TypeError(f"powers takes a float and a vector of integers, found {x.type} and {exponents.type}")
    return TensorType(ufunc_dtypes("power", (x.dtype, exponents.dtype))[-1], (*exponents.shape, *x.shape))


def _bind_powers(xp: Any) -> Any:
    def run(x: Any, exponents: Any) -> Any:
        dtype = ufunc_dtypes("power", (x.dtype.name, exponents.dtype.name))[-1]
        with np.errstate(all="ignore"):
            return powers.powers(xp, x, exponents, dtype)

    return run


def _batch_powers(op: Op, flags: Flags, args: Args) -> Variable:
    x, exponents = args
    if flags[1]:  # every row has its own exponents
        base = expand(x, (1,)) if flags[0] else x
        return apply(Op.make("power"), base, expand(exponents, range(2, 2 + x.ndim - flags[0])))
    return transpose(apply(op, x, exponents), (1, 0, *range(2, x.ndim + 1)))


register(
    OpSpec(
        "powers", _bind_powers, _infer_powers, _batch_powers, cost="cumulative",
        doc="x to the power of each entry of a vector of integers, with few calls of power",
    )
)  # fmt: skip
