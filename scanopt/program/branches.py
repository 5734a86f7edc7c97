"""Where to compute what: a value that only one side of an ifelse needs belongs to that side."""

from __future__ import annotations

from collections.abc import Iterator

from scanopt.array.op import Op
from scanopt.calculus.causality import Choice, Schedule
from scanopt.calculus.forms import Form
from scanopt.calculus.problem import Instance

__all__ = ["Path", "is_ifelse", "sides_of"]

Path = tuple[tuple[Instance, int], ...]
"""Sides of ifelses, outermost first: (the ifelse, 1 for its first value or 2 for its second)."""


def is_ifelse(form: Form | None) -> bool:
    """Whether a form computes only one of its two values."""
    return form is not None and isinstance(form.operator, Op) and form.operator.name == "ifelse"


def sides_of(choice: Choice, schedule: Schedule) -> dict[Instance, Path]:
    """For each item of one level the innermost sides that all its uses on this level share.

    What leaves the level (results, updates of states, what a loop keeps) is used outside all sides.
    """
    out: dict[Instance, Path] = {}
    here = set(schedule.items)
    owner = {i: loop for loop, body in schedule.inside.items() for i in _all_of(body)}
    kept = _used_elsewhere(choice, schedule, here)
    for u in reversed(schedule.items):
        path = () if u in kept else out.get(u, ())
        out[u] = path
        for j, side in _uses(choice, schedule, u):
            member = j if j in here else owner.get(j)
            if member is not None and member != u:
                place = (*path, (u, side)) if side else path
                out[member] = _common(out[member], place) if member in out else place
    return out


def _uses(choice: Choice, schedule: Schedule, u: Instance) -> Iterator[tuple[Instance, int]]:
    """What an item uses, with the side of an ifelse it is used on (0: on no side)."""
    lazy = is_ifelse(choice[u].form)
    for n, j in enumerate(choice[u].needs):
        yield j, n if lazy else 0
    if u.loop:
        for i in _all_of(schedule.inside[u]):
            for j in choice[i].needs:
                yield j, 0


def _used_elsewhere(choice: Choice, schedule: Schedule, here: set[Instance]) -> set[Instance]:
    """Items that something off this level uses, or that are needed one step later."""
    inside = {i for body in schedule.inside.values() for i in _all_of(body)}
    found = {j for i, o in choice.items() for j in o.updates if j in here}
    return found | {j for i, o in choice.items() if i not in here and i not in inside for j in o.needs if j in here}


def _all_of(schedule: Schedule) -> Iterator[Instance]:
    """Everything scheduled inside, loops in loops included."""
    yield from schedule.items
    for body in schedule.inside.values():
        yield from _all_of(body)


def _common(a: Path, b: Path) -> Path:
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n]:
        n += 1
    return a[:n]
