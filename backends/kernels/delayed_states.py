"""Finds states that become what another state was: they are read from its rows, further back, and never copied.

Examples are the two last states of a wave equation, `[next(u, before), u]`, and a chain of delays.  The state that they
follow then keeps more rows in its ring buffer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import accumulate

from scanopt.backends.kernels.ir import INDEX, Do, Expr, If, Lit, Point, Stmt, Var, plus, product, times
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.stages import is_few
from scanopt.backends.kernels.values import Array, packed
from scanopt.program.ir import CarriedState

__all__ = ["Followed", "delayed_states", "read_delayed", "rows_more"]

Followed = Mapping[int, tuple[int, int]]
"""By the number of a state, that of the state which it follows, and how many steps back it reads that one."""


def delayed_states(
    states: Sequence[CarriedState], w: Lowering, held: Collection[int], kept: Collection[int]
) -> Followed:
    """The states that follow others.

    held: the numbers of those that do not keep the rows of earlier steps; kept: of those all of whose rows are kept.
    """
    if w.device:
        return {}
    found: dict[int, tuple[int, int]] = {}
    taps = {name: (i, k) for i, s in enumerate(states) for k, name in s.taps}
    for j, s in enumerate(states):
        i, k = taps.get(s.update, (j, 0))
        if not s.taps or j in kept or i in held or not _alike(s, states[i], w) or j in _chain(i, found):
            continue
        found[j] = i, k
    return found


def _alike(s: CarriedState, other: CarriedState, w: Lowering) -> bool:
    """Whether two states are arrays of the same shape and dtype, and not so small that they are held in variables."""
    axes = w.axes(s.taps[0][1])
    same = s.type.dtype == other.type.dtype and axes == w.axes(other.taps[0][1]) == w.axes(s.update)
    return bool(axes) and same and not is_few(axes)


def rows_more(i: int, states: Sequence[CarriedState], followed: Followed) -> int:
    """The rows that state i keeps beyond its own depth, for those that follow it."""
    deepest = [k + states[j].depth + rows_more(j, states, followed) for j, (of, k) in followed.items() if of == i]
    return max([0, *(n - states[i].depth for n in deepest)])


def read_delayed(
    i: int,
    states: Sequence[CarriedState],
    followed: Followed,
    t: Var,
    init: Callable[[CarriedState], str],
    written: Callable[[int, Expr], tuple[str, Expr]],
    step: list[Stmt],
    w: Lowering,
) -> None:
    """Let a step read state i from the rows of the one that it follows.

    init: a pointer to the first rows of a state; written: the place of what a state becomes at a step.
    """
    chain = _chain(i, followed)
    back = [*accumulate([followed[j][1] for j in chain[:-1]], initial=0)]  # steps from state i to each of the chain
    rows = {j: init(states[j]) for j in chain}
    for k, tap in states[i].taps:
        axes, dtype, pointer = w.axes(tap), states[i].type.dtype, w.pointer(states[i].type.dtype)
        code: Stmt = Point(pointer, *written(chain[-1], plus(t, Lit(-k - back[-1]))), dtype)
        for j, n in zip(reversed(chain), reversed(back), strict=True):
            first = times(plus(t, Lit(states[j].depth - k - n)), product(axes))
            early = Point(pointer, rows[j], first, dtype)
            code = If(Do("less", (t, Lit(k + n)), "bool", INDEX), (early,), (code,))
        step.append(code)
        w.env[tap] = Array(pointer, axes, packed(axes), dtype)


def _chain(i: int, followed: Followed) -> list[int]:
    """State i, the state that it follows, the one which that follows, and so on."""
    return [i, *_chain(followed[i][0], followed)] if i in followed else [i]
