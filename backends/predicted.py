"""Predicts the seconds of a call, on the host or on a device, by a cost model and for the sizes of its arguments.

Of a branch whose condition is not known beforehand the slower side counts.  Where a length or a number of steps depends
on values that are only known when the program runs, nothing is predicted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from scanopt.array.abstract import concrete
from scanopt.array.op import Operand
from scanopt.extraction.cost import CostModel, Work
from scanopt.extraction.device_rates import DeviceRates
from scanopt.program.ir import Branch, Compute, Loop, Program, Step
from scanopt.program.shapes import shapes
from scanopt.records import dataclass

__all__ = ["Known", "LoopPrice", "Prices", "UnknownSizesError", "moved_seconds", "sizes_of"]

Known = Mapping[str, Operand]
LoopPrice = Callable[[Loop, int, Known], float | None]
"""Predicts the seconds of a loop of a number of steps; None: price each operator of each step by the model."""


class UnknownSizesError(Exception):
    """A length or a number of steps is only known when the program runs."""


def sizes_of(program: Program, values: Sequence[Any]) -> Known:
    """Find the shapes of all names of a program for these arguments, and the numbers that shapes depend on.

    Raises UnknownSizesError where the arguments do not fit.
    """
    known: dict[str, Operand] = {c.name: concrete(c.value) for c in program.consts}
    for x, value in zip(program.inputs, values, strict=True):
        array = np.asarray(value)
        number = not array.ndim and array.dtype.kind in "iub"
        known[x.name] = Operand(x.type.dtype, array.shape, array.astype(x.type.dtype) if number else None)
    try:
        shapes(program.steps, known)
    except (TypeError, ValueError, IndexError) as error:
        raise UnknownSizesError(str(error)) from None
    return known


def moved_seconds(program: Program, known: Known, rates: DeviceRates) -> float:
    """Predict the seconds for moving the arguments to a device of these rates, and the results back."""
    names = (*(x.name for x in program.inputs), *program.outputs)
    return sum(rates.array + _bytes(known[name]) / rates.moved for name in names)


def _bytes(x: Operand) -> float:
    if None in x.shape:
        raise UnknownSizesError("a length")
    return float(prod(n or 0 for n in x.shape)) * np.dtype(x.dtype).itemsize


@dataclass(frozen=True)
class Prices:
    """Predicts seconds by a cost model, whose prices are nanoseconds.  loop: predicts whole loops, where it can."""

    model: CostModel
    loop: LoopPrice = lambda loop, n, known: None

    def seconds(self, steps: Sequence[Step], known: Known) -> float:
        """Predict the seconds of some steps.  Raises UnknownSizesError."""
        try:
            return sum(self._step(step, known) for step in steps)
        except KeyError as name:  # a name on a side of a branch whose shapes do not fit
            raise UnknownSizesError(f"the shape of {name}") from None

    def _step(self, step: Step, known: Known) -> float:
        if isinstance(step, Compute):
            return self._price(step, known)
        if isinstance(step, Branch):
            test = known[step.condition].value
            sides = [step.then, step.otherwise] if test is None else [step.then if test else step.otherwise]
            return max(self.seconds(side, known) for side in sides)
        count = known[step.steps].value
        if count is None:
            raise UnknownSizesError(f"the number of steps of loop {step.label}")
        own = self.loop(step, int(count), known)
        return int(count) * self.one_step(step, known) if own is None else own

    def one_step(self, loop: Loop, known: Known) -> float:
        """Predict the seconds of one step of a loop."""
        model = self.model
        rows = [Work("seq", None, (known[r.source],), known[r.out]) for r in loop.reads]
        kept = [Work("stack" if k.rows is None else "tail", None, (), known[k.value]) for k in loop.keeps]
        around = sum(map(model, (Work("step"), *rows, *kept))) * 1e-9
        return around + self.seconds(loop.body, known)

    def _price(self, step: Compute, known: Known) -> float:
        operands = [known[name] for name in (*step.args, step.out)]
        if any(None in x.shape for x in operands):
            raise UnknownSizesError(f"a length of {step.out}")
        return 1e-9 * self.model(Work("apply", step.op, tuple(operands[:-1]), operands[-1]))
