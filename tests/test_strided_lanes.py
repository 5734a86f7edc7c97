"""Arrays that kernels of a device read as they lie: slices, rows backwards, and axes of a larger array."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cuda_shim import Shim
from test_cuda import assert_close, on_shim, rng

import scanopt
import scanopt.tensor as T

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ to compile the shim")
SLICES: dict[str, Any] = {
    "packed": np.s_[:6, :, :5], "a part of each row": np.s_[:6, :, 2:7], "backwards": np.s_[5::-1, :, :5],
    "every second row": np.s_[::2, :, :5], "every second lane": np.s_[:6, :, ::2], "axes exchanged": np.s_[:6, :, :5],
    "a row repeated": np.s_[:1, :, :5],
}  # fmt: skip


@pytest.mark.share(5)
@pytest.mark.parametrize("way", SLICES)
@pytest.mark.parametrize("dtype", ["float32", "int16"])
def test_a_kernel_reads_arrays_as_they_lie(
    way: str, dtype: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scanopt.backends.kernels.device_plans.fewest_steps", lambda plan: 0.0)
    X, h0, a = (T.TensorType(dtype, (None,) * n)(name) for n, name in ((3, "X"), (2, "h0"), (1, "a")))
    h, _ = scanopt.scan(lambda x, h: T.maximum(h * a - x, x), X, h0)
    f = scanopt.function([X, h0, a], [h, h[-1]], backend="numpy")
    whole = rng().integers(-4, 5, (12, 3, 10)).astype(dtype)
    x = whole[SLICES[way]]
    if way == "axes exchanged":
        x = np.ascontiguousarray(x.transpose(2, 1, 0)).transpose(2, 1, 0)
    elif way == "a row repeated":
        x = np.broadcast_to(x, (6, 3, 5))
    values = [x, whole[0].T[3:8].T, whole[1, 1, 4:9]]
    program, loops = on_shim(f, Shim(tmp_path, threads=32))
    for found, expected in zip(program(values), f.unoptimized(*values), strict=True):
        assert_close(found, expected)
    assert all(x.runs for x in loops)


@pytest.mark.share(3)
@pytest.mark.parametrize("way", SLICES)
def test_a_grid_reads_rows_in_either_order(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row has to be packed, and to lie beside the next, or to be the same."""
    monkeypatch.setattr("scanopt.backends.kernels.device_plans.fewest_steps", lambda plan: 0.0)
    monkeypatch.setattr("scanopt.backends.kernels.device_loops.kernel_step_seconds", lambda plan: not plan.variant.grid)
    X, h0, W = T.ftensor3("X"), T.fmatrix("h0"), T.fmatrix("W")
    h, _ = scanopt.scan(lambda x, h: T.tanh(x + T.dot(h, W)), X, h0)
    f = scanopt.function([X, h0, W], h, backend="numpy")
    whole = rng().normal(size=(12, 3, 10)).astype("float32")
    x = np.ascontiguousarray(whole[:, :, :5])[SLICES[way]] if "lane" not in way else whole[SLICES[way]]
    if way == "axes exchanged":
        x = np.ascontiguousarray(x.transpose(2, 1, 0)).transpose(2, 1, 0)
    elif way == "a row repeated":
        x = np.broadcast_to(x, (6, 3, 5))
    values = [x, whole[0, :, :5].copy(), rng().normal(size=(x.shape[2],) * 2).astype("float32")]
    given: list[Any] = []

    class Watched(Shim):
        def launch(self, function: Any, blocks: int, threads: int, args: Any, shared: int = 0) -> None:
            given.extend(args)
            super().launch(function, blocks, threads, args, shared)

    values[1] = values[1][:, : x.shape[2]].copy()
    program, loops = on_shim(f, Watched(tmp_path, threads=32, together=True))
    assert_close(program(values)[0], f.unoptimized(*values))
    assert all(v.grid for k in loops for v in k.variants.values() if not isinstance(v, str) and v.function)
    as_it_lies = any(isinstance(a, np.ndarray) and np.shares_memory(a, x) for a in given)
    assert as_it_lies == (way in ("packed", "backwards", "a row repeated"))
