"""The result of optimizing one function, in figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field

from scanopt.memory import bytes_text
from scanopt.records import dataclass

__all__ = ["Report", "ending"]


@dataclass(frozen=True)
class Report:
    """The figures of one optimization.

    cost_before, cost: by the cost model; bound: no program in the e-graph costs less;
    optimal: the result is proven to be the cheapest; gap: otherwise the part that could still be saved.
    saturated: the laws found nothing new in the end (otherwise stopped_by names the limit that was hit; aside: the laws
    that were stopped earlier because they would have hit the limit of forms).
    seconds: per part of the work; laws: matches per law, law_seconds: seconds per law, where a round took it a
    millisecond or more (`f.growth()` measures each); growth: forms after each round.
    sizes: per input the size that costs were computed for; trips: per loop the number of steps.
    unit: "ns", or "" for a cost model of one's own.
    memory: bytes held at one time at those sizes, beside arguments and constants; budget: the most allowed (inf: any
    number, or what was free, if that was surely enough); fits: whether the program stays within it.
    cached: the program was optimized before, and read from disk; seconds are then those of reading it.
    """

    cost_before: float
    cost: float
    bound: float
    gap: float
    optimal: bool
    method: str
    saturated: bool
    stopped_by: str
    seconds: dict[str, float]
    laws: dict[str, int]
    enodes: int
    eclasses: int
    iterations: int
    growth: tuple[int, ...] = ()
    sizes: dict[str, str] = field(default_factory=dict[str, str])
    unit: str = "ns"
    law_seconds: dict[str, float] = field(default_factory=dict[str, float])
    trips: dict[str, str] = field(default_factory=dict[str, str])
    aside: tuple[str, ...] = ()
    memory: float = 0.0
    budget: float = math.inf
    cached: bool = False

    @property
    def fits(self) -> bool:
        """Whether the program is within the memory budget."""
        return self.memory <= self.budget

    def __str__(self) -> str:
        proof = "proven the cheapest in the e-graph" if self.optimal else f"within {self.gap:.1%}"
        end = ending(self.stopped_by, self.aside)
        over = "" if self.fits else f", more than {bytes_text(self.budget)}: none that was found holds less"
        return (
            f"cost {self.cost_before:.4g} -> {self.cost:.4g} {self.unit or 'units'} ({proof}, {self.method}); "
            f"holds {bytes_text(self.memory)}{over}; "
            f"{self.enodes} e-nodes in {self.eclasses} e-classes, {end}"
            f"{'; optimized before, read from the cache' if self.cached else ''}"
        )


def ending(stopped_by: str, aside: Sequence[str] = ()) -> str:
    """How the laws ended, in words.

    >>> ending(""), ending("nodes"), ending("schedule")
    ('saturated', 'stopped by the limit of nodes', 'stopped at the end of the schedule')
    >>> ending("nodes", ["regrouped"])
    'stopped by the limit of nodes (set aside before: regrouped)'
    """
    if not stopped_by:
        return "saturated"
    text = "stopped at the end of the schedule" if stopped_by == "schedule" else f"stopped by the limit of {stopped_by}"
    return f"{text} (set aside before: {', '.join(aside)})" if aside else text
