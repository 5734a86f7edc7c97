"""How far rounding may move the results of a program: it is run again with every operator disturbed.

Each floating-point argument and result of an operator that rounds is moved, entry by entry and at random up or down,
by some units in its last place; what that does to the results is the condition of the program, in the order it was
written in as well as in another one, since a sum that cancels is disturbed in what it adds up.  Where a disturbed
run gives other integers, other lengths or an error, nothing can be said of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from scanopt.array.variable import Apply, Variable
from scanopt.interpreter import _Machine

__all__ = ["FAST", "ULPS", "within_noise"]

Array = np.ndarray[Any, Any]
Values = Mapping[Variable, Array]

RUNS = 3
ULPS = 16
"""How far every operator is off in a disturbed run: results may be twice as far off as that makes them."""

FAST = 4 * ULPS
"""The same for `fast`: its formulas differ, and what is not finite is left aside."""

EXACT = {
    "ifelse", "getitem", "shape_i", "reshape", "transpose", "expand_dims", "squeeze", "broadcast_to", "concatenate",
    "stack", "repeat", "full", "full_like", "arange", "eye", "real", "imag", "join_rows", "repeat_rows", "swap_rows",
    "negative", "positive", "absolute", "fabs", "sign", "conjugate", "rint", "floor", "ceil", "trunc", "maximum",
    "minimum", "fmax", "fmin", "isfinite", "isinf", "isnan", "signbit", "copysign", "where", "clip", "less",
    "less_equal", "greater", "greater_equal", "equal", "not_equal", "logical_and", "logical_or", "logical_xor",
    "logical_not", "max", "min", "any", "all", "argmax", "argmin", "sort", "argsort", "unless_flagged", "first_true",
    "disconnected_grad", "zero_grad", "forward_fill",
}  # fmt: skip
"""Operators that do not round (of complex numbers `absolute` and `sign` do)."""


class _Noisy(_Machine):
    """The interpreter, disturbed.  wild: whether a value came near to what the dtype does not hold."""

    def __init__(self, seed: int, ulps: int) -> None:
        super().__init__(False)
        self.rng, self.ulps, self.wild = np.random.default_rng(seed), ulps, False

    def apply(self, node: Apply, args: list[Array]) -> Array:
        if node.op.name in EXACT and not any(x.dtype.kind == "c" for x in args):
            return super().apply(node, args)
        return self.moved(super().apply(node, [self.moved(x) for x in args]))

    def moved(self, x: Array) -> Array:
        """The array with each entry somewhat larger or smaller."""
        if x.dtype.kind not in "fc" or not x.size:
            return x
        real = x.real.dtype
        size = np.abs(x)
        self.wild |= not bool(np.isfinite(size).all()) or float(size.max()) > float(np.finfo(real).max) ** 0.25
        signs = self.rng.choice(np.array([-1, 1], real), x.shape)
        if x.dtype.kind == "c":
            signs = signs + 1j * self.rng.choice(np.array([-1, 1], real), x.shape)
        noise = (size * signs * (self.ulps * np.finfo(real).eps)).astype(x.dtype)
        return np.where(np.isfinite(noise), x + noise, x).astype(x.dtype)


def within_noise(
    results: Sequence[Variable], values: Values, expected: Sequence[Array], found: Sequence[Array], ulps: int = ULPS
) -> str:
    """ "" where `found` differs from `expected`, of the same types, by no more than rounding may; else what is wrong.

    ulps: by how many every operator may be off; with more than usual, what is not finite is left aside.
    """
    runs: list[list[Array]] = []
    wild = ulps > ULPS
    for seed in range(RUNS):
        machine = _Noisy(seed, ulps)
        try:
            with np.errstate(all="ignore"):
                runs.append([np.asarray(x) for x in machine.run(list(results), dict(values))])
        except Exception:
            return ""
        wild |= machine.wild
    for i, (e, r) in enumerate(zip(expected, found, strict=True)):
        others = [run[i] for run in runs]
        if any(x.shape != e.shape for x in others) or not e.size:
            continue
        if text := _far(e, r, others, wild):
            return f"output {i}: {text}: expected\n{e!r}\nfound\n{r!r}"
    return ""


def _far(e: Array, r: Array, others: Sequence[Array], wild: bool) -> str:
    """What is wrong with r, which should be e."""
    if e.dtype.kind not in "fc":
        settled = np.all([x == e for x in others], axis=0)
        return "" if (e == r)[settled].all() else "another value"
    finite = np.all([np.isfinite(x) for x in (*others, e)], axis=0)
    if not np.isfinite(r[finite]).all():
        return "" if wild else "not finite"
    if not (finite | (np.isnan(e) & np.isnan(r)) | (e == r)).all() and not wild:
        return "finite, or another infinity"
    if not finite.any():
        return ""
    wide = np.clongdouble if e.dtype.kind == "c" else np.longdouble
    spread = max(np.abs(x.astype(wide) - e)[finite].max() for x in others)
    error = np.abs(r.astype(wide) - e)[finite]
    allowed = 2 * spread + 4 * np.finfo(e.dtype).eps * np.abs(e)[finite] + np.finfo(e.dtype).tiny
    return "" if (error <= allowed).all() else f"error {error.max()}, allowed {allowed[np.argmax(error - allowed)]}"
