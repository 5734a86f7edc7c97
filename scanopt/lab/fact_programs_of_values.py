"""Programs kept for facts about shapes, values and single loops: see `fact_programs`."""

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
"""All programs kept for facts, by name."""


def _kept(program: Program) -> Program:
    FACT_PROGRAMS[program.__name__.strip("_").replace("_", " ")] = program
    return program


def _each(step: Callable[..., Any], rows: Any, *more: Any) -> Any:
    """The trace of a map."""
    return map_(step, rows, list(more))[0]


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


# uniform: the later arguments of full give the shape; they are held, but not by all loops.
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


# regular: operators whose results have lengths that depend on values.
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


# raises_alike: a loop that ends early does not reach the index that is out of range.
@_kept
def _index_after_the_end(x: Any, p: Any) -> Any:
    return scan(lambda i, j, v: (T.exp(v[j]), until(i > 0)), [p, T.arange(p.shape[0]) * 2], None, [x])[0]


# regular, uniform: the length of a range depends on its first argument, too.
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


# uniform: the innermost of three loops ends where the outermost one decides.
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
def _hidden_part_of_elements(X: Any, a: Any) -> Any:
    return _each(lambda v: T.ifelse(T.gt(v[:1].sum(), 1e9), T.exp(v)[100], T.exp(v[:1]).sum()), X)


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
