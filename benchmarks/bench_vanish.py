"""Loops that vanish: time per call against plain NumPy loops written by hand, in the same run.

    python benchmarks/bench_vanish.py            everything, a minute or two
    python benchmarks/bench_vanish.py --quick    small sizes, few repeats

A loop that vanished has to be 20 times faster than the loop by hand.  A linear recurrence over many
lanes has no faster form in NumPy: there the loop has to stay.  Nothing may be below 0.95 of the loop by hand.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # steadier on few cores, for both sides

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import hand_loops
import models
import numpy as np
from harness import asked_to_be_quick, best, machine, ms, ratio, table

import scanopt
import scanopt.tensor as T

Array = np.ndarray[Any, Any]
Case = tuple[str, models.Graph, Callable[..., Any]]

FASTER = 20.0
LEAST = 0.95


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    quick = asked_to_be_quick("Loops that vanish, against loops by hand.", "sizes", arguments)
    print(f"bench_vanish: {machine()}; all times in ms")
    measure(cases(0.01 if quick else 1.0), 2 if quick else 7)


def measure(rows: Sequence[Case], repeats: int) -> None:
    """Each case: what is left of the loop, both times, and the goal."""
    lines = []
    for name, graph, by_hand in rows:
        f = scanopt.function(graph.inputs, graph.outputs, example=graph.values)
        found, wanted = f(*graph.values), by_hand(*graph.values)
        np.testing.assert_allclose(found[0], wanted, rtol=1e-9, atol=1e-9)
        ours, hand = best(partial(f, *graph.values), partial(by_hand, *graph.values), repeats)
        left = "loop" in str(f.program)
        goal = LEAST if left else FASTER
        met = "met" if hand / ours >= goal else "MISSED"
        lines.append([name, "loop" if left else "none", ms(ours), ms(hand), ratio(ours, hand), f"{goal:g} x: {met}"])
    heads = ["program", "left of the loop", "scanopt", "by hand", "by hand / scanopt", "goal"]
    table("Time per call (least of several, taken in turns)", heads, lines)


def cases(scale: float) -> Sequence[Case]:
    """The programs with their values and their loops by hand."""

    def size(n: int) -> int:
        return max(int(n * scale), 5)

    return [
        (f"A**k, {size(1_000_000):,} numbers, k = {size(1000)}", models.power(size(1_000_000), size(1000)),
         hand_loops.power),
        (f"polynomial, {size(10_000):,} coefficients", models.polynomial(size(10_000)), hand_loops.polynomial),
        (f"cumulative sum of {size(1_000_000):,}", running_sum(size(1_000_000)), sum_by_hand),
        (f"linear recurrence, {size(10_000):,} x 256", linear(size(10_000), 256), linear_by_hand),
        (f"linear recurrence, {size(1_000_000):,}", linear(size(1_000_000), 0), linear_by_hand),
        (f"AR(2) filter of {size(1_000_000):,}", models.ar2(size(1_000_000)), hand_loops.ar2),
        (f"varying linear recurrence, {size(1_000_000):,}", varying(size(1_000_000)), varying_by_hand),
        (f"CUSUM of {size(1_000_000):,}", cusum(size(1_000_000)), cusum_by_hand),
        (f"outer products added up, {size(1000):,} of 64 x 64", outer_products(size(1000), 64), outer_by_hand),
        (f"two loops that share work, {size(10_000):,} x 64", sharing(size(10_000), 64), sharing_by_hand),
        (f"RNN with an invariant product, {size(1000):,} x 64", invariant(size(1000), 64), invariant_by_hand),
        (f"Newton's method until it is near, {size(10_000):,} numbers", roots(size(10_000)), roots_by_hand),
    ]  # fmt: skip


# The programs


def _graph(inputs: list[Any], output: Any, values: list[Array]) -> models.Graph:
    return models.Graph(inputs, [output], values)


def running_sum(n: int) -> models.Graph:
    x, a = T.dvector("x"), T.dscalar("a")
    sums, _ = scanopt.scan(lambda x, s: s + x, x, a)
    return _graph([x, a], sums, [_normal(n), np.array(1.0)])


def linear(n: int, lanes: int) -> models.Graph:
    x, s, a = (T.dmatrix("x"), T.dvector("s"), T.dscalar("a")) if lanes else (*T.dvectors("x"), *T.dscalars("s", "a"))
    states, _ = scanopt.scan(lambda x, s, a: s * a + x, x, s, a)
    row = (lanes,) if lanes else ()
    return _graph([x, s, a], states, [_normal(n, *row), np.zeros(row), np.array(0.9)])


def varying(n: int) -> models.Graph:
    a, x, s = *T.dvectors("a", "x"), T.dscalar("s")
    states, _ = scanopt.scan(lambda a, x, s: s * a + x, [a, x], s)
    return _graph([a, x, s], states, [np.cos(_normal(n)), _normal(n), np.array(0.0)])


def cusum(n: int) -> models.Graph:
    x, s = T.dvector("x"), T.dscalar("s")
    states, _ = scanopt.scan(lambda x, s: T.maximum(s + x, 0.0), x, s)
    return _graph([x, s], states, [_normal(n) - 0.1, np.array(0.0)])


def outer_products(n: int, size: int) -> models.Graph:
    x, y, s = *T.dmatrices("x", "y"), T.dmatrix("s")
    states, _ = scanopt.scan(lambda x, y, s: s + T.outer(x, y), [x, y], s)
    return _graph([x, y, s], states[-1], [_normal(n, size), _normal(n, size), np.zeros((size, size))])


def sharing(n: int, size: int) -> models.Graph:
    x, s = T.dmatrix("x"), T.dvector("s")
    first, _ = scanopt.scan(lambda x, s: T.tanh(s) + T.exp(-T.sqr(x)), x, s)
    second, _ = scanopt.scan(lambda x, s: 0.5 * T.sin(s) + T.exp(-T.sqr(x)), x, s)
    return _graph([x, s], first + second, [_normal(n, size), np.zeros(size)])


def invariant(n: int, size: int) -> models.Graph:
    x, h, U, V, b = T.dmatrix("x"), T.dvector("h"), *T.dmatrices("U", "V"), T.dvector("b")
    step = lambda x, h, U, V, b: T.tanh(x + T.dot(h, U) + T.dot(b, V))  # noqa: E731
    states, _ = scanopt.scan(step, x, h, [U, V, b])
    values = [_normal(n, size), np.zeros(size), _normal(size, size) / 10, _normal(size, size) / 10, _normal(size)]
    return _graph([x, h, U, V, b], states, values)


def roots(n: int) -> models.Graph:
    x = T.dvector("x")

    def better(r: Any, a: Any) -> Any:
        new = 0.5 * (r + a / r)
        return new, scanopt.until(abs(new - r) < 1e-9)

    found, _ = scanopt.map(lambda a: scanopt.scan(better, None, a, a, n_steps=100)[0][-1], x)
    return _graph([x], found, [np.square(_normal(n)) + 1e-3])


def _normal(*shape: int) -> Array:
    return np.asarray(np.random.default_rng(sum(shape)).standard_normal(shape))


# The same by hand


def sum_by_hand(x: Array, s: Array) -> Array:
    out = np.empty_like(x)
    for t in range(len(x)):
        s = s + x[t]
        out[t] = s
    return out


def linear_by_hand(x: Array, s: Array, a: Array) -> Array:
    out = np.empty_like(x)
    if x.ndim == 1:
        for t in range(len(x)):
            s = s * a + x[t]
            out[t] = s
        return out
    for t in range(len(x)):
        row = out[t]
        np.multiply(s, a, out=row)
        np.add(row, x[t], out=row)
        s = row
    return out


def varying_by_hand(a: Array, x: Array, s: Array) -> Array:
    out = np.empty_like(x)
    for t in range(len(x)):
        s = s * a[t] + x[t]
        out[t] = s
    return out


def cusum_by_hand(x: Array, s: Array) -> Array:
    out = np.empty_like(x)
    for t in range(len(x)):
        s = np.maximum(s + x[t], 0.0)
        out[t] = s
    return out


def outer_by_hand(x: Array, y: Array, s: Array) -> Array:
    s = s.copy()
    for t in range(len(x)):
        s += np.outer(x[t], y[t])
    return s


def sharing_by_hand(x: Array, s: Array) -> Array:
    first, second = np.empty_like(x), np.empty_like(x)
    a = b = s
    for t in range(len(x)):
        first[t] = a = np.tanh(a) + np.exp(-np.square(x[t]))
    for t in range(len(x)):
        second[t] = b = 0.5 * np.sin(b) + np.exp(-np.square(x[t]))
    return first + second


def invariant_by_hand(x: Array, h: Array, U: Array, V: Array, b: Array) -> Array:
    out = np.empty_like(x)
    for t in range(len(x)):
        out[t] = h = np.tanh(x[t] + h @ U + b @ V)
    return out


def roots_by_hand(x: Array) -> Array:
    out = np.empty_like(x)
    for i, a in enumerate(x):
        r = a
        for _ in range(100):
            before, r = r, 0.5 * (r + a / r)
            if abs(r - before) < 1e-9:
                break
        out[i] = r
    return out


if __name__ == "__main__":
    main()
