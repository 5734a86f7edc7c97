"""The commands about what a user's file compiles: run, explain, show, ablate, diff, bench."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import Any

from scanopt.array.shown import shown
from scanopt.cli_files import LONGEST, compiled_by, fail, page_path
from scanopt.compilation.compiled_function import Function
from scanopt.lab.ablation import ablate as without_each
from scanopt.lab.ablation import ablation_text
from scanopt.lab.comparing import NotAHistoryError, compared, comparison_text, histories_in
from scanopt.lab.timing import timed, timings_text
from scanopt.program.storage.text import storage_text
from scanopt.progress import each
from scanopt.view.live import serve
from scanopt.view.summary import summary

__all__ = ["ablate", "bench", "diff", "run", "show"]

_RULE = 78  # width of the line above each function


def run(options: argparse.Namespace) -> int:
    """Run the command `run` or `explain`; return the exit status."""
    if options.json:
        return _as_json(options)
    status, functions = compiled_by(options.file, options.arguments)
    describe = {"run": summary, "explain": _explain}[options.command]
    pages: list[str] = []
    for i, f in enumerate(functions, 1):
        print(_title(f, i, len(functions)))
        print("\n\n".join([f"before:\n{f.initial}", f"after:\n{f.program}", describe(f)]))
        if options.html:
            page = page_path(options.html, i, len(functions))
            try:
                f.show(str(page))
            except OSError as error:
                return fail(f"the report page cannot be written ({error})")
            pages.append(f"page of {shown(f.name or f'function {i}')}: {shown(str(page.resolve()))}")
    if pages:
        print("\n" + "\n".join(pages))
    return status


def _quietly(file: Path, arguments: list[str], as_json: bool) -> tuple[int, list[Function]]:
    """Execute a file; with `as_json`, what the file itself prints goes to standard error."""
    if not as_json:
        return compiled_by(file, arguments)
    with redirect_stdout(sys.stderr):
        return compiled_by(file, arguments)


def _as_json(options: argparse.Namespace) -> int:
    status, functions = _quietly(options.file, options.arguments, True)
    if status:
        return status
    if options.command == "explain":
        print(json.dumps([f.history() for f in functions]))
    else:
        print(json.dumps([_told(f) for f in functions], indent=1))
    return 0


def _told(f: Function) -> dict[str, Any]:
    found = asdict(timed(f))
    return found | {"laws": f.laws, "before": str(f.initial), "after": str(f.program), "sizes": dict(f.report.sizes)}


def _explain(f: Function) -> str:
    growth = f"what each law did to the e-graph, the forms it made in each round last:\n{f.growth()}"
    lives = storage_text(f.program)
    places = [f"where the values of loops live, and what they are not written onto:\n{lives}"] if lives else []
    return "\n\n".join([str(f.explain()), growth, *places, summary(f, measure=False)])


def show(options: argparse.Namespace) -> int:
    """Write a page for each function, or serve the pages and update them whenever the file changes."""
    if options.serve:
        if not options.file.is_file():
            return fail(f"{shown(str(options.file))}: no such file")
        if not 0 <= options.port < 2**16:
            return fail(f"--port must be from 0 (any free one) to 65535, found {options.port}")
        try:
            serve(options.file, options.arguments, options.port, options.measure)
        except OSError as error:
            return fail(f"port {options.port} cannot be served ({error}); choose another with --port")
        return 0
    status, functions = compiled_by(options.file, options.arguments)
    for i, f in enumerate(functions, 1):
        page = page_path(options.out, i, len(functions))
        try:
            f.show(str(page), options.measure)
        except OSError as error:
            return fail(f"the page cannot be written ({error})")
        print(f"{shown(f.name or f'function {i}')}: {shown(str(page.resolve()))}")
    return status


def ablate(options: argparse.Namespace) -> int:
    """Print what each function would cost without each law that fired."""
    status, functions = _quietly(options.file, options.arguments, options.json)
    told: list[dict[str, Any]] = []
    for i, f in enumerate(functions, 1):
        try:
            found = list(without_each(f, options.without))
        except ValueError as error:
            return fail(str(error))
        if options.json:
            told.append({"function": f.name or "", "unit": f.report.unit, "without": [asdict(x) for x in found]})
            continue
        print(_title(f, i, len(functions)))
        print(ablation_text(found, f.report.unit))
    if options.json and not status:
        print(json.dumps(told, indent=1))
    return status


def bench(options: argparse.Namespace) -> int:
    """Time each function as written and as optimized."""
    if not 0 < options.seconds <= LONGEST:
        return fail(f"--seconds must be above zero, and at most {LONGEST:g}, found {options.seconds}")
    status, functions = _quietly(options.file, options.arguments, options.json)
    if status:
        return status
    found = [timed(f, options.seconds) for f in each("timing", functions, lambda f: f.name or "a function")]
    print(json.dumps([asdict(x) for x in found], indent=1) if options.json else timings_text(found))
    if all(x.optimized is None for x in found):
        return fail("nothing was timed: the file calls no function that it compiles, and gives no example=[...]")
    return 0


def diff(options: argparse.Namespace) -> int:
    """Compare the programs of two sides; return 0 where all are the same, 1 where one differs."""
    if (options.other is None) == (options.without is None):
        return fail("name a second file or history to compare with, or laws to leave out: --without NAME")
    try:
        status, left, right = _both(options)
    except (NotAHistoryError, ValueError) as error:
        return fail(str(error))
    if status:
        return status
    if len(left) != len(right):
        return fail(f"{len(left)} functions on one side and {len(right)} on the other: nothing to compare them by")
    found = [compared(x, y) for x, y in zip(left, right, strict=True)]
    if options.json:
        print(json.dumps([asdict(x) | {"same": x.same} for x in found], indent=1))
    else:
        print("\n\n".join(comparison_text(x, sys.stdout.isatty()) for x in found))
    return int(not all(x.same for x in found))


def _both(options: argparse.Namespace) -> tuple[int, list[Any], list[Any]]:
    """Exit status, and the histories of both sides."""
    if options.without is None:
        status, left = _histories(options.file, options.json)
        again, right = (status, []) if status else _histories(options.other, options.json)
        return status or again, left, right
    status, functions = _quietly(options.file, [], options.json)
    left = [f.history() for f in functions]
    return status, left, [f.without(*options.without).history() for f in functions]


def _histories(file: Path, as_json: bool) -> tuple[int, list[Any]]:
    if file.suffix == ".json":
        if not file.is_file():
            return fail(f"{shown(str(file))}: no such file"), []
        return 0, histories_in(file)
    status, functions = _quietly(file, [], as_json)
    return status, [f.history() for f in functions]


def _title(f: Function, number: int, total: int) -> str:
    title = f" function {number} of {total}{': ' + shown(f.name) if f.name else ''} "
    return f"\n{title:=^{_RULE}}"
