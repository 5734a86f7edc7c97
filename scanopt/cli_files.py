"""How commands run a user's file: execute it, collect the functions it compiles, report errors."""

from __future__ import annotations

import importlib
import runpy
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from scanopt.array.shown import shown
from scanopt.compilation.compiled_function import Function, watching
from scanopt.lab import targets
from scanopt.lab.targets import UnknownTargetError

__all__ = ["LONGEST", "compiled_by", "execute", "fail", "outcome", "page_path"]

T = TypeVar("T")

LONGEST = 60.0
"""The most seconds that a user may give to one measurement."""


def fail(message: str) -> int:
    """Print an error message; return the exit status 2."""
    text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in message)
    print(f"scanopt: {text}", file=sys.stderr)
    return 2


def compiled_by(file: Path, arguments: list[str]) -> tuple[int, list[Function]]:
    """Execute a file; return the exit status and the functions that it compiled."""
    if not file.is_file():
        return fail(f"{shown(str(file))}: no such file"), []
    with watching() as made:
        status, _ = execute(file, arguments)
        if status:
            return status, []
        if not made:
            return fail(f"{shown(str(file))} compiled no function: it never called scanopt.function(...)"), []
        return 0, list(made)


def execute(file: Path, arguments: list[str]) -> tuple[int, dict[str, Any]]:
    """Execute `file` as Python would; return exit status and names.  Tracebacks start in the user's code."""
    argv, path = sys.argv, sys.path
    sys.argv = [str(file), *arguments]
    sys.path = [str(file.resolve().parent), *sys.path]
    try:
        status, names = outcome(lambda: runpy.run_path(str(file), run_name="__main__"))
        return status, names or {}
    finally:
        sys.argv, sys.path = argv, path


def outcome(run: Callable[[], T]) -> tuple[int, T | None]:
    """Call `run`, which runs a user's code; return exit status and result, None where it exits or raises."""
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
    """The traceback from the first frame of the user's own code on; None where that code never started."""
    while frames is not None and _runs_files(frames.tb_frame.f_code.co_filename):
        frames = frames.tb_next
    return frames


def _runs_files(file: str) -> bool:
    commands = str(Path(__file__).with_name("cli"))  # cli.py, cli_files.py ...
    return file in (targets.__file__, importlib.__file__) or file.startswith((commands, "<frozen "))


def page_path(html: Path, number: int, total: int) -> Path:
    """The path of one function's page: report.html, or report-1.html, report-2.html ... for several functions."""
    return html if total == 1 else html.with_stem(f"{html.stem}-{number}")
