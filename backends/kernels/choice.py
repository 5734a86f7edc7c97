"""Decides, when the source of a program is written, which of its loops, or whether all of it, may be a kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from scanopt.array.types import TensorType
from scanopt.backends.kernels.bodies import Body
from scanopt.backends.kernels.body import body_of
from scanopt.backends.kernels.compilers import compiler
from scanopt.backends.kernels.loop_report import LoopReport
from scanopt.backends.kernels.nodes import NoForm, NoOrder
from scanopt.backends.kernels.runtime import LoopKernel
from scanopt.backends.kernels.segments import OVERHEAD, Segment, Segmenter, SegmentKernel
from scanopt.backends.kernels.whole import ProgramKernel, program_body
from scanopt.backends.kernels.workers import Threads
from scanopt.program.ir import Loop, Program, Step
from scanopt.records import dataclass

__all__ = ["Choice"]


@dataclass
class Choice:
    """The kernels of one program.

    always: whether calls wait for kernels to be compiled.  exact: whether arguments of array steps lie in C order.
    may_be_one: whether one kernel may be the whole program.  threads: the threads that kernels may run on.

    made: kernels of loops and of segments, by their name in the source; refused: labels of loops without a kernel, with
    the reasons.  whole: the kernel of the program, or why it has none.
    """

    always: bool
    exact: bool
    may_be_one: bool = True
    threads: Threads = field(default_factory=Threads)
    made: dict[str, LoopKernel | SegmentKernel[LoopKernel]] = field(default_factory=dict[str, Any])
    refused: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    whole: ProgramKernel | str = "not asked for"

    def reports(self, program: Program) -> tuple[LoopReport, ...]:
        """The outcome for each loop, those with kernels first; or for the whole program, where it is one kernel."""
        if isinstance(self.whole, ProgramKernel):
            found = self.whole.planner.report(program)
            if found.state.endswith("compiled"):
                return (found,)
        kernels = [k.planner.report(program) for k in self.kernels]
        return (*kernels, *(LoopReport(label, f"array steps: {reason}") for label, reason in self.refused))

    @property
    def kernels(self) -> list[LoopKernel]:
        """The kernels of loops and of segments."""
        return [k.loop if isinstance(k, SegmentKernel) else k for k in self.made.values()]

    def of_program(self, program: Program, types: Mapping[str, TensorType]) -> None:
        """Look for a kernel of the whole program."""
        if isinstance(compiler(), str) or program.profile or not self.may_be_one:
            return
        try:
            body = self._body(program, types)
        except NoForm as reason:
            self.whole = str(reason)
            return
        constants = {c.name: np.array(c.value, order="C") for c in program.consts}
        self.whole = ProgramKernel(body, self.always, tuple(x.name for x in program.inputs), constants, self.threads)

    def _body(self, program: Program, types: Mapping[str, TensorType]) -> Body:
        """Read the body of a program; array steps that round by memory layout get arguments in C order (`exact`)."""
        try:
            return program_body(program, types, self.exact)
        except NoOrder:
            body = program_body(program, types, exact=True)
            self.exact = True
            return body

    def call(
        self,
        loop: Loop,
        types: Mapping[str, TensorType],
        n: str,
        names: Mapping[str, str],
        length: Callable[[str], str],
    ) -> str:
        """The text that calls the kernel of a loop of `n` steps; "" where the loop has only array steps.

        names: in the text, by those of the program.  length: the text of a number that the host reads.
        """
        made = self.kernel(loop, types)
        if made is None:
            return ""
        args = ", ".join([n, *(names[x] for x in made.body.outer)])
        return f"{made.name}({args}) if {n} >= {made.fewest} else None"

    def segments(
        self, steps: Sequence[Step], types: Mapping[str, TensorType], last_use: Mapping[str, int]
    ) -> list[Segment]:
        """Find the segments among some steps outside loops."""
        if isinstance(self.whole, ProgramKernel) or isinstance(compiler(), str) or not self.may_be_one:
            return []
        return list(Segmenter(types, last_use, self.exact).segments(steps))

    def segment_kernel(self, body: Body) -> str:
        """Make the kernel of a part of a segment; return its name in the source."""
        name = f"kernel_{len(self.made)}"
        overhead = 0.0 if self.always else OVERHEAD
        self.made[name] = SegmentKernel(LoopKernel(name, body, self.always, self.threads), body.size, overhead)
        return name

    def kernel(self, loop: Loop, types: Mapping[str, TensorType]) -> LoopKernel | None:
        """Make the kernel of a loop, which the source calls by its name; None where the loop has only array steps."""
        found = compiler()
        try:
            if isinstance(found, str):
                raise NoForm(found)
            body = body_of(loop, types, self.exact)
        except NoForm as reason:
            self.refused.append((loop.label, str(reason)))
            return None
        made = LoopKernel(f"kernel_{len(self.made)}", body, self.always, self.threads)
        self.made[made.name] = made
        return made
