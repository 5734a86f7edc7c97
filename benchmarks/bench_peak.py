"""Peak memory of the cases of bench_peers.py, beside a plain NumPy loop.

    python benchmarks/bench_peak.py                     every case, some minutes
    python benchmarks/bench_peak.py --quick             small sizes
    python benchmarks/bench_peak.py ar2 kalman ...      some cases

Of the loop: what its arrays take at most beside its arguments, as `tracemalloc` counts.  Of scanopt: the memory that a
kernel of the whole program computes in, and its results; where there is no such kernel, the same as of the loop.
"Beyond": how much more that is than what the loop takes and one state, all that a step hands on to the next one.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import peer_numpy
import peer_scanopt
from harness import machine, table
from peer_page import OURS, size_text
from peer_values import CASES, known_case

import scanopt
from scanopt.backends.kernels.loop_report import ONCE
from scanopt.backends.kernels.tiles import ready, trouble

STATES: dict[str, tuple[int, ...]] = {
    "power": (0,), "polynomial": (1,), "positions": (2,), "gibbs": (0,), "taps": (1, 2), "doubling": (0,), "rnn1": (1,),
    "rnn32": (1,), "rnn1_gradient": (1,), "rnn32_gradient": (1,), "lstm1": (1, 2), "lstm32": (1, 2),
    "lstm1_gradient": (1, 2), "lstm32_gradient": (1, 2), "logistic": (0,), "logistic_lanes": (0,), "linear1": (1,),
    "linear16": (1,), "linear256": (1,), "ar2": (1,), "kalman": (1, 2), "pid": (1, 1, 1), "lorenz": (0,),
    "viterbi": (2,), "mandelbrot": (0, 0, 0), "tree": (0, 0), "particles": (1,),
}  # fmt: skip
"""By case the arguments that are as large as the states; of what has none, as what a step makes.  Else one number."""
CALLS = 3
"""So often each loop is called: the objects that Python keeps differ."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Peak memory beside a plain NumPy loop.")
    parser.add_argument("cases", nargs="*", type=known_case, help=f"some of {', '.join(CASES)}")
    parser.add_argument("--quick", action="store_true", help="small sizes")
    given = parser.parse_args(arguments)
    print(f"bench_peak: {machine()}; kilobytes")
    rows = [row(case, "small" if given.quick else "large") for case in given.cases or CASES]
    heads = ["case", "NumPy", *OURS, *(f"{n} / NumPy" for n in OURS), *(f"{n} beyond" for n in OURS)]
    table("Peak memory of a call", heads, rows)


def row(name: str, size: str) -> list[str]:
    """What one case takes, in all ways."""
    case = CASES[name]
    sizes = getattr(case, size)
    values = case.values(*sizes)
    loop = max(traced(lambda: peer_numpy.LOOPS[name](*values)) for _ in range(CALLS))
    state = sum(np.asarray(values[i]).nbytes for i in STATES.get(name, ())) or 8
    ours = [taken(name, licence, values) for licence in OURS.values()]
    title = f"{case.title}, {' x '.join(size_text(n) for n in sizes)}"
    beyond = [f"{(x - loop - state) / 1e3:.1f}" if x > loop + state else "-" for x in ours]
    return [title, *(f"{x / 1e3:.1f}" for x in (loop, *ours)), *(f"{x / loop:.2f}" for x in ours), *beyond]


def taken(name: str, licence: str, values: list[Any]) -> int:
    """Bytes that a call of scanopt's takes."""
    inputs, outputs, updates = peer_scanopt.PROGRAMS[name]()
    f = scanopt.function(inputs, outputs, updates=updates, fp=licence, backend="c")
    found = f(*values)
    while not (ready() or trouble()):
        time.sleep(0.01)  # then plans know which products are made of tiles
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
