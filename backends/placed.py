"""Decides where each call of a program runs: by the NumPy executor, or on a device.

Calls with arguments on a device run there.  Calls with arguments on the host are moved to a device where that is
predicted to be at least `MARGIN` times faster, and where results need not be exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from scanopt.array.device import CUPY, on_device
from scanopt.backends import CompiledProgram, executor
from scanopt.backends.predicted import Prices, UnknownSizesError, moved_seconds, sizes_of
from scanopt.extraction.cost import NUMPY, CostModel
from scanopt.program.ir import Program
from scanopt.records import dataclass

__all__ = ["Placed"]

WORTH = 2e-3
"""Seconds predicted on the host from which on a device is considered."""
MARGIN = 2.0
"""How many times faster a call must be on a device: predictions are estimates, and the bits of results may differ."""
SIZES, PROGRAMS = 64, 4
"""The most sizes of arguments for which a choice is remembered; the most programs for a device that are kept."""


class Placed:
    """A program that runs where its arguments are: on a device if one of them is there and `follow` holds.

    With `follow`, and unless results must be exact, a call whose arguments are all on the host also runs on a device if
    that is predicted to be faster, transfers included.

    host: the program compiled for NumPy arrays; this object has its attributes.  model: the cost model of `host`;
    threads: the most threads that it runs on.  others: returns programs that compute the same and may be faster on a
    device, for given arguments.
    """

    def __init__(
        self,
        program: Program,
        host: CompiledProgram,
        follow: bool,
        name: str,
        model: CostModel | None = None,
        threads: int = 1,
        others: Callable[[Sequence[Any]], Sequence[Program]] | None = None,
    ) -> None:
        self.program, self.host, self.follow, self.name = program, host, follow, name
        self.model, self.threads, self.others = model or NUMPY, threads, others
        self.may_move = follow and not program.exact and CUPY.installed
        self._choices: dict[tuple[Any, ...], _Choice] = {}
        self._made: dict[Program, Any] = {}

    @cached_property
    def _there(self) -> Any:
        return executor("cupy").compile(self.program)

    def _runs_there(self, arrays: Sequence[Any]) -> Iterator[Any]:
        """Yield the compiled programs that may run a call with these arguments on a device."""
        yield self._there
        for program in self.others(arrays) if self.others else ():
            if len(self._made) >= PROGRAMS:
                self._made.clear()
            if program not in self._made:
                self._made[program] = executor("cupy").compile(program)
            yield self._made[program]

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """The results for these arguments.

        Raises TypeError for an argument on a device that the program is not to run on, RuntimeError where CuPy or a
        device is missing.
        """
        there: Any = self._choice(values).there if self.may_move else None
        if there is not None:
            try:
                moved: list[Any] = there(values)
            except MemoryError:  # the host may have more
                return self.host(values)
            return moved
        try:
            return self.host(values)
        except TypeError:
            found = [i for i, v in enumerate(values) if on_device(v)]
            if not found:
                raise
        if self.follow:
            found_there: list[Any] = self._there(values)
            return found_there
        x = self.program.inputs[found[0]]
        raise TypeError(
            f"argument {x.label or x.name} lies on a device: backend={self.name!r} takes NumPy arrays; give "
            'backend="cupy" or "auto", or copy it by .get()'
        )

    @property
    def told(self) -> tuple[str, ...]:
        """For the sizes of arguments at which a device was considered: where calls ran, and the predicted times."""
        return tuple(dict.fromkeys(choice.text for choice in self._choices.values() if choice.text))

    def _choice(self, values: Sequence[Any]) -> _Choice:
        """Choose where calls with arguments of these sizes run; the choice is remembered."""
        arrays = [np.asarray(v) for v in values if not on_device(v)]
        if len(arrays) < len(values):
            return _HERE
        key = tuple(x.shape if x.ndim or x.dtype.kind not in "iub" else int(x) for x in arrays)
        if key not in self._choices:
            if len(self._choices) >= SIZES:
                self._choices.clear()
            self._choices[key] = self._compared(arrays)
        return self._choices[key]

    def _compared(self, arrays: Sequence[Any]) -> _Choice:
        try:
            here = Prices(self.model).seconds(self.program.steps, sizes_of(self.program, arrays)) / self.threads
            if here < WORTH:
                return _HERE
            there = [(self._seconds(run, arrays), i, run) for i, run in enumerate(self._runs_there(arrays))]
        except UnknownSizesError:
            return _HERE
        except RuntimeError:  # no device
            self.may_move = False
            return _HERE
        seconds, _, run = min(there)
        moved = seconds * MARGIN < here
        told = f"{'on CuPy' if moved else 'here'}: {_ms(seconds)} predicted on CuPy, {_ms(here)} here"
        return _Choice(run if moved else None, told)

    def _seconds(self, run: Any, arrays: Sequence[Any]) -> float:
        known = sizes_of(run.program, arrays)
        return float(run.predicted(known)) + moved_seconds(run.program, known, run.executor.rates)

    def __getattr__(self, name: str) -> Any:
        if name == "host":
            raise AttributeError(name)
        return getattr(self.host, name)


@dataclass(frozen=True)
class _Choice:
    """The program that runs calls on a device, or None where they run on the host; and the predictions, as text."""

    there: Any = None
    text: str = ""


_HERE = _Choice()


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:,.0f} ms" if seconds >= 1e-2 else f"{1e3 * seconds:.2g} ms"
