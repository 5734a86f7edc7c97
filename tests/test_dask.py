"""Functions on a Dask cluster: blocks, chunks of time, workers that die, xarray; four processes, started here."""

import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_distribute import close, network, same_bits, sampler
from time_programs import PROGRAMS, arguments

import scanopt
import scanopt.tensor as T
from scanopt.scale.plans import DependenceError

da = pytest.importorskip("dask.array", reason="dask is not installed")
distributed = pytest.importorskip("distributed", reason="distributed is not installed")

pytestmark = pytest.mark.filterwarnings("ignore")  # those of Dask and its parts are not ours to mend


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A client of four processes that have this copy of scanopt."""
    paths = os.pathsep.join(p for p in sys.path if p)
    with (
        distributed.LocalCluster(
            n_workers=4, threads_per_worker=1, dashboard_address=None, env={"PYTHONPATH": paths},
            local_directory=str(tmp_path_factory.mktemp("dask")),
        ) as cluster,
        distributed.Client(cluster) as found,
    ):  # fmt: skip
        yield found


def test_a_batch_of_a_network(client: Any) -> None:
    """What four processes give is what one gives by the same plan, and to rounding what the whole gives."""
    inputs, outputs, values = network()
    f = scanopt.function(inputs, outputs)
    found = scanopt.distribute(f, {"X": 1}, chunks=3, on=client)(*values)
    same_bits(found, scanopt.distribute(f, {"X": 1}, chunks=3, on="here")(*values))
    close(found, f(*values))


def test_exact_lanes_and_keys(client: Any) -> None:
    f = sampler()
    same_bits(scanopt.distribute(f, {"i": 0}, chunks=7, on=client)(np.arange(40)), f(np.arange(40)))


def test_a_filter_in_chunks_of_time(client: Any, tmp_path: Path) -> None:
    """Files in, files out: in three phases as one process by the same plan, as a chain as the function itself."""
    inputs, outputs = PROGRAMS["filter"].make()
    f = scanopt.function(inputs, outputs)
    data = np.random.default_rng(0).normal(size=300_000)
    np.save(tmp_path / "x.npy", data)
    x = np.load(tmp_path / "x.npy", mmap_mode="r")
    out = np.lib.format.open_memmap(tmp_path / "y.npy", "w+", float, data.shape)
    scanopt.distribute(f, {"x": 0}, chunks=40_000, on=client)(x, out=out)
    same_bits(np.load(tmp_path / "y.npy"), scanopt.distribute(f, {"x": 0}, chunks=40_000, on="here")(data))
    exact = scanopt.function(inputs, outputs, fp="exact")
    scanopt.distribute(exact, {"x": 0}, chunks=40_000, on=client, schedule="chain")(x, out=out)
    same_bits(np.load(tmp_path / "y.npy"), exact(data))


def test_zarr(client: Any, tmp_path: Path) -> None:
    """Arrays of Zarr in and out, in chunks that fit theirs and in others."""
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")
    inputs, outputs = PROGRAMS["filter"].make()
    f, data = scanopt.function(inputs, outputs), np.random.default_rng(0).normal(size=5000)
    x = zarr.create_array(str(tmp_path / "x.zarr"), shape=(5000,), chunks=(500,), dtype="f8")
    x[:] = data
    for size in (1000, 700):
        y = zarr.create_array(str(tmp_path / f"y{size}.zarr"), shape=(5000,), chunks=(500,), dtype="f8")
        for on in (client, "threads"):
            scanopt.distribute(f, {"x": 0}, chunks=size, on=on)(x, out=y)
            same_bits(y[:], scanopt.distribute(f, {"x": 0}, chunks=size, on="here")(data))


def test_a_worker_that_dies_loses_nothing(client: Any, tmp_path: Path) -> None:
    """One is killed in the middle of a run; another computes its part again, to the same bits."""
    inputs, outputs = PROGRAMS["cusum"].make()
    f = scanopt.function(inputs, outputs)
    values = arguments(inputs, 4000)
    d = scanopt.distribute(f, {"x": 0}, chunks=100, on=client)
    killed: list[int] = []

    def kill(done: int, count: int) -> None:
        if not killed:
            pids = client.run(os.getpid)
            killed.append(next(iter(pids.values())))
            os.kill(killed[0], 9)

    found = d(*values, progress=kill)
    assert killed
    same_bits(found, scanopt.distribute(f, {"x": 0}, chunks=100, on="here")(*values))


def test_map_blocks(client: Any) -> None:
    """Dask arrays in, Dask arrays out, with shapes known before anything is computed."""
    inputs, outputs, values = network()
    f = scanopt.function(inputs, outputs)
    X = da.from_array(values[0], chunks=(5, (4, 4, 5), 3))
    found = f.map_blocks(X, *values[1:], axis=1)
    assert found["h"].chunks == ((5,), (4, 4, 5), (4,))
    assert found["dW"].shape == (3, 4)
    close({k: x.compute() for k, x in found.items()}, f(*values))
    with pytest.raises(DependenceError, match="carried from the step"):
        f.map_blocks(X, *values[1:], axis=0)
    with pytest.raises(TypeError, match="no Dask array"):
        f.map_blocks(*values)


@pytest.mark.parametrize("name", ["counted", "in a row", "observer", "flip", "two taps"])
def test_chunks_of_time_as_dask_arrays(client: Any, name: str) -> None:
    inputs, outputs = PROGRAMS[name].make()
    f = scanopt.function(inputs, outputs)
    (x,) = arguments(inputs, 30)
    lazy = da.from_array(x, chunks=(7, *x.shape[1:]))
    parts = scanopt.distribute(f, {"x": 0}, chunks=7, on="here")(x)
    for schedule in ("auto", "chain"):
        found = f.map_blocks(lazy, axis=0, schedule=schedule)
        listed = list(found.values()) if isinstance(found, dict) else found if isinstance(found, list) else [found]
        got = [y.compute() for y in listed]
        expected = list(parts.values()) if isinstance(parts, dict) else parts if isinstance(parts, list) else [parts]
        (same_bits if schedule == "auto" else close)(got, expected)


def test_xarray(client: Any) -> None:
    """A function is what apply_ufunc takes: along its core dimensions whole, over the others in chunks."""
    xarray = pytest.importorskip("xarray", reason="xarray is not installed")
    x = T.dmatrix("x")
    f = scanopt.function([x], scanopt.scan(lambda u, s: 0.5 * s + u, x.T, T.zeros((x.shape[0],)))[0].T)
    data = np.random.default_rng(0).normal(size=(12, 9))
    array = xarray.DataArray(data, dims=("station", "time")).chunk(station=5)
    found = xarray.apply_ufunc(
        f, array, input_core_dims=[["time"]], output_core_dims=[["time"]], dask="parallelized", output_dtypes=[float]
    )
    assert found.chunks is not None
    same_bits(found.values, f(data))


def test_the_same_name_in_every_process() -> None:
    """Dask tells functions by a token, which is the same for the same program."""
    tokenize = pytest.importorskip("dask.base").tokenize
    x = T.dvector("x")
    f, g = scanopt.function([x], x + 1), scanopt.function([x], x + 1)
    assert tokenize(f) == tokenize(g) != tokenize(scanopt.function([x], x + 2))


def test_workers_need_numpy_alone(tmp_path: Path) -> None:
    """A part is computed without what optimization needs."""
    inputs, outputs = PROGRAMS["cusum"].make()
    plan = scanopt.distribute(scanopt.function(inputs, outputs), {"x": 0}).plan
    import pickle

    values = arguments(inputs, 9)
    (tmp_path / "work").write_bytes(pickle.dumps((plan.summaries(), plan.part(), values, [np.float64(0.3)])))
    code = """
        import sys, pickle
        for name in ("egglog", "scipy", "networkx", "dask"):
            sys.modules[name] = None
        from scanopt.scale import workers
        summaries, part, values, carries = pickle.load(open(sys.argv[1], "rb"))
        print(len(workers.summary(summaries[0], values, carries)), len(part([*values, *carries])))
    """
    done = subprocess.run(
        [sys.executable, "-P", "-c", textwrap.dedent(code), str(tmp_path / "work")],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["3", "2"]
