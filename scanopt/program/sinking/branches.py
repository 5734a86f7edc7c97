"""Where to compute what: a value that only some sides of ifelses need is computed on those sides alone.

A *path* is where one gets by conditions: (a condition, true or false), outermost first.  Each value of a
level (a loop's step, or what lies outside of loops) is needed on some paths; none of them starts with
another one, and where both sides of a condition need a value, what is around them does.  A value that
several conditions ask for is *shared*: it is computed once, where any of them holds.

A path may be as long as ifelses are nested, but what runs nests no deeper than `DEEPEST`: an ifelse at the end of a
longer path is *guarded*.  Whether one gets there is computed first, outside of all sides, by one more nest of ifelses;
the value then stands on a side of that condition alone, and paths start anew.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass

from scanopt.array.op import Op
from scanopt.array.operators.control import IFELSE
from scanopt.calculus.forms import Form
from scanopt.extraction.ordering import Choice, EvaluationOrder
from scanopt.extraction.problem import Instance, Option

__all__ = [
    "FALSE",
    "TRUE",
    "AnyOf",
    "Condition",
    "Decided",
    "Level",
    "Path",
    "PathsOfValues",
    "all_of",
    "asked",
    "decided",
    "is_ifelse",
    "is_leaf",
    "places",
    "settled",
]

DEEPEST = 30
"""Sides inside one another."""

Decided = Mapping[Instance, bool]
"""What conditions are known to be at some place."""


TRUE, FALSE = Instance(-(10**9)), Instance(-(10**9) - 1)
"""Constants, which have names everywhere."""
_NEW = -(10**9) - 2


@dataclass(frozen=True)
class AnyOf:
    """The condition that one gets to any of these paths, which all start at one place."""

    paths: frozenset[Path]


Condition = Instance | AnyOf
Path = tuple[tuple[Condition, bool], ...]


def is_ifelse(form: Form | None) -> bool:
    """Whether a form computes only one of its two values."""
    return form is not None and isinstance(form.operator, Op) and form.operator.name == "ifelse"


def is_leaf(form: Form | None) -> bool:
    """Whether there is nothing to compute: a name that is there already."""
    return form is not None and form.kind in ("input", "const", "hold", "seq", "delay")


def condition(choice: Choice, i: Instance) -> Instance | None:
    """What decides on the side of an ifelse; None for any other value."""
    if i.loop or not is_ifelse(choice[i].form):
        return None
    found = choice[i].needs[0]
    while (form := choice[found].form) is not None and form.kind == "hold":
        found = choice[found].needs[0]
    return found


def settled(choice: Choice, i: Instance, known: Decided) -> Instance:
    """A value itself, or where it is an ifelse whose condition is known, the one of the side taken."""
    while (c := condition(choice, i)) is not None and c in known:
        i = choice[i].needs[1 if known[c] else 2]
    return i


class Level:
    """The values of one level and what each of them uses on it.

    schedule: of the level.  keepers: per loop the values that keep something of it.  scalar: whether
    a value has no axes.
    """

    def __init__(
        self,
        choice: Choice,
        schedule: EvaluationOrder,
        keepers: Mapping[Instance, list[Instance]],
        scalar: Callable[[Instance], bool],
    ) -> None:
        self.choice, self.schedule, self.keepers, self._scalar = choice, schedule, keepers, scalar
        self.position = {i: n for n, i in enumerate(schedule.items)}
        self.guards: dict[Instance, Instance] = {}  # by value: the ifelse that stands for it where it is read
        self.guarded: dict[Instance, Instance] = {}  # the other way round
        self.values = {i for i in schedule.items if not i.loop and not is_leaf(choice[i].form)}
        self.loop_of = {k: loop for loop in schedule.inside for k in keepers.get(loop, ())}
        self._parts: dict[Instance, Set[Instance]] = {}
        self._uses: dict[Instance, tuple[Instance, ...]] = {}
        self.cheap = self._cheap()

    def condition(self, i: Instance) -> Instance | None:
        """What decides on the side of an ifelse; None for any other value."""
        return condition(self.choice, i)

    def uses(self, i: Instance) -> tuple[Instance, ...]:
        """The values of this level that a value is made of; of one that a loop leaves, those that the loop reads."""
        if i not in self._uses:
            needs = self._around(i) if i in self.loop_of else self.choice[i].needs
            self._uses[i] = tuple(j for j in needs if j in self.values)
        return tuple(self.guards.get(j, j) for j in self._uses[i]) if self.guards else self._uses[i]

    def uses_on(self, i: Instance, known: Decided) -> Iterator[tuple[Instance, Path]]:
        """What a value uses, ifelses whose conditions are known aside, and the side of the ifelse that uses it."""
        c, uses = self.condition(i), list[tuple[Instance, Path]]()
        if c is None:
            uses += ((j, ()) for j in self.uses(i))
        else:
            test, then, otherwise = self.choice[i].needs
            either: list[tuple[Instance, Path]] = [(then, ((c, True),)), (otherwise, ((c, False),))]
            uses += [(then if known[c] else otherwise, ())] if c in known else [(test, ()), *either]
        for j, side in uses:
            value = settled(self.choice, j, {**known, **decided(side)} if side else known)
            if value in self.values:
                yield (value if i in self.guarded else self.guards.get(value, value)), side

    def guard(self, i: Instance, path: Path) -> tuple[Path, dict[Instance, Path]]:
        """Guard a value: the path that it is on from now on, and those of the ifelses that are new."""
        new: dict[Instance, Path] = {}
        reached = TRUE
        for n in range(len(path) - 1, -1, -1):
            c, side = path[n]
            assert isinstance(c, Instance)
            reached = self._ifelse(c, *((reached, FALSE) if side else (FALSE, reached)))
            new[reached] = path[:n]
        self.guards[i] = self._ifelse(reached, i, FALSE)
        self.guarded[self.guards[i]] = i
        new[self.guards[i]] = ()
        return ((reached, True),), new

    def _ifelse(self, c: Instance, then: Instance, otherwise: Instance) -> Instance:
        """An ifelse that the program as extracted has not."""
        made = Instance(_NEW - len(self.position))
        self.choice[made] = Option(Form("apply", operator=IFELSE), 0.0, (c, then, otherwise))
        self.choice |= dict.fromkeys((TRUE, FALSE), Option(Form("const"), 0.0, ()))
        self.position[made] = len(self.position)
        self.values.add(made)
        return made

    def part(self, keeper: Instance) -> Set[Instance]:
        """What must be computed in a loop, loops in it included, for what a value keeps of it."""
        if keeper not in self._parts:
            self._around(keeper)
        return self._parts[keeper]

    def _around(self, keeper: Instance) -> Iterable[Instance]:
        """The values around a loop that it needs for what a value keeps of it."""
        loop = self.loop_of[keeper]
        inner = set(all_of(self.schedule.inside[loop])) | {loop}
        inside, outside = set[Instance](), dict[Instance, None]()
        todo = [*self.choice[keeper].needs]
        while todo:
            i = todo.pop()
            if i in inner and i not in inside:
                inside.add(i)
                todo.extend(self.choice[i].all_needs)
            elif i in self.values:
                outside[i] = None
        self._parts[keeper] = inside
        return outside

    def _cheap(self) -> set[Instance]:
        """Arithmetic of scalars and lengths: it cannot raise and costs next to nothing, nor does what it is made of."""
        found: set[Instance] = set()
        for i in self.schedule.items:
            if i not in self.values or i in self.loop_of or self.condition(i) is not None:
                continue
            form, needs = self.choice[i].form, self.choice[i].needs
            operator = None if form is None else form.operator
            if not isinstance(operator, Op) or operator.can_raise or any(j not in found for j in self.uses(i)):
                continue
            if operator.name == "shape_i" or all(map(self._scalar, (i, *needs))):
                found.add(i)
        return found


def all_of(schedule: EvaluationOrder) -> Iterator[Instance]:
    """Everything scheduled inside, loops in loops included."""
    yield from schedule.items
    for body in schedule.inside.values():
        yield from all_of(body)


# Paths


def decided(path: Path) -> Decided:
    """What the values of a program are known to be on a path."""
    return {c: side for c, side in path if isinstance(c, Instance)}


def _common(paths: Iterable[Path]) -> Path:
    """How far all paths go together."""
    first, *others = paths
    for path in others:
        n = 0
        while n < min(len(first), len(path)) and first[n] == path[n]:
            n += 1
        first = first[:n]
    return first


def _leads_past(path: Path, other: Path, through: bool) -> bool:
    """Whether who is on a path is on the other one, too.  through: also where that is an AnyOf."""
    if path[: len(other)] == other:
        return True
    last = other[-1][0] if other else None
    return through and isinstance(last, AnyOf) and any(_leads_past(path, p, through) for p in last.paths)


def _reduced(paths: Iterable[Path], through: bool = False) -> frozenset[Path]:
    """The same paths, none of which lies on another one; both sides of a condition are no condition."""
    out = set(paths)
    while True:
        out = {p for p in out if not any(_leads_past(p, q, through) for q in out if q != p)}
        both = next((p[:-1] for p in out if p and (*p[:-1], (p[-1][0], not p[-1][1])) in out), None)
        if both is None:
            return frozenset(out)
        out.add(both)


# Places


@dataclass(frozen=True)
class PathsOfValues:
    """On which paths each value that is needed is computed; which values are shared."""

    of: Mapping[Instance, frozenset[Path]]
    shared: Set[Instance]

    def belongs(self, i: Instance, path: Path) -> bool:
        """Whether a value is needed by all who are on the path."""
        paths = self.of.get(i, frozenset())
        return any(path[:n] in paths for n in range(len(path) + 1))


def places(level: Level, wanted: Iterable[Instance], known: Decided) -> PathsOfValues:
    """Where the values of a level are computed.

    wanted: those that are needed in any case.  known: conditions that are decided around the level.
    """
    found: dict[Instance, set[Path]] = defaultdict(set)
    for w in wanted:
        found[settled(level.choice, w, known)].add(())
    out: dict[Instance, frozenset[Path]] = {}
    waits: dict[Instance, tuple[Instance, ...]] = {}
    for i in reversed(level.schedule.items):
        if i.loop:
            ours = [k for k in level.keepers.get(i, ()) if k in found]
            _kept_anyway(level, ours, found)
        elif i in level.loop_of or i not in level.values or i not in found:
            continue
        else:
            ours = [i]
        for u in ours:
            out[u] = _placed(level, u, found[u], waits)
            if level.condition(u) and len(out[u]) == 1 and _too_deep(path := next(iter(out[u]))):
                path, new = level.guard(u, path)
                out |= {u: frozenset((path,)), **{i: frozenset((p,)) for i, p in new.items()}}
            for path in out[u]:
                for j, side in level.uses_on(u, {**known, **decided(path)}):
                    found[j].add(path + side)
    return PathsOfValues(out, waits.keys())


def _too_deep(path: Path) -> bool:
    return len(path) >= DEEPEST and all(isinstance(c, Instance) for c, _ in path)


def _placed(
    level: Level, i: Instance, paths: Iterable[Path], waits: dict[Instance, tuple[Instance, ...]]
) -> frozenset[Path]:
    """The paths on which a value is computed; in `waits`, for one that is shared, the conditions it waits for.

    A condition that may need the value itself cannot tell where to compute it: such a value is
    computed on each of its paths.
    """
    alone = _reduced(paths)
    if len(alone) == 1:
        return alone
    if i in level.cheap:
        return frozenset((_common(alone),))
    merged = _reduced(paths, through=True)
    around = _common(merged)
    if len(merged) > 1:
        if any(len(p) != len(around) + 1 for p in merged):
            return alone
        around = (*around, (AnyOf(merged), True))
    conditions = tuple(asked(around[-1][0]))
    if _depends(level, conditions, i, waits):
        return alone
    waits[i] = conditions
    return frozenset((around,))


def asked(c: Condition) -> Iterator[Instance]:
    """The values that a condition is made of."""
    if isinstance(c, Instance):
        yield c
    else:
        for p in c.paths:
            yield from asked(p[-1][0])


def _depends(
    level: Level, starts: Iterable[Instance], target: Instance, waits: Mapping[Instance, tuple[Instance, ...]]
) -> bool:
    """Whether something that computing `starts` may have to wait for is `target`."""
    todo, seen = [*starts], set[Instance]()
    while todo:
        i = todo.pop()
        if i == target:
            return True
        if i in level.values and i not in seen:
            seen.add(i)
            todo.extend(j for j, _ in level.uses_on(i, {}))
            todo.extend(waits.get(i, ()))
    return False


def _kept_anyway(level: Level, keepers: list[Instance], found: dict[Instance, set[Path]]) -> None:
    """A loop that runs anyway also keeps what is asked for on some path, if it has computed that already."""
    if len(keepers) < 2:
        return
    for k in keepers:
        if level.choice[k].form.kind == "at":  # type: ignore[union-attr]  # which may raise
            continue
        for p in [*found[k]]:
            for n in range(len(p)):
                here = [other for other in keepers if p[:n] in found[other]]
                if here and level.part(k) <= set[Instance]().union(*(level.part(other) for other in here)):
                    found[k].add(p[:n])
                    break
