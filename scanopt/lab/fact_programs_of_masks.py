"""Programs kept for facts about loops that end early in loops (`rewrites/push_out_loops_until.py`).

What the inner loop reads differs from step to step of the outer one.
"""

from __future__ import annotations

from typing import Any

from scanopt import tensor as T
from scanopt.lab.fact_programs_of_loops import FACT_PROGRAMS
from scanopt.lab.fact_programs_of_values import _each, _kept
from scanopt.loops.scan import scan
from scanopt.loops.until import until

__all__ = ["FACT_PROGRAMS"]


def _squared(row: Any, a: Any) -> Any:
    return scan(lambda v, s: (s + v * v, until(s > 3)), row, [a])[0][-1]


def _doubled(v: Any, n: Any) -> Any:
    return scan(lambda s: (s * 2, until(s.sum() > 4)), None, [v], n_steps=n)[0][-1]


@_kept
def _shared_rows_until(x: Any, y: Any) -> Any:
    return _each(lambda a, y: _squared(y, a), x, y)


@_kept
def _doubled_until(x: Any, n: Any) -> Any:
    return _each(lambda a, n: _doubled(abs(a), n), x, n)


@_kept
def _ragged_doubled_until(p: Any) -> Any:
    return _each(lambda i: _doubled(T.arange(i) * 1.0, 5).sum(), p)


@_kept
def _ragged_sums_until(p: Any) -> Any:
    def step(s: Any) -> Any:
        return [s * 2, s.sum()], until(s.sum() > 4)

    return _each(lambda i: scan(step, None, [T.arange(i) * 1.0, None], n_steps=5)[0][1][-1], p)


@_kept
def _doubled_until_or_not_at_all(x: Any, p: Any) -> Any:
    def last(a: Any, i: Any) -> Any:
        return T.tanh(T.exp(scan(lambda s: (s * 2, until(s > 4)), None, [abs(a)], n_steps=i)[0][-1:])).sum()

    return _each(last, [x, p])


@_kept
def _doubled_until_in_one_step(x: Any, y: Any) -> Any:
    return scan(lambda v, y: _each(lambda a, v: _doubled(a * v, 5), y, v), x, None, [y], n_steps=1)[0]


# liftable: traces of inner loops that end early differ in length.
@_kept
def _traces_doubled_until(x: Any) -> Any:
    return _each(lambda a: scan(lambda s: (s * 2, until(s > 4)), None, [abs(a)], n_steps=5)[0], x)
