"""The command line: run a user's file and say what became of each function it compiled.

    scanopt run FILE        programs before and after, laws that fired, costs, measured times
    scanopt explain FILE    programs before and after, and law by law how one became the other
    scanopt laws [NAME]     all laws, or those of that name or ruleset, with their conditions
    scanopt check FILE      attack the laws that a file defines: do they fire, hold, and need their conditions?

`python -m scanopt` is the same.
"""

from __future__ import annotations

import argparse
import importlib
import runpy
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import scanopt
from scanopt.calculus.attack import Attack
from scanopt.calculus.law import Law
from scanopt.compiler import Function, watching
from scanopt.interpreter import interpret
from scanopt.program.lower import lower
from scanopt.view.catalogue import laws_page, laws_text
from scanopt.view.summary import summary

__all__ = ["main"]

_RULE = 78  # width of the line above each function
_FINDINGS = 3  # shown of one law


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the return value is the exit status."""
    options = _parser().parse_args(arguments)
    if options.command == "laws":
        return _laws(options.names, options.markdown)
    if not options.file.is_file():
        return _fail(f"{options.file}: no such file")
    if options.command == "check":
        return _check(options.file)
    with watching() as made:
        status, _ = _execute(options.file, options.arguments)
        if status:
            return status
        if not made:
            return _fail(f"{options.file} compiled no function: it never called scanopt.function(...)")
        functions = list(made)
    describe = {"run": summary, "explain": _explain}[options.command]
    for i, f in enumerate(functions, 1):
        title = f" function {i} of {len(functions)}{': ' + f.name if f.name else ''} "
        print(f"\n{title:=^{_RULE}}")
        print("\n\n".join([f"before:\n{f.initial}", f"after:\n{f.program}", describe(f)]))
        if options.html:
            page = _page(options.html, i, len(functions))
            f.show(str(page))
            print(f"\nreport page: {page}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scanopt", description="Symbolic loops, optimized by named laws.")
    parser.add_argument("--version", action="version", version=f"scanopt {scanopt.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="{run,explain,laws,check}")
    for name, text in (
        ("run", "execute a file, then print programs, laws, costs and times of each function it compiled"),
        ("explain", "execute a file, then print how each function it compiled was optimized, law by law"),
    ):
        command = commands.add_parser(name, help=text, description=text)
        command.add_argument("--html", type=Path, metavar="OUT", help="write the report page there, too")
        command.add_argument("file", type=Path, metavar="FILE", help="a Python file that calls scanopt.function")
        command.add_argument("arguments", nargs="*", metavar="ARG", help="arguments of the file (options after --)")
    text = "print the laws, their conditions, licences and sources"
    command = commands.add_parser("laws", help=text, description=text)
    command.add_argument("--markdown", action="store_true", help="print the page docs/laws.md: all laws and facts")
    command.add_argument("names", nargs="*", metavar="NAME", help="a law or a ruleset (default: all)")
    text = "attack the laws that a file defines: on their examples, with random values, without each condition"
    command = commands.add_parser("check", help=text, description=text)
    command.add_argument("file", type=Path, metavar="FILE", help="a Python file with laws")
    return parser


def _fail(message: str) -> int:
    print(f"scanopt: {message}", file=sys.stderr)
    return 2


def _laws(names: Sequence[str], markdown: bool) -> int:
    try:
        print(laws_page() if markdown else laws_text(names), end="" if markdown else "\n")
    except ValueError as error:
        return _fail(str(error))
    return 0


def _check(file: Path) -> int:
    """Every attack on every law of a file; the exit status is 1 when one succeeds."""
    status, names = _execute(file, [])
    if status:
        return status
    laws = [x for x in names.values() if isinstance(x, Law)]
    if not laws:
        return _fail(f"{file} defines no law: a function decorated with @scanopt.law(...)")
    executor = importlib.import_module("scanopt.backends").executor("numpy")
    for x in laws:
        attack = Attack(
            x,
            lambda extraction, values: executor.compile(lower(extraction))(values),
            lambda inputs, outputs, values: interpret(list(outputs), dict(zip(inputs, values, strict=True))),
        )
        findings = attack.findings()
        status = max(status, int(bool(findings)))
        print("\n".join(map(str, findings[:_FINDINGS])) or f"{x.name}: stands")
        if len(findings) > _FINDINGS:
            print(f"{x.name}: {len(findings) - _FINDINGS} more findings")
    return status


def _explain(f: Function) -> str:
    return f"{f.explain()}\n\n{summary(f, measure=False)}"


# ---- the user's file ----


def _execute(file: Path, arguments: list[str]) -> tuple[int, dict[str, Any]]:
    """Execute the file as Python itself would: exit status and names; errors are shown from its first line on."""
    argv, path = sys.argv, sys.path
    sys.argv = [str(file), *arguments]
    sys.path = [str(file.resolve().parent), *sys.path]
    try:
        return 0, runpy.run_path(str(file), run_name="__main__")
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return (end.code if isinstance(end.code, int) else int(end.code is not None)), {}
    except Exception as error:
        traceback.print_exception(type(error), error, _own_part(error.__traceback__, str(file)))
        return 1, {}
    finally:
        sys.argv, sys.path = argv, path


def _own_part(frames: TracebackType | None, file: str) -> TracebackType | None:
    """The traceback from the first frame inside the file; None where the file did not even start."""
    while frames is not None and frames.tb_frame.f_code.co_filename != file:
        frames = frames.tb_next
    return frames


def _page(html: Path, number: int, total: int) -> Path:
    """One page per function: report.html, or report-1.html, report-2.html ..."""
    return html if total == 1 else html.with_stem(f"{html.stem}-{number}")


if __name__ == "__main__":
    sys.exit(main())
