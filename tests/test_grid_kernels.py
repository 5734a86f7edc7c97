"""Loops that all blocks of a device run together: barriers of a grid, factors held in shared memory, without a device.

The shim runs the blocks as threads of the system, so that they do wait for one another.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cuda_shim import Shim
from nvrtc import ARCHITECTURES, compiled, missing
from test_cuda import BLOCK, PROGRAMS, assert_close, barriers, kernels, on_shim, ran_random, rng

import scanopt
import scanopt.tensor as T
from scanopt.backends.kernels.device_plans import DeviceVariant
from scanopt.backends.kernels.grid_tiles import PARTS, Tile

pytestmark = [
    pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ to compile the shim"),
    pytest.mark.usefixtures("grids_first"),
]
LARGE = [name for name, (_, numbers) in PROGRAMS.items() if numbers == BLOCK]
RANDOM = range(3000, 3020)


@pytest.fixture(params=[False, True], ids=["factors in memory", "factors held"])
def shim(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Shim:
    if not request.param:
        without = lambda factors, *_: [Tile(stage=PARTS) for _ in factors]  # noqa: E731
        monkeypatch.setattr("scanopt.backends.kernels.device_plans.tiles_of", without)
    return Shim(tmp_path_factory.mktemp("grid"), threads=32, together=True)


def ran(name: str, shim: Shim) -> list[DeviceVariant]:
    inputs, outputs, values = PROGRAMS[name][0]()
    f = scanopt.function(inputs, outputs, backend="numpy")
    program, loops = on_shim(f, shim)
    for found, expected in zip(program([np.asarray(v) for v in values]), f.unoptimized(*values), strict=True):
        assert_close(found, expected)
    assert all(x.runs for x in loops)
    return [v for v in kernels(loops) if v.function is not None]


@pytest.mark.share(6)
@pytest.mark.parametrize("name", LARGE)
def test_a_grid_gives_what_the_interpreter_gives(name: str, shim: Shim) -> None:
    found = ran(name, shim)
    assert all(v.grid for v in found)


def test_few_barriers_of_a_grid_for_a_step(shim: Shim) -> None:
    (lstm,) = ran("lstm", shim)
    assert barriers(lstm) <= 3  # the product, the end of a step, and of all
    assert len(lstm.tiled) == 1


def test_parts_of_matrices_and_products_of_integers(tmp_path: Path) -> None:
    """Parts are set to numbers, to columns, and with axes that the matrix does not have."""
    shim = Shim(tmp_path, threads=32, together=True)
    X, h0, V, k0, K = *map(T.dmatrix, ("X", "h0", "V")), *map(T.lmatrix, ("k0", "K"))

    def step(x: Any, h: Any, k: Any) -> Any:
        z = T.set_subtensor((h * x)[:, 2:5], 0.5)
        z = T.inc_subtensor(z[:2, 4:9], T.dot(h, V)[:1, :1])
        z = T.set_subtensor(z[:, None, 7:], (h * 0.5)[:, None, 7:])
        return T.set_subtensor(z[:, :1], T.dot(h, V)[:, 4:5]), T.dot(k, K) % 7

    (h, k), _ = scanopt.scan(step, X, [h0, k0])
    f = scanopt.function([X, h0, V, k0, K], [h, k], backend="numpy")
    values = [rng().normal(size=s) for s in ((4, 12), (3, 12), (12, 12))]
    values += [rng().integers(0, 5, s) for s in ((3, 6), (6, 6))]
    program, loops = on_shim(f, shim)
    for found, expected in zip(program(values), f.unoptimized(*values), strict=True):
        assert_close(found, expected)
    assert all(x.runs for x in loops)
    assert all(v.grid for v in kernels(loops) if v.function is not None)


def test_a_loop_that_computes_nothing(tmp_path: Path) -> None:
    x, k, n = T.dmatrix("x"), T.lscalar("k"), T.lscalar("n")
    ys, _ = scanopt.scan(lambda: (x, scanopt.until(k > 0)), n_steps=n)
    f = scanopt.function([x, k, n], ys, backend="numpy")
    values = [rng().normal(size=(3, 4)), np.array(0), np.array(5)]
    program, loops = on_shim(f, Shim(tmp_path, threads=32, together=True))
    assert_close(program(values)[0], f.unoptimized(*values))
    assert any(x.runs for x in loops)


@pytest.mark.share(6)
@pytest.mark.parametrize("seed", RANDOM)
def test_random_programs(seed: int, tmp_path: Path) -> None:
    ran_random(seed, Shim(tmp_path, threads=32, together=True))


@pytest.mark.share(5)
@pytest.mark.skipif(bool(missing()), reason=missing())
@pytest.mark.parametrize("name", LARGE)
def test_every_kernel_compiles_for_all_architectures(name: str, tmp_path: Path) -> None:
    for v in ran(name, Shim(tmp_path, threads=32, together=True)):
        for architecture in ARCHITECTURES:
            binary, said = compiled(v.text, architecture)
            assert binary[:4] == b"\x7fELF", said
