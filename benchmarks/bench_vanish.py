"""Loops that vanish: time per call against plain NumPy loops written by hand, in the same run.

    python benchmarks/bench_vanish.py            everything, a minute or two
    python benchmarks/bench_vanish.py --quick    small sizes, few repeats

A loop that vanished has to be 20 times faster than the loop by hand.  A linear recurrence over many
lanes has no faster form in NumPy: there the loop has to stay.  Nothing may be below 0.95 of the loop by hand.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # steadier on few cores, for both sides

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import hand_loops
import models
import numpy as np
from harness import best, machine, ms, ratio, table

import scanopt
import scanopt.tensor as T

Array = np.ndarray[Any, Any]
Case = tuple[str, models.Graph, Callable[..., Any]]

FASTER = 20.0
LEAST = 0.95


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Loops that vanish, against loops by hand.")
    parser.add_argument("--quick", action="store_true", help="small sizes, few repeats")
    quick = parser.parse_args(arguments).quick
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
        (f"forward fill of {size(1_000_000):,}", fill(size(1_000_000)), fill_by_hand),
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


def fill(n: int) -> models.Graph:
    m, x, s = T.TensorType("bool", (None,))("m"), T.dvector("x"), T.dscalar("s")
    states, _ = scanopt.scan(lambda m, x, s: T.where(m, x, s), [m, x], s)
    return _graph([m, x, s], states, [_normal(n) > 1, _normal(n), np.array(0.0)])


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


def fill_by_hand(m: Array, x: Array, s: Array) -> Array:
    out = np.empty_like(x)
    for t in range(len(x)):
        if m[t]:
            s = x[t]
        out[t] = s
    return out


if __name__ == "__main__":
    main()
