"""Memory of a process that compiles for days, and what keeping it small costs.

    python benchmarks/bench_memory.py                 2,000 different loops, some minutes
    python benchmarks/bench_memory.py --loops 10000
    python benchmarks/bench_memory.py --quick         a few, to see that it runs

Engines do not give back all that programs took, so their process is renewed.  The peer is the same without that.
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness import fresh, machine, table

SHOWN = 12
"""Lines of the table."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description="Memory of a process that compiles for days.")
    parser.add_argument("--loops", type=int, default=2_000, help="different loops to compile")
    parser.add_argument("--quick", action="store_true", help="a few loops")
    asked = parser.parse_args(arguments)
    loops, some = (12, 3) if asked.quick else (asked.loops, min(asked.loops, 500))
    print(f"bench_memory: {machine()}; memory in MB, resident")
    ours = fresh(f"import json, bench_memory as b; print(json.dumps(b.compiles({loops})))")
    heads = ["compiled", "process", "its engine", "together", "ms per compile"]
    rows = [[str(n), *(f"{x / 1e6:.1f}" for x in (a, b, a + b)), f"{1e3 * s:.1f}"] for n, a, b, s in ours["shown"]]
    table(f"{loops} different loops", heads, rows)
    most = max(ours["most"])
    print(f"\n  most at one time: {most / 1e6:.1f} MB; engines started: {ours['started']}")
    pairs = [
        fresh(f"import json, bench_memory as b; print(json.dumps(b.compiles({some}, {x})))") for x in (True, False)
    ]
    (renewed, kept), sizes = ([sum(x["seconds"]) for x in pairs], [x["most"][-1] / 1e6 for x in pairs])
    row = [str(some), f"{renewed:.1f}", f"{kept:.1f}", f"{renewed / kept:.3f}", *(f"{x:.1f}" for x in sizes)]
    heads = ["compiled", "renewed, s", "never, s", "renewed / never", "renewed, MB", "never, MB"]
    table("Against engines that are never renewed", heads, [row])


def compiles(count: int, renew: bool = True) -> dict[str, Any]:
    """Compile so many loops in this process; what it and its engine held on the way."""
    from scanopt.egraph import engine

    engine.SPARE = engine.SPARE if renew else 1 << 60
    loops, shown, most, seconds = different(), [], [], []
    engines = set[int]()
    start = last = time.perf_counter()
    for n in range(1, count + 1):
        next(loops)()
        here, there = resident(os.getpid()), {pid: resident(pid) for pid in children()}
        engines |= there.keys()
        most.append(here + sum(there.values()))
        now = time.perf_counter()
        seconds.append(now - last)
        last = now
        if n % max(1, count // SHOWN) == 0:
            shown.append((n, here, sum(there.values()), (now - start) / n))
    return {"shown": shown, "most": most, "seconds": seconds, "started": len(engines)}


def different() -> Any:
    """Functions that compile small loops, no two of them alike."""
    import numpy as np

    import scanopt
    import scanopt.tensor as T

    kinds = [
        lambda v, h, a: T.tanh(a * h + v),
        lambda v, h, a: h * v + a,
        lambda v, h, a: T.exp(-h) + a * v,
        lambda v, h, a: T.maximum(h, v) * a,
        lambda v, h, a: T.dot(h, a * h) * v + h,
    ]
    for i, kind in enumerate(itertools.cycle(kinds)):

        def build(i: int = i, kind: Any = kind) -> Any:
            X, h0 = T.dmatrix(f"X{i}"), T.dvector(f"h{i}")
            h, _ = scanopt.scan(lambda v, h: kind(v, h, np.float64(i + 0.5)), X, h0)
            return scanopt.function([X, h0], h[-1] if i % 2 else h)

        yield build


def resident(pid: int) -> int:
    """Bytes of memory that a process holds."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:  # it has ended
        return 0


def children() -> list[int]:
    """The processes that this one has started."""
    tasks = Path("/proc/self/task").iterdir()
    return [int(pid) for task in tasks for pid in (task / "children").read_text(encoding="ascii").split()]


if __name__ == "__main__":
    main()
