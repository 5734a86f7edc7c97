"""Facts about operators, most of them from the table of operators."""

from __future__ import annotations

from scanopt.calculus.condition import Rules, fact, when
from scanopt.calculus.terms import Args, Clock, Int, Op, Text, Value, dtype, hold, ndim, vmap

__all__ = [
    "absorbing", "absorbs", "batched", "batched_as", "batched_here", "by_element", "cancels", "commutative",
    "elementwise", "fixed_shape", "guarded_by", "idempotent", "involution", "keeps_dtype", "left_neutral",
    "like_argument", "linear", "neutral", "projection", "quiet", "safe", "shape_from_rest", "sign_lost", "sign_outside",
    "undoes", "unexpanded",
]  # fmt: skip


@fact
def fixed_shape(op: Op, *, f: Text, g: Op) -> Rules:
    """The shape of op's result follows from the shapes of its arguments (given, and preserved by batching)."""
    yield when(g.is_(vmap(op, f)), fixed_shape(op)).then(fixed_shape(g))


@fact
def shape_from_rest(op: Op) -> None:
    """The shape of op's result follows from that of its first argument and the values of the others (given)."""


@fact
def safe(op: Op, *, f: Text, g: Op) -> Rules:
    """op cannot raise, whatever its values, if the shapes of its arguments fit (given, and preserved by batching)."""
    yield when(g.is_(vmap(op, f)), safe(op)).then(safe(g))


@fact
def quiet(op: Op, *, f: Text, g: Op) -> Rules:
    """op is safe, and the program computes all of its text: shapes that do not fit raise anyway (given, and
    preserved by batching).
    """
    yield when(g.is_(vmap(op, f)), quiet(op)).then(quiet(g))


@fact
def elementwise(op: Op) -> None:
    """op is safe, and each element of its result depends only on the same element of its arguments (given for
    programs with an ifelse).
    """


@fact
def by_element(op: Op) -> None:
    """op never raises where shapes fit, and each element of its result depends only on the same element of its
    arguments, which broadcast, as exactly as the licence of the call asks (given).
    """


@fact
def unexpanded(op: Op, *, f: Text, g: Op) -> Rules:
    """Batched forms of op are not expanded into operators of the table (given, preserved by batching)."""
    yield when(unexpanded(op), g.is_(vmap(op, f))).then(unexpanded(g))


@fact
def batched(op: Op, *, f: Text, g: Op) -> Rules:
    """op has a batched form that the licence of the call allows (given, preserved by batching if needed)."""
    yield when(unexpanded(op), g.is_(vmap(op, f))).then(batched(g))


@fact
def batched_as(op: Op, d: Text) -> None:
    """op has a batched form that the licence of the call allows if its result has dtype d (given, for operators
    that are not batched for all dtypes of the program).
    """


@fact
def batched_here(v: Value, op: Op, xs: Args, *, d: Text) -> Rules:
    """v is op of xs, which has a batched form that the licence of the call allows."""
    yield when(v.is_(op(xs)), batched(op)).then(batched_here(v, op, xs))
    yield when(v.is_(op(xs)), batched_as(op, d), d.is_(dtype(v))).then(batched_here(v, op, xs))


@fact
def commutative(op: Op, d: Text) -> None:
    """op(x, y) = op(y, x) for x of dtype d (trait)."""


@fact
def idempotent(op: Op, d: Text) -> None:
    """op(x, x) = x for x of dtype d (trait)."""


@fact
def absorbs(op: Op, d: Text) -> None:
    """op(op(x, y), y) = op(x, op(y, y)) = op(x, y) for x and y of dtype d (traits)."""


@fact
def projection(op: Op, d: Text) -> None:
    """op(op(x)) = op(x) for x of dtype d (trait)."""


@fact
def involution(op: Op, d: Text) -> None:
    """op(op(x)) = x for x of dtype d (trait)."""


@fact
def linear(op: Op) -> None:
    """op(x * a, ...) = op(x, ...) * a for a number a, in the dtype of x, up to rounding (given)."""


@fact
def undoes(g: Op, op: Op) -> None:
    """g(op(x, y), y) = x (trait, integers)."""


@fact
def neutral(op: Op, v: Value, d: Text, *, c: Clock, e: Value) -> Rules:
    """op(x, e) = x for every x of dtype d (trait of op, e a constant)."""
    yield when(neutral(op, e, d), v.is_(hold(c, e))).then(neutral(op, v, d))


@fact
def left_neutral(op: Op, v: Value, d: Text, *, c: Clock, e: Value) -> Rules:
    """op(e, x) = x for every x of dtype d (trait of op, e a constant)."""
    yield when(left_neutral(op, e, d), v.is_(hold(c, e))).then(left_neutral(op, v, d))


@fact
def absorbing(op: Op, v: Value, *, c: Clock, z: Value) -> Rules:
    """op(x, z) = op(z, x) = z for every x of the dtype of z, z a constant scalar (trait)."""
    yield when(absorbing(op, z), v.is_(hold(c, z))).then(absorbing(op, v))


@fact
def cancels(op: Op, d: Text, k: Text) -> None:
    """op(x, x) is the scalar constant k everywhere, for x of dtype d (trait)."""


@fact
def like_argument(op: Op, d: Text, *, n: Int, v: Value, x: Value) -> Rules:
    """The result of op has the dtype and number of axes of its argument, if that is of dtype d (given)."""
    yield when(like_argument(op, d), v.is_(op(x)), d.is_(dtype(x))).then(dtype(v).gets(d))
    yield when(like_argument(op, d), v.is_(op(x)), n.is_(ndim(x))).then(ndim(v).gets(n))


@fact
def keeps_dtype(op: Op, d: Text, *, v: Value, x: Value, y: Value) -> Rules:
    """The result of op has dtype d if its arguments have, one or two (given)."""
    yield when(keeps_dtype(op, d), v.is_(op(x)), d.is_(dtype(x))).then(dtype(v).gets(d))
    yield when(keeps_dtype(op, d), v.is_(op(x, y)), d.is_(dtype(x)), d.is_(dtype(y))).then(dtype(v).gets(d))


@fact
def combines(op: Op, j: Int, g: Op) -> None:
    """op combines the entries along axis j, in order or not, by g (given)."""


@fact
def sign_outside(op: Op, g: Op) -> None:
    """op(-x) = -g(x) for floats, up to rounding (given)."""


@fact
def sign_lost(op: Op, g: Op) -> None:
    """op(-x) = g(x) for floats, up to rounding (given)."""


@fact
def guarded_by(op: Op, g: Op) -> None:
    """op may raise; g(n, ...) is op(...) where n > 0, and does not run where n = 0 (given)."""
