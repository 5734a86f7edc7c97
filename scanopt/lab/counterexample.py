"""Compare two ways to run one program; if they differ, find the simplest values that show it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scanopt.array.variable import Variable
from scanopt.loops.effects import CheckError
from scanopt.records import dataclass

__all__ = ["Comparison", "brief"]

Array = np.ndarray[Any, Any]
Outcome = list[Array] | type[Exception]

_SIMPLE = (0.0, 1.0, 2.0)
_CLOSE, _ROUNDINGS = 1e-9, 16
_ELEMENTS = 60  # of all values together: more are left as they are
_FEW = 4  # elements of a result that is shown in a line


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
        return want is got if isinstance(want, type) or isinstance(got, type) else not self.places(want, got)

    def places(self, want: Outcome, got: Outcome) -> tuple[int, ...]:
        """Which results differ; none where something was raised."""
        if isinstance(want, type) or isinstance(got, type):
            return ()
        coarsest = max((float(np.finfo(d).eps) for d in self.dtypes if np.dtype(d).kind in "fc"), default=0.0)
        slack = 0.0 if self.exact else max(_CLOSE, _ROUNDINGS * coarsest)
        return tuple(n for n, (a, b) in enumerate(zip(want, got, strict=True)) if not _equal(a, b, slack))

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
        unlike = len({_types(want), _types(got), ()}) > 2
        lines = [
            "# as written",
            before,
            "",
            "# what the laws made of it",
            after,
            "",
            "# for",
            *(f"{x.name} = {_literal(v)}" for x, v in zip(self.inputs, simple, strict=True)),
            f"# expected {_shown(want, unlike)}",
            f"# found    {_shown(got, unlike)}",
        ]
        return "\n".join(lines)


def _literal(v: Array) -> str:
    text = np.array2string(v, separator=", ", threshold=_ELEMENTS, floatmode="unique")
    return f"np.array({' '.join(text.split())}, {v.dtype.name!r})"


def _types(x: Outcome) -> tuple[Any, ...]:
    """The dtypes and shapes of results; nothing where something was raised."""
    return () if isinstance(x, type) else tuple((v.dtype, v.shape) for v in x)


def _shown(x: Outcome, typed: bool = False) -> str:
    """Results as text.  typed: with the dtype and shape of each."""
    if isinstance(x, type):
        return x.__name__
    texts = (" ".join(np.array2string(v, separator=", ", floatmode="unique").split()) for v in x)
    return ", ".join(f"{text} {v.dtype}{list(v.shape)}" if typed else text for text, v in zip(texts, x, strict=True))


def brief(want: Outcome, got: Outcome, places: Sequence[int]) -> str:
    """Two outcomes in a line: the first results that differ, or one element of them, or the type of what was raised.

    places: of the results that differ, if both have results.

    >>> brief([np.arange(9.0)], [np.arange(9.0) % 7], [0])
    'expected 7.0, found 0.0 at [7]'
    >>> brief([np.ones(2)], [np.ones(2, "int8")], [0]), brief([np.ones(2)], IndexError, [])
    ('expected [1., 1.] float64[2], found [1, 1] int8[2]', 'expected [1., 1.], found IndexError')
    """
    a, b = (x if isinstance(x, type) else x[places[0] if places else 0] for x in (want, got))
    if isinstance(a, type) or isinstance(b, type):
        return f"expected {_short(a)}, found {_short(b)}"
    if a.dtype != b.dtype or a.shape != b.shape:
        return f"expected {_typed(a)}, found {_typed(b)}"
    if a.size > _FEW:
        bits = (np.atleast_1d(x).view(np.uint8).reshape(*x.shape, -1) for x in map(np.ascontiguousarray, (a, b)))
        unlike = np.argwhere(np.any(np.not_equal(*bits), axis=-1) & ~((a != a) & (b != b)))
        if len(unlike):
            place = tuple(unlike[0])
            return f"expected {a[place]}, found {b[place]} at {[int(k) for k in place]}"
    return f"expected {_short(a)}, found {_short(b)}"


def _short(x: Array | type[Exception]) -> str:
    if isinstance(x, type):
        return x.__name__
    return _shown([x]) if x.size <= _FEW else f"{x.dtype}{list(x.shape)}"


def _typed(x: Array) -> str:
    return f"{_short(x)} {x.dtype}{list(x.shape)}" if x.size <= _FEW else _short(x)


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
