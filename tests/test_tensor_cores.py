"""Products of large batches on a device: several rows of threads, and tensor cores, which the shim imitates."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cuda_shim import Shim
from nvrtc import ARCHITECTURES, compiled, missing
from test_cuda import assert_close, kernels, on_shim, rng
from test_rows_kernels import recurrent

import scanopt
import scanopt.tensor as T
from scanopt.backends.kernels import grid_tiles
from scanopt.backends.kernels.device_plans import DeviceVariant
from scanopt.backends.kernels.grid_tiles import CHUNK

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ to compile the shim")
WAYS: dict[str, Callable[[Any], int]] = {
    "rows": lambda plan: -plan.variant.rows,
    "all blocks": lambda plan: not plan.variant.grid,
}


def ran(shim: Shim, fp: str, inputs: list[Any], outputs: list[Any], values: list[Any]) -> list[DeviceVariant]:
    f = scanopt.function(inputs, outputs, backend="numpy", fp=fp, on_unused_input="ignore")
    program, loops = on_shim(f, shim)
    for found, expected in zip(program(values), f.unoptimized(*values), strict=True):
        assert_close(found, expected)
    return [v for v in kernels(loops) if v.function is not None]


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr("scanopt.backends.kernels.device_plans.fewest_steps", lambda plan: 0.0)
    monkeypatch.setattr("scanopt.backends.kernels.device_loops.kernel_step_seconds", WAYS[request.param])
    prefer_warps(monkeypatch)
    return str(request.param)


def prefer_warps(monkeypatch: pytest.MonkeyPatch, done: float = 1e9) -> None:
    """Let tensor cores multiply wherever they may, or nowhere.  done: products of elements in a clock."""
    found = {dtype: replace(unit, done=done) for dtype, unit in grid_tiles._WARPS.items()}
    monkeypatch.setattr(grid_tiles, "_WARPS", found)


@pytest.mark.share(6)
@pytest.mark.parametrize(("fp", "dtype"), [("reassoc", "float64"), ("exact", "float64"), ("reassoc", "float32")])
def test_products_of_large_batches(fp: str, dtype: str, way: str, tmp_path: Path) -> None:
    """Tensor cores multiply unless it has to be exact; on older devices other instructions do."""
    for batch, units in ((9, 3), (30, 9), (70, 5)):
        shim = Shim(tmp_path, threads=32, together=way == "all blocks")
        found = ran(shim, fp, *recurrent("lstm", batch, units, 2, dtype))
        assert any(v.grid if way == "all blocks" else v.rows > 1 for v in found)
        used = [
            any(x in v.text.split("__global__")[1] for x in ("tensor_", ", Warps<", "strip_sums"))
            for v in found
            if v.grid or v.rows == 8
        ]
        assert set(used) <= {fp != "exact" and (dtype == "float64" or way == "all blocks")}
    for v in found if not missing() else ():
        for architecture in ARCHITECTURES:
            binary, said = compiled(v.text, architecture)
            assert binary[:4] == b"\x7fELF", said


@pytest.mark.share(2)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_devices_without_tensor_cores(dtype: str, way: str, tmp_path: Path) -> None:
    """Tiles are those of warps, but threads multiply."""
    shim = Shim(tmp_path, threads=32, together=way == "all blocks", capability=75)
    assert ran(shim, "reassoc", *recurrent("lstm", 30, 9, 2, dtype))


@pytest.mark.share(3)
@pytest.mark.parametrize(("dtype", "done"), [("float32", 1e9), ("float32", 1e-9), ("float64", 1e9)])
def test_rows_that_are_brought_in_chunks(
    dtype: str, done: float, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    prefer_warps(monkeypatch, done)
    monkeypatch.setattr("scanopt.backends.kernels.device_plans.fewest_steps", lambda plan: 0.0)
    monkeypatch.setattr("scanopt.backends.kernels.device_loops.kernel_step_seconds", WAYS["all blocks"])
    shim = Shim(tmp_path, threads=32, together=True, shared=1 << 21)
    (kernel,) = ran(shim, "reassoc", *recurrent("rnn", 5, CHUNK + 9, 2, dtype))
    assert kernel.tiled


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_numbers_that_are_not_finite(dtype: str, way: str, tmp_path: Path) -> None:
    """Neither elements that are not there nor parts that are 0 turn an infinity into no number."""
    inputs, outputs, values = recurrent("rnn", 30, 5, 2, dtype)
    values[4][:2, 0] = np.inf
    values[0][0, 3, 1] = np.nan
    values[3][:, :2] = 0.5
    values[1][5:8, 1] = np.inf, -np.inf, np.finfo(dtype).max
    assert ran(Shim(tmp_path, threads=32, together=way == "all blocks"), "reassoc", inputs, outputs, values)


def test_both_parts_are_rounded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """float32 by tensor cores is as accurate as float32: errors do not all have one sign."""
    prefer_warps(monkeypatch)
    monkeypatch.setattr("scanopt.backends.kernels.device_plans.fewest_steps", lambda plan: 0.0)
    monkeypatch.setattr("scanopt.backends.kernels.device_loops.kernel_step_seconds", WAYS["all blocks"])
    h0, W, n = T.fmatrix("h0"), T.fmatrix("W"), T.lscalar("n")
    h, _ = scanopt.scan(lambda h: T.dot(h, W) / 64, outputs_info=h0, n_steps=n)
    f = scanopt.function([h0, W, n], h[-1], backend="numpy")
    values = [rng().uniform(1.0, 1.01, size=s).astype("float32") for s in ((16, 64), (64, 64))]
    program, loops = on_shim(f, Shim(tmp_path, threads=32, together=True, shared=1 << 16))
    expected = values[0].astype("float64")
    for _ in range(3):
        expected = expected @ values[1] / 64
    np.testing.assert_allclose(program([*values, np.array(3)])[0], expected, rtol=8 * np.finfo("float32").eps)
    assert any(v.grid for v in kernels(loops) if v.function is not None)


def test_the_imitation_multiplies_by_fragments(tmp_path: Path) -> None:
    """Thread t of a warp has the elements that the instruction's manual says."""
    text = """typedef long long int64; typedef double float64;
#define BARRIER __syncthreads()
extern "C" __global__ void scanopt_kernel(double *a, double *b, double *c, char *scratch, int64 *status)
{
    const int t = threadIdx.x;
    double sum[2] = {1.0, 1.0};
    MMA(sum, a[t], b[t % 4 * 8 + t / 4]);
    c[t / 4 * 8 + 2 * (t % 4)] = sum[0];
    c[t / 4 * 8 + 2 * (t % 4) + 1] = sum[1];
    BARRIER;
}
"""
    a, b, c = rng().normal(size=(8, 4)), rng().normal(size=(4, 8)), np.zeros((8, 8))
    shim = Shim(tmp_path)
    shim.launch(shim.load(text, False), 1, 32, [a, b, c, np.zeros(1, "uint8"), np.zeros(2, "int64")])
    np.testing.assert_allclose(c, 1.0 + a @ b)
