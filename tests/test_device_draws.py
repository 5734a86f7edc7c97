"""Random words on a device: one launch of a CUDA kernel, which the shim runs here, with NumPy's bits."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cuda_shim import Shim
from nvrtc import ARCHITECTURES, compiled, missing

from scanopt.array.random.draws import Draws
from scanopt.array.random.on_device import TEXT
from scanopt.array.random.philox import FOLD, blocks_at

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ to compile the shim")


class Module:
    """NumPy under another name, with kernels that the shim runs.  launches: blocks and threads of each."""

    def __init__(self, folder: Path) -> None:
        self.shim, self.launches = Shim(folder), list[Any]()
        self.cuda = SimpleNamespace(runtime=SimpleNamespace(getDevice=lambda: 0))

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def RawModule(self, code: str, options: tuple[str, ...]) -> Any:  # noqa: N802
        function = self.shim.load(code, True)

        def launch(blocks: tuple[int], threads: tuple[int], args: tuple[Any, ...]) -> None:
            self.launches.append((blocks, threads))
            self.shim.launch(function, *blocks, *threads, args)

        return SimpleNamespace(get_function=lambda name: launch)


@pytest.fixture
def module(tmp_path: Path) -> Module:
    return Module(tmp_path)


@pytest.mark.parametrize("rows", [1, 3, 300])
def test_words_have_the_bits_of_numpy(module: Module, rows: int) -> None:
    rng = np.random.default_rng(rows)
    states, first = (rng.integers(0, 2**64 - 1, s, np.uint64, True) for s in ((rows, 3), rows))
    for lane, attempt in ((0, 0), (2, 7), (FOLD, 1)):
        found = blocks_at(module, states, first, lane, attempt)
        np.testing.assert_array_equal(found, blocks_at(np, states, first, lane, attempt))
    assert module.launches == [((-(-rows // 256),), (256,))] * 3


@pytest.mark.parametrize("shape", [(), (5,), (7, 3)])
def test_a_draw_is_one_launch_for_all_steps(module: Module, shape: tuple[int, ...]) -> None:
    states = np.array([[7, 8, i] for i in range(9)], np.uint64)
    for draw in ("uniform", "normal"):
        before = len(module.launches)
        found = getattr(Draws(module, states, (9,), shape), draw)()
        np.testing.assert_array_equal(found, getattr(Draws(np, states, (9,), shape), draw)())
        assert len(module.launches) == before + 1


def test_nothing_is_launched_for_no_words(module: Module) -> None:
    assert blocks_at(module, np.zeros((0, 3), "u8"), np.zeros(0, "u8")).shape == (0, 4)
    assert module.launches == []


@pytest.mark.skipif(bool(missing()), reason=missing())
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_kernel_compiles(architecture: str) -> None:
    binary, said = compiled(TEXT, architecture)
    assert binary[:4] == b"\x7fELF", said
