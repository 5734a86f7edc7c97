"""scanopt beside its peers: a plain NumPy loop, a loop compiled by Numba, JAX.

    python benchmarks/bench_peers.py                 every case, ten minutes
    python benchmarks/bench_peers.py --quick         its small size, one round
    python benchmarks/bench_peers.py ar2 kalman      some cases
    python benchmarks/bench_peers.py --record docs/benchmarks.md        every case, and its section of that page
    python benchmarks/bench_peers.py --again FILE --record PAGE         the same of times that --json wrote

Each peer runs in a process of its own, and all are measured in turns; times are the least of all rounds.  Numba and JAX
come with `pip install "scanopt[bench]"`; those that are missing are left out.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from harness import machine, table
from peer_page import OURS, record, size_text
from peer_values import CASES, known_case

NEED = {"Numba": "numba", "JAX": "jax"}
PEERS = ("NumPy", "Numba", "JAX", *OURS)
ROUNDS, SECONDS, WARM = 5, 0.06, 2.0
Found = dict[tuple[str, str], dict[str, dict[str, float]]]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="scanopt beside its peers.")
    parser.add_argument("cases", nargs="*", type=known_case, help=f"some of {', '.join(CASES)}")
    parser.add_argument("--quick", action="store_true", help="small sizes, one round")
    parser.add_argument("--sizes", default="small,large", help="which sizes")
    parser.add_argument("--json", help="a file to write all times to")
    parser.add_argument("--again", type=Path, help="such a file: nothing is measured")
    parser.add_argument("--record", type=Path, help="the page whose section is written")
    parser.add_argument("--peer", choices=PEERS, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.peer:
        serve(given.peer)
        return
    if given.again:
        told = json.loads(given.again.read_text(encoding="utf-8"))
        found = {(key.rpartition(" ")[0], key.rpartition(" ")[2]): x for key, x in told.items()}
    else:
        found = all_measured(given)
    show(found, [*next(iter(found.values()))])
    if given.json:
        told = {f"{case} {size}": x for (case, size), x in found.items()}
        Path(given.json).write_text(json.dumps(told, indent=1), encoding="utf-8")
    if given.record:
        record(given.record, found)


def all_measured(given: argparse.Namespace) -> Found:
    """The times of the cases that were asked for."""
    names = [p for p in PEERS if p not in NEED or importlib.util.find_spec(NEED[p])]
    print(f"bench_peers: {machine()}; microseconds a call; missing: {sorted({*PEERS} - {*names}) or 'none'}")
    peers = {name: Peer(name) for name in names}
    sizes = ("small",) if given.quick else given.sizes.split(",")
    return {
        (case, size): measured(peers, case, size, 1 if given.quick else ROUNDS)
        for case in given.cases or CASES
        for size in sizes
    }


class Peer:
    """A process that runs cases one way."""

    def __init__(self, name: str) -> None:
        here = os.path.abspath(__file__)
        one = {"OPENBLAS_NUM_THREADS": "1"}  # steadier on few cores, for all sides
        self.process = subprocess.Popen(
            [sys.executable, here, "--peer", name],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | one,
        )  # fmt: skip

    def ask(self, **request: Any) -> Any:
        """The answer to a request."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"a peer ended with status {self.process.wait()} at {request}")
        return json.loads(line)


def measured(peers: dict[str, Peer], case: str, size: str, rounds: int) -> dict[str, dict[str, float]]:
    """By peer the least seconds of a call, and those from the graph to the first result."""
    first = {name: peer.ask(case=case, size=size) for name, peer in peers.items()}
    for name, answer in first.items():
        if not CASES[case].random:
            np.testing.assert_allclose(answer["told"], first["NumPy"]["told"], rtol=1e-6, err_msg=f"{case}, {name}")
    for name, peer in peers.items():
        peer.ask(seconds=WARM if name in OURS else SECONDS)  # kernels are made beside the first calls
    each = [{name: peer.ask(seconds=SECONDS)["least"] for name, peer in peers.items()} for _ in range(rounds)]
    found = {n: {"call": min(x[n] for x in each), "first": first[n]["first"]} for n in peers}
    print(f"# {case} {size}: " + ", ".join(f"{n} {1e6 * x['call']:.1f}" for n, x in found.items()), flush=True)
    return found


# In the process of a peer


def serve(name: str) -> None:
    """Answer requests: to get a case ready, to call it for some time."""
    call: Callable[[], Any] = lambda: None  # noqa: E731
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        request = json.loads(line)
        if "case" in request:
            case = CASES[request["case"]]
            values = case.values(*getattr(case, request["size"]))
            start = time.perf_counter()
            call = ready(name, request["case"], values)
            result = call()
            told = fingerprint(result)
            answer = {"first": time.perf_counter() - start, "told": told}
        else:
            answer = {"least": least(call, request["seconds"])}
        print(json.dumps(answer), file=answers, flush=True)


def ready(name: str, case: str, values: list[Any]) -> Callable[[], Any]:
    """A call of a case."""
    if name in OURS:
        import peer_scanopt

        import scanopt

        inputs, outputs, updates = peer_scanopt.PROGRAMS[case]()
        f = scanopt.function(inputs, outputs, updates=updates, fp=OURS[name])
        return lambda: f(*values)
    if name == "JAX":
        import jax
        import peer_jax

        g, given = peer_jax.LOOPS[case], [x if not x.ndim else jax.device_put(x) for x in values]
        return lambda: jax.block_until_ready(g(*given))
    module: Any = __import__({"NumPy": "peer_numpy", "Numba": "peer_numba"}[name])
    h = module.LOOPS[case]
    return lambda: h(*values)


def fingerprint(result: Any) -> list[float]:
    """A number of each result, by which results are compared."""
    parts = result if isinstance(result, tuple | list) else [result]
    return [float(np.abs(np.asarray(x, "float64")).sum()) for x in parts]


def least(call: Callable[[], Any], seconds: float) -> float:
    """The least seconds of a call, of as many as fit."""
    found, end = math.inf, time.perf_counter() + seconds
    while True:
        start = time.perf_counter()
        call()
        now = time.perf_counter()
        found = min(found, now - start)
        if now >= end:
            return found


# The table


def show(found: Found, names: Sequence[str]) -> None:
    """Print times, and the time of the best peer by ours."""
    others = [n for n in names if n not in OURS]
    rows: list[list[str]] = []
    ratios: dict[str, list[float]] = {n: [] for n in (*names, "loop / exact")}
    for (case, size), times in found.items():
        calls = {n: x["call"] for n, x in times.items()}
        best = min(calls[n] for n in others)
        for n in names:
            ratios[n].append((best if n in OURS else min(calls.values())) / calls[n])
        ratios["loop / exact"].append(calls["NumPy"] / calls["exact"])
        title = f"{CASES[case].title}, {' x '.join(size_text(n) for n in getattr(CASES[case], size))}"
        row = [title, *(f"{1e6 * calls[n]:.1f}" for n in names), *(f"{ratios[n][-1]:.2f}" for n in OURS)]
        rows.append(
            [*row, f"{1e3 * times['scanopt']['first']:.0f}", f"{1e3 * times.get('JAX', times['scanopt'])['first']:.0f}"]
        )
    heads = ["case", *names, *(f"best peer / {n}" for n in OURS), "first, ms", "JAX"]
    table("Least time of a call", heads, rows)
    print("\nGeometric means")
    for n in OURS:
        print(f"  best peer / {n}: {_mean(ratios[n]):.3f}; below 0.8: {sum(x < 0.8 for x in ratios[n])} of {len(rows)}")
    loop = ratios["loop / exact"]
    print(f"  NumPy loop / exact: {_mean(loop):.2f}; below 1: {sum(x < 1 for x in loop)}")
    told = ", ".join(f"{n} {_mean(ratios[n]):.3f}" for n in others)
    print(f"  of all, best time / own: {told}")


def _mean(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


if __name__ == "__main__":
    main()
