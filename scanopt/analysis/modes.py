"""Modes of single loops: a law that may rewrite only some loops of a program checks which loop it matches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from scanopt.calculus.condition import Condition
from scanopt.calculus.encoded import Encoded
from scanopt.calculus.forms import ROOT
from scanopt.calculus.law import Law
from scanopt.calculus.terms import Clock, State, Term
from scanopt.facts.loops import lies_on
from scanopt.facts.modes import carried_by, may_rewrite, one_mode
from scanopt.modes import Mode

__all__ = ["laws_by_mode", "mode_facts", "modes_of"]

_HERE = Clock("here_")
_LIMITED: dict[int, tuple[Law, Law]] = {}


def modes_of(g: Encoded) -> dict[int, Mode]:
    """The mode of each loop, and of everything outside of loops: its own, or that of its surroundings."""
    out = {ROOT: g.mode}
    for c, info in g.clocks.items():  # outer ones come first
        out[c] = info.mode or out[info.level]
    return out


def laws_by_mode(laws: Sequence[Law], g: Encoded) -> tuple[Law, ...]:
    """The laws that some mode of a program allows; those that not all modes allow check which loops they rewrite.

    Where modes differ, laws that unite two loops check that both have one mode.
    """
    modes = set(modes_of(g).values())
    if len(modes) == 1:
        return tuple(laws)
    allowed = [x for x in laws if any(m.allows(x.ruleset, x.name) for m in modes)]
    return tuple(_limited(x) if _asks(x, modes) else x for x in allowed)


def _asks(law: Law, modes: set[Mode]) -> bool:
    return isinstance(law.equation.left, Clock) or not all(m.allows(law.ruleset, law.name) for m in modes)


def _limited(law: Law) -> Law:
    """The law with the condition that the loops in question allow it: those in its left side, else those in its
    conditions, else the one that the left side is on.
    """
    kept = _LIMITED.get(id(law))
    if kept is None or kept[0] is not law:
        e = law.equation
        when = [*e.when, *_conditions(law)]
        kept = _LIMITED[id(law)] = law, replace(law, equation=replace(e, when=when))
    return kept[1]


def _conditions(law: Law) -> Iterator[Condition]:
    left, right = law.equation.left, law.equation.right
    asked = (a for x in law.equation.when for a in x.args)
    clocks = dict.fromkeys(_clocks(left)) or dict.fromkeys(c for a in asked for c in _clocks(a))
    if isinstance(left, Clock) and isinstance(right, Clock) and left.args is None and right.args is None:
        yield one_mode(left, right)
        clocks[right] = None
    if not clocks:
        yield carried_by(left, _HERE) if isinstance(left, State) else lies_on(left, _HERE)
        clocks[_HERE] = None
    yield from (may_rewrite(law.name, c) for c in clocks)


def _clocks(x: Term | int | str) -> Iterator[Clock]:
    """The variables for loops in a pattern."""
    if isinstance(x, Clock) and x.args is None:
        yield x
    elif isinstance(x, Term):
        for a in x.args or ():
            yield from _clocks(a)


def mode_facts(g: Encoded, laws: Sequence[Law]) -> Iterator[tuple[str, tuple[int | str, ...]]]:
    """Which of these laws may rewrite which loop, and which loops have the same mode."""
    modes = modes_of(g)
    if len(set(modes.values())) == 1:
        return
    for x in laws:
        if any(c.fact == may_rewrite.name for c in x.equation.when):
            yield from ((may_rewrite.name, (x.name, c)) for c, m in modes.items() if m.allows(x.ruleset, x.name))
    yield from ((one_mode.name, (c, d)) for c in modes for d in modes if modes[c] == modes[d])
