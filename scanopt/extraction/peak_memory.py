"""The peak memory of a choice, in bytes, when it runs in the order of its schedule.

Arguments and constants do not count, since they exist before; copies of them that are results do.  Outside loops an
array is freed after its last use, or that of an array that shares its memory (a transpose, a slice).  A loop holds
everything that its steps compute until it ends, inner loops included; while it computes its largest value again, it
also holds that of the step before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from scanopt.calculus.forms import KEPT
from scanopt.extraction.cost import bytes_of
from scanopt.extraction.ordering import Choice, EvaluationOrder, places_of
from scanopt.extraction.problem import Instance, Option, Problem

__all__ = ["peak"]


def peak(problem: Problem, choice: Choice, schedule: EvaluationOrder) -> float:
    """An upper bound on the bytes that a choice holds at one time, except for copies inside operators."""
    places = places_of(problem, choice)
    position = {i: n for n, i in enumerate(schedule.items)}
    when = {i: position[around[0] if around else i] for i, around in places.items()}
    inside: dict[int, list[float]] = defaultdict(lambda: [0.0])
    change: dict[int, float] = defaultdict(float)
    last = _last_uses(choice, when, dict.fromkeys(problem.roots, len(schedule.items)))
    for i, o in choice.items():
        if places[i]:
            inside[when[i]].append(o.held)
        elif o.held:
            change[_begin(i, o, when)] += o.held
            change[last[i] + 1] -= o.held
    most = alive = 0.0
    for n in range(len(schedule.items)):
        alive += change[n]
        most = max(most, alive + sum(inside[n]) + max(inside[n]))
    return max(most, alive + change[len(schedule.items)] + sum(_copied(problem, choice)))


def _copied(problem: Problem, choice: Choice) -> Iterator[float]:
    """Bytes of each result that is copied in the end: because it is an argument or a constant, repeats entries of an
    array, or lies in an array with another result.
    """
    returned: set[Instance] = set()
    for root in map(Instance, problem.graph.roots):
        base = root
        while not choice[base].held and choice[base].needs:
            base = choice[base].needs[0]
        size, shown = (bytes_of(problem.sizes.of[i.id].operand) for i in (root, base))
        if base in returned or not choice[base].held or size > shown:
            yield size
        returned.add(base)


def _begin(i: Instance, o: Option, when: Mapping[Instance, int]) -> int:
    """When an array is allocated: arrays that a loop keeps exist from its first step on."""
    assert o.form is not None
    return when[o.needs[0]] if o.form.kind in KEPT else when[i]


def _last_uses(choice: Choice, when: Mapping[Instance, int], last: dict[Instance, int]) -> dict[Instance, int]:
    """The last use of each array, by itself or by arrays that share its memory.  last: the uses known so far."""
    for i, o in choice.items():
        for j in (i, *o.all_needs):
            last[j] = max(last.get(j, 0), when[i])
    todo = list(choice)
    while todo:
        i = todo.pop()
        for j in choice[i].needs if not choice[i].held else ():
            if last[j] < last[i]:
                last[j] = last[i]
                todo.append(j)
    return last
