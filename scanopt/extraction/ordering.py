"""Orders a choice of forms for evaluation, loops as units; a choice without an order is not causal.

Inside a loop a state's update may come after its uses, since it is read one step later.  Everything that enters a loop
comes before the loop, everything that leaves it comes after it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise

from scanopt.extraction.problem import Instance, Option, Problem
from scanopt.records import dataclass

__all__ = ["AcausalError", "Choice", "EvaluationOrder", "meet", "order", "places_of", "reached"]

Choice = dict[Instance, Option]
"""One option per instance in use."""


@dataclass(frozen=True)
class EvaluationOrder:
    """What to compute, in order: instances, and loops with their own schedules.

    inside: per loop of this level the schedule of its body.
    """

    items: tuple[Instance, ...]
    inside: dict[Instance, EvaluationOrder]


class AcausalError(Exception):
    """A choice without an order: these pairs of instance and option cannot go together."""

    def __init__(self, together: tuple[tuple[Instance, Option], ...]) -> None:
        super().__init__(f"{len(together)} forms need one another")
        self.together = together


def reached(choice: Choice, roots: tuple[Instance, ...]) -> Choice:
    """The part of a choice that the roots need.  KeyError when something needed is not chosen."""
    out: Choice = {}
    todo = list(roots)
    while todo:
        i = todo.pop()
        if i in out:
            continue
        out[i] = choice[i]
        todo.extend(choice[i].all_needs)
    return out


def order(problem: Problem, choice: Choice) -> EvaluationOrder:
    """The schedule of a choice.  Raises AcausalError if there is none."""
    places = places_of(problem, choice)
    before: dict[Instance | None, dict[Instance, dict[Instance, Instance]]] = {}
    members: dict[Instance | None, list[Instance]] = defaultdict(list)
    for i in choice:
        members[places[i][-1] if places[i] else None].append(i)
    for i, o in choice.items():
        for j in o.needs:
            where, first, then = meet(places, i, j)
            if first != then or first == i:
                before.setdefault(where, {}).setdefault(then, {})[first] = i
    return _schedule(None, members, before, choice)


def places_of(problem: Problem, choice: Iterable[Instance]) -> dict[Instance, tuple[Instance, ...]]:
    """The loops around each instance, outermost first; those in one place share one tuple."""
    known: dict[tuple[int, tuple[int, ...]], tuple[Instance, ...]] = {}
    out: dict[Instance, tuple[Instance, ...]] = {}
    for i in choice:
        clock = problem.graph.clocks[i.id].level if i.loop else problem.sizes.of[i.id].clock
        chain = problem.chains[clock]
        phases = i.phases[: len(chain)]
        if (clock, phases) not in known:
            known[clock, phases] = tuple(Instance(c, phases[: n + 1], True) for n, c in enumerate(chain))
        out[i] = known[clock, phases]
    return out


def meet(
    places: dict[Instance, tuple[Instance, ...]], i: Instance, j: Instance
) -> tuple[Instance | None, Instance, Instance]:
    """The innermost loop around both, and the members of it that j and i are or lie in: j's must come first."""
    around, other = places[i], places[j]
    n = len(around)
    if around is not other:
        n = 0
        while n < min(len(around), len(other)) and around[n] == other[n]:
            n += 1
    of_i = around[n] if n < len(around) else i
    of_j = other[n] if n < len(other) else j
    within = around[n - 1] if n else None
    if of_i == of_j and of_i.loop:
        # j is the loop that i sits in, or the other way round: no order within one of them.
        return within, j, j
    return within, of_j, of_i


def _schedule(
    loop: Instance | None,
    members: dict[Instance | None, list[Instance]],
    before: dict[Instance | None, dict[Instance, dict[Instance, Instance]]],
    choice: Choice,
) -> EvaluationOrder:
    edges = before.get(loop, {})
    done: dict[Instance, bool] = {}
    out: list[Instance] = []
    for start in members[loop]:
        _visit(start, edges, done, out, choice)
    inside = {i: _schedule(i, members, before, choice) for i in out if i.loop}
    return EvaluationOrder(tuple(out), inside)


def _visit(
    start: Instance,
    edges: dict[Instance, dict[Instance, Instance]],
    done: dict[Instance, bool],
    out: list[Instance],
    choice: Choice,
) -> None:
    """Depth-first search, without recursion; done[i] is False while i waits for its predecessors."""
    path: list[tuple[Instance, list[Instance]]] = []

    def enter(i: Instance) -> None:
        done[i] = False
        path.append((i, list(edges.get(i, ()))))

    if start not in done:
        enter(start)
    while path:
        i, waiting = path[-1]
        if not waiting:
            done[i] = True
            out.append(i)
            path.pop()
            continue
        j = waiting.pop(0)
        if j not in done:
            enter(j)
        elif not done[j]:
            loop = [p for p, _ in path]
            around = [*loop[loop.index(j) :], j]
            users = {edges[b][a] for b, a in pairwise(around)}
            raise AcausalError(tuple((u, choice[u]) for u in users))
