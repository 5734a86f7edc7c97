"""Finds the live ranges of a kernel's scratch arrays, and places them: arrays that are never live at once share memory.

Two arrays also share memory if one is last read where the other is computed, and each element is read before the one
that takes its place is stored: elementwise operations are then computed in place.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from scanopt.backends.kernels.ir import ZERO, Expr, For, Helper, Inner, Let, Point, Steps, Stmt, Store, Var
from scanopt.backends.kernels.values import index, packed
from scanopt.backends.kernels.walks import expressions, inside, loads

__all__ = ["Life", "lives_of", "placed"]

Life = tuple[int, int]


def lives_of(
    statements: Sequence[Stmt], scratch: Iterable[str], made_in: Mapping[str, str] | None = None
) -> tuple[dict[str, Life], dict[str, str]]:
    """The live range of each scratch array: the first and last statement, in the order they run, that mention it.

    A pointer stands for every array that any statement sets it to.  made_in: for each array, the variable of the loop
    that makes it anew in each step: in that loop it is live from there on; other arrays may be needed by the next step.

    The second result says, for some arrays, onto which other one they may be written, element by element.
    """
    targets: dict[str, set[str]] = {}
    for x in inside(statements):
        if isinstance(x, Point):
            targets.setdefault(x.name, set()).add(x.array)
    ranges = _Ranges(frozenset(scratch), targets, made_in or {})
    found = ranges.of(statements)
    return found, {b: a for at, a, b in ranges.onto if found[a][1] == at == found[b][0]}


class _Ranges:
    """Finds live ranges, statement by statement."""

    def __init__(self, wanted: frozenset[str], targets: Mapping[str, set[str]], made_in: Mapping[str, str]) -> None:
        self.wanted, self.targets, self.made_in = wanted, targets, made_in
        self.count, self.loops = 0, {*made_in.values()}
        self.onto: list[tuple[int, str, str]] = []
        """Triples: a statement, the array last read there, and the array that may be written there in its place."""

    def of(self, statements: Sequence[Stmt]) -> dict[str, Life]:
        """The first and last statements that mention each array, numbered with those inside loops."""
        found: dict[str, Life] = {}
        loops: list[tuple[int, For | Inner]] = []
        for statement in statements:
            loops += [(self.count, statement)] if isinstance(statement, For | Inner) else []
            for name, (first, last) in self._inside(statement, found).items():
                before = found.get(name, (first, last))
                found[name] = min(before[0], first), max(before[1], last)
        for at, loop in loops:
            self._in_place(at, loop, found)
        return found

    def _in_place(self, at: int, loop: For | Inner, lives: Mapping[str, Life]) -> None:
        """Note which arrays may be written onto others by a loop of the kernel or an inner loop of NumPy."""
        mine = {*_arrays(loop)}
        through_pointers = _reached(mine & {*self.targets}, self.targets)
        here = sorted((mine & self.wanted) - through_pointers)
        ends = [a for a in here if lives[a][0] < lives[a][1] == at]
        for b in (b for b in here if lives[b][0] == at):
            if a := next((a for a in ends if _by_element(loop, a, b)), ""):
                ends.remove(a)
                self.onto.append((at, a, b))

    def _inside(self, x: Stmt, before: Collection[str]) -> dict[str, Life]:
        """The live ranges within one statement.  before: arrays that were mentioned before."""
        begin = self.count
        if isinstance(x, Steps) and x.var in self.loops:
            own = self.of(x.body)
            steady = [name for name in own if self.made_in.get(name) != x.var or name in before]
            self.onto = [pair for pair in self.onto if {*steady}.isdisjoint(pair[1:])]
            return own | dict.fromkeys(steady, (begin, self.count - 1))
        self.count += 1
        reached = self.wanted.intersection(_reached(set(_arrays(x)), self.targets))
        return dict.fromkeys(reached, (begin, begin))


def placed(
    sizes: Mapping[int, int], lives: Mapping[int, Life], onto: Mapping[int, int] | None = None
) -> tuple[dict[int, int], int]:
    """Offsets for arrays of these sizes, and their total size; the largest arrays are placed first.

    Arrays without a live range are live from the first statement to the last one.  onto: for some arrays, the one that
    they may be written onto, element by element, if both have the same size.

    >>> placed({0: 64, 1: 128, 2: 64}, {0: (0, 1), 1: (1, 2), 2: (2, 3)})
    ({1: 0, 0: 128, 2: 128}, 192)
    >>> placed({0: 64, 1: 64}, {0: (0, 1), 1: (1, 2)}, {1: 0})
    ({0: 0, 1: 0}, 64)
    """
    offsets: dict[int, int] = {}
    pairs = {frozenset(pair) for pair in (onto or {}).items() if sizes[pair[0]] == sizes[pair[1]]}
    for i in sorted(sizes, key=lambda i: -sizes[i]):
        others = [j for j in offsets if _overlap(lives.get(i), lives.get(j))]
        partners = [j for j in others if {i, j} in pairs]
        taken = sorted((offsets[j], offsets[j] + sizes[j], j) for j in others)
        start = 0
        for low, high, _ in taken:
            if start + sizes[i] <= low:
                break
            start = max(start, high)
        for j in partners:
            if not any(low < offsets[j] + sizes[j] and offsets[j] < high for low, high, k in taken if k != j):
                start = min(start, offsets[j])
        offsets[i] = start
    return offsets, max((offsets[i] + sizes[i] for i in offsets), default=0)


def _by_element(loop: For | Inner, a: str, b: str) -> bool:
    """Whether a loop reads each element of a before it stores the element of b that has the same place."""
    if isinstance(loop, Inner):
        steps = {s for x, s in zip(loop.arrays, loop.strides, strict=False) if x in (a, b)}
        return loop.by_element and loop.arrays.count(b) == 1 and loop.arrays[-1] == b and len(steps) == 1
    names, counts, body = [loop.var], [loop.count], loop.body
    while len(body) == 1 and isinstance(body[0], For):
        names, counts, body = [*names, body[0].var], [*counts, body[0].count], body[0].body
    place = index(ZERO, [Var(name) for name in names], packed(tuple(counts)))
    stored = False
    for x in body:
        if not isinstance(x, Let | Store):
            return False
        read: list[Expr] = [y.index for value in expressions(x) for y in loads(value) if y.array in (a, b)]
        if any(at != place for at in read) or (read and stored):
            return False
        if isinstance(x, Store) and x.array in (a, b):
            stored = True
            if x.array == a or x.index != place:
                return False
    return True


def _overlap(a: Life | None, b: Life | None) -> bool:
    return a is None or b is None or (a[0] <= b[1] and b[0] <= a[1])


def _reached(names: set[str], targets: Mapping[str, set[str]]) -> set[str]:
    """The names, and all arrays to which the pointers among them may point."""
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
