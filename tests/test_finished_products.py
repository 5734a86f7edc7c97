"""Products of a grid that are finished where they are added up: when that may be, and that nobody waits in between."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cuda_shim import Shim
from test_cuda import assert_close, barriers, kernels, on_shim, rng

import scanopt
import scanopt.tensor as T
from scanopt.backends.kernels.device_plans import DeviceVariant

pytestmark = [
    pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ to compile the shim"),
    pytest.mark.usefixtures("grids_first"),
]
ROWS, COLUMNS, STEPS = 20, 6, 3
Step = Callable[[Any, Any, Any, Any], Any]


def ran(
    step: Step, folder: Path, dtype: str = "float64", fp: str = "reassoc", kept: int = 0, columns: int = 4
) -> DeviceVariant:
    """The kernel of a loop over matrices, whose results are compared with those of the interpreter.

    kept: so many results that are no states; columns: so many groups of them.
    """
    X, h0, c0, W = (T.TensorType(dtype, (None,) * n)(name) for name, n in (("X", 3), ("h0", 2), ("c0", 2), ("W", 2)))
    outs, _ = scanopt.scan(step, X, [h0, c0, *[None] * kept], non_sequences=W)
    f = scanopt.function([X, h0, c0, W], outs, backend="numpy", fp=fp)
    wide = columns * COLUMNS
    shapes = (STEPS, ROWS, wide), (ROWS, COLUMNS), (ROWS, COLUMNS), (COLUMNS, wide)
    values = [(rng().normal(size=s) / 2).astype(dtype) for s in shapes]
    program, loops = on_shim(f, Shim(folder, threads=32, together=True, shared=1 << 16))
    for found, expected in zip(program(values), f.unoptimized(*values), strict=True):
        assert_close(found, expected)
    (kernel,) = (v for v in kernels(loops) if v.function is not None)
    return kernel


def group(z: Any, i: int) -> Any:
    return z[:, i * COLUMNS : (i + 1) * COLUMNS]


def four_groups(x: Any, h: Any, c: Any, W: Any) -> Any:
    z = x + T.dot(h, W)
    c = T.sigmoid(group(z, 1)) * c + T.sigmoid(group(z, 0)) * T.tanh(group(z, 2))
    return T.sigmoid(group(z, 3)) * T.tanh(c), c


def two_groups(x: Any, h: Any, c: Any, W: Any) -> Any:
    z = T.dot(h, W)
    return T.tanh(group(z, 3) * group(x, 0)), T.maximum(group(z, 3) - group(z, 1), c)


def one_group(x: Any, h: Any, c: Any, W: Any) -> Any:
    return T.tanh(group(T.dot(h, W), 2) + group(x, 1)), c * 0.5


def all_columns(x: Any, h: Any, c: Any, W: Any) -> Any:
    return T.tanh(T.dot(h, W[:, :COLUMNS]) + group(x, 1)), c


def three_groups(x: Any, h: Any, c: Any, W: Any) -> Any:
    z = T.dot(h, W)
    return T.tanh(group(z, 0) * group(z, 1) + group(z, 2)), c


def other_rows(x: Any, h: Any, c: Any, W: Any) -> Any:
    return T.tanh(group(T.dot(h, W), 2)[::-1] + group(x, 1)), c


def sums_of_rows(x: Any, h: Any, c: Any, W: Any) -> Any:
    z = T.dot(h, W)
    return T.tanh(group(z, 0) + z.sum(axis=1, keepdims=True)), c


def kept_too(x: Any, h: Any, c: Any, W: Any) -> Any:
    z = T.dot(h, W[:, :COLUMNS])
    return T.tanh(z), z


@pytest.mark.share(6)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("fp", ["exact", "reassoc"])
@pytest.mark.parametrize("step", [four_groups, two_groups, one_group, all_columns])
def test_nobody_waits_between_a_product_and_what_follows(step: Step, fp: str, dtype: str, tmp_path: Path) -> None:
    kernel = ran(step, tmp_path, dtype, fp)
    assert "MEET;" in kernel.text.split("__global__")[1]
    assert barriers(kernel) == 1  # the end of a step


@pytest.mark.share(2)
@pytest.mark.parametrize("step", [three_groups, other_rows, sums_of_rows, kept_too])
def test_what_else_reads_a_product_waits(step: Step, tmp_path: Path) -> None:
    assert "MEET;" not in ran(step, tmp_path).text.split("__global__")[1]


def gates_kept(x: Any, h: Any, c: Any, W: Any) -> Any:
    z = T.maximum(x + T.dot(h, W), -x)
    c = T.sigmoid(group(z, 1)) * c + T.sigmoid(group(z, 0)) * T.tanh(group(z, 2))
    return T.sigmoid(group(z, 3)) * T.tanh(c), c, z


def two_kept(x: Any, h: Any, c: Any, W: Any) -> Any:
    z = x * T.dot(h, W)
    return T.tanh(group(z, 1) - c), c * group(z, 0), z


def other_rows_kept(x: Any, h: Any, c: Any, W: Any) -> Any:
    z = x * T.dot(h, W)
    return T.tanh(group(z, 1) - group(z, 0)[::-1]), c, z


@pytest.mark.share(2)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("step", "columns"), [(gates_kept, 4), (two_kept, 2)])
def test_what_a_gradient_reads_is_kept_on_the_way(step: Step, columns: int, dtype: str, tmp_path: Path) -> None:
    """The sums of products and inputs are kept by whoever goes on with them: nobody waits for them."""
    kernel = ran(step, tmp_path, dtype, kept=1, columns=columns)
    assert "whole0 = are_all" in kernel.text
    assert barriers(kernel) == 1


def test_columns_in_no_group_are_kept_too(tmp_path: Path) -> None:
    """By a product that is made as a whole."""
    assert "whole0 = are_all" in ran(two_kept, tmp_path, kept=1, columns=3).text


def test_other_rows_wait_for_what_is_kept(tmp_path: Path) -> None:
    assert "are_all(" not in ran(other_rows_kept, tmp_path, kept=1, columns=2).text.split("__global__")[1]


def test_a_product_of_one_row(tmp_path: Path) -> None:
    x, h0, W = T.dmatrix("x"), T.dvector("h0"), T.dmatrix("W")
    h, _ = scanopt.scan(lambda x, h, W: T.tanh(x + T.dot(h, W)), x, h0, non_sequences=W)
    f = scanopt.function([x, h0, W], h, backend="numpy")
    values = [rng().normal(size=s) for s in ((4, 40), (40,), (40, 40))]
    program, loops = on_shim(f, Shim(tmp_path, threads=32, together=True, shared=1 << 16))
    assert_close(program(values)[0], f.unoptimized(*values))
    (kernel,) = (v for v in kernels(loops) if v.function is not None)
    assert "MEET;" in kernel.text.split("__global__")[1]


def test_what_is_read_early_is_read_again_by_later_elements(tmp_path: Path) -> None:
    """A tile has more elements than a block has threads: only the first of each thread are read early."""
    X, h0, W = T.ftensor3("X"), T.fmatrix("h0"), T.fmatrix("W")
    h, _ = scanopt.scan(lambda x, h, W: T.tanh(x + T.dot(h, W)), X, h0, non_sequences=W)
    f = scanopt.function([X, h0, W], h, backend="numpy", fp="reassoc")
    values = [(rng().normal(size=s) / 8).astype("float32") for s in ((3, 64, 70), (64, 70), (70, 70))]
    shim = Shim(tmp_path, threads=32, together=True, shared=1 << 18, multiprocessors=1)
    program, loops = on_shim(f, shim)
    np.testing.assert_allclose(program(values)[0], f.unoptimized(*values), rtol=1e-4, atol=1e-5)
    assert any(v.tiled for v in kernels(loops) if v.function is not None)
