"""The evaluation order of the values of one place; ifelses on one condition are grouped where that is possible."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from scanopt.extraction.problem import Instance
from scanopt.program.sinking.branches import (
    AnyOf,
    Condition,
    Decided,
    Level,
    Path,
    PathsOfValues,
    asked,
    decided,
    settled,
)
from scanopt.records import dataclass

__all__ = ["Region", "Unit"]


@dataclass(frozen=True)
class Unit:
    """One thing to compute: a value, or a loop with the values that keep rows of it.

    key: the condition that decides whether (a shared value) or which side (an ifelse) is computed.
    """

    value: Instance
    keeps: tuple[Instance, ...] = ()
    key: Condition | None = None


class Region:
    """The values to compute on a path: `wanted`, and all that they need and that has no name yet.

    known: conditions that are decided around the level.  reached: all values that may be needed,
    those on sides of ifelses included.
    """

    def __init__(
        self,
        level: Level,
        places: PathsOfValues,
        path: Path,
        wanted: Iterable[Instance],
        known: Decided,
        names: Mapping[Instance, str],
    ) -> None:
        self.level, self.places, self.path = level, places, path
        self.known = {**known, **decided(path)}
        self._named = dict(names)  # as they are now
        self.reached = self.reach(wanted, self.known)
        self.units = list(self._units())
        self._unit = {i: n for n, u in enumerate(self.units) for i in (u.value, *u.keeps)}
        self._after = [self._before(u) for u in self.units]

    def reach(self, starts: Iterable[Instance], known: Decided, ends: Container[Instance] = ()) -> dict[Instance, None]:
        """These values and all they may need, as far as they have no names; the needs of `ends` are not followed."""
        todo, seen = [*starts], dict[Instance, None]()
        while todo:
            i = settled(self.level.choice, todo.pop(), known)
            if i in seen or i in self._named:
                continue
            seen[i] = None
            if i not in ends:
                todo.extend(j for j, _ in self.level.uses_on(i, known))
        return seen

    def _units(self) -> Iterator[Unit]:
        level = self.level
        loops = (level.loop_of[i] for i in self.reached if i in level.loop_of)
        there = dict.fromkeys((*(i for i in self.reached if i in level.values), *loops))
        for i in sorted(there, key=level.position.__getitem__):
            if i.loop:
                keeps = tuple(k for k in level.keepers.get(i, ()) if k in self.reached and self._here(k))
                if keeps:
                    yield Unit(i, keeps)
            elif self._here(i):
                yield Unit(i, (), level.condition(i))
            elif i in self.places.shared:
                (path,) = self.places.of[i]
                if path[:-1] == self.path:
                    yield Unit(i, (), path[-1][0])

    def _here(self, i: Instance) -> bool:
        return self.places.belongs(i, self.path)

    def _before(self, u: Unit) -> set[int]:
        """The numbers of the units that must come before."""
        level, starts = self.level, list[Instance]()
        found = dict[Instance, None]()
        if u.keeps:
            starts = [j for k in u.keeps for j in level.uses(k)]
        elif u.value in level.loop_of and not isinstance(u.key, AnyOf):
            return {self._unit[level.loop_of[u.value]]}
        elif isinstance(u.key, Instance):
            test, *sides = level.choice[u.value].needs
            starts = [test]
            for side, value in zip((True, False), sides, strict=True):
                found |= self.reach([value], {**self.known, u.key: side}, self._unit)
        elif isinstance(u.key, AnyOf):
            starts = [*asked(u.key)]
            inside = {i for i in self._unit if self.units[self._unit[i]].key != u.key}
            found |= self.reach(level.uses(u.value), self.known, inside)
        else:
            starts = [*level.uses(u.value)]
        found |= self.reach(starts, self.known, self._unit)
        return {self._unit[i] for i in found if i in self._unit} - {self._unit[u.value]}

    # The order

    def groups(self) -> Iterator[list[Unit]]:
        """Yield the units in order: one without a key alone, those of one key together where nothing comes between."""
        left, done = list(range(len(self.units))), set[int]()
        while left:
            for n in left:
                group = self._group(n, left, done)
                if group:
                    done.update(group)
                    yield [self.units[m] for m in group]
            rest = [n for n in left if n not in done]
            if len(rest) == len(left):
                done.update(group := self._any_group(left, done))
                yield [self.units[m] for m in group]
                rest = [n for n in left if n not in done]
            left = rest

    def _ready(self, n: int, done: set[int]) -> bool:
        return n not in done and self._after[n] <= done

    def _group(self, n: int, left: Sequence[int], done: set[int]) -> list[int]:
        """Unit `n`, if it is ready, and the ready ones of its key; empty where others of its key could join later."""
        key = self.units[n].key
        if key is None or not self._ready(n, done):
            return [n] if self._ready(n, done) else []
        same = [m for m in left if self.units[m].key == key and m not in done]
        group = [m for m in same if self._ready(m, done)]
        return group if all(m in group or self._needs(m, group, done) for m in same) else []

    def _any_group(self, left: Sequence[int], done: set[int]) -> list[int]:
        """Where every group would wait for others: the first unit that is ready, and the ready ones of its key."""
        first = next((n for n in left if self._ready(n, done)), None)
        if first is None:
            raise AssertionError("values that need one another")
        return [m for m in left if self.units[m].key == self.units[first].key and self._ready(m, done)]

    def _needs(self, n: int, group: Sequence[int], done: Container[int]) -> bool:
        """Whether a unit can be computed only after one of `group`."""
        todo, seen = [n], set[int]()
        while todo:
            m = todo.pop()
            if m in group:
                return True
            if m not in seen and m not in done:
                seen.add(m)
                todo.extend(self._after[m])
        return False
