"""The loop program: straight-line steps and loops, each name written once.

A name made outside a loop is visible inside it (that is how a non-sequence enters).  A step inside
a loop may be a loop again.  Nothing here refers to the graph or the e-graph it came from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from scanopt import features
from scanopt.array.op import Op
from scanopt.array.types import TensorType
from scanopt.displayed import Displayed
from scanopt.records import dataclass

__all__ = [
    "Branch",
    "CarriedState",
    "Compute",
    "Const",
    "Either",
    "Input",
    "Keep",
    "Loop",
    "Origin",
    "Program",
    "Read",
    "Step",
    "all_steps",
]  # fmt: skip


@dataclass(frozen=True)
class Input:
    """An argument of the program; `label` is the user's name for it, for texts only.

    axes: names of its axes, for messages only; a program that was written to a file has none.
    """

    name: str
    type: TensorType
    label: str = ""
    axes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Const:
    """A fixed array."""

    name: str
    value: np.ndarray[Any, Any]

    @property
    def type(self) -> TensorType:
        """Its type, all axes known."""
        return TensorType(self.value.dtype.name, self.value.shape)


@dataclass(frozen=True)
class Compute:
    """out = op(args)."""

    out: str
    op: Op
    args: tuple[str, ...]
    type: TensorType


@dataclass(frozen=True)
class Either:
    """A result of a branch: out = then or otherwise, values of its two sides.

    `out` is the value itself (it shares its memory).
    """

    out: str
    then: str
    otherwise: str
    type: TensorType


@dataclass(frozen=True)
class Branch:
    """Runs the steps of one of two sides, by a bool scalar; each result is a value of that side.

    Names made by the steps of one side are visible on that side alone.
    """

    condition: str
    then: tuple[Step, ...]
    otherwise: tuple[Step, ...]
    results: tuple[Either, ...]

    @property
    def sides(self) -> tuple[tuple[tuple[Step, ...], tuple[str, ...]], tuple[tuple[Step, ...], tuple[str, ...]]]:
        """The steps and the values of each side, first the one taken where the condition is true."""
        first, second = (tuple(r.then for r in self.results), tuple(r.otherwise for r in self.results))
        return (self.then, first), (self.otherwise, second)


@dataclass(frozen=True)
class Read:
    """At step t, out = source[t]; source has at least as many rows as the loop has steps."""

    out: str
    source: str
    type: TensorType


@dataclass(frozen=True)
class CarriedState:
    """A value carried from step to step.

    init: name of an array with `depth` rows, oldest first.  taps: pairs (k, name): inside the loop,
    `name` is the state k steps ago.  update: the name whose value is the state of this step.
    type: of one row.  label: the user's name, for texts only.
    """

    init: str
    depth: int
    taps: tuple[tuple[int, str], ...]
    update: str
    type: TensorType
    label: str = ""


@dataclass(frozen=True)
class Keep:
    """The rows of a value that are kept after the loop: those of all steps, or the last `rows` of them.

    rows: a number, or the name of one (an int64 scalar, made before the loop).  With fewer steps, as many rows as
    there were steps.  type: of the whole array.  start: an array whose last row is left where there was no step; only
    kernels have it, for one row.
    """

    out: str
    value: str
    rows: int | str | None
    type: TensorType
    start: str | None = None


@dataclass(frozen=True)
class Loop:
    """Runs its body `steps` times (an int64 scalar, not negative).

    until: a name of the body, a bool scalar: after the step where it is true the loop ends.
    profile: titles that its times are measured under.  keep_buffers: arrays that its steps only
    compute in may be kept for the next call of the program.  sites: the user's scans that it runs,
    for messages only; a program that was written to a file has none.
    """

    label: str
    steps: str
    reads: tuple[Read, ...]
    states: tuple[CarriedState, ...]
    body: tuple[Step, ...]
    keeps: tuple[Keep, ...]
    until: str | None = None
    phase: int = 0
    profile: tuple[str, ...] = ()
    keep_buffers: bool = False
    sites: tuple[str, ...] = field(default=(), compare=False, repr=False)


Step = Compute | Loop | Branch


@dataclass(frozen=True)
class Origin:
    """The user's scans that a value belongs to.

    step: scans whose step computes it.  kept: scans that keep it.  read: scans whose steps read it.  behind: scans that
    keep an operand of it.
    """

    step: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Program(Displayed):
    """Inputs, constants, steps in order, and the names that are the results.

    checks: names whose steps must run although no result needs them (lengths of sequences).
    profile: titles of profiled loops that are no longer in the program.
    exact: results must equal those of the program as written bit for bit: see `OpSpec.by_layout`.
    matmul_precision: as config has it.  origins: by name, for messages only; a program that was written to a file has
    none.
    """

    inputs: tuple[Input, ...]
    consts: tuple[Const, ...]
    steps: tuple[Step, ...]
    outputs: tuple[str, ...]
    checks: tuple[str, ...] = ()
    notes: dict[str, str] = field(default_factory=dict[str, str])
    profile: tuple[str, ...] = ()
    exact: bool = False
    matmul_precision: str = "float32"
    origins: dict[str, Origin] = field(default_factory=dict[str, Origin])

    @property
    def short_products(self) -> bool:
        """Whether products of float32 may keep 11 bits of each number on a device."""
        return self.matmul_precision == "tensorfloat32" and not self.exact

    def walk(self) -> Iterator[Step]:
        """All steps, those inside loops after their loop."""
        return all_steps(self.steps)

    def loops(self) -> list[Loop]:
        """All loops, nested ones after the loop that holds them."""
        return [s for s in self.walk() if isinstance(s, Loop)]

    def __str__(self) -> str:
        return features.program_text(self)


def all_steps(steps: Sequence[Step]) -> Iterator[Step]:
    """All steps, those inside a loop or a branch right after it."""
    todo = [*reversed(steps)]
    while todo:
        step = todo.pop()
        yield step
        if isinstance(step, Loop):
            todo += reversed(step.body)
        elif isinstance(step, Branch):
            todo += reversed((*step.then, *step.otherwise))
