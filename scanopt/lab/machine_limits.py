"""Measured limits of a machine: the most operations and bytes a second.

Operations are those of a product of matrices, bytes those of a copy, of arrays that fit into caches and of one that
does not: what NumPy, or CuPy on a device, reaches in its best case.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from time import perf_counter
from typing import Any

import numpy as np

from scanopt.backends import executor
from scanopt.extraction.calibrated_cost import calibration_file, read_limits
from scanopt.extraction.roofline import MachineLimits

__all__ = ["limits_of", "limits_text", "measured_limits"]

_ROWS, _BYTES = (64, 256), (2**15, 2**18, 2**21, 2**26)
_DEVICE_ROWS, _DEVICE_BYTES = (4096,), (2**22, 2**26, 2**30)
"""Rows of the matrices that are multiplied (small ones by one thread, which other load disturbs less), and the bytes
that the copies read and write."""
_BATCH, _LEAST = 2e-4, 10  # seconds of a batch, and the fewest batches


def measured_limits(
    xp: Any = np, clock: Callable[[], float] = perf_counter, seconds: float = 0.02, device: bool = False
) -> MachineLimits:
    """Measure the rates of a machine.

    xp: the array module.  clock: waits for all work, then reads the time.  seconds: for each measurement.  device:
    whether arrays lie on one, where it takes larger ones to reach the limit.
    """
    rows, sizes = (_DEVICE_ROWS, _DEVICE_BYTES) if device else (_ROWS, _BYTES)
    rates = {x: max(_operations(xp, x, n, clock, seconds) for n in rows) for x in ("float64", "float32")}
    moved: list[tuple[float, float]] = []
    for size in sizes:
        try:
            moved.append((float(size), _bandwidth(xp, size, clock, seconds)))
        except MemoryError:  # then the smaller sizes have to do
            break
    return MachineLimits(rates, tuple(moved), "measured")


def _operations(xp: Any, dtype: str, rows: int, clock: Callable[[], float], seconds: float) -> float:
    a, out = xp.full((rows, rows), 0.5, dtype), xp.empty((rows, rows), dtype)
    return 2.0 * rows**3 / _fastest(lambda: xp.dot(a, a, out=out), seconds, clock)


def _bandwidth(xp: Any, size: int, clock: Callable[[], float], seconds: float) -> float:
    a, out = xp.ones(size // 16), xp.zeros(size // 16)
    return size / _fastest(lambda: xp.copyto(out, a), seconds, clock)


def _fastest(call: Callable[[], object], seconds: float, clock: Callable[[], float]) -> float:
    """Seconds of a call in the best of many short batches: what else runs on the machine slows down some of them."""
    call()
    start = clock()
    call()
    count = max(1, int(_BATCH / max(clock() - start, 1e-7)))
    found: list[float] = []
    begun = clock()
    while len(found) < _LEAST or clock() - begun < seconds:
        start = clock()
        for _ in range(count):
            call()
        found.append((clock() - start) / count)
    return min(found)


def limits_text(limits: MachineLimits) -> str:
    """The rates in words.

    >>> print(limits_text(MachineLimits({"float64": 6e10, "float32": 1.2e11}, ((2.0**15, 4.8e10), (2.0**26, 2.6e10)))))
    at most: float64 60 Gflop/s, float32 120 Gflop/s; moving 32 KB at 48 GB/s, 64 MB at 26 GB/s
    """
    rates = ", ".join(f"{x} {rate / 1e9:.3g} Gflop/s" for x, rate in limits.operations.items())
    moved = ", ".join(f"{_size(size)} at {rate / 1e9:.3g} GB/s" for size, rate in limits.bytes)
    return f"at most: {rates}; moving {moved}"


def _size(size: float) -> str:
    return f"{size / 2**20:g} MB" if size >= 2**20 else f"{size / 2**10:g} KB"


def limits_of(backend: str) -> MachineLimits:
    """The rates of what a backend runs on: of this machine as `scanopt calibrate` wrote them, else measured, once.

    Raises what the backend raises where it is not available.
    """
    if getattr(executor(backend), "on_device", False):
        return _of_device(backend)
    try:
        kept = read_limits(calibration_file())
    except (FileNotFoundError, RuntimeError, ValueError):  # none, or none that can be read: measured anew
        kept = None
    return kept or _of_machine()


@lru_cache(maxsize=1)
def _of_machine() -> MachineLimits:
    return measured_limits()


@lru_cache(maxsize=4)
def _of_device(backend: str) -> MachineLimits:
    device: Any = executor(backend)
    return measured_limits(device.xp, device.clock, device=True)
