"""Keeps the scratch arrays of loops from one call to the next, which saves allocating them again.

A value that a loop computes in an array that each step overwrites may be computed in the same array at the next call,
if no name outside the loop refers to that array.  If the arguments of its operator then have other shapes, a new array
is made.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

from scanopt.backends.layout import Layout
from scanopt.program.ir import Compute, Program
from scanopt.program.storage.placement import Root

__all__ = ["Shelf", "kept_buffers"]

Array = Any


def kept_buffers(program: Program, layout: Layout) -> dict[str, int]:
    """The names whose buffers are kept between calls, numbered in the order of the program."""
    keeping = {layout.number[id(loop)] for loop in program.loops() if loop.keep_buffers}
    outside = frozenset[Root]().union(*(layout.holds[x] for x, scope in layout.scope.items() if not scope))
    names = (step.out for step in program.walk() if isinstance(step, Compute) and not step.op.data_shape)
    return {name: i for i, name in enumerate(x for x in names if _is_kept(x, layout, keeping, outside))}


def _is_kept(name: str, layout: Layout, keeping: set[int], outside: frozenset[Root]) -> bool:
    """Whether a name has a buffer that lives as long as the loops around it, and that nothing outside refers to."""
    scope = layout.scope[name]
    return (
        bool(scope)
        and scope[-1] in keeping
        and layout.places[name].kind == "buffer"
        and layout.resets[name] == scope[0]
        and name not in outside
    )


class Shelf(threading.local):
    """The arrays kept between calls, separately for each thread: by number, the array and the shapes that it fits.

    >>> import numpy as np
    >>> shelf, row = Shelf(), np.zeros(3)
    >>> shelf.taken(0, row) is None
    True
    >>> shelf.keep(0, row)
    >>> shelf.taken(0, row) is row, shelf.taken(0, row) is None
    (True, True)
    """

    def __init__(self) -> None:
        self.arrays: dict[int, tuple[tuple[tuple[int, ...], ...], Array]] = {}
        self.wanted: dict[int, tuple[tuple[int, ...], ...]] = {}

    def taken(self, number: int, *args: Array) -> Array | None:
        """Take the array kept for arguments of these shapes, which is then no longer kept; None if there is none."""
        shapes = self.wanted[number] = tuple(x.shape for x in args)
        before, array = self.arrays.pop(number, (None, None))
        return array if before == shapes else None

    def keep(self, number: int, array: Array | None) -> None:
        """Keep an array for arguments of the shapes last given to `taken`; does nothing for None."""
        if array is not None:
            self.arrays[number] = self.wanted[number], array

    def functions(self) -> Iterator[tuple[str, Callable[..., Any]]]:
        """The functions that generated text calls, by name."""
        yield "taken", self.taken
        yield "keep", self.keep
