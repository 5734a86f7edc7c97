"""States, and loops that end early, that are equal at every step: proven by coinduction.

All states that could be equal are assumed to be equal before step t; if their new values at step t are
then equal too, the states are.  States that are refuted are separated, and the rest is tried again, until
none is refuted.  Initial values need not be equal: each delay carries its own, and where they matter the
new values differ.  Most unequal states differ on small arrays, which costs less to compute than a trial.

An equation may be used only where it is proven.  A loop sees all steps of the loops before it, so claims
are tried by rank: the length of the longest chain of loops that a term waits for.  The trial of a rank
holds terms of lower ranks beside its own and none of higher ones, so that no trace of a loop takes part in
proving what that loop carries.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from scanopt.analysis.initial_facts import Given
from scanopt.analysis.lengths import KnownLengths
from scanopt.analysis.refutation import told_apart
from scanopt.analysis.step_counts import with_equal_lengths
from scanopt.calculus.condition import FACTS
from scanopt.calculus.encoded import Encoded
from scanopt.calculus.forms import KEPT, ROOT, Form, TermGraph
from scanopt.records import dataclass

__all__ = ["PROVEN", "Answer", "Group", "Trial", "facts_of", "may_be_equal", "pairs", "proven", "waiting"]

PROVEN = frozenset(("equal_in_time", "ends_alike"))
"""The facts that are proven here."""

Group = tuple[int, ...]
"""States, or loops, that are taken to be equal."""

_ATTEMPTS = 4
"""The most attempts to refute claims by numbers; about the claims that are left, laws decide."""

Rank = tuple[int, ...]
"""How many loops a term waits for: outside all loops, then inside each loop around it."""


@dataclass(frozen=True)
class Trial:
    """Which of these terms are equal, if these states and these loops are?

    part: everything that the terms depend on; a loop whose number of steps is among the terms has none there.
    """

    part: Encoded
    states: tuple[Group, ...]
    clocks: tuple[Group, ...]
    terms: tuple[int, ...]


Answer = Callable[[Trial], Mapping[int, Hashable]]
"""Per term of a trial its class, the same for terms that are proven equal."""


def proven(g: Encoded, answer: Answer, known: KnownLengths | None = None) -> Iterator[Given]:
    """States, and loops with an `until`, that are equal at every step.

    States of different loops are equal where the loops are one.  known: the program's lengths, if they are known.
    """
    claims = _plausible(_first(with_equal_lengths(g, known)))
    rank = _ranks(claims.g) if claims.any else {}
    claims = claims.finer(rank)
    while claims.any:
        found: dict[int, Hashable] = {}
        for stage, terms in claims.stages(rank).items():
            classes = answer(claims.trial(terms))
            found |= {u: (stage, classes[u]) for u in terms}
        finer = claims.finer(found)
        if finer.groups == claims.groups:
            break
        claims = finer
    if claims.any:
        yield from claims.facts()


def may_be_equal(g: Encoded, known: Collection[Given]) -> bool:
    """Whether states or loops, beside those that are known to be, could be equal: small arrays do not refute it."""
    claims = _plausible(_first(with_equal_lengths(g)))
    return claims.any and bool({*claims.facts()} - {*known})


def _plausible(claims: _Claims) -> _Claims:
    """The claims that small arrays do not refute: at the first step, and at one before which all of them held."""
    g = claims.g
    if claims.any:
        claims = claims.finer(told_apart(g, claims.terms()))
    for _ in range(_ATTEMPTS):
        finer = claims.finer(told_apart(g, claims.terms(), claims.states)) if claims.any else claims
        if finer.groups == claims.groups:
            break
        claims = finer
    return claims


def pairs(groups: Iterable[Group]) -> Iterator[tuple[int, int]]:
    """The first of each group with each other one."""
    return ((group[0], other) for group in groups for other in group[1:])


@dataclass(frozen=True)
class _Claims:
    """Assumed equalities: states, and loops, with the same key.  home: the loop of each state."""

    g: Encoded
    home: Mapping[int, int]
    clocks: Mapping[int, Hashable]
    states: Mapping[int, Hashable]

    @property
    def groups(self) -> tuple[tuple[Group, ...], tuple[Group, ...]]:
        """The states, and the loops, that are claimed to be equal to others."""
        return _groups(self.states), _groups(self.clocks)

    @property
    def any(self) -> bool:
        """Whether anything is claimed that the laws of loops alone do not know: about states, or end conditions."""
        states, clocks = self.groups
        return bool(states) or any(self.g.clocks[group[0]].until for group in clocks)

    def facts(self) -> Iterator[Given]:
        """The claims, as facts."""
        states, clocks = self.groups
        for s, r in pairs(states):
            yield "equal_in_time", (self.home[s], s, self.home[r], r)
        for c, d in pairs(clocks):
            if self.g.clocks[c].until:
                yield "ends_alike", (c, d)

    def terms(self) -> list[int]:
        """The terms that must be equal: updates of states, end conditions, numbers of steps."""
        states, clocks = self.groups
        terms = [u for group in states for s in group for u in self.g.states[s].updates]
        terms += [u for group in clocks for c in group for u in self.g.clocks[c].until]
        return list(dict.fromkeys(terms + self._lengths()))

    def stages(self, rank: Mapping[int, Rank]) -> dict[Rank, list[int]]:
        """The terms that must be equal, by rank."""
        out: dict[Rank, list[int]] = defaultdict(list)
        for u in self.terms():
            out[rank[u]].append(u)
        return out

    def _lengths(self) -> list[int]:
        """Numbers of steps that are claimed to be equal, where they are not the same term."""
        found = [[self.g.clocks[c].steps for c in group] for group in self.groups[1]]
        return [n for group in found if len(set(group)) > 1 for n in group]

    def trial(self, terms: Sequence[int]) -> Trial:
        """The trial of whether these terms are equal if the claims are true."""
        states, clocks = self.groups
        claimed = set(self._lengths())
        part = _part(self.g, terms, claimed)
        read = {f.state for _, f in part.forms() if f.kind == "delay"}
        return Trial(part, _among(states, read), _among(clocks, part.clocks), tuple(terms))

    def finer(self, found: Mapping[int, Hashable]) -> _Claims:
        """The claims, without those that the classes of their terms refute."""
        g = self.g
        clocks: dict[int, Hashable] = {}
        for c, info in g.clocks.items():
            own = (found.get(u) for u in (info.steps, *info.until))
            clocks[c] = (clocks.get(info.level), self.clocks[c], *own)
        states = {
            s: (clocks[self.home[s]], key, *(found.get(u) for u in g.states[s].updates))
            for s, key in self.states.items()
        }
        return replace(self, clocks=_numbered(clocks), states=_numbered(states))


def _first(g: Encoded) -> _Claims:
    """All that could be equal: in the same loop, loops with the same number of steps, and states of the same type.

    Numbers of steps are the same if they are the same terms, assuming that the claims are true.
    """
    numbers: dict[Hashable, int] = {}
    terms: dict[int, int] = {}
    clocks: dict[int, Hashable] = {ROOT: ROOT}
    states: dict[int, Hashable] = {}
    home: dict[int, int] = {}
    for i, f in g.forms():
        for c in g.chain(f.clock):
            if c not in clocks:
                info = g.clocks[c]
                clocks[c] = (clocks[info.level], terms[info.steps], bool(info.until))
        if f.kind == "delay":
            home[f.state] = f.clock
            states[f.state] = (clocks[f.clock], g.types[i].dtype, g.types[i].ndim)
        args = tuple(terms[a] for a in f.args)
        key = (f.kind, f.key, f.operator, args, clocks[f.clock], states.get(f.state), f.k)
        terms[i] = numbers.setdefault(key, len(numbers))
    return _Claims(g, home, _numbered({c: clocks.get(c, (c,)) for c in g.clocks}), _numbered(states))


# Ranks


def _ranks(g: TermGraph) -> dict[int, Rank]:
    """The rank of updates of states, of end conditions and of numbers of steps."""
    around: dict[int, tuple[int, ...]] = {}
    for _, f in g.forms():
        if f.kind == "delay":
            around |= dict.fromkeys(g.states[f.state].updates, (ROOT, *g.chain(f.clock)[:-1]))
    for c, info in g.clocks.items():
        around |= dict.fromkeys((info.steps, *info.until), (ROOT, *g.chain(c)[:-1]))
    waits = {p: waiting(g, p) for p in dict.fromkeys(p for loops in around.values() for p in loops)}
    return {u: tuple(waits[p][u] for p in loops) for u, loops in around.items()}


def waiting(g: TermGraph, p: int) -> dict[int, int]:
    """Per term how many loops of p, one after the other, must have run within one step of p.

    What a delay of p, or of a loop around p, reads is of an earlier step.
    """
    past = {ROOT, *g.chain(p)}
    out = dict.fromkeys(g.classes, 0)
    forms = [
        (i, f.clock, _waited_for(g, f, past), int(f.kind in KEPT and g.clocks[f.clock].level == p))
        for i, f in g.forms()
    ]
    changed = True
    while changed:
        changed = False
        for i, clock, needs, more in forms:
            found = max([out[j] for j in needs], default=0) + more
            if found > len(g.clocks):
                raise ValueError(f"loop {clock} waits for its own trace")
            if found > out[i]:
                out[i], changed = found, True
    return out


def _waited_for(g: TermGraph, f: Form, past: Iterable[int]) -> tuple[int, ...]:
    if f.clock == ROOT:
        return f.args
    info = g.clocks[f.clock]
    if f.kind in KEPT:
        return (*f.args, info.steps, *info.until)
    if f.kind == "delay" and f.clock not in past:
        return (*f.args, info.steps, *g.states[f.state].updates, *info.until)
    return (*f.args, info.steps)


# Parts of programs


def facts_of(part: Encoded, given: Iterable[Given]) -> Iterator[Given]:
    """The given facts that are about a part only, and not about states."""
    there: dict[str, Container[object]] = {"Value": part.classes, "Clock": part.clocks, "State": ()}
    for name, args in given:
        for sort, a in zip(FACTS[name].sorts, args, strict=True):
            if sort in there and not isinstance(a, str) and a not in there[sort]:
                break
        else:
            yield name, args


def _part(g: Encoded, terms: Iterable[int], claimed: Iterable[int]) -> Encoded:
    """The terms and all they are made of; updates of states, end conditions and claimed numbers of steps are left
    open."""
    seen: set[int] = set()
    clocks: set[int] = set()
    todo = list(terms)
    while todo:
        i = todo.pop()
        if i in seen:
            continue
        seen.add(i)
        for f in g.classes[i]:
            todo.extend(f.args)
            clocks.update(g.chain(f.clock))
            todo.extend(g.clocks[c].steps for c in g.chain(f.clock))
    left = set(claimed)
    part = Encoded()
    part.classes = {i: forms for i, forms in g.classes.items() if i in seen}
    part.types = {i: g.types[i] for i in part.classes}
    for c, info in g.clocks.items():
        if c in clocks:
            part.clocks[c] = replace(info, steps=-1 if info.steps in left else info.steps, until=())
    part.consts = g.consts
    return part


def _numbered(keys: Mapping[int, Hashable]) -> dict[int, Hashable]:
    """Small numbers in place of keys."""
    numbers: dict[Hashable, int] = {}
    return {i: numbers.setdefault(key, len(numbers)) for i, key in keys.items()}


def _groups(keys: Mapping[int, Hashable]) -> tuple[Group, ...]:
    members: dict[Hashable, list[int]] = defaultdict(list)
    for i, key in keys.items():
        members[key].append(i)
    return tuple(tuple(group) for group in members.values() if len(group) > 1)


def _among(groups: Iterable[Group], there: Iterable[int]) -> tuple[Group, ...]:
    known = set(there)
    some = (tuple(i for i in group if i in known) for group in groups)
    return tuple(group for group in some if len(group) > 1)
