"""Dominated options: options that another one can replace in every choice at no more cost.

If every way of computing an instance needs some other instances, these are available wherever the instance is.  An
option that needs only these, and costs no more (and holds no more, if that is limited), can replace any other option of
the instance.  It needs nothing that was not computed before it, so the order of the choice stays valid.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING

from scanopt.extraction.availability import until_stable
from scanopt.extraction.dominators import postorder

if TYPE_CHECKING:
    from scanopt.extraction.problem import Instance, Option

__all__ = ["undominated"]

_PAIRWISE = 256
"""The most options of an instance that are compared two by two."""


def undominated(options: dict[Instance, list[Option]], limited: bool = False) -> dict[Instance, list[Option]]:
    """The options of each instance, without dominated ones.

    limited: whether held bytes count, too.
    """
    if all(len(os) < 2 for os in options.values()):
        return options
    bit = {i: 1 << n for n, i in enumerate(options)}
    made_of = _made_of(options, bit)
    # An instance that can be computed, and in one way only, does not need itself.
    out = dict(options)
    for i, os in options.items():
        if len(os) > 1:
            out[i] = _kept([o for o in os if not _union(o.needs, made_of) & bit[i]], made_of, bit, limited)
    return out


def _union(instances: Iterable[Instance], sets: dict[Instance, int]) -> int:
    out = 0
    for i in instances:
        out |= sets[i]
    return out


def _made_of(options: dict[Instance, list[Option]], bit: dict[Instance, int]) -> dict[Instance, int]:
    """The instances that every way of computing each one needs, itself included, as bits: the greatest fixed point.

    In dependency order, so that only cycles need more than one pass.
    """
    number = {i: n for n, i in enumerate(options)}
    parts = [[[number[j] for j in o.needs] for o in os] for os in options.values()]
    everything, itself = (1 << len(bit)) - 1, [*bit.values()]
    sets = [everything] * len(parts)
    ordered, users = postorder(range(len(parts)), lambda n: chain.from_iterable(parts[n]))

    def changes(n: int) -> bool:
        found = everything
        for needs in parts[n]:
            union = 0
            for j in needs:
                union |= sets[j]
            found &= union
        found |= itself[n]
        if found == sets[n]:
            return False
        sets[n] = found
        return True

    until_stable(ordered, [[u for u in users[n] if u >= 0] for n in range(len(parts))], changes)
    return dict(zip(options, sets, strict=True))


def _kept(options: list[Option], made_of: dict[Instance, int], bit: dict[Instance, int], limited: bool) -> list[Option]:
    cheapest: dict[tuple[frozenset[Instance], frozenset[Instance], float], Option] = {}
    for o in sorted(options, key=lambda o: (o.cost, len(o.needs))):
        cheapest.setdefault((frozenset(o.needs), frozenset(o.updates), o.held if limited else 0.0), o)
    if len(cheapest) > _PAIRWISE:
        return list(cheapest.values())
    kept: list[tuple[int, frozenset[Instance], float, Option]] = []
    for (needs, updates, held), o in cheapest.items():
        there = _union(needs, made_of)
        if not any(asked & ~there == 0 and later <= updates and less <= held for asked, later, less, _ in kept):
            kept.append((_union(needs, bit), updates, held, o))
    return [o for *_, o in kept]
