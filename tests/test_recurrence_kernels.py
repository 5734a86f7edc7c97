"""Kernels of linear recurrences: their text run by a shim on the CPU, and compiled by NVRTC where it is."""

from __future__ import annotations

import shutil
from typing import Any

import numpy as np
import pytest
from cuda_shim import Shim
from nvrtc import ARCHITECTURES, compiled, missing

from scanopt.array.op import Op
from scanopt.backends import recurrence_kernels
from scanopt.backends.one_pass import Shape, Tiles, shape_of
from scanopt.backends.one_pass import text as one_pass_text
from scanopt.backends.recurrence_kernels import DTYPES, ENOUGH, LEAST, LinearRecurrences, text_by_lanes

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ to compile the shim")
RECURRENCE = Op.make("linear_recurrence").bind(np)
FILTER = {1: Op.make("lfilter").bind(np), 2: Op.make("lfilter2").bind(np)}


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Shim:
    return Shim(tmp_path_factory.mktemp("cuda"))


def refused(*args: Any) -> Any:
    raise AssertionError("left to array steps")


def one_by_one(init: Any, a: Any, x: Any) -> Any:
    a, x = (np.broadcast_to(y.reshape(len(y), *(1,) * (init.ndim - y.ndim), *y.shape[1:]),
                            (len(y), *init.shape[1:])) for y in (a, x))  # fmt: skip
    s, found = init[0], []
    for f, y in zip(a, x, strict=True):
        s = s * f + y
        found.append(s)
    return np.array(found, init.dtype)


@pytest.mark.share(5)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 17, 300, 4500])
@pytest.mark.parametrize("shape", [(), (2, 3)])
def test_recurrence(dtype: str, n: int, shape: tuple[int, ...], shim: Shim) -> None:
    rng = np.random.default_rng(n)
    for wide_a, wide_x in ((True, True), (False, True), (True, False)):
        init = rng.integers(-3, 4, (1, *shape)).astype(dtype)
        a, x = ((rng.random((n, *(shape if w else ()))) * 2 - 1).astype(dtype) for w in (wide_a, wide_x))
        with np.errstate(over="ignore"):
            expected = one_by_one(init, a, x)
        found = LinearRecurrences(shim).recurrence(refused, init, a, x)
        assert found.dtype == expected.dtype
        tolerance = {"float32": 1e-4, "float64": 1e-11}.get(dtype, 0.0)
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.share(2)
@pytest.mark.parametrize(("block", "n", "lanes"), [
    (None, 4500, 40), (Shape(32, 1, 1, 1), 20_000, 1), (Shape(32, 4, 2, 1), 5000, 3), (Shape(64, 8, 2, 1), 2500, 11),
    (Shape(64, 32, 2, 1), 500, 70),
])  # fmt: skip
def test_tiles_and_groups_in_one_launch(
    block: Shape | None, n: int, lanes: int, shim: Shim, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks that wait for one another run at the same time; the bits are the same at each run."""
    if block:
        monkeypatch.setattr(recurrence_kernels, "shape_of", lambda *_: block)
    block = block or shape_of("float64", lanes)
    cut = Tiles(n, lanes, block)
    assert cut.groups > 1
    rng = np.random.default_rng(n)
    init, a, x = rng.normal(size=(1, lanes)), rng.random((n, lanes)), rng.normal(size=(n, lanes))
    shim.launches.clear()
    found = [LinearRecurrences(shim).recurrence(refused, init, a, x) for _ in range(2)]
    np.testing.assert_allclose(found[0], one_by_one(init, a, x), rtol=1e-9, atol=1e-9)
    assert found[0].tobytes() == found[1].tobytes()
    assert shim.launches[::2] == [(cut.blocks, block.threads)] * 2


def test_steps_and_lanes_are_cut_into_tiles() -> None:
    cut = Tiles(100_000_000, 1, shape_of("float32", 1))
    assert (cut.rows, cut.blocks, cut.groups) == (4096, 24_415, 96)
    cut = Tiles(10_000, 250, shape_of("float64", 250))
    assert (cut.rows, cut.bands, cut.tiles, cut.groups) == (128, 16, 79, 3)


@pytest.mark.parametrize("bad", [np.inf, np.nan, 1e300])
def test_what_chunks_would_lose_is_run_step_by_step(bad: float, shim: Shim) -> None:
    n = 100
    a, x = np.full(n, 2.0), np.zeros(n)
    a[40], a[41] = bad, 0.0
    x[10] = 1e-3
    with np.errstate(all="ignore"):
        expected = one_by_one(np.ones(1), a, x)
    np.testing.assert_array_equal(LinearRecurrences(shim).recurrence(refused, np.ones(1), a, x), expected)


def test_many_lanes_need_no_chunks(shim: Shim) -> None:
    shim.launches.clear()
    lanes = ENOUGH // 8 + 5
    init, rows = np.zeros((1, lanes)), np.ones((LEAST + 4, 1))
    found = LinearRecurrences(shim).recurrence(refused, init, rows * 0.5, rows)
    np.testing.assert_array_equal(found, one_by_one(init, rows * 0.5, rows))
    assert shim.launches == [(-(-lanes // 128), 128)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", [1, 2])
def test_filters_keep_every_bit(dtype: str, order: int, shim: Shim) -> None:
    rng = np.random.default_rng(order)
    for shape, wide in (((), False), ((7,), False), ((2, 3), True)):
        init = rng.normal(size=(order, *shape)).astype(dtype)
        x = (rng.normal(size=(50, *shape)) * 4).astype(dtype)
        factors = [(rng.normal(size=shape if wide else ()) / 2 + 1).astype(dtype) for _ in range(order)]
        expected = FILTER[order](init, x, *factors)
        found = LinearRecurrences(shim).filtered(refused, init, x, *factors)
        assert found.tobytes() == expected.tobytes()


def test_other_dtypes_are_left_to_array_steps(shim: Shim) -> None:
    init, rows = np.zeros(1, "complex128"), np.ones(3, "complex128")
    np.testing.assert_array_equal(LinearRecurrences(shim).recurrence(RECURRENCE, init, rows, rows), [1, 2, 3])


@pytest.mark.share(5)
@pytest.mark.skipif(bool(missing()), reason=missing())
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("architecture", [ARCHITECTURES[0], ARCHITECTURES[-1]])
def test_they_compile(dtype: str, architecture: str) -> None:
    made = [one_pass_text(dtype, shape_of(dtype, lanes)) for lanes in (1, 100)]
    for text in (*made, text_by_lanes("run", dtype), text_by_lanes("filter", dtype)):
        binary, said = compiled(text, architecture)
        assert binary[:4] == b"\x7fELF", said
