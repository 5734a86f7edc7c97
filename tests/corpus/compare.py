"""Comparing what two ways to run a program came to: "" or what is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import scanopt
from corpus.noise import ULPS, within_noise
from corpus.plain import Loose
from scanopt.array.variable import Apply, Variable
from scanopt.interpreter import _Machine

__all__ = ["Array", "Outcome", "Values", "equal", "near", "short"]

Array = np.ndarray[Any, Any]
Values = Mapping[Variable, Array]
Outcome = list[Array] | Exception


def short(x: Outcome) -> str:
    """The outcome in a word: "values", or the name of the error."""
    return "values" if isinstance(x, list) else type(x).__name__


def equal(expected: Outcome, found: Outcome) -> str:
    """Equal bit for bit; NaNs are equal."""
    if not isinstance(expected, list) or not isinstance(found, list):
        return "" if type(expected) is type(found) else f"expected {short(expected)}, found {short(found)} ({found})"
    for i, (e, r) in enumerate(zip(expected, found, strict=True)):
        if text := _type(i, e, r):
            return text
        if not isinstance(e, Loose) and not _same(e, r).all():
            return f"output {i}: expected\n{e!r}\nfound\n{r!r}"
    return ""


def _type(i: int, e: Array, r: Array) -> str:
    if type(r) is np.ndarray and (e.dtype, e.shape) == (r.dtype, r.shape):
        return ""
    if isinstance(e, Loose) and (e.dtype, e.ndim) == (r.dtype, r.ndim):
        return ""
    return f"output {i}: expected {e.dtype}{list(e.shape)}, found {r.dtype}{list(r.shape)} ({type(r).__name__})"


def _same(e: Array, r: Array) -> Array:
    if e.dtype.kind == "c":
        return _same(e.real, r.real) & _same(e.imag, r.imag)
    same = np.asarray(e == r)
    if e.dtype.kind == "f":
        same = (same & (np.signbit(e) == np.signbit(r))) | (np.isnan(e) & np.isnan(r))
    return same


def near(
    smooth: bool, results: Sequence[Variable], values: Values, expected: Outcome, found: Outcome, ulps: int = ULPS
) -> str:
    """Within rounding.

    smooth: small errors stay small in this program: it may be at most 8 times the interpreter's own error, plus 8
    ulp of the largest intermediate.  Else what disturbing every operator by some ulps does to it.  results: what the
    interpreter computes, shared variables as they are now, where it comes to `expected`.
    """
    text = equal(expected, found)
    if not text or not isinstance(expected, list) or not isinstance(found, list):
        return text
    for i, (e, r) in enumerate(zip(expected, found, strict=True)):
        if wrong := _type(i, e, r):
            return wrong
    if not smooth or ulps > ULPS:
        loose = any(isinstance(e, Loose) for e in expected)
        return "" if loose else within_noise(results, values, expected, found, ulps)
    precise = scanopt.interpret(list(results), values, extended=True)
    ulp = _Recorder.ulp_of(list(results), values)
    for i, (p, e, r) in enumerate(zip(precise, expected, found, strict=True)):
        known = _same(e, r) | ~np.isfinite(p) | (abs(p) > 1e30)
        if known.all():
            continue
        if e.dtype.kind != "f":
            return text
        own, error = (np.abs(x.astype(np.longdouble) - p)[~known].max() for x in (e, r))
        if not error <= 8 * own + 8 * ulp:
            return f"output {i}: error {error}, the interpreter's {own}, an ulp {ulp}: expected\n{e!r}\nfound\n{r!r}"
    return ""


class _Recorder(_Machine):
    """The interpreter, noting the ulp of the largest intermediate."""

    ulp = 0.0

    @classmethod
    def ulp_of(cls, outputs: list[Variable], values: Values) -> float:
        machine = cls(False)
        with np.errstate(all="ignore"):
            for x in values.values():
                machine.note(x)
            machine.run(outputs, dict(values))
        return machine.ulp

    def note(self, x: Array) -> None:
        if x.dtype.kind == "f" and x.size:
            finite = np.abs(x[np.isfinite(x)])
            if finite.size:
                self.ulp = max(self.ulp, float(np.spacing(finite.max())))

    def apply(self, node: Apply, args: list[Array]) -> Array:
        result = super().apply(node, args)
        self.note(result)
        return result
