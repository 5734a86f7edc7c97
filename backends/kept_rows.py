"""Collects the rows that a loop keeps when it runs some steps at a time (`captured_loops.py`), by copying them.

All rows or the last ones are kept, in a loop whose number of steps is known or in one that may end early.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from scanopt.backends.captured_steps import StepsProgram
from scanopt.program.ir import Loop

__all__ = ["KeptRows"]

Array = Any


class _Rows(Protocol):
    """Collects the rows of one value."""

    def add(self, rows: Array, taken: int) -> None:
        """Add the rows, all or only the last ones, of the next `taken` steps."""
        ...

    def result(self) -> Array:
        """Return the rows kept, in memory that no graph writes to."""
        ...


class KeptRows:
    """Collects all that a loop of at most n steps keeps.  outer: values from outside the loop, by name.

    taken: the number of steps so far; ended: whether the loop has ended early.
    """

    def __init__(self, loop: Loop, steps: StepsProgram, xp: Any, n: int, outer: Mapping[str, Array]) -> None:
        self.xp, self.steps, self.taken, self.ended = xp, steps, 0, False
        counts = [int(outer[k.rows]) if isinstance(k.rows, str) else k.rows for k in loop.keeps]
        if steps.until is None:
            self.each: list[_Rows] = [_KnownRows(xp, n, n if count is None else min(n, count)) for count in counts]
        else:
            self.each = [_AllRows(xp, n) if count is None else _LastRows(xp, count) for count in counts]

    def add(self, found: Sequence[Array], count: int) -> Sequence[Array]:
        """Add the results of the next `count` steps; return those that are states."""
        if self.steps.until is not None:
            ends = np.flatnonzero(self.xp.asnumpy(found[self.steps.until]))
            self.ended = bool(ends.size)
            count = int(ends[0]) + 1 if self.ended else count
        self.taken += count
        for place, rows in zip(self.steps.kept, self.each, strict=True):
            rows.add(found[place], count)
        return found[self.steps.states :]

    def results(self) -> list[Array]:
        """Return the rows of each value that the loop keeps."""
        return [rows.result() for rows in self.each]


class _KnownRows:
    """Collects the last `wanted` rows of n steps."""

    def __init__(self, xp: Any, n: int, wanted: int) -> None:
        self.xp, self.wanted, self.stop = xp, wanted, wanted - n
        self.made: Array = None

    def add(self, rows: Array, taken: int) -> None:
        if self.made is None:
            self.made = self.xp.empty((self.wanted, *rows.shape[1:]), rows.dtype)
        self.stop += taken
        if self.stop > 0:
            new = min(self.stop, taken)
            self.made[self.stop - new : self.stop] = rows[len(rows) - new :]

    def result(self) -> Array:
        return self.made


class _AllRows:
    """Collects all rows of at most n steps, in an array that grows."""

    def __init__(self, xp: Any, n: int) -> None:
        self.xp, self.n, self.count = xp, n, 0
        self.made: Array = None

    def add(self, rows: Array, taken: int) -> None:
        before, self.count = self.count, self.count + taken
        if self.made is None or len(self.made) < self.count:
            more = self.xp.empty((max(self.count, min(2 * before, self.n)), *rows.shape[1:]), rows.dtype)
            if before:
                more[:before] = self.made[:before]
            self.made = more
        self.made[before : self.count] = rows[:taken]

    def result(self) -> Array:
        return self.made if len(self.made) == self.count else self.made[: self.count].copy()


class _LastRows:
    """Collects the last `wanted` rows of a number of steps that is not known before."""

    def __init__(self, xp: Any, wanted: int) -> None:
        self.xp, self.wanted = xp, wanted
        self.made: Array = None

    def add(self, rows: Array, taken: int) -> None:
        new = rows[max(taken - self.wanted, 0) : taken]
        old = 0 if self.made is None else min(self.wanted - len(new), len(self.made))
        self.made = self.xp.concatenate([self.made[len(self.made) - old :], new]) if old else self.xp.array(new)

    def result(self) -> Array:
        return self.made
