"""A NumPy program, called with arrays that may be on a device."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from scanopt.array.device import on_device
from scanopt.backends import CompiledProgram, executor
from scanopt.program.ir import Program

__all__ = ["Placed"]


class Placed:
    """A program that runs where its arguments are: on a device if one of them is there and `follow` holds.

    host: it, made for NumPy arrays, whose attributes this has.
    """

    def __init__(self, program: Program, host: CompiledProgram, follow: bool, name: str) -> None:
        self.program, self.host, self.follow, self.name = program, host, follow, name

    @cached_property
    def _there(self) -> Any:
        return executor("cupy").compile(self.program)

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """The results for these arguments.

        Raises TypeError for an argument on a device that the program is not to run on, RuntimeError where CuPy or a
        device is missing.
        """
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

    def __getattr__(self, name: str) -> Any:
        if name == "host":
            raise AttributeError(name)
        return getattr(self.host, name)
