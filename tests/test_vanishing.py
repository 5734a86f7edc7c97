"""Loops that vanish: programs as text after optimization, and random recurrences against the interpreter."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from corpus.compare import equal, near
from random_recurrences import generate

import scanopt
import scanopt.tensor as T
from scanopt.array.random.streams import RandomStreams
from scanopt.array.variable import Variable

pytestmark = pytest.mark.usefixtures("priced_as_array_steps")  # kernels keep many of these loops

x, y, z = T.dvectors("x", "y", "z")
a, b = T.dscalars("a", "b")
X, W = T.dmatrices("X", "W")
n, k = T.lscalars("n", "k")
p = T.lvector("p")
m = T.TensorType("bool", (None,))("m")

LONG = 100_000
VALUES: dict[Variable, Any] = {
    x: np.linspace(-1, 2, LONG), y: np.linspace(0.1, 1, LONG), z: np.linspace(2, 1, LONG), a: 0.7, b: -0.3,
    X: np.linspace(-1, 1, 3000).reshape(1000, 3), W: np.linspace(-1, 1, 9).reshape(3, 3), n: LONG, k: 3,
    p: np.arange(LONG) % 7, m: np.arange(LONG) % 5 == 1,
}  # fmt: skip


def trace(step: Any, sequences: Any = None, start: Any = None, more: Any = None, **options: Any) -> Any:
    """All values of the states of a loop."""
    return scanopt.scan(step, sequences, start, more, **options)[0]


def program(inputs: Sequence[Variable], outputs: Any, **options: Any) -> str:
    """The optimized program for long sequences, checked against the interpreter."""
    values = [np.asarray(VALUES[v], v.dtype) for v in inputs]
    f = scanopt.function(list(inputs), outputs, example=values, **options)
    short = [v[: len(v) // 100] if v.ndim else np.asarray(min(v, 9), v.dtype) for v in values]
    many = isinstance(outputs, list)
    found, wanted = f(*short), scanopt.interpret(outputs, dict(zip(inputs, short, strict=True)))
    for r, e in zip(found if many else [found], wanted if many else [wanted], strict=True):
        np.testing.assert_allclose(r, e, rtol=1e-9, atol=1e-9)
    return str(f.program)


def shows(text: str, expected: str) -> None:
    assert text == textwrap.dedent(expected).strip()
    assert "loop" not in text


def test_running_sum() -> None:
    shows(program([x, a], trace(lambda v, s: v + s, x, a)), """
        inputs  x: float64[?]
                a: float64[]
        v2 = expand_dims(a, axis=0)          float64[1]
        v3 = accumulate(v2, x, ufunc='add')  float64[?]
        return v3
    """)  # fmt: skip


def test_last_of_a_running_sum() -> None:
    shows(program([x, a], trace(lambda v, s: s + T.exp(v), x, a)[-1]), """
        inputs  x: float64[?]
                a: float64[]
        v2 = expand_dims(a, axis=0)     float64[1]
        v3 = exp(x)                     float64[?]
        v4 = fold(v2, v3, ufunc='add')  float64[]
        v5 = x.shape[0]                 int64[]
        v6 = given(v4, v5)              float64[]
        return v6
    """)  # fmt: skip


def test_counter() -> None:
    shows(program([n, a], trace(lambda s: s + 1.5, None, a, n_steps=n)), """
        inputs  n: int64[]
                a: float64[]
        v2 = require(n >= -9223372036854775807, "n_steps ('n') asks for more  ...")  int64[]
        v3 = expand_dims(a, axis=0)           float64[1]
        v4 = absolute(n)                      int64[]
        v5 = repeat_rows(1.5, v4)             float64[?]
        v6 = accumulate(v3, v5, ufunc='add')  float64[?]
        check   v2
        return v6
    """)  # fmt: skip


def test_counter_of_integers_read_at_its_end() -> None:
    shows(program([n, k], trace(lambda s, k: s + k, None, k, k, n_steps=n)[-1]), """
        inputs  n: int64[]
                k: int64[]
        v2 = require(n >= -9223372036854775807, "n_steps ('n') asks for more  ...")  int64[]
        v3 = absolute(n)    int64[]
        v4 = k * v3         int64[]
        v5 = k + v4         int64[]
        v6 = given(v5, v3)  int64[]
        check   v2
        return v6
    """)  # fmt: skip


def test_power_of_the_documents() -> None:
    powers = trace(lambda s, x: s * x, None, T.ones_like(x), x, n_steps=n)
    shows(program([x, n], powers[-1]), """
        inputs  x: float64[?]
                n: int64[]
        v2 = require(n >= -9223372036854775807, "n_steps ('n') asks for more  ...")  int64[]
        v3 = absolute(n)    int64[]
        v4 = float64(v3)    float64[]
        v5 = x ** v4        float64[?]
        v6 = given(v5, v3)  float64[?]
        check   v2
        return v6
    """)  # fmt: skip


def test_polynomial_of_the_documents() -> None:
    terms, _ = scanopt.scan(lambda c, i, a: c * a**i, [x, T.arange(LONG)], None, a)
    text = program([x, a], terms.sum())
    assert "powers(" in text
    assert "loop" not in text
    assert "**" not in text


def test_horner() -> None:
    value = trace(lambda c, s, a: s * a + c, x, T.constant(0.0, dtype="float64"), a)[-1]
    text = program([x, a], value)
    assert "polynomial(" in text
    assert "loop" not in text
    text = program([x, a], value, fp="exact")
    assert "lfilter(" in text
    assert "loop" not in text


def test_filter_of_first_order() -> None:
    shows(program([x, a, b], trace(lambda v, s, b: v - b * s, x, a, b), fp="exact"), """
        inputs  x: float64[?]
                a: float64[]
                b: float64[]
        v3 = expand_dims(a, axis=0)  float64[1]
        v4 = -b                      float64[]
        v5 = lfilter(v3, x, v4)      float64[?]
        return v5
    """)  # fmt: skip


ROWS: dict[str, tuple[list[Variable], Any, str]] = {
    "cumulative product": ([x, a], trace(lambda v, s: s * v, x, a), "ufunc='multiply'"),
    "cumulative maximum": ([x, a], trace(lambda v, s: T.maximum(v, s), x, a), "ufunc='maximum'"),
    "cumulative minimum": ([p, k], trace(lambda v, s: T.minimum(v, s), p, k), "ufunc='minimum'"),
    "cumulative and": ([m], trace(lambda v, s: s & v, m, T.constant(True)), "ufunc='bitwise_and'"),
    "cumulative or": ([m], trace(lambda v, s: T.or_(v, s), m, T.constant(False)), "ufunc='bitwise_or'"),
    "log of sums": ([x, a], trace(lambda v, s: T.logaddexp(s, v), x, a), "ufunc='logaddexp'"),
    "differences": ([x, a], trace(lambda v, s: s - v, x, a), "ufunc='add'"),
    "vectors": ([X, y], trace(lambda v, s: s + v, X, y[:3]), "ufunc='add'"),
    "numbers into vectors": ([x, y], trace(lambda v, s: s + v, x, y[:3]), "ufunc='add'"),
    "backwards": ([x, a], trace(lambda v, s: s + v, x, a, go_backwards=True), "ufunc='add'"),
    "average": ([x, a, b], trace(lambda v, s, b: (1 - b) * s + b * v, x, a, b), "lfilter("),
    "smoothing": ([x, a, b], trace(lambda v, s, b: s + b * (v - s), x, a, b), "regrouped_smoothing("),
    "AR(2)": (
        [x, y, a, b],
        trace(lambda e, r, s, a, b: a * s + b * r + e, x, dict(initial=y[:2], taps=[-2, -1]), [a, b]),
        "lfilter2(",
    ),
    "varying linear": ([x, y, a], trace(lambda v, w, s: w * s + v, [x, y], a), "linear_recurrence("),
    "affine, its end": ([a, b, n], trace(lambda s, a, b: s * a + b, None, a, [a, b], n_steps=n)[-1], "affine_power("),
    "CUSUM": ([x, a], trace(lambda v, s: T.maximum(0.0, s + v), x, a), "raised_sum("),
    "sum from above": ([x, y, a], trace(lambda v, w, s: T.minimum(s - v, w), [x, y], a), "capped_sum("),
    "clipped sum": ([x, a], trace(lambda v, s: T.clip(s + v, 0, 1), x, a), "clamped_sum("),
    "forward fill": ([m, x, a], trace(lambda m, v, s: T.where(m, v, s), [m, x], a), "forward_fill("),
    "forward fill, lazily": ([m, x, a], trace(lambda m, v, s: scanopt.ifelse(m, v, s), [m, x], a), "forward_fill("),
    "sum with resets": ([m, x, a], trace(lambda m, v, s: T.where(m, 0.0, s) + v, [m, x], a), "segmented("),
    "two moments": ([x, a], trace(lambda v, s, q: [s + v, q + v * v], x, [a, a]), "ufunc='add'"),
    "one recurrence feeds another": ([x, a, b], trace(lambda v, s, r: [s + v, r * 0.5 + s], x, [a, b]), "lfilter("),
    "what a row is looked up by": ([x, n], scanopt.map(lambda i, v: v[i], T.arange(5), [x])[0] * n, "["),
}  # fmt: skip


@pytest.mark.share(3)
@pytest.mark.parametrize("name", ROWS)
def test_no_loop_is_left(name: str) -> None:
    inputs, outputs, form = ROWS[name]
    text = program(inputs, outputs)
    assert "loop" not in text
    assert form in text


q, v = T.lvector("q"), T.TensorType("bool", (None,))("v")
VALUES |= {q: np.arange(LONG) * 7 % 11 - 4, v: np.arange(LONG) % 7 == 2}
TRUE = T.constant(True)

INTEGERS: dict[str, tuple[list[Variable], Any, str]] = {
    "affine": ([p, k], trace(lambda x, s: s * 31 + x, p, k), "linear_recurrence("),
    "affine of what varies": ([p, q, k], trace(lambda x, y, s: (s - x) * y, [p, q], k), "linear_recurrence("),
    "end of an affine map": ([k, n], trace(lambda s: s * 5 + 3, None, k, n_steps=n)[-1], "affine_power("),
    "taken from": ([p, k], trace(lambda x, s: x - s, p, k), "linear_recurrence("),
    "opposite": ([k, n], trace(lambda s: -s, None, k, n_steps=n), "ufunc='multiply'"),
    "halves": ([k, n], trace(lambda s: s // 2, None, k, n_steps=n), "ufunc='floor_divide'"),
    "rests": ([p, k], trace(lambda x, s: s % (x + 9), p, k), "ufunc='remainder'"),
    "shifts": ([p, k], trace(lambda x, s: s >> (x % 2), p, k), "ufunc='right_shift'"),
    "events": ([m, k], trace(lambda b, s: T.where(b, s + 1, s), m, k), "ufunc='add'"),
    "up and down": ([m, k], trace(lambda b, s: T.where(b, s - 1, s + 1), m, k), "ufunc='add'"),
    "largest of some": ([m, p, k], trace(lambda b, x, s: T.where(b, T.maximum(s, x), s), [m, p], k), "'maximum'"),
    "record": ([p, k], trace(lambda x, s: T.where(s < x, x, s), p, k), "ufunc='maximum'"),
    "latch of bits": ([p, q, k], trace(lambda x, y, s: (s & ~x) | y, [p, q], k), "masked_flips("),
    "latch": ([m, v], trace(lambda x, y, s: T.and_(T.or_(s, x), y), [m, v], TRUE), "masked_flips("),
    "logical latch": ([m, v], trace(lambda x, y, s: T.logical_or(T.logical_and(s, x), y), [m, v], TRUE), "masked_"),
    "toggle": ([m], trace(lambda x, s: T.where(x, ~s, s), m, TRUE), "ufunc='bitwise_xor'"),
    "not": ([n], trace(lambda s: T.logical_not(s), None, TRUE, n_steps=n), "ufunc='bitwise_xor'"),
    "agreement": ([m], trace(lambda x, s: T.eq(s, x), m, TRUE), "ufunc='bitwise_xor'"),
    "not both": ([m], trace(lambda x, s: ~(s & x), m, TRUE), "masked_flips("),
}  # fmt: skip


@pytest.mark.share(6)
@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("fp", ["exact", "reassoc"])
def test_no_loop_of_integers_is_left(name: str, fp: str) -> None:
    inputs, output, form = INTEGERS[name]
    values = [np.asarray(VALUES[x], x.dtype) for x in inputs]
    f = scanopt.function(inputs, output, example=values, fp=fp)
    assert "loop" not in str(f.program)
    assert form in str(f.program)
    for rows in (1, 2, 500):
        short = [x[:rows] if x.ndim else np.asarray(rows if i is n else x) for i, x in zip(inputs, values, strict=True)]
        np.testing.assert_array_equal(f(*short), f.unoptimized(*short), strict=True)


def test_rest_of_a_loop_stays_a_loop() -> None:
    step = lambda v, h, s: [T.tanh(h + v), s * 0.5 + h]  # noqa: E731
    text = program([x, a], trace(step, x, [a, a]))
    assert loop_body(text) == ["read", "state", "+", "tanh", "keep", "keep"]
    assert "lfilter(" in text.splitlines()[-2]


def test_what_feeds_the_rest_is_computed_before_it() -> None:
    text = program([x, a], trace(lambda v, s, h: [s + v, T.tanh(h + s)], x, [a, a])[1])
    assert "accumulate(" in text.partition("loop loop0")[0]
    assert loop_body(text) == ["read", "state", "+", "tanh", "keep"]


def loop_body(text: str) -> list[str]:
    """What the lines in a loop are: their role, or their operator."""
    lines = [line.split() for line in text.partition("loop loop0")[2].splitlines() if line.startswith("    ")]
    return [
        words[0] if words[1] != "=" else words[3] if len(words) > 5 else words[2].partition("(")[0] for words in lines
    ]


def test_draws_leave_the_loop_with_their_counter() -> None:
    def walk(streams: RandomStreams) -> tuple[Any, Any]:
        return scanopt.scan(lambda s: s * 0.5 + streams.normal(), None, a, n_steps=n)

    values, updates = walk(RandomStreams(seed=3))
    f = scanopt.function([a, n], values, updates=updates)
    assert "random_normal(" in str(f.program)
    assert "loop" not in str(f.program)
    values, updates = walk(RandomStreams(seed=3))
    g = scanopt.function([a, n], values, updates=updates, mode="unoptimized")
    for steps in (6, 3, 0, 1):
        np.testing.assert_array_equal(f(0.5, steps), g(0.5, steps))


def test_many_lanes_stay_a_loop() -> None:
    """NumPy has no faster form of a linear recurrence over many lanes than row by row."""
    values = [np.zeros((1000, 2000)), np.zeros(2000)]
    f = scanopt.function([X, x], trace(lambda v, s: s * 0.5 + v, X, x), example=values)
    assert "loop" in str(f.program)


@pytest.mark.parametrize("length", [0, 1])
def test_no_steps_and_one(length: int) -> None:
    f = scanopt.function([x, a], trace(lambda v, s: s + v, x, a))
    assert "loop" not in str(f.program)
    np.testing.assert_array_equal(f(np.ones(length), 2.0), np.full(length, 3.0))
    last = scanopt.function([x, a], trace(lambda v, s: s + v, x, a)[-1])
    if length:
        assert last(np.ones(1), 2.0) == 3.0
    else:
        with pytest.raises(IndexError):
            last(np.ones(0), 2.0)


@pytest.mark.parametrize(("adapt", "message"), [(False, "broadcast"), (True, r"expected shape \(1,\), found \(3,\)")])
def test_rows_that_do_not_fit_raise(adapt: bool, message: str) -> None:
    """Of so few rows the loop runs, where it may."""
    f = scanopt.function([X, x], trace(lambda v, s: s + v, X, x), adapt=adapt)
    assert "loop" not in str(f.program)
    with pytest.raises(ValueError, match=message):
        f(np.ones((4, 3)), np.ones(1))


# Loops that end early


UNTIL: dict[str, tuple[list[Variable], list[Any]]] = {
    "map": ([x, a], [trace(lambda v, a: (T.exp(v) * a, scanopt.until(v > 1)), x, None, a)]),
    "sum": ([x, a], [trace(lambda v, s: (s + v, scanopt.until(s > 100)), x, a)]),
    "invariant": ([x, a], [trace(lambda v, a: (T.exp(a), scanopt.until(v > 1)), x, None, a)]),
    "several": (
        [x, y, a],
        [*trace(lambda v, w, s: ([s + v, w * v], scanopt.until(T.exp(v) > w + 6)), [x, y], [a, None])],
    ),
    "never": ([x, a], [trace(lambda v, a: (v * a, scanopt.until(v > 9)), x, None, a)]),
    "rows": ([X], [trace(lambda v: (T.tanh(v), scanopt.until(v.sum() > 2)), X)]),
    "at once": ([x, a], [trace(lambda v, a: (v * a, scanopt.until(v < 9)), x, None, a)]),
}


@pytest.mark.share(3)
@pytest.mark.parametrize("name", UNTIL)
def test_until_over_a_map_by_chunks(name: str) -> None:
    inputs, outputs = UNTIL[name]
    values = [np.asarray(VALUES[v], v.dtype) for v in inputs]
    f = scanopt.function(inputs, outputs, example=values)
    (loop,) = f.program.loops()
    assert "chunk_count(" in str(f.program)
    assert not loop.states
    for n in (1, 5, 1023, 1024, 1025, 3000):
        some = [v[:: max(len(v) // n, 1)][:n] if v.ndim else v for v in values]
        wanted = scanopt.interpret(outputs, dict(zip(inputs, some, strict=True)))
        for r, e in zip(f(*some), wanted, strict=True):
            np.testing.assert_allclose(r, e, rtol=1e-12)
    none = [v[:0] if v.ndim else v for v in values]
    assert all(len(r) == 0 for r in f(*none))


def test_little_is_computed_for_nothing() -> None:
    """Of a loop that ends at once only one chunk is run, whatever the number of steps is."""
    step = lambda v, a: (T.exp(v + a), scanopt.until(T.exp(v + a) > 0))  # noqa: E731
    f = scanopt.function([x, a], trace(step, x, None, a), example=[np.zeros(LONG), 1.0])
    lines = str(f.program).splitlines()
    (before,) = (i for i, line in enumerate(lines) if line.startswith("loop"))
    assert not any("exp(" in line for line in lines[:before])
    assert len(f(np.zeros(LONG), 1.0)) == 1


def test_a_chunk_of_one_step_is_not_computed_in_chunks() -> None:
    """A loop of one step and the loop over its chunks are one loop: its chunks have no chunks."""
    for row in (T.arange(1), x[:1], T.arange(1) * x[0]):
        out = trace(lambda v, s: (s * v, scanopt.until(v >= 3)), row, x)
        f = scanopt.function([x], [out, scanopt.grad(out.sum(), x)], on_unused_input="ignore")
        assert f.report.saturated
        expected = scanopt.interpret([out], {x: np.arange(2.0, 4.0)})[0]
        np.testing.assert_array_equal(f(np.arange(2.0, 4.0))[0], expected)


def test_what_may_raise_is_not_computed_for_nothing() -> None:
    f = scanopt.function([p, x], trace(lambda i, v: (v[i], scanopt.until(i > 2)), p, None, x))
    np.testing.assert_array_equal(f([1, 2, 3, 99], np.arange(5.0)), [1.0, 2.0, 3.0])
    g = scanopt.function([p, x], trace(lambda i, v: (i, scanopt.until(v[i] > 2)), p, None, x), on_unused_input="ignore")
    np.testing.assert_array_equal(g([1, 2, 3, 99], np.arange(5.0)), [1, 2, 3])


# Random recurrences


def odd_cost(work: Any) -> float:
    """Loops are dear, so that closed forms are taken whatever the sizes are."""
    return 5000.0 if work.kind in ("loop", "step") else 1.0


@pytest.mark.share(6)
@pytest.mark.parametrize("start", range(0, 60, 10))
def test_random_recurrences(start: int) -> None:
    for seed in range(start, start + 10):
        made = generate(seed)
        inputs, values = list(made.inputs), list(made.inputs.values())
        wanted = scanopt.interpret(made.outputs, made.inputs)
        for fp in ("exact", "reassoc"):
            cost = None if seed % 3 else odd_cost
            f = scanopt.function(inputs, made.outputs, fp=fp, cost=cost, example=values, on_unused_input="ignore")
            found = list(f(*values))
            text = equal(wanted, found) if fp == "exact" else near(True, made.outputs, made.inputs, wanted, found)
            assert not text, f"seed {seed}, fp={fp!r}, {made.classes}: {text}\n{f.program}"
