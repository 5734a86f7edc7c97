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
    return _each(lambda i, x: _each(lambda v, r: T.exp(r * v), x, T.arange(i))[1].sum(), p + 2, T.concatenate([x, [1.0, 2.0]]))


# uniform: full tells the shape by its later arguments, which are held, but not by all loops.
@_kept
def _filled_ragged(x: Any, p: Any) -> Any:
    return _each(lambda i, x: _each(lambda v, i: T.exp(T.full((i,), v)), x, i).sum(), p, x)


@_kept
def _filled_ragged_more(x: Any, p: Any) -> Any:
    return _each(lambda i, x: _each(lambda v, i: T.exp(T.full((2, i), v)), x, i).sum(), p, x)


@_kept
def _filled_ragged_less(x: Any, p: Any) -> Any:
    return _each(lambda i, x: _each(lambda v, i: T.exp(T.full((i, 2), v)), x, i).sum(), p, x)


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
def _traces_until(x: Any, y: Any) -> Any:
    return _each(lambda v, y: T.exp(scan(lambda w, v: (w * v, until(w > v)), y, None, [v])[0]).sum(), x, y)


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
def _ranges(p: Any, x: Any) -> Any:
    return _each(lambda i: T.exp(T.arange(i)).sum(), p)


@_kept
def _slices(p: Any, x: Any) -> Any:
    return _each(lambda i, x: T.exp(x[:i]).sum(), p, x)


@_kept
def _slices_from_both_ends(p: Any, x: Any) -> Any:
    return _each(lambda i, x: T.exp(x[i:5]).sum() + T.exp(x[1:i]).sum(), p, x)


@_kept
def _slices_of_slices(p: Any, x: Any, k: Any) -> Any:
    return _each(lambda i, x, k: T.exp(x[:i][:k]).sum(), p, x, k)


@_kept
def _joined_slices(p: Any, x: Any) -> Any:
    return _each(
        lambda i, x: T.exp(T.concatenate([x, x[:i]])).sum() + T.exp(T.concatenate([x[:i], x])).sum(), p, x
    )


# mirrors: of rows that differ in length there is no trace.
@_kept
def _ragged_backwards(p: Any) -> Any:
    return _each(lambda i, j: T.exp(T.arange(i)).sum() + T.exp(T.arange(j)).sum(), [p, p[::-1]])


# Steps


# runs_all: of a loop in a loop of two steps, each may end early.
@_kept
def _until_in_two_steps(x: Any, a: Any) -> Any:
    return scan(
        lambda s, x: T.exp(scan(lambda v, s: (T.exp(v) * s, until(v > s)), x, None, [s])[0]).sum(),
        None, [a], [x], n_steps=2,
    )[0]  # fmt: skip


# fleeting: what lies in a loop of two steps, in one of a single step, has its own steps.
@_kept
def _nested_in_one_step(x: Any, a: Any) -> Any:
    def inner(r: Any, s: Any, x: Any) -> Any:
        return r * s + _each(lambda v, r: T.exp(v) * r, x, r).sum()

    return scan(lambda s, x: scan(inner, None, [s], [s, x], n_steps=2)[0].sum(), None, [a], [x], n_steps=1)[0]


# some_steps: a loop of no steps raises nothing.
@_kept
def _index_in_no_steps(x: Any, k: Any) -> Any:
    return scan(lambda x, k: x[k + 100], None, None, [x, k], n_steps=0)[0]


# always: the rows of what a branch hides are not computed.
@_kept
def _hidden_index(x: Any, p: Any, m: Any) -> Any:
    return _each(lambda i, c, x: T.ifelse(c, T.exp(x[i + 3]), 0.0), p, m, x) if False else map_(
        lambda i, c, v: T.ifelse(c, T.exp(v[i + 3]), 0.0), [p, m], [x]
    )[0]


# hoistable: an index that is the same at every step is out of range, on a side that is not taken.
@_kept
def _hidden_invariant(x: Any, k: Any, m: Any) -> Any:
    return _each(lambda c, x, k: T.ifelse(c, T.exp(x[k + 100]), 0.0), m[:2] & False, x, k)


@_kept
def _hidden_invariant_in_steps(x: Any, k: Any, m: Any) -> Any:
    return scan(lambda s, x, k: T.ifelse(s > 100, T.exp(x[k + 100]), s + 1), None, [0.0], [x, k], n_steps=5)[0]


# raises_alike: a loop that ends early does not come to the index that is out of range.
@_kept
def _index_after_the_end(x: Any, p: Any) -> Any:
    return scan(lambda i, j, v: (T.exp(v[j]), until(i > 0)), [p, T.arange(p.shape[0]) * 2], None, [x])[0]
