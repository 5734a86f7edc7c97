"""Compare two ways to run one program; if they differ, find the simplest values that show it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scanopt.array.variable import Variable
from scanopt.loops.effects import CheckError

__all__ = ["Comparison"]

Array = np.ndarray[Any, Any]
Outcome = list[Array] | type[Exception]

_SIMPLE = (0.0, 1.0, 2.0)
_CLOSE, _ROUNDINGS = 1e-9, 16
_ELEMENTS = 60  # of all values together: more are left as they are


@dataclass(frozen=True)
class Comparison:
    """A program as the interpreter runs it, and as laws made it.

    exact: results must be equal bit for bit, where they are not NaN.  inputs: for their names.  dtypes: those of all
    values of the program; the coarsest of them decides how close results have to be.
    """

    reference: Callable[[Sequence[Any]], list[Any]]
    run: Callable[[Sequence[Any]], list[Any]]
    exact: bool
    inputs: tuple[Variable, ...]
    dtypes: frozenset[str] = frozenset()

    def wanted(self, values: Sequence[Array]) -> Outcome:
        """The interpreter's results, or the type of what it raised."""
        return _outcome(self.reference, values)

    def found(self, values: Sequence[Array]) -> Outcome:
        """The results of the program that laws made, or the type of what it raised."""
        return _outcome(self.run, values)

    def same(self, want: Outcome, got: Outcome) -> bool:
        """Whether both are the same, as closely as is asked."""
        if isinstance(want, type) or isinstance(got, type):
            return want is got
        coarsest = max((float(np.finfo(d).eps) for d in self.dtypes if np.dtype(d).kind in "fc"), default=0.0)
        slack = 0.0 if self.exact else max(_CLOSE, _ROUNDINGS * coarsest)
        return all(_equal(a, b, slack) for a, b in zip(want, got, strict=True))

    def outcomes(self, values: Sequence[Array]) -> tuple[Outcome, Outcome]:
        """Results, or the type of what was raised: the interpreter's, then those of the program that laws made."""
        return self.wanted(values), self.found(values)

    def agrees(self, values: Sequence[Array]) -> bool:
        """Whether both give the same."""
        return self.same(*self.outcomes(values))

    def simplest(self, values: Sequence[Array]) -> list[Array]:
        """Values on which they still differ, as many elements as possible made 0, 1 or 2."""
        out = [v.copy() for v in values]
        if sum(v.size for v in out) > _ELEMENTS:
            return out
        for v in out:
            if v.dtype.kind != "f":
                continue
            for i in np.ndindex(v.shape):
                kept = v[i]
                for simple in _SIMPLE:
                    v[i] = simple
                    if not self.agrees(out):
                        break
                    v[i] = kept
        return out

    def told(self, values: Sequence[Array], before: str, after: str) -> str:
        """The counterexample as text: both programs, the values, both results."""
        simple = self.simplest(values)
        want, got = self.outcomes(simple)
        lines = [
            "# as written",
            before,
            "",
            "# what the laws made of it",
            after,
            "",
            "# for",
            *(f"{x.name} = {_literal(v)}" for x, v in zip(self.inputs, simple, strict=True)),
            f"# expected {_shown(want)}",
            f"# found    {_shown(got)}",
        ]
        return "\n".join(lines)


def _literal(v: Array) -> str:
    text = np.array2string(v, separator=", ", threshold=_ELEMENTS, floatmode="unique")
    return f"np.array({' '.join(text.split())}, {v.dtype.name!r})"


def _shown(x: Outcome) -> str:
    if isinstance(x, type):
        return x.__name__
    return ", ".join(" ".join(np.array2string(v, separator=", ", floatmode="unique").split()) for v in x)


def _outcome(run: Callable[[Sequence[Any]], list[Any]], values: Sequence[Any]) -> Outcome:
    try:
        return [np.asarray(x) for x in run(values)]
    except (ValueError, IndexError, TypeError, CheckError) as error:
        return type(error)


def _equal(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], slack: float) -> bool:
    """Whether two arrays are equal, NaNs in the same places.  slack: how far apart they may be; 0 for bit by bit."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind not in "fc":
        return bool(np.array_equal(a, b))
    nan = np.isnan(a)
    if not np.array_equal(nan, np.isnan(b)):
        return False
    if not slack:
        return bool(a[~nan].tobytes() == b[~nan].tobytes())
    return bool(np.allclose(a[~nan], b[~nan], rtol=slack, atol=slack * 1e-3))
