"""Functions over the processes of a Dask cluster, against one process and against dask.array code without scanopt.

    python benchmarks/bench_scale.py             1e8 samples: a few minutes, 2 GB of disk
    python benchmarks/bench_scale.py --quick     small sizes

Needs `pip install 'scanopt[scale]'`.  All give the same numbers: ours bit for bit what one process gives by the same
plan, which is printed; the others to rounding, which is checked.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one thread in each process, for all sides

import importlib.util
import resource
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from harness import asked_to_be_quick, machine, ratio, table

import scanopt
import scanopt.tensor as T

Array = np.ndarray[Any, Any]
WORKERS = 4
A, B = 0.999, 0.001


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    quick = asked_to_be_quick("Functions over the processes of a Dask cluster.", "sizes", arguments)
    missing = [x for x in ("dask", "distributed") if importlib.util.find_spec(x) is None]
    if missing:
        print(f"{missing[0]} is not installed: nothing is measured (pip install 'scanopt[scale]')")
        return
    import distributed

    print(f"bench_scale: {machine()}; a cluster of {WORKERS} processes on it; times in s, memory in MB")
    with (
        tempfile.TemporaryDirectory() as folder,
        distributed.LocalCluster(
            n_workers=WORKERS, threads_per_worker=1, dashboard_address=None, local_directory=folder
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        cases = (lambda: filtered(client, Path(folder), 200_000 if quick else 100_000_000),
                 lambda: network(client, 64 if quick else 2048, 20 if quick else 400),
                 lambda: sampled(client, 40 if quick else 20_000, 20 if quick else 2000))  # fmt: skip
        rows = [case() for case in cases]
    heads = [
        "program",
        "ours, cluster",
        "ours, 1 process",
        "dask.array",
        "1 / ours",
        "dask / ours",
        "same bits",
        "memory",
    ]
    table("By parts", heads, rows)
    print("\n  memory: the most that any worker held, NumPy, Dask and scanopt included")


def timed(f: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    found = f()
    return time.perf_counter() - start, found


def held() -> float:
    """The most that this process held, in MB; what the one that started it held does not count, where that is told."""
    status = Path("/proc/self/status")
    for line in status.read_text().splitlines() if status.exists() else ():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def most_held(client: Any) -> str:
    return f"{max(client.run(held).values()):.0f}"


def row(name: str, most: str, ours: float, one: float, dask: float, same: bool) -> list[str]:
    text = [f"{t:.2f}" for t in (ours, one, dask)]
    return [name, *text, ratio(ours, one), ratio(ours, dask), "yes" if same else "NO", most]


# A filter in chunks of time, from file to file


def filtered(client: Any, folder: Path, n: int) -> list[str]:
    x = T.dvector("x")
    f = scanopt.function([x], scanopt.scan(lambda x, s: A * s + B * x, x, np.float64(0.0))[0])
    source = np.lib.format.open_memmap(folder / "x.npy", "w+", float, (n,))
    for i in range(0, n, 1 << 22):
        source[i : i + (1 << 22)] = np.random.default_rng(i).normal(size=min(1 << 22, n - i))
    source.flush()
    data = np.load(folder / "x.npy", mmap_mode="r")
    places = [np.lib.format.open_memmap(folder / f"{k}.npy", "w+", float, (n,)) for k in ("ours", "one", "dask")]
    cluster = scanopt.distribute(f, {"x": 0}, on=client)
    small = np.array(data[:1000])
    cluster(small), f(small)  # compiles
    ours, _ = timed(lambda: cluster(data, out=places[0]))
    most = most_held(client)
    one, _ = timed(lambda: whole(f, data, places[1]))
    dask, _ = timed(lambda: by_dask(client, data, places[2]))
    same = True
    alone = scanopt.distribute(f, {"x": 0}, on="here")
    alone(data, out=places[1])
    for i in range(0, n, 1 << 22):
        part = slice(i, i + (1 << 22))
        same &= places[0][part].tobytes() == places[1][part].tobytes()
        np.testing.assert_allclose(places[0][part], places[2][part], 1e-7, 1e-9)
    return row(f"filter, {n:.0e} samples", most, ours, one, dask, same)


def whole(f: Any, data: Array, place: Array) -> None:
    place[:] = f(np.asarray(data))


def by_dask(client: Any, data: Array, place: Array) -> None:
    """What is written without us: SciPy's filter block by block, each of which waits for the one before."""
    import dask
    import dask.array as da
    from scipy.signal import lfilter

    size = 1 << 21
    counts = [(i, min(size, len(data) - i)) for i in range(0, len(data), size)]
    read = dask.delayed(mapped)
    blocks = [da.from_delayed(read(data.filename, data.offset, i, n), (n,), float) for i, n in counts]
    state, i = np.zeros(1), 0
    step = dask.delayed(lambda x, z: lfilter([B], [1.0, -A], x, zi=z), nout=2)
    for block in blocks:
        y, state = step(block, state)
        found, state = dask.compute(y, state)
        place[i : i + len(found)] = found
        i += len(found)


def mapped(path: str, offset: int, first: int, count: int) -> Array:
    return np.array(np.memmap(path, float, "r", offset + 8 * first, (count,)))


# A batch of a network


def network(client: Any, batch: int, steps: int) -> list[str]:
    import dask.array as da

    X, W, U = T.dtensor3("X"), T.dmatrix("W"), T.dmatrix("U")
    h, _ = scanopt.scan(lambda x, h, W, U: T.tanh(x @ W + h @ U), X, T.zeros((X.shape[1], U.shape[0])), [W, U])
    f = scanopt.function([X, W, U], h)
    rng = np.random.default_rng(0)
    values = [rng.normal(size=(steps, batch, 16)), rng.normal(size=(16, 64)) / 4, rng.normal(size=(64, 64)) / 8]
    d = scanopt.distribute(f, {"X": 1}, on=client, chunks=batch // 8)
    d(*values), f(*values)
    ours, found = timed(lambda: d(*values))
    most = most_held(client)
    one, expected = timed(lambda: f(*values))
    np.testing.assert_allclose(found, expected, 1e-7, 1e-9)
    blocks = da.from_array(values[0], chunks=(-1, batch // 8, -1))
    lazy = blocks.map_blocks(by_hand, values[1], values[2], chunks=(steps, batch // 8, 64), dtype=float)
    dask, by = timed(lambda: lazy.compute())
    np.testing.assert_allclose(found, by, 1e-7, 1e-9)
    alone = scanopt.distribute(f, {"X": 1}, on="here", chunks=batch // 8)(*values)
    return row(f"RNN, batch {batch}", most, ours, one, dask, alone.tobytes() == found.tobytes())


def by_hand(x: Array, w: Array, u: Array) -> Array:
    h, out = np.zeros((x.shape[1], u.shape[0])), np.empty((len(x), x.shape[1], u.shape[0]))
    for t, row_ in enumerate(x):
        h = np.tanh(row_ @ w + h @ u)
        out[t] = h
    return out


# A sampler with keys


def sampled(client: Any, chains: int, steps: int) -> list[str]:
    """Random walks by Metropolis' rule: each chain has a key of its own."""
    import dask.array as da

    i, R = T.lvector("i"), T.random

    def chain(i: Any) -> Any:
        def step(s: Any, k: Any) -> Any:
            new = s + R.normal(k)
            accepted = T.log(R.uniform(R.fold_in(k, 1))) < 0.5 * (s**2 - new**2)
            return [T.where(accepted, new, s), R.advance(k)]

        return scanopt.scan(step, outputs_info=[np.float64(0.0), R.fold_in(R.key(7), i)], n_steps=steps)[0][0][-1]

    f = scanopt.function([i], scanopt.map(chain, i)[0], fp="exact")
    d = scanopt.distribute(f, {"i": 0}, on=client, chunks=max(1, chains // 8))
    lanes = np.arange(chains)
    d(lanes), f(lanes[:8])
    ours, found = timed(lambda: d(lanes))
    most = most_held(client)
    one, expected = timed(lambda: f(lanes))
    lazy = da.from_array(lanes, chunks=max(1, chains // 8)).map_blocks(walks, steps, dtype=float)
    dask, _ = timed(lambda: lazy.compute())
    return row(f"sampler, {chains} chains", most, ours, one, dask, found.tobytes() == expected.tobytes())


def walks(lanes: Array, steps: int) -> Array:
    """The same rule, with a generator of NumPy for all chains of a block: other numbers."""
    rng = np.random.default_rng(int(lanes[0]))
    s = np.zeros(len(lanes))
    for _ in range(steps):
        new = s + rng.normal(size=len(s))
        s = np.where(np.log(rng.uniform(size=len(s))) < 0.5 * (s**2 - new**2), new, s)
    return s


if __name__ == "__main__":
    main()
