"""The executor of CuPy arrays: the same array steps on an NVIDIA GPU."""

from __future__ import annotations

import importlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from scanopt.backends.compiled import Compiled, compile_steps
from scanopt.program.ir import Program

__all__ = ["CuPy", "OnDevice", "make"]

NEEDS = 'backend="cupy" needs CuPy and an NVIDIA GPU: '


@dataclass(frozen=True, eq=False)
class OnDevice:
    """A program on the device: NumPy arguments are copied there.

    Results stay on the device if any argument was there, else they come back as NumPy arrays.
    """

    inner: Compiled

    @property
    def source(self) -> str:
        """The text that runs."""
        return self.inner.source

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """The results for these arguments."""
        xp = self.inner.xp
        results = self.inner(values)
        if any(isinstance(v, xp.ndarray) for v in values):
            return results
        return [xp.asnumpy(r) for r in results]


@dataclass(frozen=True)
class CuPy:
    """Runs programs on CuPy arrays."""

    xp: Any
    name: str = "cupy"

    def compile(self, program: Program) -> OnDevice:
        """The program as array steps."""
        return OnDevice(compile_steps(program, self.xp, lambda op: op.bind(self.xp), self._clock))

    def _clock(self) -> float:
        """The time when the device has done all it was asked for."""
        self.xp.cuda.get_current_stream().synchronize()
        return time.perf_counter()


def make() -> CuPy:
    """The executor.  Raises RuntimeError when CuPy or a GPU is missing."""
    try:
        cupy = importlib.import_module("cupy")
    except ImportError as error:
        raise RuntimeError(NEEDS + f"pip install cupy-cuda13x ({error})") from None
    if not cupy.cuda.is_available():
        raise RuntimeError(NEEDS + "no CUDA device found")
    return CuPy(cupy)
