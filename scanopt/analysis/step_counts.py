"""Loops with the same number of steps, as far as this follows from lengths of arrays."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import replace

import scanopt.facts.states  # noqa: F401  # declares what is given here
from scanopt.analysis.initial_facts import Given
from scanopt.analysis.lengths import KnownLengths, known_lengths
from scanopt.calculus.encoded import Encoded

__all__ = ["as_many_steps", "with_equal_lengths"]


def with_equal_lengths(g: Encoded, known: KnownLengths | None = None) -> Encoded:
    """The program with one term for numbers of steps that are the same.  known: its lengths, if they are known."""
    out = Encoded()
    vars(out).update(vars(g))
    out.clocks = {
        c: replace(g.clocks[c], steps=g.clocks[first].steps)
        for c, first in zip(g.clocks, _first(g, known), strict=True)
    }
    return out


def as_many_steps(g: Encoded, known: KnownLengths | None = None) -> Iterator[Given]:
    """Loops, side by side, with the same number of steps.  known: the program's lengths, if they are known."""
    for c, first in zip(g.clocks, _first(g, known), strict=True):
        if g.clocks[c].steps != g.clocks[first].steps:
            yield "as_many_steps", (first, c)


def _first(g: Encoded, known: KnownLengths | None) -> list[int]:
    """For each loop the one, of those beside it with as many steps, whose number of steps is the first term."""
    numbers = {(info.level, info.steps) for info in g.clocks.values()}
    if len(numbers) > len({level for level, _ in numbers}):
        values: Mapping[int, Hashable] = (known or known_lengths(g)).values
    else:  # the same term beside one another
        values = {n: n for _, n in numbers}
    keys = {c: (info.level, values[info.steps]) for c, info in g.clocks.items()}
    first: dict[Hashable, int] = {}
    for c in sorted(g.clocks, key=lambda c: g.clocks[c].steps):
        first.setdefault(keys[c], c)
    return [first[keys[c]] for c in g.clocks]
