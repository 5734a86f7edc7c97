"""Writes source text for a state that is read many steps back: its rows are in a ring buffer, a list.

Neither the text nor the time of a step grows with the number of rows, and no row is copied: the row of step t
is at place t, modulo the number of rows.  Rows of steps before the first one are read from the initial rows.
"""

from __future__ import annotations

from collections.abc import Iterator

from scanopt.records import dataclass

__all__ = ["FEW", "Ring"]

FEW = 32
"""Up to this many rows have a name each: moving them on costs less than looking them up."""


@dataclass(frozen=True)
class Ring:
    """Writes the text that reads and writes the rows of one state.

    name: of the list.  count: of rows.  init: name of the initial rows.  t, steps: names of the step's number and of
    the number of steps.
    """

    name: str
    count: int
    init: str
    t: str
    steps: str

    def start(self) -> str:
        """Text before the first step: makes the list, with a place for each row that will be written."""
        return f"{self.name} = [None] * ({self.steps} if {self.steps} < {self.count} else {self.count})"

    def row(self, k: int) -> str:
        """Text for the row of k steps ago."""
        return f"{self._initial(k)} if {self.t} < {k} else {self.name}[({self.t} - {k}) % {self.count}]"

    def write(self, new: str, free: str, spent: bool) -> Iterator[str]:
        """Lines after a step: its row takes the place of the oldest one.

        free: the name under which the oldest row may be overwritten, or "".  spent: initial rows may be overwritten.
        """
        place = f"{self.name}[{self.t} % {self.count}]"
        if free:
            first = f"spare({self._initial(self.count)})" if spent else "None"
            yield f"{free} = {place} if {self.t} >= {self.count} else {first}"
        yield f"{place} = {new}"

    def _initial(self, k: int) -> str:
        return f"{self.init}[{self.t} - {k}]"
