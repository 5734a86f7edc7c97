"""The executors that run loops as kernels where they can, on NumPy arrays."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from scanopt.backends.kernels.compilers import compiler
from scanopt.backends.kernels.prices import KERNELS
from scanopt.backends.kernels.workers import Threads
from scanopt.extraction.cost import CostModel
from scanopt.program.ir import Program
from scanopt.records import dataclass

if TYPE_CHECKING:
    from scanopt.backends.compiled import Compiled

__all__ = ["Kernels", "adaptive", "always"]


@dataclass(frozen=True)
class Kernels:
    """Runs programs on NumPy arrays, loops as kernels.

    always: wait for kernels, however short a loop is; else they are compiled in the background for loops that take
    long. whole: whether a whole program may be one kernel.  threads: the most threads that a kernel may run on; None:
    as many as there are processors.
    """

    name: str
    always: bool
    whole: bool = True
    threads: int | None = None

    @property
    def description(self) -> str:
        """A description of the executor; if there is no compiler, why kernels are not used."""
        found = compiler()
        if isinstance(found, str):
            return f"array steps on NumPy: {found}"
        when = "loops" if self.always else "loops that take long"
        shared = "" if self.limit < 2 else f", on up to {self.limit} threads"
        return f"array steps on NumPy, {when} as kernels compiled by {found.name}{shared}"

    @property
    def cost(self) -> CostModel | None:
        """The cost model of the executor; None, as for array steps, if there is no compiler."""
        return None if isinstance(compiler(), str) else KERNELS

    @property
    def limit(self) -> int:
        """The most threads on which programs run."""
        return Threads(self.threads).limit()

    def on_threads(self, count: int | None) -> Kernels:
        """The same executor on at most this many threads; None for the number of processors."""
        return replace(self, threads=count)

    @property
    def xp(self) -> Any:
        """NumPy."""
        return np

    def load(self) -> None:
        """Import what `compile` needs, and kernels, so that it can be done while something else starts."""
        from scanopt.backends import compiled  # noqa: F401
        from scanopt.backends.kernels import choice, planner  # noqa: F401

    def compile(self, program: Program) -> Compiled:
        """Compile the program as array steps and kernels.

        Raises ValueError when the program contradicts itself, as with a state whose update has another dtype.
        """
        from scanopt.backends.compiled import compile_steps
        from scanopt.backends.kernels.choice import Choice
        from scanopt.backends.numpy import bind

        return compile_steps(
            program, np, bind, choice=Choice(self.always, program.exact, self.whole, Threads(self.threads, self.always))
        )


def adaptive() -> Kernels:
    """Make the executor "auto"; it runs only array steps if there is no compiler."""
    return Kernels("auto", always=False)


def always() -> Kernels:
    """Make the executor "c".  Raises RuntimeError if there is no compiler."""
    found = compiler()
    if isinstance(found, str):
        raise RuntimeError(f"backend 'c': {found}")
    return Kernels("c", always=True)
