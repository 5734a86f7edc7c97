"""Time and memory of a compiled function's calls, its shared variables left as they were."""

from __future__ import annotations

import statistics
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from scanopt.backends.kernels.build import wait_for_builds
from scanopt.compilation.compiled_function import Function

__all__ = ["least_seconds", "peak_bytes", "seconds_per_call", "settle", "shared_kept", "values_of"]

_MOST_BUILDS = 5
"""The most calls in a row that may each request other kernels."""


def values_of(f: Function) -> Sequence[Any] | None:
    """The arguments to call `f` with: its example, or those of its last call inside `watching()`, or None."""
    return f.example if f.example is not None else f.last_call


@contextmanager
def shared_kept(f: Function) -> Iterator[Callable[[], None]]:
    """Restore the shared variables that `f` updates after the block, and whenever the yielded function is called."""
    kept = {x: x.get_value() for x in f.updates}

    def restore() -> None:
        for x, value in kept.items():
            x.set_value(value)

    try:
        yield restore
    finally:
        restore()


def settle(call: Callable[[], object]) -> None:
    """Call a function until its kernels are compiled, which happens in the background of the first calls."""
    for _ in range(_MOST_BUILDS):
        call()
        if not wait_for_builds():
            break


def seconds_per_call(call: Callable[[], object], budget: float = 0.2) -> float:
    """The median of at least three calls, and of as many as fit in `budget` seconds, once kernels are compiled.

    >>> seconds_per_call(lambda: None, budget=0.001) < 1
    True
    """
    settle(call)
    times: list[float] = []
    while len(times) < 3 or sum(times) < budget:
        start = perf_counter()
        call()
        times.append(perf_counter() - start)
    return statistics.median(times)


def least_seconds(call: Callable[[], object], seconds: float, clock: Callable[[], float] = perf_counter) -> float:
    """Seconds of a call: the least of five batches, or calls, that take `seconds` together.

    >>> 0 < least_seconds(lambda: None, 0.001) < 1
    True
    """
    call()
    start = clock()
    call()
    count = max(1, int(seconds / 5 / max(clock() - start, 1e-7)))
    batches: list[float] = []
    for _ in range(5):
        start = clock()
        for _ in range(count):
            call()
        batches.append((clock() - start) / count)
    return min(batches)


def peak_bytes(call: Callable[[], object]) -> int:
    """Most bytes that a call holds at once, beyond what was there before."""
    call()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        call()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
