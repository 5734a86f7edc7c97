"""Loops in loops, loops of loops, and steps of every form: interpreted and optimized, against plain Python."""

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from scanopt import foldl, function, ifelse, interpret, loop, reduce, scan, shared, until, while_loop
from scanopt import map as scan_map
from scanopt import tensor as T
from scanopt.array.variable import Variable

RNG = np.random.default_rng(7)
X = RNG.normal(size=(4, 3))
W = RNG.normal(size=(3, 3)) / 2


def agree(inputs: list[Variable], outputs: Any, values: list[Any], expected: Any) -> None:
    """The interpreter gives what plain Python does, and so does the optimized program."""
    outputs = outputs if isinstance(outputs, list) else [outputs]
    expected = expected if isinstance(expected, tuple) else (expected,)
    plain = interpret(outputs, dict(zip(inputs, values, strict=True)))
    optimized = function(inputs, outputs, on_unused_input="ignore")(*values)
    for results in (plain, optimized):
        for found, wanted in zip(results, expected, strict=True):
            assert found.shape == np.shape(wanted)
            np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12)


# ---- scans in scans ----


def test_three_deep() -> None:
    """Each level has a state, and the innermost reads those of all levels and the entries of all sequences."""
    x, w = T.matrix("x", "float64"), T.vector("w", "float64")

    def outer(row: Any, a: Any) -> Any:
        def middle(v: Any, b: Any) -> Any:
            def inner(u: Any, c: Any) -> Any:
                return 0.5 * c + u * v + a - 0.1 * b

            return b + scan(inner, w, outputs_info=b)[0][-1]

        return scan(middle, row, outputs_info=a)[0][-1] / 10

    out, _ = scan(outer, x, outputs_info=1.0)
    wv = np.array([0.3, -0.2])
    expected, a = [], 1.0
    for row in X:
        b = a
        for v in row:
            c = b
            for u in wv:
                c = 0.5 * c + u * v + a - 0.1 * b
            b = b + c
        a = b / 10
        expected.append(a)
    agree([x, w], out, [X, wv], expected)


def test_length_of_the_inner_loop_depends_on_the_step() -> None:
    x, ns = T.vector("x", "float64"), T.lvector("ns")
    out, _ = scan(lambda n, v: foldl(lambda i, s: s + i * v, T.arange(n), 1.0)[0], [ns + 1, x])
    triangle, _ = scan(lambda n: scan(lambda s: 2 * s, outputs_info=1.0, n_steps=n)[0].sum(), ns)
    values = [np.array([1.0, -2.0, 0.5]), [3, 0, 2]]
    sums = [1.0 + v * sum(range(n + 1)) for v, n in zip(*values, strict=True)]
    agree([x, ns], [out, triangle], values, (sums, [14.0, 0.0, 6.0]))


def test_inner_length_from_an_outer_state() -> None:
    """n doubles; each step adds up a power series of n terms."""
    q = T.scalar("q", "float64")

    def step(n: Any) -> Any:
        terms, _ = scan(lambda p: p * q, outputs_info=1.0, n_steps=n)
        return 2 * n, terms[-1]

    (ns, powers), _ = scan(step, outputs_info=[np.int64(1), None], n_steps=4)
    agree([q], [ns, powers], [0.9], ([2, 4, 8, 16], [0.9**n for n in (1, 2, 4, 8)]))


def test_inner_loops_over_outer_sequences_states_and_taps() -> None:
    x, w = T.matrix("x", "float64"), T.matrix("w", "float64")

    def step(before: Any, now: Any, h: Any) -> Any:
        over_now, _ = scan(lambda v, s: s + v, now, outputs_info=0.0)
        over_state, _ = scan(lambda v, u: v * u, [h, before])
        return T.tanh(over_now + over_state + now @ w)

    out, _ = scan(step, dict(input=x, taps=[-1, 0]), outputs_info=T.ones_like(x[0]))
    h, expected = np.ones(3), []
    for before, now in itertools.pairwise(X):
        h = np.tanh(np.cumsum(now) + h * before + now @ W)
        expected.append(h)
    agree([x, w], out, [X, W], expected)


def test_inner_loop_with_taps_on_an_outer_trace() -> None:
    x = T.vector("x", "float64")

    def step(a: Any) -> Any:
        fib, _ = scan(lambda p, q: p + a * q, outputs_info=dict(initial=np.ones(2), taps=[-1, -2]), n_steps=4)
        return fib

    out, _ = scan(step, x)
    expected = []
    for a in (0.5, 2.0):
        past = [1.0, 1.0]
        for _ in range(4):
            past.append(past[-1] + a * past[-2])
        expected.append(past[2:])
    agree([x], out, [np.array([0.5, 2.0])], expected)


def test_until_inside_a_loop() -> None:
    """Steps of Collatz until 1, per entry."""
    ns = T.lvector("ns")

    def length(n: Any) -> Any:
        def step(k: Any, count: Any) -> Any:
            new = T.where(T.eq(k % 2, 0), k // 2, 3 * k + 1)
            return [new, count + 1], until(new <= 1)

        return scan(step, outputs_info=[n, np.int64(0)], n_steps=200)[0][1][-1]

    out, _ = scan(length, ns)

    def collatz(n: int) -> int:
        count = 0
        while True:
            n, count = n // 2 if n % 2 == 0 else 3 * n + 1, count + 1
            if n <= 1:
                return count

    agree([ns], out, [[6, 7, 27]], [collatz(n) for n in (6, 7, 27)])


def test_loop_inside_a_loop_with_until() -> None:
    x = T.matrix("x", "float64")

    def step(row: Any, s: Any) -> Any:
        total = s + foldl(lambda v, t: t + v, row, 0.0)[0]
        return total, until(total > 20)

    out, _ = scan(step, x, outputs_info=0.0)
    agree([x], out, [np.arange(12.0).reshape(6, 2)], [1.0, 6.0, 15.0, 28.0])


# ---- shapes that differ from step to step ----


RAGGED: dict[str, Callable[[Any, Any], Any]] = {
    "a range": lambda n, x: T.arange(n).sum(),
    "a slice": lambda n, x: x[:n].sum(),
    "an exponential of a slice": lambda n, x: T.exp(x[:n]).sum(),
    "a mask": lambda n, x: x[x > n].sum(),
    "ones": lambda n, x: T.ones((n,), dtype="float64").sum(),
    "joined": lambda n, x: T.concatenate([x[:n], x])[n],
    "a product": lambda n, x: T.dot(x[:n], x[:n]),
    "a loop": lambda n, x: scan(lambda s: 2 * s, outputs_info=1.0, n_steps=n)[0].sum(),
    "a loop over a slice": lambda n, x: T.exp(scan(lambda v, s: s + v, x[:n], outputs_info=0.0)[0]).sum(),
    "a loop with until": lambda n, x: scan(lambda s: (2 * s, until(s > n)), outputs_info=1, n_steps=9)[0].sum(),
    "a start and a trace": lambda n, x: T.concatenate(
        [T.ones((1,), dtype="int64"), scan(lambda s: (2 * s, until(s > n)), outputs_info=1, n_steps=n)[0]]
    )[-1],
}


@pytest.mark.parametrize("name", list(RAGGED))
def test_shapes_inside_a_step_may_differ(name: str) -> None:
    x, ns = T.vector("x", "float64"), T.lvector("ns")
    out, _ = scan(lambda n: RAGGED[name](n, x), ns)
    values = [np.array([0.5, -1.0, 2.5, 4.0]), [3, 1, 2]]
    expected = [interpret(RAGGED[name](T.constant(np.int64(n)), x), {x: values[0]}) for n in values[1]]
    agree([x, ns], out, values, expected)


# ---- a scan as an argument of another ----


def test_scan_as_sequence_initial_state_and_non_sequence() -> None:
    x = T.matrix("x", "float64")
    sums, _ = scan(lambda row, s: s + row, x, outputs_info=T.zeros_like(x[0]))
    total, _ = reduce(lambda row, s: s * row + 1, x, outputs_info=T.zeros_like(x[0]))
    scale, _ = scan_map(lambda v: v.sum(), x)
    out, _ = scan(lambda s, h, k: T.tanh(h + s) * k[0], sums, outputs_info=total, non_sequences=scale)
    h: Any = np.zeros(3)
    for row in X:
        h = h * row + 1
    expected = []
    for s in np.cumsum(X, axis=0):
        h = np.tanh(h + s) * X[0].sum()
        expected.append(h)
    agree([x], out, [X], expected)


def test_trace_with_its_own_start_as_taps() -> None:
    """The last rows of one loop begin the next."""
    x0 = T.vector("x0", "float64")
    first, _ = scan(lambda p, q: p + q, outputs_info=dict(initial=x0, taps=[-1, -2]), n_steps=3)
    second, _ = scan(lambda p, q: p - q, outputs_info=dict(initial=first[-2:], taps=[-1, -2]), n_steps=3)
    agree([x0], [first, second], [[1.0, 1.0]], ([2.0, 3.0, 5.0], [2.0, -3.0, -5.0]))


def test_last_value_of_a_loop_as_length_of_another() -> None:
    n = T.lscalar("n")
    count, _ = scan(lambda k: k + 2, outputs_info=np.int64(1), n_steps=n)
    out, _ = scan(lambda s: 3 * s, outputs_info=1.0, n_steps=count[-1])
    agree([n], out, [2], [3.0**t for t in range(1, 6)])


def test_layers_share_their_input() -> None:
    x, w = T.matrix("x", "float64"), T.matrix("w", "float64")
    h = x
    for _ in range(3):
        h, _ = scan(lambda v, s, m: T.tanh(v @ m + s), h, outputs_info=T.zeros_like(x[0]), non_sequences=w)
    expected = X
    for _ in range(3):
        s, rows = np.zeros(3), []
        for v in expected:
            s = np.tanh(v @ W + s)
            rows.append(s)
        expected = np.array(rows)
    agree([x, w], h, [X, W], expected)


# ---- steps of every form ----


class Model:
    def __init__(self, rate: float) -> None:
        self.rate = shared(rate, "rate")

    def step(self, v: Any, h: Any) -> Any:
        return self.rate * h + v

    def __call__(self, v: Any, h: Any) -> Any:
        return self.step(v, h)

    @classmethod
    def of_class(cls, v: Any, h: Any) -> Any:
        return 0.5 * h + v

    @staticmethod
    def of_none(v: Any, h: Any) -> Any:
        return 0.5 * h + v


def _with_defaults(v: Any, h: Any, rate: float = 0.5, *, shift: float = 0.0) -> Any:
    return rate * h + v + shift


def _generated(v: Any, h: Any) -> Any:
    return list(rate * h + v for rate in [0.5])  # noqa: C400


MODEL = Model(0.5)
STEPS: list[Callable[..., Any]] = [
    MODEL.step,
    MODEL,
    Model.of_class,
    Model.of_none,
    _with_defaults,
    functools.partial(_with_defaults, rate=0.5),
    functools.partial(lambda rate, v, h: rate * h + v, 0.5),
    lambda *args: 0.5 * args[1] + args[0],
    _generated,
    functools.lru_cache(lambda v, h: (0.5 * h + v,)),
]


@pytest.mark.share(2)
@pytest.mark.parametrize("step", STEPS)
def test_steps_of_every_form(step: Callable[..., Any]) -> None:
    x = T.vector("x", "float64")
    out, _ = scan(step, x, outputs_info=1.0)
    h, expected = 1.0, []
    for v in X[:, 0]:
        h = 0.5 * h + v
        expected.append(h)
    agree([x], out, [X[:, 0]], expected)


def test_scan_of_a_list_of_steps() -> None:
    """Python loops build graphs: a list of rates, a loop for each."""
    x = T.vector("x", "float64")
    rates = [0.5, 0.25, -1.0]
    outs = [scan(lambda v, h, rate=rate: rate * h + v, x, outputs_info=0.0)[0] for rate in rates]
    joint, _ = scan(lambda v, *hs: [r * h + v for r, h in zip(rates, hs, strict=True)], x, [0.0] * 3)
    expected = []
    for rate in rates:
        h, trace = 0.0, []
        for v in X[0]:
            h = rate * h + v
            trace.append(h)
        expected.append(trace)
    agree([x], [*outs, *joint], [X[0]], (*expected, *expected))


# ---- outputs of every kind ----


def test_outputs_that_are_inputs_duplicates_constants_and_unused() -> None:
    x, y, k = T.vector("x", "float64"), T.vector("y", "float64"), T.scalar("k", "float64")

    def step(v: Any, _: Any, h: Any, p: Any, held: Any) -> Any:
        new = h + v
        return [v, new, new, h, held, 3.0, np.arange(2), p, new * 2, k]

    info = [None, 1.0, None, None, None, None, None, dict(initial=np.float64(7.0)), None, None]
    outs, _ = scan(step, [x, y], info, non_sequences=[k])
    values = [X[:, 0], X[:, 1], 1.5]
    v = X[:, 0]
    sums = 1.0 + np.cumsum(v)
    before = np.array([1.0, *sums[:-1]])
    expected = (
        v, sums, sums, before, np.full(4, 1.5), np.full(4, 3.0), np.tile([0, 1], (4, 1)), np.full(4, 7.0), 2 * sums,
        np.full(4, 1.5),
    )  # fmt: skip
    agree([x, y, k], list(outs), values, expected)
    agree([x, y, k], outs[8], values, 2 * sums)


def test_states_that_ignore_themselves_or_each_other() -> None:
    x = T.vector("x", "float64")

    def step(v: Any, a: Any, b: Any, c: Any) -> Any:
        return [b, a, c]

    (a, b, c), _ = scan(step, x, [1.0, 2.0, 3.0])
    delayed, _ = scan(lambda v, p: [v, p], x, [0.0, None])
    agree([x], [a, b, c], [X[:, 0]], ([2.0, 1.0, 2.0, 1.0], [1.0, 2.0, 1.0, 2.0], [3.0] * 4))
    agree([x], delayed, [X[:, 0]], (X[:, 0], [0.0, *X[:-1, 0]]))


def test_one_output_used_many_times() -> None:
    x = T.vector("x", "float64")
    out, _ = scan(lambda v, s: s + v, x, outputs_info=0.0)
    sums = np.cumsum(X[:, 0])
    outs = [out, out, out[-1], out[0], out[1:3], out[::-1], out.sum(), out.shape[0]]
    agree([x], outs, [X[:, 0]], (sums, sums, sums[-1], sums[0], sums[1:3], sums[::-1], sums.sum(), 4))


def test_same_inner_loop_in_two_steps() -> None:
    """One step function used in two loops, and one result of a loop inside and outside another."""
    x = T.vector("x", "float64")
    squares, _ = scan_map(lambda v: v * v, x)
    out, _ = scan(lambda v: v + squares.sum(), x)
    agree([x], [out, squares], [X[:, 0]], (X[:, 0] + (X[:, 0] ** 2).sum(), X[:, 0] ** 2))


def test_two_loops_in_a_row_inside_the_update_of_a_state() -> None:
    """The trace of the state read is known early; its next value needs two phases of the merged inner loop."""

    def twice(x: Any, w: Any) -> Any:
        return scan(lambda s, w: T.tanh(s) + w, None, x, w, n_steps=2)[0][-1]

    s, w = T.dscalar("s"), T.dscalar("w")
    outer, _ = scan(lambda s, w: [twice(s + twice(w, w), w), s], None, [s, None], [w], n_steps=3)
    f = function([s, w], outer[1])
    assert f(1.0, 2.0).tolist() == interpret(outer[1], {s: 1.0, w: 2.0}).tolist()


def test_a_row_of_a_loop_with_a_loop_inside_where_both_end_there() -> None:
    """What is cut to the steps it has anyway is the loop itself, and so are the loops in it."""

    def step(s: Variable, x: Any) -> Any:
        count = T.constant(0, dtype="int64")
        doubled = while_loop(lambda c: c[1] < 2, lambda c: (c[0] * 2, c[1] + 1), (s + x[0], count), 5)
        return s + x[0], doubled[0]

    v, z = T.dvector("v"), T.dvector("z")
    last, rows = loop(step, v, (z, T.arange(4)))
    f = function([v, z], [last, rows, rows[3]])
    found = [x.tolist() for x in f(np.ones(2), np.ones(4))]
    assert found == [[5.0, 5.0], [[n, n] for n in (8.0, 12.0, 16.0, 20.0)], [20.0, 20.0]]


def test_rows_of_inner_loops_as_long_as_the_outer_step_says() -> None:
    """All steps of an inner loop make arrays of one shape, and those of the next outer step arrays of another."""
    x, p = T.dvector("x"), T.lvector("p")

    def step(i: Variable) -> list[Variable]:
        fills, _ = scan_map(lambda v: T.full((i,), v), x)
        return [fills.sum(), T.exp(fills).sum(), T.tanh(fills[-1:]).sum(), T.exp(fills[0]).sum()]

    values, counts = np.array([0.5, -1.0]), np.array([2, 0, 3])
    rows = [[n * v.sum(), n * np.exp(v).sum(), n * np.tanh(v[-1]), n * np.exp(v[0])] for n in counts for v in [values]]
    agree([x, p], list(scan_map(step, p)[0]), [values, counts], tuple(np.transpose(rows)))


def test_two_phases_of_a_loop_or_of_its_first_step() -> None:
    """The backward loop needs two phases of the innermost loop; a copy for the only step around it would do, too."""
    v, a = T.dmatrix("v"), T.dvector("a")

    def middle(_: Any, t: Any, w: Any) -> Any:
        rows, _ = scan(lambda q, r: q * np.array([0.3, 0.7]), v - t, w)
        return rows.sum(axis=0)

    outer, _ = scan(lambda x, s: scan(middle, s[::-1], a, a, n_steps=2)[0][-1], T.arange(1), a, n_steps=1)
    g = T.grad(T.sin(outer[-1]).sum(), v)
    values = {v: np.arange(8.0).reshape(4, 2) / 10, a: np.array([0.2, -0.1])}
    np.testing.assert_allclose(function([v, a], g)(*values.values()), interpret(g, values), rtol=1e-12)


def test_requirements_of_loops_in_a_loop_of_varying_length() -> None:
    """They are checked at every step, however many steps the loop around them takes; nothing needs their values."""
    v = T.dvector("v")

    def outer(k: Variable) -> Variable:
        def middle(j: Variable) -> Variable:
            sums, _ = scan(lambda x, s: s + x, v, np.float64(0), n_steps=j)
            return sums.sum()

        return scan(middle, T.arange(3)[:k])[0].shape[0]

    f = function([v], scan(outer, T.arange(4))[0])
    np.testing.assert_array_equal(f(np.ones(2)), [0, 1, 2, 3])
    with pytest.raises(ValueError, match=r"asks for more than|has 1 row"):
        f(np.ones(1))


def test_a_step_that_closes_over_a_loop_reads_its_trace() -> None:
    """It costs what it costs with the trace as a non-sequence; what a step changes, or a side needs, stays inside."""
    x, w = T.dmatrix("x"), T.dvector("w")
    rows, _ = scan(lambda v, s: T.tanh(s * v), x, w)
    one = np.float64(1)
    closed, _ = scan(lambda i, s: s * T.tanh(rows[i].sum() + s), T.arange(x.shape[0])[::-1], one)
    given, _ = scan(lambda i, s, r: s * T.tanh(r[i].sum() + s), T.arange(x.shape[0])[::-1], one, [rows])
    first, second = (function([x, w], T.grad(out.sum(), w)) for out in (closed, given))
    assert first.report.cost == second.report.cost
    np.testing.assert_array_equal(first(X, W[0]), second(X, W[0]))
    level = shared(np.array([1.0, 2.0]), name="level")
    sums, _ = scan(lambda v, s: s + v, level, np.float64(0))
    traces, updates = scan(lambda: (sums[-1], {level: level * 2}), n_steps=3)
    np.testing.assert_array_equal(function([], traces, updates=updates)(), [3.0, 6.0, 12.0])
    fails, _ = scan(lambda v, s: s + x[99].sum(), x, np.float64(0))
    side, _ = scan(lambda v: ifelse(v.sum() > 1e9, fails[-1], v.sum()), x)
    np.testing.assert_allclose(function([x], side)(X), X.sum(axis=1))
