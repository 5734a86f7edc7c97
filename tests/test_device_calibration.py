"""Measured rates of a device: kernels that measure, their file, and what follows from them."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from capturing_device import cuda_with_graphs
from cuda_shim import Shim
from nvrtc import ARCHITECTURES, compiled, missing
from strict_device import StrictDevice
from test_cuda import OnStrictDevice

from scanopt.backends.cupy import CuPy
from scanopt.backends.kernels.device_costs import kernel_step_seconds, side_by_side
from scanopt.backends.kernels.device_plans import DeviceLimits
from scanopt.backends.kernels.probes import COLUMNS, DEEP, FLAT, PROBES
from scanopt.backends.kernels.shared_memory import Holding
from scanopt.backends.stream_capture import StreamCapture
from scanopt.cli import main
from scanopt.extraction.device_cost import DEVICE
from scanopt.extraction.device_rates import (
    ESTIMATES,
    costs_on_device,
    device_file,
    rates_of_device,
    read_rates,
    write_rates,
)
from scanopt.lab import device_calibration, machine_limits

needs_shim = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ to compile the shim")


def repeated(name: str, n: int, shim: Shim) -> np.ndarray[Any, Any]:
    """What a probe leaves in y."""
    probe = PROBES[name]
    x, w, y = (np.full(k, 0.01, "f4") for k in (COLUMNS, DEEP * COLUMNS, 8 * COLUMNS))
    function = shim.load(probe.text, False, probe.grid)
    shim.launch(function, 3 if probe.grid else 1, probe.threads, [x, w, y, np.zeros(3, "i8"), n], probe.held)
    return y


@needs_shim
def test_probes_do_what_they_measure(tmp_path: Path) -> None:
    shim = Shim(tmp_path, together=False, shared=1 << 15)
    many = Shim(tmp_path, together=True)
    assert np.all(repeated("barrier", 3, shim) == np.float32(0.01))
    assert np.all(repeated("grid barrier", 3, many) == np.float32(0.01))
    assert np.isclose(repeated("thread", 3, shim)[0], 0.0101, rtol=1e-2)
    assert np.isclose(repeated("operators", 1, shim)[0], np.tanh(0.01))
    assert np.allclose(repeated("products by memory", 1, shim)[:COLUMNS], DEEP * 1e-4, rtol=1e-4)
    assert np.allclose(repeated("products by shared memory", 1, shim)[:COLUMNS], FLAT * 1e-4, rtol=1e-4)
    assert np.allclose(repeated("products of rows", 1, shim), FLAT * 1e-4, rtol=1e-4)


@pytest.mark.skipif(bool(missing()), reason=missing())
@pytest.mark.parametrize("name", PROBES)
def test_probes_compile_for_all_architectures(name: str) -> None:
    for architecture in ARCHITECTURES:
        binary, said = compiled(PROBES[name].text, architecture)
        assert binary[:4] == b"\x7fELF", said


@needs_shim
def test_all_rates_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    xp = StrictDevice.shared()
    monkeypatch.setattr(xp, "cuda", cuda_with_graphs())
    monkeypatch.setitem(sys.modules, "cupy", xp)
    xp.cuda.runtime.getDeviceProperties = lambda number: {"name": b"a stand-in"}
    for where, what, value in (
        (machine_limits, "_DEVICE_ROWS", (8,)),
        (machine_limits, "_DEVICE_BYTES", (1 << 12,)),
        (device_calibration, "MOVED", 1 << 12),
        (device_calibration, "FEW", 1),
        (device_calibration, "MOST", 1),
    ):
        monkeypatch.setattr(where, what, value)
    launcher = OnStrictDevice(tmp_path, xp, shared=1 << 15)
    monkeypatch.setattr("scanopt.lab.device_calibration.PROBES", PROBES | {"grid barrier": PROBES["barrier"]})
    made = partial(CuPy, xp, launcher=launcher, captures=StreamCapture(xp))
    monkeypatch.setattr("scanopt.backends.cupy.make", made)
    monkeypatch.setenv("SCANOPT_CACHE", str(tmp_path))
    assert main(["calibrate", "--device", "--seconds", "0.0001"]) == 0
    assert "a stand-in" in capsys.readouterr().out
    found = asdict(rates_of_device())
    assert json.loads(device_file().read_text())["device"] == "a stand-in"
    assert all(found[name] != value for name, value in asdict(ESTIMATES).items()), found


def test_a_file_of_rates(tmp_path: Path) -> None:
    path = write_rates(replace(ESTIMATES, launch=2e-6), tmp_path / "device.json", "a device")
    assert read_rates(path) == replace(ESTIMATES, launch=2e-6)
    for text, message in (
        ("[", "not JSON"),
        ("{}", "expected"),
        ('{"scanopt device": 1, "rates": {"speed": 1}}', "rates has 'speed'"),
        ('{"scanopt device": 1, "rates": {"launch": 0}}', "must be a number above 0"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=message):
            read_rates(path)


def test_prices_follow_rates() -> None:
    found = costs_on_device(replace(ESTIMATES, launch=ESTIMATES.launch / 2, bandwidth=ESTIMATES.bandwidth * 2))
    assert found.call["arith"] == DEVICE.call["arith"] / 2
    assert found.element["arith"] == DEVICE.element["arith"] / 2
    assert CuPy(np, rates=replace(ESTIMATES, launch=1e-6)).cost != DEVICE
    assert CuPy(np).cost == DEVICE


def test_a_device_that_is_missing_is_said(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> Any:
        raise RuntimeError("no CUDA device found")

    monkeypatch.setattr("scanopt.backends.cupy.make", none)
    assert main(["calibrate", "--device"]) == 2
    assert "no CUDA device found" in capsys.readouterr().err


def plan(blocks: int, threads: int = 128, taken: int = 0, rows: int = 1) -> Any:
    """A plan of blocks that wait a microsecond at each of three barriers."""
    variant = SimpleNamespace(lanes=SimpleNamespace(numbers=False), grid=False, barriers=3, rows=rows)
    body = SimpleNamespace(root=SimpleNamespace(nodes=()))
    limits = DeviceLimits(10, 232448, True, rates=replace(ESTIMATES, barrier=1e-6))
    holding = Holding(taken=taken)
    return SimpleNamespace(
        variant=variant, body=body, limits=limits, holding=holding, blocks=blocks, threads=threads, shapes={}
    )


def test_blocks_run_side_by_side_as_far_as_there_is_room() -> None:
    """Threads, registers and shared memory decide how many blocks of a multiprocessor wait together."""
    assert side_by_side(plan(1)) == 8
    assert side_by_side(plan(1, taken=100_000)) == 2
    assert side_by_side(plan(1, threads=512)) == 2
    one, full, more = (kernel_step_seconds(plan(n)) for n in (10, 80, 81))
    assert (one, full, more) == (3e-6, 3e-6, 6e-6)
