"""A loop that takes no step runs nothing of its step, and its results have the same shapes on all three ways.

The rule is that of docs/loops.md: the interpreter, the program as written and the optimized one must keep to it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T
from scanopt import ifelse, lax

X, w, k, p, n = T.dmatrix("X"), T.dvector("w"), T.lscalar("k"), T.lvector("p"), T.lscalar("n")
INPUTS = [X, w, k, p, n]
HELD = [w, k, p]
Step = Callable[[Any, Any, Any, Any], Any]

STEPS: dict[str, Step] = {
    # of a row v of 4 numbers, a held vector w of 4, a held number k, held numbers p = [k, 1]
    "index": lambda v, w, k, p: v[k],
    "held index": lambda v, w, k, p: w[k],
    "constant index": lambda v, w, k, p: v[10] + w[10],
    "take": lambda v, w, k, p: T.take(v, p),
    "vector index": lambda v, w, k, p: v[p] + w[p],
    "set_subtensor": lambda v, w, k, p: T.set_subtensor(v[k], 1.0),
    "inc_subtensor": lambda v, w, k, p: T.inc_subtensor(v[p], 1.0),
    "into held": lambda v, w, k, p: T.inc_subtensor(w[k], v[0]),
    "slice step": lambda v, w, k, p: v[::k],
    "slice bound": lambda v, w, k, p: w[:k],
    "row of none": lambda v, w, k, p: v[4:][-1],
    "last of none": lambda v, w, k, p: v[4:][-1:],
    "reshape": lambda v, w, k, p: v.reshape((k, -1)),
    "reshape to two": lambda v, w, k, p: v.reshape((k, 2)),
    "repeat": lambda v, w, k, p: T.repeat(v, k),
    "broadcast_to": lambda v, w, k, p: T.broadcast_to(v, (k,)),
    "broadcast_to rows": lambda v, w, k, p: T.broadcast_to(v, (k, 4)),
    "full": lambda v, w, k, p: T.full((k,), v[0]),
    "arange": lambda v, w, k, p: T.arange(k) + v[0],
    "arange step": lambda v, w, k, p: T.arange(1, 10, k),
    "eye": lambda v, w, k, p: T.eye(k),
    "integer power": lambda v, w, k, p: T.cast(v, "int64") ** k,
    "solve": lambda v, w, k, p: T.linalg.solve(T.outer(w, w), v),
    "inv": lambda v, w, k, p: T.linalg.inv(T.outer(v, v)),
    "cholesky": lambda v, w, k, p: T.linalg.cholesky(-T.outer(w, w)),
    "a length of the values": lambda v, w, k, p: T.arange(T.cast(v[0], "int64")),
}

SHAPES: dict[int, dict[str, tuple[int, ...]]] = {
    # of one row, for k: those that depend on k, or that nobody would guess
    10: {"reshape": (10, 0), "reshape to two": (2, 2), "repeat": (40,), "broadcast_to": (4,), "full": (10,)},
    -3: {"slice step": (2,), "reshape": (0, 0), "repeat": (0,), "broadcast_to rows": (0, 4), "eye": (0, 0)},
    0: {"slice step": (0,), "reshape": (0, 0), "slice bound": (0,), "arange step": (0,), "full": (0,)},
    3: {"index": (), "vector index": (2,), "slice step": (2,), "reshape": (3, 0), "slice bound": (3,)},
}


def mapped(step: Step) -> Any:
    return scanopt.map(step, X, HELD)[0]


def carried(step: Step) -> Any:
    f = lambda s, w, k, p: (T.tanh(s), step(s, w, k, p))  # noqa: E731
    return scanopt.scan(f, None, [w, None], HELD, n_steps=n)[0][1]


def ended(step: Step) -> Any:
    f = lambda v, w, k, p: (step(v, w, k, p), scanopt.until(v[0] > 5))  # noqa: E731
    return scanopt.scan(f, X, None, HELD)[0]


def chosen(step: Step) -> Any:
    f = lambda v, w, k, p: ifelse(v[0] > 0, step(v, w, k, p).sum() * 1.0, 0.0)  # noqa: E731
    return scanopt.map(f, X, HELD)[0]


def last(step: Step) -> Any:
    return carried(step)[-1:]


def of_inner_steps(step: Step) -> Any:
    inner = lambda v, w, k, p: scanopt.map(lambda u, w, k, p: step(w * u, w, k, p), v, [w, k, p])[0]  # noqa: E731
    return scanopt.map(inner, X, HELD)[0]


def of_inner_states(step: Step) -> Any:
    f = lambda s, w, k, p: (T.tanh(s), step(s, w, k, p))  # noqa: E731
    return scanopt.map(lambda v, w, k, p: scanopt.scan(f, None, [v, None], [w, k, p], n_steps=3)[0][1], X, HELD)[0]


def of_idle_inner_loop(step: Step) -> Any:
    f = lambda s, w, k, p: (T.tanh(s), step(s, w, k, p))  # noqa: E731
    outer = lambda v, w, k, p: scanopt.scan(f, None, [v, None], [w, k, p], n_steps=n)[0][1]  # noqa: E731
    return scanopt.map(outer, T.outer(T.ones_like(p), w), HELD)[0]


def slope(step: Step) -> Any:
    total = scanopt.map(lambda v, w, k, p: (step(v, w, k, p) * 1.0).sum(), X, HELD)[0].sum()
    return scanopt.grad(total, X, disconnected_inputs="ignore")


LOOPS = [mapped, carried, ended, chosen, last, of_inner_steps, of_inner_states, of_idle_inner_loop, slope]


@pytest.mark.share(4)
@pytest.mark.parametrize("loop", LOOPS, ids=lambda f: f.__name__)
def test_nothing_raises_and_shapes_agree(loop: Callable[[Step], Any]) -> None:
    results = [loop(step) for step in STEPS.values()]
    f = scanopt.function(INPUTS, results, on_unused_input="ignore")
    exact = scanopt.function(INPUTS, results, on_unused_input="ignore", fp="exact")
    for number in SHAPES:
        arguments = (np.zeros((0, 4)), np.ones(4), number, np.array([number, 1]), 0)
        types = [[(x.dtype, x.shape) for x in way(*arguments)] for way in (f.unoptimized, f.as_written, f, exact)]
        for name, *found in zip(STEPS, *types, strict=True):
            assert found[1:] == found[:1] * 3, (name, number)


@pytest.mark.parametrize("number", SHAPES)
def test_shapes_of_rows(number: int) -> None:
    f = scanopt.function(INPUTS, [mapped(STEPS[name]) for name in SHAPES[number]], on_unused_input="ignore")
    found = f(np.zeros((0, 4)), np.ones(4), number, np.array([number, 1]), 0)
    assert [x.shape for x in found] == [(0, *shape) for shape in SHAPES[number].values()]


@pytest.mark.parametrize("name", ["index", "held index", "take", "set_subtensor", "reshape", "slice step", "solve"])
def test_a_step_that_runs_raises_on_all_ways(name: str) -> None:
    f = scanopt.function(INPUTS, mapped(STEPS[name]), on_unused_input="ignore")
    number = 0 if name == "slice step" else 10
    errors = set()
    for way in (f.unoptimized, f.as_written, f):
        with pytest.raises((IndexError, ValueError, np.linalg.LinAlgError)) as caught:
            way(np.ones((2, 4)), np.ones(4), number, np.array([number, 1]), 0)
        errors.add(caught.type)
    assert len(errors) == 1


def test_lengths_that_a_carried_number_tells_are_not_known() -> None:
    """What a state or a sequence brings is known to a step only, unless the state is written back as it was."""
    counted = scanopt.scan(lambda i, v: (i + 1, v[:i]), None, [k, None], [w], n_steps=n)[0][1]
    brought = scanopt.map(lambda i, v: v[:i], T.full((n,), k), [w])[0]
    unchanged = scanopt.scan(lambda i, v: (i, v[:i]), None, [k, None], [w], n_steps=n)[0][1]
    for result, length in ((counted, 0), (brought, 0), (unchanged, 3)):
        f = scanopt.function([w, k, n], result)
        for way in (f.unoptimized, f.as_written, f):
            assert way(np.ones(4), 3, 0).shape == (0, length)
            assert way(np.ones(4), 3, 1).shape == (1, 3)


def test_arrays_without_entries_are_known() -> None:
    """The product of no rows is 1, and tells a length, whether laws know it or the step of a loop that does not run."""
    k = T.lscalar("k")
    rows, _ = scanopt.scan(lambda v, s: s ^ v, T.arange(0), [k])
    lengths, _ = scanopt.map(lambda v: T.arange(T.prod(rows, axis=0)), rows)
    sums, _ = scanopt.map(lambda v: T.zeros((rows.sum() + 2,)), rows)
    for fp in ("exact", "reassoc"):
        f = scanopt.function([k], [lengths, sums], fp=fp)
        for run in (f, f.as_written, f.unoptimized):
            assert [x.shape for x in run(3)] == [(0, 1), (0, 2)]


def test_a_state_has_the_shape_it_starts_with() -> None:
    grown = scanopt.scan(lambda i, s: T.tanh(s)[:i] * 1.0, p, w)[0]
    f = scanopt.function([w, p], grown)
    for way in (f.unoptimized, f.as_written, f):
        assert way(np.ones(4), np.zeros(0, "int64")).shape == (0, 4)
    other = scanopt.function([w, n], scanopt.scan(lambda s: T.concatenate([s, s]), None, w, n_steps=n)[0])
    for way in (other.unoptimized, other.as_written, other):
        with pytest.raises(ValueError, match="shape"):
            way(np.ones(4), 0)


def test_operators_that_may_raise_leave_loops_and_wait_for_a_row() -> None:
    f = scanopt.function([X, k], scanopt.map(lambda v, k: v[k], X, [k])[0])
    assert "loop" not in str(f.program)
    assert f(np.arange(8.0).reshape(2, 4), 3).tolist() == [3, 7]
    known = scanopt.function([X, k], scanopt.map(lambda v, k: v[k], X[:3] * T.ones((3, 1)), [k])[0])
    assert "loop" not in str(known.program)


def test_operators_that_laws_made_wait_for_a_row_too() -> None:
    """The parts of w that an inner loop reads one by one are read together, once, before the outer loop."""

    def step(s: Any, w: Any) -> Any:
        weighed = lambda i, total: total + w[i] * T.tanh(s + T.cast(i, "float64"))  # noqa: E731
        return T.tanh(lax.fori_loop(0, 3, weighed, T.constant(np.array(0.0))))

    f = scanopt.function([w, n], scanopt.scan(step, None, T.constant(np.array(0.5)), [w], n_steps=n)[0])
    before, inside = str(f.program).split("loop loop0")
    assert "getitem" in before
    assert "w[" not in inside
    assert f(np.arange(3.0), 4).shape == (4,)
    assert f(np.zeros(0), 0).shape == (0,)
    with pytest.raises(IndexError):
        f(np.zeros(2), 1)


@pytest.mark.parametrize(("stop", "rows"), [(False, 4), (True, 1), (None, 0)])
def test_rows_of_an_inner_loop_that_ends_early(stop: bool | None, rows: int) -> None:
    """They are known where its condition is: else only the run would tell."""

    def ends(e: Any) -> Any:
        return e > 0 if stop is None else T.zeros((), dtype="float32") < (1 if stop else 0)

    inner = lambda v: scanopt.map(lambda e: (e * 2, scanopt.until(ends(e))), v)[0]  # noqa: E731
    f = scanopt.function([X], scanopt.map(inner, X)[0])
    for way in (f.unoptimized, f.as_written, f):
        assert way(np.ones((0, 4))).shape == (0, rows)


def test_rows_of_an_inner_loop_that_equals_one_outside() -> None:
    """docs/loops.md, the last exception: laws find that the inner loop is the one outside, whose steps are counted."""
    count = scanopt.shared(np.array(1))
    step = lambda v, c, i: ([c, i + 1], scanopt.until(v.sum() > 0))  # noqa: E731
    rows = scanopt.scan(step, X, [T.zeros_like(count), 0], n_steps=6)[0][1]
    doubled, updates = scanopt.scan(lambda a, b: ({count: count + 1}, rows * 2), dict(input=rows, taps=[-2, 0]))
    f = scanopt.function([X], doubled, updates)
    ways = (f.unoptimized, f.as_written, f)
    assert [way(np.ones((6, 4))).shape for way in ways] == [(0, 0), (0, 0), (0, 1)]
    for way in ways:
        np.testing.assert_array_equal(way(np.array([[-1.0], [-1], [1], [0], [0], [0]])), [[2, 4, 6]])


OUT_OF_RANGE = {
    "a row of a constant": lambda x: scanopt.scan(lambda v, W: v * W[10], x, None, T.constant(np.ones((3, 2))))[0],
    "a row of an array of known lengths": lambda x: scanopt.scan(lambda v: v * T.zeros((3, 2))[10], x)[0],
    "in a loop in the loop": lambda x: scanopt.scan(
        lambda v: scanopt.scan(lambda: v * T.constant(np.ones(3))[10], n_steps=2)[0], x
    )[0],
}


@pytest.mark.parametrize("build", OUT_OF_RANGE.values(), ids=OUT_OF_RANGE)
def test_what_never_runs_may_be_out_of_range(build: Any) -> None:
    """Of a step that may never run only shapes are looked at, where it is built, differentiated and cloned too."""
    x = T.dvector("x")
    out = build(x)
    results = [out, T.grad(T.sum(out), x), T.Rop(out, x, T.ones_like(x)), scanopt.clone(out, {x: 2 * x})]
    f = scanopt.function([x], results)
    for run in (f, f.unoptimized):
        got = run(np.zeros(0))
        assert [len(v) for v in got] == [0, 0, 0, 0]
        assert got[0].shape == got[2].shape == got[3].shape
        with pytest.raises((IndexError, ValueError)):
            run(np.ones(2))


def test_a_step_that_is_sure_to_run_is_refused_where_it_is_built() -> None:
    with pytest.raises(IndexError, match="index 10 is out of bounds"):
        scanopt.scan(lambda W: W[10], non_sequences=T.constant(np.ones((3, 2))), n_steps=2)
    with pytest.raises(IndexError, match="index 10 is out of bounds"):
        scanopt.scan(lambda v: v * T.constant(np.ones(3))[10], T.constant(np.ones(4)))


def test_an_input_that_only_gives_a_known_length_is_used() -> None:
    q = T.tensor("float64", (3,), name="q")
    doubled, _ = scanopt.scan(lambda i: 2 * i, sequences=T.arange((q[1:] * 2).shape[0]))
    np.testing.assert_array_equal(scanopt.function([q], doubled)([1, 2, 3]), [0, 2])
    assert scanopt.function([q], T.size(q))([1, 2, 3]) == 3
    with pytest.raises(ValueError, match="do not use 'r'"):
        scanopt.function([q, T.tensor("float64", (3,), name="r")], q)


def test_lengths_that_leave_a_loop_of_no_steps_are_known_in_another() -> None:
    """What an inner loop holds is computed before it, in an outer loop that takes no step either."""
    inner = lambda v: scanopt.scan(lambda v: T.insert(v, 0, 1.0), None, None, [T.tanh(v)], n_steps=n)[0]  # noqa: E731
    f = scanopt.function([X, n], scanopt.map(inner, X)[0])
    for way in (f.unoptimized, f.as_written, f):
        assert way(np.zeros((0, 4)), 0).shape == (0, 0, 5)


def test_what_does_not_run_has_no_value_that_laws_could_name() -> None:
    """The last count of a loop inside, which may raise, stands beside a constant in a loop that takes no step."""
    rows = T.dmatrix("rows")
    counted = lambda: scanopt.scan(lambda row, n: n + 1, sequences=rows, outputs_info=[np.array(0)])[0]  # noqa: E731
    for start in (T.constant(np.int64(3)), T.constant(np.full(7, 3))):
        last = lambda s: counted()[-1] + T.zeros_like(s)  # noqa: E731
        out, _ = scanopt.scan(last, outputs_info=start, n_steps=0)
        f = scanopt.function([rows], out, fp="exact", on_unused_input="ignore")
        assert f(np.ones((2, 2))).shape == f.unoptimized(np.ones((2, 2))).shape == (0, *start.type.shape)


@pytest.mark.parametrize("read", [lambda v, w, k: v[::k], lambda v, w, k: w[::k], lambda v, w, k: v + w[::k].sum()])
@pytest.mark.parametrize("fp", ["exact", "reassoc"])
def test_a_part_with_steps_of_0_is_an_error_only_where_a_step_is_taken(read: Any, fp: str) -> None:
    rows, w, k = T.dmatrix("rows"), T.dvector("w"), T.constant(0)
    found, _ = scanopt.scan(lambda v, w: read(v, w, k), sequences=rows, non_sequences=w)
    f = scanopt.function([rows, w], found, fp=fp, on_unused_input="ignore")
    none = np.zeros((0, 3))
    np.testing.assert_array_equal(f(none, np.ones(3)), f.unoptimized(none, np.ones(3)))
    with pytest.raises(ValueError, match="slice step cannot be zero"):
        f(np.zeros((2, 3)), np.ones(3))


@pytest.mark.parametrize("fp", ["exact", "reassoc"])
def test_a_gradient_adds_up_rows_whose_shape_only_a_step_would_tell(fp: str) -> None:
    v, x, n = T.dmatrix("v"), T.dmatrix("x"), T.lscalar("n")

    def step(row: Any, t: Any) -> Any:
        moved = v + row
        return T.tile(ifelse(T.eq(t % 2, 0), moved, moved), 2)

    rows, _ = scanopt.scan(step, [x, T.arange(5)], n_steps=n)
    loss = T.log1p(T.sqr(rows)).sum()
    f = scanopt.function([v, x, n], [loss, *scanopt.grad(loss, [v, x])], fp=fp)
    values = np.arange(10.0).reshape(5, 2) - 4, np.ones((5, 2))
    for steps in (0, 3):
        for found, expected in zip(f(*values, steps), f.unoptimized(*values, steps), strict=True):
            np.testing.assert_allclose(found, expected, rtol=0 if fp == "exact" else 1e-14)
            assert found.shape == expected.shape


@pytest.mark.parametrize("way", [{"mode": "unoptimized"}, {"fp": "exact"}, {"mode": "FAST_COMPILE"}])
def test_a_state_that_nothing_reads_has_rows_of_the_shape_of_its_initial_row(way: Any) -> None:
    (found, _), _ = scanopt.scan(lambda s, r: [T.unique(r), r], outputs_info=[w, w], n_steps=n)
    f = scanopt.function([w, n], [found, T.argsort(found.sum(axis=0))], **way)
    assert [x.shape for x in f(np.ones(1), 0)] == [(0, 1), (1,)]
    assert [x.shape for x in f(np.ones(1), 2)] == [(2, 1), (1,)]
