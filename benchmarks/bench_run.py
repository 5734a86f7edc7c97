"""Time per call and peak memory of compiled functions.

    python benchmarks/bench_run.py            everything, a minute or two
    python benchmarks/bench_run.py --quick    small sizes, few repeats

The peers, in the same run: the interpreter of the graph as written, and loops that a careful NumPy user writes by
hand (hand_loops.py: arrays made once, results by `out=`).
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # steadier on few cores, for both sides

import tracemalloc
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import hand_loops
import models
import numpy as np
from harness import asked_to_be_quick, best, machine, median, ms, ratio, table

import scanopt

Case = tuple[str, models.Graph, Callable[..., Any]]

TRACE = 1e9
"""The interpreter keeps whole traces; it is not run where that takes more bytes."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Print all tables."""
    quick = asked_to_be_quick("Time per call and peak memory of compiled functions.", "sizes", arguments)
    print(f"bench_run: {machine()}; all times in ms")
    calls(cases(0.01 if quick else 1.0), 2 if quick else 11)
    memory(1000 if quick else 10_000, [10, 100] if quick else [10, 1000, 100_000])


def cases(scale: float) -> Sequence[Case]:
    """The programs with their values and their loops by hand."""

    def size(n: int) -> int:
        return max(int(n * scale), 5)

    powers = [(f"A**k, {n:,} numbers, k = {size(1000)}", models.power(n, size(1000)), hand_loops.power)
              for n in (size(10_000), size(100_000), size(1_000_000))]  # fmt: skip
    return [
        ("a call of A**k, 10 numbers, k = 10", models.power(10, 10), hand_loops.power),
        *powers,
        (f"polynomial of degree {size(10_000):,}", models.polynomial(size(10_000)), hand_loops.polynomial),
        (f"AR(2), {size(10_000):,} steps", models.ar2(size(10_000)), hand_loops.ar2),
        (f"RNN of the documents, {size(1000)} steps of 32", models.rnn(size(1000)), hand_loops.rnn),
        (f"LSTM, {size(1000)} steps of 32", models.lstm(steps=size(1000)), hand_loops.lstm),
    ]


def calls(rows: Sequence[Case], repeats: int) -> None:
    """Time per call against the interpreter and the loop by hand."""
    lines = []
    for name, graph, by_hand in rows:
        f = scanopt.function(graph.inputs, graph.outputs, example=graph.values)
        values = graph.values
        expected = by_hand(*values)
        for found, wanted in zip(f(*values), expected if isinstance(expected, list) else [expected], strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)
        ours, hand = best(partial(f, *values), partial(by_hand, *values), repeats)
        slow = median(partial(f.unoptimized, *values), 1) if trace(graph) < TRACE else None
        lines.append(
            [name, ms(ours), ms(hand), ratio(ours, hand), "-" if slow is None else ms(slow), ratio(ours, slow)]
        )
    heads = ["program", "scanopt", "by hand", "by hand / scanopt", "interpreter", "interpreter / scanopt"]
    table("Time per call (least of several, taken in turns with the loop by hand)", heads, lines)


def trace(graph: models.Graph) -> float:
    """Bytes of A**k's whole trace; of other programs those of the values, which is about as much."""
    *arrays, last = graph.values
    return float(sum(a.nbytes for a in arrays) * (int(last) if last.dtype == np.int32 else 1))


def peak(f: Callable[[], object]) -> float:
    """Most bytes that a call holds at once, beyond what was there before."""
    f()
    tracemalloc.start()
    f()
    bytes_ = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return float(bytes_)


def memory(length: int, ks: Sequence[int]) -> None:
    """A**k keeps one row, whatever k is."""
    graph = models.power(length)
    f = scanopt.function(graph.inputs, graph.outputs, example=graph.values)
    A, row = graph.values[0], length * 8
    lines = []
    for k in ks:
        n = np.array(k, np.int32)
        ours, hand = peak(partial(f, A, n)), peak(partial(hand_loops.power, A, n))
        slow = peak(partial(f.unoptimized, A, n)) if k * row < TRACE else None
        shown = "-" if slow is None else f"{slow / row:,.1f}"
        lines.append([f"{k:,}", f"{ours / row:.1f}", f"{hand / row:.1f}", shown, ratio(ours, slow)])
    heads = ["k", "scanopt", "by hand", "interpreter", "interpreter / scanopt"]
    table(f"Peak memory of A**k, in rows of {row:,} bytes", heads, lines)


if __name__ == "__main__":
    main()
