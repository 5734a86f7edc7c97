"""Kernels on several threads, beside the same kernels on one.

    python benchmarks/bench_threads.py            everything, half a minute
    python benchmarks/bench_threads.py --quick    few steps, few repeats

Least times of calls taken in turns, in one run.  What other processes take of the processors, threads lose.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # none but the kernels' own threads

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import peer_scanopt
import peer_values
from harness import asked_to_be_quick, best, machine, ratio, table

import scanopt
from scanopt.backends.kernels.workers import cores

Case = tuple[str, str, Callable[[], list[Any]]]


def cases(quick: bool) -> list[Case]:
    """Names, programs of the peers' benchmark, their arguments."""
    few = 10 if quick else 1
    rng = np.random.default_rng(0)

    def logistic(lanes: int, steps: int) -> list[Any]:
        return [rng.uniform(size=lanes), 3.7, steps // few]

    def linear(lanes: int, steps: int) -> list[Any]:
        return [rng.normal(size=(steps // few, lanes)), rng.normal(size=lanes), rng.uniform(size=lanes)]

    def mandelbrot(points: int, steps: int) -> list[Any]:
        return [*rng.uniform(-2, 2, (2, points // few)), steps]

    return [
        ("logistic map, 1,000 lanes, 10,000 steps", "logistic_lanes", lambda: logistic(1000, 10_000)),
        ("logistic map, 100,000 lanes, 100 steps", "logistic_lanes", lambda: logistic(100_000, 100)),
        ("linear recurrence, 256 lanes, 10,000 steps", "linear256", lambda: linear(256, 10_000)),
        ("linear recurrence, 10,000 lanes, 1,000 steps", "linear256", lambda: linear(10_000, 1000)),
        ("Mandelbrot, 100,000 points, 100 steps", "mandelbrot", lambda: mandelbrot(100_000, 100)),
        ("RNN, batch of 64, 64 units, 200 steps", "rnn32", lambda: peer_values.rnn(200 // few, 64, 64)),
        ("LSTM, batch of 64, 64 units, 100 steps", "lstm32", lambda: peer_values.lstm(100 // few, 64, 64)),
        ("option tree, 2,000 steps", "tree", lambda: peer_values.tree(2000 // few)),
    ]


def row(name: str, program: str, arguments: Callable[[], list[Any]], repeats: int) -> list[str]:
    """Times of one case."""
    inputs, outputs, updates = peer_scanopt.PROGRAMS[program]()
    values = arguments()
    one, many = (scanopt.function(inputs, outputs, updates, backend="c", threads=t) for t in (1, "auto"))
    np.testing.assert_array_equal(one(*values), many(*values))
    alone, shared = best(lambda: one(*values), lambda: many(*values), repeats)
    told = many.kernels[0].threads
    return [name, f"{1e6 * alone:.0f}", f"{1e6 * shared:.0f}", ratio(shared, alone), told]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    quick = asked_to_be_quick("Kernels on several threads.", "numbers of steps", arguments)
    print(f"bench_threads: {machine()}; {cores()} processors to use; microseconds a call")
    rows = [row(*case, 3 if quick else 15) for case in cases(quick)]
    table("Least time of a call", ["loop", "1 thread", "auto", "1 thread / auto", "threads"], rows)


if __name__ == "__main__":
    main()
