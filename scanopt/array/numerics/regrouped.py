"""Affine recurrences of numbers, eight steps at once.

Run one by one, each step waits for the result of the step before, so its latency is the critical path.  Here
everything in eight steps that does not depend on the state before them is computed first, and the contribution of
that state is added last; the next eight steps wait for this addition alone.  The bound on rounding errors is about
that of the steps one by one as long as states do not grow by themselves, as they do with a factor greater than 1 in
magnitude; there the difference between the two orders of rounding would grow too.  So the steps are divided into
stretches of 128, and those in which states may grow, or a row is not finite, are run one by one.

Kernels do the same operations in the same order (`backends/kernels/c_affine.py`), so both give the same bits.

[Kogge and Stone 1973, for factors that vary; impulse responses, for fixed ones]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scanopt.array.numerics import filters, running
from scanopt.records import dataclass

__all__ = ["STRETCH", "held_smoothing", "linear", "regrouped_filter", "regrouped_sum", "smoothing", "suits"]

EIGHT = 8
"""The number of steps that are done at once."""
STRETCH = 128
"""The number of steps that are run one by one if a row of them is not finite, or states may grow by themselves."""
MOST = 8192
"""The number of steps per attempt, so that arrays stay in a cache."""

Array = np.ndarray[Any, Any]
Rows = tuple[Array, Sequence[Array]]
State = tuple[Any, ...]


@dataclass(frozen=True)
class _Steps:
    """The parts of a recurrence that `_run` needs.

    eights: takes a slice of steps; returns, with eight steps in each column, the part of the results that does not
    depend on the states before them, and for each of these states, the newest first, the factors that multiply it:
    one for each result, or eight that hold for all columns.  one: does one step.  calm: for each stretch, whether no
    state grows by itself.
    """

    eights: Callable[[slice], Rows]
    one: Callable[[State, int], Any]
    calm: Array


def suits(xp: Any, init: Array, *others: Array) -> bool:
    """Whether the arguments are NumPy arrays of the same floating dtype, of a recurrence whose state is one number."""
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
    """Element t is (element t - 1) + (x[t] - (element t - 1)) * a, with a the same number at all steps (`held`).

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
    """For each stretch, whether all its factors are at most 1 in magnitude."""
    found = np.ones(-(-len(factors) // STRETCH) * STRETCH, bool)
    found[: len(factors)] = (factors <= 1) & (factors >= -1)
    return np.asarray(found.reshape(-1, STRETCH).all(axis=1))


def _element_of(x: Array) -> Callable[[int], Any]:
    """The function that gives element i of x as a scalar that rounds as arrays of the dtype do but is faster."""
    return x.item if x.dtype == np.float64 else x.__getitem__


def _eights(x: Array) -> Array:
    """Arrange x with the eight elements from step 8 k on in column k: NumPy is fast along long rows."""
    return np.ascontiguousarray(x.reshape(-1, EIGHT).T)


def _composed(factors: Array, x: Array) -> Rows:
    """Compose each step s * a + x with the steps before it among the same eight."""
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
    """The values over eight steps that a 1 causes: one added at the first step, and one in each state before it."""
    zero, unit = type(a)(0), type(a)(1)
    h, q = [zero, unit], [unit, zero]
    for made in (h, q):
        for _ in range(EIGHT):
            made.append(made[-1] * a if b is None else made[-1] * a + made[-2] * b)
    impulse, newest, oldest = (np.array(x, dtype) for x in (h[1:-1], h[2:], q[2:]))
    return [impulse, newest] if b is None else [impulse, newest, oldest]


def _responded(x: Array, response: Array) -> Array:
    """The sum of the responses to eight elements, each shifted to the step where its element is added."""
    rows = _eights(x)
    total = np.outer(response, rows[0])
    for i in range(1, EIGHT):
        total[:i] += rows[i] * 0
        total[i:] += np.outer(response[: EIGHT - i], rows[i])
    return total


def _run(steps: _Steps, init: Array, n: int) -> Array:
    """All rows of n steps.  After a stretch run one by one, the next attempt has twice the stretches that went well."""
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
    """The values of each state before each group of eight steps."""
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
    """The number of stretches before the first one that has a value, or a sum over its groups, that is not finite."""
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
