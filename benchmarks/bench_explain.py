"""What an explanation takes: optimizing once more with notes of where forms come from, and telling from the notes.

A page tells all that an explanation does, of a function of its own, and is written to a file.

    python benchmarks/bench_explain.py            five programs, half a minute
    python benchmarks/bench_explain.py --quick    two of them, once

The peer is the same optimization without notes, in the same process.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

from harness import asked_to_be_quick, fresh, machine, ms, ratio, table

Seconds = dict[str, float]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    quick = asked_to_be_quick("Time of an explanation.", "programs", arguments)
    print(f"bench_explain: {machine()}; all times in ms")
    names = ["A**k", "RNN"] if quick else [*PROGRAMS]
    rows = []
    for name in names:
        found = fresh(f"import json, bench_explain as b; print(json.dumps(b.explained({name!r}, {1 if quick else 5})))")
        rows.append([
            name, ms(found["optimize"]), ms(found["saturate"]), ms(found["noted"]),
            ratio(found["saturate"], found["noted"]), ms(found["explain"]), ratio(found["optimize"], found["explain"]),
            ms(found["page"]), ratio(found["optimize"], found["page"]),
            f"{found['laws']:.0f} of {found['fired']:.0f}",
        ])  # fmt: skip
    heads = [
        "program", "optimize", "saturate", "with notes", "notes / none", "explain", "explain / optimize", "page",
        "page / optimize", "laws told of those that fired",
    ]  # fmt: skip
    table("Explanations (medians, from the second function of a process on)", heads, rows)


def explained(name: str, repeats: int) -> Seconds:
    """Seconds to optimize a program, to saturate it with and without notes, and to explain it."""
    import scanopt

    build = PROGRAMS[name]
    runs = [_run(scanopt, build) for _ in range(repeats + 1)][1:]
    return {key: statistics.median(x[key] for x in runs) for key in runs[0]}


def _run(scanopt: Any, build: Callable[[], Any]) -> Seconds:
    from scanopt.compilation.optimize import optimize

    graph = build()
    f = scanopt.function(graph.inputs, graph.outputs)
    p, start = f._plan, time.perf_counter()
    plain = optimize(p.program, p.laws, p.settings)
    middle = time.perf_counter()
    noted = optimize(p.program, p.laws, p.settings, noted=True)
    told = time.perf_counter()
    story = f.explain()
    explained = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        shown = scanopt.function(graph.inputs, graph.outputs)
        before = time.perf_counter()
        shown.show(f"{folder}/page.html")
        page = time.perf_counter() - before
    return {
        "optimize": middle - start, "saturate": plain.seconds["saturate"], "noted": noted.seconds["saturate"],
        "explain": explained - told, "page": page, "laws": len(story.steps), "fired": len(f.laws),
    }  # fmt: skip


def _gradient(build: Callable[[], Any]) -> Callable[[], Any]:
    """The gradient of the sum of squares of a program's first output by all its floating inputs but the first."""

    def made() -> Any:
        from models import Graph

        import scanopt

        graph = build()
        inputs = [x for x in graph.inputs[1:] if x.dtype.startswith("float")]
        cost = (graph.outputs[0] ** 2).sum()
        return Graph(graph.inputs, scanopt.grad(cost, inputs), graph.values)

    return made


def _models() -> dict[str, Callable[[], Any]]:
    import models

    return {
        "A**k": models.power,
        "RNN": models.rnn,
        "its gradient": _gradient(models.rnn),
        "LSTM of two layers": lambda: models.lstm(2),
        "gradient of the LSTM": _gradient(lambda: models.lstm(2)),
    }


PROGRAMS = _models()

if __name__ == "__main__":
    main()
