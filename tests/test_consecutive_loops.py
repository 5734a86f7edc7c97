"""Loops that are written in parts are one loop, and raise what the parts raise."""

import itertools
from typing import Any

import numpy as np
import pytest
import random_programs
from corpus.text import built
from hypothesis import given, settings
from hypothesis import strategies as st
from rewritings import IN_PARTS, PROGRAMS, Writer, cost

import scanopt
import scanopt.tensor as T
from scanopt.analysis.consecutive_loops import loops_in_parts
from scanopt.calculus.law import select
from scanopt.egraph.encode import encode
from scanopt.egraph.session import EGraph

_LOOPS = ("power", "cumulative sum", "smoothing", "network", "lstm", "spring", "kalman", "logistic")
_CHECKS = 10.0
"""What it takes to find out whether the first part has a step, in the unit of costs."""


@pytest.mark.share(3)
@pytest.mark.parametrize("program", _LOOPS)
def test_parts_cost_what_the_whole_costs(program: str) -> None:
    plain, way = cost(program, Writer()), [*IN_PARTS][_LOOPS.index(program) % 3]
    assert cost(program, IN_PARTS[way]) <= 1.01 * plain + _CHECKS, way
    assert program in PROGRAMS


def _step(v: Any, s: Any) -> Any:
    return T.tanh(s * v) + v


def _trace(x: Any, start: Any) -> Any:
    return scanopt.scan(_step, x, start)[0]


def _halves(k: int) -> Any:
    def program(x: Any, a: Any) -> Any:
        first = _trace(x[:k], a)
        return T.concatenate([first, _trace(x[k:], first[-1])])

    return program


def _first(x: Any, a: Any) -> Any:
    one = _step(x[0], a)
    return T.concatenate([T.expand_dims(one, 0), _trace(x[1:], one)])


def _last(x: Any, a: Any) -> Any:
    before = _trace(x[:-1], a)
    return T.concatenate([before, T.expand_dims(_step(x[-1], before[-1]), 0)])


def _end(x: Any, a: Any) -> Any:
    return _trace(x[2:], _trace(x[:2], a)[-1])[-1]


def _computed(x: Any, a: Any) -> Any:
    k = x.shape[0] // 2
    first = _trace(x[:k], a)
    return T.concatenate([first, _trace(x[k:], first[-1])])


def _two_taps(x: Any, a: Any) -> Any:
    """A state that is read one and two steps back, which goes on from the last two rows."""

    def over(rows: Any, start: Any) -> Any:
        return scanopt.scan(lambda v, r, s: T.tanh(s - 0.5 * r) + v, rows, [{"initial": start, "taps": [-2, -1]}])[0]

    first = over(x[:3], T.stack([a, 0.5 * a]))
    return T.concatenate([first, over(x[3:], first[-2:])])


def _swapped(x: Any, a: Any) -> Any:
    first = _trace(x[:3], a)
    rest = scanopt.scan(lambda v, s: v + T.tanh(v * s), x[3:], first[-1])[0]
    return T.concatenate([first, rest])


_PARTS = {
    "halves at 3": _halves(3), "halves at -2": _halves(-2), "halves in the middle": _computed, "first": _first,
    "last": _last, "end": _end, "two taps": _two_taps,
    "swapped operands": _swapped,
}  # fmt: skip


def _found(f: Any, *values: Any) -> Any:
    try:
        return f(*values)
    except (IndexError, ValueError) as error:
        return type(error)


@pytest.mark.share(3)
@pytest.mark.parametrize("backend", ["numpy", "auto"])
@pytest.mark.parametrize("name", _PARTS)
def test_one_loop_with_the_values_and_the_errors_of_its_parts(name: str, backend: str) -> None:
    x, a = T.dvector("x"), T.dscalar("a")
    f = scanopt.function([x, a], _PARTS[name](x, a), backend=backend)
    assert len(list(f.program.loops())) == 1
    for n in range(7):
        values = np.linspace(0.1, 0.9, n), 0.5
        got, want = _found(f, *values), _found(f.unoptimized, *values)
        assert got is want or np.array_equal(got, want), n


@settings(max_examples=4, deadline=None)
@given(st.integers(-4, 6), st.integers(0, 6), st.sampled_from(["float64", "float32", "int64"]), st.booleans())
def test_random_loops_in_halves(k: int, n: int, dtype: str, inner: bool) -> None:
    X, h = T.tensor(dtype, (None, 3), "X"), T.tensor(dtype, (None,), "h")

    def step(v: Any, s: Any, r: Any) -> Any:
        u = T.maximum(s, v) + r
        return [T.cast(u - v, dtype), T.cast(s * v if inner else s, dtype), u.sum()]

    first = scanopt.scan(step, X[:k], [h, h, None])[0]
    rest = scanopt.scan(step, X[k:], [first[0][-1], first[1][-1], None])[0]
    f = scanopt.function([X, h], [T.concatenate([p, q]) for p, q in zip(first, rest, strict=True)], fp="exact")
    rng = np.random.default_rng(n)
    values = rng.integers(-3, 4, (n, 3)).astype(dtype), rng.integers(-3, 4, 3).astype(dtype)
    got, want = _found(f, *values), _found(f.unoptimized, *values)
    assert got is want or all(np.array_equal(g, w) for g, w in zip(got, want, strict=True))


def _of_several(part: str, last: bool) -> Any:
    """A loop over several sequences, each as long as it is, in two parts."""

    def over(rows: Any, start: Any) -> Any:
        return scanopt.scan(lambda *a: T.tanh(a[-1] * a[0]) + sum(a[1:-1]), rows, start)[0]

    def program(a: Any, *seqs: Any) -> Any:
        if part == "first":
            one = T.tanh(a * seqs[0][0]) + sum(x[0] for x in seqs[1:])
            parts = T.expand_dims(one, 0), over([x[1:] for x in seqs], one)
        else:
            first = over([x[:2] for x in seqs], a)
            parts = first, over([x[2:] for x in seqs], first[-1])
        return T.concatenate(parts)[-1] if last else T.concatenate(parts)

    return program


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("part", ["first", "two"])
@pytest.mark.parametrize("count", [2, 3])
def test_several_sequences_of_any_lengths_in_parts_are_those_of_one_loop(count: int, part: str, last: bool) -> None:
    a, seqs = T.dscalar("a"), [T.dvector(f"x{i}") for i in range(count)]
    f = scanopt.function([a, *seqs], _of_several(part, last)(a, *seqs), fp="exact")
    assert len(list(f.program.loops())) == 1
    for lengths in itertools.product(range(5), repeat=count):
        values = 0.5, *(np.linspace(0.1 + i, 0.9, n) for i, n in enumerate(lengths))
        got, want = _found(f, *values), _found(f.unoptimized, *values)
        assert got is want or np.array_equal(got, want), lengths


def test_sequences_cut_at_different_rows_stay_in_parts() -> None:
    a, x, y = T.dscalar("a"), T.dvector("x"), T.dvector("y")

    def over(*rows: Any) -> Any:
        return scanopt.scan(lambda u, v, s: T.tanh(s * u) + v, rows[:2], rows[2])[0]

    first = over(x[:2], y[:3], a)
    f = scanopt.function([a, x, y], T.concatenate([first, over(x[2:], y[3:], first[-1])]), fp="exact")
    assert len(list(f.program.loops())) == 2
    last = T.tanh(first[-1] * x[-1]) + y[-1]  # of different lengths: not the rows after those that the loop reads
    g = scanopt.function([a, x, y], T.concatenate([over(x[:-1], y[:-1], a), T.expand_dims(last, 0)]), fp="exact")
    assert len(list(g.program.loops())) > 0
    for m, n in itertools.product(range(6), repeat=2):
        values = 0.5, np.linspace(0.1, 0.9, m), np.linspace(0.3, 0.7, n)
        for made in (f, g):
            got, want = _found(made, *values), _found(made.unoptimized, *values)
            assert got is want or np.array_equal(got, want), (m, n)


def test_first_step_of_another_shape_stays_outside() -> None:
    """x[0] + h is of the shape of x[0] though h has one element: the whole loop would not do that."""
    X, h = T.dmatrix("X"), T.dvector("h")
    step = lambda v, s: T.tanh(s + v)  # noqa: E731
    one = step(X[0], h)
    f = scanopt.function([X, h], T.concatenate([T.expand_dims(one, 0), scanopt.scan(step, X[1:], one)[0]]))
    values = np.ones((4, 3)), np.array([0.5])
    np.testing.assert_allclose(f(*values), f.unoptimized(*values))


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_first_step_of_another_dtype_stays_outside(dtype: str) -> None:
    """The first step makes float64 of a number that a loop, whose states are of one dtype, could not start from."""
    x, a = T.dvector("x"), T.scalar("a", dtype)
    f = scanopt.function([x, a], _first(x, a))
    values = np.linspace(0.1, 0.9, 4), np.ones((), dtype)
    np.testing.assert_array_equal(f(*values), f.unoptimized(*values))


def test_chunks_of_checkpoints_stay_apart() -> None:
    """Loops that keep few rows are no part of longer ones, which would keep all."""
    x, a = T.dvector("x"), T.dscalar("a")

    def over(rows: Any, start: Any) -> Any:
        return scanopt.scan_checkpoints(_step, rows, start, save_every_N=4)[0]

    first = over(x[:40], a)
    f = scanopt.function([x, a], over(x[40:], first[-1])[-1])
    values = np.linspace(0.1, 0.9, 80), 0.5
    np.testing.assert_allclose(f(*values), f.unoptimized(*values))


@pytest.mark.parametrize("seed", [102, 124, 133])
def test_what_is_joined_is_no_part_of_longer_loops(seed: int) -> None:
    """In these programs laws made ever longer loops while they joined what they had made themselves."""
    made = built(random_programs.generate(seed))
    engine = EGraph(encode([*made.values, *made.shared], made.outputs), select("reassoc"))
    try:
        assert engine.saturate().stopped_by == ""
        assert engine.size() < 300
    finally:
        engine.close()


def test_loops_that_do_not_go_on() -> None:
    """Loops of parts of different arrays, or of other states, are not joined."""
    x, y, a = T.dvector("x"), T.dvector("y"), T.dscalar("a")
    first = _trace(x[:3], a)
    other = T.concatenate([first, _trace(y[3:], first[-1])])
    shifted = T.concatenate([first, _trace(x[2:], first[-1])])
    before = T.concatenate([first, _trace(x[3:], first[0])])
    f = scanopt.function([x, y, a], [other, shifted, before])
    values = np.linspace(0.1, 0.9, 6), np.linspace(0.9, 0.1, 6), 0.5
    for got, want in zip(f(*values), f.unoptimized(*values), strict=True):
        np.testing.assert_array_equal(got, want)


def test_parts_of_deep_steps_stay_apart() -> None:
    """Matching ends at some depth."""
    x, a = T.dvector("x"), T.dscalar("a")

    def over(rows: Any, start: Any) -> Any:
        def step(v: Any, s: Any) -> Any:
            for _ in range(400):
                s = T.tanh(s + v)
            return s

        return scanopt.scan(step, rows, start)[0]

    first = over(x[:2], a)
    f = T.concatenate([first, over(x[2:], first[-1])])
    assert [*loops_in_parts(encode([x, a], [f]))] == []
