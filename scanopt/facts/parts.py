"""Facts about parts of arrays (indexing by integers and slices) and about transposes and reversals."""

from __future__ import annotations

from scanopt.calculus.condition import Rules, fact, hint, when
from scanopt.calculus.terms import Args, Clock, Int, Op, Text, Value, args, dtype, hold, ndim, ops, vmap

__all__ = [
    "adds_to_all", "adds_to_part", "adds_to_parts", "behind", "brings_to_shape", "count_of_rows", "cut_in_two",
    "entry", "extreme_of_one", "in_first", "in_last", "in_two", "is_a_part", "is_a_part_of_rows", "one_of_two",
    "part_of_part", "past_first", "past_last", "reads_first", "reads_last", "reads_last_of", "reads_rows",
    "row_if_any", "rows_before", "rows_first", "rows_in_two", "sets", "sets_all", "sum_of_one_row",
    "takes_a_column", "takes_a_row", "takes_all", "takes_consecutive_rows", "takes_entry", "takes_first",
    "takes_leading_rows", "takes_one", "takes_part_of_one", "takes_row", "takes_rows", "undone", "written_bound",
    "written_bounds",
]  # fmt: skip


@fact
def part_of_part(g: Op, h: Op, op: Op) -> None:
    """g(h(X)) is op(X), for parts or transposes of an array (given)."""


@fact
def undone(g: Op, h: Op) -> None:
    """g(h(X)) is X, for parts or transposes of an array (given)."""


@fact
def reads_last(op: Op, k: Int, g: Op) -> None:
    """op(X) is g of the last k rows of X (given)."""


@fact
def reads_first(op: Op, k: Int) -> None:
    """op reads only the first k rows (given)."""


@fact
def reads_last_of(g: Op, h: Op, k: Int) -> None:
    """g(h(X)) reads only the last k rows of X, for parts g and h of an array (given)."""


@fact
def in_two(op: Op, g: Op, h: Op) -> None:
    """op(X, ...) is g(h(X, ...)): h takes rows by the bounds, g takes a part of each row (given)."""


@fact
def rows_before(op: Op, g: Op, h: Op) -> None:
    """op(X, ...) is g(h(X), ...): h takes rows, g takes a part of each row by the bounds (given)."""


@fact
def rows_first(g: Op, h: Op, f: Op) -> None:
    """g(h(X), ...) is f(g(X, ...)): g takes rows by the bounds, h and f take a part of each row (given)."""


@fact
def takes_row(op: Op, g: Op) -> None:
    """op(X, k) is the row of X at a computed index: the last of the first g(n, k) rows, if X has n rows (given)."""


@fact
def takes_rows(op: Op, g: Op, h: Op) -> None:
    """op(X, ...) is consecutive rows of X by computed bounds: the last h(n, ...) of the first g(n, ...) rows,
    if X has n rows (given).
    """


@fact
def reads_rows(op: Op, g: Op, h: Op) -> None:
    """op(X, ...), by computed bounds, is op(Y, ...), where Y is the last h(n, ...) of the first g(n, ...) rows of X
    and X has at most n rows (given).
    """


@fact
def takes_first(op: Op, k: Int) -> None:
    """op(X) is the first k rows of X (given)."""


@fact
def takes_a_row(op: Op, *, bounds: Args, d: Text, n: Int, v: Value, X: Value) -> Rules:
    """op takes one row of its first argument (given)."""
    yield when(takes_a_row(op), v.is_(op(X, bounds)), n.is_(ndim(X))).then(ndim(v).gets(n - 1))
    yield when(takes_a_row(op), v.is_(op(X, bounds)), d.is_(dtype(X))).then(dtype(v).gets(d))


@fact
def takes_all(op: Op) -> None:
    """op takes all rows of its argument, in order (given)."""


@fact
def takes_one(op: Op) -> None:
    """op(X) is X if X has one row (given)."""


@fact
def in_first(op: Op, k: Int, g: Op) -> None:
    """op(X) is g of the first k rows of X, and X has at least k rows (given)."""


@fact
def in_last(op: Op, k: Int, g: Op) -> None:
    """op(X) is g of the last k rows of X, and X has at least k rows (given)."""


@fact
def past_first(op: Op, k: Int, g: Op) -> None:
    """op(X) is g of all but the first k rows of X, and X has at least k rows (given)."""


@fact
def past_last(op: Op, k: Int, g: Op) -> None:
    """op(X) is g of all but the last k rows of X, and X has at least k rows (given)."""


@fact
def is_a_part(g: Op) -> None:
    """g takes rows, or entries of other axes, by integers and bounds (given)."""


@fact
def is_a_part_of_rows(g: Op) -> None:
    """g takes one row, or rows, and all of each (given)."""


@fact
def takes_consecutive_rows(g: Op) -> None:
    """g takes rows by a slice, and all of each (given)."""


@fact
def takes_leading_rows(g: Op) -> None:
    """g takes the first rows, up to a bound, and all of each (given)."""


@fact
def takes_a_column(g: Op, h: Op) -> None:
    """g takes of all rows the one entry that h takes of a vector (given)."""


@fact
def count_of_rows(A: Value, k: Int, *, x: Value) -> Rules:
    """A has k rows (given; derived for expand_dims, which makes one row)."""
    yield when(A.is_(ops.expand_dims(x, axis=(0,)))).then(count_of_rows(A, 1))


@fact
def row_if_any(A: Value, X: Value, *, B: Value, e: Value, Y: Value) -> Rules:
    """A has one row, of the shape of those of X, if X has rows, and otherwise none."""
    yield when(A.is_(X[:1])).then(row_if_any(A, X))
    yield when(A.is_(X[-1:])).then(row_if_any(A, X))
    yield when(row_if_any(B, X), A.is_(ops.full_like(B, e))).then(row_if_any(A, X))
    yield when(row_if_any(A, X), Y.is_(ops.cumsum(X, axis=0))).then(row_if_any(A, Y))


@fact
def cut_in_two(op: Op, g: Op, h: Op) -> None:
    """op(g(X), h(X)) is X: op joins what g and h take, before and after a fixed place of an axis (given)."""


@fact
def rows_in_two(g: Op, h: Op) -> None:
    """g takes the rows before a fixed place, and h the others (given)."""


@fact
def extreme_of_one(op: Op, h: Op) -> None:
    """op finds the greatest or the least along the axis of length 1 that h makes, and so undoes h (given)."""


@fact
def sum_of_one_row(op: Op, h: Op) -> None:
    """op adds up or multiplies along the axis of length 1 that h makes, and so undoes h for floats (given)."""


@fact
def brings_to_shape(op: Op) -> None:
    """op(x, ...) is x, repeated or in another shape (given)."""


@fact
def sets(op: Op, g: Op) -> None:
    """op(X, y, ...) is X with its part g(X, ...) set to y (given)."""


@fact
def sets_all(op: Op) -> None:
    """op(X, y) is X with all of it set to y (given)."""


@fact
def adds_to_all(op: Op) -> None:
    """op(X, y) is X with y added to all of it (given)."""


@fact
def adds_to_part(op: Op) -> None:
    """op adds its second argument to a part of its first, which the others and the first's shape tell: to each element
    once (given for slices and numbers in brackets).
    """


@fact
def adds_to_parts(op: Op) -> None:
    """The same where some elements may be added to more than once (given for arrays of places, too)."""


@hint
def written_bound(k: Value, *, c: Clock, n: Value) -> Rules:
    """The program takes a part with this bound (given), or with what a loop holds of it."""
    yield when(written_bound(k), k.is_(hold(c, n))).then(written_bound(n))


@hint
def written_bounds(bounds: Args, *, k: Value, r: Args) -> Rules:
    """The bounds occur in the program.  A loop cut to fewer steps cuts what it reads; this must not cut it again."""
    yield when(written_bound(k), bounds.is_(args(k))).then(written_bounds(bounds))
    yield when(written_bound(k), written_bounds(r), bounds.is_(args(k, r))).then(written_bounds(bounds))


@fact
def takes_entry(op: Op, j: Int, k: Int, *, v: Value, xs: Args, g: Op) -> Rules:
    """op takes entry k of axis j, and all of the other axes (given, except where a law has taken a row of a stack, and
    of rows at once)."""
    yield when(v.is_(ops.stack(xs, axis=0)[k])).then(takes_entry(ops("getitem", index=(k,)), 0, k))
    yield when(g.is_(vmap(op, "1")), takes_entry(op, j, k)).then(takes_entry(g, j + 1, k))


@fact
def one_of_two(S: Value, j: Int, k: Int, x: Value, y: Value) -> Rules:
    """S is two arrays put side by side along axis j: x, which is entry k of it, and y."""
    for first, second in ((0, 1), (-2, -1)):
        yield when(S.is_(ops.stack(x, y, axis=j))).then(one_of_two(S, j, first, x, y))
        yield when(S.is_(ops.stack(y, x, axis=j))).then(one_of_two(S, j, second, x, y))


@fact
def takes_part_of_one(op: Op, j: Int, k: Int) -> None:
    """op takes entry k of axis j as a part of one entry, and all of the other axes (given)."""


@fact
def behind(xs: Args, k: Int, r: Args, *, j: Int, q: Args, v: Value, x: Value) -> Rules:
    """r is a list that is stacked, xs, without its first k values."""
    yield when(v.is_(ops.stack(xs, axis=j))).then(behind(xs, 0, xs))
    yield when(behind(xs, k, r), r.is_(args(x, q))).then(behind(xs, k + 1, q))


@fact
def entry(xs: Args, k: Int, x: Value, *, q: Args, r: Args) -> Rules:
    """x is value k of a list that is stacked, or the last one (k = -1)."""
    yield when(behind(xs, k, r), r.is_(args(x, q))).then(entry(xs, k, x))
    yield when(behind(xs, k, r), r.is_(args(x))).then(entry(xs, -1, x))
