"""Rows of the mixed integer program beyond "an option needs an option of everything that it uses".

They cut off no choice that has an order.  Without them the relaxation computes half a trace from its entries and reads
half of the entries from that trace, and the solver searches for hours where it now need not search at all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import field

from scanopt.analysis.components import circles
from scanopt.calculus.forms import KEPT
from scanopt.extraction.availability import closure
from scanopt.extraction.necessary import Group, ways
from scanopt.extraction.problem import Instance, Problem
from scanopt.records import dataclass

__all__ = ["Row", "Variables", "always_rows", "circle_rows", "formulas", "made_rows", "order_rows"]

Row = dict[int, float]
"""Coefficients by variable; the sum is at least 0."""

_LONGEST, _PATHS = 8, 200
"""The longest circles, and the most paths from an instance, that get rows; others do when a solution has them."""


@dataclass(frozen=True)
class Variables:
    """The variables of the integer program.

    of: per instance those of its options, in order.  fresh: makes one more, between 0 and 1.  groups: the instances
    that may use one another.  always: the groups of which every choice uses an instance.
    """

    of: Mapping[Instance, list[int]]
    fresh: Callable[[], int]
    groups: Sequence[Group]
    always: Set[Group]


@dataclass
class _Loop:
    """One loop, in given phases of the loops around it: what its phases give to the outside and what they read.

    keeps: option of a value outside -> phase.  keepers: those values.  reads: (option inside, value
    outside, phase).
    """

    keeps: dict[int, int] = field(default_factory=dict[int, int])
    keepers: set[Instance] = field(default_factory=set[Instance])
    reads: list[tuple[int, Instance, int]] = field(default_factory=list[tuple[int, Instance, int]])


Beside = Mapping[Instance, list[tuple[int, tuple[Instance, ...]]]]
"""Per instance its options, each with the instances on the same clock that it is made of."""


def order_rows(problem: Problem, variables: Variables) -> Iterator[Row]:
    """What phase p of a loop reads is computed before it: without anything that phase p or a later one gives.

    Phases of one loop run in the order of their numbers.  For each phase, a value outside is early if a
    chosen option of it is; an option is early if everything that it uses is.
    """
    loops, beside = _loops(problem, variables)
    users: dict[Instance, list[Instance]] = defaultdict(list)
    parts: dict[Instance, list[Instance]] = defaultdict(list)
    for i, options in beside.items():
        for j in (j for _, js in options for j in js):
            users[j].append(i)
            parts[i].append(j)
    for loop in loops.values():
        left, read = closure(loop.keepers, users), closure((j for _, j, _ in loop.reads), parts)
        concerned = left & read
        reads = [(n, j, p) for n, j, p in loop.reads if j in concerned]
        for phase in sorted({p for _, _, p in reads}):
            early = {i: variables.fresh() for i in beside if i in concerned}
            late = {n for n, p in loop.keeps.items() if p >= phase}
            for i in early:
                yield from _early(i, early, beside, late, variables)
            yield from ({early[j]: 1.0, n: -1.0} for n, j, p in reads if p == phase)


def _loops(problem: Problem, variables: Variables) -> tuple[dict[tuple[int, tuple[int, ...]], _Loop], Beside]:
    loops: dict[tuple[int, tuple[int, ...]], _Loop] = defaultdict(_Loop)
    beside: dict[Instance, list[tuple[int, tuple[Instance, ...]]]] = {i: [] for i in problem.options}
    for i, options in problem.options.items():
        for n, o in zip(variables.of[i], options, strict=True):
            kind, clock = (o.form.kind, o.form.clock) if o.form else ("loop", i.id)
            inside = kind in ("loop", "hold", "seq", "delay")
            beside[i].append((n, o.needs if kind == "apply" else ()))
            if inside:
                loops[clock, i.phases[:-1]].reads.append((n, o.needs[0], i.phases[-1]))
            elif kind in KEPT:
                loops[clock, i.phases].keeps[n] = o.needs[0].phases[-1]
                loops[clock, i.phases].keepers.add(i)
    return loops, beside


def _early(
    i: Instance, early: Mapping[Instance, int], beside: Beside, late: set[int], variables: Variables
) -> Iterator[Row]:
    """An instance i is early only by an early option.  late: options that are not early."""
    row: Row = {early[i]: -1.0}
    for n, parts in beside[i]:
        if n in late:
            continue
        limits = [n, *(early[j] for j in dict.fromkeys(parts) if j in early)]
        term = variables.fresh() if len(limits) > 1 else n
        row[term] = 1.0
        yield from ({limit: 1.0, term: -1.0} for limit in limits if limit != term)
    yield row


def always_rows(problem: Problem, variables: Variables) -> Iterator[Row]:
    """From each group that every choice uses, some instance is computed from outside the group."""
    for g in variables.always:
        yield dict.fromkeys((variables.of[i][m] for i, m, _ in ways(problem, g)), 1.0)


def made_rows(problem: Problem, variables: Variables) -> Iterator[Row]:
    """Of the instances in a group, like a trace and its entries, one in use uses no other.

    And what every way of computing one of them needs is in use when they are.  What every choice uses needs no rows.
    """
    of, always = variables.of, variables.always
    group = {i: g for g in variables.groups for i in g}
    used = {
        g: dict.fromkeys(of[g[0]], 1.0) if len(g) == 1 else {variables.fresh(): 1.0}
        for g in variables.groups
        if g not in always
    }
    for g, row in used.items():
        found = {of[i][m]: o for i, m, o in ways(problem, g)}
        if len(g) > 1:
            yield from (_at_least(row, dict.fromkeys(of[i], 1.0)) for i in g)
            yield _at_least(dict.fromkeys(found, 1.0), row)
        if found:
            first, *others = ({group[j] for j in o.all_needs} - {g} - always for o in found.values())
            yield from (_at_least(used[h], row) for h in first.intersection(*others))


def circle_rows(problem: Problem, variables: Variables) -> Iterator[Row]:
    """Of the instances on each short cycle, one in use uses none of the others."""
    for circle in circles(_parts(problem, variables.groups), _LONGEST, _PATHS):
        if len(circle) > 2:  # of two, "an option needs an option of all it is made of" says the same
            yield from formulas(problem, variables.of, circle)


def formulas(problem: Problem, of: Mapping[Instance, list[int]], some: Set[Instance]) -> Iterator[Row]:
    """If some of these instances are in use, then one of them uses none of the others: the first in the order.

    The loop formulas of answer set programming [Lin and Zhao 2004, ASSAT].
    """
    found = dict.fromkeys((of[i][m] for i, m, _ in ways(problem, some)), 1.0)
    for own in (of[i] for i in some):
        if any(n not in found for n in own):  # else it says nothing
            yield _at_least(found, dict.fromkeys(own, 1.0))


def _parts(problem: Problem, groups: Sequence[Group]) -> dict[Instance, list[Instance]]:
    """The instances of its group that each instance may use, if its group has others."""
    number = {i: n for n, g in enumerate(groups) if len(g) > 1 for i in g}
    return {
        i: [j for j in dict.fromkeys(j for o in options for j in o.needs) if number.get(j) == number[i]]
        for i, options in problem.options.items()
        if i in number
    }


def _at_least(a: Row, b: Row) -> Row:
    row = dict(a)
    for n, x in b.items():
        if left := row.get(n, 0.0) - x:
            row[n] = left
        else:
            row.pop(n, None)
    return row
