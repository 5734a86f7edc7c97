"""Products of float32 that keep 11 bits of each number on a device, where the setting says so."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cuda_shim import Shim
from test_cuda import on_shim, rng
from test_gpu import needs_gpu
from test_tensor_cores import WAYS, prefer_warps

import scanopt
import scanopt.tensor as T
from scanopt.array.op import Op
from scanopt.backends.device_operators import Watch, bind_on_device
from scanopt.config import config
from scanopt.program.serial import from_json, to_json

SHORT = 2.0**-10
"""The largest error of a product of two numbers of 11 bits, as a part of it."""
needs_shim = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ to compile the shim")


def powers(precision: str, fp: str = "reassoc", backend: str = "numpy") -> Any:
    """Products of a state with a matrix, step by step."""
    h0, W, n = T.fmatrix("h0"), T.fmatrix("W"), T.lscalar("n")
    h, _ = scanopt.scan(lambda h: T.tanh(T.dot(h, W)), outputs_info=h0, n_steps=n)
    with config.change_flags(matmul_precision=precision):
        return scanopt.function([h0, W, n], h[-1], backend=backend, fp=fp)


@needs_shim
def test_kernels_drop_the_lower_parts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    prefer_warps(monkeypatch)
    monkeypatch.setattr("scanopt.backends.kernels.device_plans.fewest_steps", lambda plan: 0.0)
    monkeypatch.setattr("scanopt.backends.kernels.device_loops.kernel_step_seconds", WAYS["all blocks"])
    values = [rng().uniform(-1.0, 1.0, size=s).astype("float32") / 4 for s in ((16, 64), (64, 64))]
    errors = {}
    for precision in ("float32", "tensorfloat32"):
        f = powers(precision)
        program, loops = on_shim(f, Shim(tmp_path, threads=32, together=True, shared=1 << 16))
        found, expected = program([*values, np.array(3)])[0], f.unoptimized(*values, 3)
        errors[precision] = float(abs(found - expected).max() / abs(expected).max())
        assert any(v.grid and v.function is not None for x in loops for v in x.variants.values())
    assert errors["float32"] < 1e-6 < errors["tensorfloat32"] < 3 * SHORT


@pytest.mark.parametrize("short", [False, True])
def test_cublas_is_told_for_products_alone(short: bool) -> None:
    """Its handle allows tensor cores while a product is made, also where that raises."""
    modes = [0]
    cublas = SimpleNamespace(getMathMode=lambda handle: modes[-1], setMathMode=lambda handle, m: modes.append(m))

    class Xp:
        cuda = SimpleNamespace(cublas=cublas, device=SimpleNamespace(get_cublas_handle=lambda: 7))
        tanh = staticmethod(np.tanh)

        @staticmethod
        def matmul(a: Any, b: Any, out: Any = None) -> Any:
            assert modes[-1] == 3 * short
            return np.matmul(a, b)

    a = np.ones((2, 2), "float32")
    product, other = (bind_on_device(Op.make(x), Xp, Watch(Xp), short=short) for x in ("matmul", "tanh"))
    np.testing.assert_array_equal(product(a, a), a @ a)
    other(a)
    with pytest.raises(ValueError, match="matmul"):
        product(a, np.ones((3, 3), "float32"))
    assert modes == ([0, 3, 0, 3, 0] if short else [0])


@needs_gpu
def test_both_ways_on_a_gpu() -> None:
    """A product by cuBLAS has other bits; a loop may have them, where its kernel uses tensor cores."""
    x, W = T.fmatrix("x"), T.fmatrix("W")
    values = [rng().uniform(-1.0, 1.0, size=s).astype("float32") / 16 for s in ((64, 256), (256, 256))]
    errors = []
    for precision in ("float32", "tensorfloat32"):
        with config.change_flags(matmul_precision=precision):
            f = scanopt.function([x, W], T.dot(x, W), backend="cupy")
        loop = powers(precision, backend="cupy")
        for found, expected in (
            (f(*values), f.unoptimized(*values)),
            (loop(*values, 20), loop.unoptimized(*values, 20)),
        ):
            errors.append(float(abs(found - expected).max() / abs(expected).max()))
    assert max(errors[:2]) < 1e-5 < errors[2] < 0.01 > errors[3]


def test_a_function_keeps_the_setting_it_was_made_with(tmp_path: Path) -> None:
    f = powers("tensorfloat32")
    assert f.program.short_products
    assert not powers("tensorfloat32", fp="exact").program.short_products
    assert not powers("float32").program.short_products
    f.save(tmp_path / "f.json")
    assert scanopt.load(tmp_path / "f.json").program.short_products


def test_files_have_it_where_it_is_not_the_default() -> None:
    """So that files of before are the same, byte for byte."""
    assert "matmul_precision" not in json.loads(to_json(powers("float32").program))
    text = to_json(powers("tensorfloat32").program)
    assert from_json(text).matmul_precision == "tensorfloat32"
    wrong = json.dumps({**json.loads(text), "matmul_precision": "float8"})
    with pytest.raises(ValueError, match="program: matmul_precision must be float32 or tensorfloat32, found 'float8'"):
        from_json(wrong)


def test_wrong_settings() -> None:
    with pytest.raises(ValueError, match="matmul_precision: expected 'float32' or 'tensorfloat32', found 'bfloat16'"):
        config.matmul_precision = "bfloat16"


def test_the_cpu_multiplies_as_before() -> None:
    values = [rng().normal(size=s).astype("float32") for s in ((4, 8), (8, 8))]
    np.testing.assert_array_equal(powers("tensorfloat32")(*values, 3), powers("float32")(*values, 3))
