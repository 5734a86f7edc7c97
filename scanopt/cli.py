"""The command line: run a user's file and say what became of each function it compiled.

    scanopt run FILE        programs before and after, laws that fired, costs, measured times
    scanopt explain FILE    programs before and after, and law by law how one became the other
    scanopt show FILE       write a page for each function: before and after, steps, e-graph, why laws did not fire
    scanopt ablate FILE     cost, time and memory of each function without each law and each ruleset
    scanopt laws [NAME]     all laws in a table, with their hits in a program (--on FILE); or one law, or a ruleset
    scanopt check FILE      attack the laws that a file defines: do they fire, hold, and need their conditions?
    scanopt check-law LAW   the same for laws anywhere: module:law, file.py:law, a name or a ruleset
    scanopt prove-law LAW   prove laws for loops of few steps and small arrays of unknowns, or refute them
    scanopt check-facts     drop each atom of each rule of the facts: what goes wrong?
    scanopt calibrate       measure what operators and loops cost on this machine, for cost="calibrated"
    scanopt doctor          what is installed, which executors work, and what to install
    scanopt cache           the compiled kernels that are kept; --clear deletes them

`python -m scanopt` is the same.
"""

from __future__ import annotations

import argparse
import importlib
import io
import json
import os
import runpy
import shutil
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from scanopt.array.shown import shown
from scanopt.calculus.condition import FACTS
from scanopt.calculus.law import INPLACE, Law, named_laws, standard_laws
from scanopt.cli_arguments import parser
from scanopt.compilation.compiled_function import Function, watching
from scanopt.extraction.calibrated_cost import calibration_file, write_costs
from scanopt.lab import targets
from scanopt.lab.ablation import ablate, ablation_text
from scanopt.lab.calibration import calibrate, calibration_text, machine
from scanopt.lab.checking import checked, mutated, mutations_page
from scanopt.lab.doctor import cache_files, examined, findings_text
from scanopt.lab.fact_checking import checked_facts, fact_mutations_page
from scanopt.lab.hits import derivable_text, hits_of, laws_table
from scanopt.lab.proving import MOST_STEPS, proofs_record, proved, proved_mutants
from scanopt.lab.targets import UnknownTargetError, find_laws, laws_in
from scanopt.memory import bytes_text
from scanopt.program.storage.rules import storage_rules
from scanopt.program.storage.text import storage_text
from scanopt.view.catalogue import laws_page, laws_text, storage_rules_text
from scanopt.view.summary import summary

__all__ = ["main"]

T = TypeVar("T")

_RULE = 78  # width of the line above each function
_WIDE = 150  # columns where there is no terminal


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the return value is the exit status."""
    options = parser().parse_args(arguments)
    commands = {
        "run": _run, "explain": _run, "show": _show, "ablate": _ablate, "laws": _laws, "check": _check,
        "check-law": _check_law, "prove-law": _prove_law, "check-facts": _check_facts, "calibrate": _calibrate,
        "doctor": _doctor, "cache": _cache,
    }  # fmt: skip
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")  # what a terminal cannot show
    try:
        status = commands[options.command](options)
        sys.stdout.flush()
    except BrokenPipeError:  # as by `scanopt laws | head`; nothing is left to be written at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return status


def _fail(message: str) -> int:
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in message)
    print(f"scanopt: {shown}", file=sys.stderr)
    return 2


# ---- commands ----


def _run(options: argparse.Namespace) -> int:
    if options.command == "explain" and options.json:
        return _histories(options)
    status, functions = _compiled_by(options.file, options.arguments)
    describe = {"run": summary, "explain": _explain}[options.command]
    for i, f in enumerate(functions, 1):
        print(_title(f, i, len(functions)))
        print("\n\n".join([f"before:\n{f.initial}", f"after:\n{f.program}", describe(f)]))
        if options.html:
            page = _page(options.html, i, len(functions))
            try:
                f.show(str(page))
            except OSError as error:
                return _fail(f"the report page cannot be written ({error})")
            print(f"\nreport page: {shown(str(page))}")
    return status


def _histories(options: argparse.Namespace) -> int:
    """The histories of all functions as a JSON list; what the file itself prints goes to the standard error."""
    with redirect_stdout(sys.stderr):
        status, functions = _compiled_by(options.file, options.arguments)
    if not status:
        print(json.dumps([f.history() for f in functions]))
    return status


def _show(options: argparse.Namespace) -> int:
    status, functions = _compiled_by(options.file, options.arguments)
    for i, f in enumerate(functions, 1):
        page = _page(options.out, i, len(functions))
        try:
            f.show(str(page))
        except OSError as error:
            return _fail(f"the page cannot be written ({error})")
        print(f"{shown(f.name or f'function {i}')}: {shown(str(page.resolve()))}")
    return status


def _doctor(options: argparse.Namespace) -> int:
    """The exit status is 1 where what is needed is missing or gives wrong results."""
    found = examined()
    print(json.dumps([asdict(x) for x in found], indent=1) if options.json else findings_text(found))
    optional = ("extra", "backend c", "measured")
    return int(any(x.state == "fails" or (x.state == "missing" and not x.name.startswith(optional)) for x in found))


def _cache(options: argparse.Namespace) -> int:
    files = cache_files()
    size = bytes_text(float(sum(x.stat().st_size for x in files)))
    print(f"{len(files)} compiled kernels, {size}{f', in {files[0].parent}' if files else ''}")
    if options.clear:
        for x in files:
            x.unlink(missing_ok=True)
        print("deleted")
    return 0


def _ablate(options: argparse.Namespace) -> int:
    status, functions = _compiled_by(options.file, options.arguments)
    for i, f in enumerate(functions, 1):
        print(_title(f, i, len(functions)))
        try:
            found = list(ablate(f, options.without))
        except ValueError as error:
            return _fail(str(error))
        print(ablation_text(found, f.report.unit))
    return status


def _laws(options: argparse.Namespace) -> int:
    laws = standard_laws()
    if options.markdown:
        print(laws_page(), end="")
        return 0
    if options.names == [INPLACE] and not options.on and not options.derivable:
        print(storage_rules_text())
        return 0
    if options.names:
        try:
            laws = tuple({x.name: x for name in options.names for x in named_laws(laws, name)}.values())
        except ValueError as error:
            return _fail(str(error))
    if options.derivable:
        print(derivable_text(laws, standard_laws()))
    elif options.on:
        status, functions = _compiled_by(options.on, [])
        if status or not functions:
            return status
        own = () if options.names else (x for f in functions for x in f.rules)  # with laws of the file's own
        shown = {x.name: x for x in (*laws, *own)}
        print(laws_table(list(shown.values()), _width(), hits_of(functions)))
    elif options.names:
        print(laws_text(options.names))
    else:
        print(laws_table(laws, _width()))
        print(f"\nand {len(storage_rules())} rules of what is computed in place: scanopt laws {INPLACE}")
    return 0


def _check(options: argparse.Namespace) -> int:
    """Every attack on every law of a file; the exit status is 1 when one succeeds."""
    if not options.file.is_file():
        return _fail(f"{options.file}: no such file")
    status, names = _execute(options.file, [])
    if status:
        return status
    laws = laws_in(names)
    if not laws:
        return _fail(f"{options.file} defines no law: a function decorated with @scanopt.law(...)")
    return int(not checked(laws, _say))


def _check_law(options: argparse.Namespace) -> int:
    status, laws = _named(options, "check")
    if laws is None:
        return status
    if options.markdown and not options.mutate:
        return _fail("--markdown is for --mutate")
    if options.markdown:
        print(mutations_page(laws), end="")
        return 0
    return int(not (mutated if options.mutate else checked)(laws, _say))


def _prove_law(options: argparse.Namespace) -> int:
    status, laws = _named(options, "prove")
    if laws is None:
        return status
    if options.steps is not None and not 0 <= options.steps <= MOST_STEPS:
        return _fail(f"--steps must be from 0 to {MOST_STEPS}, found {options.steps}")
    if options.json and options.mutate:
        return _fail("--json is for laws as they are, not for --mutate")
    steps = {} if options.steps is None else {"steps": options.steps}
    try:
        if options.json:
            print(proofs_record(laws, **steps), end="")
            return 0
        return int(not (proved_mutants if options.mutate else proved)(laws, _say, **steps))
    except ImportError as error:
        return _fail(str(error))


def _named(options: argparse.Namespace, verb: str) -> tuple[int, tuple[Law, ...] | None]:
    """Exit status, and the laws that a command names; None where it names none that there are."""
    if not options.laws and not options.all:
        return _fail(f"name the laws to {verb}, as module:law, file.py:law or by a name; or --all"), None
    try:
        status, found = _outcome(lambda: find_laws(options.laws))
    except UnknownTargetError as error:
        return _fail(str(error)), None
    if found is None:
        return status or _fail("a file or module ended the program before its laws were known"), None
    return 0, tuple({x.name: x for x in (*(standard_laws() if options.all else ()), *found)}.values())


def _check_facts(options: argparse.Namespace) -> int:
    standard_laws()  # they declare facts
    if unknown := [x for x in options.facts if x not in FACTS]:
        return _fail(f"no fact is named {', '.join(map(repr, unknown))}")
    if options.markdown:
        print(fact_mutations_page(), end="")
        return 0
    return int(not checked_facts(options.facts, _say, options.search))


def _calibrate(options: argparse.Namespace) -> int:
    names = None if options.operators is None else [n.strip() for n in options.operators.split(",")]
    if not options.seconds > 0:
        return _fail(f"--seconds must be above zero, found {options.seconds}")
    try:
        found = calibrate(names, options.seconds)
    except ValueError as error:
        return _fail(str(error))
    print(calibration_text(found))
    try:
        path = write_costs(found, options.out or calibration_file(), machine())
    except (OSError, RuntimeError) as error:
        return _fail(f"the costs cannot be written ({error}); name another file with --out")
    cost = repr(str(path)) if options.out else '"calibrated"'
    print(f"\nwritten to {path}; use it with scanopt.function(..., cost={cost}) or scanopt.config.cost = {cost}")
    return 0


def _say(text: str) -> None:
    print(text, flush=True)


def _title(f: Function, number: int, total: int) -> str:
    title = f" function {number} of {total}{': ' + shown(f.name) if f.name else ''} "
    return f"\n{title:=^{_RULE}}"


def _width() -> int:
    """Columns of the terminal."""
    return max(80, shutil.get_terminal_size((_WIDE, 24)).columns)


def _explain(f: Function) -> str:
    growth = f"what each law did to the e-graph, the forms it made in each round last:\n{f.growth()}"
    lives = storage_text(f.program)
    places = [f"where the values of loops live, and what they are not written onto:\n{lives}"] if lives else []
    return "\n\n".join([str(f.explain()), growth, *places, summary(f, measure=False)])


# ---- the user's file ----


def _compiled_by(file: Path, arguments: list[str]) -> tuple[int, list[Function]]:
    """Exit status, and the functions that a file compiles when it is executed."""
    if not file.is_file():
        return _fail(f"{shown(str(file))}: no such file"), []
    with watching() as made:
        status, _ = _execute(file, arguments)
        if status:
            return status, []
        if not made:
            return _fail(f"{shown(str(file))} compiled no function: it never called scanopt.function(...)"), []
        return 0, list(made)


def _execute(file: Path, arguments: list[str]) -> tuple[int, dict[str, Any]]:
    """Execute the file as Python itself would: exit status and names; errors are shown from its first line on."""
    argv, path = sys.argv, sys.path
    sys.argv = [str(file), *arguments]
    sys.path = [str(file.resolve().parent), *sys.path]
    try:
        status, names = _outcome(lambda: runpy.run_path(str(file), run_name="__main__"))
        return status, names or {}
    finally:
        sys.argv, sys.path = argv, path


def _outcome(run: Callable[[], T]) -> tuple[int, T | None]:
    """Exit status and result of what runs a user's code; None where that ends the program or raises."""
    try:
        return 0, run()
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return (end.code if isinstance(end.code, int) else int(end.code is not None)), None
    except (UnknownTargetError, BrokenPipeError):
        raise
    except Exception as error:
        traceback.print_exception(type(error), error, _own_part(error.__traceback__))
        return 1, None


def _own_part(frames: TracebackType | None) -> TracebackType | None:
    """The traceback from the first frame outside of what imports and runs files; None where that did not start."""
    while frames is not None and _runs_files(frames.tb_frame.f_code.co_filename):
        frames = frames.tb_next
    return frames


def _runs_files(file: str) -> bool:
    return file in (__file__, targets.__file__, importlib.__file__) or file.startswith("<frozen ")


def _page(html: Path, number: int, total: int) -> Path:
    """One page per function: report.html, or report-1.html, report-2.html ..."""
    return html if total == 1 else html.with_stem(f"{html.stem}-{number}")


if __name__ == "__main__":
    sys.exit(main())
