"""Live ranges of a kernel's scratch arrays: arrays that are never live at once share memory."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from scanopt.backends.kernels.ir import Helper, Inner, Point, Steps, Stmt, Store
from scanopt.backends.kernels.walks import expressions, inside, loads

__all__ = ["lives_of", "placed"]


def lives_of(
    statements: Sequence[Stmt], scratch: Iterable[str], made_in: Mapping[str, str] | None = None
) -> dict[str, tuple[int, int]]:
    """The live range of each scratch array: the first and last statement, in the order they run, that mention it.

    A pointer stands for every array that any statement sets it to.  made_in: by array the variable of the loop each
    step of which makes it anew: within that loop it is live from there on.  Other arrays the next step may need.
    """
    targets: dict[str, set[str]] = {}
    for x in inside(statements):
        if isinstance(x, Point):
            targets.setdefault(x.name, set()).add(x.array)
    return _Ranges(frozenset(scratch), targets, made_in or {}).of(statements)


class _Ranges:
    """Live ranges, found statement by statement."""

    def __init__(self, wanted: frozenset[str], targets: Mapping[str, set[str]], made_in: Mapping[str, str]) -> None:
        self.wanted, self.targets, self.made_in = wanted, targets, made_in
        self.count, self.loops = 0, {*made_in.values()}

    def of(self, statements: Sequence[Stmt]) -> dict[str, tuple[int, int]]:
        """The first and last statements that mention arrays, those inside of loops counted too."""
        found: dict[str, tuple[int, int]] = {}
        for statement in statements:
            for name, (first, last) in self._inside(statement, found).items():
                before = found.get(name, (first, last))
                found[name] = min(before[0], first), max(before[1], last)
        return found

    def _inside(self, x: Stmt, before: Collection[str]) -> dict[str, tuple[int, int]]:
        """The same of one statement.  before: arrays that were mentioned before."""
        begin = self.count
        if isinstance(x, Steps) and x.var in self.loops:
            own = self.of(x.body)
            steady = [name for name in own if self.made_in.get(name) != x.var or name in before]
            return own | dict.fromkeys(steady, (begin, self.count - 1))
        self.count += 1
        reached = self.wanted.intersection(_reached(set(_arrays(x)), self.targets))
        return dict.fromkeys(reached, (begin, begin))


def placed(sizes: Mapping[int, int], lives: Mapping[int, tuple[int, int]]) -> tuple[dict[int, int], int]:
    """Offsets for arrays of these sizes, and their total size; the largest arrays are placed first.

    Arrays without a life are needed from the first statement to the last one.

    >>> placed({0: 64, 1: 128, 2: 64}, {0: (0, 1), 1: (1, 2), 2: (2, 3)})
    ({1: 0, 0: 128, 2: 128}, 192)
    """
    offsets: dict[int, int] = {}
    for i in sorted(sizes, key=lambda i: -sizes[i]):
        taken = sorted((offsets[j], offsets[j] + sizes[j]) for j in offsets if _overlap(lives.get(i), lives.get(j)))
        start = 0
        for low, high in taken:
            if start + sizes[i] <= low:
                break
            start = max(start, high)
        offsets[i] = start
    return offsets, max((offsets[i] + sizes[i] for i in offsets), default=0)


def _overlap(a: tuple[int, int] | None, b: tuple[int, int] | None) -> bool:
    return a is None or b is None or (a[0] <= b[1] and b[0] <= a[1])


def _reached(names: set[str], targets: Mapping[str, set[str]]) -> set[str]:
    """Names, with all that the pointers among them may point to."""
    todo = [*names]
    while todo:
        new = targets.get(todo.pop(), set()) - names
        names |= new
        todo += new
    return names


def _arrays(statement: Stmt) -> Iterator[str]:
    """The arrays and pointers that a statement mentions."""
    for x in inside((statement,)):
        match x:
            case Point(name=name, array=array):
                yield from (name, array)
            case Store(array=array):
                yield array
            case Inner(arrays=arrays) | Helper(arrays=arrays):
                yield from arrays
            case _:
                pass
        yield from (read.array for value in expressions(x) for read in loads(value))
