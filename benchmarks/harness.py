"""What the benchmarks share: fresh processes, medians, tables, goals."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

__all__ = [
    "JAX",
    "NO_JAX",
    "asked_to_be_quick",
    "best",
    "fresh",
    "machine",
    "median",
    "ms",
    "ratio",
    "table",
    "verdict",
]

# What is measured is optimized, not read from the cache of optimized programs.
os.environ.setdefault("SCANOPT_FLAGS", "compilation_cache=False")

JAX = importlib.util.find_spec("jax") is not None
NO_JAX = "JAX is not installed: the ratio to it is not measured (pip install 'scanopt[bench]')"


def fresh(code: str) -> Any:
    """What a new Python process prints as JSON; the benchmarks' own modules are importable in it."""
    path = os.pathsep.join([os.path.dirname(os.path.abspath(__file__)), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, env=environment, check=False
    )
    if done.returncode:
        raise RuntimeError(f"the measured process failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def times(f: Callable[[], object], repeats: int) -> list[float]:
    """Seconds of each of some calls."""
    out = []
    for _ in range(repeats):
        start = time.perf_counter()
        f()
        out.append(time.perf_counter() - start)
    return out


def median(f: Callable[[], object], repeats: int = 5) -> float:
    """Median seconds of a call."""
    return statistics.median(times(f, repeats))


def best(f: Callable[[], object], g: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Least seconds of either of two calls, taken in turns so that both meet the same machine."""
    pairs = [(times(f, 1)[0], times(g, 1)[0]) for _ in range(repeats)]
    return min(a for a, _ in pairs), min(b for _, b in pairs)


def ms(seconds: float) -> str:
    """Milliseconds as text."""
    return f"{seconds * 1e3:.3g}" if seconds < 0.1 else f"{seconds * 1e3:.0f}"


def ratio(ours: float, theirs: float | None) -> str:
    """How many times faster than the peer (below 1: slower)."""
    return "not measured" if theirs is None else f"{theirs / ours:.2f} x"


def verdict(seconds: float, goal: float | None) -> str:
    """A goal and whether it was met."""
    if goal is None:
        return "-"
    return f"{ms(goal)}: {'met' if seconds < goal else 'MISSED'}"


def asked_to_be_quick(description: str, sizes: str, arguments: Sequence[str] | None) -> bool:
    """Whether the only option of a benchmark, `--quick`, is given.  sizes: what is small then."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help=f"small {sizes}, few repeats")
    quick: bool = parser.parse_args(arguments).quick
    return quick


def machine() -> str:
    """The machine and the versions in a line."""
    import numpy as np

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{platform.machine()}, {cores} cores, Python {platform.python_version()}, NumPy {np.__version__}"


def table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table, the first column to the left."""
    widths = [max(len(row[n]) for row in (heads, *rows)) for n in range(len(heads))]
    print(f"\n{title}\n")
    for row in (heads, *rows):
        first, *rest = (x.rjust(w) for x, w in zip(row, widths, strict=True))
        print("  " + "  ".join([first.strip().ljust(widths[0]), *rest]))
