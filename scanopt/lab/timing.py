"""Measured times of calls of compiled functions, as written and optimized, beside predicted costs."""

from __future__ import annotations

from collections.abc import Sequence

from scanopt.compilation.compiled_function import Function
from scanopt.compilation.measuring import peak_bytes, seconds_per_call, shared_kept, values_of
from scanopt.memory import bytes_text
from scanopt.records import dataclass
from scanopt.view.amounts import cost_text, seconds_text
from scanopt.view.tables import text_table

__all__ = ["Timing", "timed", "timings_text"]


@dataclass(frozen=True)
class Timing:
    """One function.  optimize: seconds to optimize and compile it.  written, optimized: median seconds of a call of the
    program as written and of the one that runs; memory: most bytes that a call of it holds; None where there are no
    values to call it with.  cost_before, cost: what the cost model predicts, in `unit`.
    """

    name: str
    optimize: float
    written: float | None
    optimized: float | None
    memory: int | None
    cost_before: float
    cost: float
    unit: str


def timed(f: Function, seconds: float = 0.2) -> Timing:
    """Times of a function, called with its example or with what it was last called with inside `watching()`.

    seconds: of timed calls, for each program.
    """
    values, written, optimized, memory = values_of(f), None, None, None
    if values is not None:
        with shared_kept(f) as restore:
            written = seconds_per_call(lambda: f.as_written(*values), seconds)
            optimized = seconds_per_call(lambda: f(*values), seconds)
            memory = peak_bytes(lambda: f(*values))
            restore()
    r = f.report
    return Timing(f.name or "", sum(f.seconds.values()), written, optimized, memory, r.cost_before, r.cost, r.unit)


def timings_text(found: Sequence[Timing]) -> str:
    """A table: measured, predicted, and the ratios of both."""
    heads = ["function", "as written", "optimized", "ratio", "predicted", "optimized", "ratio", "memory", "to optimize"]
    rows = [
        [
            x.name or f"function {n}",
            "-" if x.written is None else seconds_text(x.written),
            "-" if x.optimized is None else seconds_text(x.optimized),
            f"{x.written / x.optimized:.3g}" if x.written and x.optimized else "-",
            cost_text(x.cost_before, x.unit),
            cost_text(x.cost, x.unit),
            f"{x.cost_before / x.cost:.3g}" if x.cost else "-",
            "-" if x.memory is None else bytes_text(x.memory),
            seconds_text(x.optimize),
        ]
        for n, x in enumerate(found, 1)
    ]
    note = "predicted: for the sizes of example=[...], else for assumed ones (scanopt run tells which)\n"
    note += (
        "ratio: how many times faster than the program as written; memory: most that one call holds beside arguments"
    )
    return f"{text_table(heads, rows)}\n{note}"
