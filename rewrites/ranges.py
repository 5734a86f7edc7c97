"""Ranges 0, 1, ... n-1 that are reversed or written with another end, and the lengths of ranges and repeated rows."""

import scanopt
import scanopt.loops.require  # an operator of its own, beside those of the table
import scanopt.tensor as T
from scanopt.calculus.condition import Rules, fact, when
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Value, as_row, const_int, counted, dtype, ndim, ops
from scanopt.facts.values import exponent, float64, int64, like, positive, scalar, vector, within_int64

_ONE = T.constant(1, dtype="int64")
_NOT_NEGATIVE = ops("require", relation="ge", error="ValueError", message="repeats may not be negative, found {found}")


@fact
def ranges(v: Value, *, a: Value, b: Value, k: Value) -> Rules:
    """v is a range of int64, which has one axis."""
    yield when(v.is_(ops.arange(a, b, k, dtype="int64"))).then(ranges(v), dtype(v).gets("int64"), ndim(v).gets(1))


@law(
    licence="exact",
    example=lambda x: scanopt.map(lambda i, x: T.exp(x[i]), T.arange(x.shape[0] - 1, -1, -1), [x])[0],
    never=(
        lambda n: T.arange(n - 1, 0, -1),
        lambda n: T.arange(n - 1, -1, -2),
        lambda n: T.arange(n - 2, -1, -1),
        lambda a: T.arange(a - _ONE, -1, -1, dtype="int64"),
    ),
)
def count_down(n: Value) -> Equation:
    """n-1, n-2, ... 0 is 0, 1, ... n-1 in reverse order."""
    down = ops.arange(n - const_int(1), const_int(-1), const_int(-1), dtype="int64")
    return Equation(down, counted(const_int(0), n)[::-1], when=[int64(n)])


@law(
    licence="exact",
    example=lambda x: scanopt.map(lambda i, x: T.exp(x[x.shape[0] - 1 - i]), T.arange(x.shape[0]), [x])[0],
    never=(
        lambda n, k: n - 1 - T.arange(k),
        lambda n: n - 2 - T.arange(n),
        lambda n: n - 1 - T.arange(1, n),
        lambda a: a - _ONE - T.arange(a, dtype="int64"),
    ),
)
def count_from_the_last(n: Value) -> Equation:
    """(n-1) - (0, 1, ... n-1) is 0, 1, ... n-1 in reverse order."""
    count = counted(const_int(0), n)
    return Equation((n - const_int(1)) - count, count[::-1], when=[int64(n)])


@law(
    licence="exact",
    example=lambda x: scanopt.map(lambda i, x: T.exp(x[x.shape[0] - i - 1]), T.arange(x.shape[0]), [x])[0],
    never=(
        lambda n, k: n - T.arange(k) - 1,
        lambda n: n - T.arange(n) - 2,
        lambda n: n - T.arange(1, n) - 1,
        lambda a: a - T.arange(a, dtype="int64") - _ONE,
    ),
)
def count_from_the_length(n: Value) -> Equation:
    """n - (0, 1, ... n-1) - 1 is 0, 1, ... n-1 in reverse order."""
    count = counted(const_int(0), n)
    return Equation((n - count) - const_int(1), count[::-1], when=[int64(n)])


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    example=lambda x: scanopt.map(lambda i, x: T.exp(x[x.shape[0] - 1 - i]), T.arange(x.shape[0])[::-1], [x])[0],
    never=(lambda n, p: n - p, lambda x, a: a - x[::-1], lambda p, q: q - p[::-1]),
)
def taken_backwards(n: Value, p: Value) -> Equation:
    """n - p[::-1] = (n - p)[::-1] for a number n."""
    left = n - p[::-1]
    return Equation(left, (n - p)[::-1], when=[int64(left), scalar(n)])


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    example=lambda x: scanopt.map(lambda i, x: T.exp(x[x.shape[0] - i - 1]), T.arange(x.shape[0])[::-1], [x])[0],
    never=(lambda n, p: p - n, lambda x, a: x[::-1] - a, lambda p, q: p[::-1] - q),
)
def lessened_backwards(n: Value, p: Value) -> Equation:
    """p[::-1] - n = (p - n)[::-1] for a number n."""
    left = p[::-1] - n
    return Equation(left, (p - n)[::-1], when=[int64(left), scalar(n)])


@law(
    licence="exact",
    example=lambda x: scanopt.map(lambda i, x: T.exp(x[i - 1]), T.arange(x.shape[0], 0, -1), [x])[0],
    never=(lambda n: T.arange(n, -1, -1), lambda n: T.arange(n, 0, -2), lambda a: T.arange(a, 0, -1, dtype="int64")),
)
def count_down_to_one(n: Value) -> Equation:
    """n, n-1, ... 1 is what is left of n when 0, 1, ... n-1 are taken from it."""
    down = ops.arange(n, const_int(0), const_int(-1), dtype="int64")
    return Equation(down, n - counted(const_int(0), n), when=[int64(n)])


@law(
    licence="exact",
    example=lambda x: scanopt.map(lambda i, x: T.exp(x[x.shape[0] - i]), T.arange(x.shape[0], 0, -1), [x])[0],
    never=(
        lambda n: n - T.arange(n, -1, -1),
        lambda n: n - T.arange(n, 0, -2),
        lambda n, k: n - T.arange(k, 0, -1),
        lambda a: a - T.arange(a, 0, -1, dtype="int64"),
    ),
)
def count_up_by_counting_down(n: Value) -> Equation:
    """n - (n, n-1, ... 1) is 0, 1, ... n-1."""
    down = ops.arange(n, const_int(0), const_int(-1), dtype="int64")
    return Equation(n - down, counted(const_int(0), n), when=[int64(n)])


@law(
    licence="exact",
    enabling=True,
    example=lambda n, x: T.arange(1.0, n + 1.0) * 2.0,
    never=(
        lambda n: T.arange(2.0, n + 1.0),
        lambda n: T.arange(1.0, n + 2.0),
        lambda n: T.arange(1.0, n + 1.0, 2),
        lambda a: T.arange(1.0, a + 1.0),
    ),
)
def count_of_floats(n: Value, e: Value, f: Value) -> Equation:
    """1.0, 2.0, ... n are 0, 1, ... n-1, and one more each, as floats."""
    floats = ops.arange(e, n + f, const_int(1), dtype="float64")
    count = ops.cast(counted(const_int(0), n) + const_int(1), dtype="float64")
    return Equation(floats, count, when=[int64(n), exponent(e, "1"), exponent(f, "1")])


@law(
    licence="reassoc",
    example=(
        lambda x: T.cumsum(x) / T.cumsum(T.ones_like(x)),
        lambda x: scanopt.scan(lambda v, s, n: [s + v, n + 1.0], x, [T.zeros(()), T.zeros(())])[0][1] * 2.0,
    ),
    never=(
        lambda x: T.cumsum(T.zeros_like(x)),
        lambda X: T.cumsum(T.ones_like(X), axis=0),
        lambda x: T.cumsum(T.ones_like(x, dtype="float32")) * 2.0,
    ),
)
def ones_added_up(E: Value, x: Value, e: Value) -> Equation:
    """Running sums of ones are 1.0, 2.0, ..."""
    one = const_int(1)
    count = ops.cast(counted(one, x.shape[0] + one), dtype="float64")
    return Equation(ops.cumsum(E, axis=0), count, when=[exponent(e, "1"), like(E, x, e), float64(E), vector(x)])


@law(
    licence="exact",
    enabling=True,
    example=lambda x: scanopt.map(lambda i, x: T.exp(x[-i - 1]), T.arange(x.shape[0]), [x])[0],
    never=(lambda p: -p - 2, lambda p: 1 - p, lambda p: -T.cast(p, "int8") - _ONE),
)
def opposite_less_one(p: Value) -> Equation:
    """-p - 1 = -1 - p for int64."""
    return Equation(-p - const_int(1), const_int(-1) - p, when=[int64(p)])


@law(
    licence="exact",
    example=(lambda n: T.arange(n).shape[0] * 2, lambda n: T.arange(T.cast(n % 99, "int32")).shape[0] * 2),
    never=(
        lambda n: T.arange(1, n).shape[0],
        lambda n: T.arange(0, n, 2).shape[0],
        lambda a: T.arange(0, a, 1, dtype="int64").shape[0],
    ),
)
def length_of_count(n: Value) -> Equation:
    """0, 1, ... n-1 are n numbers, or none."""
    zero = const_int(0)
    length = ops.maximum(ops.cast(n, dtype="int64"), zero)
    return Equation(counted(zero, n).shape[0], length, when=[within_int64(n)])


@law(
    licence="exact",
    example=lambda x: T.arange(1, x.shape[0] + 1).shape[0] * 2,
    never=(
        lambda n: T.arange(1, n + 1).shape[0],
        lambda x: T.arange(1, x.shape[0]).shape[0],
        lambda x: T.arange(0, x.shape[0] + 1).shape[0],
    ),
)
def length_of_count_from_one(X: Value) -> Equation:
    """1, 2, ... n are n numbers for a length n."""
    one = const_int(1)
    return Equation(counted(one, X.shape[0] + one).shape[0], X.shape[0])


@law(
    licence="exact",
    example=lambda x: T.arange(2, x.shape[0]).shape[0] * 2,
    never=(lambda n: T.arange(2, n).shape[0] * 2, lambda x: T.arange(-2, x.shape[0]).shape[0] * 2),
)
def length_of_count_from_a_place(X: Value, a: Value) -> Equation:
    """a, a + 1, ... n-1 are as many as the rows from a on, where there are n rows."""
    return Equation(counted(a, X.shape[0]).shape[0], X[a:].shape[0], when=[positive(a)])


@law(
    licence="exact",
    example=lambda x, n: T.repeat(T.expand_dims(x, 0), n % 9, axis=0).shape[0] * 2,
    never=(
        lambda X, n: T.repeat(X, n % 9, axis=0).shape[0],
        lambda x, p: T.repeat(T.expand_dims(x, 0), p[:1] % 9, axis=0).shape[0],
        lambda x, n: T.repeat(T.expand_dims(x, 0), T.cast(n % 9, "uint64"), axis=0).shape[0],
    ),
)
def length_of_repeated_row(x: Value, k: Value) -> Equation:
    """One row repeated k times is k rows; a negative k is refused."""
    count = ops.cast(k, dtype="int64")
    right = _NOT_NEGATIVE(count, const_int(0))
    return Equation(ops.repeat(as_row(x), k, axis=0).shape[0], right, when=[scalar(k), within_int64(k)])
