"""A NumPy program, called with arrays that may be on a device, or that may be moved to one."""

from __future__ import annotations

from collections.abc import Sequence
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
SIZES = 64
"""Of so many sizes it is remembered where calls run."""


class Placed:
    """A program that runs where its arguments are: on a device if one of them is there and `follow` holds.

    Then arguments of the host are moved there, too, if that is predicted to be worth it, transfers counted, unless
    results are to be exact.
    host: it, made for NumPy arrays, whose attributes this has.  model: of its costs there; threads: that it runs on at
    most.
    """

    def __init__(
        self,
        program: Program,
        host: CompiledProgram,
        follow: bool,
        name: str,
        model: CostModel | None = None,
        threads: int = 1,
    ) -> None:
        self.program, self.host, self.follow, self.name = program, host, follow, name
        self.model, self.threads = model or NUMPY, threads
        self.may_move = follow and not program.exact and CUPY.installed
        self._choices: dict[tuple[Any, ...], _Choice] = {}

    @cached_property
    def _there(self) -> Any:
        return executor("cupy").compile(self.program)

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """The results for these arguments.

        Raises TypeError for an argument on a device that the program is not to run on, RuntimeError where CuPy or a
        device is missing.
        """
        if self.may_move and self._moves(values):
            try:
                moved: list[Any] = self._there(values)
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
            there: list[Any] = self._there(values)
            return there
        x = self.program.inputs[found[0]]
        raise TypeError(
            f"argument {x.label or x.name} lies on a device: backend={self.name!r} takes NumPy arrays; give "
            'backend="cupy" or "auto", or copy it by .get()'
        )

    @property
    def told(self) -> tuple[str, ...]:
        """Where calls ran that are worth the question, and what was predicted."""
        return tuple(dict.fromkeys(choice.text for choice in self._choices.values() if choice.text))

    def _moves(self, values: Sequence[Any]) -> bool:
        """Whether arguments of these sizes are moved to the device."""
        arrays = [np.asarray(v) for v in values if not on_device(v)]
        if len(arrays) < len(values):
            return False
        key = tuple(x.shape if x.ndim or x.dtype.kind not in "iub" else int(x) for x in arrays)
        if key not in self._choices:
            if len(self._choices) >= SIZES:
                self._choices.clear()
            self._choices[key] = self._chosen(arrays)
        return self._choices[key].moved

    def _chosen(self, arrays: Sequence[Any]) -> _Choice:
        """Where calls with these arguments run."""
        try:
            known = sizes_of(self.program, arrays)
            here = Prices(self.model).seconds(self.program.steps, known) / self.threads
            if here < WORTH:
                return _HERE
            there = self._there.predicted(known) + moved_seconds(self.program, known)
        except UnknownSizesError:
            return _HERE
        except RuntimeError:  # no device
            self.may_move = False
            return _HERE
        moved = there * MARGIN < here
        return _Choice(moved, f"{'on CuPy' if moved else 'here'}: {_ms(there)} predicted on CuPy, {_ms(here)} here")

    def __getattr__(self, name: str) -> Any:
        if name == "host":
            raise AttributeError(name)
        return getattr(self.host, name)


@dataclass(frozen=True)
class _Choice:
    """Whether arguments are moved to the device, and what was predicted."""

    moved: bool
    text: str = ""


_HERE = _Choice(False)


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:,.0f} ms" if seconds >= 1e-2 else f"{1e3 * seconds:.2g} ms"
