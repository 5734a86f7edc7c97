"""Programs kept for facts about loops in loops, what ends loops, and what may raise: see `fact_programs`."""

from __future__ import annotations

from typing import Any

from scanopt import tensor as T
from scanopt.lab.fact_programs_of_values import FACT_PROGRAMS, _bytes, _each, _kept, _small
from scanopt.loops.derived import map as map_
from scanopt.loops.scan import scan
from scanopt.loops.until import until

__all__ = ["FACT_PROGRAMS"]


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
def _looked_up_in_an_inner_loop(X: Any, q: Any) -> Any:
    def inner(row: Any, q: Any) -> Any:
        return scan(lambda j, s, row: T.tanh(s) + row[j + (row[0] > 0)], q, [T.sum(row)], [row])[0]

    return _each(inner, X, q)


@_kept
def _products_in_a_loop_in_a_loop(X: Any, Y: Any) -> Any:
    return _each(lambda v, Y: _each(lambda w, v: T.dot(v, w), Y, v), X, Y)


# chunked: what a chunk computes at once does not raise, has rows of one length, and rounds alike.
@_kept
def _one_step_until(X: Any) -> Any:
    zeros = T.zeros((1, 1))
    first, rows = scan(lambda v, s: ([s, zeros[0]], until(X.sum() > 1)), X, [2.0, None], n_steps=1)[0]
    return [rows[-1], scan(lambda v, s, w: (w, until(v.sum() > 1)), zeros, [3.0], first[-1])[0]]


# mirrors: what is costly to compute twice is read from the trace, if it is the same and has one length.
def _costly(v: Any, u: Any) -> Any:
    return T.exp(T.sin(T.cos(T.arctan2(v, u)))) + T.exp(T.sin(T.cos(T.hypot(u, v))))


@_kept
def _costly_backwards(a: Any, b: Any) -> Any:
    rows, others = T.arange(5.0) * a, T.arange(5.0) * b

    def step(v: Any, w: Any, u: Any, s: Any) -> Any:
        return T.tanh(s * (_costly(v, u) + _costly(w, u)))

    return scan(step, [rows, rows[::-1], others], [a])[0]


@_kept
def _ragged_backwards(a: Any) -> Any:
    lengths = T.arange(1, 4)

    def step(n: Any, m: Any, s: Any) -> Any:
        v, w = T.arange(n) * a, T.arange(m) * a
        return s + _costly(v, v).sum() * _costly(w, w).sum()

    return scan(step, [lengths, lengths[::-1]], [a])[0]


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
def _small_contractions(A: Any, B: Any) -> Any:
    return map_(lambda v, w: T.tensordot(v, w, axes=1), [_bytes(A), _bytes(B)])[0]


@_kept
def _small_additions(A: Any, p: Any, q: Any, W: Any) -> Any:
    return [
        map_(lambda v, i, W: T.inc_subtensor(T.zeros_like(W)[i], v), [_bytes(A), p], [_bytes(W)])[0],
        map_(lambda i, j, W: T.inc_subtensor(T.zeros_like(W)[i, j], _small(i)), [p, q], [_bytes(W)])[0],
    ]


@_kept
def _sums_beside_products(p: Any, q: Any) -> Any:
    products = map_(lambda i, j: [i * j, i * i, i * j - i * i], [p, q])[0]
    return [products[0].sum(axis=0), products[1].sum(axis=0), products[2]]


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


# runs_all: the few rows of a loop that ends early are those of a map.
@_kept
def _inner_map_until_in_two_steps(x: Any, a: Any) -> Any:
    return scan(
        lambda s, x: scan(lambda v, s: (T.exp(v), until(v > s)), x, None, [s])[0].sum(), None, [a], [x], n_steps=2,
    )[0]  # fmt: skip


# fleeting: a loop with steps of its own in the second of two loops that are taken apart.
@_kept
def _loop_in_two_steps_of_one(x: Any, a: Any) -> Any:
    def inner(r: Any, x: Any) -> Any:
        return T.tanh(r) + scan(lambda v, q, r: T.tanh(q * r + v), x, [r], [r])[0][-1:].sum()

    return scan(lambda s, x: scan(inner, None, [s], [x], n_steps=2)[0][-1], None, [a], [x], n_steps=1)[0]


# traced: the last rows of values that differ in length.
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


# fleeting: two loops that change places in a loop of one step, and are not of one step themselves.
@_kept
def _interchanged_in_one_step(X: Any, x: Any) -> Any:
    def inner(r: Any, v: Any) -> Any:
        return scan(lambda w, s: T.tanh(s * w), r * v, [T.sum(v)])[0]

    return scan(lambda v, X: _each(inner, X, v), x, None, [X], n_steps=1)[0]


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


# safe: what an inner loop looks up at once is out of range at steps whose results are not read.
@_kept
def _rows_before_the_last(x: Any, q: Any) -> Any:
    def outer(i: Any, x: Any, q: Any) -> Any:
        return _each(lambda j, x: x[j], q * i, x)

    return _each(outer, T.arange(x.shape[0])[::-1], x, q)[-1:]


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
def _small_states_beside_sums(p: Any, q: Any, k: Any) -> Any:
    def total(more: int) -> Any:
        return scan(lambda i, j, s: s + _small(i + more) * _small(j), [p, q], [_small(k)])[0][-1]

    both = map_(lambda i, j: _small(i) * _small(j) + _small(i + 1) * _small(j), [p, q])[0]
    return [total(0), total(1), both.sum(axis=0)]


# full_rows: full_like takes vectors, too.
@_kept
def _full_of_a_vector(y: Any) -> Any:
    return _each(lambda v: T.exp(v), T.full_like(y, y))


# traceable: all lengths are equal, which cannot be seen in the program.
@_kept
def _as_long_as_told(x: Any, p: Any) -> Any:
    return map_(lambda v, i: T.exp(T.full((i,), v)), [x, p * 0 + 3])[0][-2:]


# chunked: two operators of the same arguments, of which only one can be computed in chunks.
@_kept
def _products_in_chunks(X: Any, y: Any, x: Any) -> Any:
    return scan(lambda r, v, y: ([T.dot(r, y), r * y], until(v > 1)), [X, x], None, [y])[0]


@_kept
def _powers_in_chunks(p: Any) -> Any:
    return scan(lambda i, j: ([T.power(i, j), i * j], until(i > 0)), [p, 1 - T.arange(p.shape[0])])[0]


# sliced: a sequence that is compared with another one of the same loop.
@_kept
def _masks_in_chunks(X: Any, Y: Any, x: Any) -> Any:
    return scan(lambda r, w, v: (r[r > w].sum() + T.where(r > w, r, w).sum(), until(v > 1)), [X, Y, x])[0]


# first_rows: the bound that a state is raised to is itself a state.
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
