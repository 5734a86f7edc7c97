"""Loops of all kinds, on which every law is attacked, beyond the programs that its author thought of.

Each kind of loop (how many steps, what ends it, in what order, inside what) computes maps, carries states, and counts
in integers and booleans; its traces are read whole, at the end, at the beginning, and added up.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from scanopt import tensor as T
from scanopt.calculus.law import Program
from scanopt.loops.scan import scan
from scanopt.loops.until import until

__all__ = ["LOOPS"]

Step = Callable[..., list[Any]]
Kind = Callable[..., list[Any]]
"""A function that runs a step over the rows of an array, from given initial states, and returns the traces."""


def _loop(step: Step, rows: Any, starts: list[Any], end: Any = None, **options: Any) -> list[Any]:
    def body(v: Any, *states: Any) -> Any:
        made = step(v, *states)
        return made if end is None else (made, until(end(v)))

    found, _ = scan(body, rows, starts, **options)
    return list(found) if isinstance(found, list | tuple) else [found]


def _large(v: Any) -> Any:
    return T.gt(v, 0)


def _always(v: Any) -> Any:
    return T.constant(True)


def _never(v: Any) -> Any:
    return T.constant(False)


def _shorter(step: Step, rows: Any, starts: list[Any]) -> list[Any]:
    return _loop(step, rows, starts, n_steps=T.minimum(rows.shape[0], 2))


def _taps(step: Step, rows: Any, starts: list[Any]) -> list[Any]:
    later = dict(input=T.concatenate([rows, rows[:1]]), taps=[0, 1])
    found, _ = scan(lambda v, w, *states: step(w, *states), later, starts, n_steps=rows.shape[0])
    return list(found) if isinstance(found, list | tuple) else [found]


def _inside(step: Step, rows: Any, starts: list[Any], end: Any = None, around: Any = None) -> list[Any]:
    """The loop inside another one, which may end, too."""

    def outer(t: Any) -> Any:
        made = [x[-1:] for x in _loop(step, rows + T.cast(t, rows.dtype), starts, end)]
        return made if around is None else (made, until(T.ge(t, 1)))

    found, _ = scan(outer, T.arange(T.minimum(rows.shape[0], 3)))
    return list(found) if isinstance(found, list | tuple) else [found]


_KINDS: dict[str, Kind] = {
    "all steps": _loop,
    "until": partial(_loop, end=_large),
    "until true": partial(_loop, end=_always),
    "until false": partial(_loop, end=_never),
    "no steps": partial(_loop, n_steps=0),
    "one step": partial(_loop, n_steps=1),
    "two steps": partial(_loop, n_steps=2),
    "three steps": partial(_loop, n_steps=3),
    "two steps until": partial(_loop, n_steps=2, end=_large),
    "three steps until": partial(_loop, n_steps=3, end=_large),
    "fewer steps": _shorter,
    "backwards": partial(_loop, go_backwards=True),
    "backwards until": partial(_loop, go_backwards=True, end=_large),
    "taps": _taps,
    "inside": _inside,
    "inside until": partial(_inside, end=_large),
    "inside a loop until": partial(_inside, around=_large),
}  # fmt: skip


def _read(traces: list[Any]) -> list[Any]:
    """The parts of traces that are read: all, the last and first rows, sums, the number of rows."""
    rows = [part for t in traces for part in (t, t[-1:], t[-2:], t[:1])]
    return [*rows, *(t.sum(axis=0) for t in traces if t.dtype != "bool"), traces[0].shape[0]]


def _maps(kind: Kind) -> Program:
    def program(x: Any, a: Any) -> list[Any]:
        return _read(kind(lambda v: [v, T.exp(v), a + T.zeros_like(v), T.tanh(a) * v], x, [None] * 4))

    return program


def _rows(kind: Kind) -> Program:
    def program(X: Any, y: Any) -> list[Any]:
        some = kind(lambda v: [v * y, T.dot(v, y), T.maximum(v, y)[:1]], X, [None] * 3)
        return [part for t in some for part in (t, t[-1:])]

    return program


def _picks(kind: Kind) -> Program:
    """Operators that may raise, on sides that are not taken, and where indices are in range."""

    def program(x: Any, p: Any) -> list[Any]:
        def step(i: Any) -> list[Any]:
            return [x[i], T.ifelse(T.lt(i, 0), T.exp(x[i + 100]), 0.0), T.arange(i).sum()]

        return _read(kind(step, p, [None] * 3))

    return program


def _states(kind: Kind) -> Program:
    def program(x: Any, a: Any, b: Any) -> list[Any]:
        def step(v: Any, s: Any, r: Any, h: Any, g: Any, w: Any) -> list[Any]:
            return [s + v, T.maximum(r, v), h * a + v, T.where(v > 0, v, g), T.tanh(w + v)]

        return _read(kind(step, x, [a, b, a, b, a]))

    return program


def _late(kind: Kind) -> Program:
    """States that read further back, pass on what another was, never change."""

    def program(x: Any, a: Any, b: Any) -> list[Any]:
        pair = dict(initial=T.stack([a, b]), taps=[-1, -2])

        def step(v: Any, s1: Any, s2: Any, r: Any, c: Any, h: Any) -> list[Any]:
            return [s1 * a + s2 * b + v, s1, c, v * 2]

        return _read(kind(step, x, [pair, a, b, a]))

    return program


def _counts(kind: Kind) -> Program:
    def program(p: Any, k: Any, n: Any) -> list[Any]:
        def step(i: Any, s: Any, r: Any, b: Any) -> list[Any]:
            return [s + i, r + k, b | T.gt(i, 1)]

        return _read(kind(step, p, [n, k, T.gt(k, 3)]))

    return program


def _slopes(kind: Kind) -> Program:
    def program(x: Any, a: Any) -> list[Any]:
        (t,) = kind(lambda v, s: [T.tanh(s * a + v)], x, [a])
        return [*T.grad(t[-1:].sum(), [x, a]), *T.grad((t * t).sum(), [x, a])]

    return program


def _chosen(kind: Kind) -> Program:
    def program(x: Any, a: Any) -> list[Any]:
        (t, s) = kind(lambda v, s: [T.exp(v), s + v], x, [None, a])
        return [T.ifelse(T.gt(a, 0), t[-1:].sum(), s[:1].sum()), T.ifelse(T.gt(a, 0), t.sum(), a)]

    return program


def _two_loops(x: Any, y: Any, m: Any, a: Any) -> list[Any]:
    """Loops beside each other: as many steps and fewer, some that end."""
    whole = _loop(lambda v, s: [s + v, v], x, [a, None])
    again = _loop(lambda v, s: [s + v, v * 2], x, [a, None])
    other = _loop(lambda v: [v, T.neg(v)], y[:2], [None] * 2)
    ends = _loop(lambda v: [v], x, [None], end=_large)
    ends_too = _loop(lambda v: [v * 2], x, [None], end=_large)
    where, _ = scan(lambda b, v, s: T.where(b, v, s), [m, x], [a])
    return [part for t in (*whole, *again, *other, *ends, *ends_too, where) for part in (t, t[-1:])]


_FEW = {name: kind for name, kind in _KINDS.items() if "inside" not in name}

LOOPS: dict[str, Program] = {
    f"{what.__name__.strip('_')}: {name}": what(kind)
    for what, kinds in (
        (_maps, _KINDS), (_picks, _KINDS), (_states, _KINDS), (_late, _KINDS), (_counts, _FEW), (_slopes, _FEW),
        (_rows, {name: _KINDS[name] for name in ("all steps", "no steps", "three steps", "backwards")}),
        (_chosen, {name: kind for name, kind in _KINDS.items() if "step" not in name or name == "all steps"}),
    )
    for name, kind in kinds.items()
}  # fmt: skip
"""All of them, by name: functions of named inputs, as the examples of laws are."""

LOOPS["two loops"] = _two_loops
