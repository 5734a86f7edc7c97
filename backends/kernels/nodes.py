"""The operators of a loop as nodes of few kinds, known from the text of a program, before any length is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from scanopt.array.types import TensorType
from scanopt.program.ir import Branch, Loop

__all__ = [
    "WHOLE", "Body", "Call", "Check", "Contract", "Count", "Diagonal", "Draw", "Evenly", "Extreme", "Fork", "Join",
    "Length", "Map", "Nested", "NoForm", "NoOrder", "Node", "Nonempty", "Powers", "Product", "Reduce", "Repeat",
    "Reshape", "Running", "Search", "SetItem", "Single", "Solve", "SumTo", "Take", "View", "Within", "walk",
]  # fmt: skip

WHOLE = (None, None, None)
"""The slice of all of an axis."""


class NoForm(Exception):  # noqa: N818 (no error: the loop stays a loop of array steps)
    """Why a loop has no kernel."""


class NoOrder(NoForm):
    """It has none because array steps round by how an array lies in memory; with C order everywhere it has one."""


class _One:
    """A node that makes one value."""

    out: str

    @property
    def outs(self) -> tuple[str, ...]:
        """The names that it makes."""
        return (self.out,)


@dataclass(frozen=True)
class _Made(_One):
    """A node of which that value, what it reads and its dtype are said."""

    out: str
    args: tuple[str, ...]
    dtype: str


@dataclass(frozen=True)
class Map(_One):
    """One operation of C for each element.  takes: dtypes that its arguments are cast to; like: what has its shape."""

    out: str
    args: tuple[str, ...]
    op: str
    takes: tuple[str, ...]
    dtype: str
    like: str


@dataclass(frozen=True)
class Repeat(Map):
    """The elements of an array along new axes, of lengths that values say: `counts`, the names of these."""

    counts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Call(_One):
    """An inner loop of NumPy's over all elements.  whole: it must be one call, over what NumPy would give it."""

    out: str
    args: tuple[str, ...]
    ufunc: str
    takes: tuple[str, ...]
    dtype: str
    like: str
    whole: bool = False


@dataclass(frozen=True)
class View(_One):
    """Elements of an array by other indices: x[..] with numbers and slices, its axes in another order.

    axes: for each axis of the result that of x, with the slice that is taken of it, or None for a new one; the ends of
    a slice may be names.  at: for axes of x that are gone, the index: a number or the name of one.
    """

    out: str
    args: tuple[str, ...]
    axes: tuple[tuple[int, tuple[Any, ...]] | None, ...]
    at: tuple[tuple[int, int | str], ...]
    dtype: str

    @property
    def ends(self) -> tuple[str, ...]:
        """The names that slices end at."""
        return tuple(p for x in self.axes if x is not None for p in x[1] if isinstance(p, str))


@dataclass(frozen=True)
class Reshape(_Made):
    """The same elements in order, in another shape.  merged: the axes of x that each axis of the result is made of."""

    merged: tuple[tuple[int, ...], ...] | None = None


@dataclass(frozen=True)
class Join(_One):
    """Arrays one after the other along an axis; new: one that they do not have yet."""

    out: str
    args: tuple[str, ...]
    axis: int
    new: bool
    dtype: str


@dataclass(frozen=True)
class Product(_Made):
    """The product of two matrices or vectors, by NumPy's inner loop.  as_they_lie: with the strides that they have."""

    as_they_lie: bool = False


@dataclass(frozen=True)
class Contract(_One):
    """The sum of products over pairs of axes, by NumPy's inner loop for matrices."""

    out: str
    args: tuple[str, ...]
    axes: tuple[tuple[int, ...], tuple[int, ...]]
    dtype: str


@dataclass(frozen=True)
class Powers(_Made):
    """A number raised to 0, 1, 2 ...: its second argument, which must be these."""


@dataclass(frozen=True)
class Length(_One):
    """The length of an axis."""

    out: str
    args: tuple[str, ...]
    axis: int
    dtype: str = "int64"


@dataclass(frozen=True)
class Reduce(_One):
    """What is left of some axes of an array: op is the ufunc that puts elements together, in NumPy's order.

    counted: the result is divided by the number of elements.
    """

    out: str
    args: tuple[str, ...]
    op: str
    axes: tuple[int, ...]
    dtype: str
    counted: bool = False


@dataclass(frozen=True)
class SumTo(_Made):
    """The first argument, summed along axes on which the result has length 1."""


@dataclass(frozen=True)
class Running(_One):
    """Elements put together along an axis by an operation of C, one after the other, each of them kept."""

    out: str
    args: tuple[str, ...]
    op: str
    axis: int
    dtype: str


@dataclass(frozen=True)
class SetItem(_One):
    """The first argument with a part replaced by the second, or with that added."""

    out: str
    args: tuple[str, ...]
    part: View
    added: bool
    dtype: str


@dataclass(frozen=True)
class Take(_One):
    """Parts of an array by an array of indices along one of its axes."""

    out: str
    args: tuple[str, ...]
    axis: int
    dtype: str


@dataclass(frozen=True)
class Check(_One):
    """The first of two numbers, where a comparison of both holds; else array steps run, which say what is wrong."""

    out: str
    args: tuple[str, ...]
    op: str
    dtype: str = "int64"


@dataclass(frozen=True)
class Count(_One):
    """How many rows of a trace a part needs; args: the rows that there are, and bounds of the part.

    op: what of it is asked, as operation of these numbers.  bounds: of the part, "in" for those among the arguments.
    exact: where the part is one row, that row must be there; else array steps run, which say what is wrong.
    """

    out: str
    args: tuple[str, ...]
    op: str
    bounds: tuple[int | str, ...]
    exact: bool
    dtype: str = "int64"


@dataclass(frozen=True)
class Evenly(_Made):
    """Integers from a first one on, by steps: of three numbers the first and the last say which."""


@dataclass(frozen=True)
class Diagonal(_Made):
    """A matrix of ones on a diagonal and zeros beside it; args: its two lengths, and the column where it begins."""


@dataclass(frozen=True)
class Extreme(_One):
    """Where the first greatest (op: greater) or least (op: less) element lies along an axis; NaN is beyond all."""

    out: str
    args: tuple[str, ...]
    op: str
    axis: int
    dtype: str = "int64"


@dataclass(frozen=True)
class Search(_One):
    """Places in a sorted array before which elements are to be inserted.  right: after those that are equal."""

    out: str
    args: tuple[str, ...]
    right: bool
    dtype: str = "int64"


@dataclass(frozen=True)
class Solve(_One):
    """The solution of a system (op: solve) or the inverse of a matrix (op: inv), by NumPy's inner loop."""

    out: str
    args: tuple[str, ...]
    op: str
    dtype: str


@dataclass(frozen=True)
class Draw(_One):
    """Random numbers of a state, its first argument: uniform in [0, 1), or normal."""

    out: str
    args: tuple[str, ...]
    normal: bool
    dtype: str


@dataclass(frozen=True)
class Within(_One):
    """Its argument, all elements of which must lie between bounds; else array steps run, which say what is wrong."""

    out: str
    args: tuple[str, ...]
    low: float | None
    high: float | None
    strict: bool
    nan: bool
    dtype: str


@dataclass(frozen=True)
class Nonempty(_One):
    """Whether arrays have rows: in a kernel all have."""

    out: str
    args: tuple[str, ...]
    dtype: str = "bool"


@dataclass(frozen=True)
class Fork:
    """The nodes of one of two sides run; each result is a value of that side."""

    branch: Branch
    then: tuple[Node, ...]
    otherwise: tuple[Node, ...]
    args: tuple[str, ...]

    @property
    def outs(self) -> tuple[str, ...]:
        """The names that it makes."""
        return tuple(r.out for r in self.branch.results)


@dataclass(frozen=True)
class Nested:
    """A loop, its steps nodes.  args: the names that it reads of those made before it."""

    loop: Loop
    nodes: tuple[Node, ...]
    args: tuple[str, ...]

    @property
    def outs(self) -> tuple[str, ...]:
        """The names that it makes."""
        return tuple(k.out for k in self.loop.keeps)


Single = (
    Map | Call | View | Reshape | Join | Product | Length | Reduce | SumTo | Running | SetItem | Take
    | Check | Count | Diagonal | Draw | Evenly | Extreme | Search | Solve | Within | Nonempty | Contract | Powers
)  # fmt: skip
Node = Single | Fork | Nested


def walk(nodes: Iterable[Node]) -> Iterator[Node]:
    """All nodes, those inside others after them."""
    for node in nodes:
        yield node
        if isinstance(node, Fork):
            yield from walk((*node.then, *node.otherwise))
        elif isinstance(node, Nested):
            yield from walk(node.nodes)


@dataclass(frozen=True)
class Body:
    """A loop all of whose operators are nodes.

    types: of all names that it mentions, those made here included.  outer: names made before it, of which `counts` are
    numbers that lengths depend on.  whole: it stands for a program, not for one of its loops.  cut: the loop of a
    program that may end early, all rows of which are results and read by nobody.  integers: values of constants.
    """

    root: Nested
    types: Mapping[str, TensorType]
    exact: bool
    counts: tuple[str, ...] = ()
    whole: bool = False
    cut: Loop | None = None
    integers: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def loop(self) -> Loop:
        """The loop."""
        return self.root.loop

    @property
    def outer(self) -> tuple[str, ...]:
        """The names made before it, in the order in which it reads them."""
        return self.root.args

    @cached_property
    def ended(self) -> tuple[int, ...]:
        """The numbers of the results that have as many rows as there were steps of the loop that may end early."""
        rows = {k.out for k in self.cut.keeps if k.rows is None} if self.cut else set()
        return tuple(i for i, k in enumerate(self.loop.keeps) if k.value in rows)

    @cached_property
    def size(self) -> int:
        """The number of its operators."""
        return sum(not isinstance(n, Fork | Nested) for n in walk(self.root.nodes))

    @cached_property
    def order(self) -> str:
        """How arguments have to lie in memory for array steps to round as a kernel does: "packed", "forward" or "".

        What exact programs ask for they lay out themselves.
        """
        kinds = set() if self.exact else {type(n) for n in walk(self.root.nodes)}
        return "packed" if kinds & {Contract, Product, Reduce, SumTo} else "forward" if Call in kinds else ""
