"""Programs kept for facts about sums of rows that are added to parts of arrays: see `fact_programs`."""

from __future__ import annotations

from typing import Any

from scanopt import tensor as T
from scanopt.lab.fact_programs_of_modes import FACT_PROGRAMS
from scanopt.lab.fact_programs_of_values import _kept, _small
from scanopt.loops.derived import map as map_

__all__ = ["FACT_PROGRAMS"]


def _put(y: Any, k: int, a: Any) -> Any:
    """Zeros like y with a added to entry k."""
    return T.inc_subtensor(T.zeros_like(y)[k], a)


# to_add_up, adds_up: nothing adds up these rows.
@_kept
def _added_to_entries(x: Any, y: Any) -> Any:
    return map_(lambda a, y: _put(y, 1, a), x, [y])[0]


@_kept
def _added_to_two_entries(x: Any, y: Any) -> Any:
    rows = map_(lambda a, y: [_put(y, 1, a), T.inc_subtensor(_put(y, 1, a)[0], T.tanh(a))], x, [y])[0]
    return [rows[0].sum(axis=0), rows[1]]


# to_add_up, adds_up: an entry that is taken is nothing that is added.
@_kept
def _taken_after_adding(x: Any, p: Any, y: Any) -> Any:
    return map_(lambda a, i, y: _put(y, 1, a)[i % 2], [x, p], [y])[0].sum(axis=0)


@_kept
def _taken_beside_adding(x: Any, p: Any, y: Any) -> Any:
    rows = map_(lambda a, i, y: [_put(y, 1, a), _put(y, 1, a)[i % 2]], [x, p], [y])[0]
    return [rows[0].sum(axis=0), rows[1].sum(axis=0)]


# adds_up: sums of small integers are wider than what they are added to.
@_kept
def _small_integers_added(p: Any, q: Any) -> Any:
    y = _small(q)

    def step(i: Any, j: Any, y: Any) -> Any:
        return T.inc_subtensor(T.inc_subtensor(T.zeros_like(y)[j % 2], _small(i))[0], _small(i))

    return [map_(lambda i, y: _put(y, 1, _small(i)), p, [y])[0].sum(axis=0), map_(step, [p, q], [y])[0].sum(axis=0)]
