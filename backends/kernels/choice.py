"""Which loops of a program may run as kernels, decided when its source is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from scanopt.array.types import TensorType
from scanopt.backends.kernels.body import body_of
from scanopt.backends.kernels.compilers import compiler
from scanopt.backends.kernels.nodes import NoForm
from scanopt.backends.kernels.runtime import LoopKernel
from scanopt.program.ir import Loop

__all__ = ["Choice", "LoopReport"]


@dataclass(frozen=True)
class LoopReport:
    """What became of one loop: its kernels as C text, one for each pattern of lengths met, and what is told of them."""

    loop: str
    state: str
    texts: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join([f"loop {self.loop!r}: {self.state}", *self.texts])


@dataclass
class Choice:
    """The kernels of one program.

    always: whether they are waited for.  exact: of the program.  made: by their name in the source; refused: labels of
    loops that have none, with the reasons.
    """

    always: bool
    exact: bool
    made: dict[str, LoopKernel] = field(default_factory=dict[str, LoopKernel])
    refused: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def reports(self) -> tuple[LoopReport, ...]:
        """What became of all loops, those with kernels first."""
        kernels = [LoopReport(k.body.loop.label, k.state(), tuple(k.texts())) for k in self.made.values()]
        return (*kernels, *(LoopReport(label, f"array steps: {reason}") for label, reason in self.refused))

    def call(self, loop: Loop, types: Mapping[str, TensorType], n: str, names: Mapping[str, str]) -> str:
        """The text that calls the kernel of a loop of `n` steps; "" where the loop runs as array steps alone.

        names: in the text, by those of the program.
        """
        made = self.kernel(loop, types)
        if made is None:
            return ""
        args = ", ".join([n, *(names[x] for x in made.body.outer)])
        return f"{made.name}({args}) if {n} >= {made.fewest} else None"

    def kernel(self, loop: Loop, types: Mapping[str, TensorType]) -> LoopKernel | None:
        """The kernel of a loop, which is to be called by its name; None where the loop runs as array steps alone."""
        found = compiler()
        try:
            if isinstance(found, str):
                raise NoForm(found)
            body = body_of(loop, types, self.exact)
        except NoForm as reason:
            self.refused.append((loop.label, str(reason)))
            return None
        made = LoopKernel(f"kernel_{len(self.made)}", body, self.always)
        self.made[made.name] = made
        return made
