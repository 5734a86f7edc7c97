"""Time from a symbolic graph to a ready function, its parts, its growth, and the time of imports.

    python benchmarks/bench_compile.py            everything, a minute or two
    python benchmarks/bench_compile.py --quick    small programs, few repeats

The peer is JAX: the same programs by lax.scan, from the traced function to the compiled one.
"""

from __future__ import annotations

import math
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from harness import JAX, NO_JAX, asked_to_be_quick, fresh, machine, ms, ratio, table, verdict

ON_DISK = {
    "SCANOPT_FLAGS": "compilation_cache=True",
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}
"""Environment variables by which programs are kept on disk, whatever they took."""
FOLDERS = ("XDG_CACHE_HOME", "JAX_COMPILATION_CACHE_DIR")
RESTART_GOAL = 0.05
PARTS = ("encode", "saturate", "extract", "lower", "compile")
IMPORT_GOAL = 0.2

Shapes = list[tuple[list[int], str]]
"""Shape and dtype per input: what JAX compiles for."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Print all tables."""
    quick = asked_to_be_quick("Time from graph to ready function.", "programs", arguments)
    print(f"bench_compile: {machine()}; all times in ms")
    if not JAX:
        print(NO_JAX)
    models(["A**k", "RNN"] if quick else ["A**k", "RNN", "LSTM pair", "its gradient"], 2 if quick else 5)
    growth([30, 60] if quick else [30, 100, 300, 1000], 2 if quick else 5)
    imports(1 if quick else 5)


# What runs in a fresh process


def compile_model(name: str, repeats: int) -> dict[str, Any]:
    """Seconds of the first compile of a process, with all imports, and of those after it."""
    start = time.perf_counter()
    import models

    build = models.MODELS[name].build
    compile_graph(build)
    return {"first": time.perf_counter() - start} | repeated(build, repeats) | read_again(build, repeats)


def read_again(build: Callable[[], Any], repeats: int) -> dict[str, Any]:
    """Median seconds where the program was optimized before, and is read from the cache of the disk."""
    from scanopt import config

    with tempfile.TemporaryDirectory() as folder, config.change_flags(compilation_cache=True):
        os.environ["XDG_CACHE_HOME"] = folder
        compile_graph(build)
        runs = [compile_graph(build) for _ in range(repeats)]
    assert all(made.report.cached for _, made, *_ in runs)
    return {"read": statistics.median(x[3] for x in runs)}


def compile_once(name: str) -> float:
    """Seconds from the graph to the ready function, the first of a process."""
    import models

    return compile_graph(models.MODELS[name].build)[3]


def compile_sizes(sizes: Sequence[int], repeats: int) -> list[dict[str, Any]]:
    """The same without the first one, for programs of about so many operators."""
    import models

    compile_graph(models.power)
    return [repeated(lambda n=n: models.gated(n // 10), repeats) for n in sizes]  # type: ignore[misc]


def compile_graph(build: Callable[[], Any]) -> tuple[Any, Any, float, float, tuple[float, float]]:
    """The graph, the function made of it, the seconds of both, and CPU seconds of the latter, here and in engines."""
    import scanopt

    start = time.perf_counter()
    graph = build()
    built, engine, here = time.perf_counter(), engine_seconds(), time.process_time()
    made = scanopt.function(graph.inputs, graph.outputs)
    done, here = time.perf_counter(), time.process_time() - here
    spent = sum(seconds - engine.get(pid, 0.0) for pid, seconds in engine_seconds().items())
    return graph, made, built - start, done - built, (here, spent)


def engine_seconds() -> dict[int, float]:
    """CPU seconds of each process that optimizes now, by its number; none where the system does not say.

    What a process took that was renewed meanwhile is not known.
    """
    from scanopt.egraph import engine

    pids = [p._process.pid for p in engine._ALL]
    tasks = {pid: Path(f"/proc/{pid}/task").glob("*/schedstat") for pid in pids}
    return {pid: sum(int(x.read_text().split()[0]) for x in some) * 1e-9 for pid, some in tasks.items()}


def repeated(build: Callable[[], Any], repeats: int) -> dict[str, Any]:
    """Some compiles of new graphs, one after the other."""
    from models import count_operators

    runs = [compile_graph(build) for _ in range(repeats)]
    graph, made, *_ = runs[-1]
    return {
        "operators": count_operators(graph.outputs),
        "graph": statistics.median(r[2] for r in runs),
        "second": runs[0][3],
        "again": statistics.median(r[3] for r in runs),
        "cpu": [min(r[4][n] for r in runs) for n in (0, 1)],
        "parts": [statistics.median(r[1].seconds[p] for r in runs) for p in PARTS],
        "forms": made.report.enodes,
        "done": made.report.saturated and made.report.optimal,
        "shapes": [(list(x.shape), x.dtype.name) for x in graph.values],
    }


def twin_of_model(name: str, shapes: Shapes, repeats: int) -> dict[str, float]:
    """As `compile_model`, by JAX."""
    start = time.perf_counter()
    from jax_twins import TWINS

    twin_once(TWINS[name], shapes)
    return {"first": time.perf_counter() - start} | twins(TWINS[name], shapes, repeats)


def twin_compiled_once(name: str, shapes: Shapes) -> float:
    """As `compile_once`, by JAX: tracing is not counted, as graphs are not."""
    from jax_twins import TWINS

    return twin_once(TWINS[name], shapes)[1]


def twin_of_sizes(shapes: Sequence[Shapes], repeats: int) -> list[dict[str, float]]:
    """As `compile_sizes`, by JAX."""
    from jax_twins import gated

    twin_once(gated, shapes[0])
    return [twins(gated, x, repeats) for x in shapes]


def twin_once(twin: Callable[..., Any], shapes: Shapes) -> tuple[float, float]:
    """Seconds to trace, and to lower and compile; nothing comes from a cache."""
    import jax

    jax.clear_caches()
    args = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in shapes]
    start = time.perf_counter()
    # A function of its own each time: JAX remembers what it traced by function.
    traced = jax.jit(lambda *xs: twin(*xs)).trace(*args)
    middle = time.perf_counter()
    traced.lower().compile()
    return middle - start, time.perf_counter() - middle


def twins(twin: Callable[..., Any], shapes: Shapes, repeats: int) -> dict[str, float]:
    """Some compiles by JAX, one after the other."""
    runs = [twin_once(twin, shapes) for _ in range(repeats)]
    graph, again = (statistics.median(r[n] for r in runs) for n in (0, 1))
    return {"graph": graph, "second": runs[0][1], "again": again}


def call(function: Callable[..., Any], *args: Any) -> Any:
    """The function's result in a fresh process."""
    return fresh(f"import json, bench_compile as b; print(json.dumps(b.{function.__name__}(*{args!r})))")


def restarted(function: Callable[..., float], *args: Any) -> float:
    """Median seconds in new processes that find on disk what the first of them left there."""
    with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, {**ON_DISK, **dict.fromkeys(FOLDERS, folder)}):
        call(function, *args)
        return statistics.median(call(function, *args) for _ in range(3))


# Tables


def models(names: Sequence[str], repeats: int) -> None:
    """The programs with goals: first compile, second compile, its parts, and JAX."""
    from models import MODELS

    first, again, parts, restarts = [], [], [], []
    for name in names:
        ours, goals = call(compile_model, name, repeats), MODELS[name]
        theirs = call(twin_of_model, name, ours["shapes"], repeats) if JAX else {}
        first.append([name, ms(ours["first"]), verdict(ours["first"], goals.first), *peer(ours, theirs, "first")])
        again.append([
            name, str(ours["operators"]), ms(ours["graph"]), ms(ours["second"]), ms(ours["again"]),
            verdict(ours["second"], goals.again), *peer(ours, theirs, "again"), ms(ours["read"]),
        ])  # fmt: skip
        restart = {"read": restarted(compile_once, name)}
        twin = {"read": restarted(twin_compiled_once, name, ours["shapes"])} if JAX else {}
        restarts.append(
            [name, ms(restart["read"]), verdict(restart["read"], RESTART_GOAL), *peer(restart, twin, "read")]
        )
        proof = "yes" if ours["done"] else "NO"
        parts.append([name, *map(ms, ours["parts"]), *map(ms, ours["cpu"]), str(ours["forms"]), proof])
    heads = ["JAX", "JAX / scanopt"]
    table("First compile in a process: imports, graph and function", ["program", "scanopt", "goal", *heads], first)
    table(
        "From the second compile on: from graph to ready function (JAX: lower and compile)",
        ["program", "operators", "graph", "second", "median", "goal", *heads, "read from disk"], again,
    )  # fmt: skip
    table(
        "From graph to ready function in a new process, read from disk",
        ["program", "scanopt", "goal", *heads],
        restarts,
    )
    cpu = ["CPU here", "CPU of the engine"]
    table("Its parts (medians); CPU: least", ["program", *PARTS, *cpu, "forms", "saturated, proven optimal"], parts)


def peer(ours: dict[str, Any], theirs: dict[str, Any], key: str) -> list[str]:
    """JAX's time and the ratio."""
    return [ms(theirs[key]) if theirs else "-", ratio(ours[key], theirs.get(key))]


def growth(sizes: Sequence[int], repeats: int) -> None:
    """One scan of more and more gated layers, 10 operators each."""
    ours = call(compile_sizes, sizes, repeats)
    theirs = call(twin_of_sizes, [x["shapes"] for x in ours], repeats) if JAX else [{}] * len(ours)
    rows = []
    for x, y in zip(ours, theirs, strict=True):
        n, seconds = x["operators"], x["again"]
        rows.append([str(n), ms(seconds), f"{seconds / n * 1e3:.2f}", *map(ms, x["parts"]), *peer(x, y, "again")])
    heads = ["operators", "median", "per operator", *PARTS, "JAX", "JAX / scanopt"]
    table("Growth with the number of operators", heads, rows)
    points = [(x["operators"], x["again"]) for x in ours]
    print(f"\n  time ~ operators ** {exponent(points):.2f} (fit), ** {exponent(points[-2:]):.2f} (last two sizes)")
    if JAX:
        points = [(x["operators"], y["again"]) for x, y in zip(ours, theirs, strict=True)]
        print(f"  JAX: ** {exponent(points):.2f}, ** {exponent(points[-2:]):.2f}")


def exponent(points: Sequence[tuple[float, float]]) -> float:
    """The slope of a line through the points, both axes logarithmic."""
    xs, ys = ([math.log(p[n]) for p in points] for n in (0, 1))
    return statistics.linear_regression(xs, ys).slope


def imports(repeats: int) -> None:
    """Time of imports, each in a fresh process."""
    rows = []
    for what, goal in (
        ("import numpy", None),
        ("import scanopt", IMPORT_GOAL),
        ("from scanopt.tensor import dvector", IMPORT_GOAL),
        ("import jax", None),
    ):
        if JAX or "jax" not in what:
            code = f"import time; t = time.perf_counter(); {what}; print(time.perf_counter() - t)"
            seconds = statistics.median(fresh(code) for _ in range(repeats))
            rows.append([what, ms(seconds), verdict(seconds, goal)])
    table(f"Imports (median of {repeats} fresh processes)", ["statement", "time", "goal"], rows)


if __name__ == "__main__":
    main()
