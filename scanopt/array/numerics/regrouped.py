"""Affine recurrences of numbers, eight steps at once.

Each step waits for the one before, and for nothing else: a processor could do several of them in that time.  So of
eight steps everything that does not depend on the state before them is put together first, and that state is added
last; the next eight wait for this addition alone.  Rounding errors have about the bound of those of the steps one by
one where states do not grow by themselves: where a factor is beyond 1, what one order rounds and the other does not
would grow, too.  So of stretches of 128 steps those are run one by one that have such a factor, or that come to a
row that is not finite.

Kernels do the same operations in the same order (`backends/kernels/c_affine.py`), so bits do not depend on who runs.

[Kogge and Stone 1973, for factors that vary; impulse responses, for fixed ones]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scanopt.array.numerics import filters, running

__all__ = ["STRETCH", "held_smoothing", "linear", "regrouped_filter", "regrouped_sum", "smoothing", "suits"]

EIGHT = 8
"""So many steps are done at once."""
STRETCH = 128
"""So many steps are run one by one where a row of them is not finite."""
MOST = 8192
"""So many steps at a time stay in a cache."""

Array = np.ndarray[Any, Any]
Rows = tuple[Array, Sequence[Array]]
State = tuple[Any, ...]


@dataclass(frozen=True)
class _Steps:
    """A recurrence.

    eights: of some steps, eight in each column, what does not depend on the states before them, and by what each of
    these states, the newest first, is multiplied: as many numbers, or eight for all columns.  one: a step.
    calm: of each stretch, whether no state grows by itself.
    """

    eights: Callable[[slice], Rows]
    one: Callable[[State, int], Any]
    calm: Array


def suits(xp: Any, init: Array, *others: Array) -> bool:
    """Whether these are the arguments of a recurrence of one number, all of the same floating dtype, on NumPy."""
    dtypes = {x.dtype for x in (init, *others)}
    return xp is np and init.ndim == 1 and dtypes <= {init.dtype} and init.dtype in (np.float32, np.float64)


def linear(init: Array, a: Array, x: Array) -> Array:
    """Element t is a[t] * (element t - 1) + x[t].

    init: one element; a, x: an element for each step.

    >>> linear(np.array([1.0]), np.array([2.0, 0.5]), np.array([1.0, 1.0]))
    array([3. , 2.5])
    """
    factors, rows = _element_of(a), _element_of(x)
    steps = _Steps(lambda at: _composed(a[at], x[at]), lambda s, t: s[0] * factors(t) + rows(t), _calm(a))
    return _run(steps, init, len(x))


def smoothing(init: Array, a: Array, x: Array) -> Array:
    """Element t is (element t - 1) + (x[t] - (element t - 1)) * a[t].

    >>> smoothing(np.array([1.0]), np.array([0.5, 0.5]), np.array([3.0, 0.0]))
    array([2., 1.])
    """
    factors, rows = _element_of(a), _element_of(x)
    rest = 1 - a
    steps = _Steps(
        lambda at: _composed(rest[at], x[at] * a[at]), lambda s, t: s[0] + (rows(t) - s[0]) * factors(t), _calm(rest)
    )
    return _run(steps, init, len(x))


def regrouped_sum(xp: Any, init: Any, x: Any) -> Any:
    """Row t is (row t - 1) + x[t], up to rounding.

    >>> regrouped_sum(np, np.array([1.0]), np.array([2.0, 3.0]))
    array([3., 6.])
    """
    if not suits(xp, init, x):
        return running.accumulate(xp, "add", init, x)
    rows, one = _element_of(x), np.ones(EIGHT, x.dtype)
    steps = _Steps(lambda at: (_summed(x[at]), [one]), lambda s, t: s[0] + rows(t), _stretches(len(x), True))
    return _run(steps, init, len(x))


def regrouped_filter(xp: Any, init: Any, x: Any, *factors: Any) -> Any:
    """Row t is ((row t - 1) * a + (row t - 2) * b) + x[t], up to rounding; without b for one factor.

    >>> regrouped_filter(np, np.array([1.0]), np.array([0.0, 1.0]), np.array(0.5))
    array([0.5 , 1.25])
    """
    if any(f.ndim for f in factors) or not suits(xp, init, x, *factors):
        return filters.lfilter(xp, init, x, *factors)
    a, b = _number(factors[0]), _number(factors[-1])
    rows = _element_of(x)
    responses = _responses(x.dtype, a, b if len(factors) > 1 else None)

    def one(s: State, t: int) -> Any:
        return s[0] * a + rows(t) if len(factors) == 1 else (s[0] * a + s[1] * b) + rows(t)

    calm = -1 <= a <= 1 if len(factors) == 1 else -1 <= b < 1 and b - 1 <= a <= 1 - b
    steps = _Steps(lambda at: (_responded(x[at], responses[0]), responses[1:]), one, _stretches(len(x), bool(calm)))
    return _run(steps, init, len(x))


def held_smoothing(init: Array, x: Array, held: Array) -> Array:
    """Element t is (element t - 1) + (x[t] - (element t - 1)) * a, with a number a.

    >>> held_smoothing(np.array([1.0]), np.array([3.0, 0.0]), np.array(0.5))
    array([2., 1.])
    """
    a, rows = _number(held), _element_of(x)
    impulse, newest = _responses(x.dtype, 1 - a, None)
    steps = _Steps(
        lambda at: (_responded(x[at], impulse * a), [newest]),
        lambda s, t: s[0] + (rows(t) - s[0]) * a,
        _stretches(len(x), bool(-1 <= 1 - a <= 1)),
    )
    return _run(steps, init, len(x))


def _number(x: Array) -> Any:
    return x.item() if x.dtype == np.float64 else x[()]


def _stretches(n: int, calm: bool) -> Array:
    return np.full(-(-n // STRETCH), calm)


def _calm(factors: Array) -> Array:
    """Of each stretch, whether no factor is beyond 1."""
    found = np.ones(-(-len(factors) // STRETCH) * STRETCH, bool)
    found[: len(factors)] = (factors <= 1) & (factors >= -1)
    return np.asarray(found.reshape(-1, STRETCH).all(axis=1))


def _element_of(x: Array) -> Callable[[int], Any]:
    """Its elements as numbers that compute as arrays of the dtype do, in less time."""
    return x.item if x.dtype == np.float64 else x.__getitem__


def _eights(x: Array) -> Array:
    """Column k are the eight elements of steps 8 k and on: NumPy is fast along long rows."""
    return np.ascontiguousarray(x.reshape(-1, EIGHT).T)


def _composed(factors: Array, x: Array) -> Rows:
    """Steps s * a + x, composed with those before them among eight."""
    f, v = _eights(factors), _eights(x)
    for by in (1, 2, 4):
        v = np.concatenate([v[:by] + f[:by] * 0, v[by:] + f[by:] * v[:-by]])
        f = np.concatenate([f[:by], f[by:] * f[:-by]])
    return v, [f]


def _summed(x: Array) -> Array:
    v = _eights(x)
    for by in (1, 2, 4):
        v = np.concatenate([v[:by] + 0, v[by:] + v[:-by]])
    return v


def _responses(dtype: Any, a: Any, b: Any) -> list[Array]:
    """What a 1 comes to in eight steps: one that comes in at the first of them, and those that were states before."""
    zero, unit = type(a)(0), type(a)(1)
    h, q = [zero, unit], [unit, zero]
    for made in (h, q):
        for _ in range(EIGHT):
            made.append(made[-1] * a if b is None else made[-1] * a + made[-2] * b)
    impulse, newest, oldest = (np.array(x, dtype) for x in (h[1:-1], h[2:], q[2:]))
    return [impulse, newest] if b is None else [impulse, newest, oldest]


def _responded(x: Array, response: Array) -> Array:
    """The sum of the responses to eight elements, each from where it comes in."""
    rows = _eights(x)
    total = np.outer(response, rows[0])
    for i in range(1, EIGHT):
        total[:i] += rows[i] * 0
        total[i:] += np.outer(response[: EIGHT - i], rows[i])
    return total


def _run(steps: _Steps, init: Array, n: int) -> Array:
    """All rows.  After a stretch that is run one by one, the next attempt is twice what went well."""
    out = np.empty(n, init.dtype)
    whole, t, size = n - n % EIGHT, 0, MOST // STRETCH
    state: State = tuple(_element_of(init)(k) for k in reversed(range(len(init))))
    while t < whole:
        stretch = t // STRETCH
        calm = steps.calm[stretch : stretch + size]
        to = min(whole, t + STRETCH * (len(calm) if calm.all() else int(calm.argmin())))
        if t < to:
            made = _attempt(steps, state, slice(t, to))
            good = _finite_stretches(made)
            end = min(t + good * STRETCH, to)
            out[t:end] = made[: end - t]
            state = (*reversed(_listed(out[max(t, end - len(state)) : end])), *state)[: len(state)]
            t, size = end, max(min(2 * good, MOST // STRETCH), 1)
        if t < to or not calm.all():
            end = min((t // STRETCH + 1) * STRETCH, n)
            state = _one_by_one(steps, state, out, t, end)
            t = end
    _one_by_one(steps, state, out, t, n)
    return out


def _attempt(steps: _Steps, state: State, at: slice) -> Array:
    rows, factors = steps.eights(at)
    starts = _starts(rows, factors, state)
    for f, s in zip(factors, starts, strict=True):
        rows = rows + f.reshape(EIGHT, -1) * np.array(s, rows.dtype)
    return np.ascontiguousarray(rows.T).reshape(-1)


def _starts(parts: Array, factors: Sequence[Array], state: State) -> list[list[Any]]:
    """Of each state its values before each eight steps."""
    last, before = (
        [_listed(np.broadcast_to(x.reshape(EIGHT, -1)[-k], parts.shape[1:])) for x in (parts, *factors)] for k in (1, 2)
    )
    if len(state) == 1:
        (s,), found = state, list[Any]()
        for v, f in zip(*last, strict=True):
            found.append(s)
            s = v + f * s
        return [found]
    (s, r), newest, oldest = state, list[Any](), list[Any]()
    for v, f, g, w, p, q in zip(*last, *before, strict=True):
        newest.append(s)
        oldest.append(r)
        r, s = (w + p * s) + q * r, (v + f * s) + g * r
    return [newest, oldest]


def _listed(x: Array) -> list[Any]:
    return x.tolist() if x.dtype == np.float64 else list(x)


def _finite_stretches(rows: Array) -> int:
    """How many stretches come before the first one with a row, or a sum of rows of its eights, that is not finite."""
    full = np.zeros(-(-len(rows) // STRETCH) * STRETCH, rows.dtype)
    full[: len(rows)] = rows
    stretches = full.reshape(-1, STRETCH // EIGHT, EIGHT)
    total = stretches[:, 0].copy()
    for k in range(1, STRETCH // EIGHT):
        total += stretches[:, k]
    odd = np.asarray(~np.isfinite(total).all(axis=1))
    return int(odd.argmax()) if odd.any() else len(odd)


def _one_by_one(steps: _Steps, state: State, out: Array, t: int, end: int) -> State:
    for i in range(t, end):
        v = steps.one(state, i)
        out[i] = v
        state = (v, *state)[: len(state)]
    return state
