"""Peak memory of the cases of bench_peers.py, beside a plain NumPy loop.

    python benchmarks/bench_peak.py                     every case, some minutes
    python benchmarks/bench_peak.py --quick             small sizes
    python benchmarks/bench_peak.py ar2 kalman ...      some cases

Of the loop: what its arrays take at most beside its arguments, as `tracemalloc` counts.  Of scanopt: the memory that a
kernel of the whole program computes in, and its results; where there is no such kernel, the same as of the loop.
"""

from __future__ import annotations

import argparse
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import peer_numpy
import peer_scanopt
from harness import machine, table
from peer_page import OURS, size_text
from peer_values import CASES

import scanopt
from scanopt.backends.kernels.loop_report import ONCE


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Peak memory beside a plain NumPy loop.")
    parser.add_argument("cases", nargs="*", help=f"some of {', '.join(CASES)}")
    parser.add_argument("--quick", action="store_true", help="small sizes")
    given = parser.parse_args(arguments)
    print(f"bench_peak: {machine()}; kilobytes")
    rows = [row(case, "small" if given.quick else "large") for case in given.cases or CASES]
    table("Peak memory of a call", ["case", "NumPy", *OURS, *(f"{n} / NumPy" for n in OURS)], rows)


def row(name: str, size: str) -> list[str]:
    """What one case takes, in all ways."""
    case = CASES[name]
    sizes = getattr(case, size)
    values = case.values(*sizes)
    loop = traced(lambda: peer_numpy.LOOPS[name](*values))
    ours = [taken(name, licence, values) for licence in OURS.values()]
    title = f"{case.title}, {' x '.join(size_text(n) for n in sizes)}"
    return [title, *(f"{x / 1e3:.1f}" for x in (loop, *ours)), *(f"{x / loop:.2f}" for x in ours)]


def taken(name: str, licence: str, values: list[Any]) -> int:
    """Bytes that a call of scanopt's takes."""
    inputs, outputs, updates = peer_scanopt.PROGRAMS[name]()
    f = scanopt.function(inputs, outputs, updates=updates, fp=licence, backend="c")
    found = f(*values)
    whole = [k.memory for k in f.kernels if k.loop == ONCE]  # one for each program, of which sizes choose
    if not whole:
        return traced(lambda: f(*values)) + sum(k.memory for k in f.kernels)
    results = found if isinstance(found, list | tuple) else [found]
    return max(whole) + sum(np.asarray(x).nbytes for x in results)


def traced(call: Callable[[], Any]) -> int:
    """The most bytes of Python's and NumPy's memory that a call takes at a time."""
    call()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    call()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most - before


if __name__ == "__main__":
    main()
