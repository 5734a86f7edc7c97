"""The command line: run a user's file and say what became of each function it compiled.

    scanopt run FILE        programs before and after, laws that fired, costs, measured times
    scanopt explain FILE    programs before and after, and law by law how one became the other

`python -m scanopt` is the same.
"""

from __future__ import annotations

import argparse
import runpy
import statistics
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from types import TracebackType
from typing import Any

import numpy as np

import scanopt
from scanopt.compiler import Function, watching

__all__ = ["main"]

_RULE = 78  # width of the line above each function


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the return value is the exit status."""
    options = _parser().parse_args(arguments)
    if not options.file.is_file():
        return _fail(f"{options.file}: no such file")
    with watching() as made:
        status = _execute(options.file, options.arguments)
    if status:
        return status
    if not made:
        return _fail(f"{options.file} compiled no function: it never called scanopt.function(...)")
    describe = {"run": _run, "explain": _explain}[options.command]
    for i, f in enumerate(made, 1):
        print(f"\n{f' function {i} of {len(made)} ':=^{_RULE}}")
        print("\n\n".join([f"before:\n{f.initial}", f"after:\n{f.program}", describe(f)]))
        if options.html:
            page = _page(options.html, i, len(made))
            f.show(str(page))
            print(f"\nreport page: {page}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scanopt", description="Symbolic loops, optimized by named laws.")
    parser.add_argument("--version", action="version", version=f"scanopt {scanopt.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="{run,explain}")
    for name, text in (
        ("run", "execute a file, then print programs, laws, costs and times of each function it compiled"),
        ("explain", "execute a file, then print how each function it compiled was optimized, law by law"),
    ):
        command = commands.add_parser(name, help=text, description=text)
        command.add_argument("--html", type=Path, metavar="OUT", help="write the report page there, too")
        command.add_argument("file", type=Path, metavar="FILE", help="a Python file that calls scanopt.function")
        command.add_argument("arguments", nargs="*", metavar="ARG", help="arguments of the file (options after --)")
    return parser


def _fail(message: str) -> int:
    print(f"scanopt: {message}", file=sys.stderr)
    return 2


# ---- the user's file ----


def _execute(file: Path, arguments: list[str]) -> int:
    """Execute the file as Python itself would; its errors are shown from its own first line on."""
    argv, path = sys.argv, sys.path
    sys.argv = [str(file), *arguments]
    sys.path = [str(file.resolve().parent), *sys.path]
    try:
        runpy.run_path(str(file), run_name="__main__")
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except Exception as error:
        traceback.print_exception(type(error), error, _own_part(error.__traceback__, str(file)))
        return 1
    finally:
        sys.argv, sys.path = argv, path
    return 0


def _own_part(frames: TracebackType | None, file: str) -> TracebackType | None:
    """The traceback from the first frame inside the file; None where the file did not even start."""
    while frames is not None and frames.tb_frame.f_code.co_filename != file:
        frames = frames.tb_next
    return frames


def _page(html: Path, number: int, total: int) -> Path:
    """One page per function: report.html, or report-1.html, report-2.html ..."""
    return html if total == 1 else html.with_stem(f"{html.stem}-{number}")


# ---- what is said of a function ----


def _run(f: Function) -> str:
    return "\n".join([_laws(f), "", _costs(f), _optimization(f), _per_call(f)])


def _explain(f: Function) -> str:
    return f"{f.explain()}\n\n{_costs(f)}"


def _laws(f: Function) -> str:
    if not f.laws:
        return "laws that fired: none"
    by_count = sorted(f.laws.items(), key=lambda law: (-law[1], law[0]))
    return "\n".join(["laws that fired:", *(f"{count:7}  {name}" for name, count in by_count)])


def _costs(f: Function) -> str:
    found = "proven the cheapest in the e-graph" if f.report.optimal else f"within {f.report.gap:.1%} of the cheapest"
    return f"cost          {f.cost_before:.4g} before, {f.cost:.4g} after ({found})"


def _optimization(f: Function) -> str:
    parts = ", ".join(f"{name} {seconds:.3f}" for name, seconds in f.seconds.items())
    return f"optimization  {sum(f.seconds.values()):.3f} s ({parts})"


def _per_call(f: Function) -> str:
    """Time per call of the interpreter and of the optimized program on the user's example, and their difference."""
    if f.example is None:
        return "per call      not measured: pass example=[...] to scanopt.function"
    if f.updates:
        return "per call      not measured: a call changes shared variables"
    slow, fast = (_seconds_per_call(partial(g, *f.example)) for g in (f.unoptimized, f))
    apart = max(map(_difference, _as_list(f.unoptimized(*f.example)), _as_list(f(*f.example))), default=0.0)
    return (
        f"per call      {_unit(slow)} unoptimized, {_unit(fast)} optimized: ratio {slow / fast:.1f}\n"
        f"              (medians; largest difference of results {apart:.1e})"
    )


def _seconds_per_call(call: Callable[[], object], budget: float = 0.3) -> float:
    """The median of at least three calls, and of as many as fit in the budget; the first one does not count."""
    call()
    times: list[float] = []
    while len(times) < 3 or sum(times) < budget:
        start = perf_counter()
        call()
        times.append(perf_counter() - start)
    return statistics.median(times)


def _as_list(results: Any) -> list[Any]:
    return list(results) if isinstance(results, (list, tuple)) else [results]


def _difference(a: Any, b: Any) -> float:
    return float(np.max(np.abs(np.asarray(a, float) - np.asarray(b, float)), initial=0.0))


def _unit(seconds: float) -> str:
    scale, unit = next(((s, u) for s, u in ((1.0, "s"), (1e-3, "ms")) if seconds >= s), (1e-6, "us"))
    return f"{seconds / scale:.3g} {unit}"


if __name__ == "__main__":
    sys.exit(main())
