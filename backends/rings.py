"""The rows of a state that looks far back, in generated text: a list, as a ring, and the initial rows beside it.

Neither the text nor the time of a step grows with the number of rows, and no row is copied: the row of step t
is at place t, modulo the number of rows.  Rows of steps before the first one are initial rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["FEW", "Ring"]

FEW = 32
"""So many rows have a name each: to move them on costs less than to look them up."""


@dataclass(frozen=True)
class Ring:
    """Text about the rows of one state.

    name: of the list.  count: of rows.  init: the initial rows.  t, steps: the number of the step, and of all.
    """

    name: str
    count: int
    init: str
    t: str
    steps: str

    def start(self) -> str:
        """Before the first step: room for the rows that will be written."""
        return f"{self.name} = [None] * ({self.steps} if {self.steps} < {self.count} else {self.count})"

    def row(self, k: int) -> str:
        """The row of k steps ago."""
        return f"{self._initial(k)} if {self.t} < {k} else {self.name}[({self.t} - {k}) % {self.count}]"

    def write(self, new: str, free: str, spent: bool) -> Iterator[str]:
        """After a step: its row takes the place of the oldest one.

        free: what that one is called from then on, or "".  spent: an initial row may be written to too.
        """
        place = f"{self.name}[{self.t} % {self.count}]"
        if free:
            first = f"spare({self._initial(self.count)})" if spent else "None"
            yield f"{free} = {place} if {self.t} >= {self.count} else {first}"
        yield f"{place} = {new}"

    def _initial(self, k: int) -> str:
        return f"{self.init}[{self.t} - {k}]"
