"""Loops as kernels in C, beside the same loops as array steps and written by hand.

    python benchmarks/bench_kernels.py            everything, a minute
    python benchmarks/bench_kernels.py --quick    few steps, few repeats

All in one run; where Numba is installed, the loops by hand that it compiles too.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # steadier on few cores, for all sides

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from harness import asked_to_be_quick, machine, ratio, table
from kernel_cases import Case, cases

import scanopt
import scanopt.tensor as T
from scanopt.backends.kernels import tiles
from scanopt.backends.kernels.tiles import ProductTrial, TiledProduct


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    quick = asked_to_be_quick("Loops as kernels.", "numbers of steps", arguments)
    print(f"bench_kernels: {machine()}; microseconds a call")
    rows = [row(case, 3 if quick else 15) for case in cases(0.01 if quick else 1.0)]
    heads = [
        "loop",
        "kernel",
        "exact",
        "array steps",
        "by hand",
        "Numba",
        "steps / kernel",
        "hand / kernel",
        "first call",
    ]
    table("Least time of a call", heads, rows)
    segments(quick)
    products()


def segments(quick: bool) -> None:
    """Print times of programs that an operator without a form in C divides, and of array steps."""
    x, v = T.dmatrix("x"), T.dvector("v")

    def smooth(x: Any) -> Any:
        return T.exp(-abs(x)) * 2 + x / (1 + x * x) - v

    programs = {
        "a sort between two stretches": [smooth(T.sort(smooth(x), axis=0))],
        "a sort, a loop, a stretch": [smooth(scanopt.scan(lambda x, h: T.tanh(x + h), T.sort(x, axis=1), v)[0])],
        "eigenvalues of a stretch": [T.linalg.eigvalsh(smooth(x).T.dot(smooth(x)))],
    }
    rows: list[list[str]] = []
    for title, outputs in programs.items():
        f, steps = (scanopt.function([x, v], outputs, backend=b) for b in ("c", "numpy"))
        for shape in ((200, 100), (1000, 200)):
            given = [np.random.default_rng(0).normal(size=s) for s in (shape, shape[1:])]
            kernels, plain = (least(partial(f, *given), 20 if quick else 300) for f in (f, steps))
            times = [f"{1e6 * t:.0f}" for t in (kernels, plain)]
            rows.append([f"{title}, {shape[0]} x {shape[1]}", *times, ratio(kernels, plain)])
    table("Segments", ["program", "kernels", "array steps", "steps / kernels"], rows)


SIZES = ((4, 4, 4), (32, 16, 16), (32, 64, 64), (16, 128, 256), (32, 64, 256), (32, 128, 512), (64, 256, 256))


def products() -> None:
    """Print times of products made of tiles, panels laid out before, and of NumPy's loop, which calls BLAS."""
    if not tiles.ready(seconds=120.0):
        print(f"\nno tiles: {tiles.trouble()}")
        return
    rows: list[list[str]] = []
    for dtype in ("float32", "float64"):
        item = np.dtype(dtype).itemsize
        for m, k, n in SIZES:
            case = TiledProduct(dtype, (m, k, n), (k * item, item), (n * item, item), once=True)
            trial = ProductTrial(case)
            tiled, plain = (min(trial.seconds(way) for _ in range(20)) for way in (trial.tiled, trial.plain))
            alike = "yes" if tiles.agree(case) else "no"
            times = [f"{1e6 * x:.2f}" for x in (tiled, plain)]
            rows.append([f"{dtype}, {m} x {k} by {k} x {n}", *times, ratio(tiled, plain), alike])
    table("Products, microseconds, a call from Python included", ["", "tiles", "NumPy", "NumPy / tiles", "alike"], rows)


def row(case: Case, repeats: int) -> list[str]:
    """Times of one loop."""
    g = case.graph
    ways = {"c": "reassoc", "exact": "exact", "numpy": "reassoc"}
    made = {
        name: scanopt.function(g.inputs, g.outputs, fp=fp, backend="numpy" if name == "numpy" else "c")
        for name, fp in ways.items()
    }
    start = time.perf_counter()
    made["c"](*g.values)
    first = time.perf_counter() - start
    for f in made.values():
        np.testing.assert_allclose(f(*g.values)[0], case.by_hand(*map(np.asarray, g.values)), rtol=1e-6)
    calls: list[Callable[[], Any]] = [lambda f=f: f(*g.values) for f in made.values()]  # type: ignore[misc]
    arrays = [np.asarray(v) for v in g.values]
    calls.append(lambda: case.by_hand(*arrays))
    kernel, exact, steps, hand = (least(call, repeats) for call in calls)
    numba = with_numba(case, arrays, repeats)
    if not made["c"].kernels:
        steps = kernel  # no loop is left
    times = [f"{1e6 * x:.0f}" for x in (kernel, exact, steps, hand)]
    told = "-" if numba is None else f"{1e6 * numba:.0f}"
    return [case.name, *times, told, ratio(kernel, steps), ratio(kernel, hand), f"{1e3 * first:.0f} ms"]


def least(call: Callable[[], Any], repeats: int) -> float:
    """The least time of some calls, or of those that fit into two seconds."""
    found: list[float] = []
    while len(found) < repeats and sum(found) < 2.0:
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return min(found)


def with_numba(case: Case, arrays: Sequence[Any], repeats: int) -> float | None:
    """The loop by hand, compiled by Numba; None where it is not installed or does not take it."""
    try:
        import numba  # type: ignore[import-not-found]

        f = numba.njit(case.by_hand)
        f(*arrays)
    except Exception:
        return None
    return least(lambda: f(*arrays), repeats)


if __name__ == "__main__":
    main()
