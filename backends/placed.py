"""A NumPy program, called with arrays that may be on a device, or that may be moved to one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from scanopt.array.device import CUPY, on_device
from scanopt.backends import CompiledProgram, executor
from scanopt.backends.predicted import Prices, UnknownSizesError, moved_seconds, sizes_of
from scanopt.extraction.cost import NUMPY, CostModel
from scanopt.program.ir import Program

__all__ = ["Placed"]

WORTH = 2e-3
"""So many seconds here are worth asking whether there is a device."""
MARGIN = 2.0
"""So many times faster a call has to be there: predictions are estimates, and the bits of results may differ."""
SIZES, PROGRAMS = 64, 4
"""Of so many sizes it is remembered where calls run, and so many programs for a device are kept."""


class Placed:
    """A program that runs where its arguments are: on a device if one of them is there and `follow` holds.

    Then arguments of the host are moved there, too, if that is predicted to be worth it, transfers counted, unless
    results are to be exact.
    host: it, made for NumPy arrays, whose attributes this has.  model: of its costs there; threads: that it runs on at
    most.  others: programs that compute the same, and may be faster on a device for these arguments.
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
        """What may run calls with these arguments on a device."""
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
            except MemoryError:  # there may be more here
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
        """Where calls ran that are worth the question, and what was predicted."""
        return tuple(dict.fromkeys(choice.text for choice in self._choices.values() if choice.text))

    def _choice(self, values: Sequence[Any]) -> _Choice:
        """Where calls with arguments of these sizes run."""
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
    """What runs calls on a device, None where they run here; and what was predicted."""

    there: Any = None
    text: str = ""


_HERE = _Choice()


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:,.0f} ms" if seconds >= 1e-2 else f"{1e3 * seconds:.2g} ms"
