"""Makes a whole program one kernel: its loops and everything around them run in one call.

The program is treated as the body of a loop of one step that keeps its results, so it may contain all that the kernel
of a loop may.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from scanopt.array.types import TensorType
from scanopt.backends.kernels.bodies import MOST_ROOM, Body, walk
from scanopt.backends.kernels.body import body_of
from scanopt.backends.kernels.compilers import LONGEST
from scanopt.backends.kernels.ir import Lit
from scanopt.backends.kernels.loop_report import ONCE
from scanopt.backends.kernels.nodes import Nested
from scanopt.backends.kernels.plan_cache import PLANS, Key
from scanopt.backends.kernels.prices import MOST_SCRATCH
from scanopt.backends.kernels.runtime import WORTH, Planned
from scanopt.backends.kernels.workers import Threads
from scanopt.program.ir import Keep, Loop, Program, Step
from scanopt.records import dataclass

if TYPE_CHECKING:
    from scanopt.backends.kernels.entry import Entry
    from scanopt.backends.kernels.plans import Plan

__all__ = ["ProgramKernel", "program_body", "single_step"]

Array = np.ndarray[Any, Any]


def program_body(program: Program, types: Mapping[str, TensorType], exact: bool) -> Body:
    """Read a program as the body of a loop of one step.  types: of all its names.  exact: whether all
    arguments of array steps lie in C order.  Raises NoForm."""
    loop, known = single_step(program.steps, program.outputs, types, ONCE)
    numbers = {c.name: Lit(c.value.item(), c.type.dtype) for c in program.consts if not c.type.ndim and _tells(c.value)}
    return replace(body_of(loop, known, exact, whole=True), numbers=numbers)


def _tells(value: Array) -> bool:
    """Whether compilers can use the value of a constant: an integer, a power of two, 0 or an infinity.

    All other constants are arguments of the kernel, so that programs that differ only in these share one.
    """
    kind = value.dtype.kind
    return kind in "iu" or (kind == "f" and (not np.isfinite(value) or abs(np.frexp(value)[0]) in (0.0, 0.5)))


def single_step(
    steps: tuple[Step, ...], results: Sequence[str], types: Mapping[str, TensorType], label: str
) -> tuple[Loop, dict[str, TensorType]]:
    """A loop of one step that runs some steps and keeps their results, and the types of all names."""
    keeps = tuple(
        Keep(f"{i}#out", name, 1, TensorType(types[name].dtype, (1, *types[name].shape)))
        for i, name in enumerate(results)
    )
    known = {**types, ONCE: TensorType("int64", ()), **{k.out: k.type for k in keeps}}
    return Loop(label, ONCE, (), (), steps, keeps), known


@dataclass
class ProgramKernel(Planned):
    """The kernel of one program.

    always: whether the first call waits for it.  constants: by name.  inputs: names of the arguments, in order.

    kept: for each thread, its scratch memory, if loops keep their buffers for the next call.
    """

    body: Body
    always: bool
    inputs: tuple[str, ...]
    constants: Mapping[str, Array]
    threads: Threads = field(default_factory=Threads)
    spent: float = 0.0
    entries: list[Entry] = field(default_factory=list)

    def __post_init__(self) -> None:
        places = {name: i for i, name in enumerate(self.inputs)}
        self._outer = [(places.get(name, -1), self.constants.get(name)) for name in self.body.outer]
        loops = [n.loop for n in walk(self.body.root.nodes) if isinstance(n, Nested)]
        self.kept = threading.local() if any(x.keep_buffers for x in loops) else None
        self._counts = [i for i, name in enumerate(self.body.outer) if name in self.body.counts]

    def __call__(self, values: Sequence[Any]) -> list[Array] | None:
        """Run the program on arguments of the dtypes of its inputs; return its results, or None for array steps."""
        if not self.always and self.spent < WORTH:
            return None
        try:
            return self._called(values)
        except (MemoryError, OSError, ArithmeticError, TypeError, ValueError):
            return None

    def _called(self, values: Sequence[Any]) -> list[Array] | None:
        arrays: list[Array] = [c if c is not None else np.asarray(values[i]) for i, c in self._outer]
        key = tuple([x.shape for x in arrays]), tuple([int(arrays[i]) for i in self._counts])
        if key not in self.planner.plan and len(self.planner.plan) >= PLANS:
            return None  # shapes change with every call; kernels of loops need one plan for many numbers of steps
        plan = self.planner.plan(key)
        if plan is None or plan.size > MOST_SCRATCH:
            return None
        function = plan.variant.compiled(LONGEST if self.always else 0.0)
        if not function:
            return None
        found = plan.run(function, 1, arrays, self.kept)
        if found is None:
            return self._called(values) if plan.short and self._widened(key, plan) else None
        quick = self.kept is None and not plan.open and (plan.parted is None or plan.parted.count(1) == 1)
        for entry in self.entries if quick else ():
            entry.add(plan, function, values, self._outer)
        return [x.reshape(x.shape[1:]) for x in found]

    def _widened(self, key: Key, plan: Plan) -> bool:
        """Whether there can be more room for the rows of the loop that may end early."""
        room = self.planner.body.room
        if room >= MOST_ROOM:
            return False
        self.planner.body = replace(self.planner.body, room=8 * room)
        self.planner.plan.forget(key)
        for entry in self.entries:
            entry.drop(plan)
        return True
