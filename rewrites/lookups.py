"""Gathers by 0, 1, ... n-1, as in a loop over a counter, are slices."""

from typing import Any

import scanopt
import scanopt.loops.require  # an operator of its own, beside those of the table
import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Clock, State, Value, const_at, const_int, counted, delay, hold, ops, seq, steps, vmap
from scanopt.facts.loops import runs_all, within
from scanopt.facts.states import becomes
from scanopt.facts.values import int64, nothing, positive, scalar, small_integer, within_int64

_ZERO, _ONE = T.constant(0, dtype="int64"), T.constant(1, dtype="int64")
_LOOKUP = ops("getitem", index=("array",))
_IN_BOUNDS = ops(
    "require", relation="ge", error="IndexError", message="index {found} is out of bounds for axis 0 with size {found}"
)


def _rows(W: Any, *bounds: Any) -> Any:
    return scanopt.map(lambda i, w: w[i], T.arange(*bounds), [W])[0]


@law(
    licence="exact",
    enabling=True,
    example=lambda W, p: scanopt.map(lambda i, w: w[i], p, [W])[0],
    never=(
        lambda X, p: scanopt.map(lambda row, i: row[i], [X, p])[0],
        lambda W, p: scanopt.map(lambda i, w: w[i], p.astype("uint64"), [W])[0],
    ),
)
def lookups_at_once(W: Value, places: Value) -> Equation:
    """A gather of one row per step is one gather for all steps."""
    one_by_one = vmap(ops("getitem", index=("in",)), "01")
    return Equation(one_by_one(W, places), _LOOKUP(W, places), when=[within_int64(places)])


@law(
    licence="exact",
    source="scan-semantics: W[i] over arange(n) is a slice of W",
    example=lambda W: _rows(W, W.shape[0]),
    never=(lambda W, x: _rows(W, x.shape[0]), lambda W: _rows(W, 1, W.shape[0]), lambda W: _rows(W, 0, W.shape[0], 2)),
)
def all_rows_in_order(W: Value) -> Equation:
    """Gathering all rows in order returns the array."""
    count = counted(const_int(0), W.shape[0])
    return Equation(_LOOKUP(W, count), W)


@law(
    licence="exact",
    source="scan-semantics: W[i] over arange(a, n) is a slice of W",
    example=lambda W: _rows(W, 2, W.shape[0]),
    never=(lambda W, x: _rows(W, 1, x.shape[0]), lambda W: _rows(W, -1, W.shape[0]), lambda W: _rows(W, W.shape[0])),
)
def all_rows_from_a_place(W: Value, a: Value) -> Equation:
    """Gathering row a and all rows behind it is the slice [a:]."""
    return Equation(_LOOKUP(W, counted(a, W.shape[0])), W[a:], when=[positive(a)])


@law(
    licence="exact",
    source="scan-semantics: W[i] over arange(n) is a slice of W",
    example=lambda W, x: _rows(W, x.shape[0]),
    never=(lambda W, n: W[n], lambda W, n: _rows(W, 1, n), lambda W, n: _rows(W, 0, n, 2)),
)
def first_rows_in_order(W: Value, n: Value) -> Equation:
    """Gathering rows 0 to n-1 is the slice [:n]; it raises IndexError where there are fewer."""
    zero = const_int(0)
    rows = ops.maximum(n, zero)
    checked = ops.minimum(rows, _IN_BOUNDS(W.shape[0], rows))
    return Equation(_LOOKUP(W, counted(zero, n)), W[:checked])


@law(
    licence="exact",
    example=lambda W: scanopt.map(lambda i, w: w[i + 2], T.arange(W.shape[0] - 2), [W])[0],
    never=(lambda n, p: T.arange(p.shape[0]) + n, lambda n, p: T.arange(n, p.shape[0]) + 2),
)
def count_moved_up(a: Value, n: Value, k: Value) -> Equation:
    """A range plus a number is a range with both bounds moved up."""
    return Equation(counted(a, n) + k, counted(a + k, n + k), when=[small_integer(a), positive(k)])


@law(
    licence="exact",
    example=lambda W: scanopt.map(lambda i, w: w[2 + i], T.arange(W.shape[0] - 2), [W])[0],
    never=(lambda n, p: n + T.arange(p.shape[0]), lambda n, p: 2 + T.arange(n, p.shape[0])),
)
def moved_up_by_count(k: Value, a: Value, n: Value) -> Equation:
    """The same with the number in front."""
    return Equation(k + counted(a, n), counted(a + k, n + k), when=[small_integer(a), positive(k)])


@law(
    licence="exact",
    example=lambda W: scanopt.map(lambda i, w: w[i - 2], T.arange(2, W.shape[0]), [W])[0],
    never=(lambda n, p: T.arange(p.shape[0]) - n, lambda n, p: T.arange(n, p.shape[0]) - 2),
)
def count_moved_down(a: Value, n: Value, k: Value) -> Equation:
    """A range minus a number is a range with both bounds moved down; max(n, a) keeps the upper one from
    underflowing."""
    right = counted(a - k, ops.maximum(n, a) - k)
    return Equation(counted(a, n) - k, right, when=[small_integer(a), positive(k)])


@law(
    licence="exact",
    enabling=True,
    example=(
        lambda x: scanopt.map(lambda i, x: T.exp(x[i - 1]), T.arange(1, x.shape[0] + 1), [x])[0],
        lambda x: T.arange(3, x.shape[0] + 3) - 3,
    ),
    never=(
        lambda x: T.arange(2, x.shape[0] + 2) - 1,
        lambda x: T.arange(2, x.shape[0] + 1) - 2,
        lambda x, n: T.arange(n, x.shape[0] + n) - n,
        lambda n: T.arange(1, n + 1) - 1,
    ),
)
def counts_of_length_moved_down(X: Value, k: Value) -> Equation:
    """(k, k+1, ... n+k-1) - k = (0, 1, ... n-1) for a length n."""
    n = X.shape[0]
    return Equation(counted(k, n + k) - k, counted(const_int(0), n), when=[positive(k)])


@law(
    licence="exact",
    source="scan-semantics: W[i] over arange(a, n) is a slice of W",
    example=lambda W, n: _rows(W, 1, n),
    never=(lambda W: _rows(W, -1, W.shape[0]), lambda W: _rows(W, W.shape[0]), lambda W, n: _rows(W, n, W.shape[0])),
)
def rows_from_a_place(W: Value, a: Value, n: Value) -> Equation:
    """Gathering rows a to n-1 is the slice [a:n]; it raises IndexError where there are fewer, if it reads any row."""
    end = ops.where(ops.greater(n, a), n, const_int(0))
    checked = ops.minimum(end, _IN_BOUNDS(W.shape[0], end))
    return Equation(_LOOKUP(W, counted(a, n)), W[a:checked], when=[positive(a)])


@law(
    licence="exact",
    enabling=True,
    example=lambda x: scanopt.map(lambda i, x: x[i] * 2.0, T.arange(x.shape[0]), [x], go_backwards=True)[0],
    never=lambda x, p: scanopt.map(lambda i, x: x[i] * 2.0, p, [x])[0],
)
def lookups_backwards(W: Value, places: Value) -> Equation:
    """Rows gathered at places in reverse order are the gathered rows in reverse order."""
    return Equation(_LOOKUP(W, places[::-1]), _LOOKUP(W, places)[::-1])


@law(
    licence="exact",
    example=lambda x: scanopt.map(lambda i, x: T.exp(x[-1 - i]), T.arange(x.shape[0]), [x])[0],
    never=(
        lambda x, y: x[-1 - T.arange(y.shape[0])],
        lambda x: x[-2 - T.arange(x.shape[0])],
        lambda x: x[-1 - T.arange(1, x.shape[0])],
    ),
)
def rows_counted_from_the_end(W: Value) -> Equation:
    """Gathering the rows -1, -2, ... of W, all of them, reverses it."""
    return Equation(_LOOKUP(W, const_int(-1) - counted(const_int(0), W.shape[0])), W[::-1])


@law(
    licence="exact",
    example=lambda x: scanopt.map(lambda i, x: T.exp(x[-i]), T.arange(1, x.shape[0] + 1), [x])[0],
    never=(
        lambda x, y: x[-T.arange(1, y.shape[0] + 1)],
        lambda x: x[-T.arange(1, x.shape[0])],
        lambda x: x[-T.arange(x.shape[0] + 1)],
    ),
)
def rows_counted_down(W: Value) -> Equation:
    """Gathering the rows -1, -2, ... -n of n rows reverses them."""
    one = const_int(1)
    return Equation(_LOOKUP(W, -counted(one, W.shape[0] + one)), W[::-1])


def _added(W: Value, e: Value, X: Value, places: Value) -> Value:
    """The rows of X added to rows of an array full of e in the shape of W."""
    return ops("setitem", index=("array",), mode="inc")(ops.full_like(W, e), X, places)


@law(
    licence="reassoc",
    source="gradients of W[i] over arange(n)",
    example=lambda W: T.inc_subtensor(T.zeros_like(W)[T.arange(W.shape[0])], T.exp(W)),
    never=(
        lambda W, x: T.inc_subtensor(T.ones_like(W)[T.arange(W.shape[0])], T.exp(W)),
        lambda W: T.inc_subtensor(T.zeros_like(W)[T.arange(1, W.shape[0])], T.exp(W[1:])),
    ),
)
def rows_added_in_order(W: Value, e: Value, X: Value) -> Equation:
    """Rows that are added to all rows of zeros, in order, are these rows (-0.0 aside)."""
    return Equation(_added(W, e, X, counted(const_int(0), W.shape[0])), ops.spread_like(X, W), when=[nothing(e)])


@law(
    licence="reassoc",
    source="gradients of W[i] over arange(n), which run backwards",
    example=lambda W: T.inc_subtensor(T.zeros_like(W)[T.arange(W.shape[0])[::-1]], T.exp(W)),
    never=(
        lambda W, x: T.inc_subtensor(T.ones_like(W)[T.arange(W.shape[0])[::-1]], T.exp(W)),
        lambda W: T.inc_subtensor(T.zeros_like(W)[T.arange(1, W.shape[0])[::-1]], T.exp(W[1:])),
    ),
)
def rows_added_in_reverse_order(W: Value, e: Value, X: Value) -> Equation:
    """Rows that are added to all rows of zeros, the last one first, are these rows in reverse order (-0.0 aside)."""
    left = _added(W, e, X, counted(const_int(0), W.shape[0])[::-1])
    return Equation(left, ops.spread_like(X, W)[::-1], when=[nothing(e)])


@law(
    licence="exact",
    example=lambda x: T.exp(T.arange(x.shape[0]) % x.shape[0]),
    never=lambda x, y: T.exp(T.arange(x.shape[0]) % y.shape[0]),
)
def count_below_its_end(n: Value) -> Equation:
    """0, 1, ... n-1 are their own remainders modulo n."""
    count = counted(const_int(0), n)
    return Equation(ops.remainder(count, n), count)


@law(
    licence="exact",
    example=lambda x: T.roll(x, x.shape[0]),
    never=(lambda x, y: T.roll(x, y.shape[0]), lambda x: x[(T.arange(1, x.shape[0]) - x.shape[0]) % x.shape[0]]),
)
def count_below_its_end_moved_back(n: Value) -> Equation:
    """-n, 1-n, ... -1 are 0, 1, ... n-1 modulo n."""
    count = counted(const_int(0), n)
    return Equation(ops.remainder(count - n, n), count)


@law(
    licence="exact",
    example=lambda x: T.roll(T.roll(x, 1), -1) * 2.0,
    never=(lambda x, n: T.roll(T.roll(x, n), 1), lambda x, n: T.roll(T.roll(x, 1), n), lambda x: T.roll(x, 1)),
)
def rolled_twice(X: Value, k: Value, j: Value) -> Equation:
    """roll by k, then by j, is roll by j + k."""
    n = X.shape[0]
    count = counted(const_int(0), n)
    once = _LOOKUP(X, ops.remainder(count - k, n))
    twice = _LOOKUP(X, ops.remainder(count - (j + k), n))
    when = [small_integer(k), small_integer(j)]
    return Equation(_LOOKUP(once, ops.remainder(count - j, n)), twice, when=when)


def _path(W: Any, places: Any, start: Any) -> Any:
    """The path on which the entries of W lead: step t reads row places[t]."""
    return scanopt.scan(lambda i, k, W: W[i, k], places, start, [W])[0]


@law(
    licence="exact",
    enabling=True,
    example=lambda q, n: _path(T.outer(q[:5], q), T.arange(5), n),
    never=(
        lambda p, q, n: T.outer(p, q)[n, n],
        lambda X, n: scanopt.map(lambda row, n: row[n] * row[0], X, [n])[0],
        lambda X, n: scanopt.map(lambda i, X, n: X[i, n], T.arange(5), [X, T.cast(n, "uint64")])[0],
    ),
)
def row_of_each_step(c: Clock, W: Value, p: Value, k: Value) -> Equation:
    """W[i, k] = W[i][k], where each step has an i of its own; a k of 2**63 or more is refused before i is looked at."""
    i, W_held = seq(c, p), hold(c, W)
    one = ops("getitem", index=("in",))
    return Equation(ops("getitem", index=("in", "in"))(W_held, i, k), one(one(W_held, i), k), when=[within_int64(k)])


def _by_hand(x: Any, first: Any, more: Any = 1, n: Any = None) -> Any:
    """Entries at an index that the loop counts itself."""
    step = lambda s, i, x: [T.tanh(s + x[i]), i + more]  # noqa: E731
    return scanopt.scan(step, None, [T.constant(0.0, dtype="float64"), first], [x], n_steps=n)[0][0]


def _count_until(n: Any) -> Any:
    return scanopt.scan(lambda i, n: (i + 1, scanopt.until(i > n)), None, _ZERO, [n], n_steps=5)[0]


@law(
    licence="exact",
    example=lambda x: _by_hand(x, _ZERO, n=x.shape[0]),
    never=(
        lambda x: _by_hand(x, _ZERO, 2, n=x.shape[0]),
        lambda x: scanopt.scan(lambda s: s + _ONE, None, x[0], n_steps=5)[0],
        _count_until,
        lambda n: scanopt.scan(lambda i, s: [abs(i), i + 1], None, [n, _ZERO], n_steps=5)[0][1],
        lambda p: scanopt.scan(lambda i: i + 1, None, p[:3], n_steps=3)[0] * 2,
    ),
)
def counter_as_sequence(c: Clock, init: Value, s: State, p: Clock) -> Equation:
    """A state that counts the steps is a sequence, an arange."""
    left = delay(c, init, s, 1)
    zero, one = const_at(p, "int64:0"), const_at(p, "int64:1")
    count = ops.arange(zero, steps(c), one, dtype="int64") + init[-1]
    when = [becomes(s, left + hold(c, const_int(1))), int64(left), scalar(left), runs_all(c), within(c, p)]
    return Equation(left, seq(c, count), when=when)
