"""Long loops in pieces: what they give, and what is left of them wherever they are stopped."""

import importlib.util
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_distribute import leaves, same_bits
from time_programs import PROGRAMS, REFUSED, arguments

import scanopt
import scanopt.tensor as T

FORMATS = ["run", pytest.param("run.zarr", marks=pytest.mark.skipif(
    importlib.util.find_spec("zarr") is None, reason="zarr is not installed"))]  # fmt: skip
MAKERS = {**{k: p.make for k, p in PROGRAMS.items()}, **{k: make for k, (make, _) in REFUSED.items()}}
CHOSEN = ["counted", "in a row", "far taps", "matrix", "max-plus", "tanh"]


@pytest.mark.share(2)
@pytest.mark.parametrize("folder", FORMATS)
@pytest.mark.parametrize("name", CHOSEN)
def test_pieces_are_the_whole(name: str, folder: str, tmp_path: Path) -> None:
    inputs, outputs = MAKERS[name]()
    f = scanopt.function(inputs, outputs, fp="exact")
    values = arguments(inputs, 23)
    expected = f.unoptimized(*values)
    found: list[Any] = []
    r = scanopt.resumable(f, tmp_path / folder, steps=4)
    same_bits(r(*values, progress=lambda i, n: found.append((i, n))), expected)
    assert (23, 23) in found
    same_bits(r(*values), expected)  # all is done: what was written is read


class Stopped(Exception):  # noqa: N818
    pass


@pytest.mark.share(2)
@pytest.mark.parametrize("folder", FORMATS)
@pytest.mark.parametrize("name", ["counted", "in a row", "far taps"])
def test_stopped_at_any_piece(name: str, folder: str, tmp_path: Path) -> None:
    """Stopped after each piece in turn, it gives the bits of a run that is not, in any mode."""
    inputs, outputs = MAKERS[name]()
    f = scanopt.function(inputs, outputs)
    values = arguments(inputs, 13)
    expected = scanopt.resumable(f, tmp_path / f"whole-{folder}", steps=5)(*values)

    def stop(done: int, total: int) -> None:
        raise Stopped

    r = scanopt.resumable(f, tmp_path / folder, steps=5)
    for _ in range(20):
        try:
            same_bits(r(*values, progress=stop), expected)
        except Stopped:
            continue
        break
    same_bits(r(*values), expected)


def test_loops_that_end_early(tmp_path: Path) -> None:
    """A sampler without sequences, with a key, that ends by its state; with updates of a shared variable."""
    R, n, total = T.random, T.lscalar("n"), scanopt.shared(0.0, "total")

    def step(s: Any, k: Any) -> Any:
        new = s + R.normal(k)
        return [new, R.advance(k)], scanopt.until(T.abs(new) > 4.0)

    walk = scanopt.scan(step, outputs_info=[np.float64(0.0), R.key(3)], n_steps=n)[0][0]
    f = scanopt.function([n], {"walk": walk, "end": walk[-1]}, updates={total: total + walk.sum()}, fp="exact")
    expected = f(1000)
    assert 5 < len(expected["walk"]) < 1000
    for size in (1, 7, len(expected["walk"]), 1000):
        total.set_value(0.0)
        same_bits(scanopt.resumable(f, tmp_path / f"run{size}", steps=size)(1000), expected)
        assert total.get_value() == expected["walk"].sum()
    same_bits(scanopt.resumable(f, tmp_path / "short", steps=2)(3), f(3))


def test_only_what_is_read_is_kept(tmp_path: Path) -> None:
    x = T.dvector("x")
    f = scanopt.function([x], scanopt.scan(lambda x, s: T.tanh(s + x), x, np.float64(0.0))[0][-1])
    scanopt.resumable(f, tmp_path / "run", steps=10)(np.ones(1000))
    assert len(list((tmp_path / "run").iterdir())) == 2


def test_another_run_is_refused(tmp_path: Path) -> None:
    x = T.dvector("x")
    f = scanopt.function([x], scanopt.scan(lambda x, s: s + x, x, np.float64(0.0))[0])
    scanopt.resumable(f, tmp_path / "run")(np.ones(5))
    with pytest.raises(ValueError, match="of another function, or of other arguments"):
        scanopt.resumable(f, tmp_path / "run")(np.zeros(5))
    with pytest.raises(ValueError, match="steps must be"):
        scanopt.resumable(f, tmp_path / "run", steps=0)
    assert scanopt.resumable(f, tmp_path / "none")(np.zeros(0)).shape == (0,)


def test_gradients_run_whole(tmp_path: Path) -> None:
    x, w = T.dvector("x"), T.dscalar("w")
    cost = scanopt.scan(lambda x, s, w: T.tanh(w * s + x), x, np.float64(0.1), w)[0][-1]
    f = scanopt.function([x, w], [cost, T.grad(cost, w)], fp="exact")
    values = [np.linspace(0, 1, 11), 0.7]
    same_bits(scanopt.resumable(f, tmp_path / "run", steps=3)(*values), leaves(f.unoptimized(*values)))


@pytest.mark.share(4)
@pytest.mark.parametrize("folder", FORMATS)
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_process_that_is_killed(how: signal.Signals, folder: str, tmp_path: Path) -> None:
    """Killed again and again at any moment, a run comes to its end with the bits of one that is left alone."""
    code = """
        import sys, time
        import numpy as np, scanopt, scanopt.tensor as T
        x = T.dvector("x")
        f = scanopt.function([x], scanopt.scan(lambda x, s: T.tanh(s + x), x, np.float64(0.0))[0])
        def slowly(done, total):
            print(done, flush=True)
            time.sleep(0.01 if len(sys.argv) > 2 else 0)
        y = scanopt.resumable(f, sys.argv[1], steps=50)(np.sin(np.arange(5000.0)), progress=slowly)
        np.save(sys.argv[1] + ".npy", y)
    """
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    path = str(tmp_path / folder)

    def start(*more: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-P", "-c", textwrap.dedent(code), path, *more],
            env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip

    reached = 0
    for pause in (0.0, 0.033):
        with start("slowly") as process:
            assert process.stdout is not None
            first = int(process.stdout.readline())
            assert first > reached
            reached = first
            time.sleep(0.05 + pause)
            process.send_signal(how)
        assert not Path(path + ".npy").exists()
    with start() as process:
        found, _ = process.communicate(timeout=60)
    assert int(found.split()[0]) > 50
    x = T.dvector("x")
    f = scanopt.function([x], scanopt.scan(lambda x, s: T.tanh(s + x), x, np.float64(0.0))[0])
    np.testing.assert_array_equal(np.load(path + ".npy"), f(np.sin(np.arange(5000.0))))
