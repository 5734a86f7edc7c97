"""Executors: they compile a loop program (`scanopt.program`) into a callable.

An executor is named after the place of its arrays ("numpy", "cupy") or after what it compiles loops to ("c", "auto").
All of them give the results of array steps.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, Protocol

from scanopt.program.ir import Program

__all__ = ["EXECUTORS", "CompiledProgram", "Executor", "executor"]

EXECUTORS = {
    "auto": "scanopt.backends.kernels.executor:adaptive",
    "numpy": "scanopt.backends.numpy:make",
    "c": "scanopt.backends.kernels.executor:always",
    "cupy": "scanopt.backends.cupy:make",
}
"""Where each executor is made: "module:function".  The module is imported when its executor is first requested."""


class CompiledProgram(Protocol):
    """A program ready to run.  Threads may call it at the same time."""

    @property
    def source(self) -> str:
        """The source text, for readers."""
        ...

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """Run the program on a list of arguments; return the list of its results."""
        ...


class Executor(Protocol):
    """Compiles programs for the arrays of one module."""

    @property
    def name(self) -> str:
        """The name by which users request this executor."""
        ...

    @property
    def xp(self) -> Any:
        """The array module."""
        ...

    def compile(self, program: Program) -> CompiledProgram:
        """Compile the program."""
        ...


def executor(name: str = "auto") -> Executor:
    """Return the executor of this name.

    "numpy": array steps.  "auto": array steps, and a kernel in C for each loop that has one and takes long, where there
    is a compiler.  "c": a kernel for each loop that has one; the first call waits for it.  "cupy": steps on a device.

    Raises ValueError for another name, RuntimeError when what it needs is missing.

    >>> executor("numpy").name
    'numpy'
    """
    if name not in EXECUTORS:
        near = get_close_matches(str(name), EXECUTORS, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"no executor named {name!r}: there are {', '.join(EXECUTORS)}{hint}")
    module, _, make = EXECUTORS[name].partition(":")
    made: Executor = getattr(importlib.import_module(module), make)()
    return made
