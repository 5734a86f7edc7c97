"""The programs of one function: for each region (the sizes of one order of magnitude) the cheapest program there.

Which program runs depends on the sizes of a call alone, and never on earlier calls: a program is chosen for the rounded
sizes of a region, not for those of the first call in it, and a program that was dropped is found again unchanged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scanopt.compilation.alternatives import Alternatives
from scanopt.compilation.magnitudes import Region
from scanopt.compilation.planning import OptimizationPlan
from scanopt.egraph.engine_memory import available
from scanopt.forks import lock, once
from scanopt.pauses import without_collections
from scanopt.program.ir import Program
from scanopt.records import dataclass

if TYPE_CHECKING:
    from scanopt.extraction.cost import CostModel
    from scanopt.extraction.extract import Extraction
    from scanopt.extraction.resizing import Chosen

__all__ = ["ProgramForSizes", "Regions", "kernels_of"]

PROGRAMS = 8
"""The most compiled programs that are kept beside the first one."""
CALLS, REGIONS = 64, 256
"""The most sizes of calls, and the most regions, whose programs are remembered."""


_Parts = frozenset[Any]
_FIRST: _Parts = frozenset()
"""Stands for the parts of the first program, whose forms may not have been read yet."""


@dataclass(frozen=True)
class ProgramForSizes:
    """A program of a function, and the sizes for which it runs.

    regions: for each region its rounded sizes, by input; none if the program runs at all sizes.  cost: by the cost
    model, in the first region; None if it is not known.  kernels: what became of its loops, see `f.kernels`.
    """

    program: Program
    regions: tuple[Mapping[str, str], ...]
    cost: float | None
    kernels: tuple[Any, ...] = ()

    def __str__(self) -> str:
        sizes = [", ".join(f"{name} {size}" for name, size in region.items()) for region in self.regions]
        where = f"for sizes near {'; '.join(sizes)}" if sizes else "for all sizes"
        cost = "" if self.cost is None else f": cost {self.cost:.4g}"
        return f"{where}{cost}\n{self.program}"


@dataclass(frozen=True)
class _Made:
    """A program that was made, its callable, and its cost in the region that it was made for."""

    program: Program
    run: Any
    cost: float


class Regions:
    """The programs of a function, chosen by the sizes of calls.

    among: the forms that programs are chosen from.  plan: has the cost model, the memory limit and the labels of
    inputs.  first: the program for the example or the assumed sizes, its callable, and its cost.  lowered, compiled:
    make a program of an extraction, and make it callable.
    """

    def __init__(
        self,
        among: Alternatives,
        plan: OptimizationPlan,
        first: tuple[Program, Any, float],
        lowered: Callable[[Extraction], Program],
        compiled: Callable[[Program], Any],
    ) -> None:
        self.magnitudes = among.magnitudes
        self._among, self._plan = among, plan
        self._lowered, self._compiled = lowered, compiled
        self._first = _Made(*first)
        self._lock = lock()
        self._entry: Any = None
        self._exactly: dict[tuple[Any, ...], Any] = {}
        self._chosen: dict[Region, _Parts] = {}
        self._made: dict[_Parts, _Made] = {_FIRST: self._first}
        self._there: dict[Region, tuple[Program, ...]] = {}

    @once
    def _budget(self) -> float:
        """The bytes that a program may hold."""
        limit = self._plan.settings.memory
        return max(available() if limit is None else limit, 1.0)

    def program_for(self, values: Sequence[Any]) -> Any:
        """The callable of the program for a call with these arguments."""
        known = self.magnitudes
        exactly = known.exactly(values)
        if (run := self._exactly.get(exactly)) is None:
            run = self._found(known.region(values))
            if len(self._exactly) >= CALLS:
                self._exactly.clear()
            self._exactly[exactly] = run
        return run

    def share(self, entry: Any) -> None:
        """Let calls of all programs go through one quick entry."""
        entry.limits = self._limits
        self._entry = entry

    def _limits(self, values: Sequence[Any]) -> dict[int, tuple[int, int]]:
        """For each number, by its argument's position, the range in which calls of equal lengths run one program."""
        return self.magnitudes.limits(values)

    def _found(self, region: Region) -> Any:
        with self._lock:
            if region == self._home:
                return self._first.run
            parts = self._chosen.get(region)
            if parts is None or parts not in self._made:
                parts = self._make(region)
            return self._made[parts].run

    @once
    def _home(self) -> Region:
        """The region of the sizes that the first program is for."""
        own = [self._among.own[f"{i}"] for i in range(len(self._among.own))]
        return self.magnitudes.region([x if x.value is None else x.value for x in own])

    def for_device(self, values: Sequence[Any]) -> tuple[Program, ...]:
        """The cheapest program by the costs of a device, for the sizes of a call; none if that is the first one."""
        from scanopt.extraction.device_rates import costs_on_device, rates_of_device

        region = self.magnitudes.region(values)
        with self._lock:
            if region not in self._there:
                found, parts = self._choose(region, costs_on_device(rates_of_device()), math.inf)
                if len(self._there) >= PROGRAMS:
                    self._there.clear()
                self._there[region] = () if found is None or parts is _FIRST else (self._lowered(found),)
            return self._there[region]

    def runs(self) -> tuple[Any, ...]:
        """The callables of the programs that were made so far."""
        with self._lock:
            return tuple(made.run for made in self._made.values())

    def programs(self) -> tuple[ProgramForSizes, ...]:
        """The programs that were made so far, the first one first, each with the regions that asked for it."""
        with self._lock:
            made, chosen = dict(self._made), dict(self._chosen)
            regions = {parts: [self._home] * (m is self._first) for parts, m in made.items()}
        for region, parts in chosen.items():
            if parts in regions:
                regions[parts].append(region)
        return tuple(
            ProgramForSizes(m.program, tuple(map(self._shown, regions[parts])), m.cost, kernels_of(m.run))
            for parts, m in made.items()
        )

    def _shown(self, region: Region) -> dict[str, str]:
        """The rounded sizes of a region, by input, as text."""
        found = self.magnitudes.operands(region, self._among.own)
        labels = self._plan.program.input_labels
        counted = {*self.magnitudes.numbers, *self.magnitudes.shaped}
        return {
            labels.get(key) or f"input {key}": str(list(x.shape)) if x.value is None else f"= {x.value}"
            for key, x in found.items()
            if int(key) in counted
        }

    @without_collections()
    def _make(self, region: Region) -> _Parts:
        """Choose the program of a region, and compile it unless that was done before."""
        found, parts = self._choose(region, self._plan.settings.cost, self._budget)
        if found is not None and parts not in self._made:
            program = self._lowered(found)
            self._forget()
            run = self._compiled(program)
            if self._entry is not None and hasattr(run, "enter"):
                run.enter(self._entry)
            self._made[parts] = _Made(program, run, found.cost)
        if len(self._chosen) >= REGIONS:
            self._chosen.clear()
        self._chosen[region] = parts
        return parts

    def _choose(self, region: Region, cost: CostModel, budget: float) -> tuple[Extraction | None, _Parts]:
        """The cheapest program for a region, None if it is the first one; and its parts."""
        from scanopt.extraction.resizing import for_sizes

        graph, first = self._among.forms.all
        found = for_sizes(graph, first, self.magnitudes.operands(region, self._among.own), cost, budget)
        return found, _FIRST if found is None else _parts(found, first)

    def _forget(self) -> None:
        """Make room: drop the oldest program beside the first one; if it is needed again, it is chosen again."""
        if len(self._made) > PROGRAMS:
            oldest = [*self._made][1]
            del self._made[oldest]
            self._exactly.clear()


def kernels_of(run: Any) -> tuple[Any, ...]:
    """What became of the loops of a compiled program."""
    found: tuple[Any, ...] = getattr(run, "kernels", ())
    return found


def _parts(found: Extraction, first: Chosen) -> _Parts:
    """The forms that a choice consists of, whatever they cost; `_FIRST` if they are those of the first program."""
    chosen, known = (frozenset((i, o.form, o.needs, o.updates) for i, o in x.choice.items()) for x in (found, first))
    return _FIRST if chosen == known else chosen
