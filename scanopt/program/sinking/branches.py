"""Where to compute what: a value that only some sides of ifelses need is computed on those sides alone.

A *path* is a sequence of decided conditions, (a condition, true or false), outermost first.  Each value of a
level (a loop's step, or what lies outside of loops) is needed on some paths.  None of them is a prefix of
another one, and where both sides of a condition need a value, the path around the condition does.  A value
that is needed under several conditions is *shared*: it is computed once, where any of them holds.

A path may be as long as ifelses are nested, but branches of the program nest no deeper than `DEEPEST`: an ifelse at the
end of a longer path is *guarded*.  Whether control gets there is computed first, outside of all sides, by further
ifelses; the value then stands on one side of that condition alone, and paths start anew.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Set

from scanopt.array.op import Op
from scanopt.array.operators.control import IFELSE
from scanopt.calculus.forms import Form
from scanopt.extraction.ordering import Choice, EvaluationOrder
from scanopt.extraction.problem import Instance, Option
from scanopt.records import dataclass

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
"""The greatest depth of sides inside one another."""

Decided = Mapping[Instance, bool]
"""The conditions that are decided at some place, each with its value."""


TRUE, FALSE = Instance(-(10**9)), Instance(-(10**9) - 1)
"""The constants True and False, which have names everywhere."""
_NEW = -(10**9) - 2


@dataclass(frozen=True)
class AnyOf:
    """The condition that any of these paths is taken; they are alike except for their last condition."""

    paths: frozenset[Path]


Condition = Instance | AnyOf
Path = tuple[tuple[Condition, bool], ...]


def is_ifelse(form: Form | None) -> bool:
    """Whether a form computes only one of its two values."""
    return form is not None and isinstance(form.operator, Op) and form.operator.name == "ifelse"


def is_leaf(form: Form | None) -> bool:
    """Whether a form needs no computation: its value has a name already."""
    return form is not None and form.kind in ("input", "const", "hold", "seq", "delay")


def condition(choice: Choice, i: Instance) -> Instance | None:
    """The condition of an ifelse; None for any other value."""
    if i.loop or not is_ifelse(choice[i].form):
        return None
    found = choice[i].needs[0]
    while (form := choice[found].form) is not None and form.kind == "hold":
        found = choice[found].needs[0]
    return found


def settled(choice: Choice, i: Instance, known: Decided) -> Instance:
    """The value itself, or for an ifelse whose condition is known, the value of the side taken."""
    while (c := condition(choice, i)) is not None and c in known:
        i = choice[i].needs[1 if known[c] else 2]
    return i


class Level:
    """The values of one level and what each of them uses on it.

    schedule: the evaluation order of the level.  keepers: for each loop, the values that keep rows of
    it.  scalar: whether a value has no axes.
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
        self.guarded: dict[Instance, Instance] = {}  # by such an ifelse: the value that it guards
        self.values = {i for i in schedule.items if not i.loop and not is_leaf(choice[i].form)}
        self.loop_of = {k: loop for loop in schedule.inside for k in keepers.get(loop, ())}
        self._parts: dict[Instance, Set[Instance]] = {}
        self._uses: dict[Instance, tuple[Instance, ...]] = {}
        self.cheap = self._cheap()

    def condition(self, i: Instance) -> Instance | None:
        """The condition of an ifelse; None for any other value."""
        return condition(self.choice, i)

    def uses(self, i: Instance) -> tuple[Instance, ...]:
        """The values of this level that a value is computed from; for one kept by a loop, those that the loop reads."""
        if i not in self._uses:
            needs = self._around(i) if i in self.loop_of else self.choice[i].needs
            self._uses[i] = tuple(j for j in needs if j in self.values)
        return tuple(self.guards.get(j, j) for j in self._uses[i]) if self.guards else self._uses[i]

    def uses_on(self, i: Instance, known: Decided) -> Iterator[tuple[Instance, Path]]:
        """Yield the values that a value uses, ifelses with known conditions resolved, and the side that uses each."""
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
        """Guard a value; return its new path, and the paths of the new ifelses."""
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
        """Add an ifelse that is not in the extracted program."""
        made = Instance(_NEW - len(self.position))
        self.choice[made] = Option(Form("apply", operator=IFELSE), 0.0, (c, then, otherwise))
        self.choice |= dict.fromkeys((TRUE, FALSE), Option(Form("const"), 0.0, ()))
        self.position[made] = len(self.position)
        self.values.add(made)
        return made

    def part(self, keeper: Instance) -> Set[Instance]:
        """The instances that a loop, nested loops included, must compute for what `keeper` keeps of it."""
        if keeper not in self._parts:
            self._around(keeper)
        return self._parts[keeper]

    def _around(self, keeper: Instance) -> Iterable[Instance]:
        """The values outside a loop that it reads to compute what `keeper` keeps of it."""
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
        """Arithmetic of scalars and lengths all the way down: such values cannot raise and cost almost nothing."""
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
    """All instances of a schedule, those of nested loops included."""
    yield from schedule.items
    for body in schedule.inside.values():
        yield from all_of(body)


# Paths


def decided(path: Path) -> Decided:
    """The conditions decided on a path, each with its value."""
    return {c: side for c, side in path if isinstance(c, Instance)}


def _common(paths: Iterable[Path]) -> Path:
    """The longest common prefix of the paths."""
    first, *others = paths
    for path in others:
        n = 0
        while n < min(len(first), len(path)) and first[n] == path[n]:
            n += 1
        first = first[:n]
    return first


def _leads_past(path: Path, other: Path, through: bool) -> bool:
    """Whether being on `path` implies being on `other`.  through: look into an AnyOf at the end of `other`, too."""
    if path[: len(other)] == other:
        return True
    last = other[-1][0] if other else None
    return through and isinstance(last, AnyOf) and any(_leads_past(path, p, through) for p in last.paths)


def _reduced(paths: Iterable[Path], through: bool = False) -> frozenset[Path]:
    """The paths without those that imply another one; both sides of a condition become the path before it."""
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
    """The paths on which each needed value is computed, and the values that are shared."""

    of: Mapping[Instance, frozenset[Path]]
    shared: Set[Instance]

    def belongs(self, i: Instance, path: Path) -> bool:
        """Whether a value is computed on the path, or on a prefix of it."""
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
    """The paths on which a value is computed; for a shared value, `waits` gets the conditions that it waits for.

    A condition that may depend on the value cannot decide where to compute it: such a value is
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
    """The values that decide a condition."""
    if isinstance(c, Instance):
        yield c
    else:
        for p in c.paths:
            yield from asked(p[-1][0])


def _depends(
    level: Level, starts: Iterable[Instance], target: Instance, waits: Mapping[Instance, tuple[Instance, ...]]
) -> bool:
    """Whether computing `starts` may have to wait for `target`."""
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
    """Let a loop that runs anyway also keep values that only some paths need, if it computes them already."""
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
