"""Alias analysis for `barriers.py`: which pointers to rows of states can never point to the same row.

A state of several steps lies in a ring of rows.  A pointer to one of them is computed from the number of the step
alone, and only that row is accessed through it.  So two pointers differ if their rows differ modulo the number of rows.
"""

from __future__ import annotations

from collections.abc import Iterable

from scanopt.backends.kernels.ir import Do, Expr, Lit, Point, Stmt, Var
from scanopt.backends.kernels.walks import inside
from scanopt.records import dataclass

__all__ = ["PointedAt", "RowOfStep", "places_of_pointers", "row_of_step"]


@dataclass(frozen=True)
class RowOfStep:
    """Row `step + behind`, modulo `depth` where that is not 0, of rows of `size` elements."""

    step: str
    behind: int
    depth: int
    size: Expr

    def differs(self, other: RowOfStep) -> bool:
        """Whether two rows of one array have the same size and are never the same row in one step."""
        if (self.step, self.depth, self.size) != (other.step, other.depth, other.size):
            return False
        apart = self.behind - other.behind
        return apart % self.depth != 0 if self.depth else apart != 0


@dataclass(frozen=True)
class PointedAt:
    """Where a pointer may point: into an array.  row: the row, if only that row is accessed through the pointer."""

    array: str
    row: RowOfStep | None = None

    def meets(self, other: PointedAt) -> bool:
        """Whether both may point to the same elements in one step."""
        known = self.row and other.row and self.row.differs(other.row)
        return self.array == other.array and not known


def row_of_step(index: Expr) -> RowOfStep | None:
    """The row that begins at an index; None for an index of another form."""
    match index:
        case Do(op="multiply", args=(Do(op="remainder", args=(row, Lit(value=int() as depth))), size)):
            pass
        case Do(op="multiply", args=(row, size)):
            depth = 0
        case _:
            return None
    match row:
        case Var(name=name):
            return RowOfStep(name, 0, depth, size)
        case Do(op="add", args=(Var(name=name), Lit(value=int() as behind))):
            return RowOfStep(name, behind, depth, size)
        case _:
            return None


def places_of_pointers(body: Iterable[Stmt]) -> dict[str, set[PointedAt]]:
    """Where each pointer may point; for a pointer made from another one, no row is known."""
    points = [x for x in inside(body) if isinstance(x, Point)]
    found: dict[str, set[PointedAt]] = {x.name: set() for x in points}
    before = -1
    while before != (before := sum(map(len, found.values()))):
        for x in points:
            from_others = found.get(x.array)
            if from_others is None:
                found[x.name].add(PointedAt(x.array, row_of_step(x.index)))
            else:
                found[x.name] |= {PointedAt(p.array) for p in from_others}
    return found
