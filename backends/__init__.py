"""Executors: what runs a loop program.  Named for where the arrays live."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, Protocol

from scanopt.program.ir import Program

__all__ = ["EXECUTORS", "Compiled", "Executor", "executor"]

EXECUTORS = {"numpy": "scanopt.backends.numpy", "cupy": "scanopt.backends.cupy", "auto": "scanopt.backends.numpy"}
"""The module of each executor, imported when it is first asked for; it holds `make()`."""


class Compiled(Protocol):
    """A program ready to run.  Threads may call it at the same time."""

    @property
    def source(self) -> str:
        """The text that runs, for people."""
        ...

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """The results for a list of arguments."""
        ...


class Executor(Protocol):
    """Compiles programs for the arrays of one module."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def xp(self) -> Any:
        """The array module."""
        ...

    def compile(self, program: Program) -> Compiled:
        """The program made callable."""
        ...


def executor(name: str = "auto") -> Executor:
    """The executor of this name: "numpy", "cupy" or "auto".

    Raises ValueError for another name, RuntimeError when what it needs is missing.

    >>> executor("numpy").name
    'numpy'
    """
    if name not in EXECUTORS:
        near = get_close_matches(str(name), EXECUTORS, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"no executor named {name!r}: there are {', '.join(EXECUTORS)}{hint}")
    made: Executor = importlib.import_module(EXECUTORS[name]).make()
    return made
