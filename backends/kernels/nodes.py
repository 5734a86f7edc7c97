"""Nodes, the form of a program between its operators and the statements of a kernel: the same operators in few kinds.

They are derived from the program by `reading.py` and its siblings, before any length is known.
"""

from __future__ import annotations

from typing import Any

from scanopt.backends.kernels.matrix_nodes import (
    AffineRows,
    Contract,
    Convolve,
    Decomposed,
    Factored,
    Made,
    One,
    Powers,
    Product,
    Products,
    Solve,
    Summing,
    Transform,
)  # fmt: skip
from scanopt.backends.kernels.order_nodes import Extreme, Insert, Search, Sort
from scanopt.program.ir import Branch, Loop
from scanopt.records import dataclass

__all__ = [
    "IDENTITY", "REVERSED", "WHOLE", "AffineRows", "Call", "Check", "Contract", "Convolve", "Count", "Decomposed",
    "Diagonal", "Draw", "Evenly", "Extreme", "Factored", "Fixed", "Fork", "HasRow", "Insert", "Join", "Length",
    "Lookup", "Map", "Nested", "NoForm", "NoOrder", "Node", "Nonempty", "PartSet", "Powers", "Product", "Products",
    "Reduce", "Repeat", "Reshape", "RowAt", "Running", "Scatter", "Search", "SetItem", "Setting", "Single",
    "Solve", "Sort", "SumTo", "Summing", "Take", "Transform", "View", "Within",
]  # fmt: skip

WHOLE = (None, None, None)
"""The slice of all of an axis."""
REVERSED = (None, None, -1)
"""The slice of all of an axis, backwards."""


IDENTITY = {"add": 0, "multiply": 1, "logical_or": False, "logical_and": True}
"""The start of reductions; those not listed start from the first elements."""


class NoForm(Exception):  # noqa: N818 (no error: the loop stays a loop of array steps)
    """The reason why a loop has no kernel."""


class NoOrder(NoForm):
    """No kernel, because array steps round depending on memory layout; with C order everywhere there is one."""


@dataclass(frozen=True)
class Map(One):
    """An elementwise operation in C.  takes: dtypes to which its arguments are cast; like: a name of the same shape."""

    out: str
    args: tuple[str, ...]
    op: str
    takes: tuple[str, ...]
    dtype: str
    like: str


@dataclass(frozen=True)
class Repeat(Map):
    """An array broadcast along new axes; `counts`: the names of their lengths."""

    counts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Lookup(Map):
    """The elements of an array, its first argument, at places along all of its axes: its other arguments."""


@dataclass(frozen=True)
class Call(One):
    """A call of a NumPy inner loop over all elements.  whole: it must be one call, over all that NumPy would pass."""

    out: str
    args: tuple[str, ...]
    ufunc: str
    takes: tuple[str, ...]
    dtype: str
    like: str
    whole: bool = False


@dataclass(frozen=True)
class View(One):
    """A view of x: x[...] with numbers and slices, perhaps with its axes in another order.

    axes: for each axis of the result, the axis of x and the slice of it that is taken, or None for a new axis; the ends
    of a slice may be names.  at: for each axis of x that the result lacks, the index: a number or the name of one.
    """

    out: str
    args: tuple[str, ...]
    axes: tuple[tuple[int, tuple[Any, ...]] | None, ...]
    at: tuple[tuple[int, int | str], ...]
    dtype: str

    @property
    def ends(self) -> tuple[str, ...]:
        """The names of computed ends of slices."""
        return tuple(p for x in self.axes if x is not None for p in x[1] if isinstance(p, str))


@dataclass(frozen=True)
class Reshape(Made):
    """The same elements in order, in another shape; further arguments are lengths that are computed.

    merged: the axes of x that form each axis of the result.  equal: for axes of the result, an axis of a name that is
    as long.  computed: the axes of the result whose lengths are the further arguments.
    """

    merged: tuple[tuple[int, ...], ...] | None = None
    equal: tuple[tuple[int, tuple[str, int]], ...] = ()
    computed: tuple[int, ...] = ()


@dataclass(frozen=True)
class Join(One):
    """A concatenation along an axis; new: along an axis that the arrays do not have yet (stack)."""

    out: str
    args: tuple[str, ...]
    axis: int
    new: bool
    dtype: str


@dataclass(frozen=True)
class RowAt(One):
    """In a loop, row t + shift of an array at step t, or the nearest row that it has.

    behind: the array that it follows: rows are counted as if both were concatenated; "" for none.
    """

    out: str
    args: tuple[str, ...]
    shift: int
    dtype: str
    behind: str = ""


@dataclass(frozen=True)
class HasRow(One):
    """In a loop, whether an array has a row t + shift at step t.  It reads no element of the array."""

    out: str
    args: tuple[str, ...]
    array: str
    shift: int
    dtype: str = "bool"


@dataclass(frozen=True)
class Length(One):
    """The length of an axis."""

    out: str
    args: tuple[str, ...]
    axis: int
    dtype: str = "int64"


@dataclass(frozen=True)
class Reduce(One):
    """A reduction of an array over some axes: op is the ufunc that combines elements, in NumPy's order.

    counted: the result is divided by the number of elements less `less`.
    """

    out: str
    args: tuple[str, ...]
    op: str
    axes: tuple[int, ...]
    dtype: str
    counted: bool = False
    less: int = 0


@dataclass(frozen=True)
class SumTo(Made):
    """The first argument, summed along axes on which the result has length 1."""


@dataclass(frozen=True)
class Running(One):
    """A cumulative operation in C along an axis."""

    out: str
    args: tuple[str, ...]
    op: str
    axis: int
    dtype: str


@dataclass(frozen=True)
class SetItem(One):
    """The first argument with a part replaced by the second, or with the second added to the part."""

    out: str
    args: tuple[str, ...]
    part: View
    added: bool
    dtype: str


@dataclass(frozen=True)
class PartSet(Map):
    """`SetItem` for a part given by slices of all axes, as an operation on the elements of the result."""

    part: View | None = None
    added: bool = False


@dataclass(frozen=True)
class Scatter(One):
    """The first argument with parts at indices replaced by those of the second or increased by them.

    places: the indices along as many axes from `axis` on: names, which are arguments as well, and numbers.
    """

    out: str
    args: tuple[str, ...]
    axis: int
    places: tuple[str | int, ...]
    added: bool
    dtype: str


@dataclass(frozen=True)
class Take(One):
    """Parts of an array by arrays of indices, all its arguments but the first, along as many axes from `axis` on."""

    out: str
    args: tuple[str, ...]
    axis: int
    dtype: str


@dataclass(frozen=True)
class Check(One):
    """The first of two numbers, if a comparison of both holds; otherwise array steps run and report the error."""

    out: str
    args: tuple[str, ...]
    op: str
    dtype: str = "int64"


@dataclass(frozen=True)
class Count(One):
    """The number of rows of a trace that a part needs; args: the number of rows, and the computed bounds of the part.

    op: the operation on these numbers that gives it.  bounds: of the part, "in" for those among the arguments.  exact:
    if the part is one row, that row must exist; else array steps run, which report the error.
    """

    out: str
    args: tuple[str, ...]
    op: str
    bounds: tuple[int | str, ...]
    exact: bool
    dtype: str = "int64"


@dataclass(frozen=True)
class Evenly(Made):
    """Evenly spaced integers, as by `arange`; args: three numbers, of which the first and last are start and step."""


@dataclass(frozen=True)
class Diagonal(Made):
    """A matrix of ones on a diagonal and zeros elsewhere; args: its lengths, and column less row of the diagonal."""


@dataclass(frozen=True)
class Draw(One):
    """Random numbers from a state, its first argument: uniform in [0, 1), or normal.  lead: axes of the states."""

    out: str
    args: tuple[str, ...]
    normal: bool
    dtype: str
    lead: int = 0


@dataclass(frozen=True)
class Within(One):
    """Its argument, whose elements must all lie between bounds; otherwise array steps run and report the error."""

    out: str
    args: tuple[str, ...]
    low: float | None
    high: float | None
    strict: bool
    nan: bool
    dtype: str


@dataclass(frozen=True)
class Fixed(One):
    """A constant number."""

    out: str
    value: float
    dtype: str
    args: tuple[str, ...] = ()


@dataclass(frozen=True)
class Nonempty(One):
    """Whether arrays have rows: in a kernel always true."""

    out: str
    args: tuple[str, ...]
    dtype: str = "bool"


@dataclass(frozen=True)
class Fork:
    """A branch: the nodes of one of two sides run; each result is a value of that side."""

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
    """A nested loop, its steps given as nodes.  args: the earlier names that it reads."""

    loop: Loop
    nodes: tuple[Node, ...]
    args: tuple[str, ...]

    @property
    def outs(self) -> tuple[str, ...]:
        """The names that it makes."""
        return tuple(k.out for k in self.loop.keeps)


Single = (
    Map | Call | View | Reshape | Join | Product | Length | Reduce | SumTo | Running | Scatter | SetItem | Take
    | Check | Count | Diagonal | Draw | Evenly | Extreme | Search | Solve | Sort | Within | Nonempty | Contract | Powers
    | Fixed | Insert | AffineRows | Convolve | Factored | Products | RowAt | HasRow | Transform | Decomposed
)  # fmt: skip
Node = Single | Fork | Nested
Setting = SetItem | Scatter | Insert
"""The nodes that may change an array in place."""
