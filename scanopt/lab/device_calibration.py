"""Measured rates of a device: launches, memory, and the throughput of single blocks of threads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np

from scanopt.backends import executor
from scanopt.backends.kernels.print_rows import MOST_ROWS
from scanopt.backends.kernels.probes import COLUMNS, DEEP, FLAT, PROBES
from scanopt.compilation.measuring import least_seconds
from scanopt.extraction.device_rates import ESTIMATES, DeviceRates
from scanopt.lab.machine_limits import measured_limits
from scanopt.view.tables import text_table

__all__ = ["measured_device", "rates_text"]

FEW, MOST = 10, 20_000
"""Repetitions of a short launch, and the most that a long one adds: their difference is free of launching."""
NODES = 32
"""Operators of the CUDA graph that is launched."""
MOVED = 1 << 26
"""Bytes that are moved to the device."""


def measured_device(seconds: float = 0.02) -> tuple[DeviceRates, str]:
    """The rates of the current device, and its name.  seconds: for each measurement.

    Raises RuntimeError where CuPy or a device is missing.
    """
    device: Any = executor("cupy")
    return measured_rates(device, seconds), device.xp.cuda.runtime.getDeviceProperties(0)["name"].decode()


def measured_rates(device: Any, seconds: float) -> DeviceRates:
    """The rates of an executor's device; those of what it cannot run are the defaults."""
    found = _array_rates(device, seconds)
    if device.captures is not None:
        found["node"] = _node(device, seconds)
    if device.launcher is not None:
        found |= _kernel_rates(device, seconds)
    return DeviceRates(**(asdict(ESTIMATES) | found))


def _array_rates(device: Any, seconds: float) -> dict[str, float]:
    """The rates of array steps and of memory."""
    xp, clock = device.xp, device.clock
    limits = measured_limits(xp, clock, seconds, device=True)
    a, one, many = xp.ones(64, "float32"), np.zeros(1), np.zeros(MOVED // 8)
    array = least_seconds(lambda: xp.asarray(one), seconds, clock)
    return {
        "launch": least_seconds(lambda: xp.add(a, a, out=a), seconds, clock),
        "bandwidth": limits.bytes[-1][1],
        "flops": limits.operations["float32"],
        "array": array,
        "moved": MOVED / _above(least_seconds(lambda: xp.asarray(many), seconds, clock), array),
    }


def _node(device: Any, seconds: float) -> float:
    xp = device.xp
    a = xp.ones(64, "float32")

    def adds(given: Any) -> list[Any]:
        for _ in range(NODES):
            xp.add(given[0], given[0], out=given[0])
        return list(given)

    replay = device.captures.capture([a], adds)
    return least_seconds(replay.launch, seconds, device.clock) / NODES


def _kernel_rates(device: Any, seconds: float) -> dict[str, float]:
    """The rates of kernels: launches, waits, and the throughput of single blocks."""
    time = {name: _repeated(device, name, seconds) for name in PROBES}
    barrier = time["barrier"]

    def rate(amount: float, name: str) -> float:
        return amount / _above(time[name], 2 * barrier)

    return {
        "call": _call(device, seconds),
        "thread": time["thread"],
        "barrier": barrier,
        "grid_barrier": time["grid barrier"],
        "operator": time["operators"] / 2,
        "block_bytes": rate(2 * 4.0 * DEEP * COLUMNS, "products by memory"),
        "shared_bytes": rate(2 * 4.0 * FLAT * COLUMNS, "products by shared memory"),
        "block_flops": rate(2.0 * MOST_ROWS * FLAT * COLUMNS, "products of rows"),
    }


def _above(seconds: float, part: float) -> float:
    """`seconds` without a part of them, but at least a quarter."""
    return max(seconds - part, seconds / 4)


def _repeated(device: Any, name: str, seconds: float) -> float:
    """Seconds of one repetition of a probe."""
    run = _launch(device, name)
    few = least_seconds(partial(run, FEW), seconds, device.clock)
    more = max(FEW, min(MOST, int(seconds / few * FEW)))
    many = least_seconds(partial(run, FEW + more), seconds, device.clock)
    return max(many - few, many / 10) / more


def _launch(device: Any, name: str) -> Callable[[int], None]:
    """A function that launches a probe with a given number of repetitions."""
    xp, launcher, probe = device.xp, device.launcher, PROBES[name]
    x, w, y = (xp.full(n, 0.01, "float32") for n in (COLUMNS, DEEP * COLUMNS, MOST_ROWS * COLUMNS))
    status = xp.zeros(3, "int64")
    function = launcher.load(probe.text, False, probe.grid)
    blocks = launcher.limits.multiprocessors if probe.grid else 1

    def run(n: int) -> None:
        status[2] = 0
        launcher.launch(function, blocks, probe.threads, [x, w, y, status, np.int64(n)], probe.held)

    return run


def _call(device: Any, seconds: float) -> float:
    """Seconds of a launch of a kernel that does nothing, with memory for a result and scratch."""
    run, xp = _launch(device, "thread"), device.xp

    def call() -> None:
        xp.empty(64, "float32"), xp.empty(64, "uint8")
        run(0)

    return least_seconds(call, seconds, device.clock)


def rates_text(found: DeviceRates) -> str:
    """The measured rates beside the default ones."""
    rows = [[name, f"{value:.3g}", f"{getattr(ESTIMATES, name):.3g}"] for name, value in asdict(found).items()]
    return text_table(["seconds, or a second, of", "measured", "default"], rows)
