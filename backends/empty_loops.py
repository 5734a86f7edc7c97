"""Makes the results of a loop that runs no step: arrays without rows, of shapes found without running the body."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scanopt.array.abstract import concrete, concrete_shape
from scanopt.program.ir import Loop
from scanopt.program.shapes import loop_shapes

__all__ = ["no_steps"]


def no_steps(xp: Any, loop: Loop, outer: Sequence[str]) -> Callable[..., list[Any]]:
    """Return a function that, given the values of the names `outer`, returns the empty arrays that the loop keeps."""

    def empty(*values: Any) -> list[Any]:
        arrays = (np.asarray(v) if isinstance(v, int | np.generic) else v for v in values)
        known = {name: concrete(v) for name, v in zip(outer, arrays, strict=True)}
        loop_shapes(loop, known, 0)
        return [xp.empty(concrete_shape(known[k.out].shape), k.type.dtype) for k in loop.keeps]

    return empty
