"""The measured costs of a loop of array steps beside its operators: entering it, a step, reading and keeping rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np

from scanopt import tensor as T
from scanopt.array.constants import as_variable
from scanopt.backends import executor
from scanopt.calculus.law import standard_laws
from scanopt.compilation.measuring import least_seconds
from scanopt.compilation.optimize import optimize
from scanopt.compilation.settings import Settings
from scanopt.egraph.encode import encode
from scanopt.loops.scan import scan
from scanopt.program.lower import lower

__all__ = ["LEAST", "loop_costs"]

_SHORT, _LONG = 20, 1020
_ROW = 1000
LEAST = 1.0
"""The least cost in nanoseconds: nothing is free, so that of two ways the shorter one is chosen."""


def _loop(step: Callable[..., Any], states: int = 1, taps: bool = False, last: bool = False) -> Any:
    """A program of a loop that keeps all rows of its states, or the last ones only."""

    def program(a: Any, n: Any, x: Any) -> Any:
        start = dict(initial=T.stack([a, a]), taps=[-2, -1]) if taps else a
        found, _ = scan(step, x if step in (_reading,) else None, [start] * states, [a], n_steps=n)
        traces = found if isinstance(found, list) else [found]
        return [t[-1] if last else t for t in traces]

    return program


def _one(s: Any, a: Any) -> Any:
    return s + a


def _two(r: Any, s: Any, a: Any) -> Any:
    return [r + a, s + a]


def _twice(s: Any, a: Any) -> Any:
    return (s + a) + a


def _taps(r: Any, s: Any, a: Any) -> Any:
    return r + s


def _reading(v: Any, s: Any, a: Any) -> Any:
    return s + v


def loop_costs(seconds: float = 0.02) -> dict[str, float]:
    """Nanoseconds by the kinds of `Work`, and "element of a row": of each element of a row kept.

    Each is a difference of loops; none is less than one nanosecond.
    """
    one, entering = _slope(_loop(_one), seconds)
    two, _ = _slope(_loop(_two, states=2), seconds)
    operator = _slope(_loop(_twice), seconds)[0] - one
    delay = _slope(_loop(_taps, taps=True), seconds)[0] - one
    seq = _slope(_loop(_reading), seconds)[0] - one
    last = _slope(_loop(_one, last=True), seconds)[0]
    stack = two - one - delay - operator
    wide, wide_last = (_slope(_loop(_one, last=x), seconds, _ROW)[0] for x in (False, True))
    found = {
        "step": 2 * one - two,
        "delay": delay,
        "seq": seq,
        "stack": stack,
        "tail": stack + last - one,
        "at": stack + last - one,
        "loop": entering,
    }
    each = (wide - wide_last - (one - last)) / _ROW
    return {k: max(LEAST, v) for k, v in found.items()} | {"element of a row": max(0.0, each)}


def _slope(program: Callable[..., Any], seconds: float, width: int = 0) -> tuple[float, float]:
    """Nanoseconds of a step, and of the rest beyond a call that does next to nothing.

    width: of the rows; 0 for scalars.
    """
    a = np.float64(0.5) if not width else np.full(width, 0.5)
    run = _compiled(program, a.ndim)
    short, long = (_seconds(run, a, n, seconds) for n in (_SHORT, _LONG))
    nothing = _seconds(_next_to_nothing(a.ndim), a, 1, seconds)
    step = (long - short) / (_LONG - _SHORT)
    return step * 1e9, max(0.0, (short - _SHORT * step - nothing) * 1e9)


@lru_cache(maxsize=2)
def _next_to_nothing(ndim: int) -> Callable[[list[Any]], list[Any]]:
    return _compiled(lambda a, n, x: [a + a, n + 1], ndim)


def _compiled(program: Callable[..., Any], ndim: int) -> Callable[[list[Any]], list[Any]]:
    """Compile a program with its loop as written, except that only rows that are read are kept."""
    a, n = T.tensor("float64", (None,) * ndim, name="a"), T.lscalar("n")
    x = T.tensor("float64", (None,) * (ndim + 1), name="x")
    outputs = [as_variable(v) for v in program(a, n, x)]
    laws = [law for law in standard_laws() if law.ruleset == "save_mem"]
    done = optimize(encode([a, n, x], outputs), laws, Settings())
    return executor("numpy").compile(lower(done.extraction))


def _seconds(run: Callable[[list[Any]], list[Any]], a: Any, n: int, seconds: float) -> float:
    values = [np.asarray(a), np.asarray(n), np.full((n, *np.shape(a)), 0.25)]
    return least_seconds(partial(run, values), seconds)
