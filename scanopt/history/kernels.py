"""The kernels of a program: the fewest operations and bytes that each needs, beside its predicted time.

A kernel is what runs in one piece: a loop with all its steps, a branch, or an operator outside of them.  Values that
live inside a kernel need not pass through memory; values that it reads from outside or leaves behind must, once.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from scanopt.array.op import Operand
from scanopt.calculus.forms import Form
from scanopt.extraction.cost import bytes_of
from scanopt.extraction.extract import Extraction
from scanopt.extraction.problem import Instance
from scanopt.extraction.roofline import MachineLimits, Need, operations
from scanopt.program.ir import Branch, Compute, Loop, Step
from scanopt.program.text import Line, names_made
from scanopt.records import dataclass

__all__ = ["HistoryKernel", "inside_of", "kernel_rows", "kernels_of"]

Row = Mapping[str, Any]

_PLACES = ("gather", "free")
"""Cost classes of operators that read no more of an argument than they return."""


@dataclass(frozen=True)
class HistoryKernel:
    """Steps that run in one piece: one of a program, after the other parts of the batched operator that it belongs to.

    line: the number of its line in the program's text.  cost: as predicted.  need: the operations and bytes that it
    cannot do without.
    """

    line: int
    steps: tuple[Step, ...]
    cost: float
    need: Need

    @property
    def makes(self) -> tuple[str, ...]:
        """The names that it gives a value."""
        return names_made(self.steps[-1])


def kernels_of(
    lines: Sequence[Line], rows: Sequence[Row], named: Mapping[str, Instance], x: Extraction
) -> list[HistoryKernel]:
    """The kernels of a program, in order.

    lines: those of its text.  rows: the data of each line.  named: the instances of `x` that its names stand for.
    """
    needs, out = _Needs(named, x), list[HistoryKernel]()
    waiting: list[Step] = []
    cost = 0.0
    for first, after in _blocks(lines):
        step = lines[first].step
        assert step is not None
        waiting.append(step)
        cost += sum(row.get("cost", 0.0) for row in rows[first:after])
        if not isinstance(step, Compute) or step.out in named:
            out.append(HistoryKernel(first, tuple(waiting), cost, needs.of(step)))
            waiting, cost = [], 0.0
    return out


def _blocks(lines: Sequence[Line]) -> Iterator[tuple[int, int]]:
    """For each step outside loops and branches, the number of its first line and of the one after its last."""
    begins = [n for n, line in enumerate(lines) if not line.depth and line.step is not None]
    starts = [n for n in begins if not n or lines[n].step is not lines[n - 1].step]  # a branch may have many lines
    others = [n for n, line in enumerate(lines) if line.kind in ("check", "return", "note")]
    ends = sorted((*starts, *others, len(lines)))
    for n in starts:
        yield n, ends[bisect_right(ends, n)]


def kernel_rows(kernels: Iterable[HistoryKernel], lines: Sequence[int], limits: MachineLimits) -> list[dict[str, Any]]:
    """The rows about kernels.  lines: the numbers of the program's lines."""
    out = []
    for k in kernels:
        least, spent = limits.seconds(k.need)
        row = {"line": lines[k.line], "makes": [*k.makes], "cost": round(k.cost, 3), "limited_by": spent}
        out.append(row | {"operations": round(k.need.total), "bytes": round(k.need.bytes), "least_seconds": least})
    return out


class _Needs:
    """The operations and bytes that steps need, for the sizes of an extraction."""

    def __init__(self, named: Mapping[str, Instance], x: Extraction) -> None:
        self._named, self._choice, self._sizes = named, x.choice, x.problem.sizes

    def of(self, step: Step) -> Need:
        """The need of a step outside loops."""
        made = math.fsum(map(self._bytes, names_made(step)))
        if isinstance(step, Compute) and step.op.cost == "free" and step.op.view:
            return Need()
        return Need(self._inside(step).operations, self._read(step) + made)

    def _inside(self, step: Step) -> Need:
        """The operations of a step in all its turns; for a branch, those of the side that has fewer."""
        if isinstance(step, Compute):
            return Need(self._operations(step.out))
        if isinstance(step, Loop):
            return Need.all_of(map(self._inside, step.body))
        sides = [Need.all_of(map(self._inside, steps)) for steps, _ in step.sides]
        return min(sides, key=lambda need: need.total)

    def _operations(self, name: str) -> Mapping[str, float]:
        i = self._named.get(name)
        form = self._form(i)
        if i is None or form is None or form.operator is None:
            return {}
        once = operations(form.operator, [self._sizes.of[a].operand for a in form.args])
        return {dtype: n * self._turns(name) for dtype, n in once.items()}

    def _form(self, i: Instance | None) -> Form | None:
        return self._choice[i].form if i in self._choice else None

    def _turns(self, name: str) -> int:
        return self._sizes.trips(self._sizes.of[self._named[name].id].clock) if name in self._named else 0

    def _operand(self, name: str) -> Operand | None:
        i = self._named.get(name)
        return None if i is None or i.loop or i.id not in self._sizes.of else self._sizes.of[i.id].operand

    def _bytes(self, name: str) -> float:
        """The bytes of a value, of one step; 0 if not known."""
        operand = self._operand(name)
        return 0.0 if operand is None else bytes_of(operand)

    def _read(self, step: Step) -> float:
        """The bytes that a step reads of values made outside of it: at most all of each value, once."""
        used: defaultdict[str, float] = defaultdict(float)
        for name, some in self._uses([step]):
            used[name] += some
        inside = {*inside_of(step)}
        return math.fsum(min(some, self._bytes(name)) for name, some in used.items() if name not in inside)

    def _uses(self, steps: Iterable[Step]) -> Iterator[tuple[str, float]]:
        """Yield the names that steps read, and how many bytes of each."""
        for step in steps:
            if isinstance(step, Compute):
                some = self._bytes(step.out) * self._turns(step.out) if step.op.cost in _PLACES else math.inf
                yield from ((a, some) for a in step.args)
            elif isinstance(step, Loop):
                yield step.steps, math.inf
                yield from ((r.source, self._bytes(r.out) * self._turns(r.out)) for r in step.reads)
                yield from ((s.init, math.inf) for s in step.states)
                yield from self._uses(step.body)
            else:
                yield step.condition, math.inf


def inside_of(step: Step) -> Iterator[str]:
    """The names that are made inside a loop or a branch."""
    if isinstance(step, Loop):
        yield from (r.out for r in step.reads)
        yield from (name for s in step.states for _, name in s.taps)
        for x in step.body:
            yield from names_made(x)
            yield from inside_of(x)
    elif isinstance(step, Branch):
        for steps, _ in step.sides:
            for x in steps:
                yield from names_made(x)
                yield from inside_of(x)
