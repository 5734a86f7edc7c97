"""Parts of concatenated arrays: a part that lies in one of the arrays is read from that array.

X ++ Y stands for concatenate([X, Y]) along the first axis.
"""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Args, Int, Op, Text, Value, ops
from scanopt.facts.parts import (
    count_of_rows,
    cut_in_two,
    entry,
    in_first,
    in_last,
    one_of_two,
    past_first,
    past_last,
    row_if_any,
    takes_entry,
)  # fmt: skip
from scanopt.facts.raising import fits, silent
from scanopt.facts.values import at_least, has_so_many_axes, of_dtype, positive, same_type

_JOIN = ops("concatenate", axis=0)


def _trace(x: Any, n: Any) -> Any:
    return scanopt.scan(lambda s: T.tanh(s), None, [x], n_steps=n)[0]


def _two(x: Any) -> Any:
    return T.stack([x, T.exp(x)])


def _halves(x: Any, n: Any) -> Any:
    return T.concatenate([x[:n], x[n:]])


def _own_halves(x: Any) -> Any:
    """Both halves of x, joined."""
    return _halves(x, x.shape[0] // 2)


def _behind(x: Any, n: Any) -> Any:
    """All values of a state, with the initial one in front."""
    return T.concatenate([T.expand_dims(x, 0), _trace(x, n)])


@law(
    licence="exact",
    example=(lambda x, y: T.concatenate([_two(x), T.outer(y, x)])[1] * 2.0, lambda x, n: _behind(x, n)[0]),
    never=(
        lambda x, X: T.concatenate([_two(x), X])[1] * 2.0,
        lambda x, n: _behind(x, n)[1],
        lambda X, Y: T.concatenate([X, Y])[0],
        lambda x, p: T.concatenate([T.expand_dims(p[0], 0), x])[0],
        lambda x, y: [T.concatenate([x, y])[0], _two(x).sum()],
    ),
)
def part_in_the_first(A: Value, X: Value, op: Op, k: Int, g: Op) -> Equation:
    """A part of X ++ Y that lies in X, counted from the start, is a part of X."""
    return Equation(
        op(_JOIN(A, X)), g(A), when=[count_of_rows(A, k), in_first(op, k, g), same_type(A, X), fits(_JOIN(A, X))]
    )


@law(
    licence="exact",
    example=(lambda x, y: T.concatenate([_two(x), T.outer(y, x)])[2:] * 2.0, lambda x, n: _behind(x, n)[1:]),
    never=(
        lambda x, X: T.concatenate([_two(x), X])[2:] * 2.0,
        lambda x, n: _behind(x, n)[0],
        lambda X, Y: T.concatenate([X, Y])[2:],
        lambda x, p: T.concatenate([T.expand_dims(x[0], 0), p])[1:],
    ),
)
def part_past_the_first(A: Value, X: Value, op: Op, k: Int, g: Op) -> Equation:
    """A part of X ++ Y that lies in Y, counted from the start, is a part of Y."""
    return Equation(
        op(_JOIN(A, X)), g(X), when=[count_of_rows(A, k), past_first(op, k, g), same_type(A, X), fits(_JOIN(A, X))]
    )


@law(
    licence="exact",
    example=(
        lambda x, y: T.concatenate([T.outer(y, x), _two(x)])[-1] * 2.0,
        lambda x, y: T.concatenate([T.outer(y, x), T.expand_dims(x, 0)])[-1:],
    ),
    never=(
        lambda x, X: T.concatenate([X, _two(x)])[-1] * 2.0,
        lambda x, X: T.concatenate([X, T.expand_dims(x, 0)])[-2],
        lambda X, Y: T.concatenate([X, Y])[-1],
        lambda x, p: T.concatenate([x, T.expand_dims(p[0], 0)])[-1],
        lambda x, y: [T.concatenate([x, y])[-1], _two(x).sum()],
    ),
)
def part_in_the_last(X: Value, A: Value, op: Op, k: Int, g: Op) -> Equation:
    """A part of X ++ Y that lies in Y, counted from the end, is a part of Y."""
    return Equation(
        op(_JOIN(X, A)), g(A), when=[count_of_rows(A, k), in_last(op, k, g), same_type(X, A), fits(_JOIN(X, A))]
    )


@law(
    licence="exact",
    example=(
        lambda x, y: T.concatenate([T.outer(y, x), _two(x)])[:-2] * 2.0,
        lambda x, y: T.concatenate([T.outer(y, x), T.expand_dims(x, 0)])[:-1],
    ),
    never=(
        lambda x, X: T.concatenate([X, _two(x)])[:-2] * 2.0,
        lambda x, X: T.concatenate([X, T.expand_dims(x, 0)])[-1],
        lambda X, Y: T.concatenate([X, Y])[:-1],
        lambda x, p: T.concatenate([p, T.expand_dims(x[0], 0)])[:-1],
    ),
)
def part_past_the_last(X: Value, A: Value, op: Op, k: Int, g: Op) -> Equation:
    """A part of X ++ Y that lies in X, counted from the end, is a part of X."""
    return Equation(
        op(_JOIN(X, A)), g(X), when=[count_of_rows(A, k), past_last(op, k, g), same_type(X, A), fits(_JOIN(X, A))]
    )


@law(
    licence="exact",
    stepwise=True,
    example=(lambda x: T.pad(x, (2, 3))[2:-3] * 2.0, lambda X: T.pad(X, ((1, 1), (0, 0)))[1:-1] * 2.0),
    never=(
        lambda x: T.pad(x, (2, 3))[1:-3] * 2.0,
        lambda x: T.pad(x, (2, 3))[2:-2] * 2.0,
        lambda p, a, n: T.concatenate([T.expand_dims(a, 0), p, T.expand_dims(n, 0)])[1:-1] * 2.0,
        lambda p, a, n: T.concatenate([T.expand_dims(n, 0), p, T.expand_dims(a, 0)])[1:-1] * 2.0,
        lambda x, X: T.concatenate([_two(x), X, _two(x)])[2:-2] * 2.0,
    ),
)
def part_in_the_middle(A: Value, X: Value, B: Value, k: Int, j: Int) -> Equation:
    """(A ++ X ++ B)[k:-j] = X for an A with k rows and a B with j rows."""
    joined = _JOIN(A, X, B)
    when = [count_of_rows(A, k), count_of_rows(B, j), same_type(A, X), same_type(B, X), fits(joined)]
    return Equation(joined[k:-j], X, when=when)


@law(
    licence="exact",
    example=lambda x, y: T.concatenate([x, y])[: x.shape[0]] * 2.0,
    never=(
        lambda x, y: T.concatenate([x, y])[: y.shape[0]] * 2.0,
        lambda X, Y: T.concatenate([X, Y])[: X.shape[0]] * 2.0,
        lambda x, p: T.concatenate([p, x])[: p.shape[0]],
    ),
)
def as_many_as_the_first(X: Value, Y: Value) -> Equation:
    """The first len(X) rows of X ++ Y are X."""
    return Equation(_JOIN(X, Y)[: X.shape[0]], X, when=[same_type(X, Y), fits(_JOIN(X, Y))])


@law(
    licence="exact",
    example=lambda x, y: T.concatenate([x, y])[x.shape[0] :] * 2.0,
    never=(
        lambda x, y: T.concatenate([x, y])[y.shape[0] :] * 2.0,
        lambda X, Y: T.concatenate([X, Y])[X.shape[0] :] * 2.0,
        lambda x, p: T.concatenate([x, p])[x.shape[0] :],
    ),
)
def all_but_the_first(X: Value, Y: Value) -> Equation:
    """The rows of X ++ Y from len(X) on are Y."""
    return Equation(_JOIN(X, Y)[X.shape[0] :], Y, when=[same_type(X, Y), fits(_JOIN(X, Y))])


@law(
    licence="exact",
    stepwise=True,
    example=(
        lambda x, y: T.concatenate([x, y])[x.shape[0]] * 2.0,
        lambda x, a, n: T.concatenate([x, _trace(a, n)])[x.shape[0]] * 2.0,
    ),
    never=(
        lambda x, y: T.concatenate([x, y])[y.shape[0]] * 2.0,
        lambda X, Y: T.concatenate([X, Y])[X.shape[0]] * 2.0,
        lambda X, Y: T.concatenate([X, Y], axis=1)[X.shape[0]] * 2.0,
        lambda x, p: T.concatenate([x, p])[x.shape[0]],
    ),
)
def row_past_the_first(X: Value, Y: Value) -> Equation:
    """Row len(X) of X ++ Y is the first one of Y."""
    return Equation(_JOIN(X, Y)[X.shape[0]], Y[0], when=[same_type(X, Y), fits(_JOIN(X, Y))])


@law(
    licence="exact",
    stepwise=True,
    example=lambda x, y, X: T.concatenate([T.concatenate([X, T.expand_dims(x, 0)]), T.expand_dims(y, 0)]),
    never=(
        lambda X, Y: T.concatenate([T.concatenate([X, Y], axis=1), T.concatenate([Y, X], axis=1)]),
        lambda p, x: T.concatenate([T.concatenate([p, x]), x]),
        lambda p, x: T.concatenate([T.concatenate([x, x]), p]),
    ),
)
def joined_before(X: Value, Y: Value, Z: Value) -> Equation:
    """(X ++ Y) ++ Z is one concatenation of three arrays."""
    return Equation(_JOIN(_JOIN(X, Y), Z), _JOIN(X, Y, Z), when=[same_type(X, Y), same_type(Y, Z)])


@law(
    licence="exact",
    stepwise=True,
    example=lambda x, y, X: T.concatenate([T.expand_dims(y, 0), T.concatenate([X, T.expand_dims(x, 0)])]),
    never=(
        lambda X, Y: T.concatenate([T.concatenate([X, Y], axis=1), T.concatenate([Y, X], axis=1)]),
        lambda p, x: T.concatenate([p, T.concatenate([x, x])]),
        lambda p, x: T.concatenate([x, T.concatenate([x, p])]),
    ),
)
def joined_behind(X: Value, Y: Value, Z: Value) -> Equation:
    """X ++ (Y ++ Z) is one concatenation of three arrays."""
    return Equation(_JOIN(X, _JOIN(Y, Z)), _JOIN(X, Y, Z), when=[same_type(X, Y), same_type(Y, Z)])


@law(licence="exact", stepwise=True, example=lambda X: T.concatenate([X]) * 2.0, never=lambda X: T.concatenate([X, X]))
def joined_alone(X: Value) -> Equation:
    """The concatenation of one array is that array."""
    return Equation(_JOIN(X), X)


@law(
    licence="exact",
    stepwise=True,
    example=(
        lambda x: T.stack([x, T.exp(x)])[0] * 2.0,
        lambda x: T.stack([x, T.exp(x), T.tanh(x)])[-1] * 2.0,
        lambda x: T.stack([x, T.exp(x)], axis=1)[:, 1] * 2.0,
    ),
    never=(
        lambda x: T.stack([x, T.exp(x)])[1:] * 2.0,
        lambda x, y: T.stack([x, y])[0] * 2.0,
        lambda x, p: T.stack([p[0], x[0]])[0] * 2.0,
        lambda X, Y: scanopt.map(lambda v, w: T.stack([v, w]), [X, Y])[0][:, 0] * 2.0,
        lambda X, Y: scanopt.map(lambda v, w: T.stack([v, w]), [X, Y])[0][-2:][:, 0] * 2.0,
    ),
)
def entry_of_stack(op: Op, xs: Args, j: Int, k: Int, x: Value, d: Text) -> Equation:
    """stack(x, y, ...)[k] is the k-th of them, along any axis."""
    stacked = ops.stack(xs, axis=j)
    when = [takes_entry(op, j, k), entry(xs, k, x), of_dtype(x, d), of_dtype(stacked, d), fits(stacked)]
    return Equation(op(stacked), x, when=when)


@law(
    licence="exact",
    stepwise=True,
    example=(lambda x, y: T.stack([x, T.exp(y)])[0] * 2.0, lambda X, Y: T.stack([T.exp(X), Y], axis=1)[:, 1] * 2.0),
    never=(
        lambda x, y: T.stack([x, y])[1:] * 2.0,
        lambda a, b: T.stack([a, b])[0] * 2.0,
        lambda x, y: T.stack([T.cast(x, "float32"), y])[0] * 2.0,
        lambda x, y: T.stack([x, T.cast(y, "float32")])[0] * 2.0,
    ),
)
def entry_of_two_stacked(op: Op, S: Value, x: Value, y: Value, j: Int, k: Int, n: Int) -> Equation:
    """stack(x, y)[k] is the k-th of them, and both must have one shape."""
    when = [takes_entry(op, j, k), one_of_two(S, j, k, x, y), has_so_many_axes(x, n), same_type(x, y)]
    return Equation(op(S), ops.shaped_like(x, y, axes=n), when=when)


@law(
    licence="exact",
    stepwise=True,
    example=lambda x: _halves(x, x.shape[0] // 2) * 2.0,
    never=(
        lambda x, n: T.concatenate([x[:n], x[n + 1 :]]),
        lambda x, y, n: T.concatenate([x[:n], y[n:]]),
        lambda x, n, m: _halves(x, scanopt.check(m, "not so", n)),
    ),
)
def halves_joined(X: Value, n: Value) -> Equation:
    """X[:n] ++ X[n:] = X, for a computed n."""
    return Equation(_JOIN(X[:n], X[n:]), X, when=[silent(n)])


@law(
    licence="exact",
    stepwise=True,
    example=lambda X: _own_halves(scanopt.scan(lambda v, s: T.tanh(s + v), X, T.zeros_like(X[0]))[0]),
    never=lambda x, m: _halves(x, x.shape[0] // scanopt.check(m, "not so", 2)),
)
def own_halves_joined(X: Value, k: Value) -> Equation:
    """The same for a part n of the length of X, which may raise only where X itself does."""
    n = ops.floor_divide(X.shape[0], k)
    return Equation(_JOIN(X[:n], X[n:]), X, when=[positive(k)])


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    example=lambda x: T.concatenate([x[:3], x[3:]]) * 2.0,
    never=(lambda x: T.concatenate([x[:3], x[4:]]), lambda x, y: T.concatenate([x[:3], y[3:]])),
)
def parts_joined(X: Value, k: Int) -> Equation:
    """X[:k] ++ X[k:] = X, for a constant k."""
    return Equation(_JOIN(X[:k], X[k:]), X)


@law(
    licence="exact",
    stepwise=True,
    example=lambda x: T.concatenate([x[:3], x[3:5], x[5:]]) * 2.0,
    never=(
        lambda x: T.concatenate([x[:3], x[3:1], x[1:]]),
        lambda x: T.concatenate([x[:3], x[4:5], x[5:]]),
        lambda x, y: T.concatenate([x[:3], y[3:5], x[5:]]),
    ),
)
def next_part_joined(X: Value, j: Int, k: Int, r: Args) -> Equation:
    """X[:j] ++ X[j:k] ++ ... = X[:k] ++ ..."""
    return Equation(_JOIN(X[:j], X[j:k], r), _JOIN(X[:k], r), when=[at_least(k, j)])


@law(
    licence="exact",
    stepwise=True,
    example=(
        lambda X: T.concatenate([X[:, :2], X[:, 2:]], axis=1) * 2.0,
        lambda x: T.concatenate([x[:-2], x[-2:]]) * 2.0,
    ),
    never=(
        lambda X: T.concatenate([X[:, :2], X[:, 2:]], axis=0) * 2.0,
        lambda X: T.concatenate([X[:, :2], X[:, 3:]], axis=1) * 2.0,
        lambda x, y: T.concatenate([x[:2], y[2:]]) * 2.0,
    ),
)
def cut_and_joined(op: Op, g: Op, h: Op, X: Value) -> Equation:
    """An array cut in two at a fixed place of an axis, and joined there, is itself."""
    return Equation(op(g(X), h(X)), X, when=[cut_in_two(op, g, h)])


@law(
    licence="exact",
    stepwise=True,
    example=lambda X: T.concatenate([T.zeros_like(X[:1]), X])[1:] * 2.0,
    never=(
        lambda X: T.concatenate([T.zeros_like(X[:2]), X])[2:] * 2.0,
        lambda X, Y: T.concatenate([T.zeros_like(Y[:1]), X])[1:] * 2.0,
        lambda X: T.concatenate([T.zeros_like(X[:1]), T.cumprod(X, axis=0)])[1:] * 2.0,
        lambda p: T.concatenate([T.zeros_like(p[:1], dtype="float64"), p])[1:] * 2.0,
    ),
)
def padded_in_front(A: Value, X: Value) -> Equation:
    """(A ++ X)[1:] = X for an A with one row if X has any."""
    return Equation(_JOIN(A, X)[1:], X, when=[row_if_any(A, X), same_type(A, X)])


@law(
    licence="exact",
    stepwise=True,
    example=lambda X: T.concatenate([X, T.zeros_like(X[:1])])[:-1] * 2.0,
    never=(
        lambda X: T.concatenate([X, T.zeros_like(X[:2])])[:-2] * 2.0,
        lambda X, Y: T.concatenate([X, T.zeros_like(Y[:1])])[:-1] * 2.0,
        lambda p: T.concatenate([p, T.zeros_like(p[:1], dtype="float64")])[:-1] * 2.0,
    ),
)
def padded_behind(A: Value, X: Value) -> Equation:
    """(X ++ A)[:-1] = X for an A with one row if X has any."""
    return Equation(_JOIN(X, A)[:-1], X, when=[row_if_any(A, X), same_type(A, X)])


@law(
    licence="exact",
    stepwise=True,
    example=lambda X: T.concatenate([T.zeros_like(X[:1]), X, T.zeros_like(X[-1:])])[1:-1] * 2.0,
    never=(
        lambda X: T.concatenate([T.zeros_like(X[:2]), X, T.zeros_like(X[:1])])[1:-1] * 2.0,
        lambda X: T.concatenate([T.zeros_like(X[:1]), X, T.zeros_like(X[:2])])[1:-1] * 2.0,
        lambda p: T.concatenate([T.zeros_like(p[:1], dtype="float64"), p, p[:1]])[1:-1] * 2.0,
        lambda p: T.concatenate([p[:1], p, T.zeros_like(p[:1], dtype="float64")])[1:-1] * 2.0,
    ),
)
def padded_on_both_sides(A: Value, X: Value, B: Value) -> Equation:
    """(A ++ X ++ B)[1:-1] = X for an A and a B with one row if X has any."""
    when = [row_if_any(A, X), row_if_any(B, X), same_type(A, X), same_type(B, X)]
    return Equation(_JOIN(A, X, B)[1:-1], X, when=when)
