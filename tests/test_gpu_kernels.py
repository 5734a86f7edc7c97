"""Loops as kernels, in each way, from the call of a function on: on a GPU where there is one, and by the shim."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from random_networks import network
from strict_device import StrictDevice
from test_cuda import PROGRAMS, OnStrictDevice, assert_close
from test_gpu import needs_gpu

import scanopt
from scanopt.backends import executor
from scanopt.backends.cupy import CuPy
from scanopt.extraction.device_rates import ESTIMATES
from scanopt.lab.device_calibration import measured_rates

needs_shim = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ to compile the shim")
WAYS: dict[str, Callable[[Any], int]] = {
    "blocks": lambda plan: plan.variant.rows + 100 * plan.variant.grid,
    "rows": lambda plan: -plan.variant.rows,
    "all blocks": lambda plan: not plan.variant.grid,
}


PARTS = [pytest.param(slice(k, None, 10), marks=needs_gpu, id=f"gpu-{k}") for k in range(10)]


@pytest.fixture(params=[pytest.param(None, marks=needs_shim, id="shim"), *PARTS])
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> slice | None:
    """What runs kernels: the shim, or a GPU, which runs a part of all programs."""
    monkeypatch.setattr("scanopt.backends.kernels.device_plans.fewest_steps", lambda plan: 0.0)
    part: slice | None = request.param
    if part is None:
        xp = StrictDevice.shared()
        launcher = OnStrictDevice(tmp_path, xp, threads=32, together=True)
        monkeypatch.setattr("scanopt.backends.cupy.make", lambda: CuPy(xp, launcher=launcher))
        monkeypatch.setitem(sys.modules, "cupy", xp)
    return part


@pytest.mark.share(5)
@pytest.mark.parametrize("way", WAYS)
def test_every_way_of_running_a_loop(way: str, device: slice | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a GPU all programs and a hundred networks; by the shim, which takes longer, some."""
    monkeypatch.setattr("scanopt.backends.kernels.device_loops.kernel_step_seconds", WAYS[way])
    programs = [make for make, _ in PROGRAMS.values()] + [lambda seed=seed: network(seed) for seed in range(100)]
    chosen = programs[device] if device else [PROGRAMS["rnn of a batch"][0], lambda: network(3)]
    ran, differ = 0, []
    for number, make in enumerate(chosen):
        inputs, outputs, values = make()
        f = scanopt.function(inputs, outputs, backend="cupy", cost="numpy", on_unused_input="ignore")
        try:
            for found, expected in zip(f(*values), f.unoptimized(*values), strict=True):
                assert_close(found, expected)
        except AssertionError as error:
            differ.append((number, str(error)[:300]))
        ran += any("1 runs of 1 kernels" in k.state for k in f.kernels)
    assert differ == []
    assert ran >= len(chosen) // 3


@needs_gpu
def test_rates_can_be_measured() -> None:
    found = measured_rates(executor("cupy"), 1e-3)
    assert 1e-7 < found.launch < 1e-3
    assert ESTIMATES.bandwidth / 100 < found.bandwidth < ESTIMATES.bandwidth * 10
    assert np.isfinite(found.grid_barrier)
