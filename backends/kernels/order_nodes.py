"""The nodes that compare elements to order them (the others are in `nodes.py`)."""

from __future__ import annotations

from scanopt.backends.kernels.matrix_nodes import One
from scanopt.records import dataclass

__all__ = ["Extreme", "Insert", "Search", "Sort"]


@dataclass(frozen=True)
class Extreme(One):
    """The index of the first greatest (op: greater) or least (op: less) element along an axis; NaN beats all."""

    out: str
    args: tuple[str, ...]
    op: str
    axis: int
    dtype: str = "int64"


@dataclass(frozen=True)
class Search(One):
    """The indices at which elements would be inserted into a sorted array.

    right: after equal elements.  rising: array steps run if the array is not sorted.
    """

    out: str
    args: tuple[str, ...]
    right: bool
    rising: bool = False
    dtype: str = "int64"


@dataclass(frozen=True)
class Sort(One):
    """The elements along an axis sorted, or their order.  op: which, and by which algorithm, as "argsort stable"."""

    out: str
    args: tuple[str, ...]
    op: str
    axis: int
    dtype: str


@dataclass(frozen=True)
class Insert(One):
    """A vector x with an element y in its place: sort(concatenate([x, y]))[kept], where the slice leaves out one end.

    op: the function that sorts.  whole: the name of all elements, sorted.  behind: whether y is joined behind x, not
    before it.  tests: with whether they must hold; else the result is x.
    """

    out: str
    args: tuple[str, ...]
    op: str
    whole: str
    kept: tuple[int | None, ...]
    behind: bool
    dtype: str
    tests: tuple[tuple[str, bool], ...] = ()
