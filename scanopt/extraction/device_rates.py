"""How long a device takes for the parts of a program: seconds and rates, estimated or measured by `scanopt calibrate`.

The defaults were measured on an NVIDIA H200 on 26 November 2026.
"""

from __future__ import annotations

import json
import reprlib
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import Any

from scanopt.extraction.calibrated_cost import calibration_file
from scanopt.extraction.cost import CostTable
from scanopt.extraction.device_cost import DEVICE
from scanopt.records import dataclass

__all__ = ["ESTIMATES", "DeviceRates", "costs_on_device", "device_file", "rates_of_device", "read_rates", "write_rates"]

FORMAT, VERSION = "scanopt device", 1


@dataclass(frozen=True)
class DeviceRates:
    """Seconds of what happens once, and rates (a second) of the rest.

    launch: seconds of an operator of an array step, CuPy's call and the launch; node: of one that is launched as part
    of a CUDA graph; call: of a call of a kernel.  bandwidth, flops: rates of bytes and operations of the whole device.
    block_flops, block_bytes, shared_bytes: rates of the operations of one block, and of the bytes that it reads out of
    the cache and out of shared memory.  barrier, grid_barrier: seconds in which all threads of a block, or of all
    blocks, wait for one another; operator: of an operator that a thread runs by itself; thread: of an operation that
    waits for the one before.  array: seconds in which an array is moved to the device or back; moved: the rate of its
    bytes.

    >>> DeviceRates().launch
    6.9e-06
    """

    launch: float = 6.9e-6
    node: float = 0.97e-6
    call: float = 1.5e-5
    bandwidth: float = 4.1e12
    flops: float = 5.1e13
    block_flops: float = 1.3e11
    block_bytes: float = 6.3e10
    shared_bytes: float = 9.3e10
    barrier: float = 0.022e-6
    grid_barrier: float = 0.93e-6
    operator: float = 0.12e-6
    thread: float = 2e-9
    array: float = 1.4e-5
    moved: float = 8.3e9


ESTIMATES = DeviceRates()
"""The rates of an NVIDIA H200."""


def device_file() -> Path:
    """The file with the measured rates of this machine's device, beside its measured costs."""
    return calibration_file().with_name("device.json")


def write_rates(rates: DeviceRates, path: str | PathLike[str], device: str = "") -> Path:
    """Write rates as JSON, creating folders as needed.  Returns the path.

    device: the name of the device that was measured.
    """
    target = Path(path)
    rounded = {name: float(f"{value:.4g}") for name, value in asdict(rates).items()}
    target.parent.mkdir(parents=True, exist_ok=True)
    text = {FORMAT: VERSION, "device": device, "rates": rounded}
    target.write_text(json.dumps(text, indent=1) + "\n", encoding="utf-8")
    return target


def read_rates(path: str | PathLike[str]) -> DeviceRates:
    """The rates in a file; those that are not in it are the default ones.

    Raises FileNotFoundError if there is no file, and ValueError, which names the wrong part, if it is not such a file.
    """
    return _parsed(Path(path).read_text(encoding="utf-8"), str(path))


@lru_cache(maxsize=8)
def _parsed(text: str, where: str) -> DeviceRates:
    try:
        data: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{where}: not a file of a device's rates: it is not JSON ({error})") from None
    found = data.get("rates") if isinstance(data, dict) and data.get(FORMAT) == VERSION else None
    if not isinstance(found, dict):
        raise ValueError(f'{where}: not a file of a device\'s rates: expected {{"{FORMAT}": {VERSION}, "rates": ...}}')
    known = [f.name for f in fields(DeviceRates)]
    for name, value in found.items():
        if name not in known:
            raise ValueError(f"{where}: rates has {name!r}; there are {', '.join(known)}")
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e18:
            raise ValueError(f"{where}: rates[{name!r}] must be a number above 0, found {reprlib.repr(value)}")
    return DeviceRates(**{name: float(value) for name, value in found.items()})


def rates_of_device() -> DeviceRates:
    """The measured rates of this machine's device, or the default ones where none were measured."""
    try:
        return read_rates(device_file())
    except (OSError, RuntimeError):
        return ESTIMATES


def costs_on_device(rates: DeviceRates) -> CostTable:
    """The cost model of array steps on a device of these rates.

    >>> costs_on_device(ESTIMATES) == DEVICE
    True
    """
    slower, wider = rates.launch / ESTIMATES.launch, ESTIMATES.bandwidth / rates.bandwidth

    def scaled(table: Mapping[str, float], by: float) -> dict[str, float]:
        return {name: by * value for name, value in table.items()}

    element = scaled(DEVICE.element, wider) | {"product": DEVICE.element["product"] * ESTIMATES.flops / rates.flops}
    pairs = {name: (slower * call, wider * each) for name, (call, each) in DEVICE.operators.items()}
    return replace(
        DEVICE, call=scaled(DEVICE.call, slower), element=element, kind=scaled(DEVICE.kind, slower), operators=pairs
    )
