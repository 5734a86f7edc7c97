"""Programs kept for facts: each goes wrong as soon as a rule of some fact has one atom less.

They are functions of named inputs, as the examples of laws are; above each stands what it is that must not be taken
for granted.  `scanopt check-facts` says which atoms each of them protects.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scanopt import tensor as T
from scanopt.calculus.law import Program
from scanopt.loops.derived import map as map_
from scanopt.loops.scan import scan
from scanopt.loops.until import until

__all__ = ["FACT_PROGRAMS"]

FACT_PROGRAMS: dict[str, Program] = {}
"""All of them, by name."""


def _kept(program: Program) -> Program:
    FACT_PROGRAMS[program.__name__.strip("_").replace("_", " ")] = program
    return program


def _each(step: Callable[..., Any], rows: Any, *more: Any) -> Any:
    """The trace of a map."""
    return map_(step, rows, list(more))[0]


def _several(v: Any) -> Any:
    """Values for several rows: a number for each."""
    return T.stack([v, v + 1, v * 2, v * 3])


# Shapes


# regular: what an inner loop keeps may have another length at each step of the outer one.
@_kept
def _ragged_traces(x: Any, p: Any) -> Any:
    return _each(lambda i, x: _each(lambda v, r: T.exp(r * v), x, T.arange(i)).sum(), p, x)


@_kept
def _ragged_last_rows(x: Any, p: Any) -> Any:
    return _each(lambda i, x: _each(lambda v, r: T.exp(r * v), x, T.arange(i))[-2:].sum(), p, x)


@_kept
def _ragged_fixed_rows(x: Any, p: Any) -> Any:
    return _each(
        lambda i, x: _each(lambda v, r: T.exp(r * v), x, T.arange(i))[1].sum(), p + 2, T.concatenate([x, [1.0, 2.0]])
    )


# uniform: full tells the shape by its later arguments, which are held, but not by all loops.
@_kept
def _filled_ragged(x: Any, p: Any) -> Any:
    return _each(lambda i, x: _each(lambda v, i: T.exp(T.full((i,), v)), x, i).sum(), p, x)


@_kept
def _filled_ragged_more(x: Any, p: Any) -> Any:
    return _each(lambda i, x: _each(lambda v, i: T.exp(T.full((2, i), v)), x, i).sum(), p, x)


# uniform: a state starts with as many elements as the outer step says.
@_kept
def _ragged_states(p: Any) -> Any:
    return _each(lambda i: scan(lambda s: T.tanh(s + 0.5), None, [T.arange(i) * 1.0], n_steps=5)[0].sum(), p)


@_kept
def _ragged_sequences(p: Any, X: Any) -> Any:
    return _each(lambda i, X: _each(lambda row: T.exp(row), X[:, :i]).sum(), p, X)


@_kept
def _ragged_held(p: Any, x: Any) -> Any:
    return _each(lambda i, x: _each(lambda v, r: v * r.sum() + r, x, x[:i]).sum(), p, x)


# Three loops: the innermost has as many steps as the outermost says.
@_kept
def _ragged_inner_traces(p: Any, x: Any) -> Any:
    def middle(i: Any, x: Any) -> Any:
        return _each(lambda v, i: T.exp(_each(lambda j, v: T.exp(j * v), T.arange(i), v)), x, i).sum()

    return _each(middle, p, x)


@_kept
def _ragged_inner_last_rows(p: Any, x: Any) -> Any:
    def middle(i: Any, x: Any) -> Any:
        return _each(lambda v, i: T.exp(_each(lambda j, v: T.exp(j * v), T.arange(i), v)[-3:]), x, i).sum()

    return _each(middle, p, x)


# Three loops: the innermost ends early, sooner or later.
@_kept
def _inner_traces_until(x: Any, y: Any, a: Any) -> Any:
    def innermost(w: Any, v: Any) -> Any:
        return T.exp(w * v), until(w > v)

    def middle(u: Any, x: Any, y: Any) -> Any:
        return _each(lambda v, u, y: T.exp(scan(innermost, y, None, [v * u])[0]).sum(), x, u, y).sum()

    return _each(middle, y, x, y)


@_kept
def _last_rows_until(x: Any, y: Any) -> Any:
    return _each(lambda v, y: T.exp(scan(lambda w, v: (w * v, until(w > v)), y, None, [v])[0][-3:]).sum(), x, y)


@_kept
def _traces_of_some_steps(p: Any, x: Any) -> Any:
    return _each(lambda i, x: T.exp(_each(lambda v: T.tanh(v), x[:i])).sum(), p, x)


@_kept
def _last_rows_of_some_steps(p: Any, x: Any) -> Any:
    return _each(lambda i, x: T.exp(_each(lambda v: T.tanh(v), x[:i])[-4:]).sum(), p, x)


# regular: operators whose results are as long as a value says.
@_kept
def _slices_of_slices(p: Any, x: Any, k: Any) -> Any:
    return _each(lambda i, x, k: T.exp(x[:i][:k]).sum(), p, x, k)


# Steps


# fleeting: what lies in a loop of two steps, in one of a single step, has its own steps.
@_kept
def _nested_in_one_step(x: Any, a: Any) -> Any:
    def inner(r: Any, s: Any, x: Any) -> Any:
        return r * s + _each(lambda v, r: T.exp(v) * r, x, r).sum()

    return scan(lambda s, x: scan(inner, None, [s], [s, x], n_steps=2)[0].sum(), None, [a], [x], n_steps=1)[0]


# hoistable: an index that is the same at every step is out of range, on a side that is not taken.
@_kept
def _hidden_invariant_in_steps(x: Any, k: Any, m: Any) -> Any:
    return scan(lambda s, x, k: T.ifelse(s > 100, T.exp(x[k + 100]), s + 1), None, [0.0], [x, k], n_steps=5)[0]


# raises_alike: a loop that ends early does not come to the index that is out of range.
@_kept
def _index_after_the_end(x: Any, p: Any) -> Any:
    return scan(lambda i, j, v: (T.exp(v[j]), until(i > 0)), [p, T.arange(p.shape[0]) * 2], None, [x])[0]


# regular, uniform: how long a range is, its first argument tells, too.
@_kept
def _ranges_from_here(p: Any, k: Any) -> Any:
    return _each(lambda i, k: T.exp(T.arange(i, k)).sum(), p, k)


@_kept
def _inner_ranges_from_here(p: Any, k: Any, x: Any) -> Any:
    return _each(lambda i, k, x: _each(lambda v, i, k: T.exp(T.arange(i, k) * v), x, i, k).sum(), p, k, x)


@_kept
def _filled_by_two_lengths(x: Any, p: Any, k: Any) -> Any:
    return _each(lambda i, x, k: _each(lambda v, i, k: T.exp(T.full((k, i), v)), x, i, k).sum(), p, x, k)


@_kept
def _filled_by_two_lengths_more(x: Any, p: Any, k: Any) -> Any:
    return _each(lambda i, x, k: _each(lambda v, i, k: T.exp(T.full((i, k), v)), x, i, k).sum(), p, x, k)


# uniform: the innermost of three loops ends as the outermost says.
@_kept
def _inner_traces_until_outer(x: Any, y: Any, u: Any) -> Any:
    def middle(v: Any, w: Any, y: Any) -> Any:
        return T.exp(scan(lambda r, v, w: (r * v, until(r > w)), y, None, [v, w])[0])

    return _each(lambda w, x, y: _each(middle, x, w, y).sum(), u, x, y)


@_kept
def _inner_last_rows_until_outer(x: Any, y: Any, u: Any) -> Any:
    def middle(v: Any, w: Any, y: Any) -> Any:
        return T.exp(scan(lambda r, v, w: (r * v, until(r > w)), y, None, [v, w])[0][-3:])

    return _each(lambda w, x, y: _each(middle, x, w, y).sum(), u, x, y)


@_kept
def _inner_ragged_last_rows(x: Any, y: Any, p: Any) -> Any:
    def middle(v: Any, i: Any, y: Any) -> Any:
        return T.exp(_each(lambda r, v, i: T.arange(i) * r * v, y, v, i)[-2:])

    return _each(lambda i, x, y: _each(middle, x, i, y).sum(), p, x, y)


@_kept
def _inner_ragged_fixed_rows(x: Any, y: Any, p: Any) -> Any:
    def middle(v: Any, i: Any, y: Any) -> Any:
        return T.exp(_each(lambda r, v, i: T.arange(i) * r * v, y, v, i)[1])

    return _each(lambda i, x, y: _each(middle, x, i, y).sum(), p, x, T.concatenate([y, [1.0, 2.0]]))


# some_steps: rows of unknown length, in a loop of no steps.
@_kept
def _row_in_no_steps(X: Any, k: Any) -> Any:
    return scan(lambda X, k: X[k + 100], None, None, [X, k], n_steps=0)[0]


# one_step, ends_at_once: some condition is true, but not the one that ends the loop.
@_kept
def _truth_elsewhere(x: Any, m: Any, a: Any) -> Any:
    found = scan(lambda s: T.tanh(s) + 0.5, None, [a], n_steps=5)[0]
    return [found, scan(lambda v, s: (s + v, until(s > 1)), x, [a])[0], T.constant(True) & m]


# is_false: a condition that a loop holds.
@_kept
def _held_condition(x: Any, a: Any) -> Any:
    return _each(lambda v, b: T.ifelse(b, v, T.exp(v)), x, T.gt(a, 0))


# safe, always: what is computed for all rows at once may raise as it did row by row.
@_kept
def _hidden_rows(x: Any, q: Any) -> Any:
    return _each(lambda v, x, q: T.ifelse(v > 100, _each(lambda j, x: x[j], q + 5, x).sum(), v), x, x, q)


@_kept
def _hidden_rows_in_steps(x: Any, q: Any) -> Any:
    def step(s: Any, x: Any, q: Any) -> Any:
        return T.ifelse(s > 100, _each(lambda j, x: x[j], q + 5, x).sum(), s + 1)

    return [scan(step, None, [0.0], [x, q], n_steps=5)[0], _each(lambda j, x: x[j], q, x)]


# total_list: of two arguments only one may raise.
@_kept
def _hidden_first_argument(x: Any, p: Any) -> Any:
    return map_(lambda i, v, x: T.ifelse(i < 2, T.arctan2(x[i + 5], v), 0.0), [p, x], [x])[0]


@_kept
def _hidden_second_argument(x: Any, p: Any) -> Any:
    return map_(lambda i, v, x: T.ifelse(i < 2, T.arctan2(v, x[i + 5]), 0.0), [p, x], [x])[0]


# batched: products of rows round as they do one by one.
@_kept
def _products_of_rows(X: Any, y: Any) -> Any:
    return _each(lambda row, y: T.dot(row, y), X, y)


@_kept
def _last_product_of_rows(X: Any, y: Any) -> Any:
    return _each(lambda row, y: T.dot(row, y), X, y)[-2:]


# entries: the rows of another sequence.
@_kept
def _sum_beside_others(x: Any, y: Any, a: Any) -> Any:
    return scan(lambda v, w, s: [s + v, T.exp(w)], [x, y], [a, None])[0]


# to_add_up: sums of small integers are sums of large ones.
def _small(v: Any) -> Any:
    return T.cast(v * 37 + 50, "int8")


@_kept
def _sum_of_small_products(p: Any, q: Any) -> Any:
    return map_(lambda i, j: _small(i) * _small(j), [p, q])[0].sum(axis=0)


@_kept
def _small_products_and_large_ones(p: Any, q: Any) -> Any:
    return [
        map_(lambda i, j: _small(i) * _small(j) + i * j, [p, q])[0].sum(axis=0),
        map_(lambda i, j: i * j + _small(i) * _small(j), [p, q])[0].sum(axis=0),
    ]


@_kept
def _sums_of_small_outer_products(p: Any, q: Any, A: Any, B: Any) -> Any:
    small = [T.cast(A * 40, "int8"), T.cast(B * 40, "int8")]
    return map_(lambda v, w: T.outer(v, w).sum(), small)[0].sum(axis=0)


# adds_up: operators that are not sums of sums.
@_kept
def _exponentials_of_products(x: Any, y: Any, a: Any) -> Any:
    return [
        map_(lambda v, w: T.exp(v * w), [x, y])[0].sum(axis=0), map_(lambda v, w: v * w, [x, y])[0].sum(axis=0),
        map_(lambda v, w, a: T.maximum(v * w, a), [x, y], [a])[0].sum(axis=0),
    ]  # fmt: skip


# adds_up: rows are added where there are none yet, at one place each.
@_kept
def _added_at_two_indices(x: Any, p: Any, q: Any, W: Any) -> Any:
    return scan(
        lambda v, i, j, S, W: S + T.inc_subtensor(T.zeros_like(W)[i, j], v), [x, p, q], [W], [W]
    )[0][-1]  # fmt: skip


@_kept
def _added_to_ones(x: Any, p: Any, q: Any, W: Any) -> Any:
    return scan(
        lambda v, i, j, S, W: S + T.inc_subtensor(T.ones_like(W)[i, j], v), [x, p, q], [W], [W]
    )[0][-1]  # fmt: skip


@_kept
def _numbers_added_to_rows(x: Any, p: Any, W: Any) -> Any:
    return scan(lambda v, i, S, W: S + T.inc_subtensor(T.zeros_like(W)[i], v), [x, p], [W], [W])[0][-1]


# chain: small integers wrap around; a vector in the middle is no matrix.
def _bytes(X: Any) -> Any:
    return T.cast(X * 60, "int8")


@_kept
def _chains_of_small_integers(A: Any, B: Any, x: Any) -> Any:
    large = T.cast(x * 60, "int64")
    return [
        T.dot(T.dot(large, _bytes(A)), _bytes(B)), T.dot(_bytes(A), T.dot(_bytes(B), large)),
        T.dot(large, T.dot(_bytes(A), _bytes(B))), T.dot(T.dot(_bytes(A), _bytes(B)), large),
    ]  # fmt: skip


@_kept
def _chains_through_a_vector(X: Any, y: Any, z: Any) -> Any:
    return [T.dot(T.dot(X, y), z), T.dot(z, T.dot(X, y)), T.dot(T.dot(y, X), z) * 2]


# shared_list, lifted_list: a loop in a loop, its values all of one list.
@_kept
def _loop_in_a_loop_of_shared_values(x: Any, y: Any, a: Any) -> Any:
    return _each(lambda v, y, a: _each(lambda w, v, a: T.where(w > a, v, a), y, v, a), x, y, a)


# moves_up: what an inner loop reads has another length at each step of the outer one.
@_kept
def _ragged_states_in_a_loop(p: Any) -> Any:
    def step(i: Any) -> Any:
        return scan(lambda s: [T.tanh(s + 0.5), s.sum()], None, [T.arange(i) * 1.0, None], n_steps=5)[0][1]

    return _each(step, p)


@_kept
def _slices_in_a_loop_in_a_loop(x: Any, p: Any, q: Any) -> Any:
    return _each(lambda i, q, x: _each(lambda j, i, x: T.exp(x[: i + j]).sum(), q, i, x), p, q, x)


@_kept
def _products_in_a_loop_in_a_loop(X: Any, Y: Any) -> Any:
    return _each(lambda v, Y: _each(lambda w, v: T.dot(v, w), Y, v), X, Y)


# chunked: what a chunk computes at once does not raise, has rows of one length, and rounds alike.
@_kept
def _one_step_until(x: Any, a: Any) -> Any:
    return scan(lambda v, a: (T.exp(v) * a, until(v > 1)), x, None, a, n_steps=1)[0]


# mirrors: what is costly to compute twice is read from the trace, if it is the same and has one length.
def _costly(v: Any, u: Any) -> Any:
    return T.exp(T.sin(T.cos(T.arctan2(v, u)))) + T.exp(T.sin(T.cos(T.hypot(u, v))))


@_kept
def _costly_backwards(a: Any, b: Any) -> Any:
    rows, others = T.arange(5.0) * a, T.arange(5.0) * b

    def step(v: Any, w: Any, u: Any, s: Any) -> Any:
        return T.tanh(s * (_costly(v, u) + _costly(w, u)))

    return scan(step, [rows, rows[::-1], others], [a])[0]


# cholesky_factor: another triangular matrix may have a zero on its diagonal, which raises.
def _both_sides(L: Any, b: Any) -> Any:
    half = T.linalg.solve_triangular(L, b, lower=True)
    return T.linalg.solve_triangular(L, half, "T", lower=True)


@_kept
def _singular_systems_held(A: Any, x: Any) -> Any:
    return _each(lambda v, L, x: _both_sides(L, x * v), x, T.tril(A) * 0.0, x)


@_kept
def _singular_systems_read(A: Any, x: Any) -> Any:
    zeros = T.tril(A) * 0.0
    return _each(lambda L, x: _both_sides(L, x), T.stack([zeros, zeros, zeros, zeros]), x)


# to_add_up: what is added up elsewhere is of small integers here.
@_kept
def _small_sums_elsewhere(p: Any, q: Any) -> Any:
    return [
        map_(lambda i, j: _small(i) * _small(j) + _small(i + j), [p, q])[0],
        map_(lambda i, j: -(_small(i) * _small(j)), [p, q])[0],
        map_(lambda i, j: (_small(i) * _small(j)) / _small(i + j), [p, q])[0].sum(axis=0),
        map_(lambda i, j: _small(i) * _small(j), [p, q])[0].sum(axis=0),
    ]


@_kept
def _sum_of_small_contractions(A: Any, B: Any) -> Any:
    return map_(lambda v, w: T.tensordot(v, w, axes=1), [_bytes(A), _bytes(B)])[0].sum(axis=0)


@_kept
def _sum_of_small_additions(A: Any, p: Any, q: Any, W: Any) -> Any:
    return [
        map_(lambda v, i, W: T.inc_subtensor(T.zeros_like(W)[i], v), [_bytes(A), p], [_bytes(W)])[0].sum(axis=0),
        map_(lambda i, j, W: T.inc_subtensor(T.zeros_like(W)[i, j], _small(i)), [p, q], [_bytes(W)])[0].sum(axis=0),
    ]


# adds_up: two indices of different numbers of axes; one number for a row.
@_kept
def _numbers_added_at_two_indices(x: Any, p: Any, q: Any, X: Any) -> Any:
    W = T.stack([X, X + 1, X * 2])
    return scan(
        lambda v, i, j, S, W: S + T.inc_subtensor(T.zeros_like(W)[i % 2, j], v), [x, p, q], [W], [W]
    )[0][-1]  # fmt: skip


@_kept
def _row_through_a_vector(X: Any, y: Any, z: Any) -> Any:
    return T.dot(z, T.dot(y, X))


# moves_up: rows of another length are read, or held, row by row.
@_kept
def _ragged_held_sums(x: Any, p: Any) -> Any:
    return _each(lambda i, x: scan(lambda v, s, r: (r * v + s).sum(), x, [0.0], [x[:i]])[0], p, x)


@_kept
def _slices_of_states_in_a_loop(x: Any, p: Any, q: Any) -> Any:
    def inner(j: Any, s: Any, i: Any, x: Any) -> Any:
        return T.tanh(x[: i + j].sum() + s)

    return _each(lambda i, q, x: scan(inner, q, [0.0], [i, x])[0], p, q, x)


# runs_all: the few rows of a loop that ends early are those of a map.
@_kept
def _inner_map_until_in_two_steps(x: Any, a: Any) -> Any:
    return scan(
        lambda s, x: scan(lambda v, s: (T.exp(v), until(v > s)), x, None, [s])[0].sum(), None, [a], [x], n_steps=2,
    )[0]  # fmt: skip


# fleeting: a loop of its own steps in the second of two loops that are taken apart.
@_kept
def _loop_in_two_steps_of_one(x: Any, a: Any) -> Any:
    def inner(r: Any, x: Any) -> Any:
        return T.tanh(r) + scan(lambda v, q, r: T.tanh(q * r + v), x, [r], [r])[0][-1:].sum()

    return scan(lambda s, x: scan(inner, None, [s], [x], n_steps=2)[0][-1], None, [a], [x], n_steps=1)[0]


# traced: the last rows of what differs in length.
@_kept
def _last_ranges(p: Any) -> Any:
    return _each(lambda i: T.exp(T.arange(i)).sum(), p)[-2:]


# adds_up_freely, adds_up: angles of sums are no sums of angles.
@_kept
def _angles_with_one(X: Any, y: Any) -> Any:
    return [
        scan(lambda v, s, y: s + T.arctan2(v, y), X, [y], [y])[0][-1],
        scan(lambda v, s, y: s + T.arctan2(y, v), X, [y], [y])[0][-1],
    ]


@_kept
def _angles_of_products(X: Any, Y: Any) -> Any:
    return [
        map_(lambda v, w: T.arctan2(T.dot(v, w), T.dot(v, v)), [X, Y])[0].sum(axis=0),
        map_(lambda v, w: [T.dot(v, w), T.dot(v, v)], [X, Y])[0][0].sum(axis=0),
        map_(lambda v, w: [T.dot(v, w), T.dot(v, v)], [X, Y])[0][1].sum(axis=0),
    ]


# spine: choices and limits that have to do with the state, and others that have not.
@_kept
def _choices_beside_the_state(x: Any, y: Any, m: Any, a: Any) -> Any:
    return scan(
        lambda c, v, w, s: [T.where(c, s + v, s), T.where(c, v, w)], [m, x, y], [a, None]
    )[0]  # fmt: skip


@_kept
def _limits_beside_the_state(x: Any, a: Any, b: Any) -> Any:
    return scan(
        lambda v, s, low, high: [T.clip(s + v, low, high), T.clip(v * 2, low, high)], x, [a, None], [b, b + 1]
    )[0]  # fmt: skip


@_kept
def _limits_by_the_state(x: Any, a: Any, b: Any) -> Any:
    return [
        scan(lambda v, s, h: T.clip(s + v, T.tanh(s), h), x, [a], [b + 1])[0],
        scan(lambda v, s, low: T.clip(s + v, low, T.exp(s)), x, [a], [b])[0],
    ]


# in_turn, copied: loops of one step, in one another and in others.
@_kept
def _one_step_in_each(x: Any) -> Any:
    return [
        _each(lambda v: scan(lambda s: T.tanh(s) + 1, None, [v], n_steps=1)[0], x),
        scan(lambda v, s: scan(lambda r: T.tanh(r) + 1, None, [v + s], n_steps=1)[0].sum(), x, [0.5])[0][:3],
    ]


# shallow: loops in a loop in a loop.
@_kept
def _four_loops(x: Any) -> Any:
    def third(v: Any, x: Any) -> Any:
        return _each(lambda w, v: T.tanh(w * v), x, v).sum()

    def second(v: Any, x: Any) -> Any:
        return _each(lambda w, v, x: third(w, x) * v, x, v, x)

    def state(v: Any, s: Any, x: Any) -> Any:
        return T.tanh(s + second(v, x).sum())

    few = x[:2]
    return [
        _each(lambda v, x: _each(lambda w, v, x: second(w, x).sum() * v, x, v, x), few, few),
        scan(state, x, [0.5], [few])[0][:2],
    ]


# runs_all, at_most_one: of a loop that ends early, even the first few rows may not be there.
@_kept
def _first_rows_until(x: Any, a: Any) -> Any:
    sums, rows = scan(lambda v, s: ([s + v, T.exp(v)], until(s > 1)), x, [a, None])[0]
    return [sums[:3], rows[:3], rows[:3].sum()]


# in_turn, copied: loops of one step, in loops of one step.
@_kept
def _one_step_in_one_step(a: Any) -> Any:
    def inner(s: Any) -> Any:
        return scan(lambda r: T.tanh(r) + 1, None, [s], n_steps=1)[0].sum()

    return scan(inner, None, [a], n_steps=1)[0]


@_kept
def _three_of_one_step(x: Any) -> Any:
    def third(r: Any) -> Any:
        return scan(lambda q: T.tanh(q) * 2, None, [r], n_steps=1)[0].sum()

    def second(s: Any) -> Any:
        return scan(lambda r: third(r) + 1, None, [s], n_steps=1)[0].sum()

    return scan(lambda v, s: second(s + v), x, [0.5])[0][:3]


# shallow: a loop of two steps, deep, in a loop that is taken apart.
@_kept
def _deep_in_one_step(x: Any, a: Any) -> Any:
    def third(v: Any, r: Any, x: Any) -> Any:
        return _each(lambda w, v: T.tanh(w * v), x, v * r).sum()

    def second(r: Any, x: Any) -> Any:
        return _each(third, x, r, x).sum()

    return scan(lambda s, x: scan(second, None, [s], [x], n_steps=2)[0].sum(), None, [a], [x], n_steps=1)[0]


# safe: what an inner loop looks up at once is out of range in steps that the outer one does not come to.
@_kept
def _rows_after_the_end(x: Any, p: Any, q: Any) -> Any:
    def outer(i: Any, j: Any, x: Any, q: Any) -> Any:
        return _each(lambda j, x: T.exp(x[j]), q * j, x).sum(), until(i > 0)

    return scan(outer, [p, T.arange(p.shape[0])], None, [x, q])[0]


# sure, hoistable, raises_alike: on a side that is not taken, shapes need not fit.
@_kept
def _hidden_misfit_in_steps(x: Any, y: Any) -> Any:
    longer = T.concatenate([y, y])
    return scan(lambda s, x, w: T.ifelse(s > 100, (x + w).sum(), s + 1), None, [0.0], [x, longer], n_steps=5)[0]


@_kept
def _hidden_squeeze(X: Any) -> Any:
    return _each(lambda v: T.ifelse(T.gt(v.sum(), 1e9), T.squeeze(v, 0), v.sum()), X)


# nothing: what a loop holds is not zero.
@_kept
def _added_to_ones_in_a_loop(x: Any, y: Any, p: Any) -> Any:
    def inner(u: Any, x: Any, p: Any, W: Any) -> Any:
        return map_(lambda v, i, W: T.inc_subtensor(W[i], v), [x, p], [W])[0].sum(axis=0) * u

    return _each(inner, y, x, p, T.ones_like(y))


# adds_up: indices that are a vector and a matrix.
@_kept
def _added_at_tables(x: Any, y: Any, p: Any, q: Any, W: Any) -> Any:
    def step(v: Any, i: Any, j: Any, S: Any, W: Any, q: Any, y: Any) -> Any:
        places = T.zeros_like(W)[T.minimum(q, i), T.minimum(T.stack([q, q]), j)]
        return S + T.inc_subtensor(places, y * v)

    return scan(step, [x, p, q], [W], [W, q, y])[0][-1]


# to_add_up: products of small integers, in a sum of large ones; sums of small ones beside them.
@_kept
def _small_products_in_a_large_state(X: Any, Y: Any, k: Any) -> Any:
    return scan(lambda v, w, s: s + T.dot(v, w), [_bytes(X), _bytes(Y)], [k])[0][-1]


@_kept
def _small_states_beside_sums(p: Any, q: Any, k: Any) -> Any:
    def total(more: int) -> Any:
        return scan(lambda i, j, s: s + _small(i + more) * _small(j), [p, q], [_small(k)])[0][-1]

    both = map_(lambda i, j: _small(i) * _small(j) + _small(i + 1) * _small(j), [p, q])[0]
    return [total(0), total(1), both.sum(axis=0)]


# full_rows: full_like takes vectors, too.
@_kept
def _full_of_a_vector(y: Any) -> Any:
    return _each(lambda v: T.exp(v), T.full_like(y, y))


# traceable: one length, which the program does not tell.
@_kept
def _as_long_as_told(x: Any, p: Any) -> Any:
    return map_(lambda v, i: T.exp(T.full((i,), v)), [x, p * 0 + 3])[0][-2:]


# chunked: operators of one list of arguments, of which only one can be done in chunks.
@_kept
def _products_in_chunks(X: Any, y: Any, x: Any) -> Any:
    return scan(lambda r, v, y: ([T.dot(r, y), r * y], until(v > 1)), [X, x], None, [y])[0]


@_kept
def _powers_in_chunks(p: Any) -> Any:
    return scan(lambda i, j: ([T.power(i, j), i * j], until(i > 0)), [p, 1 - T.arange(p.shape[0])])[0]


# sliced: a sequence that another of the loop's own is compared with.
@_kept
def _masks_in_chunks(X: Any, Y: Any, x: Any) -> Any:
    return scan(lambda r, w, v: (r[r > w].sum() + T.where(r > w, r, w).sum(), until(v > 1)), [X, Y, x])[0]


# first_rows: what a state is raised to is itself a state.
@_kept
def _raised_to_another_state(x: Any, a: Any, b: Any) -> Any:
    return scan(lambda v, s, r: [T.maximum(s + v, r), T.tanh(r + v)], x, [a, b])[0]


# batched_here: of a maximum of zeros of both signs, of floats, rows differ bit for bit; of integers they do not.
@_kept
def _zeros_of_both_signs(x: Any, p: Any) -> Any:
    zeros = T.concatenate([x * 0, x * 0, x * 0, x * 0])
    return [map_(lambda v, w: T.fmax(v, w), [zeros, -zeros])[0], map_(lambda i: T.fmax(i, i + 1), [p])[0]]


# moves_up: rows that masks pick differ in length.
@_kept
def _masks_in_maps(x: Any, y: Any) -> Any:
    def inner(v: Any, x: Any, y: Any) -> Any:
        return _each(lambda w, v, x: T.exp(x[x > w * v]).sum(), y, v, x)

    return _each(inner, x, x, y)


# chunked: what a mask picks, beside what can be done in chunks of the same arguments.
@_kept
def _masked_rows_in_chunks(X: Any, Y: Any, x: Any) -> Any:
    def step(r: Any, w: Any, v: Any) -> Any:
        mask = r > w
        return [r[mask].sum(), T.arctan2(r, mask)], until(v > 1)

    return scan(step, [X, Y, x])[0]
