"""Programs kept for facts about modes of loops: a law that one of two loops leaves out."""

from __future__ import annotations

from typing import Any

from scanopt import tensor as T
from scanopt.lab.fact_programs_of_masks import FACT_PROGRAMS
from scanopt.lab.fact_programs_of_values import _kept
from scanopt.loops.derived import map as scan_map
from scanopt.loops.scan import scan
from scanopt.modes import Mode

__all__ = ["FACT_PROGRAMS"]

_OTHER = Mode(excluding=["save_mem"])


def _sums(x: Any, y: Any, outer: Mode | None, inner: Mode | None) -> Any:
    def last(a: Any, y: Any) -> Any:
        return scan(lambda v, s: T.tanh(s + v), y, [a], mode=inner)[0][-1]

    return scan_map(last, x, [y], mode=outer)[0]


@_kept
def _outer_loop_of_another_mode(x: Any, y: Any) -> Any:
    return _sums(x, y, _OTHER, Mode())


@_kept
def _inner_loop_of_another_mode(x: Any, y: Any) -> Any:
    return _sums(x, y, None, _OTHER)
