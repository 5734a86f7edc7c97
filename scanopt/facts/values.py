"""Facts about values: their types, and which of them are equal to simpler ones."""

from __future__ import annotations

from scanopt.calculus.condition import Body, Rules, fact, hint, query, when
from scanopt.calculus.terms import Args, Clock, Int, Text, Value, dtype, hold, ndim, ops

__all__ = [
    "above_zero", "at_least", "equal_rows", "exponent", "float64", "float_vector", "floating", "forward", "has_axes",
    "has_so_many_axes", "int64", "integer", "less", "like", "matrix", "moderate", "more_axes", "nothing", "of_dtype",
    "over_one", "positive", "power_of_two", "reciprocal_of_power", "same_numbers", "same_sums", "same_type", "scalar",
    "small_integer", "static_shape", "vector", "within_int64",
]  # fmt: skip

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


@query
def scalar(v: Value) -> Body:
    """v has no axes."""
    return (ndim(v).is_(0),)


@query
def vector(v: Value) -> Body:
    """v has one axis."""
    return (ndim(v).is_(1),)


@query
def matrix(v: Value) -> Body:
    """v has two axes."""
    return (ndim(v).is_(2),)


@query
def has_axes(v: Value, *, n: Int) -> Body:
    """v has at least one axis."""
    return n.is_(ndim(v)), n >= 1


@query
def has_so_many_axes(v: Value, n: Int) -> Body:
    """v has n axes, at least one."""
    return n.is_(ndim(v)), n >= 1


@fact
def same_numbers(v: Value, w: Value) -> None:
    """w is what v is, number by number (given)."""


@fact
def same_sums(v: Value, w: Value) -> None:
    """w is what v is up to rounding, number by number (given)."""


@fact
def integer(v: Value) -> Rules:
    """v is of an integer dtype."""
    for d in INTEGERS:
        yield when(dtype(v).is_(d)).then(integer(v))


@query
def int64(v: Value) -> Body:
    """v is of dtype int64."""
    return (dtype(v).is_("int64"),)


@fact
def within_int64(v: Value) -> Rules:
    """v is of an integer dtype that int64 holds."""
    for d in INTEGERS:
        if d != "uint64":
            yield when(dtype(v).is_(d)).then(within_int64(v))


@query
def float64(v: Value) -> Body:
    """v is of dtype float64."""
    return (dtype(v).is_("float64"),)


@fact
def floating(v: Value) -> Rules:
    """v is of dtype float32 or float64."""
    for d in ("float32", "float64"):
        yield when(dtype(v).is_(d)).then(floating(v))


@query
def float_vector(v: Value) -> Body:
    """v has one axis, and is of dtype float32 or float64."""
    return ndim(v).is_(1), floating(v)


@query
def of_dtype(v: Value, d: Text) -> Body:
    """v has dtype d."""
    return (d.is_(dtype(v)),)


@query
def more_axes(x: Value, y: Value, *, m: Int, n: Int) -> Body:
    """x has more axes than y."""
    return n.is_(ndim(x)), m.is_(ndim(y)), n >= m + 1


@query
def same_type(v: Value, w: Value, *, d: Text, n: Int) -> Body:
    """v and w have the same dtype and number of axes."""
    return d.is_(dtype(v)), d.is_(dtype(w)), n.is_(ndim(v)), n.is_(ndim(w))


@fact
def static_shape(v: Value, shape: Text) -> None:
    """The shape of v is known before the run, and what its loop reads cannot raise (given)."""


@fact
def forward(v: Value) -> None:
    """v is in no recurrence: it is alone in its strongly connected component (given)."""


@fact
def like(X: Value, x: Value, e: Value) -> Rules:
    """X has the shape of x, and every element equals the scalar e (full_like, or one written by the length of x)."""
    yield when(X.is_(ops.full_like(x, e)), scalar(e)).then(like(X, x, e))
    yield when(X.is_(ops.repeat_rows(e, x.shape[0])), scalar(e), vector(x)).then(like(X, x, e))


@fact
def equal_rows(Y: Value, x: Value, *, n: Value, r: Args, X: Value) -> Rules:
    """Every row of Y equals x (given for repeat_rows and repeat of one row, and preserved by X[:n] and X[::-1])."""
    yield when(Y.is_(ops.repeat_rows(x, n))).then(equal_rows(Y, x))
    yield when(Y.is_(ops.repeat(ops.expand_dims(x, axis=(0,)), n, axis=0))).then(equal_rows(Y, x))
    yield when(equal_rows(X, x), Y.is_(X[::-1])).then(equal_rows(Y, x))
    yield when(equal_rows(X, x), Y.is_(ops("getitem", index=(("slice", None, "in", None),))(X, r))).then(
        equal_rows(Y, x)
    )


@query
def at_least(a: Int, b: Int) -> Body:
    """a >= b."""
    return (a >= b,)


@query
def less(a: Int, b: Int) -> Body:
    """a < b."""
    return (a < b,)


@fact
def nothing(v: Value, *, c: Clock, e: Value, X: Value, x: Value) -> Rules:
    """Every element of v is zero (given for constants)."""
    yield when(like(X, x, e), nothing(e)).then(nothing(X))
    yield when(v.is_(hold(c, x)), nothing(x)).then(nothing(v))


@fact
def power_of_two(v: Value, k: Text, *, c: Clock, x: Value) -> Rules:
    """v is the number 2^k, a constant of dtype float32 or float64 (given)."""
    yield when(v.is_(hold(c, x)), power_of_two(x, k)).then(power_of_two(v, k))


@fact
def reciprocal_of_power(v: Value, k: Text, *, c: Clock, x: Value) -> Rules:
    """v is the number 2^-k, a constant of dtype float32 or float64 (given)."""
    yield when(v.is_(hold(c, x)), reciprocal_of_power(x, k)).then(reciprocal_of_power(v, k))


@fact
def moderate(v: Value, *, c: Clock, x: Value) -> Rules:
    """v is a number far from zero and from infinity, a constant of dtype float32 or float64 (given)."""
    yield when(v.is_(hold(c, x)), moderate(x)).then(moderate(v))


@fact
def above_zero(v: Value, *, c: Clock, x: Value) -> Rules:
    """v is a number above zero, far from it and from infinity, a constant of dtype float32 or float64 (given)."""
    yield when(v.is_(hold(c, x)), above_zero(x)).then(above_zero(v))


@hint
def over_one(v: Value, *, c: Clock, x: Value) -> Rules:
    """v is a number greater than one, or less than minus one, a constant of dtype float32 or float64 (given)."""
    yield when(v.is_(hold(c, x)), over_one(x)).then(over_one(v))


@fact
def exponent(v: Value, k: Text, *, c: Clock, x: Value) -> Rules:
    """v is the number k, a constant of dtype float32 or float64 (given for -1, 1, 3 and 4)."""
    yield when(v.is_(hold(c, x)), exponent(x, k)).then(exponent(v, k))


@fact
def small_integer(v: Value) -> None:
    """v is an int64 constant far from the limits of int64 (given)."""


@fact
def positive(v: Value, *, c: Clock, x: Value) -> Rules:
    """v is a positive int64 constant far from the limits of int64 (given), or one that a loop holds."""
    yield when(v.is_(hold(c, x)), positive(x)).then(positive(v))
